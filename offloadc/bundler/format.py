"""What a bundle format is. Everything that differs between formats is in its file in formats/."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from offloadc.model import Bundle, Image


@dataclass(frozen=True, slots=True)
class Format:
    """One bundle format.

    `read` takes bytes that start with one container and may go on behind it, and what to call
    them in errors; it gives the container's images and the number of bytes that it spans.
    `write` is None for formats that are only read.
    """

    name: str
    matches: Callable[[memoryview], bool]
    read: Callable[[memoryview, str], tuple[Bundle, int]]
    write: Callable[[Sequence[Image]], bytes] | None = None
