"""The string table that LLVM writes into an offload binary (llvm::StringTableBuilder, ELF kind).

It starts with a NUL. Strings follow in descending order of their reversed bytes, a string before
those that are its tails, and a tail is not written again but points into the longer string.
"""

from __future__ import annotations

from collections.abc import Iterable

_END_SORTS_LAST = -1


def _from_the_tail(text: bytes) -> tuple[int, ...]:
    return (*reversed(text), _END_SORTS_LAST)


def string_table(strings: Iterable[bytes]) -> tuple[bytes, dict[bytes, int]]:
    """The table and every string's offset in it."""
    offsets = {b"": 0}
    table = bytearray(b"\0")
    written = b""
    for text in sorted(set(strings) - {b""}, key=_from_the_tail, reverse=True):
        if written.endswith(text):
            offsets[text] = len(table) - len(text) - 1
            continue
        offsets[text] = len(table)
        table += text + b"\0"
        written = text
    return bytes(table), offsets
