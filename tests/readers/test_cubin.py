"""cubins, against what ptxas -v says of them."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from offloadc.abi.readers import identify, read_image
from offloadc.model import Image, ImageKind, KernelFacts, OffloadcError, OffloadKind
from tests.bundler.conftest import Run
from tests.bundler.foreign import survives_changes, survives_cuts
from tests.readers.conftest import NATURAL

Make = Callable[[str], Path]
ARCHS = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"]

# Parameters aligned above 16 lie relative to the constant bank's own base, 0x210 on sm_90.
WIDE_ON_SM_90 = [(0, 1), (16, 32), (48, 1), (56, 8)]


def image(data: bytes) -> Image:
    return Image(ImageKind.CUBIN, OffloadKind.CUDA, data)


def kernels(path: Path) -> dict[str, KernelFacts]:
    found = read_image(image(path.read_bytes()))
    assert isinstance(found, tuple)
    return {kernel.name: kernel for kernel in found}


def said_by_ptxas(log: str) -> dict[str, dict[str, int]]:
    """ptxas -v: a line that names the entry function, then its figures; what is 0 is left out."""
    found: dict[str, dict[str, int]] = {}
    for entry in log.split("Compiling entry function '")[1:]:
        name = entry.split("'", 1)[0]
        patterns = {
            "registers": r"Used (\d+) registers",
            "static_shared": r"(\d+) bytes smem",
            "frame": r"(\d+) bytes stack frame",
        }
        figures = {key: re.search(pattern, entry) for key, pattern in patterns.items()}
        found[name] = {key: int(figure[1]) if figure else 0 for key, figure in figures.items()}
    return found


@pytest.mark.parametrize("arch", ARCHS)
def test_parameters_lie_where_the_cubin_says(make_cubin: Make, arch: str) -> None:
    found = kernels(make_cubin(arch))
    expected = {**NATURAL, "wide": WIDE_ON_SM_90} if arch == "sm_90" else NATURAL
    assert {name: [(p.offset, p.size) for p in k.params] for name, k in found.items()} == expected
    assert {name: k.args_size for name, k in found.items()} == {
        name: max((offset + size for offset, size in params), default=0) for name, params in expected.items()
    }


@pytest.mark.parametrize("arch", ARCHS)
def test_resources_are_those_that_ptxas_states(make_cubin: Make, arch: str) -> None:
    path = make_cubin(arch)
    stated = said_by_ptxas(path.with_suffix(".log").read_text())
    found = kernels(path)
    assert set(stated) == set(NATURAL)
    assert {name: {key: found[name].resources[key] for key in stated[name]} for name in stated} == stated
    assert found["tile"].resources["static_shared"] == 308
    assert found["stack"].resources["scratch"] >= 400
    assert found["bounded"].resources["max_threads"] == 128
    assert "max_threads" not in found["none"].resources


@pytest.mark.parametrize("arch", [*ARCHS, "sm_90a", "sm_100a"])
def test_the_arch_is_read(make_cubin: Make, arch: str) -> None:
    found = identify(make_cubin(arch).read_bytes())
    assert found is not None
    assert (found.kind, found.offload_kind) == (ImageKind.CUBIN, OffloadKind.CUDA)
    assert (found.triple, found.arch) == ("nvptx64-nvidia-cuda", arch)


LARGE = """\
.version 8.6
.target sm_100
.address_size 64
.visible .entry large(.param .align 8 .b8 a[20000], .param .align 128 .b8 b[3],
                      .param .u64 .ptr .global .align 64 c) .reqntid 64, 2 { ret; }
.visible .entry full(.param .align 8 .b8 a[32764]) { ret; }
.func helper() { ret; }
"""


def test_large_parameters_use_the_second_form(run: Run, tmp_path: Path) -> None:
    """Parameters that end behind 4 KiB are told by KPARAM_INFO_V2; a 32,764 byte one is the largest."""
    (tmp_path / "large.ptx").write_text(LARGE)
    run("ptxas", "-arch=sm_100", tmp_path / "large.ptx", "-o", tmp_path / "large.cubin")
    found = kernels(tmp_path / "large.cubin")
    assert sorted(found) == ["full", "large"]
    assert [(p.offset, p.size) for p in found["large"].params] == [(0, 20000), (20096, 3), (20104, 8)]
    assert [(p.offset, p.size) for p in found["full"].params] == [(0, 32764)]
    assert found["large"].resources["max_threads"] == 128


def test_device_functions_of_relocatable_code_are_no_kernels(
    run: Run, make_ptx: Make, tmp_path: Path
) -> None:
    (tmp_path / "rdc.ptx").write_text(LARGE.replace(".func helper", ".visible .func helper"))
    run("ptxas", "-c", "-arch=sm_100", tmp_path / "rdc.ptx", "-o", tmp_path / "rdc.cubin")
    assert sorted(kernels(tmp_path / "rdc.cubin")) == ["full", "large"]


def section_offset(data: bytes, name: bytes) -> int:
    (table, names_index) = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 62)[0]
    (names,) = struct.unpack_from("<Q", data, table + 64 * names_index + 24)
    for index in range(struct.unpack_from("<H", data, 60)[0]):
        (at,) = struct.unpack_from("<I", data, table + 64 * index)
        if data[names + at :].startswith(name + b"\0"):
            return int(struct.unpack_from("<Q", data, table + 64 * index + 24)[0])
    raise AssertionError(name)


def test_a_damaged_table_is_told(make_cubin: Make) -> None:
    data = bytearray(make_cubin("sm_80").read_bytes())
    at = section_offset(data, b".nv.info.pointers")
    data[at] = 9
    with pytest.raises(OffloadcError, match="form 9"):
        read_image(image(bytes(data)))


def test_parameters_must_be_numbered(make_cubin: Make) -> None:
    data = bytearray(make_cubin("sm_80").read_bytes())
    at = data.index(struct.pack("<BBHIH", 4, 0x17, 12, 0, 1), section_offset(data, b".nv.info.pointers"))
    data[at + 8] = 5
    with pytest.raises(OffloadcError, match="not numbered"):
        read_image(image(bytes(data)))


def test_foreign_bytes_are_an_error_or_read(make_cubin: Make) -> None:
    samples = [make_cubin(arch).read_bytes() for arch in ("sm_75", "sm_90", "sm_100")]
    read = lambda data: (read_image(image(data)), identify(data))  # noqa: E731
    survives_changes(read, samples)
    survives_cuts(read, samples[1])
