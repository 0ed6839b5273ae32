"""What kind of image bytes are, by how they start."""

from __future__ import annotations

from offloadc.model import ImageKind

ELF_MAGIC = b"\x7fELF"
_BITCODE_MAGICS = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")  # the second wraps bitcode (LLVM bitcode format)


def image_kind(data: bytes) -> ImageKind:
    if data.startswith(ELF_MAGIC):
        return ImageKind.OBJECT
    return ImageKind.BITCODE if is_bitcode(data) else ImageKind.NONE


def is_bitcode(data: bytes) -> bool:
    return data.startswith(_BITCODE_MAGICS)
