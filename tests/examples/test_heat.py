"""examples/heat, built by offloadc and run on the CPU device."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.conftest import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SOURCE = ROOT / "examples" / "heat" / "heat.cpp"
CELL = SOURCE.with_name("cell.png")
LABELS = ["input", "device", "ABI", "steps", "output", "time", "checksum", "heat", "peak"]


@pytest.fixture(scope="session")
def heat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("heat") / "heat"
    command = [sys.executable, "-m", "offloadc", "-O3", "--offload-arch=sm_90,gfx90a,gfx942", str(SOURCE)]
    done = subprocess.run(
        [*command, "-o", str(out)], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return out


def run(program: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program), *arguments],
        cwd=folder,
        env={**os.environ, "OFFLOADC_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def row(output: str, label: str) -> str:
    (found,) = re.findall(rf"^{label} +(.*)$", output, re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("precision", [(), ("--double",)], ids=["float", "double"])
def test_field_equals_the_serial_loops(heat: Path, tmp_path: Path, precision: tuple[str, ...]) -> None:
    done = run(heat, tmp_path, "--input", str(CELL), "--steps", "50", *precision)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "PASS"
    assert [line.split()[0] for line in done.stdout.splitlines()[:-1]] == LABELS
    got, wanted = re.findall(r"[0-9a-f]{16}", row(done.stdout, "checksum"))
    assert got == wanted
    assert (tmp_path / "heat.png").read_bytes().startswith(b"\x89PNG")


def test_steps_and_precision_change_the_field(heat: Path, tmp_path: Path) -> None:
    forms = [("--steps", "0"), ("--steps", "3"), ("--steps", "3", "--double")]
    sums = [row(run(heat, tmp_path, "--input", str(CELL), *form).stdout, "checksum") for form in forms]
    assert len(set(sums)) == 3


def test_heat_is_kept_and_the_peak_falls(heat: Path, tmp_path: Path) -> None:
    before, after = (
        run(heat, tmp_path, "--input", str(CELL), "--double", "--steps", n).stdout for n in ("0", "80")
    )
    first, last = (float(row(text, "heat").split(",")[0]) for text in (before, after))
    assert last == pytest.approx(first, rel=1e-9)
    peaks = [float(row(text, "peak").split(",")[0]) for text in (before, after)]
    assert 20 < peaks[1] < peaks[0] <= 100


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (33, 9)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_grids_that_fill_no_block(heat: Path, tmp_path: Path, size: tuple[int, int]) -> None:
    width, height = size
    picture = tmp_path / "small.pgm"
    picture.write_bytes(b"P5 %d %d 255\n" % size + bytes(i * 37 % 256 for i in range(width * height)))
    done = run(heat, tmp_path, "--input", str(picture), "--steps", "20")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--input", "none.png"), 1, "heat: error: none.png: cannot be opened"),
        (("--input", str(SOURCE)), 1, "neither PGM, PPM nor PNG"),
        (("--output", "no/such/folder.png"), 1, "no/such/folder.png: cannot be written"),
        (("--steps", "many"), 2, "--steps wants a number"),
        (("--steps", "-1"), 2, "--steps wants a number"),
        (("--input",), 2, "--input wants a value"),
        (("--fast",), 2, "unknown argument '--fast'"),
    ],
)
def test_what_is_wrong_is_said(
    heat: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = run(heat, tmp_path, *(("--input", str(CELL)) if "--input" not in arguments else ()), *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert not list(tmp_path.glob("*.png")) or "--output" in arguments


def test_help(heat: Path, tmp_path: Path) -> None:
    assert run(heat, tmp_path, "--help").stdout.startswith("usage: heat")
