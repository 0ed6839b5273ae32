"""The child process of an IR stage: bitcode in, a target's assembly or object out.

    python -m offloadc.device_pass.ir_worker STAGE --triple=T --cpu=C --features=F --opt=N
        --debug=none|lines|full --filetype=asm|obj -o OUTPUT INPUT

Stages: `emit` generates code for the triple the bitcode is for; `retarget` first turns nvptx64 IR
into an x86-64 CPU image's and optimises it. Exit code 1 with one `error:` line for bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

try:
    import llvmlite.binding as llvm
except (ImportError, OSError) as failure:
    sys.exit(f"error: llvmlite cannot be loaded: {failure}\nhelp: pip install 'llvmlite>=0.50,<0.51'")

from offloadc.device_pass import ir_edits
from offloadc.model import Debug, OffloadcError

_PARSED_LEVELS = ("0", "1", "2", "3")


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ir_worker", allow_abbrev=False)
    parser.add_argument("stage", choices=sorted(_STAGES))
    parser.add_argument("--triple", required=True)
    parser.add_argument("--cpu", required=True)
    parser.add_argument("--features", default="")
    parser.add_argument("--opt", choices=_PARSED_LEVELS, default="2")
    parser.add_argument("--debug", choices=[d.value for d in Debug], default="none")
    parser.add_argument("--line-info", default="LineTablesOnly")  # DICompileUnit's emissionKind
    parser.add_argument("--filetype", choices=("asm", "obj"), required=True)
    parser.add_argument("-o", dest="output", type=Path, required=True)
    parser.add_argument("input", type=Path)
    return parser.parse_args(argv)


def _load(path: Path) -> llvm.ModuleRef:
    try:
        return llvm.parse_bitcode(path.read_bytes())
    except RuntimeError as error:
        raise OffloadcError(f"{path}: not bitcode that LLVM {_llvm_major()} reads: {error}") from error


def _llvm_major() -> int:
    return int(llvm.llvm_version_info[0])


def _verified(text: str) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise OffloadcError(f"an edit of the IR went wrong: {error}") from error
    return module


def _what_is_wrong(text: str) -> str | None:
    """The verifier that ir_edits calls after each edit."""
    try:
        llvm.parse_assembly(text).verify()
    except RuntimeError as error:
        return str(error)
    return None


def _with_debug(text: str, options: argparse.Namespace) -> str:
    if options.debug == Debug.NONE.value:
        return ir_edits.strip_debug_info(text)
    return ir_edits.lines_only(text, options.line_info) if options.debug == Debug.LINES.value else text


def _machine(options: argparse.Namespace, **more: str) -> llvm.TargetMachine:
    target = llvm.Target.from_triple(options.triple)
    return target.create_target_machine(
        cpu=options.cpu, features=options.features, opt=int(options.opt), **more
    )


def _emit(options: argparse.Namespace) -> None:
    module = _load(options.input)
    if options.debug != Debug.FULL.value:
        module = _verified(_with_debug(str(module), options))
    _write(_machine(options, reloc="pic"), module, options)


def _retarget(options: argparse.Namespace) -> None:
    text = str(_load(options.input))
    try:
        cpu = _retargeted(_with_debug(text, options))
    except OffloadcError:
        _retargeted(text)  # with debug information the same error has a place in the source
        raise
    module = _verified(cpu.text)
    machine = _machine(options, reloc="pic")
    _optimise(module, machine, int(options.opt))
    _write(machine, module, options)


def _retargeted(text: str) -> ir_edits.CpuModule:
    return ir_edits.retarget_to_x86_64(text, llvm_major=_llvm_major(), verify=_what_is_wrong)


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine, level: int) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = level >= 2
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def _write(machine: llvm.TargetMachine, module: llvm.ModuleRef, options: argparse.Namespace) -> None:
    if options.filetype == "asm":
        options.output.write_text(machine.emit_assembly(module))
    else:
        options.output.write_bytes(machine.emit_object(module))


_STAGES: Mapping[str, Callable[[argparse.Namespace], None]] = MappingProxyType(
    {"emit": _emit, "retarget": _retarget}
)


def main(argv: list[str]) -> int:
    options = _arguments(argv)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        ir_edits.check_llvm_major(_llvm_major())
        _STAGES[options.stage](options)
    except OffloadcError as error:
        place = f"{error.where}: " if error.where else ""
        print(f"{place}error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"help: {error.hint}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
