"""Inflating what bundles hold compressed. The size is known beforehand and never exceeded."""

from __future__ import annotations

import importlib
import io
import zlib
from types import ModuleType
from typing import Any

from offloadc.bundler.bytes_view import corrupt
from offloadc.model import OffloadcError

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_LIMIT = 1 << 31  # no device image is larger; a corrupt size must not eat the memory
_CHUNK = 1 << 20

# The most that one compressed byte can grow to: deflate 1032 (zlib's technical notes), LZ4 255 (its
# block format's length bytes), Zstandard a block of 128 KiB in 4 bytes.
_GROWTH = {"zlib": 1032, "zstd": 32768, "LZ4": 255}


def _checked_size(method: str, data: memoryview, size: int, where: str) -> int:
    if size > min(_LIMIT, (len(data) + 32) * _GROWTH[method]):
        raise corrupt(where, f"{len(data)} bytes of {method} data cannot inflate to {size}")
    return size


def _complete(method: str, inflated: bytes, size: int, where: str) -> bytes:
    if len(inflated) != size:
        count = "more" if len(inflated) > size else f"only {len(inflated)}"
        raise corrupt(where, f"{method} data inflates to {count} bytes instead of {size}")
    return inflated


def inflate_zlib(data: memoryview, size: int, where: str) -> bytes:
    limit = _checked_size("zlib", data, size, where) + 1
    try:
        inflated = zlib.decompressobj().decompress(data, limit)
    except zlib.error as error:
        raise corrupt(where, f"zlib data: {error}") from error
    return _complete("zlib", inflated, size, where)


def inflate_zstd(data: memoryview, size: int, where: str) -> bytes:
    limit = _checked_size("zstd", data, size, where) + 1
    zstd = _zstandard(where)
    try:
        # in chunks: a reader asked for everything would reserve the claimed size at once
        with zstd.ZstdDecompressor().stream_reader(io.BytesIO(data)) as reader:
            inflated = _read_up_to(reader, limit)
    except zstd.ZstdError as error:
        raise corrupt(where, f"zstd data: {error}") from error
    return _complete("zstd", inflated, size, where)


def _zstandard(where: str) -> ModuleType:
    try:
        return importlib.import_module("zstandard")
    except ImportError as error:
        raise OffloadcError(
            f"{where}: compressed with Zstandard, and Python's zstandard package is not installed",
            hint="pip install zstandard",
        ) from error


def _read_up_to(reader: Any, limit: int) -> bytes:
    inflated = bytearray()
    while len(inflated) < limit:
        chunk = reader.read(min(_CHUNK, limit - len(inflated)))
        if not chunk:
            break
        inflated += chunk
    return bytes(inflated)


# --------------------------------------------------------------------------- LZ4 block
# "Each sequence starts with a token. [...] The first field uses the 4 high-bits of the token. It
# provides the length of literals to follow." (LZ4 block format description)
_SHORTEST_MATCH = 4


def inflate_lz4(data: memoryview, size: int, where: str) -> bytes:
    """One LZ4 block without a frame, as CUDA fat binaries hold it."""
    limit = _checked_size("LZ4", data, size, where)
    inflated = bytearray()
    at = 0
    try:
        while at < len(data):
            token = data[at]
            literals, at = _length(data, at + 1, token >> 4)
            if literals > len(data) - at:
                raise corrupt(where, "LZ4 literals end behind the data")
            inflated += data[at : at + literals]
            at += literals
            if at == len(data) or len(inflated) > limit:
                break
            distance = data[at] | data[at + 1] << 8
            match, at = _length(data, at + 2, token & 15)
            _repeat(inflated, distance, min(match + _SHORTEST_MATCH, limit + 1 - len(inflated)), where)
    except IndexError as error:
        raise corrupt(where, "LZ4 data ends inside a sequence") from error
    return _complete("LZ4", bytes(inflated), size, where)


def _length(data: memoryview, at: int, length: int) -> tuple[int, int]:
    """A length whose 4 bits are full goes on in bytes, up to the first that is not 255."""
    if length < 15:
        return length, at
    while True:
        more = data[at]
        at += 1
        length += more
        if more != 255:
            return length, at


def _repeat(inflated: bytearray, distance: int, length: int, where: str) -> None:
    """A match may overlap what it writes: then the last `distance` bytes repeat."""
    if not 0 < distance <= len(inflated):
        raise corrupt(where, f"LZ4 match {distance} bytes back, with {len(inflated)} written")
    start = len(inflated) - distance
    pattern = bytes(inflated[start : start + length])
    inflated += (pattern * (-(-length // len(pattern))))[:length]
