"""AMD GPUs: bitcode -> relocatable object -> code object by lld.

Target IDs (LLVM AMDGPU usage, "Target ID"): processor, then features xnack and sramecc, each on
(+), off (-) or left open, in alphabetical order.
"""

from __future__ import annotations

from pathlib import Path

from offloadc.device_pass.device_math import rocm_device_libs
from offloadc.device_pass.ir_jobs import emit_job
from offloadc.device_pass.target import DeviceMath, ImagePlan, PlannedImage, Target
from offloadc.model import ImageKind, Job, OffloadKind, Toolchain, Unit

_TRIPLE = "amdgcn-amd-amdhsa"

# processor -> the target-id features it has (LLVM 22, AMDGPU usage, "Processors").
_PROCESSORS: dict[str, tuple[str, ...]] = {
    "gfx900": ("xnack",),
    "gfx902": ("xnack",),
    "gfx904": ("xnack",),
    "gfx906": ("sramecc", "xnack"),
    "gfx908": ("sramecc", "xnack"),
    "gfx909": ("xnack",),
    "gfx90a": ("sramecc", "xnack"),
    "gfx90c": ("xnack",),
    "gfx942": ("sramecc", "xnack"),
    "gfx950": ("sramecc", "xnack"),
    "gfx1010": ("xnack",),
    "gfx1011": ("xnack",),
    "gfx1012": ("xnack",),
    "gfx1013": ("xnack",),
    "gfx1030": (),
    "gfx1031": (),
    "gfx1032": (),
    "gfx1033": (),
    "gfx1034": (),
    "gfx1035": (),
    "gfx1036": (),
    "gfx1100": (),
    "gfx1101": (),
    "gfx1102": (),
    "gfx1103": (),
    "gfx1150": (),
    "gfx1151": (),
    "gfx1152": (),
    "gfx1153": (),
    "gfx1200": (),
    "gfx1201": (),
    "gfx9-generic": ("xnack",),
    "gfx9-4-generic": ("sramecc", "xnack"),
    "gfx10-1-generic": ("xnack",),
    "gfx10-3-generic": (),
    "gfx11-generic": (),
    "gfx12-generic": (),
}


def _features(tail: list[str]) -> dict[str, str] | None:
    """The features of a target id's tail, None where it is malformed or one is named twice."""
    found: dict[str, str] = {}
    for part in tail:
        name, sign = part[:-1], part[-1:]
        if sign not in ("+", "-") or name in found:
            return None
        found[name] = sign
    return found


def _canonical_arch(word: str) -> str | None:
    processor, *tail = word.split(":")
    features = _features(tail)
    if processor not in _PROCESSORS or features is None:
        return None
    if not set(features) <= set(_PROCESSORS[processor]):
        return None
    return ":".join((processor, *(f"{name}{features[name]}" for name in sorted(features))))


def _processor(arch: str) -> str:
    return arch.split(":", 1)[0]


def _is_generic(arch: str) -> bool:
    return _processor(arch).endswith("-generic")


def _wave64(arch: str) -> bool:
    """gfx9 runs waves of 64 lanes; later ones are compiled for 32."""
    processor = _processor(arch)
    return processor.startswith("gfx9")


def _code_object_version(arch: str) -> int:
    """Generic targets exist from version 6 on; version 5 is what every ROCm from 5.5 on loads."""
    return 6 if _is_generic(arch) else 5


def _front_end_args(arch: str) -> tuple[str, ...]:
    return (
        f"--offload-arch={arch}",
        f"-mcode-object-version={_code_object_version(arch)}",
        # without it a float atomicAdd on gfx90a is a compare-and-swap loop
        "-munsafe-fp-atomics",
        "-D__OFFLOADC_TARGET_AMDGCN__=1",
    )


def _device_math(tools: Toolchain, arch: str) -> DeviceMath | None:
    return rocm_device_libs(tools, _processor(arch), _wave64(arch))


def _llvm_features(arch: str) -> str:
    _, *tail = arch.split(":")
    return ",".join(f"{part[-1]}{part[:-1]}" for part in tail)


def _emit(unit: Unit, arch: str, bitcode: Path, output: Path, filetype: str) -> Job:
    return emit_job(
        unit,
        arch,
        bitcode,
        output,
        stage="emit",
        triple=_TRIPLE,
        cpu=_processor(arch),
        features=_llvm_features(arch),
        filetype=filetype,
    )


def _link(unit: Unit, arch: str, device_object: Path, code_object: Path) -> Job:
    args = (str(unit.tools.lld), "-m", "elf64_amdgpu", "--no-undefined", "-shared")
    return Job(
        "device-link",
        arch,
        (*args, "-o", str(code_object), str(device_object)),
        (device_object,),
        (code_object,),
    )


def _plan_images(unit: Unit, arch: str, bitcode: Path) -> ImagePlan:
    device_object, code_object = unit.file(arch, "o"), unit.file(arch, "hsaco")
    jobs = (
        _emit(unit, arch, bitcode, device_object, "obj"),
        _link(unit, arch, device_object, code_object),
    )
    return ImagePlan(jobs, (PlannedImage(code_object, ImageKind.OBJECT, OffloadKind.HIP, _TRIPLE, arch),))


def _plan_assembly(unit: Unit, arch: str, bitcode: Path, output: Path) -> tuple[Job, ...]:
    return (_emit(unit, arch, bitcode, output, "asm"),)


TARGET = Target(
    name="amdgcn",
    triple=_TRIPLE,
    mode="hip",
    offload_kind=OffloadKind.HIP,
    archs=tuple(_PROCESSORS),
    canonical_arch=_canonical_arch,
    front_end_args=_front_end_args,
    device_math=_device_math,
    plan_images=_plan_images,
    plan_assembly=_plan_assembly,
    own_flags=(
        "-mcode-object-version=",
        "-munsafe-fp-atomics",
        "-mno-unsafe-fp-atomics",
        "-mwavefrontsize64",
        "-mno-wavefrontsize64",
        "-mcumode",
        "-mno-cumode",
    ),
    address_spaces={"global": 1, "shared": 3, "constant": 4, "local": 5},
    keeps_natural_offsets=True,
)
