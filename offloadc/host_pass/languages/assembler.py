"""Host assembly, preprocessed (.S) or not (.s)."""

from __future__ import annotations

from pathlib import Path

from offloadc.host_pass.clang_jobs import plain_job
from offloadc.host_pass.language import Language
from offloadc.model import Job, OutputKind, Unit


def _host_job(unit: Unit, kind: OutputKind, output: Path) -> Job:
    language = "assembler" if unit.source.path.endswith(".s") else "assembler-with-cpp"
    return plain_job(unit, kind, output, language, unit.tools.clang)


LANGUAGE = Language(
    name="assembler",
    suffixes=(".s", ".S", ".sx"),
    aliases=("assembler-with-cpp",),
    offload=False,
    host_job=_host_job,
    device_job=None,
)
