"""AMD GPU code objects: the metadata note (LLVM, "User Guide for AMDGPU Backend", Code Object V3 to
V6 Metadata) and the target id in the ELF header's e_flags (same guide, ELF Header)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from offloadc.abi.readers import Reader, corrupt, elf
from offloadc.model import Image, ImageKind, KernelFacts, KernelParam, OffloadcError, OffloadKind, Unknown

_EM_AMDGPU = 224
_TRIPLE = "amdgcn-amd-amdhsa"
_NOTE_OWNER = b"AMDGPU"
_NT_AMDGPU_METADATA = 32

# "ELFABIVERSION_AMDGPU_HSA_V2" 0 ... "_V6" 4
_VERSION_OF_ABI = {0: 2, 1: 3, 2: 4, 3: 5, 4: 6}

# EF_AMDGPU_MACH (e_flags, low byte) -> processor, as llvm-mc of LLVM 22 writes them.
_PROCESSORS = {
    0x20: "gfx600",
    0x21: "gfx601",
    0x22: "gfx700",
    0x23: "gfx701",
    0x24: "gfx702",
    0x25: "gfx703",
    0x26: "gfx704",
    0x28: "gfx801",
    0x29: "gfx802",
    0x2A: "gfx803",
    0x2B: "gfx810",
    0x2C: "gfx900",
    0x2D: "gfx902",
    0x2E: "gfx904",
    0x2F: "gfx906",
    0x30: "gfx908",
    0x31: "gfx909",
    0x32: "gfx90c",
    0x33: "gfx1010",
    0x34: "gfx1011",
    0x35: "gfx1012",
    0x36: "gfx1030",
    0x37: "gfx1031",
    0x38: "gfx1032",
    0x39: "gfx1033",
    0x3A: "gfx602",
    0x3B: "gfx705",
    0x3C: "gfx805",
    0x3D: "gfx1035",
    0x3E: "gfx1034",
    0x3F: "gfx90a",
    0x41: "gfx1100",
    0x42: "gfx1013",
    0x43: "gfx1150",
    0x44: "gfx1103",
    0x45: "gfx1036",
    0x46: "gfx1101",
    0x47: "gfx1102",
    0x48: "gfx1200",
    0x49: "gfx1250",
    0x4A: "gfx1151",
    0x4C: "gfx942",
    0x4E: "gfx1201",
    0x4F: "gfx950",
    0x51: "gfx9-generic",
    0x52: "gfx10-1-generic",
    0x53: "gfx10-3-generic",
    0x54: "gfx11-generic",
    0x55: "gfx1152",
    0x58: "gfx1153",
    0x59: "gfx12-generic",
    0x5A: "gfx1251",
    0x5F: "gfx9-4-generic",
}

# Two bits a feature from version 4 on: 0 has none, 1 left open, 2 off, 3 on.
_FEATURE_SHIFTS = {"sramecc": 10, "xnack": 8}
_FEATURE_SIGNS = {2: "-", 3: "+"}
# Version 3 has one bit a feature; unset may mean off or not there, so only "on" is told.
_FEATURE_BITS_V3 = {"sramecc": 0x200, "xnack": 0x100}

_RESOURCES = {
    "registers": ".vgpr_count",
    "sgprs": ".sgpr_count",
    "agprs": ".agpr_count",
    "spills": ".vgpr_spill_count",
    "sgpr_spills": ".sgpr_spill_count",
    "static_shared": ".group_segment_fixed_size",
    "scratch": ".private_segment_fixed_size",
    "max_threads": ".max_flat_workgroup_size",
    "wavefront_size": ".wavefront_size",
}


# --------------------------------------------------------------------------- header
def _header(data: bytes) -> elf.Header:
    header = elf.header(data)
    if header is None or header.machine != _EM_AMDGPU:
        raise OffloadcError("not an AMD GPU code object")
    return header


def code_object_version(data: bytes) -> int:
    """2 to 6."""
    abi = _header(data).abi_version
    if abi not in _VERSION_OF_ABI:
        raise OffloadcError(f"AMD GPU code object of unknown ABI version {abi}")
    return _VERSION_OF_ABI[abi]


def target_id(data: bytes) -> str:
    """Processor and the features it was compiled for, such as gfx90a:sramecc+:xnack-."""
    flags = _header(data).flags
    processor = _PROCESSORS.get(flags & 0xFF)
    if processor is None:
        raise OffloadcError(f"AMD GPU code object for an unknown processor (e_flags {flags:#x})")
    if code_object_version(data) < 4:
        features = [f"{name}+" for name, bit in _FEATURE_BITS_V3.items() if flags & bit]
    else:
        states = {name: flags >> shift & 3 for name, shift in _FEATURE_SHIFTS.items()}
        features = [name + _FEATURE_SIGNS[state] for name, state in states.items() if state in _FEATURE_SIGNS]
    return ":".join((processor, *features))


def _properties(data: bytes) -> Mapping[str, str]:
    return {"offloadc.code-object-version": str(code_object_version(data))}


# --------------------------------------------------------------------------- metadata
def _metadata(image: Image) -> Mapping[str, Any] | None:
    found = [
        contents
        for section in elf.sections(image)
        if section.type == "SHT_NOTE"
        for owner, note_type, contents in elf.notes(image, section)
        if (owner, note_type) == (_NOTE_OWNER, _NT_AMDGPU_METADATA)
    ]
    if len(found) > 1:
        raise corrupt(image, f"{len(found)} metadata notes")
    return _mapping(image, _unpacked(image, found[0]), "metadata") if found else None


def _unpacked(image: Image, contents: memoryview) -> object:
    msgpack = _msgpack()
    try:
        return msgpack.unpackb(contents, raw=False, strict_map_key=True)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise corrupt(image, f"metadata is no MessagePack ({error})") from error


def _msgpack() -> Any:
    try:
        return importlib.import_module("msgpack")
    except ImportError as error:
        raise OffloadcError(
            "reading AMD GPU code objects needs Python's msgpack package", hint="pip install msgpack"
        ) from error


def _mapping(image: Image, value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise corrupt(image, f"{what} is no map")
    return value


def _sequence(image: Image, value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise corrupt(image, f"{what} is no array")
    return value


def _number(image: Image, entry: Mapping[str, Any], key: str) -> int:
    value = entry.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 32:
        raise corrupt(image, f"{key} is {value!r:.40} in the metadata")
    return value


def _text(image: Image, entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise corrupt(image, f"{key} is {value!r:.40} in the metadata")
    return value


# --------------------------------------------------------------------------- kernels
def _params(image: Image, kernel: Mapping[str, Any]) -> tuple[KernelParam, ...]:
    """What the source passes; hidden arguments are the runtime's."""
    arguments = [
        _mapping(image, argument, "kernel argument")
        for argument in _sequence(image, kernel.get(".args", []), ".args")
    ]
    return tuple(
        KernelParam(_number(image, argument, ".offset"), _number(image, argument, ".size"))
        for argument in arguments
        if not _text(image, argument, ".value_kind").startswith("hidden_")
    )


def _kernel(image: Image, entry: Mapping[str, Any]) -> KernelFacts:
    params = _params(image, entry)
    # Older code objects do not count AGPRs.
    stated = {name: _number(image, entry, key) for name, key in _RESOURCES.items() if key in entry}
    args_size = max((param.offset + param.size for param in params), default=0)
    if args_size > _number(image, entry, ".kernarg_segment_size"):
        raise corrupt(
            image, f"kernel {_text(image, entry, '.name')}: parameters end behind its kernarg segment"
        )
    return KernelFacts(_text(image, entry, ".name"), params, args_size, MappingProxyType(stated))


def _read(image: Image) -> tuple[KernelFacts, ...] | Unknown:
    metadata = _metadata(image)
    if metadata is None:
        return Unknown(f"AMD GPU code object for {target_id(image.data)} has no metadata note")
    kernels = _sequence(image, metadata.get("amdhsa.kernels", []), "amdhsa.kernels")
    return tuple(_kernel(image, _mapping(image, kernel, "kernel")) for kernel in kernels)


def _is_code_object(data: bytes) -> bool:
    header = elf.header(data)
    return header is not None and header.machine == _EM_AMDGPU


def _identify(data: bytes) -> Image | None:
    if not _is_code_object(data):
        return None
    strings = MappingProxyType({"triple": _TRIPLE, "arch": target_id(data)})
    return Image(ImageKind.OBJECT, OffloadKind.HIP, data, strings)


READER = Reader("code-object", lambda image: _is_code_object(image.data), _read, _identify, _properties)
