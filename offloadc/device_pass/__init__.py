"""Bitcode -> device images. Targets are found by listing targets/."""

from __future__ import annotations

import difflib
from functools import cache

from offloadc import discovery
from offloadc.device_pass import targets
from offloadc.device_pass.target import DeviceMath, ImagePlan, PlannedImage, Target
from offloadc.model import OffloadcError

__all__ = ["DeviceMath", "ImagePlan", "PlannedImage", "Target", "all_targets", "target_of_arch"]


@cache
def all_targets() -> tuple[Target, ...]:
    return tuple(module.TARGET for module in discovery.modules(targets))


def target_of_arch(word: str) -> tuple[Target, str]:
    """The target that knows an arch, and the arch in its one spelling. Raises OffloadcError."""
    for target in all_targets():
        arch = target.canonical_arch(word)
        if arch is not None:
            return target, arch
    known = [arch for target in all_targets() for arch in target.archs]
    stem = word.split(":")[0]
    near = [arch for arch in known if stem and arch.startswith(stem)]
    near = near or difflib.get_close_matches(stem.lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean {' or '.join(near[:10])}?" if near else "known archs: " + " ".join(known)
    raise OffloadcError(f"unknown offload arch '{word}'", hint=hint)
