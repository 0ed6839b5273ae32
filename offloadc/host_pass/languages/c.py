"""C: host code only."""

from __future__ import annotations

from pathlib import Path

from offloadc.host_pass.clang_jobs import plain_job
from offloadc.host_pass.language import Language
from offloadc.model import Job, OutputKind, Unit


def _host_job(unit: Unit, kind: OutputKind, output: Path) -> Job:
    return plain_job(unit, kind, output, "c", unit.tools.clang)


LANGUAGE = Language(
    name="c", suffixes=(".c",), aliases=(), offload=False, host_job=_host_job, device_job=None
)
