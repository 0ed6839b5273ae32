"""One source becomes one executable: the ways to get there, and that they run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest

from tests.e2e.conftest import Box

AXPY = """\
#include <offloadc/offload.h>
#include <cstdio>
#include <vector>
__global__ void axpy(double a, const double *x, double *y, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
int main() {
  const size_t n = 1000;
  offloadc::buffer<double> x(std::vector<double>(n, 1.0)), y(std::vector<double>(n, 2.0));
  offloadc::launch(axpy, (n + 255) / 256, 256, 3.0, x, y, n);
  axpy<<<4, 256>>>(10.0, x.data(), y.data(), n);
  double sum = 0;
  for (double v : y.to_vector()) sum += v;
  std::printf("%g\\n", sum);
  return sum == 15000 ? 0 : 1;
}
"""
ARCHS = "--offload-arch=sm_90,gfx90a"


def test_compile_and_link_in_one_step(box: Box) -> None:
    box.write("axpy.cpp", AXPY)
    box.build("-O2", ARCHS, "axpy.cpp", "-o", "axpy")
    assert box.run("axpy") == "15000\n"


def test_images_are_listed_and_survive_strip(box: Box) -> None:
    box.write("axpy.cpp", AXPY)
    box.build("-O2", ARCHS, "axpy.cpp", "-o", "axpy")
    listed = box.tool("llvm-objdump", "--offloading", "axpy")
    for arch in ("sm_90", "gfx90a", "x86-64"):
        assert f"arch            {arch}" in listed
    box.tool("llvm-strip", "axpy")
    assert box.tool("llvm-objdump", "--offloading", "axpy") == listed
    assert box.run("axpy") == "15000\n"


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O3", "-Os"])
def test_every_optimisation_level_runs(box: Box, level: str) -> None:
    box.write("axpy.cpp", AXPY)
    box.build(level, "--offload-arch=x86-64", "axpy.cpp", "-o", "axpy")
    assert box.run("axpy") == "15000\n"


@pytest.mark.parametrize("standard", ["c++17", "c++20", "c++23", "gnu++20"])
def test_every_standard(box: Box, standard: str) -> None:
    box.write("axpy.cpp", AXPY)
    box.build(f"-std={standard}", "--offload-arch=x86-64", "axpy.cpp", "-o", "axpy")
    assert box.run("axpy") == "15000\n"


SHARED_HEADER = """\
#pragma once
#include <offloadc/offload.h>
template <class T> __global__ void scale(T *p, T s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= s;
}
inline __global__ void increment(float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1;
}
"""
FIRST = """\
#include "kernels.h"
#include <cstdio>
namespace { __global__ void own(float *p) { p[threadIdx.x] += 0.25f; } }
void other(float *);
int main() {
  offloadc::buffer<float> b(std::vector<float>{1, 2, 3, 4});
  scale<<<1, 8>>>(b.data(), 2.f, 4);
  increment<<<1, 8>>>(b.data(), 4);
  own<<<1, 4>>>(b.data());
  other(b.data());
  auto v = b.to_vector();
  std::printf("%g %g %g %g\\n", v[0], v[1], v[2], v[3]);
}
"""
SECOND = """\
#include "kernels.h"
namespace { __global__ void own(float *p) { p[threadIdx.x] += 1000; } }
void other(float *p) {
  scale<<<1, 8>>>(p, 10.f, 4);
  own<<<1, 4>>>(p);
}
"""
EXPECTED = "1032.5 1052.5 1072.5 1092.5\n"


@pytest.fixture
def two_units(box: Box) -> Box:
    box.write("kernels.h", SHARED_HEADER)
    box.write("a.cpp", FIRST)
    box.write("b.cpp", SECOND)
    return box


def test_two_units_with_kernels_of_one_name(two_units: Box) -> None:
    two_units.build("-O2", ARCHS, "a.cpp", "b.cpp", "-o", "app")
    assert two_units.run("app") == EXPECTED


def test_fat_objects_linked_later(two_units: Box) -> None:
    two_units.build("-O2", ARCHS, "-c", "a.cpp")
    two_units.build("-O2", ARCHS, "-c", "b.cpp", "-o", "second.o")
    two_units.build("a.o", "second.o", "-o", "app")
    assert two_units.run("app") == EXPECTED
    assert two_units.tool("llvm-objdump", "--offloading", "app").count("OFFLOADING IMAGE") == 8


def test_static_archive(two_units: Box) -> None:
    two_units.build("-O2", ARCHS, "-c", "a.cpp", "b.cpp")
    two_units.tool("llvm-ar", "rcs", "libb.a", "b.o")
    two_units.build("a.o", "-L.", "-lb", "-o", "app")
    assert two_units.run("app") == EXPECTED


def test_an_archive_member_nobody_needs_brings_no_image(two_units: Box) -> None:
    two_units.write("c.cpp", '#include "kernels.h"\nvoid unused(float *p) { increment<<<1, 1>>>(p, 1); }\n')
    two_units.build("-O2", ARCHS, "-c", "a.cpp", "b.cpp", "c.cpp")
    two_units.tool("llvm-ar", "rcs", "libbc.a", "b.o", "c.o")
    two_units.build("a.o", "-L.", "-lbc", "-o", "app")
    assert two_units.tool("llvm-objdump", "--offloading", "app").count("OFFLOADING IMAGE") == 8


def test_shared_object(two_units: Box) -> None:
    two_units.build("-O2", ARCHS, "-shared", "-fPIC", "b.cpp", "-o", "libb.so")
    two_units.build("-O2", ARCHS, "a.cpp", "-L.", "-lb", "-Wl,-rpath,$ORIGIN", "-o", "app")
    assert two_units.run("app") == EXPECTED
    exported = two_units.tool("llvm-nm", "-D", "--defined-only", "-j", "libb.so").split()
    # the stub and what the header makes of it stay inside; the type of the exception is shared
    assert [n for n in exported if "offloadc" in n and not n.startswith(("__st", "_ZT"))] == []


@pytest.mark.parametrize(
    "flags", [("-fuse-ld=lld",), ("-fuse-ld=lld", "-Wl,--gc-sections"), ("-fuse-ld=bfd", "-Wl,--gc-sections")]
)
def test_linkers(two_units: Box, flags: tuple[str, ...]) -> None:
    two_units.build("-O2", "--offload-arch=x86-64", *flags, "a.cpp", "b.cpp", "-o", "app")
    assert two_units.run("app") == EXPECTED


@pytest.mark.parametrize(
    "flags",
    [
        ("-fcf-protection=full",),
        ("-march=native",),
        ("-fstack-protector-strong", "-D_FORTIFY_SOURCE=2"),
        ("-fsanitize=undefined",),
        ("-fsanitize=address",),
        ("-g",),
        ("-gline-tables-only",),
        ("-ffast-math",),
        ("-fno-exceptions", "-fno-rtti"),
        ("-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"),
        ("-fopenmp-simd", "-pthread"),
        ("-Wall", "-Wextra", "-Wpedantic", "-Werror"),
    ],
    ids=" ".join,
)
def test_host_flags_do_not_disturb_the_device_passes(box: Box, flags: tuple[str, ...]) -> None:
    box.write("axpy.cpp", AXPY)
    box.build("-O2", ARCHS, *flags, "axpy.cpp", "-o", "axpy")
    assert box.run("axpy", ASAN_OPTIONS="detect_leaks=0") == "15000\n"


def test_lto_is_left_out_where_kernels_are_and_says_so(box: Box) -> None:
    box.write("axpy.cpp", AXPY)
    done = box.offloadc("-O2", "-flto", "--offload-arch=x86-64", "-fuse-ld=lld", "axpy.cpp", "-o", "axpy")
    assert done.code == 0
    assert "-flto: host code of sources with kernels is compiled without it" in done.err
    assert box.run("axpy") == "15000\n"


def test_source_without_kernels_embeds_nothing(box: Box) -> None:
    box.write("plain.cpp", '#include <cstdio>\nint main() { std::puts("plain"); }\n')
    box.build("plain.cpp", "-o", "plain")
    assert box.run("plain") == "plain\n"
    assert "OFFLOADING IMAGE" not in box.tool("llvm-objdump", "--offloading", "plain")


def test_c_and_assembly_link_along(box: Box) -> None:
    box.write(
        "axpy.cpp",
        AXPY.replace("int main() {", 'extern "C" int one(void);\nint main() { if (one() != 1) return 2;'),
    )
    box.write("one.c", "int one(void) { return 1; }\n")
    box.build("-O2", "--offload-arch=x86-64", "axpy.cpp", "one.c", "-o", "axpy")
    assert box.run("axpy") == "15000\n"


def test_run_builds_into_the_cache_and_passes_arguments(box: Box) -> None:
    box.write(
        "args.cpp",
        '#include <cstdio>\nint main(int n, char **a) { std::printf("%d %s\\n", n, a[1]); return 3; }\n',
    )
    done = box.offloadc("run", "-O1", "args.cpp", "-o", "x")
    assert (done.code, done.out) == (3, "3 -o\n")
    assert box.listing() == ["args.cpp"]


def test_same_input_gives_the_same_bytes(box: Box, fresh: Callable[[], Box]) -> None:
    box.write("axpy.cpp", AXPY)
    box.build("-O2", ARCHS, "-g", "-c", "axpy.cpp", "-o", "one.o", "--no-cache")
    box.build("-O2", ARCHS, "-g", "-c", "axpy.cpp", "-o", "two.o", "--no-cache")
    assert box.path("one.o").read_bytes() == box.path("two.o").read_bytes()


def test_an_unchanged_rebuild_runs_no_child(box: Box) -> None:
    box.write("axpy.cpp", AXPY)
    box.build("-O2", ARCHS, "axpy.cpp", "-o", "axpy")
    box.path("axpy").unlink()
    box.build("-O2", ARCHS, "axpy.cpp", "-o", "axpy", "--time-jobs=t.json")
    jobs = json.loads(box.path("t.json").read_text())["jobs"]
    assert jobs
    assert all(job["cached"] for job in jobs)
    assert box.run("axpy") == "15000\n"


def test_save_temps_keeps_every_stage(box: Box) -> None:
    box.write("axpy.cpp", AXPY)
    box.build("-O2", ARCHS, "axpy.cpp", "-o", "axpy", "-save-temps=kept")
    kept = {p.name for p in box.path("kept").iterdir()}
    assert {
        "axpy-sm_90.bc",
        "axpy-sm_90.ptx",
        "axpy-sm_90.cubin",
        "axpy-gfx90a.hsaco",
        "axpy-x86-64.so",
    } <= kept
    assert {"axpy-host.o", "axpy.offload"} <= kept


def test_printed_commands_do_what_the_driver_does(box: Box) -> None:
    box.write("axpy.cpp", AXPY)
    flags = ("-O2", "--offload-arch=x86-64", "axpy.cpp", "-o", "axpy", "-save-temps=kept")
    box.build(*flags)
    printed = box.offloadc("-###", *flags).err
    commands = [line for line in printed.splitlines() if not line.startswith("#")]
    built = box.path("kept/program").read_bytes()
    box.path("kept/program").unlink()
    for line in commands:
        assert box.command("/bin/sh", "-c", line).code == 0
    assert box.path("kept/program").read_bytes() == built
    assert "# in-process: bundle" in printed


@pytest.mark.skipif(shutil.which("ccache") is None, reason="ccache is not installed")
def test_ccache(box: Box) -> None:
    box.write("axpy.cpp", AXPY)
    environment = {"CCACHE_DIR": str(box.path("ccache"))}
    for _ in range(2):
        box.build(
            "-O2",
            "--no-cache",
            "--offload-arch=x86-64",
            "--launcher=ccache",
            "axpy.cpp",
            "-o",
            "axpy",
            **environment,
        )
    statistics = box.command("ccache", "--print-stats", **environment).out
    hits = {line.split()[0]: int(line.split()[1]) for line in statistics.splitlines()}
    assert hits["direct_cache_hit"] + hits["preprocessed_cache_hit"] >= 1, statistics
    assert box.run("axpy") == "15000\n"


MATH = """\
#include <offloadc/offload.h>
__global__ void k(double *x, float *y, int *e) {
  x[0] = std::sin(x[1]) + std::pow(x[2], x[3]) + erf(x[4]) + ldexp(x[5], 3) + rsqrt(x[6]) + frexp(x[7], e);
  y[0] = std::tanh(y[1]) + powf(y[2], y[3]) + std::cbrt(y[4]) + ilogb(y[5]) + hypot(y[6], y[7]);
}
int main() { k<<<1, 1>>>(nullptr, nullptr, nullptr); }
"""


def test_libclc_supplies_math_where_the_vendors_libraries_are_missing(box: Box) -> None:
    box.write("k.cpp", MATH)
    without = {"OFFLOADC_LIBDEVICE": "none", "OFFLOADC_ROCM_DEVICE_LIBS": "none"}
    box.build("-O2", "--offload-arch=sm_90,gfx90a,gfx1100", "-c", "k.cpp", **without)
    err = box.offloadc("-O2", "--offload-arch=sm_90", "-c", "k.cpp", OFFLOADC_LIBCLC=str(box.folder)).err
    assert "there is no nvptx64--.bc in it" in err
