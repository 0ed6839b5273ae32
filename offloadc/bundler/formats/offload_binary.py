"""LLVM's offload binary (llvm/Object/OffloadBinary.h), versions 1 to 3; version 1 is written.

    header   magic 10 FF 10 AD, u32 version, u64 size, u64 entries' offset,
             version 1: u64 entry's size; from 2: u64 entries' count; from 3: u64 inflated size
    entry    u16 image kind, u16 offload kind, u32 flags, u64 offset and count of its string
             entries, u64 offset and size of its image
    string   u64 key's offset, u64 value's offset; from version 2: u64 value's size

Offsets count from the header. Where the inflated size is not 0, all that follows the header is
compressed (zstd by its magic, else zlib) and offsets are those of the inflated binary.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from offloadc.bundler.bytes_view import Budget, align, corrupt, part, unpack
from offloadc.bundler.compression import ZSTD_MAGIC, inflate_zlib, inflate_zstd
from offloadc.bundler.format import Format
from offloadc.bundler.string_table import string_table
from offloadc.model import Bundle, Image, ImageKind, OffloadcError, OffloadKind

MAGIC = b"\x10\xff\x10\xad"
ALIGNMENT = 8
_NEWEST = 3
_MOST_TEXT = 1 << 26  # bytes of all strings of a binary; entries may share them

_HEADER = struct.Struct("<4sIQQQ")
_INFLATED_SIZE = struct.Struct("<Q")
_ENTRY = struct.Struct("<HHIQQQQ")
_STRING = {1: struct.Struct("<QQ"), 2: struct.Struct("<QQQ"), 3: struct.Struct("<QQQ")}


# --------------------------------------------------------------------------- read
def _matches(data: memoryview) -> bool:
    return data[:4] == MAGIC


def _read(data: memoryview, where: str) -> tuple[Bundle, int]:
    _, version, size, entries, entry_field = unpack(_HEADER, data, 0, where, "offload binary header")
    if not 1 <= version <= _NEWEST:
        raise corrupt(where, f"offload binary of version {version}; offloadc reads 1 to {_NEWEST}")
    binary = part(data, 0, size, where, "offload binary")
    if version >= 3:
        binary = _inflate(binary, entries, where)
    count = 1 if version == 1 else entry_field
    table = part(binary, entries, count * _ENTRY.size, where, "table of images")
    data_budget = Budget(len(binary), where, "images")
    text_budget = Budget(_MOST_TEXT, where, "strings")
    images = []
    for entry in _ENTRY.iter_unpack(table):
        data_budget.take(entry[-1])
        images.append(_image(binary, entry, version, text_budget, where))
    return Bundle(tuple(images), "offload-binary", version), max(size, _HEADER.size)


def _inflate(binary: memoryview, entries: int, where: str) -> memoryview:
    (size,) = unpack(_INFLATED_SIZE, binary, _HEADER.size, where, "offload binary header")
    if size == 0:
        return binary
    if size < entries:
        raise corrupt(where, f"inflated size {size} is below the header's {entries} bytes")
    header = part(binary, 0, entries, where, "offload binary header")
    body = binary[entries:]
    inflate = inflate_zstd if body[:4] == ZSTD_MAGIC else inflate_zlib
    return memoryview(bytes(header) + inflate(body, size - entries, where))


def _image(
    binary: memoryview, entry: tuple[int, ...], version: int, text_budget: Budget, where: str
) -> Image:
    kind, offload_kind, flags, strings, count, offset, size = entry
    return Image(
        kind=_image_kind(kind, where),
        offload_kind=OffloadKind(offload_kind),
        data=bytes(part(binary, offset, size, where, "image")),
        strings=_strings(binary, strings, count, version, text_budget, where),
        flags=flags,
    )


def _image_kind(number: int, where: str) -> ImageKind:
    try:
        return ImageKind(number)
    except ValueError:
        raise corrupt(where, f"image kind {number} is none that LLVM knows") from None


def _strings(
    binary: memoryview, offset: int, count: int, version: int, budget: Budget, where: str
) -> Mapping[str, str]:
    layout = _STRING[version]
    table = part(binary, offset, count * layout.size, where, "string entries")
    strings: dict[str, str] = {}
    for entry in layout.iter_unpack(table):
        key, value = _pair(binary, entry, where)
        budget.take(len(key) + len(value))
        strings[key] = value
    return MappingProxyType(strings)


def _pair(binary: memoryview, entry: tuple[int, ...], where: str) -> tuple[str, str]:
    key, value, *sizes = entry
    if sizes:
        stated = bytes(part(binary, value, sizes[0], where, "string value"))
        return _text(_zero_ended(binary, key, where)), _text(stated)
    return _text(_zero_ended(binary, key, where)), _text(_zero_ended(binary, value, where))


def _zero_ended(binary: memoryview, offset: int, where: str) -> bytes:
    text = bytearray()
    for start in range(offset, len(binary), 256):
        chunk = bytes(binary[start : start + 256])
        end = chunk.find(b"\0")
        if end >= 0:
            return bytes(text + chunk[:end])
        text += chunk
    raise corrupt(where, f"string at offset {offset} has no end")


def _text(raw: bytes) -> str:
    # LLVM takes any bytes; what is no UTF-8 must survive reading and writing unchanged.
    return raw.decode("utf-8", "surrogateescape")


# --------------------------------------------------------------------------- write
def write(images: Sequence[Image]) -> bytes:
    """One binary an image, each padded to 8, as llvm-offload-binary of LLVM 22 writes them."""
    return b"".join(piece for image in images for piece in _binary(image))


def _binary(image: Image) -> Iterator[bytes]:
    pairs = [(_raw(key), _raw(value)) for key, value in image.strings.items()]
    table, offsets = string_table(text for pair in pairs for text in pair)
    strings_at = _HEADER.size + _ENTRY.size
    table_at = strings_at + _STRING[1].size * len(pairs)
    image_at = align(table_at + len(table), ALIGNMENT)
    size = align(image_at + len(image.data), ALIGNMENT)
    yield _HEADER.pack(MAGIC, 1, size, _HEADER.size, _ENTRY.size)
    yield _ENTRY.pack(
        image.kind, image.offload_kind, image.flags, strings_at, len(pairs), image_at, len(image.data)
    )
    for key, value in pairs:
        yield _STRING[1].pack(table_at + offsets[key], table_at + offsets[value])
    yield table.ljust(image_at - table_at, b"\0")
    yield image.data.ljust(size - image_at, b"\0")


def _raw(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogateescape")
    if b"\0" in raw:
        raise OffloadcError(f"a string of an offload binary cannot hold a NUL: {text!r}")
    return raw


FORMAT = Format("offload-binary", _matches, _read, write)
