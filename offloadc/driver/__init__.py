"""Compile: plan, run, check, deliver. The only package that starts processes and writes outputs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from offloadc import host_pass, options
from offloadc.driver import depfile, diagnostics
from offloadc.driver.cache import Cache
from offloadc.driver.execute import Done, Executor, quoted, slots_for, write_file
from offloadc.driver.plan import (
    DevicePass,
    Plan,
    device_passes,
    plan_objects,
    plan_per_pass,
    plan_program,
    stub_jobs,
    units_of,
)
from offloadc.model import Invocation, Job, OffloadcError, OutputKind, Toolchain, Unit
from offloadc.toolchain import (
    RUNTIME,
    Environment,
    find_toolchain,
    gpu_device_nodes,
    native_archs,
    require_tools,
)

DEFAULT_HOST_TRIPLE = "x86_64-pc-linux-gnu"


class CompilationFailed(Exception):
    """A job failed and its diagnostics were printed; nothing more is to be said."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Where text for the user goes: `note` for chatter, `say` for diagnostics, both on stderr."""

    say: Callable[[str], None]
    error: Callable[[OffloadcError], None]
    warn: Callable[[str], None]


def compile_command(argv: tuple[str, ...], env: Environment, messages: Messages, *, color: bool) -> int:
    """`offloadc [flags] files`: the exit code. Raises OffloadcError for what the user can mend."""
    inv = options.parse(argv, suffixes=host_pass.suffixes(), languages=host_pass.names())
    inv = _with_color(inv, color)
    for warning in inv.warnings:
        messages.warn(warning)
    tools = find_toolchain(env)
    require_tools(tools)
    host_triple = inv.host_triple or DEFAULT_HOST_TRIPLE
    passes = device_passes(inv, _present_gpus(inv, tools), host_triple)
    with _work_folder(inv, env) as work:
        plan = make_plan(inv, tools, work, passes, host_triple)
        for warning in plan.warnings:
            messages.warn(warning)
        if inv.dry_run:
            _print_jobs(plan.jobs)
            return 0
        return _build(plan, inv, tools, env, work, messages)


def run_command(argv: tuple[str, ...], env: Environment, messages: Messages, *, color: bool) -> int:
    """`offloadc run [flags] FILE [args]`: build into the cache, then become the program."""
    compiler, program = options.split_run(argv)
    identity = "\0".join((os.path.realpath(compiler[-1]), *compiler[:-1]))
    folder = env.cache_folder() / "run" / hashlib.sha256(identity.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / Path(compiler[-1]).stem
    code = compile_command((*compiler, "-o", str(output)), env, messages, color=color)
    if code != 0:
        return code
    sys.stdout.flush()
    return os.execv(output, (str(output), *program))  # noqa: S606


def answer_query(argv: tuple[str, ...], env: Environment) -> int:
    """What build systems ask a compiler (--version, -print-file-name=...): clang answers."""
    tools = find_toolchain(env)
    return subprocess.run((str(tools.clangxx), *argv), check=False).returncode  # noqa: S603


def _with_color(inv: Invocation, color: bool) -> Invocation:
    wanted = color if inv.color is None else inv.color
    flag = ("-fcolor-diagnostics",) if wanted else ()
    return replace(inv, host_flags=(*flag, *inv.host_flags), device_flags=(*flag, *inv.device_flags))


def _present_gpus(inv: Invocation, tools: Toolchain) -> tuple[str, ...]:
    """GPUs of this machine, looked up only when the answer matters."""
    if inv.host_only or not inv.sources:
        return ()
    if inv.archs is None:
        return native_archs(tools) if gpu_device_nodes() else ()
    return native_archs(tools) if "native" in inv.archs else ()


def make_plan(
    inv: Invocation, tools: Toolchain, work: Path, passes: tuple[DevicePass, ...], host_triple: str
) -> Plan:
    units = units_of(inv, tools, work, RUNTIME)
    if inv.links and not inv.dependencies.only:
        stub = stub_jobs(tools, inv, work, RUNTIME, tuple(sorted((RUNTIME / "stub").glob("*.c"))))
        return plan_program(inv, tools, work, units, passes, stub, host_triple)
    if inv.dependencies.only:
        only = replace(inv, output_kind=OutputKind.SYNTAX_ONLY)
        return plan_per_pass(only, tuple(replace(u, invocation=only) for u in units), passes)
    if inv.output_kind is OutputKind.OBJECT and not inv.emit_llvm:
        if inv.device_only:
            return plan_per_pass(replace(inv, output_kind=OutputKind.ASSEMBLY), units, passes)
        return plan_objects(inv, units, passes, host_triple)
    return plan_per_pass(inv, units, passes)


@contextmanager
def _work_folder(inv: Invocation, env: Environment) -> Iterator[Path]:
    """Where intermediate files go; removed at the end unless -save-temps keeps them."""
    if inv.save_temps is not None:
        yield _saved_folder(inv)
        return
    if inv.dry_run:
        name = hashlib.sha256("\0".join(inv.argv).encode()).hexdigest()[:8]
        yield Path(env.tmpdir) / f"offloadc-{name}"
        return
    try:
        folder = tempfile.mkdtemp(prefix="offloadc-", dir=env.tmpdir)
    except OSError as error:
        raise OffloadcError(
            f"cannot make a folder for intermediate files in {env.tmpdir}: {error.strerror}",
            hint="set TMPDIR to a folder with space",
        ) from error
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _saved_folder(inv: Invocation) -> Path:
    if inv.save_temps == "cwd":
        return Path()
    if inv.save_temps == "obj":
        return Path(inv.output).parent if inv.output else Path()
    folder = Path(inv.save_temps or "")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _print_jobs(jobs: tuple[Job, ...]) -> None:
    for job in jobs:
        print(quoted(job), file=sys.stderr)


# --------------------------------------------------------------------------- build
def _build(
    plan: Plan, inv: Invocation, tools: Toolchain, env: Environment, work: Path, messages: Messages
) -> int:
    cache = None
    if env.cache and inv.use_cache and inv.save_temps is None:
        cache = Cache(env.cache_folder(), env.cache_bytes, work)
    printer = _Printer(plan, messages)
    announce = _announcer(messages) if inv.verbose else None
    # what children leave in their temporary folder when they crash goes with the work folder
    temporary = work if inv.save_temps is None else Path(env.tmpdir)
    executor = Executor(slots_for(inv.jobs), cache, temporary, announce=announce, finished=printer.take)
    started = time.monotonic()
    run = executor.execute(plan.jobs)
    printer.flush()
    if inv.time_jobs:
        _write_times(inv.time_jobs, tuple(run.done.values()), started)
    failed = [done for done in run.done.values() if done.code != 0]
    if failed:
        printer.failures(failed)
        raise CompilationFailed
    _write_dependencies(plan, inv, executor, tools)
    _deliver(plan, executor)
    if cache is not None:
        cache.trim()
    return 0


def _announcer(messages: Messages) -> Callable[[Job, bool], None]:
    def announce(job: Job, cached: bool) -> None:
        messages.say(("# from the cache:" if cached else "") + quoted(job) + "\n")

    return announce


def _deliver(plan: Plan, executor: Executor) -> None:
    """Put every product where it belongs, whole or not at all."""
    for product in plan.products:
        output = executor.run.outputs.get(product.path)
        data = output.read() if output else product.path.read_bytes()
        executable = output.executable if output else os.access(product.path, os.X_OK)
        if product.destination is None:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            continue
        try:
            write_file(product.destination, data, executable=executable)
        except OSError as error:
            raise OffloadcError(f"cannot write '{product.destination}': {error.strerror}") from error


def _write_times(path: str, done: tuple[Done, ...], started: float) -> None:
    rows = [
        {
            "job": d.job.name,
            "pass": d.job.pass_name,
            "in_process": d.job.action is not None,
            "cached": d.cached,
            "start_s": round(d.started - started, 6),
            "end_s": round(d.ended - started, 6),
        }
        for d in sorted(done, key=lambda d: d.started)
    ]
    document = {
        "schema": "offloadc-job-times/1",
        "jobs": rows,
        "total_s": round(time.monotonic() - started, 6),
    }
    Path(path).write_text(json.dumps(document, indent=1) + "\n")


# --------------------------------------------------------------------------- diagnostics
class _Printer:
    """Prints what jobs say: front ends of one source merged, everything else as it comes."""

    def __init__(self, plan: Plan, messages: Messages) -> None:
        self._messages = messages
        self._awaited = {
            unit.source.path: {j for j in plan.jobs if j.unit == unit.source.path} for unit in plan.units
        }
        self._order = {job: number for number, job in enumerate(plan.jobs)}
        self._heard: dict[str, list[Done]] = {}

    def take(self, done: Done) -> None:
        if done.job.unit is None:
            if done.text and done.code == 0:
                self._messages.say(done.text)
            return
        heard = self._heard.setdefault(done.job.unit, [])
        heard.append(done)
        if len(heard) == len(self._awaited.get(done.job.unit, ())):
            self._print_unit(done.job.unit)

    def flush(self) -> None:
        for unit in list(self._heard):
            self._print_unit(unit)

    def _print_unit(self, unit: str) -> None:
        heard = sorted(self._heard.pop(unit, ()), key=lambda d: self._order[d.job])
        texts = {d.job.pass_name: d.text for d in heard if not _crashed(d)}
        self._messages.say(diagnostics.merge(texts))

    def failures(self, failed: list[Done]) -> None:
        """One error for the failed compilations of each source, one for every other failed job."""
        by_unit: dict[str, list[str]] = {}
        for done in failed:
            if done.error is not None:
                self._messages.error(done.error)
            elif _crashed(done):
                self._messages.error(_tool_failure(done))
            elif is_ir_stage(done.job):
                self._messages.say(done.text)
                self._messages.error(OffloadcError(f"code generation failed ({done.job.pass_name})"))
            elif done.job.unit is None:
                self._messages.error(_tool_failure(done))
            else:
                by_unit.setdefault(done.job.unit, []).append(done.job.pass_name)
        for unit, passes in by_unit.items():
            every = len(passes) == len(self._awaited.get(unit, ()))
            where = "every pass" if every and len(passes) > 1 else ", ".join(sorted(passes))
            self._messages.error(OffloadcError(f"{unit}: compilation failed ({where})"))


def _crashed(done: Done) -> bool:
    """By a signal, directly or (128 + signal) through a shell, or as clang says it."""
    by_signal = done.code < 0 or 128 < done.code < 128 + 32
    return by_signal or "PLEASE submit a bug report" in done.text


# ptxas and lld, of a function that a kernel calls and no source defines
_UNDEFINED = re.compile(r"Unresolved extern|undefined (?:hidden )?symbol")
_UNDEFINED_HINT = (
    "a function that kernels call must be defined in the same source or in a header; math functions "
    "come with the device libraries ('offloadc doctor' says whether they are there)"
)


def is_ir_stage(job: Job) -> bool:
    return job.args[1:2] == ("-m",)


def _tool_failure(done: Done) -> OffloadcError:
    job = done.job
    tool = "the IR stage" if is_ir_stage(job) else Path(job.args[0]).name
    step = "linking" if job.name == "link" else f"the {job.name} step of the {job.pass_name} pass"
    if not _crashed(done):
        hint = (
            _UNDEFINED_HINT
            if job.pass_name not in ("host", "link") and _UNDEFINED.search(done.text)
            else None
        )
        return OffloadcError(f"{tool} failed in {step}\n{_tail(done.text)}".rstrip(), hint=hint)
    how = f"was ended by signal {-done.code}" if done.code < 0 else "crashed"
    return OffloadcError(
        f"{tool} {how} in {step}\n{_tail(done.text)}".rstrip(),
        hint=f"to see it again: {quoted(job).strip()} (with -save-temps its inputs are kept)",
    )


def _tail(text: str) -> str:
    lines = text.rstrip().splitlines()
    return "\n".join(lines[-40:])


# --------------------------------------------------------------------------- dependencies
def _write_dependencies(plan: Plan, inv: Invocation, executor: Executor, tools: Toolchain) -> None:
    deps = inv.dependencies
    for unit in plan.units:
        jobs = [j for j in plan.jobs if j.unit == unit.source.path]
        if deps.only or deps.write:
            text = depfile.write(
                deps.targets or (_object_name(inv, unit),),
                _files_read(jobs, inv, executor, tools),
                phony=deps.phony,
            )
            _write_text(_depfile_name(inv, unit), text)
    if deps.database:
        _write_text(deps.database, _database(plan))


def _files_read(jobs: list[Job], inv: Invocation, executor: Executor, tools: Toolchain) -> tuple[str, ...]:
    per_pass = []
    for job in jobs:
        read = executor.run.read_files.get(job)
        if read is None and job.depfile is not None and job.depfile.exists():
            read = depfile.parse(job.depfile.read_text(errors="surrogateescape"))
        per_pass.append(read or ())
    files = depfile.union(per_pass)
    if inv.dependencies.system:
        return files
    return depfile.without_system(files, _system_folders(inv, tools))


def _system_folders(inv: Invocation, tools: Toolchain) -> tuple[str, ...]:
    flags = inv.host_flags
    named = tuple(flags[i + 1] for i, f in enumerate(flags[:-1]) if f == "-isystem")
    joined = tuple(f[len("-isystem") :] for f in flags if f.startswith("-isystem") and f != "-isystem")
    return (*named, *joined, "/usr/include", "/usr/lib", "/usr/local/include", str(tools.llvm), str(RUNTIME))


def _object_name(inv: Invocation, unit: Unit) -> str:
    return inv.output if inv.output and not inv.dependencies.only else Path(unit.source.path).stem + ".o"


def _depfile_name(inv: Invocation, unit: Unit) -> str | None:
    if inv.dependencies.file:
        return inv.dependencies.file
    if inv.dependencies.only:
        return inv.output
    return str(Path(_object_name(inv, unit)).with_suffix(".d"))


def _database(plan: Plan) -> str:
    rows = []
    for job in plan.jobs:
        if job.unit is not None:
            output = str(job.outputs[0]) if job.outputs else ""
            entry = {
                "directory": os.getcwd(),
                "file": job.unit,
                "output": output,
                "arguments": list(job.args),
            }
            rows.append(json.dumps(entry) + ",\n")
    return "".join(rows)


def _write_text(path: str | None, text: str) -> None:
    if path is None or path == "-":
        print(text, end="")
        return
    try:
        Path(path).write_text(text, errors="surrogateescape")
    except OSError as error:
        raise OffloadcError(f"cannot write '{path}': {error.strerror}") from error
