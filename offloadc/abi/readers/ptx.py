"""PTX text: kernels and their parameters as declared ("Parallel Thread Execution ISA").

Offsets are those of the natural layout: each parameter at the next multiple of its alignment.
ptxas lays parameters aligned above 16 out in its own way, so a cubin's table has the last word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from offloadc.abi.readers import Reader, corrupt
from offloadc.model import Image, ImageKind, KernelFacts, KernelParam, OffloadKind, Unknown

# No pattern here can match one text in two ways or scan to the end twice: hostile text takes no longer.
_STARTS_LIKE_PTX = re.compile(rb"(?:\s|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*\.version\s")
# Strings may hold what looks like comments or directives, and nothing in them matters here.
_COMMENT_OR_STRING = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*\"?", re.DOTALL)
_PRAGMA = re.compile(r"\.pragma\b[\s,]*;")  # its strings are gone by then

_IDENTIFIER = r"[A-Za-z_$%][A-Za-z0-9_$]*"
_VERSION = re.compile(r"\.version\s+([0-9]+)\.([0-9]+)")
_TARGET = re.compile(r"\.target\s+([A-Za-z0-9_]+)")
_ADDRESS_SIZE = re.compile(r"\.address_size\s+(32|64)")
_ENTRY = re.compile(rf"\.entry\s+({_IDENTIFIER})\s*(\(?)")
_HEAD_END = re.compile(r"[{;]")
_PARAM = re.compile(
    r"\.param\s*(?:\.align\s+(?P<align>[0-9]{1,6})\s*)?"
    r"\.(?P<type>[a-z0-9]+)\s*"
    r"(?:\.ptr\s*(?:\.(?:const|global|local|shared|param)\s*)?(?:\.align\s+[0-9]+\s*)?)?"
    rf"(?:{_IDENTIFIER})\s*(?P<extents>(?:\[\s*[0-9]{{1,9}}\s*\]\s*)*)"
)
_EXTENT = re.compile(r"[0-9]+")
_BLOCK_SIZE = re.compile(
    r"\.(?:maxntid|reqntid)\s+([0-9]{1,9})(?:\s*,\s*([0-9]{1,9}))?(?:\s*,\s*([0-9]{1,9}))?"
)

_TYPE_BITS = re.compile(r"[bsuf](8|16|32|64|128)")
_OPAQUE_TYPES = ("texref", "samplerref", "surfref")


@dataclass(frozen=True, slots=True)
class PtxHeader:
    """.version, the first of .target, .address_size (32 where not stated)."""

    version: tuple[int, int]
    target: str
    address_size: int


def _without_comments(data: bytes) -> str:
    text = data.rstrip(b"\0").decode("utf-8", "backslashreplace")
    return _PRAGMA.sub(" ", _COMMENT_OR_STRING.sub(" ", text))


def ptx_header(data: bytes) -> PtxHeader | None:
    """What PTX says of itself; None where the bytes do not start like PTX or name no target."""
    if not _STARTS_LIKE_PTX.match(data):
        return None
    text = _without_comments(data[: 1 << 16])  # the directives come first
    version, target = _VERSION.search(text), _TARGET.search(text)
    if not version or not target:
        return None
    address_size = _ADDRESS_SIZE.search(text)
    return PtxHeader(
        (int(version[1]), int(version[2])), target[1], int(address_size[1]) if address_size else 32
    )


# --------------------------------------------------------------------------- parameters
class _OpaqueParameterError(Exception):
    """A texture, sampler or surface reference, whose size PTX does not state."""


def _layout(image: Image, declarations: str) -> Iterator[KernelParam]:
    end = 0
    for declaration in filter(None, (words.strip() for words in declarations.split(","))):
        size, align = _size_and_align(image, declaration)
        offset = -(-end // align) * align
        end = offset + size
        yield KernelParam(offset, size, align)


def _size_and_align(image: Image, declaration: str) -> tuple[int, int]:
    found = _PARAM.fullmatch(declaration)
    if not found:
        raise corrupt(image, f"PTX parameter {declaration[:80]!r} is not understood")
    if found["type"] in _OPAQUE_TYPES:
        raise _OpaqueParameterError
    bits = _TYPE_BITS.fullmatch(found["type"])
    if not bits:
        raise corrupt(image, f"PTX parameter of unknown type .{found['type']}")
    size = natural = int(bits[1]) // 8
    for extent in _EXTENT.findall(found["extents"]):
        size *= int(extent)
    # "If .align is not specified, the parameter is aligned on natural boundary" of its type.
    align = int(found["align"]) if found["align"] else natural
    if align == 0 or align & (align - 1):
        raise corrupt(image, f"PTX parameter aligned at {align} bytes")
    return size, align


# --------------------------------------------------------------------------- kernels
def _kernel(image: Image, name: str, declarations: str, directives: str) -> KernelFacts:
    params = tuple(_layout(image, declarations))
    args_size = max((param.offset + param.size for param in params), default=0)
    return KernelFacts(name, params, args_size, MappingProxyType(_resources(directives)))


def _resources(directives: str) -> dict[str, int]:
    found = _BLOCK_SIZE.search(directives)
    if not found:
        return {}
    x, y, z = (int(extent or 1) for extent in found.groups())
    return {"max_threads": x * y * z}


def _entries(image: Image, text: str) -> Iterator[tuple[str, str, str]]:
    """Name, parameter declarations and directives of each kernel that has a body."""
    found = _ENTRY.search(text)
    while found:
        at = found.end()
        close = text.find(")", at) if found[2] else at
        head_end = _HEAD_END.search(text, close)
        if close < 0 or not head_end:
            raise corrupt(image, f"PTX ends inside the declaration of {found[1]}")
        if head_end[0] == "{":  # a declaration without a body ends in ;
            yield found[1], text[at:close], text[close : head_end.start()]
        found = _ENTRY.search(text, head_end.end())


def _read(image: Image) -> tuple[KernelFacts, ...] | Unknown:
    text = _without_comments(image.data)
    try:
        return tuple(_kernel(image, *entry) for entry in _entries(image, text))
    except _OpaqueParameterError:
        return Unknown("PTX passes texture, sampler or surface references, whose size it does not state")


def _is_ptx(data: bytes) -> bool:
    return _STARTS_LIKE_PTX.match(data) is not None


def _identify(data: bytes) -> Image | None:
    header = ptx_header(data)
    if header is None:
        return None
    triple = "nvptx64-nvidia-cuda" if header.address_size == 64 else "nvptx-nvidia-cuda"
    strings = MappingProxyType({"triple": triple, "arch": header.target})
    return Image(ImageKind.PTX, OffloadKind.CUDA, data, strings)


def _properties(data: bytes) -> Mapping[str, str]:
    header = ptx_header(data)
    return {} if header is None else {"offloadc.ptx-version": ".".join(map(str, header.version))}


READER = Reader("ptx", lambda image: _is_ptx(image.data), _read, _identify, _properties)
