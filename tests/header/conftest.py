"""The four passes of the header's programs, as the guide states them (docs/cxx.md)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from offloadc.model import Toolchain
from offloadc.toolchain import RUNTIME, Environment, find_toolchain

HERE = Path(__file__).parent
INCLUDE = RUNTIME / "include"
PROGRAMS = tuple(sorted(p for p in (HERE / "programs").iterdir() if p.suffix in (".cpp", ".cu")))
DIAGNOSTICS = tuple(sorted((HERE / "diagnostics").glob("*.cpp")))
GUIDE = HERE.parents[1] / "docs" / "cxx.md"

_CUDA = ("-x", "cuda", "--cuda-path=/nonexistent", "-nocudainc", "-nocudalib")
_HIP = ("-x", "hip", "-nogpuinc", "-nogpulib", "--no-gpu-bundle-output", "-munsafe-fp-atomics")
_DEVICE = ("--cuda-device-only", "-D__OFFLOADC_DEVICE_PASS__=1", "-fcomplex-arithmetic=improved")
_HOST = ("--cuda-host-only", "-fgpu-rdc", "-cuid=0123", "-Xclang", "-target-sdk-version=12.9")
_UNOPTIMISED = ("-O2", "-Xclang", "-disable-llvm-passes")

# Switches of the ROCm device libraries for gfx90a: wave64, IEEE, correctly rounded.
_ROCM_LIBRARIES = (
    "ocml",
    "oclc_daz_opt_off",
    "oclc_unsafe_math_off",
    "oclc_finite_only_off",
    "oclc_correctly_rounded_sqrt_on",
    "oclc_wavefrontsize64_on",
    "oclc_isa_version_90a",
    "oclc_abi_version_500",
)


@dataclass(frozen=True, slots=True)
class Pass:
    """One compilation of a source: `args` up to the kind of output, `emit` for generated code."""

    name: str
    args: tuple[str, ...]
    emit: tuple[str, ...]


def _link_bitcode(files: Iterable[Path]) -> tuple[str, ...]:
    return tuple(word for f in files for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(f)))


def _resource_include(tools: Toolchain) -> Path:
    done = subprocess.run(
        (str(tools.clangxx), "-print-resource-dir"), capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip()) / "include"


def _passes(tools: Toolchain) -> dict[str, Pass]:
    assert tools.libdevice and tools.rocm_device_libs, "the device math libraries of the README are missing"
    rocm = tools.rocm_device_libs
    nvptx = (
        *_CUDA,
        *_DEVICE,
        "--offload-arch=sm_90",
        "--cuda-feature=+ptx81",
        "-D__OFFLOADC_TARGET_NVPTX__=1",
    )
    cpu = (*_CUDA, *_DEVICE, "--offload-arch=sm_70", "--cuda-feature=+ptx70", "-D__OFFLOADC_TARGET_CPU__=1")
    # HIP mode without an SDK leaves out clang's own wrappers of standard headers; CUDA mode has them.
    wrappers = ("-isystem", str(_resource_include(tools) / "cuda_wrappers"))
    amdgcn = (*_HIP, *_DEVICE, *wrappers, "--offload-arch=gfx90a", "-D__OFFLOADC_TARGET_AMDGCN__=1")
    bitcode = _link_bitcode(rocm / f"{name}.bc" for name in _ROCM_LIBRARIES)
    return {
        "host": Pass("host", (*_CUDA, *_HOST), ("-O1", "-c")),
        "sm_90": Pass("sm_90", (*nvptx, *_link_bitcode((tools.libdevice,))), ("-O2", "-S")),
        "gfx90a": Pass("gfx90a", (*amdgcn, "-mcode-object-version=5", *bitcode), ("-O2",)),
        "cpu": Pass("cpu", (*cpu, "-fno-math-errno", *_UNOPTIMISED), ("-emit-llvm", "-c")),
    }


PASS_NAMES = ("host", "sm_90", "gfx90a", "cpu")


@dataclass(frozen=True, slots=True)
class Compiler:
    tools: Toolchain
    passes: dict[str, Pass]

    def command(self, pass_name: str, source: Path, *args: str, std: str = "c++20") -> tuple[str, ...]:
        prologue = ("-include", "offloadc/prologue.h")
        common = ("-fdeclspec", f"-std={std}", "-Wno-cuda-compat", "-I", str(INCLUDE), *prologue)
        return (str(self.tools.clangxx), *common, *self.passes[pass_name].args, *args, str(source))

    def run(
        self, pass_name: str, source: Path, *args: str, std: str = "c++20"
    ) -> subprocess.CompletedProcess[str]:
        command = self.command(pass_name, source, *args, std=std)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="session")
def compiler() -> Compiler:
    tools = find_toolchain(Environment.read())
    return Compiler(tools, _passes(tools))


def annotation(source: Path, key: str) -> str | None:
    """The rest of the line behind `KEY:` in the comments at the top of a source."""
    found = re.search(rf"^//.*\b{key}: (.*)$", source.read_text(), re.MULTILINE)
    return found[1].strip() if found else None


def own_flags(source: Path) -> tuple[str, ...]:
    """What a program of a third-party library needs; without the library the test is skipped."""
    flags = tuple((annotation(source, "flags") or "").split())
    needs = {"eigen": "eigen3/Eigen/Dense", "fmt": "fmt/core.h", "boost": "boost/optional.hpp"}
    header = next((h for name, h in needs.items() if source.stem.startswith(name)), None)
    if header and not Path("/usr/include", header).exists():
        pytest.skip(f"/usr/include/{header} is not installed")
    return flags
