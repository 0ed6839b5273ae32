"""Whole builds: `offloadc` is run as a user runs it, in an empty folder, with a cache of the session."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LLVM = Path(os.environ.get("OFFLOADC_LLVM", "/usr/lib/llvm-22"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Box:
    """An empty folder with the tools at hand. Programs run on the CPU device unless told otherwise."""

    folder: Path
    cache: Path

    def path(self, name: str) -> Path:
        return self.folder / name

    def write(self, name: str, text: str) -> str:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text)
        return name

    def command(self, *words: str, **environment: str) -> Done:
        env = {**os.environ, "OFFLOADC_CACHE_DIR": str(self.cache), "OFFLOADC_DEVICE": "cpu"}
        env |= {"PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", **environment}
        done = subprocess.run(words, cwd=self.folder, env=env, capture_output=True, text=True, timeout=300)
        return Done(done.returncode, done.stdout, done.stderr)

    def offloadc(self, *words: str, **environment: str) -> Done:
        return self.command(sys.executable, "-m", "offloadc", *words, **environment)

    def build(self, *words: str, **environment: str) -> Done:
        """offloadc, which must succeed and be silent."""
        done = self.offloadc(*words, **environment)
        assert (done.code, done.err) == (0, ""), done.err
        return done

    def run(self, program: str, *arguments: str, **environment: str) -> str:
        done = self.command(str(self.path(program)), *arguments, **environment)
        assert done.code == 0, done.err
        return done.out

    def tool(self, name: str, *words: str) -> str:
        done = self.command(str(LLVM / "bin" / name), *words)
        assert done.code == 0, done.err
        return done.out

    def fails(self, *words: str, **environment: str) -> str:
        """offloadc, which must fail with exit code 1, no traceback and no new file; its stderr."""
        before = self.listing()
        done = self.offloadc(*words, **environment)
        assert done.code == 1, done.err
        assert "Traceback" not in done.err
        assert self.listing() == before
        return done.err

    def listing(self) -> list[str]:
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*"))


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # shared by the workers of one run: what one test compiled another need not
    base = tmp_path_factory.getbasetemp()
    return (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "offloadc-cache"


@pytest.fixture
def box(tmp_path: Path, session_cache: Path) -> Box:
    folder = tmp_path / "box"
    folder.mkdir()
    return Box(folder, session_cache)


@pytest.fixture
def fresh(box: Box, tmp_path: Path) -> Callable[[], Box]:
    """The same folder with another, empty cache."""
    return lambda: Box(box.folder, tmp_path / "fresh-cache")
