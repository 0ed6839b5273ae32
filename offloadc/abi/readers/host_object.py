"""Host objects: the offload entries that clang's host pass writes, one a kernel or device variable.

An entry is 56 bytes in section `llvm_offload_entries` (llvm::offloading::EntryTy of LLVM 22):
u64 reserved, u16 version, u16 kind, u32 flags, address, name, u64 size, u64 data, aux. Address and
name are relocations in an object file; size is 0 for kernels.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

from offloadc.model import Unknown

_SECTION = "llvm_offload_entries"
_ENTRY = struct.Struct("<QHHIQQQQQ")
_NAME_OFFSET = 24
_MAX_ENTRIES = 1 << 20


@dataclass(frozen=True, slots=True)
class HostEntries:
    """Host names of kernels and device variables, in the order of the object, each once."""

    kernels: tuple[str, ...]
    variables: tuple[str, ...]


def read_entries(data: bytes, where: str) -> HostEntries | Unknown:
    """The entries of a relocatable ELF object; `where` names it in the reason of an Unknown."""
    from elftools.common.exceptions import ELFError, ELFParseError
    from elftools.construct import ConstructError
    from elftools.elf.elffile import ELFFile

    if data[:4] != b"\x7fELF":
        return Unknown(f"{where} is not an ELF object")
    try:
        return _read(ELFFile(io.BytesIO(data)))
    except (ELFError, ELFParseError, ConstructError, struct.error, IndexError, ValueError, KeyError) as error:
        return Unknown(f"{where} is damaged: {error}")


def _read(elf) -> HostEntries:  # type: ignore[no-untyped-def]
    kernels: dict[str, None] = {}
    variables: dict[str, None] = {}
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_RELA" or elf.get_section(section["sh_info"]).name != _SECTION:
            continue
        entries = elf.get_section(section["sh_info"]).data()
        if len(entries) // _ENTRY.size > _MAX_ENTRIES:
            raise ValueError("too many offload entries")
        symbols = elf.get_section(section["sh_link"])
        for relocation in section.iter_relocations():
            index, inside = divmod(relocation["r_offset"], _ENTRY.size)
            if inside != _NAME_OFFSET:
                continue
            name = _string_at(elf, symbols.get_symbol(relocation["r_info_sym"]), relocation["r_addend"])
            size = _ENTRY.unpack_from(entries, index * _ENTRY.size)[6]
            (variables if size else kernels)[name] = None
    return HostEntries(tuple(kernels), tuple(variables))


def _string_at(elf, symbol, addend: int) -> str:  # type: ignore[no-untyped-def]
    data = elf.get_section(symbol["st_shndx"]).data()
    start = symbol["st_value"] + addend
    end = data.index(b"\0", start)
    return bytes(data[start:end]).decode()
