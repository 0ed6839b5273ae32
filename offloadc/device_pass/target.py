"""What a target is. Everything that differs between targets is in its file in targets/."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from offloadc.model import ImageKind, Job, OffloadKind, Toolchain, Unit


@dataclass(frozen=True, slots=True)
class DeviceMath:
    """Bitcode that supplies device math functions, and the licence it comes under."""

    files: tuple[Path, ...]
    name: str
    licence: str
    front_end_args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedImage:
    """An image file that the jobs of a plan will have written."""

    path: Path
    kind: ImageKind
    offload_kind: OffloadKind
    triple: str
    arch: str


@dataclass(frozen=True, slots=True)
class ImagePlan:
    """How a unit's bitcode becomes images; `warnings` are for the user."""

    jobs: tuple[Job, ...]
    images: tuple[PlannedImage, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """One device target.

    `canonical_arch` gives the arch's one spelling (target-id features sorted), None if the
    word is no arch of this target. `keeps_natural_offsets`: parameters lie in the argument
    buffer as in a C struct, whatever their alignment (else only the image's table tells).
    """

    name: str
    triple: str
    mode: str  # clang's device mode: "cuda" or "hip"
    offload_kind: OffloadKind
    archs: tuple[str, ...]
    canonical_arch: Callable[[str], str | None]
    front_end_args: Callable[[str], tuple[str, ...]]
    device_math: Callable[[Toolchain, str], DeviceMath | None]
    plan_images: Callable[[Unit, str, Path], ImagePlan]
    plan_assembly: Callable[[Unit, str, Path, Path], tuple[Job, ...]]
    own_flags: tuple[str, ...]  # prefixes of flags that only this target's pass takes
    address_spaces: Mapping[str, int] = field(hash=False)
    keeps_natural_offsets: bool
    assembly_suffix: str = "s"
    always: bool = False  # the CPU device is in every program
