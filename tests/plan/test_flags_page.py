"""docs/flags.md is the table of options.py; `make bless` writes it anew."""

from __future__ import annotations

import os
from pathlib import Path

from offloadc.options import TABLE, Form, Route

PAGE = Path(__file__).parents[2] / "docs" / "flags.md"

HEAD = """\
# Flags, and the passes they reach

The first row that fits a word decides: an exact spelling, else the longest prefix. A flag of one side
can be given to another side with `-Xarch_host FLAG`, `-Xarch_device FLAG` or `-Xarch_sm_90 FLAG`. What
offloadc does not know itself (`-f...`, `-W...`) clang checks, in each pass it goes to.

| flag | host | device | link | what it is |
|---|---|---|---|---|
"""

_VALUE = {
    Form.FLAG: "",
    Form.JOINED: "*value*",
    Form.SEPARATE: " *value*",
    Form.JOINED_OR_SEPARATE: " *value*",
}


def render() -> str:
    rows = []
    for flag in TABLE:
        marks = ["yes" if flag.route & side else "" for side in (Route.HOST, Route.DEVICE, Route.LINK)]
        kind = "driver: " if flag.route is Route.DRIVER else ""
        rows.append(f"| `{flag.spelling}`{_VALUE[flag.form]} | {' | '.join(marks)} | {kind}{flag.note} |\n")
    return HEAD + "".join(rows)


def test_page_is_the_table() -> None:
    if os.environ.get("OFFLOADC_BLESS"):
        PAGE.write_text(render())
    assert PAGE.read_text() == render(), "run: make bless"
