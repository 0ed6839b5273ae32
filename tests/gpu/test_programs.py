"""The header's programs and the example on this machine's GPU. Skipped where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from offloadc.toolchain import gpu_device_nodes
from tests.header.conftest import PROGRAMS, own_flags

ROOT = Path(__file__).resolve().parents[2]
DEVICE = "cuda:0" if Path("/dev/nvidiactl").exists() else "amdgpu:0"

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not gpu_device_nodes(), reason="no GPU on this machine"),
]


def run(*command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OFFLOADC_DEVICE": DEVICE}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def build(source: Path, output: Path, *flags: str) -> None:
    options = ("-O2", "-std=c++20", "--offload-arch=native", *flags, str(source), "-o", str(output))
    run(sys.executable, "-m", "offloadc", *options)


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda p: p.stem)
def test_program(source: Path, tmp_path: Path) -> None:
    build(source, tmp_path / "program", *own_flags(source))
    assert run(str(tmp_path / "program")) == "ok\n"


def test_heat_has_the_checksum_of_the_serial_loop(tmp_path: Path) -> None:
    example = ROOT / "examples" / "heat"
    build(example / "heat.cpp", tmp_path / "heat")
    arguments = ("--input", str(example / "cell.png"), "--output", str(tmp_path / "heat.png"))
    assert run(str(tmp_path / "heat"), *arguments).endswith("PASS\n")
