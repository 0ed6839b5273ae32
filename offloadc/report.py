"""What the terminal shows. Rich is imported where it draws: --help must not wait for it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from offloadc.model import KernelFacts, Unknown

if TYPE_CHECKING:
    from rich.table import Table

    from offloadc.bundler.commands import InspectRow
    from offloadc.doctor import Check

# Resource -> heading. Scratch is bytes a thread, shared memory bytes a block.
_RESOURCES = {
    "registers": "regs",
    "sgprs": "sgprs",
    "agprs": "agprs",
    "static_shared": "shared",
    "scratch": "scratch",
    "spills": "spills",
    "max_threads": "threads",
}
_PIPED_WIDTH = 160


def print_inspect(rows: Iterable[InspectRow], *, color: bool | None = None) -> None:
    """Tables of images and of their kernels on stdout; `color` None: where it is a terminal."""
    from rich.console import Console

    console = Console(
        force_terminal=True if color else None,
        color_system="standard" if color else "auto",
        no_color=color is False,
        highlight=False,
        width=None if _is_sized() else _PIPED_WIDTH,
    )
    every = tuple(rows)
    console.print(_images(every))
    if any(row.kernels for row in every if not isinstance(row.kernels, Unknown)):
        console.print(_kernels(every))
    for number, row in enumerate(every):
        if isinstance(row.kernels, Unknown):
            console.print(_shown(f"image {number}: kernels unknown: {row.kernels.reason}"), markup=False)


def print_doctor(checks: Iterable[Check], *, as_json: bool) -> None:
    """One line a check on stdout, the remedy below what is missing."""
    if as_json:
        rows = [
            {"name": c.name, "state": c.state.value, "detail": c.detail, "remedy": c.remedy} for c in checks
        ]
        print(json.dumps({"schema": "offloadc-doctor/1", "checks": rows}, indent=1))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    styles = {"PASS": "green", "MISSING": "yellow", "FAIL": "bold red"}
    for check in checks:
        state = check.state.value
        console.print(Text.assemble((f"{state:8}", styles[state]), f"{check.name:18}{_shown(check.detail)}"))
        if check.remedy:
            console.print(Text(f"{'':8}{'':18}{check.remedy}"))


def _is_sized() -> bool:
    """A pipe has no width, and rich's guess of 80 columns would cut names short."""
    return os.isatty(1) or "COLUMNS" in os.environ


def _shown(text: str) -> str:
    """Foreign text, without control characters and lone surrogates."""
    plain = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in plain)


def _table(*headings: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        name = heading.removesuffix(">")
        table.add_column(name, justify="right" if heading != name else "left", overflow="fold")
    return table


def _cells(table: Table, *cells: object) -> None:
    from rich.text import Text

    table.add_row(*(Text(_shown(str(cell))) for cell in cells))


def _images(rows: tuple[InspectRow, ...]) -> Table:
    table = _table("image>", "arch", "triple", "kind", "for", "bytes>", "sha256", "kernels>", "where")
    for number, row in enumerate(rows):
        count = "?" if isinstance(row.kernels, Unknown) else len(row.kernels)
        kinds = (row.image_kind, row.offload_kind)
        _cells(table, number, row.arch, row.triple, *kinds, row.size, row.sha256[:12], count, row.where)
    return table


def _kernels(rows: tuple[InspectRow, ...]) -> Table:
    stated = [name for name in _RESOURCES if any(name in k.resources for row in rows for k in _known(row))]
    headings = (f"{_RESOURCES[name]}>" for name in stated)
    table = _table("image>", "arch", "kernel", "params (offset:size)", "args>", *headings)
    for number, row in enumerate(rows):
        for kernel in _known(row):
            figures = (kernel.resources.get(name, "-") for name in stated)
            params = " ".join(f"{p.offset}:{p.size}" for p in kernel.params)
            _cells(table, number, row.arch, kernel.name, params, kernel.args_size, *figures)
    return table


def _known(row: InspectRow) -> tuple[KernelFacts, ...]:
    return () if isinstance(row.kernels, Unknown) else row.kernels
