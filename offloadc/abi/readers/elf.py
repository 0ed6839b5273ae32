"""Device images that are ELF files: header, sections, symbols, notes. No reader itself."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from offloadc.abi.readers import corrupt
from offloadc.model import Image, OffloadcError

_IDENT = b"\x7fELF\x02\x01"  # ELFCLASS64, ELFDATA2LSB: every device image is both
_SECTION_HEADER_SIZE = 64
_SYMBOL = struct.Struct("<IBBHQQ")
_NOTE = struct.Struct("<III")
# Names may share their bytes, so a small file could claim more than the memory holds.
_LONGEST_NAME = 1 << 16
_MOST_TEXT = 1 << 26

_STT_FUNC = 2


@dataclass(frozen=True, slots=True)
class Header:
    os_abi: int
    abi_version: int
    machine: int
    flags: int


@dataclass(frozen=True, slots=True)
class Section:
    """`data` is empty where the section has no bytes in the file; `size` is what it has in memory."""

    name: str
    type: str | int
    size: int
    link: int
    info: int
    data: memoryview


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str
    other: int


def header(data: bytes) -> Header | None:
    """The fixed part that tells images apart, None where the bytes are no 64-bit ELF file."""
    if len(data) < 64 or not data.startswith(_IDENT):
        return None
    (machine,) = struct.unpack_from("<H", data, 18)
    (flags,) = struct.unpack_from("<I", data, 48)
    return Header(data[7], data[8], machine, flags)


def part(image: Image, data: memoryview, offset: int, size: int, what: str) -> memoryview:
    if offset > len(data) or size > len(data) - offset:
        raise corrupt(image, f"{what} ({size} bytes at {offset}) ends behind the {len(data)} bytes there are")
    return data[offset : offset + size]


def unpack(image: Image, layout: struct.Struct, data: memoryview, offset: int, what: str) -> tuple[int, ...]:
    return layout.unpack(part(image, data, offset, layout.size, what))


def sections(image: Image) -> tuple[Section, ...]:
    """Every section by its index."""
    try:
        return tuple(_sections(image))
    except OffloadcError:
        raise
    except Exception as error:  # pyelftools meets corrupt files with many kinds of exception
        raise corrupt(image, f"not a readable ELF file ({type(error).__name__}: {error})") from error


def _sections(image: Image) -> Iterator[Section]:
    from elftools.elf.elffile import ELFFile

    view = memoryview(image.data)
    elf = ELFFile(io.BytesIO(image.data))
    count, entry_size = elf.num_sections(), elf["e_shentsize"]
    if count and entry_size != _SECTION_HEADER_SIZE:
        raise corrupt(image, f"ELF section headers of {entry_size} bytes")
    part(image, view, elf["e_shoff"], count * entry_size, "ELF section headers")
    names = 0
    for section in elf.iter_sections():
        names += len(section.name)
        if names > _MOST_TEXT:
            raise corrupt(image, "section names are larger together than they can be")
        stored = 0 if section["sh_type"] in ("SHT_NULL", "SHT_NOBITS") else section["sh_size"]
        yield Section(
            name=section.name,
            type=section["sh_type"],
            size=section["sh_size"],
            link=section["sh_link"],
            info=section["sh_info"],
            data=part(image, view, section["sh_offset"] if stored else 0, stored, f"section {section.name}"),
        )


def functions(image: Image, all_sections: tuple[Section, ...]) -> dict[int, Symbol]:
    """The functions of the symbol table by their indices; empty where there is no table."""
    table = next((section for section in all_sections if section.type == "SHT_SYMTAB"), None)
    if table is None:
        return {}
    if table.link >= len(all_sections):
        raise corrupt(image, f"symbol table links to section {table.link}, which is not there")
    names = bytes(all_sections[table.link].data)
    whole = len(table.data) - len(table.data) % _SYMBOL.size
    found: dict[int, Symbol] = {}
    text = 0
    for index, (at, info, other, *_) in enumerate(_SYMBOL.iter_unpack(table.data[:whole])):
        if info & 15 == _STT_FUNC:
            found[index] = Symbol(_name(image, names, at), other)
            text += len(found[index].name)
            if text > _MOST_TEXT:
                raise corrupt(image, "symbol names are larger together than they can be")
    return found


def _name(image: Image, table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset, offset + _LONGEST_NAME)
    if end < 0:
        raise corrupt(image, f"symbol name at {offset} has no end")
    return table[offset:end].decode("utf-8", "backslashreplace")


def notes(image: Image, section: Section) -> Iterator[tuple[bytes, int, memoryview]]:
    """Owner, type and contents of each note, each field padded to 4 bytes (gABI, Note Section)."""
    at = 0
    while at < len(section.data):
        name_size, size, note_type = unpack(image, _NOTE, section.data, at, "note")
        at += _NOTE.size
        name = bytes(part(image, section.data, at, name_size, "note's owner"))
        at += -(-name_size // 4) * 4
        yield name.rstrip(b"\0"), note_type, part(image, section.data, at, size, "note's contents")
        at += -(-size // 4) * 4
