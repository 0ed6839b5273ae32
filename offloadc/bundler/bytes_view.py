"""Bounded looks into foreign bytes: whatever lies outside them is one clear error."""

from __future__ import annotations

import struct
from typing import Any

from offloadc.model import OffloadcError


def corrupt(where: str, what: str) -> OffloadcError:
    return OffloadcError(f"{where}: corrupt: {what}", hint="the file is damaged or cut short; make it again")


def part(data: memoryview, offset: int, size: int, where: str, what: str) -> memoryview:
    """data[offset:offset+size], all of it inside the data."""
    if offset > len(data) or size > len(data) - offset:
        raise corrupt(where, f"{what} ({size} bytes at {offset}) ends behind the {len(data)} bytes there are")
    return data[offset : offset + size]


def unpack(layout: struct.Struct, data: memoryview, offset: int, where: str, what: str) -> tuple[Any, ...]:
    return layout.unpack(part(data, offset, layout.size, where, what))


class Budget:
    """What a file may make of its bytes: entries that all point at the same ones must not fill the memory."""

    def __init__(self, size: int, where: str, what: str) -> None:
        self._left = size
        self._where = where
        self._what = what

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise corrupt(self._where, f"{self._what} are larger together than they can be")


def align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment
