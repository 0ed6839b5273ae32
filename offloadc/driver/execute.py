"""Run a plan's jobs: in dependency order, several at once, through the cache."""

from __future__ import annotations

import os
import queue
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from offloadc.driver.cache import Cache, Output, Result
from offloadc.model import Action, Job, OffloadcError


@dataclass(frozen=True, slots=True)
class Done:
    """How one job ended. `code` 0 is success; `text` is what the tool said."""

    job: Job
    code: int
    text: str
    started: float
    ended: float
    cached: bool = False
    error: OffloadcError | None = None


@dataclass(slots=True)
class Run:
    """The state of one run: what is done, which outputs lie where."""

    done: dict[Job, Done] = field(default_factory=dict)
    outputs: dict[Path, Output] = field(default_factory=dict)
    read_files: dict[Job, tuple[str, ...]] = field(default_factory=dict)


def quoted(job: Job) -> str:
    """A job as -### and -v print it: shell-quoted, or a comment for work inside the driver."""
    if job.action is not None:
        return f"# in-process: {job.action.describe()}"
    return " " + shlex.join(job.args)


class Executor:
    """Runs jobs with at most `slots` at once. Not reusable."""

    def __init__(
        self,
        slots: int,
        cache: Cache | None,
        temporary: Path,
        *,
        announce: Callable[[Job, bool], None] | None = None,
        finished: Callable[[Done], None] | None = None,
    ) -> None:
        self._slots = slots
        self._cache = cache
        self._environment = child_environment(temporary)
        self._announce = announce
        self._finished = finished
        self._results: queue.SimpleQueue[Done] = queue.SimpleQueue()
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()
        self._unprepared: tuple[Action, ...] = ()
        self.run = Run()

    # ---- scheduling
    def execute(self, jobs: tuple[Job, ...]) -> Run:
        """Run all jobs that can be run; jobs behind a failed one are left out."""
        self._unprepared = tuple(job.action for job in jobs if job.action is not None)[:1]
        waiting = dict.fromkeys(sorted(jobs, key=_remaining(jobs), reverse=True))
        producer = {path: job for job in jobs for path in job.outputs}
        running = 0
        try:
            while True:
                for job in self._ready(waiting, producer):
                    if running >= self._slots:
                        break
                    del waiting[job]
                    running += self._start(job)
                if running == 0 and not self._ready(waiting, producer):
                    return self.run
                if running:
                    self._take(self._results.get())
                    running -= 1
        finally:
            self._kill_all()

    def _ready(self, waiting: dict[Job, None], producer: dict[Path, Job]) -> list[Job]:
        return [job for job in waiting if all(self._is_there(path, producer) for path in job.inputs)]

    def _is_there(self, path: Path, producer: dict[Path, Job]) -> bool:
        if path not in producer:
            return True
        done = self.run.done.get(producer[path])
        return done is not None and done.code == 0

    def _start(self, job: Job) -> int:
        """Begin a job; 0 when the cache had it, 1 when it now runs."""
        key = self._key(job)
        found = self._cache.find(job, key) if self._cache and key else None
        if self._announce:
            self._announce(job, found is not None)
        if found is not None:
            self._record_result(job, found)
            now = time.monotonic()
            self._finish(Done(job, 0, found.text, now, now, cached=True))
            return 0
        self._prepare_actions()
        self._materialise(job)
        threading.Thread(target=self._work, args=(job,), daemon=True).start()
        return 1

    def _prepare_actions(self) -> None:
        """Once, when a first child runs: load what in-process jobs need while children work."""
        actions, self._unprepared = self._unprepared, ()
        for action in actions:
            threading.Thread(target=action.prepare, daemon=True).start()

    def _key(self, job: Job) -> str | None:
        if self._cache is None:
            return None
        digests = {path: self.run.outputs[path].digest for path in job.inputs if path in self.run.outputs}
        return self._cache.key(job, digests)

    def _take(self, done: Done) -> None:
        if done.code == 0 and done.error is None and self._cache is not None:
            key = self._key(done.job)
            stored = self._cache.store(done.job, key, done.text) if key else None
            if stored is not None:
                self._record_result(done.job, stored)
        self._finish(done)

    def _finish(self, done: Done) -> None:
        self.run.done[done.job] = done
        if self._finished:
            self._finished(done)

    def _record_result(self, job: Job, result: Result) -> None:
        self.run.outputs.update(zip(job.outputs, result.outputs, strict=True))
        self.run.read_files[job] = result.read_files

    def _materialise(self, job: Job) -> None:
        for path in job.inputs:
            self.place(path)

    def place(self, path: Path) -> None:
        """Put a cached output where the plan says it lies, if it is not there yet."""
        output = self.run.outputs.get(path)
        if output is None or path.exists():
            return
        write_file(path, output.read(), executable=output.executable)

    # ---- one job
    def _work(self, job: Job) -> None:
        started = time.monotonic()
        try:
            code, text = (0, job.action.run()) if job.action else self._run_child(job)
            done = Done(job, code, text, started, time.monotonic())
        except OffloadcError as error:
            done = Done(job, 1, "", started, time.monotonic(), error=error)
        except OSError as error:
            failure = OffloadcError(f"{job.name} ({job.pass_name}): {error.strerror}: {error.filename or ''}")
            done = Done(job, 1, "", started, time.monotonic(), error=failure)
        except Exception as error:  # a bug of ours must reach the user as one message, with its place
            done = Done(job, 1, "", started, time.monotonic(), error=_bug(job, error))
        self._results.put(done)

    def _run_child(self, job: Job) -> tuple[int, str]:
        child = subprocess.Popen(  # noqa: S603
            job.args,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=self._environment,
        )
        with self._lock:
            self._children[child.pid] = child
        output, _ = child.communicate()
        with self._lock:
            del self._children[child.pid]
        return child.returncode, output.decode(errors="replace")

    def _kill_all(self) -> None:
        with self._lock:
            for child in self._children.values():
                try:
                    os.killpg(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue  # it ended by itself meanwhile


def child_environment(temporary: Path) -> dict[str, str]:
    """The user's environment; children that are offloadc itself must import this very offloadc."""
    root = str(Path(__file__).resolve().parent.parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    own = {"TMPDIR": str(temporary)}
    return {**os.environ, **own, "PYTHONPATH": root + (os.pathsep + inherited if inherited else "")}


def _bug(job: Job, error: Exception) -> OffloadcError:
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"
    return OffloadcError(
        f"internal error in {job.name} ({job.pass_name}): {type(error).__name__}: {error} at {place}",
        hint="please report it with the command line and the files that -save-temps keeps",
    )


# A front end reads some hundred headers; every other step is short beside it.
_FRONT_END_COST, _OTHER_COST = 10, 1


def _remaining(jobs: tuple[Job, ...]) -> Callable[[Job], int]:
    """What a job and the dearest chain of jobs behind it cost: the dearest go first."""
    consumers: dict[Path, list[Job]] = {}
    for job in jobs:
        for path in job.inputs:
            consumers.setdefault(path, []).append(job)
    known: dict[Job, int] = {}

    def cost(job: Job) -> int:
        if job not in known:
            behind = [cost(next_job) for path in job.outputs for next_job in consumers.get(path, ())]
            known[job] = (_FRONT_END_COST if job.unit else _OTHER_COST) + max(behind, default=0)
        return known[job]

    return cost


def write_file(destination: Path, data: bytes, *, executable: bool) -> None:
    """Write through a temporary name beside the destination, so that it is whole or absent."""
    if destination.exists() and not destination.is_file():  # /dev/null, a pipe
        destination.write_bytes(data)
        return
    temporary = destination.with_name(f".{destination.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod((0o777 if executable else 0o666) & ~umask)
        temporary.replace(destination)
    finally:
        temporary.unlink(missing_ok=True)


def slots_for(asked: int) -> int:
    if asked:
        return asked
    return max(1, len(os.sched_getaffinity(0)) if sys.platform == "linux" else (os.cpu_count() or 1))
