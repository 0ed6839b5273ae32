"""Bundles inside what the user names: programs, objects, archives, raw bundles, single images."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from offloadc.bundler import archive, format_of, read_bundles
from offloadc.bundler.elf import Section, sections
from offloadc.bundler.formats import hip_bundle
from offloadc.bundler.image_magic import ELF_MAGIC, is_bitcode
from offloadc.model import Bundle, Image, ImageKind, OffloadcError, OffloadKind

# Makes an image of one bare file's bytes, with triple and arch as they say; None: no device image.
Identify = Callable[[bytes], Image | None]

_OFFLOADING_TYPE = 0x6FFF4C0B  # SHT_LLVM_OFFLOADING (llvm/BinaryFormat/ELF.h)
_OFFLOADING_NAME = ".llvm.offloading"
# .nvFatBinSegment only points into .nv_fatbin; __nv_relfatbin is what nvcc -rdc=true writes.
_FATBIN_NAMES = (".hip_fatbin", ".nv_fatbin", "__nv_relfatbin")
_BUNDLER_PREFIX = hip_bundle.MAGIC.decode()  # clang-offload-bundler -type=o: one section an image
_DEEPEST = 3  # archives in archives


@dataclass(frozen=True, slots=True)
class Located:
    """A bundle and where it lies, such as "liba.a(b.o):.llvm.offloading"."""

    where: str
    bundle: Bundle


def find_bundles(data: bytes, where: str, identify: Identify) -> tuple[Located, ...]:
    """All bundles in a file, in file order. Raises OffloadcError where there is none."""
    found = tuple(_find(data, where, identify, 0))
    if not found:
        raise OffloadcError(
            f"{where}: holds no device images",
            hint="offloadc reads executables, shared objects, objects, archives, bundles and device images",
        )
    return found


def _find(data: bytes, where: str, identify: Identify, depth: int) -> Iterator[Located]:
    if format_of(memoryview(data)):
        yield from _located(data, where)
    elif archive.is_archive(data):
        yield from _in_archive(data, where, identify, depth)
    elif data.startswith(ELF_MAGIC):
        embedded = tuple(_in_elf(data, where))
        yield from embedded or _bare(data, where, identify)
    else:
        yield from _bare(data, where, identify)


def _located(data: bytes | memoryview, where: str) -> Iterator[Located]:
    yield from (Located(where, bundle) for bundle in read_bundles(data, where))


def _in_archive(data: bytes, where: str, identify: Identify, depth: int) -> Iterator[Located]:
    if depth == _DEEPEST:
        raise OffloadcError(f"{where}: archives in archives, deeper than {_DEEPEST}")
    for name, contents in archive.members(memoryview(data), where):
        yield from _find(bytes(contents), f"{where}({name})", identify, depth + 1)


def _in_elf(data: bytes, where: str) -> Iterator[Located]:
    for section in sections(data, where):
        place = f"{where}:{section.name}"
        if _holds_containers(section):
            yield from _located(section.data, place)
        elif section.name.startswith(_BUNDLER_PREFIX):
            yield from _bundler_section(section, place)


def _holds_containers(section: Section) -> bool:
    named = section.name in _FATBIN_NAMES or section.name.startswith(_OFFLOADING_NAME)
    return named or section.type == _OFFLOADING_TYPE


def _bundler_section(section: Section, where: str) -> Iterator[Located]:
    entry_id = section.name.removeprefix(_BUNDLER_PREFIX)
    if not entry_id.startswith("host-"):
        image = hip_bundle.bundled_image(entry_id.encode(), bytes(section.data), where)
        yield Located(where, Bundle((image,), "clang-offload-bundler"))


def _bare(data: bytes, where: str, identify: Identify) -> Iterator[Located]:
    image = identify(data) or (_bitcode(data) if is_bitcode(data) else None)
    if image:
        yield Located(where, Bundle((image,), "image"))


def _bitcode(data: bytes) -> Image:
    return Image(ImageKind.BITCODE, OffloadKind.NONE, data)
