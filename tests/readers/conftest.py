"""Device images of kernels whose parameters try the layout, made by the real tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bundler.conftest import Run, run

__all__ = ["run"]  # pytest finds the fixture here

LAYOUTS = """\
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
typedef __SIZE_TYPE__ size_t;
struct Odd { char c[3]; };
struct Pair { double a; int b; };
struct alignas(32) Wide { float v[8]; };
extern "C" {
__global__ void none() {}
__global__ void pointers(float *p, const int *q) { *p = *q; }
__global__ void mixed(char c, Odd o, short s, double d, Pair p, bool b) {}
__global__ void wide(char c, Wide w, char d, float *p) { *p = w.v[c] + d; }
__global__ void tile(float *p, int n) { __shared__ float t[77]; t[n] = *p; *p = t[n / 2]; }
__attribute__((launch_bounds(128))) __global__ void bounded(int *p) { *p = 1; }
__global__ void stack(double *p, int n) {
  volatile double big[50];
  for (int i = 0; i < 50; ++i) big[i] = p[i];
  *p = big[n];
}
}
template <class F> __global__ void forall(F f, size_t n) { f(n); }
struct Body { float *x; __attribute__((device)) void operator()(size_t i) const { x[i] = 1; } };
template __global__ void forall<Body>(Body, size_t);
"""

# name -> (offset, size) of its parameters in natural C layout
NATURAL = {
    "none": [],
    "pointers": [(0, 8), (8, 8)],
    "mixed": [(0, 1), (1, 3), (4, 2), (8, 8), (16, 16), (32, 1)],
    "wide": [(0, 1), (32, 32), (64, 1), (72, 8)],
    "tile": [(0, 8), (8, 4)],
    "bounded": [(0, 8)],
    "stack": [(0, 8), (8, 4)],
    "_Z6forallI4BodyEvT_m": [(0, 8), (8, 8)],
}


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    (folder / "layouts.cpp").write_text(LAYOUTS)
    return folder


@pytest.fixture(scope="session")
def make_ptx(run: Run, images: Path) -> Callable[[str], Path]:
    def made(arch: str) -> Path:
        output = images / f"{arch}.ptx"
        if not output.exists():
            flags = "-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib --cuda-device-only -O1 -S"
            target = (f"--offload-arch={arch}", "--cuda-feature=+ptx87")
            run("clang++", *flags.split(), *target, images / "layouts.cpp", "-o", output)
        return output

    return made


@pytest.fixture(scope="session")
def make_cubin(run: Run, make_ptx: Callable[[str], Path]) -> Callable[[str], Path]:
    def made(arch: str) -> Path:
        output = make_ptx(arch).with_suffix(".cubin")
        log = output.with_suffix(".log")
        if not output.exists():
            log.write_text(run("ptxas", "-v", f"-arch={arch}", make_ptx(arch), "-o", output).stderr)
        return output

    return made


@pytest.fixture(scope="session")
def make_code_object(run: Run, images: Path) -> Callable[..., Path]:
    def made(arch: str, version: int = 5) -> Path:
        output = images / f"{arch.replace(':', '_')}-{version}.hsaco"
        if not output.exists():
            flags = "-x hip -nogpuinc -nogpulib --cuda-device-only --no-gpu-bundle-output -O1"
            target = (f"--offload-arch={arch}", f"-mcode-object-version={version}")
            run("clang++", *flags.split(), *target, images / "layouts.cpp", "-o", output)
        return output

    return made
