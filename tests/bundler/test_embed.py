"""The embedding object: what linkers, strip and llvm-objdump make of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from offloadc.bundler.embed import embed_assembly
from offloadc.bundler.formats import offload_binary
from offloadc.model import Image, ImageKind, OffloadcError, OffloadKind
from tests.bundler.conftest import Run

# Prints the images that each record holds, as the launch stub finds them.
PROGRAM = """\
#include <stdio.h>
typedef struct { const unsigned char *begin, *end; } record;
extern const record __start_offloadc_images[] __attribute__((weak, visibility("hidden")));
extern const record __stop_offloadc_images[] __attribute__((weak, visibility("hidden")));
int main(void) {
  for (const record *r = __start_offloadc_images; r != __stop_offloadc_images; ++r)
    printf("%d %02x%02x %d\\n", (int)((unsigned long)r->begin % 8), r->begin[0], r->begin[3], (int)(r->end - r->begin));
  return 0;
}
"""


def bundle(data: bytes, arch: str) -> bytes:
    strings = {"triple": "amdgcn-amd-amdhsa", "arch": arch}
    return offload_binary.write([Image(ImageKind.OBJECT, OffloadKind.HIP, data, strings)])


SIZES = [len(bundle(b"one", "gfx90a")), len(bundle(b"second" * 9, "gfx942"))]


@pytest.fixture
def units(run: Run, tmp_path: Path) -> tuple[Path, Path, Path]:
    """main and two embedding objects; a path with blanks and quotes must do."""
    (tmp_path / "main.c").write_text(PROGRAM)
    run("clang", "-fPIE", "-ffunction-sections", "-c", "main.c", "-o", "main.o", cwd=tmp_path)
    made = [tmp_path / "main.o"]
    for name, contents in (('o"n e', bundle(b"one", "gfx90a")), ("two\\", bundle(b"second" * 9, "gfx942"))):
        (tmp_path / name).write_bytes(contents)
        assembly = tmp_path / f"{len(made)}.s"
        assembly.write_text(embed_assembly(str(tmp_path / name), "x86_64-pc-linux-gnu"))
        run("clang", "-c", assembly, "-o", assembly.with_suffix(".o"))
        made.append(assembly.with_suffix(".o"))
    return made[0], made[1], made[2]


def check(run: Run, program: Path) -> None:
    listed = run("llvm-objdump", "--offloading", program).stdout
    assert "gfx90a" in listed
    assert "gfx942" in listed
    assert run(str(program)).stdout.splitlines() == [f"0 10ad {size}" for size in SIZES]


LINKERS = {"lld": ("-fuse-ld=lld",), "bfd": ("-fuse-ld=bfd",)}
FLAGS = {
    "pie": ("-pie",),
    "no-pie": ("-no-pie",),
    "gc": ("-pie", "-Wl,--gc-sections"),
    "nostart-stop-gc": ("-pie", "-Wl,--gc-sections", "-Wl,-z,nostart-stop-gc"),
    "icf": ("-pie", "-Wl,--gc-sections", "-Wl,--icf=all"),
}
CASES = [(l, f) for l in LINKERS for f in FLAGS if l == "lld" or f not in ("icf", "nostart-stop-gc")]  # noqa: E741


@pytest.mark.parametrize(("linker", "flags"), CASES)
def test_linked_and_stripped_programs_find_their_records(
    run: Run, units: tuple[Path, Path, Path], tmp_path: Path, linker: str, flags: str
) -> None:
    program = tmp_path / "app"
    warnings = run("clang", *LINKERS[linker], *FLAGS[flags], *units, "-o", program).stderr
    assert warnings == ""
    check(run, program)
    run("llvm-strip", program)
    check(run, program)


@pytest.mark.skipif(shutil.which("strip") is None, reason="GNU strip is not here")
def test_gnu_strip_keeps_the_images(run: Run, units: tuple[Path, Path, Path], tmp_path: Path) -> None:
    run("clang", "-fuse-ld=lld", *units, "-o", tmp_path / "app")
    run("strip", "--strip-all", tmp_path / "app")
    check(run, tmp_path / "app")


@pytest.mark.parametrize("linker", ["lld", "bfd"])
def test_relocatable_links_keep_a_record_a_unit(
    run: Run, units: tuple[Path, Path, Path], tmp_path: Path, linker: str
) -> None:
    main, *embedded = units
    run("clang", *LINKERS[linker], "-r", "-nostdlib", *embedded, "-o", tmp_path / "both.o")
    run("clang", *LINKERS[linker], "-Wl,--gc-sections", main, tmp_path / "both.o", "-o", tmp_path / "app")
    check(run, tmp_path / "app")


def test_nothing_is_exported_and_the_stack_is_not_executable(
    run: Run, units: tuple[Path, ...], tmp_path: Path
) -> None:
    symbols = run("llvm-nm", "--extern-only", "--defined-only", units[1]).stdout
    assert symbols.split() in ([], [f"{units[1]}:"])
    run("clang", "-fuse-ld=bfd", *units, "-o", tmp_path / "app")
    segments = run("llvm-readelf", "-lW", tmp_path / "app").stdout
    (stack,) = [line for line in segments.splitlines() if "GNU_STACK" in line]
    assert " RW " in stack


def test_aarch64_hosts(run: Run, units: tuple[Path, ...], tmp_path: Path) -> None:
    target = "--target=aarch64-linux-gnu"
    (tmp_path / "arm.s").write_text(embed_assembly(str(tmp_path / 'o"n e'), "aarch64-unknown-linux-gnu"))
    run("clang", target, "-c", "arm.s", "-o", "arm.o", cwd=tmp_path)
    linked = ("-fuse-ld=lld", "-shared", "-nostdlib", "-Wl,--gc-sections", "arm.o", "-o", "arm.so")
    run("clang", target, *linked, cwd=tmp_path)
    assert "gfx90a" in run("llvm-objdump", "--offloading", tmp_path / "arm.so").stdout
    sections = run("llvm-readelf", "-SW", tmp_path / "arm.so").stdout
    (record,) = [line for line in sections.splitlines() if " offloadc_images " in line]
    assert record.split()[record.split().index("PROGBITS") + 3] == "000010"


def test_a_unit_without_images_has_no_record(run: Run, units: tuple[Path, ...], tmp_path: Path) -> None:
    (tmp_path / "none.s").write_text(embed_assembly("nowhere", "x86_64-pc-linux-gnu", empty=True))
    run("clang", "-c", "none.s", "-o", "none.o", cwd=tmp_path)
    run("clang", "-fuse-ld=lld", *units, tmp_path / "none.o", "-o", tmp_path / "app")
    check(run, tmp_path / "app")


def test_other_hosts_are_refused() -> None:
    with pytest.raises(OffloadcError, match="riscv64-linux-gnu") as caught:
        embed_assembly("x", "riscv64-linux-gnu")
    assert "x86_64" in str(caught.value.hint)


def test_the_text_depends_on_its_arguments_alone() -> None:
    assert embed_assembly("a", "x86_64-pc-linux-gnu") == embed_assembly("a", "amd64-linux-gnu")
