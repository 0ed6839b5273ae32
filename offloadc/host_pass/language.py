"""What a language is: how its source becomes a host object and, a device target, bitcode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from offloadc.model import Job, OutputKind, Unit


@dataclass(frozen=True, slots=True)
class DeviceDialect:
    """What a device target asks of a front end: how its pass is spelled."""

    pass_name: str  # the arch, as the user names it
    mode: str  # "cuda" or "hip": which of clang's two device modes
    args: tuple[str, ...]  # the target's own front-end arguments
    bitcode: tuple[Path, ...]  # device math, linked in by the front end
    foreign_flags: tuple[str, ...]  # prefixes of flags that only other targets take


@dataclass(frozen=True, slots=True)
class Language:
    """One language. `name` is what -x calls it; the file in languages/ is called the same."""

    name: str
    suffixes: tuple[str, ...]
    aliases: tuple[str, ...]
    offload: bool  # False: host code only
    host_job: Callable[[Unit, OutputKind, Path], Job]
    device_job: Callable[[Unit, DeviceDialect, OutputKind, Path], Job] | None
