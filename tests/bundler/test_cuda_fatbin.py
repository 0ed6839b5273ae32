"""CUDA fat binaries, as NVIDIA's fatbinary writes them."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offloadc.bundler import read_bundles
from offloadc.bundler.compression import inflate_lz4
from offloadc.model import ImageKind, OffloadcError, OffloadKind
from tests.bundler.conftest import Run
from tests.bundler.foreign import survives, survives_changes, survives_cuts, survives_noise

pytest.importorskip("zstandard")


@pytest.fixture(scope="module")
def make(run: Run, cubin: Path, ptx: Path, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("fatbins")

    def fatbin(*flags: str) -> bytes:
        images = ("--image3", f"kind=elf,sm=90,file={cubin}", "--image3", f"kind=ptx,sm=90a,file={ptx}")
        run("fatbinary", "--create", folder / "x.fatbin", "-64", *flags, *images)
        return (folder / "x.fatbin").read_bytes()

    return fatbin


MODES = {
    "none": ("--compress=false",),
    "default": (),
    "all": ("--compress-all",),
    "size": ("--compress-mode=size",),
    "speed": ("--compress-all", "--compress-mode=speed"),
    "named": ("--compress=false", "-ident", "some/file.cu", "--cmdline", "-O2"),
}


def words(ptx: bytes) -> bytes:
    """fatbinary leaves comments and needless blanks of PTX out."""
    return b"".join(re.sub(rb"//[^\n]*", b"", ptx).split())


def flags_of(data: bytes) -> int:
    return struct.unpack_from("<Q", data, 16 + 40)[0]


@pytest.mark.parametrize("mode", MODES)
def test_images_are_read(make, cubin: Path, ptx: Path, mode: str) -> None:
    (bundle,) = read_bundles(make(*MODES[mode]), "x")
    elf, text = bundle.images
    assert bundle.format == "cuda-fatbin"
    assert (elf.kind, elf.offload_kind, elf.arch) == (ImageKind.CUBIN, OffloadKind.CUDA, "sm_90")
    assert (text.kind, text.arch, text.triple) == (ImageKind.PTX, "sm_90a", "nvptx64-nvidia-cuda")
    assert elf.data.rstrip(b"\0") == cubin.read_bytes().rstrip(b"\0")
    assert words(text.data) == words(ptx.read_bytes())


def test_both_compressions_are_among_the_modes(make) -> None:
    assert {flags_of(make(*MODES[mode])) & 0xA000 for mode in MODES} >= {0, 0x2000, 0x8000}


def test_several_in_a_row_are_read(make) -> None:
    """As a linker lays out section .nv_fatbin."""
    bundles = read_bundles(make(*MODES["none"]) + make(*MODES["size"]), "x")
    assert [len(bundle.images) for bundle in bundles] == [2, 2]
    assert bundles[0].images[1] == bundles[1].images[1]


def test_other_entries_are_passed_over(make) -> None:
    data = bytearray(make(*MODES["none"]))
    struct.pack_into("<H", data, 16, 0x40)
    (bundle,) = read_bundles(bytes(data), "x")
    assert [image.kind for image in bundle.images] == [ImageKind.PTX]


def test_foreign_bytes_are_an_error_or_read(make) -> None:
    read = lambda data: read_bundles(data, "x")  # noqa: E731
    samples = [make(*flags) for flags in MODES.values()]
    survives_changes(read, samples)
    for sample in samples[:3]:
        survives_cuts(read, sample)
    survives_noise(read, b"\x50\xed\x55\xba\1\0\x10\0")


# --------------------------------------------------------------------------- LZ4
def lz4(data: bytes, size: int) -> bytes:
    return inflate_lz4(memoryview(data), size, "x")


def lz4_length(length: int) -> bytes:
    return bytes([255] * ((length - 15) // 255) + [(length - 15) % 255]) if length >= 15 else b""


def sequence(literals: bytes, distance: int, match: int) -> bytes:
    token = min(len(literals), 15) << 4 | min(match - 4, 15)
    return (
        bytes([token])
        + lz4_length(len(literals))
        + literals
        + struct.pack("<H", distance)
        + lz4_length(match - 4)
    )


def last(literals: bytes) -> bytes:
    return bytes([min(len(literals), 15) << 4]) + lz4_length(len(literals)) + literals


def plainly(steps: list[tuple[bytes, int, int]], tail: bytes) -> bytes:
    out = bytearray()
    for literals, distance, match in steps:
        out += literals
        for _ in range(match):
            out.append(out[-distance])
    return bytes(out + tail)


STEPS = st.lists(
    st.tuples(st.binary(min_size=1, max_size=300), st.integers(1, 400), st.integers(4, 600)), max_size=5
)


@given(steps=STEPS, tail=st.binary(max_size=40))
def test_lz4_matches_the_format_description(steps: list[tuple[bytes, int, int]], tail: bytes) -> None:
    written = 0
    within = []
    for literals, distance, match in steps:
        written += len(literals)
        within.append((literals, min(distance, written), match))
        written += match
    packed = b"".join(sequence(*step) for step in within) + last(tail)
    expected = plainly(within, tail)
    assert lz4(packed, len(expected)) == expected


def test_lz4_repeats_what_it_has_just_written() -> None:
    assert lz4(sequence(b"ab", 2, 9) + last(b"!"), 12) == b"ababababab" + b"a" + b"!"


@pytest.mark.parametrize(
    ("packed", "size", "message"),
    [
        (sequence(b"ab", 3, 4) + last(b""), 6, "3 bytes back"),
        (sequence(b"ab", 0, 4) + last(b""), 6, "0 bytes back"),
        (last(b"abc")[:-1], 3, "literals"),
        (sequence(b"ab", 1, 4)[:-1], 6, "inside a sequence"),
        (last(b"abc"), 2, "more bytes instead of 2"),
        (last(b"abc"), 4, "only 3 bytes instead of 4"),
        (sequence(b"a", 1, 5000) + last(b""), 100, "more bytes instead of 100"),
        (b"", 1 << 40, "cannot inflate"),
    ],
)
def test_lz4_errors_are_told(packed: bytes, size: int, message: str) -> None:
    with pytest.raises(OffloadcError, match=message):
        lz4(packed, size)


@given(packed=st.binary(max_size=80), size=st.integers(0, 500))
def test_lz4_takes_any_bytes(packed: bytes, size: int) -> None:
    survives(lambda data: lz4(data, size), packed)
