"""CPU images: the manifest in section .offloadc.kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from offloadc.abi.readers import identify, read_image
from offloadc.bundler.manifest import format_manifest, parse_manifest
from offloadc.model import Image, ImageKind, KernelFacts, KernelParam, OffloadcError, OffloadKind, Unknown
from tests.bundler.conftest import Run
from tests.bundler.foreign import survives_changes, survives_cuts

KERNELS = (
    KernelFacts("_Z1av", (), 0),
    KernelFacts("_Z1kPfi", (KernelParam(0, 8, 8), KernelParam(8, 4), KernelParam(32, 32, 32)), 64),
)


@pytest.fixture
def shared_object(run: Run, tmp_path: Path):
    def made(*manifests: str) -> bytes:
        objects = []
        for number, manifest in enumerate(manifests):
            source = tmp_path / f"{number}.s"
            escaped = manifest.replace("\n", "\\n")
            source.write_text(f'.section .offloadc.kernels,"a",@progbits\n.asciz "{escaped}"\n')
            run("clang", "-c", source, "-o", source.with_suffix(".o"))
            objects.append(source.with_suffix(".o"))
        run("clang", "-fuse-ld=lld", "-shared", "-nostdlib", *objects, "-o", tmp_path / "image.so")
        return (tmp_path / "image.so").read_bytes()

    return made


def image(data: bytes) -> Image:
    return Image(ImageKind.OBJECT, OffloadKind.NONE, data, {"arch": "x86-64"})


def test_the_manifest_is_read(shared_object) -> None:
    data = shared_object(format_manifest(KERNELS))
    assert read_image(image(data)) == KERNELS
    found = identify(data)
    assert found is not None
    assert (found.triple, found.arch, found.offload_kind) == (
        "x86_64-unknown-linux-gnu",
        "x86-64",
        OffloadKind.NONE,
    )


def test_manifests_of_several_objects_are_read(shared_object) -> None:
    assert (
        read_image(image(shared_object(format_manifest(KERNELS[:1]), "", format_manifest(KERNELS[1:]))))
        == KERNELS
    )


def test_an_empty_manifest_is_no_kernels(shared_object) -> None:
    assert read_image(image(shared_object(""))) == ()


def test_this_reader_and_the_bundle_agree_on_the_form(shared_object) -> None:
    text = format_manifest(KERNELS)
    assert read_image(image(shared_object(text))) == parse_manifest(text)


def test_without_the_section_nothing_is_claimed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.s").write_text(".globl f\nf: ret\n")
    run("clang", "-c", tmp_path / "x.s", "-o", tmp_path / "x.o")
    data = (tmp_path / "x.o").read_bytes()
    assert identify(data) is None
    answer = read_image(image(data))
    assert isinstance(answer, Unknown)
    assert ".offloadc.kernels" in answer.reason


@pytest.mark.parametrize("text", ["k", "k 1 2", "k 12 0:8:8 ", "k 1\n\nk 1\n", "k 99999999999\n"])
def test_malformed_manifests_are_told(shared_object, text: str) -> None:
    with pytest.raises(OffloadcError, match="corrupt device image \\(x86-64\\)"):
        read_image(image(shared_object(text)))


def test_foreign_bytes_are_an_error_or_read(shared_object) -> None:
    data = shared_object(format_manifest(KERNELS))
    read = lambda data: (read_image(image(data)), identify(data))  # noqa: E731
    survives_changes(read, [data])
    survives_cuts(read, data)
