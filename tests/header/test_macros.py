"""What headers see in each pass is what docs/cxx.md says, and nothing else differs between passes."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

import pytest

from .conftest import GUIDE, INCLUDE, PASS_NAMES, Compiler

Macros = dict[str, str]

_CELLS = {"-": None, "empty": ""}


def _documented() -> dict[str, tuple[str | None, ...]]:
    """Rows `| `NAME` | host | sm_90 | gfx90a | cpu |` of the guide's table."""
    rows = re.findall(r"^\| `(\w+)` \|((?:[^|\n]*\|){4})", GUIDE.read_text(), re.MULTILINE)
    cells = {name: tuple(c.strip().strip("`") for c in row.split("|")[:4]) for name, row in rows}
    return {name: tuple(_CELLS.get(c, c) for c in row) for name, row in cells.items()}


def _patterns() -> list[str]:
    """The guide's line `Also different, ...: `A`, `B_*`.`."""
    line = re.search(r"^Also different[^:]*: (.*)$", GUIDE.read_text(), re.MULTILINE)
    assert line
    return re.findall(r"`([^`]+)`", line[1])


@pytest.fixture(scope="module")
def macros(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Macros]:
    source = tmp_path_factory.mktemp("macros") / "empty.cpp"
    source.write_text("")
    return {name: _macros(compiler, name, source) for name in PASS_NAMES}


def _macros(compiler: Compiler, pass_name: str, source: Path) -> Macros:
    done = compiler.run(pass_name, source, "-O2", "-E", "-dM")
    assert (done.returncode, done.stderr) == (0, "")
    return dict(re.findall(r"^#define (\w+)(?:\([^)]*\))? ?(.*)$", done.stdout, re.MULTILINE))


def test_the_table_is_true(macros: dict[str, Macros]) -> None:
    documented = _documented()
    assert len(documented) > 20
    for name, row in documented.items():
        assert tuple(macros[p].get(name) for p in PASS_NAMES) == row, name


def test_nothing_else_differs(macros: dict[str, Macros]) -> None:
    names = {name for m in macros.values() for name in m}
    differing = {n for n in names if len({m.get(n) for m in macros.values()}) > 1}
    known = set(_documented())
    unknown = {n for n in differing - known if not any(fnmatch.fnmatch(n, p) for p in _patterns())}
    assert unknown == set()


def test_prologue_includes_no_other_header(compiler: Compiler, tmp_path: Path) -> None:
    source = tmp_path / "empty.cpp"
    source.write_text("")
    for pass_name in PASS_NAMES:
        done = compiler.run(pass_name, source, "-E")
        assert done.returncode == 0, done.stderr
        files = set(re.findall(r'^# \d+ "([^"<]+)"', done.stdout, re.MULTILINE))
        assert str(INCLUDE / "offloadc" / "prologue.h") in {str(Path(f)) for f in files}
        assert [
            f for f in files if f != str(source) and not Path(f).is_relative_to(INCLUDE / "offloadc")
        ] == []


@pytest.mark.parametrize("pass_name", PASS_NAMES)
def test_macros_of_users_do_not_reach_the_header(compiler: Compiler, tmp_path: Path, pass_name: str) -> None:
    """Single letters other than T are often macros where the header is included."""
    source = tmp_path / "letters.cpp"
    letters = "".join(f"#define {c} 1.5+\n" for c in "ABCDEFGHIJKLMNOPQRSUVWXYZ")
    source.write_text(
        f"#include <algorithm>\n#include <cmath>\n#include <string>\n#include <vector>\n#include <span>\n"
        f"#include <stdexcept>\n{letters}#include <offloadc/offload.h>\nint main() {{}}\n"
    )
    done = compiler.run(pass_name, source, "-fsyntax-only")
    assert (done.returncode, done.stderr) == (0, "")
