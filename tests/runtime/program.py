"""A program built from c/steps.c, and what its runs show."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Call = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """`steps`: a line a step; `calls`: what the stand-in drivers recorded."""

    code: int
    steps: tuple[str, ...]
    err: str
    calls: tuple[Call, ...]

    def named(self, call: str) -> tuple[Call, ...]:
        return tuple(c for c in self.calls if c["call"] == call)

    @property
    def launches(self) -> tuple[Call, ...]:
        return self.named("cuLaunchKernel") + self.named("dispatch")

    @property
    def last(self) -> str:
        return self.steps[-1]


@dataclass(frozen=True)
class Program:
    path: Path
    standins: Path

    def run(self, *steps: str, cuda: str = "", amdgpu: str = "", **environment: str) -> Run:
        """`cuda`: compute capabilities, `amdgpu`: target ids of the devices there are, commas between.

        Whatever the steps do, the program ends by itself: a signal fails the test.
        """
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "calls"
            log.touch()
            kept = {k: v for k, v in os.environ.items() if not k.startswith("OFFLOADC_")}
            env = {
                **kept,
                "LD_LIBRARY_PATH": str(self.standins),
                "OFFLOADC_STANDIN_LOG": str(log),
                "OFFLOADC_STANDIN_CUDA_DEVICES": cuda,
                "OFFLOADC_STANDIN_AMDGPU_DEVICES": amdgpu,
                **environment,
            }
            done = subprocess.run(
                [str(self.path), *steps], env=env, capture_output=True, text=True, timeout=60, check=False
            )
            calls = tuple(json.loads(line) for line in log.read_text().splitlines())
        assert done.returncode >= 0, f"signal {-done.returncode}: {done.stderr}"
        return Run(done.returncode, tuple(done.stdout.splitlines()), done.stderr, calls)


def graffiti(argument: int, size: int) -> str:
    """Bytes that tell where they came from: high digit the argument, low digit the byte, counted up."""
    return bytes((argument * 16 + byte % 16) & 0xFF for byte in range(size)).hex()
