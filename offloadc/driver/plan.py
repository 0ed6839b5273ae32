"""Invocation + toolchain -> jobs. Pure: no file is read, no process started."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from offloadc import device_pass, host_pass
from offloadc.device_pass import PlannedImage, Target
from offloadc.driver.actions import Bundle
from offloadc.model import Invocation, Job, OffloadcError, OutputKind, SourceFile, Toolchain, Unit

# clang's host stubs call these; as own names they are no CUDA or HIP runtime's in the same process.
RENAMED_SYMBOLS = (
    ("cudaLaunchKernel", "__offloadc_launch_kernel"),
    ("__cudaPushCallConfiguration", "__offloadc_push_call_configuration"),
    ("__cudaPopCallConfiguration", "__offloadc_pop_call_configuration"),
)

DEFAULT_GPU_ARCHS = ("sm_80", "gfx90a")
DEFAULT_CPU_ARCH = "x86-64"


@dataclass(frozen=True, slots=True)
class DevicePass:
    """One arch to compile for."""

    target: Target
    arch: str


@dataclass(frozen=True, slots=True)
class Product:
    """A file of the work folder and where the user wants it; destination None: standard output."""

    path: Path
    destination: Path | None


@dataclass(frozen=True, slots=True)
class Plan:
    jobs: tuple[Job, ...]
    products: tuple[Product, ...]
    units: tuple[Unit, ...] = ()
    contracts: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()


# --------------------------------------------------------------------------- which archs
def device_passes(inv: Invocation, present: tuple[str, ...], host_triple: str) -> tuple[DevicePass, ...]:
    """The archs to compile for, in the order asked for, the CPU device last.

    `present`: archs of this machine's GPUs, for `native` and for the default.
    Raises OffloadcError for an unknown arch, with the nearest one that is known.
    """
    if inv.host_only:
        return ()
    words = _expand_native(inv.archs, present) if inv.archs is not None else (present or DEFAULT_GPU_ARCHS)
    passes = dict.fromkeys(DevicePass(*device_pass.target_of_arch(word)) for word in words)
    if host_triple.startswith("x86_64") and not any(p.target.always for p in passes):
        passes[DevicePass(*device_pass.target_of_arch(DEFAULT_CPU_ARCH))] = None
    return tuple(sorted(passes, key=lambda p: p.target.always))


def _expand_native(archs: tuple[str, ...], present: tuple[str, ...]) -> tuple[str, ...]:
    if "native" in archs and not present:
        raise OffloadcError(
            "--offload-arch=native: no GPU was found on this machine",
            hint="name archs, such as --offload-arch=sm_90,gfx90a; 'offloadc doctor' says why none was found",
        )
    return tuple(a for arch in archs for a in (present if arch == "native" else (arch,)))


# --------------------------------------------------------------------------- units
def cuid_of(source: SourceFile, inv: Invocation) -> str:
    """Tells two units apart, alike in every pass, the same in every build of the same files.

    The source's real path takes part (as -ffile-prefix-map shows it): two units that include
    different headers under equal relative names must not share a name for internal kernels.
    """
    path = os.path.realpath(source.path)
    for flag in inv.host_flags:
        if flag.startswith(("-ffile-prefix-map=", "-fmacro-prefix-map=")):
            old, _, new = flag.partition("=")[2].partition("=")
            path = new + path[len(old) :] if path.startswith(old) else path
    words = (path, *inv.host_flags, *inv.device_flags)
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def units_of(inv: Invocation, tools: Toolchain, work: Path, runtime: Path) -> tuple[Unit, ...]:
    stems: dict[str, int] = {}
    units = []
    for source in inv.sources:
        stem = Path(source.path).stem
        stems[stem] = stems.get(stem, 0) + 1
        distinct = stem if stems[stem] == 1 else f"{stem}.{stems[stem]}"
        units.append(Unit(source, distinct, work, cuid_of(source, inv), inv, tools, runtime))
    return tuple(units)


def _dialect(unit: Unit, device: DevicePass) -> host_pass.DeviceDialect:
    target = device.target
    math = target.device_math(unit.tools, device.arch)
    foreign = (f for t in device_pass.all_targets() if t is not target for f in t.own_flags)
    return host_pass.DeviceDialect(
        pass_name=device.arch,
        mode=target.mode,
        args=(*target.front_end_args(device.arch), *(math.front_end_args if math else ())),
        bitcode=math.files if math else (),
        foreign_flags=tuple(f for f in foreign if f not in target.own_flags),
    )


# --------------------------------------------------------------------------- a unit to objects
@dataclass(frozen=True, slots=True)
class UnitPlan:
    jobs: tuple[Job, ...]
    objects: tuple[Path, ...]  # what to link, in order
    contract: Path | None = None
    warnings: tuple[str, ...] = ()


def _launcher(job: Job, inv: Invocation) -> Job:
    """Only compiler jobs get the launcher: ccache understands nothing else."""
    return replace(job, args=(*inv.launcher, *job.args)) if inv.launcher else job


def unit_objects(unit: Unit, passes: tuple[DevicePass, ...], host_triple: str) -> UnitPlan:
    """Source -> host object and the object that embeds its device images."""
    inv = unit.invocation
    language = host_pass.language_named(unit.source.language or "")
    raw = unit.file("host", "o")
    host = _launcher(language.host_job(unit, OutputKind.OBJECT, raw), inv)
    if not language.offload or language.device_job is None:
        return UnitPlan((host,), (raw,))
    renamed = unit.file("host-renamed", "o")
    jobs = [host, _rename(unit, raw, renamed)]
    if not passes:
        return UnitPlan(tuple(jobs), (renamed,))
    images: list[PlannedImage] = []
    warnings: list[str] = []
    for device in passes:
        bitcode = unit.file(device.arch, "bc")
        front_end = language.device_job(unit, _dialect(unit, device), OutputKind.BITCODE, bitcode)
        plan = device.target.plan_images(unit, device.arch, bitcode)
        jobs += [_launcher(front_end, inv), *plan.jobs]
        images += plan.images
        warnings += plan.warnings
    bundle, embed = _bundle(unit, tuple(images), raw, host_triple)
    jobs += [bundle, embed]
    return UnitPlan(tuple(jobs), (renamed, embed.outputs[0]), bundle.outputs[2], tuple(warnings))


def _rename(unit: Unit, source: Path, destination: Path) -> Job:
    renames = tuple(f"--redefine-sym={old}={new}" for old, new in RENAMED_SYMBOLS)
    args = (str(unit.tools.tool("llvm-objcopy")), *renames, str(source), str(destination))
    return Job("rename", "host", args, (source,), (destination,))


def _bundle(unit: Unit, images: tuple[PlannedImage, ...], host: Path, host_triple: str) -> tuple[Job, Job]:
    bundle, assembly = unit.file("offload"), unit.file("images", "s")
    contract, embedded = unit.file("contract", "json"), unit.file("images", "o")
    action = Bundle(images, unit.hash, host, host_triple, bundle, assembly, contract)
    inputs = (host, *(i.path for i in images))
    outputs = (bundle, assembly, contract)
    target = (f"--target={unit.invocation.host_triple}",) if unit.invocation.host_triple else ()
    args = (str(unit.tools.clang), *target, "-c", "-x", "assembler", str(assembly), "-o", str(embedded))
    return (
        Job("bundle", "bundle", (), inputs, outputs, action=action),
        Job("embed", "bundle", args, (assembly, bundle), (embedded,)),
    )


def fat_object(unit: Unit, objects: tuple[Path, ...], output: Path) -> Job:
    args = (str(unit.tools.lld), "-r", *(str(o) for o in objects), "-o", str(output))
    return Job("fat-object", "host", args, objects, (output,))


# --------------------------------------------------------------------------- link
def stub_jobs(
    tools: Toolchain, inv: Invocation, work: Path, runtime: Path, sources: tuple[Path, ...]
) -> tuple[Job, ...]:
    """Compile the launch stub's sources for the host; the cache keeps them from then on."""
    target = (f"--target={inv.host_triple}",) if inv.host_triple else ()
    flags = ("-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections")
    jobs = []
    for source in sources:
        output = work / f"stub-{source.stem}.o"
        include = ("-I", str(runtime / "include"), "-I", str(runtime / "stub"))
        args = (str(tools.clang), *target, *flags, *include, "-c", str(source), "-o", str(output))
        depfile = output.with_suffix(".d")
        args = (*args, "-MD", "-MF", str(depfile), "-MT", "offloadc")
        jobs.append(Job("stub", "host", args, (source,), (output,), depfile=depfile))
    return tuple(jobs)


def link_job(
    inv: Invocation,
    tools: Toolchain,
    work: Path,
    line: tuple[str | Path, ...],
    stub: tuple[Path, ...],
    output: Path,
) -> Job:
    """One link by clang++. `line` is the user's order of objects and flags; paths are inputs."""
    depfile = work / "link.d"
    target = (f"--target={inv.host_triple}",) if inv.host_triple else ()
    shared = ("-shared",) if inv.output_kind is OutputKind.SHARED else ()
    words = tuple(str(w) for w in line)
    uses_lld = any(w in ("-fuse-ld=lld",) or w.startswith("--ld-path=") for w in words)
    # lld drops sections that only __start_/__stop_ symbols name; ours and clang's entries are such
    keep = ("-Wl,-z,nostart-stop-gc",) if uses_lld else ()
    # what -flto, -fsanitize, -pthread, ... mean to the link is in the words already: Route.HOST_LINK
    args = (
        str(tools.clangxx),
        *target,
        *shared,
        *words,
        *(str(s) for s in stub),
        *keep,
        f"-Wl,--dependency-file={depfile}",
        "-ldl",
        "-lpthread",
        "-o",
        str(output),
    )
    inputs = (*(w for w in line if isinstance(w, Path)), *stub)
    return Job("link", "link", args, inputs, (output,), depfile=depfile)


# --------------------------------------------------------------------------- whole plans
def default_output(inv: Invocation, source: SourceFile | None, middle: str, suffix: str) -> Path:
    if inv.output is not None:
        return Path(inv.output)
    if source is None:
        return Path("a.out")
    stem = Path(source.path).stem
    return Path(f"{stem}-{middle}{suffix}" if middle else f"{stem}{suffix}")


def plan_program(
    inv: Invocation,
    tools: Toolchain,
    work: Path,
    units: tuple[Unit, ...],
    passes: tuple[DevicePass, ...],
    stub: tuple[Job, ...],
    host_triple: str,
) -> Plan:
    """Compile every source and link: executable or shared object."""
    plans = tuple(unit_objects(u, passes, host_triple) for u in units)
    compiled = iter(plans)
    line: list[str | Path] = []
    for item in inv.link_line:
        if isinstance(item, str):
            line.append(item)
        elif item.language:
            line.extend(next(compiled).objects)
        else:
            line.append(Path(item.path))
    output = work / "program"
    link = link_job(inv, tools, work, tuple(line), _outputs(stub), output)
    jobs = _unique(job for p in plans for job in p.jobs)
    return Plan(
        (*jobs, *stub, link),
        (Product(output, default_output(inv, None, "", "")),),
        units,
        tuple(p.contract for p in plans if p.contract),
        tuple(dict.fromkeys(w for p in plans for w in p.warnings)),
    )


def _outputs(jobs: Iterable[Job]) -> tuple[Path, ...]:
    return tuple(path for job in jobs for path in job.outputs)


def _unique(jobs: Iterable[Job]) -> tuple[Job, ...]:
    return tuple(dict.fromkeys(jobs))


def plan_objects(
    inv: Invocation, units: tuple[Unit, ...], passes: tuple[DevicePass, ...], host_triple: str
) -> Plan:
    """-c: one fat object a source."""
    jobs: list[Job] = []
    products: list[Product] = []
    contracts: list[Path] = []
    warnings: list[str] = []
    for unit in units:
        plan = unit_objects(unit, passes, host_triple)
        jobs += plan.jobs
        result = plan.objects[0]
        if len(plan.objects) > 1:
            fat = fat_object(unit, plan.objects, unit.file("o"))
            jobs.append(fat)
            result = fat.outputs[0]
        products.append(Product(result, default_output(inv, unit.source, "", ".o")))
        contracts += [plan.contract] if plan.contract else []
        warnings += plan.warnings
    return Plan(_unique(jobs), tuple(products), units, tuple(contracts), tuple(dict.fromkeys(warnings)))


_PER_PASS_SUFFIX = {OutputKind.ASSEMBLY: ".s", OutputKind.PREPROCESSED: ".ii", OutputKind.BITCODE: ".bc"}


def plan_per_pass(inv: Invocation, units: tuple[Unit, ...], passes: tuple[DevicePass, ...]) -> Plan:
    """-S, -E, -emit-llvm, -fsyntax-only: what each pass makes, in files named after the pass."""
    jobs: list[Job] = []
    products: list[Product] = []
    for unit in units:
        for found, product in _per_pass(inv, unit, passes):
            jobs += found
            products += [product] if product else []
    if inv.output is not None and len(products) > 1:
        raise OffloadcError(
            f"-o {inv.output} names one file, but {len(products)} passes write one each",
            hint="leave out -o, or add --offload-host-only, or --offload-device-only and one arch",
        )
    return Plan(_unique(jobs), tuple(products), units)


def _per_pass(
    inv: Invocation, unit: Unit, passes: tuple[DevicePass, ...]
) -> Iterable[tuple[list[Job], Product | None]]:
    kind = OutputKind.BITCODE if inv.emit_llvm and inv.output_kind is OutputKind.OBJECT else inv.output_kind
    language = host_pass.language_named(unit.source.language or "")
    suffix = ".ll" if inv.emit_llvm and kind is OutputKind.ASSEMBLY else _PER_PASS_SUFFIX.get(kind, "")
    if not inv.device_only:
        output = unit.file("host", "out")
        yield [language.host_job(unit, kind, output)], _product(inv, unit, kind, output, "", suffix)
    if not language.offload or language.device_job is None:
        return
    for device in passes:
        output = unit.file(device.arch, "out")
        product = _product(inv, unit, kind, output, device.arch.replace(":", "_"), suffix)
        dialect = _dialect(unit, device)
        if kind is OutputKind.ASSEMBLY and not inv.emit_llvm:
            bitcode = unit.file(device.arch, "bc")
            front_end = language.device_job(unit, dialect, OutputKind.BITCODE, bitcode)
            yield [front_end, *device.target.plan_assembly(unit, device.arch, bitcode, output)], product
        else:
            yield [language.device_job(unit, dialect, kind, output)], product


def _product(
    inv: Invocation, unit: Unit, kind: OutputKind, path: Path, middle: str, suffix: str
) -> Product | None:
    if kind is OutputKind.SYNTAX_ONLY:
        return None
    if kind is OutputKind.PREPROCESSED and inv.output is None:
        return Product(path, None)
    return Product(path, default_output(inv, unit.source, middle, suffix))
