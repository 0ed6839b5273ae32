"""Content-addressed cache of job results.

Layout under the cache folder (version in its name; another version never reads it):
  blob/XX/<sha256>      an output's bytes
  result/XX/<key>.json  outputs (digests), text, dependencies of one finished job
  manifest/XX/<key>.json  for jobs with a dependency file: the results known for one command and
                        source, each with the files that were read and what they held

A job's key is a hash of its tool, its arguments with the work folder taken out, the environment
variables compilers read, and the digests of its inputs. Entries are written to a temporary name and
renamed, so concurrent processes see whole entries or none. When the folder outgrows its bound, the
entries used longest ago go first; entries used within the last hour stay.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from offloadc.driver import depfile
from offloadc.model import Job, OffloadcError

_VERSION = "v2"
_GRACE_SECONDS = 3600
_VARIANTS = 16  # results kept a manifest: one a branch that is switched between
_ENVIRONMENT = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "SOURCE_DATE_EPOCH", "LANG")
_TIME_MACROS = (b"__DATE__", b"__TIME__", b"__TIMESTAMP__")
_UNCACHEABLE_PREFIXES = ("-fplugin", "-fpass-plugin", "-include-pch", "-fmodules", "-ftime-trace")


@dataclass(frozen=True, slots=True)
class Output:
    """An output as the cache knows it: its digest and where the bytes are."""

    digest: str
    path: Path
    executable: bool

    def read(self) -> bytes:
        """The bytes, proven to be those that were stored. Raises OffloadcError if they are not."""
        data = self.path.read_bytes()
        if _sha(data) != self.digest:
            self.path.unlink(missing_ok=True)
            raise OffloadcError(
                f"the cache was damaged: {self.path}; the entry is gone", hint="run the command again"
            )
        return data


@dataclass(frozen=True, slots=True)
class Result:
    outputs: tuple[Output, ...]
    text: str
    read_files: tuple[str, ...]


class Digests:
    """SHA-256 of files, each read once a run; files unchanged since the cache saw them are not read."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], str]] = {}
        self.started_ns = time.time_ns()

    def stamp(self, path: str) -> tuple[int, int, int] | None:
        try:
            status = os.stat(path)
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns, status.st_ino

    def of(self, path: str) -> str | None:
        stamp = self.stamp(path)
        if stamp is None:
            return None
        known = self._known.get(path)
        if known and known[0] == stamp:
            return known[1]
        try:
            digest = _sha(Path(path).read_bytes())
        except OSError:
            return None
        self._known[path] = (stamp, digest)
        return digest

    def same(self, path: str, stamp: tuple[int, int, int], digest: str) -> bool:
        known = self._known.get(path)
        if known:
            return known[1] == digest
        now = self.stamp(path)
        if now == stamp:
            self._known[path] = (stamp, digest)
            return True
        return self.of(path) == digest


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Cache:
    """Results by job. Every method tolerates entries that vanish or are damaged: those are misses."""

    def __init__(self, folder: Path, limit: int, work: Path) -> None:
        self.root = folder / _VERSION
        self.limit = limit
        self.work = str(work)
        self.digests = Digests()
        self._written = 0

    # ---- keys
    def key(self, job: Job, input_digests: Mapping[Path, str]) -> str | None:
        """What identifies a job's result up to the files its depfile names; None: not cacheable."""
        if not job.cacheable or any(a.startswith(_UNCACHEABLE_PREFIXES) for a in job.args):
            return None
        parts = ["job", job.name, os.getcwd(), *self._tool(job)]
        parts += [self._argument(a) for a in job.args]
        for path in job.inputs:
            digest = input_digests.get(path) or self.digests.of(str(path))
            if digest is None:
                return None
            parts += [self._argument(str(path)), digest]
        parts += [f"{name}={os.environ.get(name, '')}" for name in _ENVIRONMENT]
        return _sha("\0".join(parts).encode())

    def _tool(self, job: Job) -> tuple[str, ...]:
        if job.action is not None:
            return (job.action.describe().replace(self.work, "$WORK"), _OWN_SOURCES.digest())
        tools = [t for t in job.args[:2] if os.path.isabs(t) and not t.startswith(self.work)]
        words = [f"{t}:{self.digests.stamp(t)}" for t in tools]
        own = (_OWN_SOURCES.digest(),) if "-m" in job.args[:2] else ()
        native = (_processor(),) if any(a.endswith("=native") for a in job.args) else ()
        return (*words, *own, *native)

    def _argument(self, argument: str) -> str:
        """An argument without the work folder; a file named behind '=' by what it holds."""
        plain = argument.replace(self.work, "$WORK")
        _, equals, tail = plain.partition("=")
        if equals and tail and os.path.isfile(tail):
            return f"{plain}\0{self.digests.of(tail)}"
        return plain

    # ---- look-up
    def find(self, job: Job, key: str) -> Result | None:
        try:
            return self._find(job, key)
        except (KeyError, IndexError, TypeError, ValueError):  # JSON, but of no entry of ours: a miss
            return None

    def _find(self, job: Job, key: str) -> Result | None:
        if job.depfile is None:
            return self._result(key)
        for variant in self._variants(key):
            if all(self.digests.same(p, (s[0], s[1], s[2]), d) for p, s, d in variant["files"]):
                return self._result(str(variant["result"]))
        return None

    def _variants(self, key: str) -> list[dict[str, list[tuple[str, tuple[int, int, int], str]]]]:
        loaded = self._load("manifest", key)
        return loaded.get("variants", []) if loaded else []

    def _result(self, key: str) -> Result | None:
        loaded = self._load("result", key)
        if loaded is None:
            return None
        outputs = tuple(
            Output(str(o["digest"]), self._path("blob", str(o["digest"])), bool(o["executable"]))
            for o in loaded["outputs"]
        )
        sizes = (int(o["size"]) for o in loaded["outputs"])
        if not all(_is_whole(o.path, size) for o, size in zip(outputs, sizes, strict=True)):
            return None
        return Result(outputs, str(loaded["text"]), tuple(loaded["read"]))

    def _load(self, kind: str, key: str) -> dict[str, list] | None:  # type: ignore[type-arg]
        path = self._path(kind, key, ".json")
        try:
            loaded = json.loads(path.read_bytes())
        except (OSError, ValueError):  # absent, or damaged by a full disk: a miss
            return None
        _touch(path)
        return loaded if isinstance(loaded, dict) else None

    # ---- store
    def store(self, job: Job, key: str, text: str) -> Result | None:
        """Keep what a finished job wrote; None where it must not or cannot be kept."""
        read = tuple(path for path in _read_files(job) if not path.startswith(self.work + os.sep))
        files = self._dependencies(read, source_text=job.unit is not None)
        if files is None:
            return None
        try:
            outputs = tuple(self._store_blob(path) for path in job.outputs)
            result_key = key if job.depfile is None else _sha(json.dumps([key, files]).encode())
            entry = {
                "outputs": [
                    {"digest": o.digest, "executable": o.executable, "size": o.path.stat().st_size}
                    for o in outputs
                ],
                "text": text,
                "read": list(read),
            }
            self._write(self._path("result", result_key, ".json"), json.dumps(entry).encode())
            if job.depfile is not None:
                self._add_variant(key, {"files": files, "result": result_key})
        except OSError:  # a full or read-only disk: the build goes on without the cache
            return None
        return Result(outputs, text, read)

    def _dependencies(
        self, read: Iterable[str], *, source_text: bool
    ) -> list[tuple[str, tuple[int, int, int], str]] | None:
        files: list[tuple[str, tuple[int, int, int], str]] = []
        for path in read:
            stamp, digest = self.digests.stamp(path), self.digests.of(path)
            if stamp is None or digest is None or stamp[1] >= self.digests.started_ns:
                return None  # changed while it was being compiled
            if source_text and not path.startswith("/usr/") and self._has_time_macro(path):
                return None
            files.append((path, stamp, digest))
        return files

    def _has_time_macro(self, path: str) -> bool:
        if "SOURCE_DATE_EPOCH" in os.environ:
            return False
        data = Path(path).read_bytes()
        return any(macro in data for macro in _TIME_MACROS)

    def _store_blob(self, path: Path) -> Output:
        data = path.read_bytes()
        digest = _sha(data)
        blob = self._path("blob", digest)
        if not _is_whole(blob, len(data)):
            self._write(blob, data)
        return Output(digest, blob, os.access(path, os.X_OK))

    def _add_variant(self, key: str, variant: dict[str, object]) -> None:
        try:
            known = list(self._variants(key))
        except TypeError:  # JSON, but of no entry of ours
            known = []
        kept = [variant, *known][:_VARIANTS]
        self._write(self._path("manifest", key, ".json"), json.dumps({"variants": kept}).encode())

    def _path(self, kind: str, key: str, suffix: str = "") -> Path:
        return self.root / kind / key[:2] / (key + suffix)

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        self._written += len(data)

    # ---- bound
    def trim(self) -> None:
        """Once enough was written: delete what was used longest ago until the bound holds again."""
        if self._written == 0 or not self._due():
            return
        from filelock import FileLock, Timeout

        try:
            with FileLock(str(self.root / "trim.lock"), timeout=0):
                self._trim_now()
        except (Timeout, OSError):  # another process trims, or the folder is read-only
            return

    def _due(self) -> bool:
        """Look at the whole folder only after a sixteenth of the bound was written since last time."""
        marker = self.root / "written"
        try:
            total = int(marker.read_text()) + self._written
        except (OSError, ValueError):
            total = self._written
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            marker.write_text(str(0 if total > self.limit // 16 else total))
        except OSError:
            return False
        return total > self.limit // 16

    def _trim_now(self) -> None:
        entries: list[tuple[float, int, str]] = []
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    status = os.stat(path)
                except OSError:
                    continue  # gone meanwhile
                entries.append((status.st_mtime, status.st_size, path))
        excess = sum(size for _, size, _ in entries) - self.limit
        for used, size, path in sorted(entries):
            if excess <= 0 or used > time.time() - _GRACE_SECONDS:
                return
            Path(path).unlink(missing_ok=True)
            excess -= size


def _touch(path: Path) -> bool:
    """Mark as used now; False if it is not there."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    except OSError:  # not ours to touch (a shared, read-only cache)
        return path.exists()
    return True


def _is_whole(path: Path, size: int) -> bool:
    """Whether a blob is there in its full length (a full disk or a crash may have cut it short)."""
    try:
        return path.stat().st_size == size and _touch(path)
    except OSError:
        return False


def _read_files(job: Job) -> tuple[str, ...]:
    if job.depfile is None or not job.depfile.exists():
        return ()
    return depfile.parse(job.depfile.read_text(errors="surrogateescape"))


def _processor() -> str:
    try:
        return _sha(Path("/proc/cpuinfo").read_bytes().split(b"\n\n", 1)[0].split(b"cpu MHz")[0])
    except OSError:
        return "unknown"


class _Sources:
    """A digest of offloadc's own Python files: a job done by them is a job of this very version."""

    def __init__(self) -> None:
        self._digest: str | None = None

    def digest(self) -> str:
        if self._digest is None:
            root = Path(__file__).resolve().parent.parent
            stamps = []
            for folder, _, names in os.walk(root):
                for name in names:
                    if name.endswith((".py", ".h", ".c")):
                        path = os.path.join(folder, name)
                        status = os.stat(path)
                        stamps.append(f"{path}:{status.st_size}:{status.st_mtime_ns}")
            self._digest = _sha("\n".join(sorted(stamps)).encode())
        return self._digest


_OWN_SOURCES = _Sources()
