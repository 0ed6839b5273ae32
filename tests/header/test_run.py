"""Every program, built by offloadc as a user would and run on the CPU device, finds its results right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import PROGRAMS, own_flags

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    cache = tmp_path_factory.mktemp("cache")
    own = {"PYTHONPATH": str(ROOT), "OFFLOADC_CACHE_DIR": str(cache), "OFFLOADC_DEVICE": "cpu"}
    return {**os.environ, **own, "LC_ALL": "C.UTF-8"}


def _run(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


def _build(environment: dict[str, str], source: Path, output: Path, *flags: str) -> None:
    options = ("--offload-arch=x86-64", *flags, *own_flags(source), str(source), "-o", str(output))
    done = _run(environment, sys.executable, "-m", "offloadc", *options, "-ldl")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda p: p.stem)
def test_results(environment: dict[str, str], source: Path, tmp_path: Path) -> None:
    _build(environment, source, tmp_path / "program", "-std=c++20", "-O2")
    done = _run(environment, str(tmp_path / "program"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("flags", [("-std=c++17", "-O0"), ("-std=c++23", "-O3", "-g")], ids="".join)
@pytest.mark.parametrize(
    "source", [p for p in PROGRAMS if p.stem in ("ids", "math", "warps")], ids=lambda p: p.stem
)
def test_other_options(
    environment: dict[str, str], source: Path, flags: tuple[str, ...], tmp_path: Path
) -> None:
    _build(environment, source, tmp_path / "program", *flags)
    done = _run(environment, str(tmp_path / "program"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_failure_without_exceptions(environment: dict[str, str], tmp_path: Path) -> None:
    source = tmp_path / "failing.cpp"
    source.write_text(
        "#include <offloadc/offload.h>\n__global__ void kernel() {}\n"
        "int main() { offloadc::launch(kernel, 1, -1); return 0; }\n"
    )
    _build(environment, source, tmp_path / "program", "-std=c++20", "-fno-exceptions")
    done = _run(environment, str(tmp_path / "program"))
    assert done.returncode == 1
    assert done.stderr == "offloadc: error: launch: an extent is negative or larger than 2^32 - 1\n"
