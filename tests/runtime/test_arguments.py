"""Launches that cannot be right are refused with the kernel, the argument and both sides of the matter."""

from __future__ import annotations

import pytest

from offloadc.bundler.formats import offload_binary
from offloadc.model import Image
from tests.runtime.conftest import Build, Images
from tests.runtime.program import Program

POINTER = "0000000000000000"


@pytest.fixture(scope="module")
def program(build: Build, images: Images) -> Program:
    return build(images("sm_90"), images("x86-64"), kernels=("empty", "plain", "absent", "note"))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            f"launch plain 1,1,1 1,1,1 0 01000000 {POINTER}",
            "kernel plain takes 4 arguments, but 2 were passed",
        ),
        ("launch plain 1,1,1 1,1,1 0", "kernel plain takes 4 arguments, but 0 were passed"),
        (f"launch empty 1,1,1 1,1,1 0 {POINTER}", "kernel empty takes 0 arguments, but 1 were passed"),
        (
            f"launch plain 1,1,1 1,1,1 0 01000000 {POINTER} {POINTER} {POINTER}",
            "argument 2 of kernel plain has 8 bytes on the host but 4 in the sm_90 image; rebuild all of the program's files",
        ),
        (
            f"launch plain 1,1,1 1,1,1 0 01 00000000 {POINTER} {POINTER}",
            "argument 1 of kernel plain has 1 bytes on the host but 4 in the sm_90 image; rebuild all of the program's files",
        ),
    ],
)
def test_wrong_arguments(program: Program, step: str, message: str) -> None:
    run = program.run(step, cuda="9.0")
    assert run.last == f"error 5 {message}"
    assert run.launches == ()


def test_sizes_may_be_left_out(program: Program) -> None:
    run = program.run(f"unsized plain 1,1,1 1,1,1 0 0100000001 00000000 {POINTER} {POINTER}", cuda="9.0")
    assert run.last == "ok"
    assert len(run.launches) == 1


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_no_kernel_at_that_address(program: Program, device: str) -> None:
    run = program.run("launch nowhere 1,1,1 1,1,1 0", cuda="9.0", OFFLOADC_DEVICE=device)
    assert run.last.startswith("error 4 0x")
    assert "is no kernel of this program; pass the kernel function itself" in run.last


def test_a_kernel_that_no_image_has(program: Program) -> None:
    run = program.run("launch absent 1,1,1 1,1,1 0", cuda="9.0")
    assert run.last == (
        "error 4 kernel absent has no image for cuda:0 (Stand-in NVIDIA GPU 0, sm_90); searched: sm_90 cubin of unit a1; "
        "images in the program: sm_90 cubin, x86-64; rebuild the program"
    )


# --------------------------------------------------------------------------- units
def renamed(image: Image, names: dict[str, str]) -> Image:
    text = image.strings["offloadc.kernels"]
    for old, new in names.items():
        text = text.replace(f"{old} ", f"{new} ", 1)
    return Image(image.kind, image.offload_kind, image.data, {**image.strings, "offloadc.kernels": text})


def test_an_internal_kernel_comes_from_its_own_unit(build: Build, images: Images) -> None:
    kernels = ("empty__intern__a1", "empty__intern__b2", "empty__intern__c3")
    program = build(images("sm_90", "a1"), images("sm_80", "b2"), images("sm_80 PTX", "b2"), kernels=kernels)
    steps = [f"launch {kernel} 1,1,1 1,1,1 0" for kernel in kernels]
    table = "empty="
    run = program.run(*steps, cuda="9.0", OFFLOADC_TRACE="1", OFFLOADC_STANDIN_PARAMS=table)
    first, second, third = run.err.splitlines()
    assert 'launch empty image="sm_90 cubin"' in first
    assert 'launch empty image="sm_80 PTX"' in second
    assert run.steps[2].startswith("error 2 kernel empty has no image for cuda:0 (")
    assert "searched: none that fits" in third
    assert [c["name"] for c in run.launches] == ["empty", "empty"]


def test_an_external_kernel_comes_from_any_unit(build: Build, images: Images) -> None:
    first = renamed(images("sm_90", "a1"), {"plain": "other"})
    program = build(first, images("sm_90", "b2"))
    run = program.run(
        f"launch plain 1,1,1 1,1,1 0 01000000 00000000 {POINTER} {POINTER}",
        "launch empty 1,1,1 1,1,1 0",
        cuda="9.0",
    )
    assert run.steps == ("ok", "ok")
    assert len(run.named("cuModuleLoadDataEx")) == 2  # of b2 for plain, of a1 for empty


# --------------------------------------------------------------------------- damaged programs
def test_a_damaged_bundle_is_one_clear_error(build: Build, images: Images) -> None:
    whole = offload_binary.write([images("sm_90"), images("x86-64")])
    program = build(bundle=whole[: len(whole) // 2])
    run = program.run("device", "launch empty 1,1,1 1,1,1 0", "alloc A 16", cuda="9.0")
    assert len(set(run.steps)) == 1
    assert run.last.startswith("error 3 device image ")
    assert run.last.endswith("rebuild the program")
    assert "is corrupt: it is cut short" in run.last


def test_a_damaged_kernel_table(build: Build, images: Images) -> None:
    program = build(renamed(images("sm_90"), {"plain": "plain x"}))
    run = program.run("launch empty 1,1,1 1,1,1 0", cuda="9.0")
    assert run.last.startswith("error 3 the kernel table of this program's sm_90 image is corrupt at line ")


def test_a_table_that_the_driver_disagrees_with(build: Build, images: Images) -> None:
    """liboffload refuses a buffer shorter than the driver's own table."""
    image = images("sm_90")
    table = "empty 0\nplain 20 0:4:4 4:4:4 8:8:8 16:4:4\n"
    program = build(
        Image(image.kind, image.offload_kind, image.data, {**image.strings, "offloadc.kernels": table})
    )
    run = program.run(f"unsized plain 1,1,1 1,1,1 0 01000000 00000000 {POINTER} {POINTER}", cuda="9.0")
    assert run.last.startswith("error 7 launching plain ")
    assert run.launches == ()
