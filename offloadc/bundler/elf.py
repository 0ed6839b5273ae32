"""The sections of a host ELF file that may hold bundles."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

from offloadc.bundler.bytes_view import Budget, corrupt, part
from offloadc.model import OffloadcError

_HEADER_SIZES = {32: 40, 64: 64}  # of a section header, by ELF class


_MOST_TEXT = 1 << 26  # bytes of all section names; sections may share them


@dataclass(frozen=True, slots=True)
class Section:
    """`type` is a name where pyelftools knows one, else the number."""

    name: str
    type: str | int
    data: memoryview


def sections(data: bytes, where: str) -> tuple[Section, ...]:
    """Every section with bytes in the file."""
    try:
        return tuple(_sections(data, where))
    except OffloadcError:
        raise
    except Exception as error:  # pyelftools meets corrupt files with many kinds of exception
        raise corrupt(where, f"not a readable ELF file ({type(error).__name__}: {error})") from error


def _sections(data: bytes, where: str) -> Iterator[Section]:
    from elftools.elf.elffile import ELFFile

    view = memoryview(data)
    elf = ELFFile(io.BytesIO(data))
    entry_size = elf["e_shentsize"]
    if elf.num_sections() and entry_size < _HEADER_SIZES[elf.elfclass]:
        raise corrupt(where, f"ELF section headers of {entry_size} bytes")
    part(view, elf["e_shoff"], elf.num_sections() * entry_size, where, "ELF section headers")
    names = Budget(_MOST_TEXT, where, "section names")
    for section in elf.iter_sections():
        names.take(len(section.name))
        if section["sh_type"] not in ("SHT_NULL", "SHT_NOBITS"):
            contents = part(view, section["sh_offset"], section["sh_size"], where, f"section {section.name}")
            yield Section(section.name, section["sh_type"], contents)
