"""CUDA fat binaries, reading only. NVIDIA documents the magic (fatbinary_section.h) and no more; the
rest was seen in what fatbinary of CUDA 13.0 and 13.5 writes.

    header   u32 magic BA55ED50, u16 version, u16 header's size, u64 size of what follows
    entry    u16 kind (1 PTX, 2 ELF), u16 version, u32 header's size, u64 size of the contents,
             u32 compressed size, u32 offset of options, u16 minor, u16 major, u32 arch,
             u32 offset and length of a name, u64 flags, u64, u64 inflated size
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import MappingProxyType

from offloadc.bundler.bytes_view import Budget, corrupt, part, unpack
from offloadc.bundler.compression import inflate_lz4, inflate_zstd
from offloadc.bundler.format import Format
from offloadc.model import Bundle, Image, ImageKind, OffloadKind

MAGIC = b"\x50\xed\x55\xba"
_HEADER = struct.Struct("<4sHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")

_FLAG_64_BIT = 0x1
_FLAG_ARCH_SPECIFIC = 0x100000  # sm_90a
_FLAG_FAMILY_SPECIFIC = 0x200000  # sm_100f
_METHODS: dict[int, Callable[[memoryview, int, str], bytes]] = {0x2000: inflate_lz4, 0x8000: inflate_zstd}
_COMPRESSED = sum(_METHODS)

_MOST_BYTES = 1 << 31  # of all images of one fat binary, inflated

_KINDS = {1: ImageKind.PTX, 2: ImageKind.CUBIN}


def _matches(data: memoryview) -> bool:
    return data[:4] == MAGIC


def _read(data: memoryview, where: str) -> tuple[Bundle, int]:
    _, version, header_size, size = unpack(_HEADER, data, 0, where, "fat binary's header")
    if version != 1 or header_size < _HEADER.size:
        raise corrupt(where, f"fat binary of version {version} with a header of {header_size} bytes")
    entries = part(data, header_size, size, where, "fat binary's entries")
    images = []
    budget = Budget(max(_MOST_BYTES, size), where, "images")
    at = 0
    while at < len(entries):
        image, span = _entry(entries[at:], where)
        at += span
        if image:
            budget.take(len(image.data))
            images.append(image)
    return Bundle(tuple(images), "cuda-fatbin", version), header_size + size


def _entry(rest: memoryview, where: str) -> tuple[Image | None, int]:
    """The entry that starts here, None where it is neither PTX nor ELF, and how far it reaches."""
    fields = unpack(_ENTRY, rest, 0, where, "fat binary's entry")
    kind, _, header_size, size, packed_size, _, _, _, sm, _, _, flags, _, inflated_size = fields
    if header_size < _ENTRY.size:
        raise corrupt(where, f"fat binary's entry has a header of {header_size} bytes")
    contents = part(rest, header_size, size, where, "fat binary's image")
    if kind not in _KINDS:
        return None, header_size + size
    code = _contents(contents, packed_size, inflated_size, flags, where)
    image = Image(_KINDS[kind], OffloadKind.CUDA, _trimmed(kind, code), _strings(sm, flags))
    return image, header_size + size


def _contents(contents: memoryview, packed_size: int, size: int, flags: int, where: str) -> bytes:
    compressed = flags & _COMPRESSED
    if not compressed:
        return bytes(contents)
    if compressed not in _METHODS:
        raise corrupt(where, f"fat binary's image is compressed in two ways at once (flags {flags:#x})")
    # The contents are padded to 8 bytes; a decoder must not see the padding.
    packed = part(contents, 0, packed_size, where, "fat binary's compressed image")
    return _METHODS[compressed](packed, size, where)


def _trimmed(kind: int, code: bytes) -> bytes:
    """PTX is text, ended by NULs up to the next 8 bytes."""
    return code.rstrip(b"\0") if _KINDS[kind] is ImageKind.PTX else code


def _strings(sm: int, flags: int) -> MappingProxyType[str, str]:
    suffix = "a" if flags & _FLAG_ARCH_SPECIFIC else "f" if flags & _FLAG_FAMILY_SPECIFIC else ""
    triple = "nvptx64-nvidia-cuda" if flags & _FLAG_64_BIT else "nvptx-nvidia-cuda"
    return MappingProxyType({"triple": triple, "arch": f"sm_{sm}{suffix}"})


FORMAT = Format("cuda-fatbin", _matches, _read)
