"""Sizes and alignments of IR types in the layout that nvptx64 and x86-64 share.

From the data layout strings: i64:64, i128:128, 64-bit pointers, vectors aligned to their size; the
rest is LLVM's default (https://llvm.org/docs/LangRef.html#data-layout).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from offloadc.device_pass.ir_edits.syntax import IDENTIFIER, closing, shorten, split_commas
from offloadc.model import OffloadcError

LARGEST_OBJECT = 1 << 40
DEEPEST_TYPE = 200


@dataclass(frozen=True, slots=True)
class Layout:
    """Bytes that one element takes in an array, and its alignment."""

    size: int
    align: int


_FLOATS = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "fp128": 16}
_NAMED = re.compile(rf"^(%{IDENTIFIER}) = type (.*)$", re.M)


def named_types(text: str) -> dict[str, str]:
    return {m[1]: m[2] for m in _NAMED.finditer(text)}


def round_up(value: int, align: int) -> int:
    return (value + align - 1) // align * align


def type_end(text: str, start: int = 0) -> int:
    """Where the type that begins at `start` ends."""
    return _Parser(text, {}).skip(start)


def layout(text: str, named: Mapping[str, str]) -> Layout:
    """The layout of the type `text`; `named` holds the module's %types."""
    _refuse_deep_brackets(text)
    parser = _Parser(text, named)
    found, end = parser.type(0, 0)
    if text[end:].strip():
        raise OffloadcError(f"malformed IR type: {shorten(text)}")
    return found


class _Parser:
    """Recursive descent over one type; `skip` needs no named types, `type` lays them out."""

    def __init__(self, text: str, named: Mapping[str, str]) -> None:
        self.text = text
        self.named = named

    def skip(self, at: int) -> int:
        """The end of a type, without its layout: an opaque or unknown name is fine."""
        word = self._word(at)
        if word:
            return at + len(word)
        return self._bracketed(at)

    def _word(self, at: int) -> str:
        found = re.compile(
            rf"i\d+|half|bfloat|float|double|fp128|ptr(?: addrspace\(\d+\))?|%{IDENTIFIER}|void"
        ).match(self.text, at)
        return found[0] if found else ""

    def _bracketed(self, at: int) -> int:
        if self.text[at : at + 1] not in ("[", "{", "<"):
            raise OffloadcError(f"malformed IR type: {shorten(self.text[at : at + 200])}")
        return closing(self.text, at) + 1

    def type(self, at: int, depth: int) -> tuple[Layout, int]:
        if depth > DEEPEST_TYPE:
            raise OffloadcError(f"IR type nested too deeply: {shorten(self.text)}")
        word = self._word(at)
        if word:
            return self._simple(word, depth), at + len(word)
        end = self._bracketed(at)
        inside = self.text[at + 1 : end - 1].strip()
        if self.text[at] == "{":
            return _struct(inside, self.named, depth, packed=False), end
        if inside.startswith("{"):
            return _struct(inside[1:-1], self.named, depth, packed=True), end
        return self._repeated(inside, self.text[at], depth), end

    def _simple(self, word: str, depth: int) -> Layout:
        if word.startswith("%"):
            if word not in self.named:
                raise OffloadcError(f"IR type {word} is not defined")
            _refuse_deep_brackets(self.named[word])
            return _nested(self.named[word], self.named, depth)
        if word.startswith("ptr"):
            return Layout(8, 8)
        if word in _FLOATS:
            return Layout(_FLOATS[word], _FLOATS[word])
        return _integer(word)

    def _repeated(self, inside: str, bracket: str, depth: int) -> Layout:
        found = re.match(r"(\d+) x ", inside)
        if not found:
            raise OffloadcError(f"IR type without a fixed size: {shorten(inside)}")
        one = _nested(inside[found.end() :], self.named, depth)
        size = one.size * int(found[1])
        if size > LARGEST_OBJECT:
            raise OffloadcError(f"IR type of {size} bytes: {shorten(inside)}")
        if bracket == "[":
            return Layout(size, one.align)
        align = 1 << max(size - 1, 0).bit_length()
        return Layout(round_up(size, align), align)


def _refuse_deep_brackets(text: str) -> None:
    """Looked at once, before each level of the descent looks for its closing bracket."""
    depth = 0
    for bracket in re.findall(r"[\[{<\]}>]", text):
        depth += 1 if bracket in "[{<" else -1
        if depth > DEEPEST_TYPE:
            raise OffloadcError(f"IR type nested too deeply: {shorten(text[:200])}")


def _integer(word: str) -> Layout:
    bits = int(word[1:]) if word != "void" else 0
    if not 1 <= bits <= 128:
        raise OffloadcError(f"integers of 1 to 128 bits can be kernel parameters, not {word}")
    size = 1 << max((bits + 7) // 8 - 1, 0).bit_length()
    return Layout(size, size)


def _nested(text: str, named: Mapping[str, str], depth: int) -> Layout:
    found, end = _Parser(text, named).type(0, depth + 1)
    if text[end:].strip():
        raise OffloadcError(f"malformed IR type: {shorten(text)}")
    return found


def _struct(inside: str, named: Mapping[str, str], depth: int, *, packed: bool) -> Layout:
    size, align = 0, 1
    for member in split_commas(inside):
        one = _nested(member, named, depth)
        its_align = 1 if packed else one.align
        size = round_up(size, its_align) + one.size
        align = max(align, its_align)
    if size > LARGEST_OBJECT:
        raise OffloadcError(f"IR type of {size} bytes: {shorten(inside)}")
    return Layout(round_up(size, align), align)
