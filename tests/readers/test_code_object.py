"""AMD GPU code objects, against natural C layout and llvm-readobj."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from offloadc.abi.readers import identify, read_image
from offloadc.abi.readers.code_object import code_object_version, target_id
from offloadc.model import Image, ImageKind, KernelFacts, OffloadcError, OffloadKind, Unknown
from tests.bundler.conftest import Run
from tests.bundler.foreign import survives_changes, survives_cuts
from tests.readers.conftest import NATURAL

Make = Callable[..., Path]


def image(data: bytes) -> Image:
    return Image(ImageKind.OBJECT, OffloadKind.HIP, data)


def kernels(path: Path) -> dict[str, KernelFacts]:
    found = read_image(image(path.read_bytes()))
    assert isinstance(found, tuple)
    return {kernel.name: kernel for kernel in found}


@pytest.mark.parametrize("arch", ["gfx906", "gfx90a", "gfx1100"])
def test_parameters_lie_naturally_and_hidden_ones_are_left_out(make_code_object: Make, arch: str) -> None:
    found = kernels(make_code_object(arch))
    assert {name: [(p.offset, p.size) for p in k.params] for name, k in found.items()} == NATURAL
    assert {name: k.args_size for name, k in found.items()} == {
        name: max((offset + size for offset, size in params), default=0) for name, params in NATURAL.items()
    }


KEYS = {
    "registers": "vgpr_count",
    "sgprs": "sgpr_count",
    "agprs": "agpr_count",
    "spills": "vgpr_spill_count",
    "sgpr_spills": "sgpr_spill_count",
    "static_shared": "group_segment_fixed_size",
    "scratch": "private_segment_fixed_size",
    "max_threads": "max_flat_workgroup_size",
    "wavefront_size": "wavefront_size",
}


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1100"])
def test_resources_are_those_that_llvm_readobj_prints(run: Run, make_code_object: Make, arch: str) -> None:
    path = make_code_object(arch)
    metadata = run("llvm-readobj", "--notes", path).stdout
    found = kernels(path)
    for block in re.split(r"\n  - (?=\.)", metadata)[1:]:
        stated = dict(re.findall(r"^ *\.(\w+): +(\S+)$", block.replace("\n    .", "\n."), re.MULTILINE))
        expected = {key: int(stated[name]) for key, name in KEYS.items() if name in stated}
        assert dict(found.pop(stated["name"]).resources) == expected
    assert not found


def test_resources_of_kernels_that_have_some(make_code_object: Make) -> None:
    found = kernels(make_code_object("gfx90a"))
    assert found["tile"].resources["static_shared"] == 308
    assert found["stack"].resources["scratch"] >= 400
    assert found["none"].resources["wavefront_size"] == 64
    assert "agprs" in found["none"].resources
    assert kernels(make_code_object("gfx1100"))["none"].resources["wavefront_size"] == 32


TARGET_IDS = [
    "gfx906",
    "gfx90a",
    "gfx90a:xnack+",
    "gfx90a:xnack-",
    "gfx90a:sramecc+:xnack-",
    "gfx942:sramecc-:xnack+",
    "gfx1030",
    "gfx1201",
]


@pytest.mark.parametrize("arch", TARGET_IDS)
def test_target_ids_are_read(make_code_object: Make, arch: str) -> None:
    data = make_code_object(arch).read_bytes()
    assert target_id(data) == arch
    found = identify(data)
    assert found is not None
    assert (found.triple, found.arch, found.offload_kind) == ("amdgcn-amd-amdhsa", arch, OffloadKind.HIP)


@pytest.mark.parametrize("version", [4, 5, 6])
def test_code_object_versions_are_read(make_code_object: Make, version: int) -> None:
    path = make_code_object("gfx90a:xnack+", version)
    assert code_object_version(path.read_bytes()) == version
    assert kernels(path)["mixed"].params[-1].offset == 32


def test_generic_targets(make_code_object: Make) -> None:
    data = make_code_object("gfx9-4-generic", 6).read_bytes()
    assert target_id(data) == "gfx9-4-generic"
    assert code_object_version(data) == 6


def test_every_processor_of_llvm_is_known(run: Run, tmp_path: Path) -> None:
    """The table against LLVM itself, so that a new LLVM shows what is missing."""
    listed = run("llc", "-march=amdgcn", "-mcpu=help", "/dev/null").stderr
    processors = re.findall(r"^ +(gfx[0-9a-f]+|gfx[0-9-]+-generic) +- Select", listed, re.MULTILINE)
    assert len(processors) > 40
    for name in processors:
        (tmp_path / "empty.s").write_text("")
        run(
            "llvm-mc",
            "-triple=amdgcn-amd-amdhsa",
            f"-mcpu={name}",
            "-filetype=obj",
            tmp_path / "empty.s",
            "-o",
            tmp_path / "o",
        )
        assert target_id((tmp_path / "o").read_bytes()).split(":")[0] == name


def test_a_code_object_without_metadata_is_unknown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.s").write_text("")
    run(
        "llvm-mc",
        "-triple=amdgcn-amd-amdhsa",
        "-mcpu=gfx90a",
        "-filetype=obj",
        tmp_path / "empty.s",
        "-o",
        tmp_path / "o",
    )
    answer = read_image(image((tmp_path / "o").read_bytes()))
    assert isinstance(answer, Unknown)
    assert "gfx90a" in answer.reason


@pytest.mark.parametrize(
    ("at", "value", "message"), [(8, 9, "ABI version 9"), (48, 0xFE, "unknown processor")]
)
def test_headers_of_the_future_are_told(make_code_object: Make, at: int, value: int, message: str) -> None:
    data = bytearray(make_code_object("gfx90a").read_bytes())
    data[at] = value
    with pytest.raises(OffloadcError, match=message):
        identify(bytes(data))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"\xa5.name", b"\xa5.nam!", r"\.name is None"),
        (b"\xaeamdhsa.kernels", b"\xaeamdhsa.kernelz", None),
        (b"\xa5.size", b"\xa5.siz!", r"\.size is None"),
        (b"\xa5.args\x92", b"\xa5.args\x93", "corrupt"),
    ],
)
def test_damaged_metadata_is_told(
    make_code_object: Make, old: bytes, new: bytes, message: str | None
) -> None:
    data = make_code_object("gfx90a").read_bytes()
    assert old in data
    changed = image(data.replace(old, new))
    if message is None:
        assert read_image(changed) == ()
        return
    with pytest.raises(OffloadcError, match=message):
        read_image(changed)


def test_foreign_bytes_are_an_error_or_read(make_code_object: Make) -> None:
    samples = [make_code_object("gfx90a").read_bytes(), make_code_object("gfx1100").read_bytes()]
    read = lambda data: (read_image(image(data)), identify(data))  # noqa: E731
    survives_changes(read, samples)
    survives_cuts(read, samples[0])
