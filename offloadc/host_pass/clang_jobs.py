"""The clang commands that C-family languages share.

The host pass is clang's CUDA host mode over our own header: each kernel gets one standard
offload entry and a stub whose address names it; there are no static constructors. `-fgpu-rdc
-cuid=` is what makes clang write the entries and tell internal kernels of two units apart. The
device passes are compiled without it: one image a unit.
"""

from __future__ import annotations

from pathlib import Path

from offloadc.host_pass.language import DeviceDialect
from offloadc.model import Job, OutputKind, Unit

# Without an SDK version clang's host pass would call the launch interface of CUDA 8.
_SDK_VERSION = "12.9"

_MODE_ARGS = {
    "cuda": ("--cuda-path=/nonexistent", "-nocudainc", "-nocudalib"),
    # HIP puts a symbol named after the cuid into each image; without one it hashes the output path
    "hip": ("-nogpuinc", "-nogpulib", "--no-gpu-bundle-output", "-fuse-cuid=none"),
}

# clang warns in CUDA and HIP mode of flags that only the other pass can use; the table in
# options.py has already routed them.
_QUIET = ("-Wno-cuda-compat", "-Wno-unknown-cuda-version")

# Without it complex products and quotients call functions that no device library has. -ffast-math,
# behind it, may make them simpler still.
_COMPLEX = ("-fcomplex-arithmetic=improved", "-Wno-overriding-complex-range")

_OUTPUT_FLAGS = {
    OutputKind.PREPROCESSED: ("-E",),
    OutputKind.SYNTAX_ONLY: ("-fsyntax-only",),
    OutputKind.ASSEMBLY: ("-S",),
    OutputKind.OBJECT: ("-c",),
    OutputKind.BITCODE: ("-emit-llvm", "-c"),
}


def _common(unit: Unit, flags: tuple[str, ...], prologue: tuple[str, ...]) -> tuple[str, ...]:
    target = (f"--target={unit.invocation.host_triple}",) if unit.invocation.host_triple else ()
    includes = tuple(word for header in prologue for word in ("-include", header))
    headers = ("-isystem", str(unit.runtime / "include"))
    return (str(unit.tools.clangxx), *target, *flags, "-fdeclspec", *_QUIET, *headers, *includes)


def _cc1(*words: str) -> tuple[str, ...]:
    return tuple(part for word in words for part in ("-Xclang", word))


def _dependency_flags(depfile: str) -> tuple[str, ...]:
    return ("-MD", "-MF", depfile, "-MT", "offloadc")


def _front_end_dependency_flags(depfile: str) -> tuple[str, ...]:
    """clang's driver drops -MF in HIP device mode; its front end does not."""
    return _cc1("-dependency-file", depfile, "-MT", "offloadc", "-sys-header-deps")


_DEPENDENCY_FLAGS = {"hip": _front_end_dependency_flags}


def _finish(
    unit: Unit, name: str, pass_name: str, args: tuple[str, ...], kind: OutputKind, mode: str, output: Path
) -> Job:
    depfile = unit.file(pass_name, "d")
    out = () if kind is OutputKind.SYNTAX_ONLY else ("-o", str(output))
    depend = _DEPENDENCY_FLAGS.get(mode, _dependency_flags)(str(depfile))
    return Job(
        name=name,
        pass_name=pass_name,
        args=(*args, *depend, *out, "-x", mode, unit.source.path),
        inputs=(Path(unit.source.path),),
        outputs=() if kind is OutputKind.SYNTAX_ONLY else (output,),
        depfile=depfile,
        unit=unit.source.path,
    )


def output_flags(unit: Unit, kind: OutputKind) -> tuple[str, ...]:
    if unit.invocation.emit_llvm and kind is OutputKind.ASSEMBLY:
        return ("-emit-llvm", "-S")
    return _OUTPUT_FLAGS[kind]


def host_job(unit: Unit, kind: OutputKind, output: Path, prologue: tuple[str, ...]) -> Job:
    args = (
        *_common(unit, unit.invocation.host_flags, prologue),
        *_MODE_ARGS["cuda"],
        "--cuda-host-only",
        "-fgpu-rdc",
        f"-cuid={unit.cuid}",
        *_cc1(f"-target-sdk-version={_SDK_VERSION}"),
        *_no_lto(unit.invocation.host_flags),
        *output_flags(unit, kind),
    )
    return _finish(unit, "host", "host", args, kind, "cuda", output)


def _wrapper_headers(unit: Unit) -> tuple[str, ...]:
    """clang's device versions of <new>, <complex>, ...; -nogpuinc takes them out with the SDK's."""
    headers = unit.tools.llvm / "lib" / "clang" / str(unit.tools.llvm_major) / "include" / "cuda_wrappers"
    return ("-isystem", str(headers))


def _no_lto(flags: tuple[str, ...]) -> tuple[str, ...]:
    """The stubs' calls are renamed in the object, which must be machine code for that."""
    return ("-fno-lto",) if any(f.startswith("-flto") for f in flags) else ()


def device_job(
    unit: Unit, dialect: DeviceDialect, kind: OutputKind, output: Path, prologue: tuple[str, ...]
) -> Job:
    inv = unit.invocation
    flags = (*inv.device_flags, *inv.arch_flags.get(dialect.pass_name, ()))
    kept = tuple(f for f in flags if not f.startswith(dialect.foreign_flags))
    args = (
        *_common(unit, (*_COMPLEX, *kept), prologue),
        *_MODE_ARGS[dialect.mode],
        *_wrapper_headers(unit),
        "--cuda-device-only",
        "-D__OFFLOADC_DEVICE_PASS__=1",
        *dialect.args,
        *(_code_args(dialect) if kind not in (OutputKind.PREPROCESSED, OutputKind.SYNTAX_ONLY) else ()),
        *output_flags(unit, kind),
    )
    return _finish(unit, "device", dialect.pass_name, args, kind, dialect.mode, output)


def _code_args(dialect: DeviceDialect) -> tuple[str, ...]:
    """Math, and the debug information the checker reads; the shipped image is made without it."""
    link = tuple(
        word
        for file in dialect.bitcode
        for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(file))
    )
    # nvptx above -O0 degrades -g to line directives; cc1's own flag does not.
    debug = ("-g", *_cc1("-debug-info-kind=standalone"))
    return (*link, *debug)


def plain_job(unit: Unit, kind: OutputKind, output: Path, language: str, compiler: Path) -> Job:
    """A host-only source: clang does what it always does."""
    inv = unit.invocation
    target = (f"--target={inv.host_triple}",) if inv.host_triple else ()
    args = (str(compiler), *target, *inv.host_flags, *output_flags(unit, kind))
    return _finish(unit, "host", "host", args, kind, language, output)
