"""-S, -E, -M..., -MJ, -emit-llvm, -fsyntax-only: what each pass makes."""

from __future__ import annotations

import json

from tests.e2e.conftest import Box

SOURCE = """\
#include "local.h"
#include <offloadc/offload.h>
#if __OFFLOADC_TARGET_AMDGCN__
#include "amd only.h"
#endif
__global__ void k(int *p) { p[threadIdx.x] = VALUE; }
int main() { k<<<1, 1>>>(nullptr); }
"""
ARCHS = "--offload-arch=sm_90,gfx90a"


def make(box: Box) -> None:
    box.write("k.cpp", SOURCE)
    box.write("local.h", "#define VALUE 7\n")
    box.write("amd only.h", "\n")


def test_assembly(box: Box) -> None:
    make(box)
    box.build("-O2", ARCHS, "-S", "k.cpp")
    assert ".visible .entry _Z1kPi" in box.path("k-sm_90.s").read_text()
    assert ".amdhsa_kernel _Z1kPi" in box.path("k-gfx90a.s").read_text()
    assert "offloadc_cpu_image" in box.path("k-x86-64.s").read_text()
    assert "main:" in box.path("k.s").read_text()


def test_bitcode_and_ir(box: Box) -> None:
    make(box)
    box.build("-O2", ARCHS, "-emit-llvm", "-c", "k.cpp")
    assert box.path("k-gfx90a.bc").read_bytes()[:4] == b"BC\xc0\xde"
    box.build("-O2", ARCHS, "-emit-llvm", "-S", "k.cpp", "--offload-device-only")
    assert "ptx_kernel" in box.path("k-sm_90.ll").read_text()


def test_one_pass_to_one_file(box: Box) -> None:
    make(box)
    box.build("-O2", "--offload-host-only", "-S", "k.cpp", "-o", "host.s")
    assert "main:" in box.path("host.s").read_text()


def test_preprocessed_to_standard_output(box: Box) -> None:
    make(box)
    done = box.build("-E", "-P", "--offload-arch=x86-64", "k.cpp")
    assert done.out.count("= 7;") == 2


def test_syntax_only_writes_nothing(box: Box) -> None:
    make(box)
    before = box.listing()
    box.build("-fsyntax-only", ARCHS, "k.cpp")
    assert box.listing() == before


def test_depfile_is_the_union_of_all_passes(box: Box) -> None:
    make(box)
    box.build("-O2", ARCHS, "-MMD", "-MP", "-c", "k.cpp")
    text = box.path("k.d").read_text()
    assert text.startswith("k.o: k.cpp ")
    assert "amd\\ only.h" in text
    assert "local.h:\n" in text
    assert "/usr/include" not in text
    box.build("-O2", ARCHS, "-MD", "-MF", "deps", "-MT", "target", "-c", "k.cpp")
    assert box.path("deps").read_text().startswith("target: k.cpp")
    assert "/usr/include/stdlib.h" in box.path("deps").read_text()


def test_dependencies_only(box: Box) -> None:
    make(box)
    done = box.build("-MM", ARCHS, "k.cpp")
    assert done.out.split() == ["k.o:", "k.cpp", "\\", "local.h", "\\", "amd\\", "only.h"]


def test_compilation_database_has_every_pass(box: Box) -> None:
    make(box)
    box.build("-O2", ARCHS, "-c", "k.cpp", "-MJ", "k.json")
    entries = json.loads("[" + box.path("k.json").read_text().rstrip().rstrip(",") + "]")
    assert len(entries) == 4
    assert all(entry["file"] == "k.cpp" for entry in entries)
    assert any("--cuda-host-only" in entry["arguments"] for entry in entries)


def test_macros_of_each_pass(box: Box) -> None:
    make(box)
    box.write("m.cpp", "")
    done = box.build("-E", "-dM", "--offload-arch=sm_90,gfx942", "m.cpp")
    assert done.out.count("#define __OFFLOADC_DEVICE_PASS__ 1") == 3
    assert done.out.count("#define __OFFLOADC_TARGET_CPU__ 1") == 1


def test_queries_are_answered_by_clang(box: Box) -> None:
    assert box.build("--version").out.startswith("offloadc ")
    assert box.build("-print-resource-dir").out.strip().endswith("clang/22")


def test_dry_run_runs_nothing(box: Box) -> None:
    make(box)
    before = box.listing()
    done = box.offloadc("-###", ARCHS, "k.cpp", "-o", "k")
    assert done.code == 0
    assert done.err.count("--cuda-device-only") == 3
    assert box.listing() == before


def test_verbose_prints_what_is_run(box: Box) -> None:
    make(box)
    done = box.offloadc("-v", "--no-cache", "--offload-arch=x86-64", "-c", "k.cpp")
    assert done.code == 0
    assert "--cuda-host-only" in done.err
    assert "# in-process: bundle" in done.err


def test_dependencies_come_from_the_cache_too(box: Box) -> None:
    make(box)
    for _ in range(2):
        box.build("-O2", ARCHS, "-MD", "-c", "k.cpp")
        text = box.path("k.d").read_text()
        box.path("k.d").unlink()
        assert "local.h" in text
