"""Whole programs, built by `offloadc`, on stand-in drivers: from k<<<...>>>(...) to the driver's call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.conftest import ROOT
from tests.runtime.program import Program

pytestmark = pytest.mark.e2e

SOURCE = """\
#include <offloadc/offload.h>
#include <cstdio>
#include <vector>

struct alignas(64) Wide { float v[16]; };

template <class F> __global__ void for_each(int n, F body) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) body(i);
}
namespace {
__global__ void wide(char c, Wide w, int *out) { *out = c + int(w.v[3]); }
}

int main() {
  std::vector<int> host(100, 7);
  offloadc::buffer<int> device(host);
  int *data = device.data();
  for_each<<<dim3(4), dim3(32)>>>(100, [=] __device__(int i) { data[i] += i; });
  Wide w{};
  w.v[3] = 5;
  wide<<<1, 1>>>(3, w, data);
  std::printf("%d %d\\n", device.to_vector()[0], device.to_vector()[99]);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, standins: Path) -> Program:
    folder = tmp_path_factory.mktemp("built")
    (folder / "app.cpp").write_text(SOURCE)
    words = ("-O2", "--offload-arch=sm_80,sm_90,gfx90a", "app.cpp", "-o", "app")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OFFLOADC_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "offloadc", *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Program(folder / "app", standins)


def test_on_the_cpu(program: Program) -> None:
    assert program.run().steps == ("8 106",)


@pytest.mark.parametrize(("capability", "offset"), [("8.0", 0x20), ("8.6", 0x20), ("9.0", 0x30)])
def test_on_nvidia(program: Program, capability: str, offset: int) -> None:
    lambda_launch, wide_launch = program.run(cuda=capability).launches
    assert (lambda_launch["grid"], lambda_launch["block"]) == ("4,1,1", "32,1,1")
    assert lambda_launch["args"].startswith("64000000" + "00000000")
    args = bytes.fromhex(wide_launch["args"])
    assert args[0] == 3
    assert args[offset + 12 : offset + 16] == bytes.fromhex("0000a040")  # 5.0f
    assert len(args) == offset + 64 + 8


def test_on_amd(program: Program) -> None:
    lambda_dispatch, wide_dispatch = program.run(amdgpu="gfx90a:sramecc+:xnack-").launches
    assert (lambda_dispatch["threads"], lambda_dispatch["block"]) == ("128,1,1", "32,1,1")
    args = bytes.fromhex(wide_dispatch["kernarg"])
    assert args[0] == 3
    assert args[64 + 12 : 64 + 16] == bytes.fromhex("0000a040")
