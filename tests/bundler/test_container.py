"""Bundles in what a user names: programs, objects, archives, bundles, single images."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from offloadc.abi.readers import identify
from offloadc.bundler.container import Located, find_bundles
from offloadc.bundler.embed import embed_assembly
from offloadc.bundler.formats import offload_binary
from offloadc.model import Image, ImageKind, OffloadcError, OffloadKind
from tests.bundler.conftest import Run
from tests.bundler.foreign import survives_changes, survives_cuts, survives_noise


def find(data: bytes, where: str = "file") -> tuple[Located, ...]:
    return find_bundles(data, where, identify)


def names(located: tuple[Located, ...]) -> list[tuple[str, str, list[bytes]]]:
    return [
        (item.where, item.bundle.format, [image.data for image in item.bundle.images]) for item in located
    ]


def binary(data: bytes) -> bytes:
    return offload_binary.write([Image(ImageKind.OBJECT, OffloadKind.HIP, data, {"triple": "t"})])


@pytest.fixture
def assemble(run: Run, tmp_path: Path):
    def assembled(name: str, text: str) -> Path:
        (tmp_path / f"{name}.s").write_text(text)
        run("clang", "-c", f"{name}.s", "-o", f"{name}.o", cwd=tmp_path)
        return tmp_path / f"{name}.o"

    return assembled


@pytest.fixture
def fat_object(assemble, tmp_path: Path):
    def made(name: str, contents: bytes) -> Path:
        (tmp_path / f"{name}.bundle").write_bytes(contents)
        return assemble(name, embed_assembly(f"{name}.bundle", "x86_64-pc-linux-gnu"))

    return made


# --------------------------------------------------------------------------- objects and programs
def test_a_relocatable_object(fat_object) -> None:
    found = find(fat_object("a", binary(b"one") + binary(b"two")).read_bytes(), "a.o")
    assert names(found) == [
        ("a.o:.llvm.offloading", "offload-binary", [b"one"]),
        ("a.o:.llvm.offloading", "offload-binary", [b"two"]),
    ]


@pytest.mark.parametrize("flags", [("-shared", "-fPIC"), ("-nostdlib", "-Wl,-e,0"), ("-r",)])
def test_linked_files_hold_the_bundles_of_all_units(
    run: Run, fat_object, tmp_path: Path, flags: tuple[str]
) -> None:
    units = (fat_object("a", binary(b"one")), fat_object("b", binary(b"second")))
    run("clang", "-fuse-ld=lld", "-nostdlib", *flags, *units, "-o", tmp_path / "linked")
    assert [i.bundle.images[0].data for i in find((tmp_path / "linked").read_bytes())] == [b"one", b"second"]


@pytest.mark.parametrize("section", [".hip_fatbin", ".nv_fatbin", "__nv_relfatbin", ".llvm.offloading"])
def test_sections_are_known_by_their_names(assemble, tmp_path: Path, section: str) -> None:
    (tmp_path / "x").write_bytes(binary(b"one"))
    made = assemble("a", f'.section {section},"a",@progbits\n.p2align 12\n.incbin "{tmp_path}/x"\n.zero 99\n')
    assert names(find(made.read_bytes(), "a.o")) == [(f"a.o:{section}", "offload-binary", [b"one"])]


def test_the_section_type_is_enough(assemble, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(binary(b"one"))
    made = assemble("a", f'.section other,"a",@llvm_offloading\n.incbin "{tmp_path}/x"\n')
    assert names(find(made.read_bytes(), "a.o")) == [("a.o:other", "offload-binary", [b"one"])]


def test_objects_of_clang_offload_bundler(run: Run, code_object: Path, assemble, tmp_path: Path) -> None:
    host = assemble("host", ".globl f\nf:\n ret\n")
    targets = "-targets=host-x86_64-unknown-linux-gnu,hip-amdgcn-amd-amdhsa--gfx90a:xnack-"
    run(
        "clang-offload-bundler",
        "-type=o",
        targets,
        f"-input={host}",
        f"-input={code_object}",
        "-output=a.o",
        cwd=tmp_path,
    )
    (located,) = find((tmp_path / "a.o").read_bytes(), "a.o")
    assert located.where == "a.o:__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx90a:xnack-"
    assert [(i.arch, i.data) for i in located.bundle.images] == [("gfx90a:xnack-", code_object.read_bytes())]


def test_an_object_without_images_says_so(assemble) -> None:
    with pytest.raises(OffloadcError, match=r"a\.o: holds no device images"):
        find(assemble("a", "nop\n").read_bytes(), "a.o")


def test_a_corrupt_bundle_is_told_with_its_place(fat_object) -> None:
    with pytest.raises(OffloadcError, match=r"^a\.o:\.llvm\.offloading: corrupt"):
        find(fat_object("a", binary(b"one")[:-8]).read_bytes(), "a.o")


# --------------------------------------------------------------------------- archives
@pytest.mark.parametrize("format_", ["gnu", "bsd", "darwin"])
def test_archives_are_read_member_by_member(
    run: Run, fat_object, assemble, tmp_path: Path, format_: str
) -> None:
    long = fat_object("a_member_whose_name_is_longer_than_sixteen", binary(b"one"))
    members = (long, assemble("plain", ".globl f\nf: ret\n"), fat_object("b", binary(b"two!")))
    run("llvm-ar", f"--format={format_}", "rcs", tmp_path / "liba.a", *members)
    assert names(find((tmp_path / "liba.a").read_bytes(), "liba.a")) == [
        (f"liba.a({long.name}):.llvm.offloading", "offload-binary", [b"one"]),
        ("liba.a(b.o):.llvm.offloading", "offload-binary", [b"two!"]),
    ]


def test_an_archive_of_code_objects(run: Run, code_object: Path, tmp_path: Path) -> None:
    run("llvm-ar", "rcS", tmp_path / "liba.a", code_object)
    ((where, format_, [data]),) = names(find((tmp_path / "liba.a").read_bytes(), "liba.a"))
    assert (where, format_, data) == ("liba.a(kernels.hsaco)", "image", code_object.read_bytes())


def test_archives_in_archives_end_somewhere() -> None:
    data = binary(b"x")
    for _ in range(5):
        data = b"!<arch>\n" + b"m.a/".ljust(48) + str(len(data)).encode().ljust(10) + b"`\n" + data
        data += b"\n" * (len(data) % 2)
    with pytest.raises(OffloadcError, match="archives in archives"):
        find(data)


def test_a_thin_archive_is_refused(run: Run, fat_object, tmp_path: Path) -> None:
    run("llvm-ar", "--thin", "rcs", tmp_path / "liba.a", fat_object("a", binary(b"one")))
    with pytest.raises(OffloadcError, match="thin archive") as caught:
        find((tmp_path / "liba.a").read_bytes())
    assert caught.value.hint


# --------------------------------------------------------------------------- single files
def test_a_raw_bundle() -> None:
    assert names(find(binary(b"one") + binary(b"two"), "x")) == [
        ("x", "offload-binary", [b"one"]),
        ("x", "offload-binary", [b"two"]),
    ]


def test_single_images(code_object: Path, ptx: Path, bitcode: Path) -> None:
    for file, kind in ((code_object, ImageKind.OBJECT), (ptx, ImageKind.PTX), (bitcode, ImageKind.BITCODE)):
        (located,) = find(file.read_bytes(), file.name)
        assert located.where == file.name
        assert located.bundle.format == "image"
        assert [(i.kind, i.data) for i in located.bundle.images] == [(kind, file.read_bytes())]


def test_a_single_cubin(cubin: Path) -> None:
    (located,) = find(cubin.read_bytes(), "k.cubin")
    assert [(i.kind, i.arch) for i in located.bundle.images] == [(ImageKind.CUBIN, "sm_90")]


@pytest.mark.parametrize("data", [b"", b"hello", bytes(100), b"\x7fELF", b"!<arch>\n"])
def test_anything_else_is_an_error(data: bytes) -> None:
    with pytest.raises(OffloadcError, match=r"^file"):
        find(data)


def test_foreign_bytes_are_an_error_or_read(run: Run, fat_object, code_object: Path, tmp_path: Path) -> None:
    member = fat_object("a", binary(b"one"))
    run("llvm-ar", "rcs", tmp_path / "liba.a", member, code_object)
    samples = [member.read_bytes(), (tmp_path / "liba.a").read_bytes()]
    survives_changes(find, samples)
    for sample in samples:
        survives_cuts(find, sample)
    survives_noise(find, b"!<arch>\n")
    survives_noise(find, b"\x7fELF\2\1\1")


@pytest.mark.parametrize(
    ("at", "layout", "value"), [(0x3A, "<H", 0), (0x3C, "<H", 0), (0x28, "<Q", 1 << 40), (0x3E, "<H", 99)]
)
def test_elf_headers_that_lie_are_told(fat_object, at: int, layout: str, value: int) -> None:
    data = bytearray(fat_object("a", binary(b"one")).read_bytes())
    struct.pack_into(layout, data, at, value)
    with pytest.raises(OffloadcError, match="file"):
        find(bytes(data))
