"""bundle, unbundle and inspect as data, and the table that inspect prints."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from offloadc import report
from offloadc.abi.readers import identify, read_image
from offloadc.bundler.commands import (
    Selection,
    bundle_images,
    inspect_json,
    inspect_rows,
    parse_image_spec,
    unbundle,
)
from offloadc.bundler.container import Located
from offloadc.bundler.formats import offload_binary
from offloadc.model import (
    Bundle,
    Image,
    ImageKind,
    KernelFacts,
    KernelParam,
    OffloadcError,
    OffloadKind,
    Unknown,
)


def read_file(name: str) -> bytes:
    return Path(name).read_bytes()


def bundled(*specs: str) -> tuple[Image, ...]:
    return bundle_images(specs, read_file, identify)


# --------------------------------------------------------------------------- bundle
def test_what_is_left_out_is_taken_from_the_image(code_object: Path, ptx: Path) -> None:
    one, two = bundled(f"--image=file={code_object}", f"file={ptx}")
    assert (one.kind, one.offload_kind) == (ImageKind.OBJECT, OffloadKind.HIP)
    assert (one.triple, one.arch) == ("amdgcn-amd-amdhsa", "gfx90a:sramecc+:xnack-")
    assert (two.kind, two.offload_kind) == (ImageKind.PTX, OffloadKind.CUDA)
    assert (two.triple, two.arch) == ("nvptx64-nvidia-cuda", "sm_90")


def test_a_cubin_tells_its_arch(cubin: Path) -> None:
    (image,) = bundled(f"file={cubin}")
    assert (image.kind, image.triple, image.arch) == (ImageKind.CUBIN, "nvptx64-nvidia-cuda", "sm_90")


def test_what_is_stated_wins(code_object: Path) -> None:
    (image,) = bundled(f"file={code_object},arch=gfx90a,kind=openmp,note=mine")
    assert dict(image.strings) == {"triple": "amdgcn-amd-amdhsa", "arch": "gfx90a", "note": "mine"}
    assert (image.kind, image.offload_kind) == (ImageKind.OBJECT, OffloadKind.OPENMP)


def test_the_order_of_derived_strings_is_the_order_of_stated_ones(ptx: Path) -> None:
    (derived,) = bundled(f"file={ptx}")
    (stated,) = bundled(f"arch=sm_90,file={ptx},triple=nvptx64-nvidia-cuda,kind=cuda")
    assert list(derived.strings.items()) == list(stated.strings.items())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("triple=t", "names no file"),
        ("file=", "names no file"),
        ("file=x,kind=what", "unknown kind 'what'"),
        ("file=x,kind=cuda,kind=hip", "unknown kind 'cuda,hip'"),
    ],
)
def test_arguments_that_make_no_sense_are_errors(spec: str, message: str) -> None:
    with pytest.raises(OffloadcError, match=message) as caught:
        parse_image_spec(spec)
    assert caught.value.hint


def test_nothing_to_bundle_is_an_error() -> None:
    with pytest.raises(OffloadcError, match="nothing to bundle"):
        bundled()


def test_bytes_that_say_nothing_need_a_triple(tmp_path: Path) -> None:
    (tmp_path / "x.o").write_bytes(b"hello")
    with pytest.raises(OffloadcError, match=r"x\.o: .*triple"):
        bundled(f"file={tmp_path}/x.o,arch=a")
    (image,) = bundled(f"file={tmp_path}/x.o,triple=t")
    assert (image.kind, image.offload_kind, image.triple) == (ImageKind.OBJECT, OffloadKind.NONE, "t")


# --------------------------------------------------------------------------- unbundle
def located(*images: Image) -> tuple[Located, ...]:
    return tuple(Located(f"app:{n}", Bundle((image,))) for n, image in enumerate(images))


def image(
    arch: str, triple: str = "amdgcn-amd-amdhsa", kind: OffloadKind = OffloadKind.HIP, data: bytes = b""
) -> Image:
    return Image(ImageKind.OBJECT, kind, data, {"triple": triple, "arch": arch})


EVERY = located(
    image("gfx90a:xnack+"), image("sm_90", "nvptx64-nvidia-cuda", OffloadKind.CUDA), image("gfx942")
)


@pytest.mark.parametrize(
    ("selection", "taken"),
    [
        (Selection(), [0, 1, 2]),
        (Selection(arch="gfx942"), [2]),
        (Selection(arch="gfx90a:xnack+"), [0]),
        (Selection(triple="amdgcn-amd-amdhsa"), [0, 2]),
        (Selection(kind="cuda"), [1]),
        (Selection(kind="hip", arch="gfx942"), [2]),
    ],
)
def test_selections(selection: Selection, taken: list[int]) -> None:
    assert [file.where for file in unbundle(EVERY, "app", selection)] == [f"app:{n}" for n in taken]


def test_names_are_llvms_and_do_not_depend_on_anything_else() -> None:
    assert [file.name for file in unbundle(EVERY, "dir/app.exe")] == [
        "app-amdgcn-amd-amdhsa-gfx90a:xnack+.0.o",
        "app-nvptx64-nvidia-cuda-sm_90.1.o",
        "app-amdgcn-amd-amdhsa-gfx942.2.o",
    ]


@pytest.mark.parametrize("evil", ["../../etc/passwd", "/abs", "a\nb", "a\0b", "..", "\udcff"])
def test_foreign_strings_cannot_name_another_folder(evil: str) -> None:
    for file in unbundle(located(image(evil, evil)), "/tmp/x"):
        assert Path(file.name).name == file.name
        assert file.name.isascii()
        assert file.name.isprintable()
        assert file.name.startswith("x-")


def test_a_selection_that_fits_nothing_lists_what_is_there() -> None:
    with pytest.raises(OffloadcError, match="--arch=gfx1100") as caught:
        unbundle(EVERY, "app", Selection(arch="gfx1100"))
    assert "gfx942 (amdgcn-amd-amdhsa)" in str(caught.value.hint)
    with pytest.raises(OffloadcError, match="unknown kind 'what'"):
        unbundle(EVERY, "app", Selection(kind="what"))


# --------------------------------------------------------------------------- inspect
def test_rows_tell_what_images_tell(code_object: Path) -> None:
    data = offload_binary.write(bundled(f"file={code_object},note=n"))
    (row,) = inspect_rows((Located("x", Bundle(bundled(f"file={code_object}"))),), read_image)
    assert len(data) % 8 == 0
    assert (row.triple, row.arch, row.image_kind, row.offload_kind) == (
        "amdgcn-amd-amdhsa",
        "gfx90a:sramecc+:xnack-",
        "object",
        "hip",
    )
    assert row.size == code_object.stat().st_size
    assert row.sha256 == hashlib.sha256(code_object.read_bytes()).hexdigest()
    assert isinstance(row.kernels, tuple)
    assert [kernel.name for kernel in row.kernels] == ["odd", "saxpy"]


KERNEL = KernelFacts("k[red]", (KernelParam(0, 8), KernelParam(8, 4, 4)), 12, {"spills": 0, "registers": 32})


def rows(*images: Image):
    answers = {b"": (KERNEL,), b"none": (), b"?": Unknown("no reader for it")}
    return inspect_rows(located(*images), lambda image: answers[image.data])


def test_json_has_a_schema_and_every_fact() -> None:
    written = json.loads(json.dumps(inspect_json(rows(image("gfx942"), image("x", data=b"?")))))
    assert written["schema"] == "offloadc-inspect/1"
    one, two = written["images"]
    assert one["kernels"] == [
        {
            "name": "k[red]",
            "args_size": 12,
            "params": [{"offset": 0, "size": 8, "align": None}, {"offset": 8, "size": 4, "align": 4}],
            "resources": {"registers": 32, "spills": 0},
        }
    ]
    assert one["strings"] == {"triple": "amdgcn-amd-amdhsa", "arch": "gfx942"}
    assert {"where", "triple", "arch", "image_kind", "offload_kind", "size", "sha256"} <= set(one)
    assert (two["kernels"], two["kernels_unknown"]) == (None, "no reader for it")


def test_json_is_valid_whatever_the_strings_hold() -> None:
    text = json.dumps(inspect_json(rows(image("a\udcff\x1b"))), ensure_ascii=False)
    assert json.loads(text.encode())["images"][0]["arch"] == "a\\xff\x1b"


@pytest.mark.parametrize(
    "kind", [OffloadKind.NONE, OffloadKind.CUDA, OffloadKind.OPENMP | OffloadKind.HIP, OffloadKind(32)]
)
def test_offload_kinds_are_spelled(kind: OffloadKind) -> None:
    spelled = {0: "none", 2: "cuda", 5: "openmp,hip", 32: "0x20"}
    assert inspect_json(rows(image("a", kind=kind)))["images"][0]["offload_kind"] == spelled[int(kind)]


def test_the_table_shows_images_kernels_and_what_is_unknown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    report.print_inspect(
        rows(image("gfx942"), image("odd\x1b[31m\udcff", data=b"?"), image("z", data=b"none"))
    )
    out, err = capsys.readouterr()
    assert err == ""
    assert "\x1b" not in out
    for word in (
        "gfx942",
        "k[red]",
        "0:8 8:4",
        "regs",
        "32",
        "kernels unknown: no reader for it",
        "\\x1b[31m",
    ):
        assert word in out
    assert "agprs" not in out  # no image tells


def test_color_is_for_terminals_or_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    report.print_inspect(rows(image("gfx942")), color=True)
    assert "\x1b[" in capsys.readouterr().out
    report.print_inspect(rows(image("gfx942")), color=False)
    assert "\x1b[" not in capsys.readouterr().out
