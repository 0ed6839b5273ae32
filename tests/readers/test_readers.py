"""What all readers have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from offloadc.abi.readers import all_readers, identify, properties, read_image
from offloadc.model import Image, ImageKind, OffloadKind, Unknown


def test_every_image_reader_is_found() -> None:
    assert {reader.name for reader in all_readers()} >= {"cubin", "code-object", "cpu-image", "ptx"}
    names = [reader.name for reader in all_readers()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("data", [b"", b"hello", b"BC\xc0\xde", b"\x7fELF", bytes(64)])
def test_what_no_reader_knows_is_unknown_and_never_empty(data: bytes) -> None:
    answer = read_image(Image(ImageKind.BITCODE, OffloadKind.CUDA, data, {"arch": "sm_90"}))
    assert isinstance(answer, Unknown)
    assert "bitcode" in answer.reason
    assert "sm_90" in answer.reason
    assert identify(data) is None


@pytest.mark.parametrize("version", [5, 6])
def test_the_version_of_a_code_object_is_a_string_of_the_image(
    make_code_object: Callable[..., Path], version: int
) -> None:
    image = identify(make_code_object("gfx90a", version).read_bytes())
    assert image is not None
    assert properties(image) == {"offloadc.code-object-version": str(version)}


def test_the_version_of_ptx_is_a_string_of_the_image(make_ptx: Callable[[str], Path]) -> None:
    image = identify(make_ptx("sm_90").read_bytes())
    assert image is not None
    assert properties(image).keys() == {"offloadc.ptx-version"}
