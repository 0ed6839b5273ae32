"""Real inputs, made by the real tools when the tests run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

LLVM = Path(os.environ.get("OFFLOADC_LLVM", "/usr/lib/llvm-22"))
NVIDIA = sorted(path for root in sys.path if root for path in Path(root).glob("nvidia/cu*/bin"))
SEARCH = os.pathsep.join(map(str, (LLVM / "bin", *NVIDIA, os.environ.get("PATH", ""), "/usr/local/cuda/bin")))

KERNELS = """\
#define __global__ __attribute__((global))
struct Odd { char c[3]; };
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) { y[n] = a * x[n] + y[n]; }
extern "C" __global__ void odd(char c, Odd o, short s, double d) {}
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


def find(name: str) -> str:
    found = shutil.which(name, path=SEARCH)
    if found is None and name in ("ptxas", "fatbinary"):
        pytest.skip(f"{name} is not here: pip install nvidia-cuda-nvcc brings it")
    assert found, f"{name} is not in {SEARCH}"
    return found


@pytest.fixture(scope="session")
def run() -> Run:
    """Runs a tool by its name; it must succeed."""

    def run_tool(
        name: str, *args: object, env: Mapping[str, str] = MappingProxyType({}), cwd: Path | None = None
    ):
        command = (find(name), *map(str, args))
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=cwd, env={**os.environ, **env}, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done

    return run_tool


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    (folder / "kernels.cpp").write_text(KERNELS)
    return folder


@pytest.fixture(scope="session")
def ptx(run: Run, samples: Path) -> Path:
    flags = "-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib --cuda-device-only --offload-arch=sm_90"
    output = samples / "kernels.ptx"
    run(
        "clang++", *flags.split(), "--cuda-feature=+ptx81", "-O1", "-S", samples / "kernels.cpp", "-o", output
    )
    return output


@pytest.fixture(scope="session")
def cubin(run: Run, ptx: Path) -> Path:
    output = ptx.with_suffix(".cubin")
    run("ptxas", "-arch=sm_90", ptx, "-o", output)
    return output


@pytest.fixture(scope="session")
def code_object(run: Run, samples: Path) -> Path:
    flags = "-x hip -nogpuinc -nogpulib --cuda-device-only --no-gpu-bundle-output -O1"
    output = samples / "kernels.hsaco"
    arch = "--offload-arch=gfx90a:sramecc+:xnack-"
    run("clang++", *flags.split(), arch, samples / "kernels.cpp", "-o", output)
    return output


@pytest.fixture(scope="session")
def bitcode(run: Run, samples: Path) -> Path:
    source, output = samples / "f.c", samples / "f.bc"
    source.write_text("int f(void) { return 1; }\n")
    run("clang", "-c", "-emit-llvm", source, "-o", output)
    return output
