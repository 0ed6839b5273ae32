"""What reaches AMD's HSA runtime through liboffload's real AMDGPU plugin."""

from __future__ import annotations

import pytest

from tests.runtime.conftest import Build, Images
from tests.runtime.program import Program, Run, graffiti

ALIGNED_SIZES = (1, 32, 1, 64, 2, 8)
ALIGNED_OFFSETS = (0, 32, 64, 128, 192, 200)  # natural C layout, as the code object's metadata states
STRUCTS_SIZES = (1, 24, 2, 16, 3, 8, 8)
STRUCTS_OFFSETS = (0, 8, 32, 48, 64, 72, 80)
DEVICE = "gfx90a:sramecc+:xnack-"


@pytest.fixture(scope="module")
def program(build: Build, images: Images) -> Program:
    return build(*(images(name) for name in ("sm_90", "gfx90a", "gfx90a:xnack+", "gfx9-4-generic", "x86-64")))


def arguments(sizes: tuple[int, ...]) -> str:
    return " ".join(graffiti(i + 1, size) for i, size in enumerate(sizes))


def packed(offsets: tuple[int, ...], sizes: tuple[int, ...]) -> str:
    buffer = bytearray(offsets[-1] + sizes[-1])
    for i, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        buffer[offset : offset + size] = bytes.fromhex(graffiti(i + 1, size))
    return buffer.hex()


def succeeded(run: Run) -> Run:
    assert run.code == 0
    assert all(step.startswith("ok") for step in run.steps), (run.steps, run.err)
    return run


@pytest.mark.parametrize(
    ("kernel", "offsets", "sizes"),
    [("aligned", ALIGNED_OFFSETS, ALIGNED_SIZES), ("structs", STRUCTS_OFFSETS, STRUCTS_SIZES)],
)
def test_arguments_lie_where_the_code_object_says(
    program: Program, kernel: str, offsets: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    run = succeeded(program.run(f"launch {kernel} 1,1,1 1,1,1 0 {arguments(sizes)}", amdgpu=DEVICE))
    (dispatch,) = run.launches
    assert dispatch["name"] == f"{kernel}.kd"
    expected = packed(offsets, sizes)
    assert dispatch["kernarg"][: len(expected)] == expected
    assert dispatch["kernarg_size"] >= offsets[-1] + sizes[-1]


def test_every_dimension_arrives(program: Program) -> None:
    """AQL packets count threads, not blocks."""
    run = succeeded(
        program.run("launch empty 7,5,3 8,4,2 96", "launch empty 9,1,1 64,1,1 0", "sync", amdgpu=DEVICE)
    )
    first, second = run.launches
    assert (first["block"], first["threads"], first["dimensions"]) == ("8,4,2", "56,20,6", 3)
    assert first["group_bytes"] == 96
    assert (second["block"], second["threads"], second["group_bytes"]) == ("64,1,1", "576,1,1", 0)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (
            "1,1,1 1025,1,1 0",
            "block 1025,1,1 is too large; amdgpu:0 (Stand-in AMD GPU) takes 1024 threads a block",
        ),
        ("1,1,1 32,32,2 0", "block 32,32,2 is too large"),
        ("4194304,1,1 1024,1,1 0", "takes at most 4294967295 threads in each direction"),
        ("1,4294967295,1 1,2,1 0", "grid 1,4294967295,1 with block 1,2,1 is too large"),
        (
            "1,1,1 1,1,1 65537",
            "65537 bytes of dynamic shared memory are too many; amdgpu:0 (Stand-in AMD GPU) has 65536",
        ),
    ],
)
def test_limits_are_checked_before_the_launch(program: Program, size: str, words: str) -> None:
    run = program.run(f"launch empty {size}", amdgpu=DEVICE)
    assert run.last.startswith("error 5 kernel empty: ")
    assert words in run.last
    assert run.launches == ()


@pytest.mark.parametrize(
    ("device", "arch"),
    [
        (DEVICE, "gfx90a"),
        ("gfx90a:sramecc+:xnack+", "gfx90a:xnack+"),
        ("gfx942:sramecc+:xnack-", "gfx9-4-generic"),
    ],
)
def test_target_ids_choose_the_image(program: Program, device: str, arch: str) -> None:
    run = succeeded(program.run("launch empty 1,1,1 1,1,1 0", amdgpu=device, OFFLOADC_TRACE="1"))
    assert f'image="{arch}"' in run.err
    assert len(run.launches) == 1


def test_an_image_with_another_feature_does_not_fit(build: Build, images: Images) -> None:
    program = build(images("gfx90a:xnack+"), images("x86-64"))
    run = program.run("device", amdgpu=DEVICE)
    assert run.last.startswith("ok 0:0|")
    assert f"not using amdgpu:0 (Stand-in AMD GPU, {DEVICE}): no device image fits" in run.err
    assert "images in the program: gfx90a:xnack+, x86-64;" in run.err


def test_the_device_is_described(program: Program) -> None:
    run = program.run("device", amdgpu=DEVICE)
    assert run.last == f"ok 2:0|Stand-in AMD GPU|{DEVICE}|64|104|1024|8589934592"
    assert program.run("device", amdgpu="gfx1100", OFFLOADC_DEVICE="cpu").last.startswith("ok 0:0|")


def test_memory_goes_there_and_back(program: Program) -> None:
    steps = (
        "alloc A 64",
        "alloc B 64",
        "put A 00112233445566778899",
        "move B A 10",
        "fill A 255 3",
        "get A 5",
        "get B 10",
    )
    run = succeeded(program.run(*steps, "fill B 9 64", "get B 64", "free A", "free B", amdgpu=DEVICE))
    assert run.steps[5] == "ok ffffff3344"
    assert run.steps[6] == "ok 00112233445566778899"
    assert run.steps[8] == "ok " + "09" * 64


def test_queues_keep_to_themselves(program: Program) -> None:
    steps = (
        "queue Q",
        "launch at Q empty 1,1,1 1,1,1 0",
        "launch empty 2,1,1 1,1,1 0",
        "sync Q",
        "sync",
        "unqueue Q",
    )
    assert len(succeeded(program.run(*steps, amdgpu=DEVICE)).launches) == 2


def test_threads_share_everything(program: Program) -> None:
    step = f"threads 8 aligned 1,1,1 1,1,1 0 {arguments(ALIGNED_SIZES)}"
    run = succeeded(program.run(step, "sync", amdgpu=DEVICE))
    expected = packed(ALIGNED_OFFSETS, ALIGNED_SIZES)
    assert len(run.launches) == 8 * 50
    assert all(dispatch["kernarg"].startswith(expected) for dispatch in run.launches)


def test_out_of_memory_says_what_there_is(program: Program) -> None:
    run = program.run(
        "alloc A 1000", amdgpu=DEVICE, OFFLOADC_STANDIN_FAIL="hsa_amd_memory_pool_allocate=0x1008"
    )
    assert run.last.startswith(
        "error 6 amdgpu:0 (Stand-in AMD GPU, 8192 MiB in all) has no 1000 bytes of memory left: "
    )


def test_a_failed_copy_does_not_hang_the_program(program: Program) -> None:
    """liboffload's stream then waits for a signal that nobody sets: nothing may wait for that queue again."""
    steps = ("alloc A 16", "queue Q", "put A 01", "sync", "launch empty 1,1,1 1,1,1 0", "sync Q", "unqueue Q")
    run = program.run(*steps, amdgpu=DEVICE, OFFLOADC_STANDIN_FAIL="hsa_amd_memory_async_copy=0x1000")
    assert "stand-in HSA status 0x1000" in run.steps[2]
    assert all("work in this queue failed before" in step for step in run.steps[3:5])
    assert run.steps[5:] == ("ok", "ok")
    assert run.code == 0


def test_a_refused_image(program: Program) -> None:
    run = program.run(
        "launch empty 1,1,1 1,1,1 0", amdgpu=DEVICE, OFFLOADC_STANDIN_FAIL="hsa_executable_load=0x1010"
    )
    assert run.last.startswith(
        f"error 3 amdgpu:0 (Stand-in AMD GPU, {DEVICE}) does not take this program's gfx90a image"
    )


def test_the_runtime_is_closed_at_exit(program: Program) -> None:
    run = succeeded(program.run("launch empty 1,1,1 1,1,1 0", amdgpu=DEVICE))
    assert run.calls[-1]["call"] == "hsa_shut_down"
