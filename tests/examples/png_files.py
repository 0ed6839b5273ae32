"""PNG files made from the specification, by Python's zlib: what the example's own reader is held against."""

from __future__ import annotations

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def header(width: int, height: int, colour_type: int = 0, depth: int = 8, interlace: int = 0) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, interlace))


def _paeth(a: int, b: int, c: int) -> int:
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def filtered(rows: list[bytes], step: int, filters: list[int]) -> bytes:
    """The rows as PNG stores them, row i with filter filters[i] (specification, section 9)."""
    out = bytearray()
    above = bytes(len(rows[0]))
    for row, kind in zip(rows, filters, strict=True):
        out.append(kind)
        for i, value in enumerate(row):
            a = row[i - step] if i >= step else 0
            b, c = above[i], above[i - step] if i >= step else 0
            out.append((value - (0, a, b, (a + b) // 2, _paeth(a, b, c))[kind]) % 256)
        above = row
    return bytes(out)


def compress(data: bytes, level: int = 6, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    worker = zlib.compressobj(level, zlib.DEFLATED, 15, 9, strategy)
    return worker.compress(data) + worker.flush()


def png(
    rows: list[bytes], colour_type: int, filters: list[int], stream: bytes | None = None, parts: int = 1
) -> bytes:
    step = CHANNELS[colour_type]
    data = compress(filtered(rows, step, filters)) if stream is None else stream
    size = -(-len(data) // parts)
    idat = b"".join(chunk(b"IDAT", data[i : i + size]) for i in range(0, len(data), size))
    return SIGNATURE + header(len(rows[0]) // step, len(rows), colour_type) + idat + chunk(b"IEND", b"")
