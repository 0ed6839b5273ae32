"""The import rules of docs/architecture.md, read from the source and asserted file by file."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "offloadc"
FILES = sorted(PACKAGE.rglob("*.py"))
INDEPENDENT = ("host_pass", "device_pass", "abi", "bundler")
STARTS_PROCESSES = frozenset({"subprocess", "multiprocessing", "pty", "popen2"})
TARGET_NAMES = frozenset({"target", "triple", "arch", "target_name"})
HEAVY = {"rich", "llvmlite", "clang", "elftools", "msgpack"}
NOT_TARGETS = ("", "native")  # --offload-arch=native stands for whatever GPUs are there


def imports(source: str) -> Iterator[str]:
    """Every module a file imports, at any depth; `from a import b` gives a and a.b."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide what is imported"
            yield from (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names))


def part(file: Path) -> str:
    """The folder or module directly below offloadc/ that a file belongs to."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(source: str) -> set[str]:
    names = (name.split(".") for name in imports(source))
    return {name[1] for name in names if name[0] == "offloadc" and len(name) > 1}


def third_party(source: str) -> set[str]:
    return {name.split(".")[0] for name in imports(source)}


def target_comparisons(source: str) -> list[int]:
    """Lines that compare something called target, triple or arch with a literal string."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare):
            continue
        operands = [node.left, *node.comparators]
        named = any(_last_name(operand) in TARGET_NAMES for operand in operands)
        literal = any(_has_text(operand) for operand in operands)
        if named and literal:
            found.append(node.lineno)
    return found


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return _last_name(node.value) if node.attr == "name" else node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _has_text(node: ast.expr) -> bool:
    elements = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return any(
        isinstance(e, ast.Constant) and isinstance(e.value, str) and e.value not in NOT_TARGETS
        for e in elements
    )


def by_path(file: Path) -> str:
    return str(file.relative_to(PACKAGE))


@pytest.mark.parametrize("file", FILES, ids=by_path)
def test_packages_do_not_import_each_other(file: Path) -> None:
    own = part(file)
    if own in INDEPENDENT:
        assert not imported_parts(file.read_text()) & (set(INDEPENDENT) - {own})


@pytest.mark.parametrize("file", [f for f in FILES if part(f) in INDEPENDENT], ids=by_path)
def test_packages_stand_on_the_model_alone(file: Path) -> None:
    assert imported_parts(file.read_text()) <= {part(file), "model", "discovery"}


@pytest.mark.parametrize("name", ["options", "toolchain"])
def test_options_and_toolchain_stand_on_the_model_alone(name: str) -> None:
    assert imported_parts((PACKAGE / f"{name}.py").read_text()) <= {"model"}


def test_model_imports_nothing_of_offloadc() -> None:
    source = (PACKAGE / "model.py").read_text()
    assert not imported_parts(source)
    assert "offloadc" not in third_party(source)


@pytest.mark.parametrize("file", FILES, ids=by_path)
def test_only_the_printing_code_uses_rich(file: Path) -> None:
    if part(file) not in ("report", "cli"):
        assert "rich" not in third_party(file.read_text())


@pytest.mark.parametrize("file", FILES, ids=by_path)
def test_only_the_driver_starts_processes(file: Path) -> None:
    if part(file) not in ("driver", "toolchain"):  # toolchain asks tools for their versions
        assert not third_party(file.read_text()) & STARTS_PROCESSES
        names = set(imports(file.read_text()))
        assert not {n for n in names if n.startswith(("os.exec", "os.spawn", "os.posix_spawn", "os.system"))}


@pytest.mark.parametrize("file", FILES, ids=by_path)
def test_targets_are_told_apart_in_their_own_files_only(file: Path) -> None:
    relative = file.relative_to(PACKAGE).parts
    if relative[:2] != ("device_pass", "targets"):
        assert target_comparisons(file.read_text()) == []


def test_no_module_is_a_drawer() -> None:
    assert not [
        f for f in FILES if f.stem in ("utils", "util", "helpers", "helper", "misc", "common", "manager")
    ]


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_help_and_version_import_nothing_heavy(words: tuple[str, ...]) -> None:
    program = (
        "import sys\n"
        "from offloadc.cli import main\n"
        f"sys.argv = ['offloadc', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        f"print(*sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip()
    assert done.stderr.strip() == ""


# --------------------------------------------------------------------------- the reader itself
def test_imports_are_seen_at_any_depth() -> None:
    source = "def f():\n    from offloadc.abi import rules\n    import rich.table as t\n"
    assert imported_parts(source) == {"abi"}
    assert "rich" in third_party(source)
    assert imported_parts("from offloadc import bundler, model\n") == {"bundler", "model"}


@pytest.mark.parametrize(
    "line",
    ["target == 'nvptx64'", "t.target.name != 'amdgcn'", "'sm_90' == arch", "job.triple in ('a', 'b')"],
)
def test_a_comparison_of_a_target_is_seen(line: str) -> None:
    assert target_comparisons(f"if {line}:\n    pass\n") == [1]


@pytest.mark.parametrize(
    "line", ["name == 'nvptx64'", "arch == wanted", "target is None", "arch == ''", "arch == 'native'"]
)
def test_other_comparisons_pass(line: str) -> None:
    assert target_comparisons(f"if {line}:\n    pass\n") == []
