"""NVIDIA GPUs: bitcode -> PTX -> cubin by ptxas; PTX stays beside the cubin for newer GPUs."""

from __future__ import annotations

import re
from pathlib import Path

from offloadc.device_pass.device_math import libdevice
from offloadc.device_pass.ir_jobs import emit_job
from offloadc.device_pass.target import ImagePlan, PlannedImage, Target
from offloadc.model import Debug, ImageKind, Job, OffloadKind, Unit

_TRIPLE = "nvptx64-nvidia-cuda"

# arch -> the lowest PTX version with which LLVM 22 accepts it, and the ptxas releases that know it.
_ARCHS: dict[str, tuple[int, tuple[int, int], tuple[int, int] | None]] = {
    "sm_60": (50, (8, 0), (13, 0)),
    "sm_61": (50, (8, 0), (13, 0)),
    "sm_62": (50, (8, 0), (13, 0)),
    "sm_70": (60, (9, 0), (13, 0)),
    "sm_72": (61, (9, 2), (13, 0)),
    "sm_75": (63, (10, 0), None),
    "sm_80": (70, (11, 0), None),
    "sm_86": (71, (11, 1), None),
    "sm_87": (74, (11, 4), None),
    "sm_88": (90, (13, 0), None),
    "sm_89": (78, (11, 8), None),
    "sm_90": (78, (11, 8), None),
    "sm_90a": (80, (12, 0), None),
    "sm_100": (86, (12, 8), None),
    "sm_100a": (86, (12, 8), None),
    "sm_100f": (88, (12, 9), None),
    "sm_101": (86, (12, 8), (13, 0)),
    "sm_101a": (86, (12, 8), (13, 0)),
    "sm_103": (88, (12, 9), None),
    "sm_103a": (88, (12, 9), None),
    "sm_103f": (88, (12, 9), None),
    "sm_110": (90, (13, 0), None),
    "sm_110a": (90, (13, 0), None),
    "sm_120": (87, (12, 8), None),
    "sm_120a": (87, (12, 8), None),
    "sm_120f": (88, (12, 9), None),
    "sm_121": (88, (12, 9), None),
    "sm_121a": (88, (12, 9), None),
}

# Kernel parameters beyond 4,352 bytes need PTX 8.1; liboffload needs a driver that is newer still.
_LOWEST_PTX = 81


def _ptx_version(arch: str) -> int:
    return max(_LOWEST_PTX, _ARCHS[arch][0])


def _canonical_arch(word: str) -> str | None:
    return word if word in _ARCHS else None


def _front_end_args(arch: str) -> tuple[str, ...]:
    feature = f"--cuda-feature=+ptx{_ptx_version(arch)}"
    return (f"--offload-arch={arch}", feature, "-D__OFFLOADC_TARGET_NVPTX__=1")


def _emit_ptx(unit: Unit, arch: str, bitcode: Path, output: Path) -> Job:
    return emit_job(
        unit,
        arch,
        bitcode,
        output,
        stage="emit",
        triple=_TRIPLE,
        cpu=arch,
        features=f"+ptx{_ptx_version(arch)}",
        filetype="asm",
        debug=_shipped_debug(unit),
        line_info="DebugDirectivesOnly",  # .loc without DWARF, as clang gives ptxas for -lineinfo
    )


def _shipped_debug(unit: Unit) -> Debug:
    """ptxas takes full debug information with -O0 only; above it, as in clang, -g means lines."""
    asked = unit.invocation.debug
    return Debug.LINES if asked is Debug.FULL and unit.invocation.opt_level != "0" else asked


def _ptxas_debug(unit: Unit) -> tuple[str, ...]:
    level = _shipped_debug(unit)
    return {Debug.NONE: (), Debug.LINES: ("-lineinfo",), Debug.FULL: ("-g",)}[level]


def _ptxas(unit: Unit, arch: str, ptx: Path, cubin: Path) -> Job:
    debug = _ptxas_debug(unit)
    level = "0" if "-g" in debug else unit.invocation.opt_level
    flags = (*debug, *unit.invocation.ptxas_flags)
    args = (str(unit.tools.ptxas), f"-O{level}", f"-arch={arch}", *flags, "-o", str(cubin), str(ptx))
    return Job("assemble", arch, args, (ptx,), (cubin,))


def _release(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _why_no_cubin(unit: Unit, arch: str) -> str | None:
    if unit.tools.ptxas is None:
        return (
            f"ptxas not found: {arch} gets PTX only, which the GPU's driver compiles when the program "
            "starts; pip install nvidia-cuda-nvcc brings ptxas"
        )
    have = _release(unit.tools.ptxas_version or "")
    _, since, until = _ARCHS[arch]
    if have < since or (until is not None and have >= until):
        return f"ptxas {unit.tools.ptxas_version} does not know {arch}: it gets PTX only"
    return None


def _plan_images(unit: Unit, arch: str, bitcode: Path) -> ImagePlan:
    ptx = unit.file(arch, "ptx")
    emit = _emit_ptx(unit, arch, bitcode, ptx)
    ptx_image = PlannedImage(ptx, ImageKind.PTX, OffloadKind.CUDA, _TRIPLE, arch)
    why = _why_no_cubin(unit, arch)
    if why is not None:
        return ImagePlan((emit,), (ptx_image,), (why,))
    cubin = unit.file(arch, "cubin")
    cubin_image = PlannedImage(cubin, ImageKind.CUBIN, OffloadKind.CUDA, _TRIPLE, arch)
    return ImagePlan((emit, _ptxas(unit, arch, ptx, cubin)), (cubin_image, ptx_image))


def _plan_assembly(unit: Unit, arch: str, bitcode: Path, output: Path) -> tuple[Job, ...]:
    return (_emit_ptx(unit, arch, bitcode, output),)


TARGET = Target(
    name="nvptx64",
    triple=_TRIPLE,
    mode="cuda",
    offload_kind=OffloadKind.CUDA,
    archs=tuple(_ARCHS),
    canonical_arch=_canonical_arch,
    front_end_args=_front_end_args,
    device_math=libdevice,
    plan_images=_plan_images,
    plan_assembly=_plan_assembly,
    own_flags=(
        "--cuda-noopt-device-debug",
        "--cuda-feature=",
        "-fgpu-approx-transcendentals",
    ),
    address_spaces={"global": 1, "shared": 3, "constant": 4, "local": 5, "param": 101},
    keeps_natural_offsets=False,
)
