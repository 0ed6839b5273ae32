"""`offloadc doctor`: every tool and device, PASS or why not and the command that mends it."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from offloadc import device_pass, toolchain
from offloadc.model import OffloadcError, Toolchain
from offloadc.toolchain import Environment


class State(enum.Enum):
    """PASS: works. OPTIONAL: missing, and what is lost without it is named. FAIL: nothing builds."""

    PASS = "PASS"  # noqa: S105
    OPTIONAL = "MISSING"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def examine(env: Environment) -> tuple[Check, ...]:
    """Look at everything; nothing here raises for a thing that is missing."""
    try:
        tools = toolchain.find_toolchain(env)
    except OffloadcError as error:
        return (Check("clang", State.FAIL, error.message, error.hint or ""), *_python_checks())
    return (*_tool_checks(tools), *_python_checks(), *_cache_check(env), *_device_checks(tools))


def usable(checks: tuple[Check, ...]) -> bool:
    return not any(check.state is State.FAIL for check in checks)


def _tool_checks(tools: Toolchain) -> Iterator[Check]:
    yield Check("clang", State.PASS, f"{tools.llvm_version} {tools.clangxx}")
    for name, package in toolchain.REQUIRED_TOOLS:
        yield _executable(name, tools.tool(name), package)
    for name in ("nvptx-arch", "amdgpu-arch"):
        yield _file(
            name,
            tools.tool(name) if os.access(tools.tool(name), os.X_OK) else None,
            "GPUs of this machine are not found",
            "apt-get install clang-tools-22",
        )
    yield _ptxas(tools)
    yield _device_math("libdevice", tools.libdevice, "NVIDIA", tools, "pip install nvidia-nvvm")
    yield _device_math(
        "ROCm device libs", tools.rocm_device_libs, "AMD", tools, "apt-get install rocm-device-libs"
    )
    yield _file(
        "liboffload",
        tools.liboffload,
        "programs run on the CPU device only",
        "apt-get install liboffload-22",
    )


def _executable(name: str, path: Path, package: str) -> Check:
    if os.access(path, os.X_OK):
        return Check(name, State.PASS, str(path))
    return Check(name, State.FAIL, f"{path} is missing", f"apt-get install {package}")


def _ptxas(tools: Toolchain) -> Check:
    if tools.ptxas is None:
        lost = "NVIDIA images are PTX only, compiled when the program starts"
        return Check("ptxas", State.OPTIONAL, lost, "pip install nvidia-cuda-nvcc")
    return Check("ptxas", State.PASS, f"{tools.ptxas_version} {tools.ptxas}")


def _file(name: str, path: Path | None, lost: str, remedy: str) -> Check:
    if path is None:
        return Check(name, State.OPTIONAL, f"without it: {lost}", remedy)
    return Check(name, State.PASS, str(path))


def _device_math(name: str, path: Path | None, vendor: str, tools: Toolchain, remedy: str) -> Check:
    """A vendor's math library, or libclc in its place."""
    if path is None and tools.libclc is not None:
        return Check(name, State.PASS, f"missing; libclc is used in its place: {tools.libclc}")
    return _file(name, path, f"math functions in {vendor} kernels", remedy)


def _python_checks() -> Iterator[Check]:
    yield _importable("llvmlite", _llvmlite, "pip install 'llvmlite>=0.50,<0.51'")
    yield _importable("pyelftools", _pyelftools, "pip install pyelftools")


def _importable(name: str, version: Callable[[], str], remedy: str) -> Check:
    try:
        return Check(name, State.PASS, version())
    except (ImportError, OffloadcError) as error:
        return Check(name, State.FAIL, str(error), remedy)


def _llvmlite() -> str:
    import llvmlite
    import llvmlite.binding as llvm

    major = int(llvm.llvm_version_info[0])
    if major not in toolchain.SUPPORTED_LLVM_MAJORS:
        raise OffloadcError(
            f"llvmlite {llvmlite.__version__} carries LLVM {major}, which does not match clang"
        )
    return f"{llvmlite.__version__} (LLVM {'.'.join(map(str, llvm.llvm_version_info))})"


def _pyelftools() -> str:
    import elftools

    return str(elftools.__version__)


def _cache_check(env: Environment) -> Iterator[Check]:
    folder = env.cache_folder()
    if not env.cache:
        yield Check("cache", State.OPTIONAL, "switched off by OFFLOADC_CACHE=0")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError as error:
        yield Check("cache", State.OPTIONAL, f"{folder}: {error.strerror}", "set OFFLOADC_CACHE_DIR")
        return
    if not writable:
        yield Check("cache", State.OPTIONAL, f"{folder} is not writable", "set OFFLOADC_CACHE_DIR")
        return
    yield Check("cache", State.PASS, f"{folder} (at most {env.cache_bytes >> 20} MiB)")


def _device_checks(tools: Toolchain) -> Iterator[Check]:
    yield Check("CPU device", State.PASS, "x86-64")
    archs = toolchain.native_archs(tools)
    for arch in archs:
        yield _gpu(arch, tools)
    if not archs:
        reason = (
            "a device node is there, but no driver answers"
            if toolchain.gpu_device_nodes()
            else "no GPU driver"
        )
        yield Check(
            "GPU", State.OPTIONAL, f"{reason}; programs run on the CPU device", "install the GPU's driver"
        )


def _gpu(arch: str, tools: Toolchain) -> Check:
    try:
        target, name = device_pass.target_of_arch(arch)
    except OffloadcError as error:
        return Check(f"GPU {arch}", State.OPTIONAL, error.message, error.hint or "")
    if tools.liboffload is None:
        return Check(f"GPU {name}", State.OPTIONAL, "liboffload is missing", "apt-get install liboffload-22")
    return Check(f"GPU {name}", State.PASS, target.triple)
