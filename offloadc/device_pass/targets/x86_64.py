"""The CPU device: the nvptx64 front end's IR, retargeted to x86-64 and linked with an engine.

A third plain C++ pass could not parse <<<>>> and would name lambdas differently, so the CPU
image is made of the same front end as an NVIDIA one and has its layouts.
"""

from __future__ import annotations

from pathlib import Path

from offloadc.device_pass.ir_jobs import emit_job
from offloadc.device_pass.target import DeviceMath, ImagePlan, PlannedImage, Target
from offloadc.model import ImageKind, Job, OffloadKind, Toolchain, Unit

_TRIPLE = "x86_64-unknown-linux-gnu"

# arch -> LLVM's name of the processor
_ARCHS = {"x86-64": "x86-64", "x86-64-v2": "x86-64-v2", "x86-64-v3": "x86-64-v3", "x86-64-v4": "x86-64-v4"}

# The oldest arch with the scoped atomics and warp operations that the header spells.
_FRONT_END = ("--offload-arch=sm_70", "--cuda-feature=+ptx70")


def _canonical_arch(word: str) -> str | None:
    return word if word in _ARCHS else None


def _front_end_args(arch: str) -> tuple[str, ...]:
    # Optimisation happens after retargeting, for x86-64. Inlined math must keep libm's errno-free form.
    unoptimised = ("-Xclang", "-disable-llvm-passes")
    return (*_FRONT_END, *unoptimised, "-fno-math-errno", "-D__OFFLOADC_TARGET_CPU__=1")


def _device_math(tools: Toolchain, arch: str) -> DeviceMath | None:
    return None  # libm, when the image is loaded


def _emit(unit: Unit, arch: str, bitcode: Path, output: Path, filetype: str) -> Job:
    return emit_job(
        unit,
        arch,
        bitcode,
        output,
        stage="retarget",
        triple=_TRIPLE,
        cpu=_ARCHS[arch],
        features="",
        filetype=filetype,
    )


def _engine(unit: Unit) -> Job:
    source, output = unit.runtime / "cpu" / "engine.c", unit.work / "cpu-engine.o"
    flags = ("-std=c11", "-O2", "-g0", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off")
    include = ("-I", str(unit.runtime / "include"))
    args = (str(unit.tools.clang), *flags, *include, "-c", str(source), "-o", str(output))
    return Job("cpu-engine", "x86-64", args, (source,), (output,))


def _link(unit: Unit, arch: str, device_object: Path, image: Path, engine: Path) -> Job:
    args = (
        str(unit.tools.clang),
        "-shared",
        f"--ld-path={unit.tools.lld}",
        "-Wl,-z,defs",
        "-Wl,--gc-sections",
        "-Wl,--build-id=none",
        *(() if unit.invocation.debug.value != "none" else ("-Wl,--strip-debug",)),
        "-o",
        str(image),
        str(device_object),
        str(engine),
        "-lm",
    )
    return Job("device-link", arch, args, (device_object, engine), (image,))


def _plan_images(unit: Unit, arch: str, bitcode: Path) -> ImagePlan:
    device_object, image = unit.file(arch, "o"), unit.file(arch, "so")
    engine = _engine(unit)
    jobs = (
        _emit(unit, arch, bitcode, device_object, "obj"),
        engine,
        _link(unit, arch, device_object, image, engine.outputs[0]),
    )
    return ImagePlan(jobs, (PlannedImage(image, ImageKind.OBJECT, OffloadKind.NONE, _TRIPLE, arch),))


def _plan_assembly(unit: Unit, arch: str, bitcode: Path, output: Path) -> tuple[Job, ...]:
    return (_emit(unit, arch, bitcode, output, "asm"),)


TARGET = Target(
    name="x86_64",
    triple=_TRIPLE,
    mode="cuda",
    offload_kind=OffloadKind.NONE,
    archs=tuple(_ARCHS),
    canonical_arch=_canonical_arch,
    front_end_args=_front_end_args,
    device_math=_device_math,
    plan_images=_plan_images,
    plan_assembly=_plan_assembly,
    own_flags=(),
    address_spaces={"global": 0, "shared": 0, "constant": 0, "local": 0},
    keeps_natural_offsets=True,
    always=True,
)
