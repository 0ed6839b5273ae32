"""Builds CPU images as the driver's jobs do, and launches their kernels through ctypes.

    python -m tests.cpu_image.image IMAGE KERNEL GRID BLOCK BYTES

runs one kernel on a zeroed buffer of BYTES bytes in a process of its own (for kernels that end it).
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from offloadc.device_pass.ir_edits import CpuModule, retarget_to_x86_64

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "offloadc" / "runtime"
LLVM_BIN = Path("/usr/lib/llvm-22/bin")

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()


def tool(name: str) -> str:
    fixed = LLVM_BIN / name
    found = str(fixed) if fixed.exists() else shutil.which(f"{name}-22") or shutil.which(name)
    assert found, f"{name} of LLVM 22 is not installed"
    return found


def run(*args: object) -> str:
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def what_is_wrong(text: str) -> str | None:
    try:
        llvm.parse_assembly(text).verify()
    except RuntimeError as error:
        return str(error)
    return None


FRONT_END = (
    "-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib -fdeclspec -std=c++20 -Wno-cuda-compat "
    "-include offloadc/prologue.h --cuda-device-only"
).split()
CPU_PASS = (
    "--offload-arch=sm_70 --cuda-feature=+ptx70 -D__OFFLOADC_DEVICE_PASS__=1 -D__OFFLOADC_TARGET_CPU__=1 "
    "-O2 -fno-math-errno -Xclang -disable-llvm-passes -emit-llvm -S"
).split()


def front_end(source: Path, output: Path, *flags: str) -> str:
    """The device pass's IR of `source`."""
    include = f"-I{RUNTIME / 'include'}"
    run(tool("clang++"), *FRONT_END, *CPU_PASS, include, *flags, source, "-o", output)
    return output.read_text()


def emit(module: CpuModule, output: Path, level: int = 2) -> None:
    ir = llvm.parse_assembly(module.text)
    target = llvm.Target.from_triple("x86_64-pc-linux-gnu")
    machine = target.create_target_machine(cpu="x86-64", opt=level, reloc="pic", codemodel="small")
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level))
    builder.getModulePassManager().run(ir, builder)
    output.write_bytes(machine.emit_object(ir))


def engine(output: Path, *flags: str) -> Path:
    source = RUNTIME / "cpu" / "engine.c"
    run(
        tool("clang"),
        "-std=c11",
        "-O2",
        "-fPIC",
        f"-I{RUNTIME / 'include'}",
        *flags,
        "-c",
        source,
        "-o",
        output,
    )
    return output


def link(output: Path, *objects: Path) -> Path:
    run(tool("clang"), "-shared", "-fPIC", "-Wl,-z,defs", *objects, "-lm", "-o", output)
    return output


def build(source: Path, engine_object: Path, folder: Path, *flags: str, level: int = 2) -> Image:
    ir = front_end(source, folder / f"{source.stem}.ll", *flags)
    module = retarget_to_x86_64(ir, llvm_major=22, verify=what_is_wrong)
    emit(module, folder / f"{source.stem}.o", level)
    return Image(link(folder / f"{source.stem}.so", folder / f"{source.stem}.o", engine_object), module)


# ----------------------------------------------------------------------------- runtime.h in ctypes
class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32)]


class Kernel(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("thread", ctypes.c_void_p),
        ("param_count", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
    ]


LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Kernel), ctypes.c_void_p, Dim3, Dim3, ctypes.c_size_t)


class CImage(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("kernel_count", ctypes.c_uint32),
        ("kernels", ctypes.POINTER(Kernel)),
        ("launch", LAUNCH),
    ]


Extent = Sequence[int] | int


def dim3(extent: Extent) -> Dim3:
    sizes = (extent,) if isinstance(extent, int) else tuple(extent)
    return Dim3(*(*sizes, 1, 1)[:3])


class Image:
    """A loaded CPU image."""

    def __init__(self, path: Path, module: CpuModule | None = None) -> None:
        self.path = path
        self.module = module
        self._library = ctypes.CDLL(str(path))
        self._image = CImage.in_dll(self._library, "offloadc_cpu_image")
        assert self._image.version == 1
        self.kernels = {
            self._image.kernels[i].name.decode(): self._image.kernels[i]
            for i in range(self._image.kernel_count)
        }

    def kernel(self, part: str) -> Any:
        """The kernel of that name, or the one whose mangled name holds it."""
        if part in self.kernels:
            return self.kernels[part]
        (found,) = [k for name, k in self.kernels.items() if part in name]
        return found

    def try_launch(self, name: str, grid: Extent, block: Extent, *args: object, shared: int = 0) -> int:
        kernel = self.kernel(name)
        assert kernel.param_count == len(args)
        pointers = (ctypes.c_void_p * max(len(args), 1))(*(address(a) for a in args))
        table = ctypes.cast(pointers, ctypes.c_void_p)
        return int(self._image.launch(ctypes.byref(kernel), table, dim3(grid), dim3(block), shared))

    def launch(self, name: str, grid: Extent, block: Extent, *args: object, shared: int = 0) -> None:
        error = self.try_launch(name, grid, block, *(pointer(a) for a in args), shared=shared)
        assert error == 0, error


def pointer(value: object) -> object:
    """Arrays are passed as device pointers."""
    return ctypes.c_void_p(ctypes.addressof(value)) if isinstance(value, ctypes.Array) else value


def address(value: object) -> int:
    return ctypes.addressof(value)  # type: ignore[arg-type]


def array(type_: Any, values: Iterable[float] | int) -> Any:
    if isinstance(values, int):
        return (type_ * values)()
    items = list(values)
    return (type_ * len(items))(*items)


if __name__ == "__main__":
    path, name, grid, block, size = sys.argv[1:6]
    Image(Path(path)).launch(name, int(grid), int(block), array(ctypes.c_char, int(size)))
