"""Device images <-> bundle formats. Formats are found by listing formats/."""

from __future__ import annotations

from functools import cache

from offloadc import discovery
from offloadc.bundler import formats
from offloadc.bundler.bytes_view import Budget, corrupt
from offloadc.bundler.format import Format
from offloadc.model import Bundle

_MOST_BYTES = 1 << 32  # of all images of a file together, inflated

__all__ = ["Format", "all_formats", "format_of", "read_bundles"]


@cache
def all_formats() -> tuple[Format, ...]:
    return tuple(module.FORMAT for module in discovery.modules(formats))


def format_of(data: memoryview) -> Format | None:
    """The format of the container that the data starts with."""
    return next((format_ for format_ in all_formats() if format_.matches(data)), None)


def read_bundles(data: bytes | memoryview, where: str) -> tuple[Bundle, ...]:
    """Every container of a file or section, of whatever formats, zero bytes between them.

    A linker puts the containers of several objects one behind the other, each aligned.
    """
    view = memoryview(data)
    bundles = []
    budget = Budget(max(_MOST_BYTES, len(view)), where, "device images")
    at = _skip_zeros(view, 0)
    while at < len(view):
        rest = view[at:]
        format_ = format_of(rest)
        if format_ is None:
            raise corrupt(where, f"no bundle format known to offloadc starts at offset {at}")
        bundle, size = format_.read(rest, where)
        budget.take(sum(len(image.data) for image in bundle.images))
        bundles.append(bundle)
        at = _skip_zeros(view, at + size)
    return tuple(bundles)


def _skip_zeros(view: memoryview, at: int, step: int = 4096) -> int:
    while at < len(view):
        chunk = bytes(view[at : at + step])
        filled = chunk.lstrip(b"\0")
        if filled:
            return at + len(chunk) - len(filled)
        at += step
    return len(view)
