"""Running jobs: order, parallelism, failure, the cache. The children are small shell commands."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from offloadc.driver.cache import Cache
from offloadc.driver.execute import Done, Executor, quoted, write_file
from offloadc.model import Job, OffloadcError


def shell(script: str, inputs: tuple[Path, ...] = (), outputs: tuple[Path, ...] = (), **more: object) -> Job:
    return Job("step", "host", ("/bin/sh", "-c", script), inputs, outputs, **more)  # type: ignore[arg-type]


def run(jobs: tuple[Job, ...], cache: Cache | None = None, slots: int = 2) -> dict[Job, Done]:
    return Executor(slots, cache, Path("/tmp")).execute(jobs).done


def test_a_job_runs_after_those_that_write_its_inputs(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    second = shell(f"cat {a} > {b}; echo 2 >> {b}", (a,), (b,))
    first = shell(f"echo 1 > {a}", (), (a,))
    run((second, first))
    assert b.read_text() == "1\n2\n"


def test_independent_jobs_run_at_once(tmp_path: Path) -> None:
    started = time.monotonic()
    run(tuple(shell("sleep 0.4", outputs=(tmp_path / str(i),)) for i in range(2)))
    assert time.monotonic() - started < 0.75


def test_jobs_behind_a_failed_one_are_left_out_and_others_go_on(tmp_path: Path) -> None:
    a, b, c = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    bad = shell("echo no; exit 3", outputs=(a,))
    behind = shell(f"touch {b}", (a,), (b,))
    other = shell(f"sleep 0.1; touch {c}", outputs=(c,))
    done = run((bad, behind, other))
    assert (done[bad].code, done[bad].text) == (3, "no\n")
    assert behind not in done
    assert done[other].code == 0


@dataclass(frozen=True)
class Count:
    """An action that fails as told."""

    output: Path
    error: str = ""

    def describe(self) -> str:
        return f"count {self.output} {self.error}"

    def prepare(self) -> None:
        return

    def run(self) -> str:
        if self.error == "bug":
            raise KeyError("lost")
        if self.error:
            raise OffloadcError(self.error)
        self.output.write_text(str(int(self.output.with_suffix(".n").read_text()) + 1))
        return "counted\n"


def test_actions_run_inside_and_report_errors(tmp_path: Path) -> None:
    good = Job("count", "x", (), (tmp_path / "a.n",), (tmp_path / "a",), action=Count(tmp_path / "a"))
    (tmp_path / "a.n").write_text("1")
    bad = Job("count", "x", (), (), (tmp_path / "b",), action=Count(tmp_path / "b", "cannot"))
    bug = Job("count", "x", (), (), (tmp_path / "c",), action=Count(tmp_path / "c", "bug"))
    done = run((good, bad, bug))
    assert (tmp_path / "a").read_text() == "2"
    assert done[bad].error is not None
    assert done[bad].error.message == "cannot"
    error = done[bug].error
    assert error is not None
    assert "internal error" in error.message
    assert "test_execute.py:" in error.message


def test_second_run_comes_from_the_cache_with_its_text(tmp_path: Path) -> None:
    source, work = tmp_path / "s", tmp_path / "w"
    source.write_text("x")
    for expected in (False, True):
        work.mkdir(exist_ok=True)
        out = work / "o"
        out.unlink(missing_ok=True)
        job = shell(f"echo warning; cat {source} > {out}; chmod +x {out}", (source,), (out,))
        executor = Executor(1, Cache(tmp_path / "cache", 1 << 20, work), tmp_path)
        done = executor.execute((job,)).done[job]
        assert done.cached is expected
        assert done.text == "warning\n"
        executor.place(out)
        assert out.read_text() == "x"
        assert os.access(out, os.X_OK)


def test_another_work_folder_is_no_difference(tmp_path: Path) -> None:
    source = tmp_path / "s"
    source.write_text("x")
    cached = []
    for name in ("one", "two"):
        work = tmp_path / name
        work.mkdir()
        job = shell(f"cat {source} > {work / 'o'}", (source,), (work / "o",))
        done = Executor(1, Cache(tmp_path / "cache", 1 << 20, work), tmp_path).execute((job,)).done[job]
        cached.append(done.cached)
    assert cached == [False, True]


def header_job(source: Path, header: Path, work: Path) -> Job:
    out, dep = work / "o", work / "d"
    script = f"cat {source} {header} > {out}; echo 'o: {source} {header}' > {dep}"
    return shell(script, (source,), (out,), depfile=dep, unit=str(source))


def test_a_changed_header_is_a_miss_and_changing_back_a_hit(tmp_path: Path) -> None:
    source, header, work = tmp_path / "s", tmp_path / "h", tmp_path / "w"
    work.mkdir()
    source.write_text("s")
    hits = []
    for text in ("one", "two", "one"):
        header.write_text(text)
        time.sleep(0.01)
        (work / "o").unlink(missing_ok=True)
        job = header_job(source, header, work)
        executor = Executor(1, Cache(tmp_path / "cache", 1 << 20, work), tmp_path)
        hits.append(executor.execute((job,)).done[job].cached)
        executor.place(work / "o")
        assert (work / "o").read_text() == "s" + text
    assert hits == [False, False, True]


@pytest.mark.parametrize("text", ["__DATE__", "x __TIME__ y"])
def test_what_expands_to_the_time_is_not_kept(tmp_path: Path, text: str) -> None:
    source, header, work = tmp_path / "s", tmp_path / "h", tmp_path / "w"
    work.mkdir()
    source.write_text(text)
    header.write_text("h")
    time.sleep(0.01)
    for _ in range(2):
        job = header_job(source, header, work)
        assert (
            not Executor(1, Cache(tmp_path / "cache", 1 << 20, work), tmp_path)
            .execute((job,))
            .done[job]
            .cached
        )


def test_failures_are_not_kept(tmp_path: Path) -> None:
    job = shell("exit 1", outputs=(tmp_path / "o",))
    for _ in range(2):
        assert (
            not Executor(1, Cache(tmp_path / "cache", 1 << 20, tmp_path), tmp_path)
            .execute((job,))
            .done[job]
            .cached
        )


@pytest.mark.parametrize(
    "damage", ["{", "[]", "3", "{}", '{"outputs": 1}', '{"outputs": [{}]}', '{"variants": 3}']
)
@pytest.mark.parametrize("with_header", [False, True])
def test_damaged_entries_are_misses(tmp_path: Path, damage: str, with_header: bool) -> None:
    source, header = tmp_path / "s", tmp_path / "h"
    source.write_text("x")
    header.write_text("h")
    time.sleep(0.01)
    plain = shell(f"cat {source} > {tmp_path / 'o'}", (source,), (tmp_path / "o",))
    job = header_job(source, header, tmp_path) if with_header else plain
    Executor(1, Cache(tmp_path / "cache", 1 << 20, tmp_path), tmp_path).execute((job,))
    for entry in (tmp_path / "cache").rglob("*.json"):
        entry.write_text(damage)
    assert (
        not Executor(1, Cache(tmp_path / "cache", 1 << 20, tmp_path), tmp_path)
        .execute((job,))
        .done[job]
        .cached
    )


def test_trim_deletes_what_was_used_longest_ago(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", 4000, tmp_path)
    for i in range(8):
        out = tmp_path / f"o{i}"
        out.write_bytes(bytes([i]) * 1000)
        assert cache.store(Job("j", "p", ("x",), (), (out,)), f"{i:02}key", "") is not None
    old = time.time() - 7200
    blobs = sorted((tmp_path / "cache").rglob("blob/*/*"))
    for blob in blobs:
        os.utime(blob, (old, old))
    cache.trim()
    left = [b for b in blobs if b.exists()]
    assert 0 < len(left) < 8


def test_output_is_whole_or_absent(tmp_path: Path) -> None:
    destination = tmp_path / "d"
    destination.write_text("old")
    destination.chmod(0o600)
    write_file(destination, b"new", executable=True)
    assert destination.read_text() == "new"
    assert os.access(destination, os.X_OK)
    write_file(Path("/dev/null"), b"new", executable=False)
    assert Path("/dev/null").is_char_device()
    with pytest.raises(OSError):
        write_file(tmp_path / "absent" / "d", b"new", executable=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d"]


@pytest.mark.parametrize("damage", [b"", b"cut"])
def test_a_blob_that_was_cut_short_is_made_again(tmp_path: Path, damage: bytes) -> None:
    source, out = tmp_path / "s", tmp_path / "o"
    source.write_text("whole")
    job = shell(f"cat {source} > {out}", (source,), (out,))

    def is_cached() -> bool:
        executor = Executor(1, Cache(tmp_path / "cache", 1 << 20, tmp_path), tmp_path)
        cached = executor.execute((job,)).done[job].cached
        assert executor.run.outputs[out].read() == b"whole"
        return cached

    assert not is_cached()
    for blob in (tmp_path / "cache").rglob("blob/*/*"):
        blob.write_bytes(damage)
    assert not is_cached()
    assert is_cached()


def test_a_blob_of_other_bytes_is_never_delivered(tmp_path: Path) -> None:
    source = tmp_path / "s"
    source.write_text("whole")
    job = shell(f"cat {source} > {tmp_path / 'o'}", (source,), (tmp_path / "o",))
    Executor(1, Cache(tmp_path / "cache", 1 << 20, tmp_path), tmp_path).execute((job,))
    for blob in (tmp_path / "cache").rglob("blob/*/*"):
        blob.write_bytes(b"other")
    executor = Executor(1, Cache(tmp_path / "cache", 1 << 20, tmp_path), tmp_path)
    executor.execute((job,))
    with pytest.raises(OffloadcError, match="damaged"):
        executor.run.outputs[tmp_path / "o"].read()


def test_jobs_are_printed_as_a_shell_would_read_them(tmp_path: Path) -> None:
    assert quoted(Job("c", "host", ("cc", "-DA=b c"), (), ())) == " cc '-DA=b c'"
    action = Job("count", "x", (), (), (), action=Count(tmp_path / "a"))
    assert quoted(action).startswith("# in-process: count")
