"""LLVM's offload binary: the bytes of llvm-offload-binary, and versions that it does not write yet."""

from __future__ import annotations

import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offloadc.bundler import read_bundles
from offloadc.bundler.commands import bundle_images
from offloadc.bundler.formats import offload_binary
from offloadc.model import Image, ImageKind, OffloadcError, OffloadKind
from tests.bundler.conftest import Run, find
from tests.bundler.foreign import survives_changes, survives_cuts, survives_noise

zstandard = pytest.importorskip("zstandard")


def read(data: bytes) -> tuple[Image, ...]:
    return tuple(image for bundle in read_bundles(data, "test") for image in bundle.images)


def image(data: bytes = b"bytes", **strings: str) -> Image:
    return Image(ImageKind.OBJECT, OffloadKind.HIP, data, strings)


def ours(*specs: str) -> bytes:
    read_file = lambda name: Path(name).read_bytes()  # noqa: E731
    return offload_binary.write(bundle_images(specs, read_file, identify=lambda _: None))


def llvms(output: Path, *specs: str) -> bytes:
    words = [f"--image={spec}" for spec in specs]
    subprocess.run((find("llvm-offload-binary"), "-o", output, *words), check=True, capture_output=True)
    return output.read_bytes()


# --------------------------------------------------------------------------- written like LLVM
STATED = "triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip"


@pytest.mark.parametrize("suffix", ["o", "bc", "cubin", "fatbin", "s", "ptx", "hsaco", "co", "o.gz", ""])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000])
def test_suffixes_and_sizes_give_llvms_bytes(tmp_path: Path, suffix: str, size: int) -> None:
    file = tmp_path / f"x.{suffix}"
    file.write_bytes(bytes(n % 251 for n in range(size)))
    spec = f"file={file},{STATED}"
    assert ours(spec) == llvms(tmp_path / "llvm", spec)


@pytest.mark.parametrize("kind", ["none", "openmp", "cuda", "hip", "sycl"])
def test_kinds_give_llvms_bytes(tmp_path: Path, kind: str) -> None:
    (tmp_path / "x.o").write_bytes(b"x")
    spec = f"file={tmp_path}/x.o,triple=t,arch=a,kind={kind}"
    assert ours(spec) == llvms(tmp_path / "llvm", spec)


def test_several_arguments_and_several_files_in_one_give_llvms_bytes(tmp_path: Path, bitcode: Path) -> None:
    (tmp_path / "a.o").write_bytes(b"a" * 13)
    (tmp_path / "b.cubin").write_bytes(b"b" * 16)
    specs = (
        f"file={tmp_path}/a.o,{STATED},file={tmp_path}/b.cubin",
        f"arch=sm_90,file={bitcode},kind=cuda,triple=nvptx64-nvidia-cuda,feature=+a,feature=-b",
        f"kind=openmp,x,=3,arch=,triple=t,file={tmp_path}/a.o,tail=arch,archtail=h",
    )
    assert ours(*specs) == llvms(tmp_path / "llvm", *specs)


def test_bitcode_is_known_by_its_magic_whatever_its_name(tmp_path: Path, bitcode: Path) -> None:
    (tmp_path / "x.o").write_bytes(bitcode.read_bytes())
    spec = f"file={tmp_path}/x.o,{STATED}"
    (written,) = read(llvms(tmp_path / "llvm", spec))
    assert written.kind is ImageKind.BITCODE
    assert ours(spec) == llvms(tmp_path / "llvm", spec)


# What a command line can hold, without the two characters that have a meaning in it.
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0,="), max_size=70)
# Tails of each other, which share their place in the string table.
TAILS = st.sampled_from(["h", "ch", "arch", "march", "arch=", "a", "", "offloadc.unit", "unit"])
KEY = st.one_of(TEXT, TAILS).filter(
    lambda key: key not in ("file", "kind", "triple", "arch") and "=" not in key
)
VALUE = st.one_of(TEXT, TAILS, TEXT.map(lambda text: f"{text}={text}"))


def test_any_keys_and_values_give_llvms_bytes(tmp_path: Path) -> None:
    (tmp_path / "x.o").write_bytes(b"x")

    @settings(max_examples=60, deadline=None, database=None)
    @given(pairs=st.lists(st.tuples(KEY, VALUE), max_size=12))
    def check(pairs: list[tuple[str, str]]) -> None:
        spec = ",".join((f"file={tmp_path}/x.o", STATED, *(f"{key}={value}" for key, value in pairs)))
        assert ours(spec) == llvms(tmp_path / "llvm", spec)

    check()


@pytest.mark.parametrize("length", [1, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 127, 128, 129, 300])
def test_keys_of_every_length_are_in_llvms_order(tmp_path: Path, length: int) -> None:
    """LLVM's hash takes another way for each range of lengths."""
    (tmp_path / "x.o").write_bytes(b"x")
    keys = [f"{number:x}".ljust(length, "k")[:length] for number in range(12)]
    spec = ",".join((f"file={tmp_path}/x.o", STATED, *(f"{key}=v" for key in keys)))
    assert ours(spec) == llvms(tmp_path / "llvm", spec)


@pytest.mark.parametrize("count", [40, 46, 47, 48, 49, 100, 200])
def test_many_keys_are_in_llvms_order(tmp_path: Path, count: int) -> None:
    """LLVM's map grows when three quarters of its buckets are taken."""
    (tmp_path / "x.o").write_bytes(b"x")
    spec = ",".join((f"file={tmp_path}/x.o", STATED, *(f"key{n}={n}" for n in range(count))))
    assert ours(spec) == llvms(tmp_path / "llvm", spec)


def test_llvm_extracts_what_was_written(tmp_path: Path, run: Run) -> None:
    written = [image(b"one", triple="t", arch="a"), image(b"two!" * 9, triple="t", arch="b")]
    (tmp_path / "x.bundle").write_bytes(offload_binary.write(written))
    run("llvm-offload-binary", "x.bundle", f"--image=file={tmp_path}/b,arch=b", cwd=tmp_path)
    assert (tmp_path / "b").read_bytes() == b"two!" * 9


def test_a_nul_cannot_be_written() -> None:
    with pytest.raises(OffloadcError, match="NUL"):
        offload_binary.write([image(key="a\0b")])


# --------------------------------------------------------------------------- read
STRINGS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)
IMAGES = st.builds(
    Image,
    st.sampled_from(ImageKind),
    st.integers(0, 15).map(OffloadKind),
    st.binary(max_size=40),
    st.dictionaries(STRINGS, STRINGS, max_size=5),
    st.integers(0, (1 << 32) - 1),
)


@given(images=st.lists(IMAGES, min_size=1, max_size=4))
def test_what_is_written_is_read(images: list[Image]) -> None:
    assert read(offload_binary.write(images)) == tuple(images)
    assert [list(i.strings) for i in read(offload_binary.write(images))] == [list(i.strings) for i in images]


def test_bytes_that_are_no_utf8_survive() -> None:
    written = offload_binary.write([image(key="value")]).replace(b"value", b"\xff\xfelue")
    assert offload_binary.write(read(written)) == written


def test_zeros_between_binaries_are_padding() -> None:
    one, two = (offload_binary.write([image(data)]) for data in (b"1", b"2"))
    found = read_bundles(one + bytes(4096 - len(one)) + two + bytes(16), "x")
    assert [bundle.images[0].data for bundle in found] == [b"1", b"2"]


def newer(version: int, images: list[tuple[bytes, dict[str, str]]], method: str | None = None) -> bytes:
    """Versions 2 and 3: sized string values, several images, images without padding."""
    header_size = 32 if version == 2 else 40
    strings_at = header_size + 40 * len(images)
    table_at = strings_at + 24 * sum(len(strings) for _, strings in images)
    table, entries, string_entries = b"\0", b"", b""
    for _, strings in images:
        for key, value in strings.items():
            key_at = table_at + len(table)
            table += key.encode() + b"\0"
            string_entries += struct.pack("<QQQ", key_at, table_at + len(table), len(value.encode()))
            table += value.encode() + b"\0"
    image_at = table_at + len(table) + -(table_at + len(table)) % 8
    payload = b""
    for data, strings in images:
        entry = (1, 4, 7, strings_at, len(strings), image_at + len(payload), len(data))
        entries += struct.pack("<HHIQQQQ", *entry)
        strings_at += 24 * len(strings)
        payload += data
    body = entries + string_entries + table.ljust(image_at - table_at, b"\0") + payload
    body += bytes(-(header_size + len(body)) % 8)
    packed = {None: bytes, "zlib": zlib.compress, "zstd": zstandard.ZstdCompressor().compress}[method](body)
    inflated = header_size + len(body) if method else 0
    head = struct.pack(
        "<4sIQQQ", offload_binary.MAGIC, version, header_size + len(packed), header_size, len(images)
    )
    return head + (struct.pack("<Q", inflated) if version == 3 else b"") + packed


CONTENTS = [(b"first", {"triple": "t", "arch": "a\0b"}), (b"", {}), (b"third" * 99, {"arch": "c"})]


@pytest.mark.parametrize(("version", "method"), [(2, None), (3, None), (3, "zlib"), (3, "zstd")])
def test_newer_versions_are_read(version: int, method: str | None) -> None:
    padded = newer(version, CONTENTS, method)
    padded += bytes(-len(padded) % 8)
    found = read_bundles(padded + newer(version, CONTENTS[:1], method), "x")
    assert [bundle.version for bundle in found] == [version, version]
    assert [(i.data, dict(i.strings)) for i in found[0].images] == CONTENTS
    assert [(i.data, dict(i.strings)) for i in found[1].images] == CONTENTS[:1]
    assert found[0].images[0].flags == 7
    assert found[0].images[0].offload_kind is OffloadKind.HIP


def test_an_unknown_version_is_named() -> None:
    changed = bytearray(offload_binary.write([image()]))
    changed[4] = 4
    with pytest.raises(OffloadcError, match=r"x: .*version 4"):
        read_bundles(bytes(changed), "x")


def test_what_is_no_bundle_is_named() -> None:
    with pytest.raises(OffloadcError, match=r"x: .*offset 8"):
        read_bundles(bytes(8) + b"hello", "x")


def test_a_huge_inflated_size_is_refused_before_it_is_reserved() -> None:
    data = bytearray(newer(3, CONTENTS, "zstd"))
    data[32:40] = struct.pack("<Q", 1 << 62)
    with pytest.raises(OffloadcError, match="cannot inflate"):
        read(bytes(data))


def test_entries_cannot_multiply_one_image() -> None:
    """A thousand entries that all point at one image of a mebibyte would be a gibibyte."""
    contents = [(bytes(1 << 20), {})] + [(b"", {})] * 1000
    data = bytearray(newer(2, contents))
    for number in range(1, 1001):
        data[32 + 40 * number + 24 : 32 + 40 * number + 40] = data[32 + 24 : 32 + 40]
    with pytest.raises(OffloadcError, match="images are larger together"):
        read(bytes(data))


def test_entries_cannot_multiply_one_string() -> None:
    data = bytearray(newer(2, [(b"", {"k": "v" * (1 << 20), **{str(n): "" for n in range(100)}})]))
    for number in range(1, 101):
        data[72 + 24 * number + 8 : 72 + 24 * number + 24] = data[72 + 8 : 72 + 24]
    with pytest.raises(OffloadcError, match="strings are larger together"):
        read(bytes(data))


@pytest.mark.parametrize("delta", [-1, 1])
@pytest.mark.parametrize("method", ["zlib", "zstd"])
def test_a_wrong_inflated_size_is_an_error(delta: int, method: str) -> None:
    data = bytearray(newer(3, CONTENTS, method))
    (size,) = struct.unpack_from("<Q", data, 32)
    data[32:40] = struct.pack("<Q", size + delta)
    with pytest.raises(OffloadcError, match="inflates to"):
        read(bytes(data))


SAMPLES = [
    offload_binary.write([image(b"abc" * 20, triple="amdgcn-amd-amdhsa", arch="gfx90a"), image()]),
    newer(2, CONTENTS),
    newer(3, CONTENTS),
    newer(3, CONTENTS, "zlib"),
    newer(3, CONTENTS, "zstd"),
]


@pytest.mark.parametrize("sample", SAMPLES, ids=["v1", "v2", "v3", "v3-zlib", "v3-zstd"])
def test_cut_input_is_an_error(sample: bytes) -> None:
    survives_cuts(read, sample)
    with pytest.raises(OffloadcError):
        read(sample[: len(sample) // 3 * 2 if len(sample) > 600 else 30])


def test_changed_input_is_an_error_or_read() -> None:
    survives_changes(read, SAMPLES, examples=400)
    survives_noise(read, offload_binary.MAGIC + b"\1\0\0\0")
