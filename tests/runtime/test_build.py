"""The stub as a set of C files: warnings, exported names, what it needs, what it writes into a process."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.runtime.conftest import C11, HERE, INCLUDE, LLVM, STUB, WARNINGS, Unit, find, tool
from tests.runtime.program import Program

API_HEADER = LLVM / "include" / "offload" / "OffloadAPI.h"


@pytest.mark.parametrize("compiler", ["clang", "gcc"])
def test_no_warnings(compiler: str, tmp_path: Path) -> None:
    if compiler == "gcc" and not shutil.which("gcc"):
        pytest.skip("gcc is not here")
    tool(compiler, *C11, *WARNINGS, "-O2", "-c", *sorted(STUB.glob("*.c")), cwd=tmp_path)


def test_the_header_is_c_and_cpp() -> None:
    for language, standard in (("c", "c11"), ("c++", "c++17")):
        words = ("-x", language, f"-std={standard}", *WARNINGS, "-fsyntax-only")
        tool("clang", *words, INCLUDE / "offloadc" / "runtime.h")


@pytest.mark.skipif(not API_HEADER.exists(), reason="liboffload's header is not installed")
def test_own_declarations_agree_with_llvm() -> None:
    loose = ("-Wno-deprecated-non-prototype", "-Wno-strict-prototypes")
    tool("clang", *C11, *WARNINGS, *loose, f"-I{API_HEADER.parent}", "-fsyntax-only", HERE / "c" / "api.c")


def test_nothing_is_exported_and_only_libc_is_needed(tmp_path: Path) -> None:
    """Linked into a shared object, the stub is nobody's business; compiled without -fvisibility too."""
    tool("clang", *C11, "-O1", "-fPIC", "-c", *sorted(STUB.glob("*.c")), cwd=tmp_path)
    objects = sorted(tmp_path.glob("*.o"))
    shared = tmp_path / "library.so"
    tool("clang", "-shared", *objects, "-Wl,--no-undefined", "-o", shared)
    assert tool("llvm-nm", "-D", "--defined-only", shared).split() == []
    needed = re.findall(r"Shared library: \[(\S+)\]", tool("llvm-readelf", "-d", shared))
    assert [name for name in needed if not name.startswith("ld-linux")] == ["libc.so.6"]


def test_every_global_name_is_the_projects(stub_objects: tuple[Path, ...]) -> None:
    """In a static link all names of a program meet."""
    own = [path for path in stub_objects if path.name != "steps.o"]
    names = [
        line.split()[-1] for line in tool("llvm-nm", "--defined-only", "-g", *own).splitlines() if " " in line
    ]
    assert names
    assert [name for name in names if not name.lstrip("_").startswith("offloadc_")] == []


def test_a_program_without_kernels(tmp_path: Path, stub_objects: tuple[Path, ...], standins: Path) -> None:
    """No sections, no bounds: the weak symbols are NULL."""
    source = "const void *stub_named(const char *name) { return name; }\n"
    (tmp_path / "none.c").write_text("const void *stub_named(const char *name);\n" + source)
    tool("clang", "-pie", "-fPIE", "none.c", *stub_objects, "-o", "program", cwd=tmp_path)
    run = Program(tmp_path / "program", standins).run(
        "device", "alloc A 16", "put A 0102", "get A 2", "launch x 1,1,1 1,1,1 0", cuda="9.0"
    )
    assert run.steps[0].startswith("ok 0:0|")
    assert run.steps[3] == "ok 0102"
    assert run.steps[4].endswith("compiled by offloadc and linked into this executable or shared object")
    assert run.calls == ()


# --------------------------------------------------------------------------- the alias for library names
@pytest.fixture(scope="module")
def alias(unit: Unit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("alias") / "alias.so"
    made = subprocess.run([str(unit("alias")), "libcuda.so", "libcuda.so.1"], capture_output=True, check=True)
    output.write_bytes(made.stdout)
    return output


def test_the_alias_is_a_sound_elf_file(alias: Path) -> None:
    dynamic = tool("llvm-readelf", "-W", "-d", alias)
    assert "Library soname: [libcuda.so]" in dynamic
    assert "Shared library: [libcuda.so.1]" in dynamic
    segments = tool("llvm-readelf", "-W", "-l", alias)
    (stack,) = (line for line in segments.splitlines() if "GNU_STACK" in line)
    assert " RW " in stack  # an executable one would make the process's stack so
    assert tool("llvm-readelf", "-h", alias).count("warning") == 0


def test_the_alias_leads_to_the_versioned_library(alias: Path, standins: Path) -> None:
    code = (
        "import ctypes, sys\n"
        "ctypes.CDLL(sys.argv[1])\n"
        "library = ctypes.CDLL('libcuda.so')\n"
        "version = ctypes.c_int()\n"
        "assert library.cuDriverGetVersion(ctypes.byref(version)) == 0\n"
        "print(version.value)\n"
    )
    done = subprocess.run(
        ["python3", "-c", code, str(alias)],
        env={"LD_LIBRARY_PATH": str(standins), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "13000\n", done.stderr


def test_names_that_do_not_fit_make_no_alias(unit: Unit) -> None:
    done = subprocess.run([str(unit("alias")), "x" * 200, "y" * 100], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")


def test_the_alias_is_this_machines(alias: Path) -> None:
    """e_machine is that of any program here."""
    assert alias.read_bytes()[18:20] == Path(find("clang")).resolve().read_bytes()[18:20]
