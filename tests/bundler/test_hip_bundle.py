"""clang's offload bundles, plain and compressed, as clang-offload-bundler writes them."""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path

import pytest

from offloadc.bundler import read_bundles
from offloadc.bundler.formats.hip_bundle import bundled_image
from offloadc.model import Bundle, ImageKind, OffloadcError, OffloadKind
from tests.bundler.conftest import Run
from tests.bundler.foreign import survives_changes, survives_cuts, survives_noise

zstandard = pytest.importorskip("zstandard")

TARGETS = (
    "host-x86_64-unknown-linux-gnu-",
    "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
    "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic",
)


@pytest.fixture(scope="module")
def make(run: Run, code_object: Path, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("bundles")

    def bundle(name: str, *flags: str, version: str = "3") -> bytes:
        inputs = ("-input=/dev/null", f"-input={code_object}", f"-input={code_object}")
        targets = "-targets=" + ",".join(TARGETS)
        env = {"COMPRESSED_BUNDLE_FORMAT_VERSION": version}
        run("clang-offload-bundler", "-type=o", targets, *inputs, f"-output={folder / name}", *flags, env=env)
        return (folder / name).read_bytes()

    return bundle


def read(data: bytes) -> Bundle:
    return read_bundles(data, "x")[0]


def check(bundle: Bundle, code_object: Path) -> None:
    """The host's empty entry is no image."""
    assert [i.arch for i in bundle.images] == ["gfx90a:sramecc+:xnack-", "gfx9-4-generic"]
    assert {i.triple for i in bundle.images} == {"amdgcn-amd-amdhsa"}
    assert {i.data for i in bundle.images} == {code_object.read_bytes()}
    assert {(i.kind, i.offload_kind) for i in bundle.images} == {(ImageKind.OBJECT, OffloadKind.HIP)}


@pytest.mark.parametrize("alignment", [1, 4096])
def test_plain_bundles_are_read(make, code_object: Path, alignment: int) -> None:
    bundle = read(make("plain", f"-bundle-align={alignment}"))
    assert bundle.format == "hip-bundle"
    check(bundle, code_object)


@pytest.mark.parametrize("version", ["2", "3"])
def test_compressed_bundles_are_read(make, code_object: Path, version: str) -> None:
    bundle = read(make("compressed", "-compress", version=version))
    assert (bundle.format, bundle.version) == ("ccob", int(version))
    check(bundle, code_object)


def version_1(plain: bytes, method: int) -> bytes:
    packed = zlib.compress(plain) if method == 0 else zstandard.ZstdCompressor().compress(plain)
    digest = hashlib.md5(plain, usedforsecurity=False).digest()[:8]
    return b"CCOB" + struct.pack("<HHI", 1, method, len(plain)) + digest + packed


@pytest.mark.parametrize("method", [0, 1])
def test_version_1_is_read(make, code_object: Path, method: int) -> None:
    """No LLVM writes it any more."""
    check(read(version_1(make("plain"), method)), code_object)


def test_plain_and_compressed_bundles_may_follow_each_other(make, code_object: Path) -> None:
    """A linker concatenates the sections .hip_fatbin of its inputs, page by page."""
    parts = [make("plain"), make("compressed", "-compress"), make("plain")]
    bundles = read_bundles(b"".join(part + bytes(-len(part) % 4096) for part in parts), "x")
    assert [bundle.format for bundle in bundles] == ["hip-bundle", "ccob", "hip-bundle"]
    for bundle in bundles:
        check(bundle, code_object)


@pytest.mark.parametrize(
    ("entry_id", "triple", "arch", "kind"),
    [
        ("hip-amdgcn-amd-amdhsa--gfx906", "amdgcn-amd-amdhsa", "gfx906", OffloadKind.HIP),
        (
            "hipv4-amdgcn-amd-amdhsa-unknown-gfx908:xnack+",
            "amdgcn-amd-amdhsa",
            "gfx908:xnack+",
            OffloadKind.HIP,
        ),
        ("openmp-amdgcn-amd-amdhsa-gfx90a", "amdgcn-amd-amdhsa", "gfx90a", OffloadKind.OPENMP),
        ("openmp-nvptx64-nvidia-cuda--sm_90a", "nvptx64-nvidia-cuda", "sm_90a", OffloadKind.OPENMP),
        ("hip-amdgcn-amd-amdhsa--gfx10-3-generic", "amdgcn-amd-amdhsa", "gfx10-3-generic", OffloadKind.HIP),
        ("openmp-x86_64-pc-linux-gnu", "x86_64-pc-linux-gnu", "", OffloadKind.OPENMP),
        (
            "hip-spirv64-amd-amdhsa-unknown-amdgcnspirv",
            "spirv64-amd-amdhsa-unknown-amdgcnspirv",
            "",
            OffloadKind.HIP,
        ),
    ],
)
def test_ids_give_triple_and_arch(entry_id: str, triple: str, arch: str, kind: OffloadKind) -> None:
    found = bundled_image(entry_id.encode(), b"", "x")
    assert (found.triple, found.arch, found.offload_kind) == (triple, arch, kind)


@pytest.mark.parametrize("entry_id", [b"", b"hip", b"what-amdgcn-amd-amdhsa", b"\xff\xff-a-b"])
def test_a_malformed_id_is_an_error(entry_id: bytes) -> None:
    with pytest.raises(OffloadcError, match="id"):
        bundled_image(entry_id, b"", "x")


def test_changed_contents_fail_the_hash(make) -> None:
    """zstd of clang has no checksum of its own; an uncompressed literal may change unnoticed."""
    data = version_1(make("plain"), 1)
    changed = data[:12] + bytes(8) + data[20:]
    with pytest.raises(OffloadcError, match="hash"):
        read(changed)


def test_a_compressed_bundle_that_holds_no_bundle_is_an_error() -> None:
    with pytest.raises(OffloadcError, match="no offload bundle"):
        read(version_1(b"hello", 0))


def test_foreign_bytes_are_an_error_or_read(make) -> None:
    samples = [make("plain")[:3000], make("plain", "-bundle-align=1"), make("compressed", "-compress")]
    samples += [make("compressed", "-compress", version="2"), version_1(make("plain"), 0)]
    survives_changes(read_all, samples)
    for sample in samples:
        survives_cuts(read_all, sample)
    survives_noise(read_all, b"__CLANG_OFFLOAD_BUNDLE__")
    survives_noise(read_all, b"CCOB\3\0\1\0")


def read_all(data: bytes) -> object:
    return read_bundles(data, "x")
