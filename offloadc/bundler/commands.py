"""What `offloadc bundle`, `unbundle` and `inspect` do, as data: files are read and written elsewhere."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from offloadc.bundler.argument_order import in_tool_order
from offloadc.bundler.container import Identify, Located
from offloadc.bundler.image_magic import is_bitcode
from offloadc.model import Image, ImageKind, KernelFacts, OffloadcError, OffloadKind, Unknown

ReadImage = Callable[[Image], tuple[KernelFacts, ...] | Unknown]

_SPELLING = "--image=file=FILE[,triple=TRIPLE][,arch=ARCH][,kind=KIND][,KEY=VALUE...]"
# As llvm-offload-binary takes them; another suffix is no kind.
_SUFFIX_KINDS = {
    ".o": ImageKind.OBJECT,
    ".bc": ImageKind.BITCODE,
    ".cubin": ImageKind.CUBIN,
    ".fatbin": ImageKind.FATBIN,
    ".s": ImageKind.PTX,
}
_KIND_NAMES = {
    "none": OffloadKind.NONE,
    "openmp": OffloadKind.OPENMP,
    "cuda": OffloadKind.CUDA,
    "hip": OffloadKind.HIP,
    "sycl": OffloadKind.SYCL,
}


# --------------------------------------------------------------------------- bundle
@dataclass(frozen=True, slots=True)
class ImageSpec:
    """One --image argument; `strings` are in the order in which llvm-offload-binary writes them."""

    files: tuple[str, ...]
    kind: OffloadKind | None
    strings: Mapping[str, str]


def parse_image_spec(text: str) -> ImageSpec:
    """KEY=VALUE words between commas; a key that is given again adds its value behind a comma."""
    text = text.removeprefix("--image=")
    words: dict[str, str] = {}
    for word in text.split(","):
        key, _, value = word.partition("=")
        words[key] = f"{words[key]},{value}" if key in words else value
    files = tuple(name for name in words.get("file", "").split(",") if name)
    if not files:
        raise OffloadcError(f"--image={text}: names no file", hint=_SPELLING)
    strings = {key: words[key] for key in in_tool_order(words) if key not in ("file", "kind")}
    return ImageSpec(files, _offload_kind(words.get("kind"), text), MappingProxyType(strings))


def _offload_kind(word: str | None, text: str) -> OffloadKind | None:
    if word is None:
        return None
    if word not in _KIND_NAMES:
        known = " ".join(sorted(_KIND_NAMES))
        raise OffloadcError(f"--image={text}: unknown kind '{word}'", hint=f"kinds: {known}")
    return _KIND_NAMES[word]


def bundle_images(
    specs: Iterable[str], read_file: Callable[[str], bytes], identify: Identify
) -> tuple[Image, ...]:
    """The images that --image arguments ask for, in their order; offload_binary.write has the bytes.

    Arguments that state triple, arch and kind give what llvm-offload-binary makes of them, byte
    for byte. What they leave out, the image kind included, is taken from the image itself.
    """
    parsed = [parse_image_spec(spec) for spec in specs]
    if not parsed:
        raise OffloadcError("nothing to bundle", hint=_SPELLING)
    return tuple(_image(spec, name, read_file(name), identify) for spec in parsed for name in spec.files)


def _image(spec: ImageSpec, name: str, data: bytes, identify: Identify) -> Image:
    kind = ImageKind.BITCODE if is_bitcode(data) else _SUFFIX_KINDS.get(PurePath(name).suffix, ImageKind.NONE)
    if spec.kind is not None and {"triple", "arch"} <= spec.strings.keys():
        return Image(kind, spec.kind, data, spec.strings)
    found = identify(data)
    if found is None:
        return _as_stated(spec, name, data, kind)
    strings = {**found.strings, **spec.strings}
    ordered = {key: strings[key] for key in in_tool_order(("file", *strings)) if key != "file"}
    offload_kind = found.offload_kind if spec.kind is None else spec.kind
    return Image(found.kind, offload_kind, data, MappingProxyType(ordered))


def _as_stated(spec: ImageSpec, name: str, data: bytes, kind: ImageKind) -> Image:
    if "triple" not in spec.strings:
        raise OffloadcError(
            f"{name}: its bytes do not say which triple it is for",
            hint="state it: --image=file=...,triple=...",
        )
    return Image(kind, spec.kind or OffloadKind.NONE, data, spec.strings)


# --------------------------------------------------------------------------- unbundle
@dataclass(frozen=True, slots=True)
class Selection:
    """Which images: each that is not None must be equal."""

    triple: str | None = None
    arch: str | None = None
    kind: str | None = None

    def takes(self, image: Image) -> bool:
        kind = None if self.kind is None else _offload_kind(self.kind, f"kind={self.kind}")
        return (
            self.triple in (None, image.triple)
            and self.arch in (None, image.arch)
            and kind in (None, image.offload_kind)
        )

    def __str__(self) -> str:
        stated = {"triple": self.triple, "arch": self.arch, "kind": self.kind}
        return " ".join(f"--{key}={value}" for key, value in stated.items() if value is not None)


@dataclass(frozen=True, slots=True)
class ExtractedFile:
    """A file to write, and the image whose bytes it gets."""

    name: str
    where: str
    image: Image


_NOT_IN_FILE_NAMES = re.compile(r"[^A-Za-z0-9._+:-]")
_IMAGE_SUFFIXES = {
    ImageKind.OBJECT: "o",
    ImageKind.BITCODE: "bc",
    ImageKind.CUBIN: "cubin",
    ImageKind.FATBIN: "fatbin",
    ImageKind.PTX: "s",
    ImageKind.SPIRV: "spv",
    ImageKind.NONE: "bin",
}


def unbundle(
    located: Iterable[Located], input_name: str, selection: Selection = Selection()
) -> tuple[ExtractedFile, ...]:
    """STEM-TRIPLE[-ARCH].NUMBER.SUFFIX for each selected image; the number counts those from 0."""
    every = [(item.where, image) for item in located for image in item.bundle.images]
    taken = [(where, image) for where, image in every if selection.takes(image)]
    if not taken:
        there = ", ".join(dict.fromkeys(f"{i.arch or '-'} ({i.triple or '-'})" for _, i in every))
        raise OffloadcError(f"{input_name}: no image fits {selection}".rstrip(), hint=f"images: {there}")
    stem = PurePath(input_name).stem
    return tuple(
        ExtractedFile(_file_name(stem, image, number), where, image)
        for number, (where, image) in enumerate(taken)
    )


def _file_name(stem: str, image: Image, number: int) -> str:
    """A bundle's strings are foreign: nothing in them may name another folder."""
    middle = "-".join(word for word in (stem, image.triple, image.arch) if word)
    return f"{_NOT_IN_FILE_NAMES.sub('_', middle)}.{number}.{_IMAGE_SUFFIXES[image.kind]}".lstrip(".-")


# --------------------------------------------------------------------------- inspect
@dataclass(frozen=True, slots=True)
class InspectRow:
    """One image and what it says of itself."""

    where: str
    format: str
    triple: str
    arch: str
    image_kind: str
    offload_kind: str
    size: int
    sha256: str
    kernels: tuple[KernelFacts, ...] | Unknown
    strings: Mapping[str, str]


def inspect_rows(located: Iterable[Located], read_image: ReadImage) -> tuple[InspectRow, ...]:
    """A row an image, in file order."""
    return tuple(_row(item, image, read_image) for item in located for image in item.bundle.images)


def _row(item: Located, image: Image, read_image: ReadImage) -> InspectRow:
    return InspectRow(
        where=item.where,
        format=item.bundle.format,
        triple=image.triple,
        arch=image.arch,
        image_kind=image.kind.name.lower(),
        offload_kind=_kind_name(image.offload_kind),
        size=len(image.data),
        sha256=hashlib.sha256(image.data).hexdigest(),
        kernels=read_image(image),
        strings=image.strings,
    )


def _kind_name(kind: OffloadKind) -> str:
    """Several may be set at once: "openmp,cuda"."""
    rest = int(kind)
    names = []
    for name, known in _KIND_NAMES.items():
        if rest & known:
            names.append(name)
            rest &= ~int(known)
    names += [f"{rest:#x}"] if rest else []
    return ",".join(names) or "none"


SCHEMA = "offloadc-inspect/1"


def inspect_json(rows: Iterable[InspectRow]) -> dict[str, Any]:
    return {"schema": SCHEMA, "images": [_row_json(row) for row in rows]}


def _row_json(row: InspectRow) -> dict[str, Any]:
    return {
        "where": _printable(row.where),
        "format": row.format,
        "triple": _printable(row.triple),
        "arch": _printable(row.arch),
        "image_kind": row.image_kind,
        "offload_kind": row.offload_kind,
        "size": row.size,
        "sha256": row.sha256,
        "kernels": None if isinstance(row.kernels, Unknown) else [_kernel_json(k) for k in row.kernels],
        **({"kernels_unknown": row.kernels.reason} if isinstance(row.kernels, Unknown) else {}),
        "strings": {_printable(key): _printable(value) for key, value in row.strings.items()},
    }


def _kernel_json(kernel: KernelFacts) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "args_size": kernel.args_size,
        "params": [{"offset": p.offset, "size": p.size, "align": p.align} for p in kernel.params],
        "resources": dict(sorted(kernel.resources.items())),
    }


def _printable(text: str) -> str:
    """Bytes that are no UTF-8 are kept as lone surrogates inside; JSON readers refuse those."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
