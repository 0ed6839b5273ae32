"""The parts that only compute: parsers, image choice, argument layout, entries. Under ASan and UBSan."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from offloadc.bundler.formats import offload_binary
from offloadc.model import Image, ImageKind, OffloadKind
from tests.runtime.conftest import Unit

CPU, CUDA, AMDGPU = 0, 1, 2


def run(program: Path, data: bytes) -> list[str]:
    done = subprocess.run([str(program)], input=data, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return done.stdout.decode(errors="replace").removesuffix("\n").split("\n")


def framed(inputs: Iterable[bytes]) -> bytes:
    return b"".join(struct.pack("<Q", len(data)) + data for data in inputs)


# --------------------------------------------------------------------------- bundles
def image(arch: str, data: bytes, kind: ImageKind = ImageKind.OBJECT, unit: str = "a1") -> Image:
    strings = {
        "triple": "amdgcn-amd-amdhsa",
        "arch": arch,
        "offloadc.unit": unit,
        "offloadc.kernels": "k 0\n",
    }
    return Image(kind, OffloadKind.HIP, data, strings)


SAMPLE = offload_binary.write([image("gfx90a", b"one"), image("sm_90", b"second", ImageKind.CUBIN)])


def test_bundle_is_read(unit: Unit) -> None:
    lines = run(unit("images"), framed([SAMPLE]))
    assert lines[0].split() == ["0", "2"]
    assert lines[1].startswith("  1|amdgcn-amd-amdhsa|gfx90a|a1|3|")
    assert lines[2].startswith("  3|amdgcn-amd-amdhsa|sm_90|a1|6|")


def test_empty_bundle_has_no_images(unit: Unit) -> None:
    assert run(unit("images"), framed([b""]))[0].split() == ["0", "0"]


def test_every_truncation_is_an_error_or_whole_images(unit: Unit) -> None:
    first = struct.unpack_from("<Q", SAMPLE, 8)[0]
    whole = {0, first, len(SAMPLE)}
    cuts = [SAMPLE[:n] for n in range(len(SAMPLE))]
    results = [line for line in run(unit("images"), framed(cuts)) if not line.startswith("  ")]
    for n, line in enumerate(results):
        assert line.startswith("0 ") == (n in whole), (n, line)
    assert "is cut short" in results[10]


def patched(offset: int, layout: str, value: int) -> bytes:
    data = bytearray(SAMPLE)
    struct.pack_into(layout, data, offset, value)
    return bytes(data)


@pytest.mark.parametrize(
    ("offset", "layout", "value", "words"),
    [
        (0, "<I", 0, "does not begin as an LLVM offload binary"),
        (4, "<I", 2, "its version is not 1"),
        (8, "<Q", 1 << 63, "is cut short"),
        (8, "<Q", 31, "is cut short"),
        (16, "<Q", (1 << 64) - 8, "its entry lies outside"),
        (24, "<Q", 8, "its entry lies outside"),
        (32 + 8, "<Q", (1 << 64) - 16, "string entries lie outside"),
        (32 + 16, "<Q", 1 << 60, "string entries lie outside"),
        (32 + 24, "<Q", 1 << 62, "the image lies outside"),
        (32 + 32, "<Q", (1 << 64) - 1, "the image lies outside"),
        (32 + 40, "<Q", 1 << 40, "a string lies outside"),
    ],
)
def test_corrupt_field_is_named(unit: Unit, offset: int, layout: str, value: int, words: str) -> None:
    line = run(unit("images"), framed([patched(offset, layout, value)]))[0]
    assert line.startswith("3 ")
    assert words in line
    assert "image 0" in line
    assert "rebuild the program" in line


def mutated(seed: bytes, count: int) -> Iterable[bytes]:
    source = random.Random(22)
    for _ in range(count):
        data = bytearray(seed)
        for _ in range(source.choice((1, 1, 2, 5))):
            at = source.randrange(len(data))
            match source.randrange(4):
                case 0:
                    data[at] = source.randrange(256)
                case 1:
                    data[at] ^= 1 << source.randrange(8)
                case 2:
                    value = source.choice((0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, len(data)))
                    data[at : at + 8] = struct.pack("<Q", value)
                case _:
                    del data[at : at + source.randrange(1, 9)]
                    data = data or bytearray(b"\0")
        yield bytes(data)


def test_mutated_bundles_never_crash(unit: Unit) -> None:
    inputs = list(mutated(SAMPLE, 20_000))
    results = [line for line in run(unit("images"), framed(inputs)) if not line.startswith("  ")]
    assert len(results) == len(inputs)
    assert {line.split()[0] for line in results} == {"0", "3"}


# --------------------------------------------------------------------------- manifests
MANIFEST = b"empty 0\n_Z5daxpydPKdPdm 32 0:8:8 8:8:8 16:8:8 24:8:8\nodd 8 0:1:0 4:3:1\n"


def test_manifest_is_read(unit: Unit) -> None:
    lines = run(unit("manifest"), framed([MANIFEST, b""]))
    assert lines[0].split() == ["0", "3"]
    assert [line[2:].encode() for line in lines[1:4]] == MANIFEST.splitlines()
    assert lines[4].split() == ["0", "0"]


@pytest.mark.parametrize(
    "text",
    [
        b"k 0",
        b"k\n",
        b"k x\n",
        b" 0\n",
        b"\n",
        b"k 8 0:8\n",
        b"k 8 0:8:3\n",
        b"k 8 0:8:8 \n",
        b"k 8 0:9:8\n",
        b"k 16 8:8:8 0:8:8\n",
        b"k 16 0:8:8 4:8:8\n",
        b"k 65537\n",
        b"k 99999999999999999999\n",
        b"k 8 0:4294967304:8\n",
        b"k -8\n",
        b"good 0\nk 8 9:0:1\n",
    ],
)
def test_corrupt_manifest_names_the_line(unit: Unit, text: bytes) -> None:
    line = run(unit("manifest"), framed([text]))[0]
    assert line.startswith("3 ")
    assert f"sm_90 image is corrupt at line {2 if text.startswith(b'good') else 1}" in line


def test_mutated_manifests_never_crash(unit: Unit) -> None:
    inputs = list(mutated(MANIFEST, 20_000))
    results = [line for line in run(unit("manifest"), framed(inputs)) if not line.startswith("  ")]
    assert len(results) == len(inputs)
    assert {line.split()[0] for line in results} == {"0", "3"}


# --------------------------------------------------------------------------- which image
def choose(unit: Unit, kind: int, device: str, *images: str) -> str:
    """The chosen of images such as "sm_90", "sm_90 PTX", "gfx90a"."""
    words = " ".join(word_of(name) for name in images)
    answer = run(unit("choose"), f"{kind} {device} {words}\n".encode())[0]
    return "-" if answer == "-" else images[int(answer)]


def word_of(name: str) -> str:
    arch = name.removesuffix(" PTX")
    if arch.startswith("gfx"):
        return f"1/amdgcn-amd-amdhsa/{arch}"
    if arch.startswith("x86"):
        return f"1/x86_64-unknown-linux-gnu/{arch}"
    return f"{5 if name.endswith('PTX') else 3}/nvptx64-nvidia-cuda/{arch}"


@pytest.mark.parametrize(
    ("device", "images", "chosen"),
    [
        ("sm_90", "sm_80|sm_90|sm_90 PTX", "sm_90"),
        ("sm_90", "sm_90|sm_90a", "sm_90a"),
        ("sm_86", "sm_80|sm_86|sm_89", "sm_86"),
        ("sm_89", "sm_80|sm_86|sm_80 PTX", "sm_86"),
        ("sm_80", "sm_86", "-"),
        ("sm_90", "sm_80", "-"),
        ("sm_90", "sm_80|sm_80 PTX|sm_70 PTX", "sm_80 PTX"),
        ("sm_75", "sm_80 PTX|sm_70 PTX", "sm_70 PTX"),
        ("sm_75", "sm_80 PTX", "-"),
        ("sm_100", "sm_90a", "-"),
        ("sm_100", "sm_90a PTX|sm_80 PTX", "sm_80 PTX"),
        ("sm_90", "sm_90a PTX|sm_90 PTX", "sm_90a PTX"),
        ("sm_103", "sm_100", "sm_100"),
        ("sm_103", "sm_100a", "-"),
        ("sm_103", "sm_100|sm_100f", "sm_100f"),
        ("sm_120", "sm_100f|sm_100f PTX", "-"),
        ("sm_121", "sm_120f PTX|compute_100 PTX", "sm_120f PTX"),
        ("sm_100", "compute_90 PTX", "compute_90 PTX"),
        ("sm_100", "sm_103f", "-"),
        ("sm_90", "gfx90a|x86-64", "-"),
        ("sm_90", "sm_|sm_90x|sm_9000|sm_0|sm_90ab", "-"),
        ("unknown", "sm_90|sm_90 PTX", "-"),
    ],
)
def test_choice_for_nvidia(unit: Unit, device: str, images: str, chosen: str) -> None:
    assert choose(unit, CUDA, device, *images.split("|")) == chosen


@pytest.mark.parametrize(
    ("device", "images", "chosen"),
    [
        ("gfx90a:sramecc+:xnack-", "gfx908|gfx90a", "gfx90a"),
        ("gfx90a:sramecc+:xnack-", "gfx90a|gfx90a:xnack-", "gfx90a:xnack-"),
        ("gfx90a:sramecc+:xnack-", "gfx90a:xnack-|gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
        ("gfx90a:sramecc+:xnack-", "gfx90a:xnack+|gfx90a:sramecc-", "-"),
        ("gfx90a:sramecc+:xnack+", "gfx90a:xnack-|gfx90a:xnack+", "gfx90a:xnack+"),
        ("gfx90a", "gfx90a:xnack-", "-"),
        ("gfx1100", "gfx1100:xnack+|gfx1101", "-"),
        ("gfx90a:sramecc+", "gfx90a:other+", "-"),
        ("gfx906:sramecc+:xnack-", "gfx9-generic:xnack-|gfx9-4-generic", "gfx9-generic:xnack-"),
        ("gfx942:sramecc+:xnack-", "gfx9-generic|gfx9-4-generic", "gfx9-4-generic"),
        ("gfx942:sramecc+:xnack-", "gfx9-4-generic|gfx942", "gfx942"),
        ("gfx90a:sramecc+:xnack-", "gfx9-generic|gfx9-4-generic", "-"),
        ("gfx1012:xnack-", "gfx10-3-generic|gfx10-1-generic", "gfx10-1-generic"),
        ("gfx1036", "gfx10-1-generic|gfx10-3-generic", "gfx10-3-generic"),
        ("gfx1151", "gfx11-generic|gfx12-generic", "gfx11-generic"),
        ("gfx1201", "gfx11-generic|gfx12-generic", "gfx12-generic"),
        ("gfx1250", "gfx12-generic", "-"),
        ("gfx90", "gfx9-generic|gfx900", "-"),
        ("gfx90a", "sm_90", "-"),
    ],
)
def test_choice_for_amd(unit: Unit, device: str, images: str, chosen: str) -> None:
    assert choose(unit, AMDGPU, device, *images.split("|")) == chosen


@pytest.mark.parametrize(
    ("device", "images", "chosen"),
    [
        ("x86-64-v3", "x86-64|x86-64-v3|x86-64-v4", "x86-64-v3"),
        ("x86-64-v4", "x86-64-v2|x86-64-v4", "x86-64-v4"),
        ("x86-64", "x86-64-v2", "-"),
        ("x86-64-v4", "x86-64-v5|x86-64-v|x86-65", "-"),
        ("x86-64-v4", "sm_90|gfx90a", "-"),
    ],
)
def test_choice_for_cpu(unit: Unit, device: str, images: str, chosen: str) -> None:
    assert choose(unit, CPU, device, *images.split("|")) == chosen


def test_first_of_equal_images_is_chosen(unit: Unit) -> None:
    words = "1 sm_90 3/nvptx64-nvidia-cuda/sm_90 3/nvptx64-nvidia-cuda/sm_90\n"
    assert run(unit("choose"), words.encode()) == ["0"]


# --------------------------------------------------------------------------- where arguments go
ALIGNED = "k 392 0:1:1 32:32:32 64:1:1 128:64:64 256:128:128 384:8:8"
OFFSETS = {  # cubins of ptxas and of nvcc agree on these
    80: (0, 0x20, 0x40, 0x60, 0xA0, 0x120),
    90: (0, 0x10, 0x30, 0x70, 0xF0, 0x170),
}


def layout(unit: Unit, capability: int, manifest: str) -> str:
    return run(unit("layout"), f"{capability} {manifest}\n".encode())[0]


@pytest.mark.parametrize("capability", sorted(OFFSETS))
def test_over_aligned_parameters_of_ptx_follow_the_constant_bank(unit: Unit, capability: int) -> None:
    offsets = OFFSETS[capability]
    answer = layout(unit, capability, ALIGNED).split()
    assert answer[0] == "1"
    assert tuple(map(int, answer[1:7])) == offsets
    assert answer[7:9] == ["end", str(offsets[-1] + 8)]
    packed = bytes.fromhex(answer[9])
    expected = bytearray(offsets[-1] + 8)
    for argument, (offset, size) in enumerate(zip(offsets, (1, 32, 1, 64, 128, 8), strict=True)):
        expected[offset : offset + size] = bytes((16 * argument + b) & 0xFF for b in range(size))
    assert packed == bytes(expected)


@pytest.mark.parametrize(
    ("capability", "second"),
    [
        (70, 32),
        (75, 32),
        (86, 32),
        (87, 32),
        (89, 32),
        (90, 48),
        (100, 64),
        (103, 64),
        (110, 64),
        (120, 64),
        (121, 64),
    ],
)
def test_every_generation_as_ptxas_lays_it_out(unit: Unit, capability: int, second: int) -> None:
    """(char, 64 bytes aligned to 64): the offsets in cubins that ptxas 13 makes for these archs."""
    assert layout(unit, capability, "k 128 0:1:1 64:64:64").split()[1:3] == ["0", str(second)]


@pytest.mark.parametrize("capability", [60, 69, 91, 99, 111, 119, 122, 130, 200])
def test_unknown_generation_is_not_guessed(unit: Unit, capability: int) -> None:
    assert layout(unit, capability, ALIGNED) == "unknown"


def test_parameters_aligned_up_to_16_never_move(unit: Unit) -> None:
    assert layout(unit, 0, "k 48 0:1:1 16:16:16 32:8:8 40:4:0").split()[:7] == "0 0 16 32 40 end 48".split()
    assert layout(unit, 90, "k 48 0:1:1 16:16:16 32:8:8").split()[:5] == "0 0 16 32 end".split()


def test_gaps_are_zero_and_the_end_is_exact(unit: Unit) -> None:
    packed = layout(unit, 0, "k 13 0:1:1 4:4:4 12:1:1").split()[-1]
    assert packed == "00" + "000000" + "10111213" + "00000000" + "20"


def test_absurd_alignments_do_not_overflow(unit: Unit) -> None:
    assert layout(unit, 90, "k 65536 0:1:65536 1:1:65536").split()[-1] == "-"


# --------------------------------------------------------------------------- entries
def entries(unit: Unit, *lines: str) -> list[str]:
    return run(unit("entries"), "\n".join(lines).encode() + b"\n")


def test_host_names_are_split(unit: Unit) -> None:
    assert entries(
        unit,
        "16 2 0 _Z1kv",
        "32 4 0 _ZL1kv__intern__a8b6f1c0b975c10c",
        "48 2 0 odd__intern__name",
        "64 2 0 twice__intern__ab__intern__12",
        "80 2 0 bare__intern__",
    ) == [
        "16 _Z1kv - -",
        "32 _ZL1kv a8b6f1c0b975c10c -",
        "48 odd__intern__name - -",
        "64 twice__intern__ab 12 -",
        "80 bare__intern__ - -",
    ]


def test_variables_and_other_runtimes_are_no_kernels(unit: Unit) -> None:
    assert entries(unit, "16 2 8 variable", "32 1 0 openmp", "48 8 0 sycl", "64 2 0 kernel") == [
        "64 kernel - -"
    ]


def test_repeated_entries_are_one_and_folded_ones_are_told(unit: Unit) -> None:
    assert entries(unit, "16 2 0 inline", "16 2 0 inline", "32 2 0 one", "32 2 0 other") == [
        "16 inline - -",
        "32 one - other",
    ]


def test_many_kernels_are_all_found(unit: Unit) -> None:
    found = entries(unit, *(f"{16 + n} 2 0 k{n}" for n in range(4000)))
    assert found == [f"{16 + n} k{n} - -" for n in range(4000)]
