"""CPU images: x86-64 shared objects whose section .offloadc.kernels lists the kernels as text.

One line a kernel: NAME SP ARGS_SIZE {SP OFFSET:SIZE:ALIGN} LF, ALIGN 0 where not stated
(offloadc/runtime.h).
"""

from __future__ import annotations

import re
from types import MappingProxyType

from offloadc.abi.readers import Reader, corrupt, elf
from offloadc.model import Image, ImageKind, KernelFacts, KernelParam, OffloadKind, Unknown

_EM_X86_64 = 62
_SECTION = ".offloadc.kernels"
_LINE = re.compile(r"([^\s\0]+) ([0-9]{1,10})((?: [0-9]{1,10}:[0-9]{1,10}:[0-9]{1,10})*)")
_IDENTITY = MappingProxyType({"triple": "x86_64-unknown-linux-gnu", "arch": "x86-64"})


def _manifest(image: Image) -> elf.Section | None:
    return next((section for section in elf.sections(image) if section.name == _SECTION), None)


def _read(image: Image) -> tuple[KernelFacts, ...] | Unknown:
    section = _manifest(image)
    if section is None:
        return Unknown(f"x86-64 image has no section {_SECTION}")
    # Linking several objects may leave NULs between their texts.
    text = bytes(section.data).replace(b"\0", b"\n").decode("utf-8", "backslashreplace")
    return tuple(_kernel(image, line) for line in text.split("\n") if line)


def _kernel(image: Image, line: str) -> KernelFacts:
    found = _LINE.fullmatch(line)
    if not found:
        raise corrupt(image, f"malformed line {line[:80]!r} in {_SECTION}")
    name, args_size, params = found.groups()
    return KernelFacts(name, tuple(_param(words) for words in params.split()), int(args_size))


def _param(words: str) -> KernelParam:
    offset, size, align = (int(word) for word in words.split(":"))
    return KernelParam(offset, size, align or None)


def _is_x86_64(data: bytes) -> bool:
    header = elf.header(data)
    return header is not None and header.machine == _EM_X86_64


def _identify(data: bytes) -> Image | None:
    """Host programs are x86-64 files too; only the section tells a CPU image."""
    if not _is_x86_64(data):
        return None
    image = Image(ImageKind.OBJECT, OffloadKind.NONE, data, _IDENTITY)
    return image if _manifest(image) else None


READER = Reader("cpu-image", lambda image: _is_x86_64(image.data), _read, _identify)
