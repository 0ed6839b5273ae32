"""NVIDIA cubins: kernels and their parameters from sections .nv.info, as ptxas writes them.

NVIDIA does not document these. What is here was seen in cubins of CUDA 12.4, 13.0 and 13.5 for
sm_75 to sm_121 and agrees with what cuobjdump -elf prints of them. .nv.info is a row of attributes:
u8 form, u8 attribute, then by form a u16 value, or a u16 size and as many bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from offloadc.abi.readers import Reader, corrupt, elf
from offloadc.model import Image, ImageKind, KernelFacts, KernelParam, OffloadKind

_EM_CUDA = 190
_INFO = ".nv.info"
_SHARED = ".nv.shared."
_SYMBOL_IS_ENTRY = 0x10  # st_other, STO_CUDA_ENTRY

# --------------------------------------------------------------------------- attributes
_FORM_SIZED = 4  # EIFMT_SVAL
_EIATTR_MAX_THREADS = 0x05
_EIATTR_REQNTID = 0x10
_EIATTR_FRAME_SIZE = 0x11
_EIATTR_KPARAM_INFO = 0x17
_EIATTR_CBANK_PARAM_SIZE = 0x19
_EIATTR_REGCOUNT = 0x2F
_EIATTR_MIN_STACK_SIZE = 0x12
_EIATTR_KPARAM_INFO_V2 = 0x45

_ATTRIBUTE = struct.Struct("<BBH")
_OF_SYMBOL = struct.Struct("<II")  # symbol's index, value
_DIMENSIONS = struct.Struct("<III")
# u32 index, u16 ordinal, u16 offset, then 32 bits: pointee's alignment, space, constant bank, size
_KPARAM_INFO = struct.Struct("<IHHI")
_KPARAM_SIZE_SHIFT = 18
# u32 index, u16 ordinal, u16 offset, u16 size, u8 log2 of the pointee's alignment, u8 space
_KPARAM_INFO_V2 = struct.Struct("<IHHHBB")

_STACK_IS_UNBOUNDED = 0xFFFFFFFF
_PER_FUNCTION = {
    _EIATTR_REGCOUNT: "registers",
    _EIATTR_FRAME_SIZE: "frame",
    _EIATTR_MIN_STACK_SIZE: "scratch",
}
# From sm_90 on the system keeps the first bytes of every block's shared memory for itself, and
# .nv.shared.KERNEL counts them; ptxas -v does not.
_RESERVED_SHARED = 1024
_RESERVES_SHARED_FROM = 90


def _attributes(image: Image, data: memoryview) -> Iterator[tuple[int, int, memoryview]]:
    """Attribute, value, bytes: one of the latter two has the contents, by the attribute's form."""
    at = 0
    while at < len(data):
        form, attribute, value = elf.unpack(image, _ATTRIBUTE, data, at, ".nv.info attribute")
        if not 1 <= form <= _FORM_SIZED:
            raise corrupt(image, f".nv.info attribute {attribute:#x} of form {form}")
        at += _ATTRIBUTE.size
        size = value if form == _FORM_SIZED else 0
        yield attribute, value, elf.part(image, data, at, size, f".nv.info attribute {attribute:#x}")
        at += size


# --------------------------------------------------------------------------- one kernel
def _params(image: Image, info: memoryview) -> tuple[KernelParam, ...]:
    attributes = _attributes(image, info)
    found = dict(_param(image, which, data) for which, _, data in attributes if which in _PARAM_FORMS)
    if sorted(found) != list(range(len(found))):
        raise corrupt(image, f"parameters {sorted(found)} are not numbered from 0")
    return tuple(found[ordinal] for ordinal in range(len(found)))


def _param(image: Image, attribute: int, data: memoryview) -> tuple[int, KernelParam]:
    fields = elf.unpack(image, _PARAM_FORMS[attribute], data, 0, "kernel parameter")
    _, ordinal, offset, size = fields[:4]
    if attribute == _EIATTR_KPARAM_INFO:
        size >>= _KPARAM_SIZE_SHIFT
    return ordinal, KernelParam(offset, size)


_PARAM_FORMS = {_EIATTR_KPARAM_INFO: _KPARAM_INFO, _EIATTR_KPARAM_INFO_V2: _KPARAM_INFO_V2}


def _max_threads(image: Image, info: memoryview) -> Mapping[str, int]:
    """.maxntid bounds a block's threads, .reqntid states them."""
    for attribute, _, data in _attributes(image, info):
        if attribute in (_EIATTR_MAX_THREADS, _EIATTR_REQNTID):
            x, y, z = elf.unpack(image, _DIMENSIONS, data, 0, "bound of a block's threads")
            return {"max_threads": x * y * z}
    return {}


def _kernel(
    image: Image, name: str, by_name: Mapping[str, elf.Section], measured: Mapping[str, int]
) -> KernelFacts:
    info = by_name.get(f"{_INFO}.{name}")
    if info is None:
        raise corrupt(image, f"kernel {name} has no section {_INFO}.{name}")
    params = _params(image, info.data)
    args_size = max((param.offset + param.size for param in params), default=0)
    _check_args_size(image, name, info.data, args_size)
    resources = {
        **measured,
        "static_shared": _static_shared(image, by_name.get(_SHARED + name)),
        **_max_threads(image, info.data),
    }
    return KernelFacts(name, params, args_size, MappingProxyType(resources))


def _check_args_size(image: Image, name: str, info: memoryview, args_size: int) -> None:
    """A table that reaches behind the buffer that the cubin states was misread or is damaged."""
    for attribute, stated, _ in _attributes(image, info):
        if attribute == _EIATTR_CBANK_PARAM_SIZE and stated < args_size:
            raise corrupt(
                image, f"kernel {name}: parameters end at {args_size} in a buffer of {stated} bytes"
            )


def _static_shared(image: Image, section: elf.Section | None) -> int:
    if section is None:
        return 0
    reserved = _RESERVED_SHARED if _sm(image.data) >= _RESERVES_SHARED_FROM else 0
    return max(0, section.size - reserved)


# --------------------------------------------------------------------------- the image
def _measured(
    image: Image, by_name: Mapping[str, elf.Section], functions: Mapping[int, elf.Symbol]
) -> dict[str, dict[str, int]]:
    """What .nv.info says of every function: registers, frame and stack."""
    found: dict[str, dict[str, int]] = {}
    info = by_name.get(_INFO)
    for attribute, _, data in _attributes(image, info.data) if info else ():
        if attribute not in _PER_FUNCTION:
            continue
        index, value = elf.unpack(image, _OF_SYMBOL, data, 0, f".nv.info attribute {attribute:#x}")
        if index not in functions:
            raise corrupt(image, f".nv.info names symbol {index}, which is no function")
        if value != _STACK_IS_UNBOUNDED:
            found.setdefault(functions[index].name, {})[_PER_FUNCTION[attribute]] = value
    return found


def _read(image: Image) -> tuple[KernelFacts, ...]:
    all_sections = elf.sections(image)
    by_name = {section.name: section for section in all_sections}
    functions = elf.functions(image, all_sections)
    measured = _measured(image, by_name, functions)
    entries = [symbol.name for symbol in functions.values() if symbol.other & _SYMBOL_IS_ENTRY]
    if len(set(entries)) != len(entries):
        raise corrupt(image, "two kernels have one name")
    return tuple(_kernel(image, name, by_name, measured.get(name, {})) for name in entries)


def _is_cubin(data: bytes) -> bool:
    header = elf.header(data)
    return header is not None and header.machine == _EM_CUDA


def _sm(data: bytes) -> int:
    """e_flags hold the arch in the low byte up to ABI 7 (CUDA 12), in the next byte from ABI 8 on."""
    header = elf.header(data)
    if header is None:
        return 0
    return (header.flags >> 8 if header.abi_version >= 8 else header.flags) & 0xFF


def _identify(data: bytes) -> Image | None:
    if not _is_cubin(data):
        return None
    strings = {"triple": "nvptx64-nvidia-cuda", "arch": f"sm_{_sm(data)}"}
    image = Image(ImageKind.CUBIN, OffloadKind.CUDA, data, strings)
    if _is_arch_specific(image):
        strings["arch"] += "a"
    return replace(image, strings=MappingProxyType(strings))


def _is_arch_specific(image: Image) -> bool:
    """sm_90a: from CUDA 13 on attribute 9 (CUDA_ACCELERATOR_TARGET) of .nv.compat is 1."""
    compat = next((s for s in elf.sections(image) if s.name == ".nv.compat"), None)
    attributes = _attributes(image, compat.data) if compat else ()
    return any(attribute == 9 and value & 0xFF for attribute, value, _ in attributes)


READER = Reader("cubin", lambda image: _is_cubin(image.data), _read, _identify)
