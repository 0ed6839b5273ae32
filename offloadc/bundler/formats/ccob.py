"""Compressed offload bundles of clang ("Compressed Offload Bundle", CCOB) around a plain one.

    magic "CCOB", u16 version, u16 method (0 zlib, 1 zstd),
    version 1:                     u32 inflated size, u64 hash
    version 2: u32 total size,     u32 inflated size, u64 hash
    version 3: u64 total size,     u64 inflated size, u64 hash

The hash is the first half of the MD5 of what was compressed.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from dataclasses import replace

from offloadc.bundler.bytes_view import corrupt, part, unpack
from offloadc.bundler.compression import inflate_zlib, inflate_zstd
from offloadc.bundler.format import Format
from offloadc.bundler.formats import hip_bundle
from offloadc.model import Bundle

MAGIC = b"CCOB"
_PROLOGUE = struct.Struct("<4sHH")
_REST = {1: struct.Struct("<I8s"), 2: struct.Struct("<II8s"), 3: struct.Struct("<QQ8s")}
_METHODS: dict[int, Callable[[memoryview, int, str], bytes]] = {0: inflate_zlib, 1: inflate_zstd}


def _matches(data: memoryview) -> bool:
    return data[:4] == MAGIC


def _read(data: memoryview, where: str) -> tuple[Bundle, int]:
    _, version, method = unpack(_PROLOGUE, data, 0, where, "compressed bundle's header")
    if version not in _REST or method not in _METHODS:
        raise corrupt(
            where, f"compressed bundle of version {version}, method {method}: offloadc knows neither"
        )
    rest = _REST[version]
    *total, inflated_size, digest = unpack(rest, data, _PROLOGUE.size, where, "compressed bundle's header")
    # Version 1 does not say where it ends.
    size = total[0] if total else len(data)
    start = _PROLOGUE.size + rest.size
    if size < start:
        raise corrupt(where, f"compressed bundle of {size} bytes is shorter than its header")
    compressed = part(data, start, size - start, where, "compressed bundle")
    inflated = _METHODS[method](compressed, inflated_size, where)
    if hashlib.md5(inflated, usedforsecurity=False).digest()[:8] != digest:
        raise corrupt(where, "compressed bundle's hash does not match its contents")
    return replace(_plain(memoryview(inflated), where), format="ccob", version=version), size


def _plain(inflated: memoryview, where: str) -> Bundle:
    if not hip_bundle.FORMAT.matches(inflated):
        raise corrupt(where, "what is compressed is no offload bundle")
    return hip_bundle.FORMAT.read(inflated, where)[0]


FORMAT = Format("ccob", _matches, _read)
