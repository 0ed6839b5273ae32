"""The image as a file, its debug information, and the engine under other compilers and sanitizers."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tests.cpu_image import image as cpu

HERE = Path(__file__).parent
Built = Callable[[str], cpu.Image]


def test_one_symbol_is_exported(built: Built) -> None:
    for name in ("blocks", "language", "warps"):
        with built(name).path.open("rb") as file:
            symbols = ELFFile(file).get_section_by_name(".dynsym")
            assert isinstance(symbols, SymbolTableSection)
            exported = {s.name for s in symbols.iter_symbols() if s["st_shndx"] != "SHN_UNDEF"}
        assert exported == {"offloadc_cpu_image"}


def test_manifest_states_what_the_module_states(built: Built) -> None:
    image = built("language")
    assert image.module
    with image.path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".offloadc.kernels")
        assert section
        data = section.data()
    assert data.endswith(b"\n\0")
    lines = data[:-1].decode().splitlines()
    assert lines == [
        " ".join((k.name, str(k.args_size), *(f"{p.offset}:{p.size}:{p.align}" for p in k.params)))
        for k in image.module.kernels
    ]
    assert list(image.kernels) == [line.split()[0] for line in lines]


@pytest.mark.slow
def test_same_source_same_bytes(engine_object: Path, tmp_path: Path) -> None:
    source = HERE / "kernels" / "warps.cpp"
    made = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        made.append(cpu.build(source, engine_object, tmp_path / folder).path.read_bytes())
    assert made[0] == made[1]


def test_lines_of_kernels_survive(engine_object: Path, tmp_path: Path) -> None:
    source = HERE / "kernels" / "blocks.cpp"
    image = cpu.build(source, engine_object, tmp_path, "-g")
    wanted = 1 + source.read_text().splitlines().index("  scratch[t] = value;")
    with image.path.open("rb") as file:
        dwarf = ELFFile(file).get_dwarf_info()
        units = list(dwarf.iter_CUs())
        assert [u.header.version for u in units] == [5]
        program = dwarf.line_program_for_CU(units[0])
        assert program
        lines = {e.state.line for e in program.get_entries() if e.state}
        names = {
            d.attributes["DW_AT_name"].value for d in units[0].iter_DIEs() if "DW_AT_name" in d.attributes
        }
    assert wanted in lines
    assert b"block_sum" in names


def link_program(output: Path, engine: Path, kernels: Path, *flags: str) -> Path:
    include = f"-I{cpu.RUNTIME / 'include'}"
    cpu.run(cpu.tool("clang"), *flags, include, HERE / "program.c", engine, kernels, "-lm", "-o", output)
    return output


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_walks_from_a_barrier_to_the_kernels_start(engine_object: Path, tmp_path: Path) -> None:
    cpu.build(HERE / "kernels" / "blocks.cpp", engine_object, tmp_path, "-g")
    program = link_program(tmp_path / "program", engine_object, tmp_path / "blocks.o")
    script = [word for c in ("break __offloadc_cpu_barrier", "run", "bt") for word in ("-ex", c)]
    done = subprocess.run(
        ("gdb", "-q", "-nx", "-batch", *script, str(program)),
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "DEBUGINFOD_URLS": ""},
    )  # fmt: skip
    frames = [line for line in done.stdout.splitlines() if line.startswith("#")]
    if not frames and "ptrace" in done.stderr:
        pytest.skip("no process may be traced here")
    assert frames, done.stdout + done.stderr
    assert "__offloadc_cpu_barrier" in frames[0]
    assert "blocks.cpp:" in frames[1]
    assert "offloadc_cpu_fiber_start" in frames[-1]


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1, 3])
def test_other_optimisation_levels(engine_object: Path, tmp_path: Path, level: int) -> None:
    image = cpu.build(HERE / "kernels" / "blocks.cpp", engine_object, tmp_path, level=level)
    values = cpu.array(ctypes.c_int, range(300))
    out = cpu.array(ctypes.c_int, 3)
    image.launch("sum_static", 3, 100, values, out)
    assert list(out) == [sum(range(i, i + 100)) for i in (0, 100, 200)]


def test_sanitizers_follow_fibers(tmp_path: Path, built: Built) -> None:
    sanitize = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
    engine = cpu.engine(tmp_path / "engine.o", *sanitize)
    kernels = built("blocks").path.with_suffix(".o")
    program = link_program(tmp_path / "program", engine, kernels, *sanitize)
    done = subprocess.run(
        [str(program)], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "ASAN_OPTIONS": "detect_stack_use_after_return=1"},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_engine_compiles_with_gcc(tmp_path: Path, built: Built) -> None:
    engine, include = tmp_path / "engine.o", f"-I{cpu.RUNTIME / 'include'}"
    source = cpu.RUNTIME / "cpu" / "engine.c"
    cpu.run(
        "gcc", "-std=c11", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", include, "-c", source, "-o", engine
    )
    kernels = built("blocks").path.with_suffix(".o")
    image = cpu.Image(cpu.link(tmp_path / "image.so", kernels, engine))
    out = cpu.array(ctypes.c_int, 40)
    image.launch("leave_early", 1, 40, out)
    assert list(out) == list(range(39, -1, -1))


def test_threads_that_end_leave_no_memory(built: Built) -> None:
    """200 OS threads, one after another, each with a block of 1024 fibers: one set of stacks serves all."""
    image, out = built("blocks"), cpu.array(ctypes.c_int, 1024)

    def mappings() -> int:
        return sum(1 for _ in Path("/proc/self/maps").open())

    def one() -> None:
        thread = threading.Thread(target=image.launch, args=("deep_stack", 1, 1024, out))
        thread.start()
        thread.join()

    one()
    before = mappings()
    for _ in range(200):
        one()
    assert mappings() < before + 100
