"""clang's offload bundle ("Clang Offload Bundler", binary file layout), what HIP calls a fat binary.

    magic "__CLANG_OFFLOAD_BUNDLE__", u64 count of entries
    entry    u64 offset and size of its code object, u64 length of its id, the id

Offsets count from the magic. An id is KIND-TRIPLE[-TARGET ID], such as
hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+.
"""

from __future__ import annotations

import re
import struct
from types import MappingProxyType

from offloadc.bundler.bytes_view import Budget, corrupt, part, unpack
from offloadc.bundler.format import Format
from offloadc.bundler.image_magic import image_kind
from offloadc.model import Bundle, Image, OffloadKind

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")

_KINDS = {
    "host": OffloadKind.NONE,
    "hip": OffloadKind.HIP,
    "hipv4": OffloadKind.HIP,
    "openmp": OffloadKind.OPENMP,
    "cuda": OffloadKind.CUDA,
    "sycl": OffloadKind.SYCL,
}
_ARCH = r"(?:gfx|sm_)[^-:]*(?:-[0-9]+)?(?:-generic)?(?::.*)?"
_ID = re.compile(rf"(?P<kind>[a-z0-9]+)-(?P<triple>.*?)(?:-(?P<arch>{_ARCH}))?")


def _matches(data: memoryview) -> bool:
    return data[: len(MAGIC)] == MAGIC


def _read(data: memoryview, where: str) -> tuple[Bundle, int]:
    (count,) = unpack(_COUNT, data, len(MAGIC), where, "count of bundle entries")
    at = end = len(MAGIC) + _COUNT.size
    budget = Budget(len(data), where, "code objects")
    images = []
    for _ in range(count):
        offset, size, id_length = unpack(_ENTRY, data, at, where, "bundle entry")
        entry_id = bytes(part(data, at + _ENTRY.size, id_length, where, "bundle entry's id"))
        budget.take(size)
        code = bytes(part(data, offset, size, where, "code object"))
        at += _ENTRY.size + id_length
        end = max(end, at, offset + size)
        images += [] if _is_placeholder(entry_id, code) else [bundled_image(entry_id, code, where)]
    return Bundle(tuple(images), "hip-bundle"), end


def _is_placeholder(entry_id: bytes, code: bytes) -> bool:
    """The host's entry is there for the bundler's sake and holds nothing."""
    return entry_id.startswith(b"host-") and not code


def bundled_image(entry_id: bytes, code: bytes, where: str) -> Image:
    """One image out of a bundle entry's id and contents."""
    found = _ID.fullmatch(entry_id.decode("utf-8", "replace"))
    if not found or found["kind"] not in _KINDS:
        raise corrupt(where, f"bundle entry's id {entry_id[:80]!r} names no kind and triple")
    strings = {"triple": _without_environment(found["triple"])}
    if found["arch"]:
        strings["arch"] = found["arch"]
    return Image(image_kind(code), _KINDS[found["kind"]], code, MappingProxyType(strings))


def _without_environment(triple: str) -> str:
    """Ids spell an environment that is not there as an empty or "unknown" fourth part."""
    parts = triple.split("-")
    return "-".join(parts[:3]) if len(parts) == 4 and parts[3] in ("", "unknown") else triple


FORMAT = Format("hip-bundle", _matches, _read)
