"""Device images -> kernels. Readers are found by listing this folder: each file with a READER is one.

What an image says is read from its bytes; its kind and strings may be missing or wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from offloadc import discovery
from offloadc.model import Image, KernelFacts, OffloadcError, Unknown

__all__ = ["Reader", "all_readers", "corrupt", "identify", "image_name", "properties", "read_image"]


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads one kind of device image.

    `properties` are string entries worth keeping beside the image (format versions).
    `identify` makes an image of a bare file's bytes, with kind, triple and arch as the bytes
    say, or None where they are no image of this reader's kind.
    """

    name: str
    matches: Callable[[Image], bool]
    read: Callable[[Image], tuple[KernelFacts, ...] | Unknown]
    identify: Callable[[bytes], Image | None]
    properties: Callable[[bytes], Mapping[str, str]] = lambda data: {}


@cache
def all_readers() -> tuple[Reader, ...]:
    found = (getattr(module, "READER", None) for module in discovery.modules(sys.modules[__name__]))
    return tuple(reader for reader in found if isinstance(reader, Reader))


def read_image(image: Image) -> tuple[KernelFacts, ...] | Unknown:
    """The kernels of one image in the order of their names. Raises OffloadcError where it is corrupt."""
    for reader in all_readers():
        if reader.matches(image):
            kernels = reader.read(image)
            return kernels if isinstance(kernels, Unknown) else _sorted(kernels, image)
    return Unknown(f"no reader for {image.kind.name.lower()} images ({image_name(image)})")


def properties(image: Image) -> Mapping[str, str]:
    """String entries that say what the image's bytes say of their own format."""
    for reader in all_readers():
        if reader.matches(image):
            return reader.properties(image.data)
    return {}


def identify(data: bytes) -> Image | None:
    """The device image that a file's bytes are, with its triple and arch."""
    found = (reader.identify(data) for reader in all_readers())
    return next((image for image in found if image), None)


def _sorted(kernels: tuple[KernelFacts, ...], image: Image) -> tuple[KernelFacts, ...]:
    in_order = sorted(kernels, key=lambda kernel: kernel.name)
    for one, next_one in pairwise(in_order):
        if one.name == next_one.name:
            raise corrupt(image, f"it lists kernel {one.name} twice")
    return tuple(in_order)


def image_name(image: Image) -> str:
    """What to call an image in a message."""
    return " ".join(word for word in (image.arch, image.triple) if word) or "image without a triple"


def corrupt(image: Image, what: str) -> OffloadcError:
    return OffloadcError(f"corrupt device image ({image_name(image)}): {what}", hint="make the image again")
