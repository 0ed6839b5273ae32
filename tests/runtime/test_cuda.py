"""What reaches NVIDIA's driver through liboffload's real CUDA plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.conftest import Build, Images, build_standin
from tests.runtime.program import Program, Run, graffiti

# kernel "aligned": (char, 32 aligned to 32, char, 64 aligned to 64, short, pointer)
ALIGNED_SIZES = (1, 32, 1, 64, 2, 8)
ALIGNED_OFFSETS = {  # from the cubins' own tables: relative to the constant bank's base
    "sm_80": (0, 0x20, 0x40, 0x60, 0xA0, 0xA8),
    "sm_90": (0, 0x10, 0x30, 0x70, 0xB0, 0xB8),
}
STRUCTS_SIZES = (1, 24, 2, 16, 3, 8, 8)
STRUCTS_OFFSETS = (0, 8, 32, 48, 64, 72, 80)


@pytest.fixture(scope="module")
def program(build: Build, images: Images) -> Program:
    names = ("sm_80", "sm_80 PTX", "sm_90", "sm_90 PTX", "gfx90a", "x86-64")
    return build(*(images(name) for name in names))


def arguments(sizes: tuple[int, ...]) -> str:
    return " ".join(graffiti(i + 1, size) for i, size in enumerate(sizes))


def packed(offsets: tuple[int, ...], sizes: tuple[int, ...]) -> str:
    buffer = bytearray(offsets[-1] + sizes[-1])
    for i, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        buffer[offset : offset + size] = bytes.fromhex(graffiti(i + 1, size))
    return buffer.hex()


def params(**kernels: str) -> str:
    return ",".join(f"{name}={table}" for name, table in kernels.items())


def succeeded(run: Run) -> Run:
    assert run.code == 0
    assert all(step.startswith("ok") for step in run.steps), (run.steps, run.err)
    return run


# --------------------------------------------------------------------------- arguments
@pytest.mark.parametrize(("arch", "capability"), [("sm_80", "8.0"), ("sm_80", "8.6"), ("sm_90", "9.0")])
def test_over_aligned_arguments_lie_where_the_cubin_says(
    program: Program, arch: str, capability: str
) -> None:
    run = succeeded(program.run(f"launch aligned 1,1,1 1,1,1 0 {arguments(ALIGNED_SIZES)}", cuda=capability))
    (launch,) = run.launches
    assert launch["args"] == packed(ALIGNED_OFFSETS[arch], ALIGNED_SIZES)
    assert launch["args_size"] == ALIGNED_OFFSETS[arch][-1] + 8


@pytest.mark.parametrize(
    ("capability", "offsets"),
    [
        ("8.9", None),  # its own sm_80 cubin
        ("10.0", (0, 0x20, 0x40, 0x80, 0xC0, 0xC8)),
        ("12.0", (0, 0x20, 0x40, 0x80, 0xC0, 0xC8)),
    ],
)
def test_over_aligned_arguments_of_ptx_follow_the_device(
    program: Program, capability: str, offsets: tuple[int, ...] | None
) -> None:
    expected = offsets or ALIGNED_OFFSETS["sm_80"]
    table = "/".join(f"{o}:{s}" for o, s in zip(expected, ALIGNED_SIZES, strict=True))
    step = f"launch aligned 1,1,1 1,1,1 0 {arguments(ALIGNED_SIZES)}"
    run = succeeded(program.run(step, cuda=capability, OFFLOADC_STANDIN_PARAMS=params(aligned=table)))
    assert run.launches[0]["args"] == packed(expected, ALIGNED_SIZES)
    assert run.named("cuModuleLoadDataEx")[0]["format"] == ("ptx" if offsets else "cubin")


def test_ptx_for_an_unknown_generation_is_refused_where_it_matters(program: Program) -> None:
    table = params(aligned="0:1", plain="0:4/4:4/8:8/16:8")
    steps = (
        f"launch aligned 1,1,1 1,1,1 0 {arguments(ALIGNED_SIZES)}",
        "launch plain 1,1,1 1,1,1 0 01000000 00000000 N N",
    )
    run = program.run(*steps, cuda="13.0", OFFLOADC_STANDIN_PARAMS=table)
    assert run.steps[0].startswith("error 2 kernel aligned has a parameter aligned above 16 bytes")
    assert run.steps[0].endswith("rebuild with --offload-arch=sm_130")
    assert run.steps[1] == "ok"


def test_structs_lie_as_in_c(program: Program) -> None:
    run = succeeded(program.run(f"launch structs 1,1,1 1,1,1 0 {arguments(STRUCTS_SIZES)}", cuda="9.0"))
    assert run.launches[0]["args"] == packed(STRUCTS_OFFSETS, STRUCTS_SIZES)


def test_the_buffer_ends_with_the_last_argument(program: Program) -> None:
    """liboffload refuses a buffer padded to the alignment: (double, char) is 9 bytes."""
    run = succeeded(program.run(f"launch last_is_small 1,1,1 1,1,1 0 {arguments((8, 1))}", cuda="9.0"))
    assert run.launches[0]["args_size"] == 9


def test_a_kernel_without_parameters(program: Program) -> None:
    run = succeeded(program.run("launch empty 1,1,1 1,1,1 0", "chevron empty 1,1,1 1,1,1 0", cuda="9.0"))
    assert [launch["args_size"] for launch in run.launches] == [0, 0]


def test_chevrons_pack_alike(program: Program) -> None:
    run = succeeded(program.run(f"chevron aligned 3,1,1 2,1,1 8 {arguments(ALIGNED_SIZES)}", cuda="9.0"))
    (launch,) = run.launches
    assert launch["args"] == packed(ALIGNED_OFFSETS["sm_90"], ALIGNED_SIZES)
    assert (launch["grid"], launch["block"], launch["shared"]) == ("3,1,1", "2,1,1", 8)


# --------------------------------------------------------------------------- dimensions
def test_every_dimension_arrives(program: Program) -> None:
    run = succeeded(program.run("launch empty 7,5,3 8,4,2 96", "launch empty 1,1,1 1,1,1 0", cuda="9.0"))
    first, second = run.launches
    assert (first["grid"], first["block"], first["shared"]) == ("7,5,3", "8,4,2", 96)
    assert (second["grid"], second["block"], second["shared"]) == ("1,1,1", "1,1,1", 0)


def test_an_empty_grid_launches_nothing(program: Program) -> None:
    run = succeeded(program.run("launch empty 0,1,1 1,1,1 0", "launch empty 1,0,1 1,1,1 0", cuda="9.0"))
    assert run.launches == ()


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ("1,1,1 0,1,1 0", "block 0,1,1 has a zero extent"),
        ("0,1,1 1,1,0 0", "block 1,1,0 has a zero extent"),
        (
            "1,1,1 1025,1,1 0",
            "block 1025,1,1 is too large; cuda:0 (Stand-in NVIDIA GPU 0) takes 1024 threads a block",
        ),
        ("1,1,1 32,32,2 0", "block 32,32,2 is too large"),
        ("1,1,1 1,1,65 0", "at most 1024,1024,64"),
        ("1,1,1 4294967295,4294967295,4294967295 0", "is too large"),
        (
            "1,65536,1 1,1,1 0",
            "grid 1,65536,1 is too large; cuda:0 (Stand-in NVIDIA GPU 0) takes at most 2147483647,65535,65535",
        ),
        ("2147483648,1,1 1,1,1 0", "grid 2147483648,1,1 is too large"),
        (
            "1,1,1 1,1,1 232449",
            "232449 bytes of dynamic shared memory are too many; cuda:0 (Stand-in NVIDIA GPU 0) has 232448",
        ),
    ],
)
def test_limits_are_checked_before_the_launch(program: Program, size: str, words: str) -> None:
    run = program.run(f"launch empty {size}", cuda="9.0")
    assert run.last.startswith("error 5 kernel empty: ")
    assert words in run.last
    assert run.launches == ()


def test_the_largest_sizes_pass(program: Program) -> None:
    steps = ("launch empty 2147483647,65535,65535 1024,1,1 232448", "launch empty 1,1,1 4,4,64 0")
    run = succeeded(program.run(*steps, cuda="9.0"))
    assert run.launches[0]["grid"] == "2147483647,65535,65535"
    assert run.launches[0]["shared"] == 232448
    (attribute,) = run.named("cuFuncSetAttribute")  # above 48 KiB a kernel must be told first
    assert (attribute["attribute"], attribute["value"]) == (8, 232448)


# --------------------------------------------------------------------------- queues and memory
def test_queues_are_streams_and_calls_stay_in_theirs(program: Program) -> None:
    steps = (
        "queue Q",
        "launch at Q empty 1,1,1 1,1,1 0",
        "launch empty 2,1,1 1,1,1 0",
        "sync Q",
        "sync",
        "unqueue Q",
    )
    run = succeeded(program.run(*steps, cuda="9.0"))
    own, default = (launch["stream"] for launch in run.launches)
    assert own != default
    assert 0 not in (own, default)
    assert [s["stream"] for s in run.named("cuStreamSynchronize")][:2] == [own, default]


def test_destroyed_and_foreign_queues_are_refused(program: Program) -> None:
    run = program.run(
        "queue Q", "unqueue Q", "launch at Q empty 1,1,1 1,1,1 0", "sync Q", "unqueue Q", cuda="9.0"
    )
    assert [step[:8] for step in run.steps] == ["ok", "ok", "error 5 ", "error 5 ", "error 5 "]
    assert run.last.endswith("is no queue, or was destroyed")


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
    run = succeeded(program.run(*steps, "free A", "free B", "alloc C 0", "get C 0", "free C", cuda="9.0"))
    assert run.steps[5] == "ok ffffff3344"
    assert run.steps[6] == "ok 00112233445566778899"
    assert len(run.named("cuMemAlloc")) == len(run.named("cuMemFree"))


def test_copies_are_complete_when_they_return(program: Program) -> None:
    """The driver may read pageable memory after the call that copies it: each copy waits."""
    run = succeeded(program.run("alloc A 16", "put A 0011", "get A 2", cuda="9.0"))
    calls = [
        c["call"]
        for c in run.calls
        if c["call"] in ("cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuStreamSynchronize")
    ]
    assert calls[:4] == [
        "cuMemcpyHtoDAsync",
        "cuStreamSynchronize",
        "cuMemcpyDtoHAsync",
        "cuStreamSynchronize",
    ]


def test_memory_is_not_freed_under_a_running_kernel(program: Program) -> None:
    """A buffer's owner may go away right behind an asynchronous launch."""
    steps = ("alloc A 4194304", "queue Q", "launch at Q empty 1,1,1 1,1,1 0", "free A")
    calls = succeeded(program.run(*steps, cuda="9.0")).calls
    names = [c["call"] for c in calls]
    launch, free = names.index("cuLaunchKernel"), names.index("cuMemFree")
    waited = {c["stream"] for c in calls[launch:free] if c["call"] == "cuStreamSynchronize"}
    assert calls[launch]["stream"] in waited


def test_kernels_are_done_before_the_device_is_closed(program: Program) -> None:
    calls = succeeded(program.run("launch empty 1,1,1 1,1,1 0", cuda="9.0")).calls
    names = [c["call"] for c in calls]
    assert names.index("cuLaunchKernel") < names.index("cuStreamSynchronize") < names.index("cuModuleUnload")


def test_fill_is_ordered_with_kernels(program: Program) -> None:
    run = succeeded(
        program.run("alloc A 16", "fill A 7 13", "launch empty 1,1,1 1,1,1 0", "get A 13", cuda="9.0")
    )
    (fill,) = run.named("cuMemset")
    assert fill["stream"] == run.launches[0]["stream"]
    assert run.last == "ok " + "07" * 13


def test_an_image_is_loaded_once_and_a_kernel_looked_up_once(program: Program) -> None:
    run = succeeded(
        program.run(
            *("launch empty 1,1,1 1,1,1 0", "launch structs 0,1,1 1,1,1 0 " + arguments(STRUCTS_SIZES)) * 3,
            cuda="9.0",
        )
    )
    assert len(run.named("cuModuleLoadDataEx")) == 1
    assert [c["name"] for c in run.named("cuModuleGetFunction") if c["result"] == 0] == ["empty", "structs"]


def test_threads_share_everything(program: Program) -> None:
    run = succeeded(
        program.run(f"threads 8 aligned 1,1,1 1,1,1 0 {arguments(ALIGNED_SIZES)}", "sync", cuda="9.0")
    )
    assert len(run.launches) == 8 * 50
    assert {launch["args"] for launch in run.launches} == {packed(ALIGNED_OFFSETS["sm_90"], ALIGNED_SIZES)}
    assert len(run.named("cuModuleLoadDataEx")) == 1


# --------------------------------------------------------------------------- errors of the driver
def test_out_of_memory_says_what_there_is(program: Program) -> None:
    run = program.run("alloc A 1000", "alloc B 16", cuda="9.0", OFFLOADC_STANDIN_FAIL="cuMemAlloc=2")
    assert run.steps[0].startswith(
        "error 6 cuda:0 (Stand-in NVIDIA GPU 0, 8192 MiB in all) has no 1000 bytes of memory left"
    )


def test_a_failed_launch_names_all_there_is_to_know(program: Program) -> None:
    run = program.run("launch empty 7,5,3 8,4,2 96", cuda="9.0", OFFLOADC_STANDIN_FAIL="cuLaunchKernel=701")
    assert run.last.startswith(
        "error 7 launching empty with grid 7,5,3, block 8,4,2 and 96 bytes of dynamic shared memory"
    )
    assert "stand-in CUDA error 701" in run.last


def test_a_failed_chevron_ends_the_program(program: Program) -> None:
    steps = ("chevron empty 1,1,1 1,1,1 0", "device")
    run = program.run(*steps, cuda="9.0", OFFLOADC_STANDIN_FAIL="cuLaunchKernel=700")
    assert (run.code, run.steps) == (1, ())
    assert run.err.startswith("offloadc: error: launching empty with grid 1,1,1")


def test_an_error_of_a_kernel_shows_at_the_next_wait(program: Program) -> None:
    """After it liboffload crashes on any use of that queue, so there is none, not at exit either."""
    steps = (
        "queue Q",
        "alloc A 16",
        "launch empty 1,1,1 1,1,1 0",
        "sync",
        "sync",
        "launch empty 1,1,1 1,1,1 0",
        "get A 4",
    )
    run = program.run(
        *steps,
        "fill A 0 4",
        "sync Q",
        "unqueue Q",
        "free A",
        cuda="9.0",
        OFFLOADC_STANDIN_FAIL="cuStreamSynchronize=700",
    )
    assert run.steps[2] == "ok"
    assert run.steps[3].startswith("error 7 waiting for a queue failed on cuda:0 (Stand-in NVIDIA GPU 0): ")
    assert "stand-in CUDA error 700" in run.steps[3]
    assert all("work in this queue failed before" in step for step in run.steps[4:8])
    assert all(step.startswith("error 7 ") for step in run.steps[4:])
    assert run.code == 0


@pytest.mark.parametrize(
    "call", ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuMemset", "cuLaunchKernel"]
)
def test_a_failed_call_is_told_and_the_program_goes_on(program: Program, call: str) -> None:
    steps = (
        "alloc A 16",
        "alloc B 16",
        "put A 01",
        "get A 1",
        "move B A 1",
        "fill A 0 1",
        "launch empty 1,1,1 1,1,1 0",
    )
    run = program.run(*steps, "sync", "free A", "free B", cuda="9.0", OFFLOADC_STANDIN_FAIL=f"{call}=1")
    failed = [step for step in run.steps if step != "ok" and not step.startswith("ok ")]
    assert len(failed) == 1
    assert "stand-in CUDA error 1" in failed[0]
    assert run.code == 0


def test_a_refused_image_names_device_and_image(program: Program) -> None:
    run = program.run(
        "launch empty 1,1,1 1,1,1 0", cuda="9.0", OFFLOADC_STANDIN_FAIL="cuModuleLoadDataEx=222"
    )
    assert run.last.startswith(
        "error 3 cuda:0 (Stand-in NVIDIA GPU 0, sm_90) does not take this program's sm_90 cubin image"
    )
    assert "update the driver or rebuild the program" in run.last


def test_a_kernel_that_the_driver_does_not_find(program: Program) -> None:
    run = program.run(
        "launch empty 1,1,1 1,1,1 0", cuda="9.0", OFFLOADC_STANDIN_FAIL="cuModuleGetFunction=500"
    )
    assert run.last.startswith("error 4 cuda:0's driver does not find kernel empty in the sm_90 image")


# --------------------------------------------------------------------------- the driver's library
def test_the_versioned_library_alone_is_enough(program: Program) -> None:
    """liboffload opens libcuda.so; the stand-in, like most machines, has libcuda.so.1."""
    assert not (program.standins / "libcuda.so").exists()
    assert program.run("device", cuda="9.0").last.startswith(
        "ok 1:0|Stand-in NVIDIA GPU 0|sm_90|32|132|1024|8589934592"
    )


def test_a_driver_too_old_for_liboffload_is_told(build: Build, images: Images, tmp_path: Path) -> None:
    build_standin(tmp_path / "libcuda.so.1", "libcuda.c", "-DWITHOUT_PARAM_INFO")
    program = Program(build(images("sm_90"), images("x86-64")).path, tmp_path)
    run = program.run("device", cuda="9.0")
    assert run.last.startswith("ok 0:0|")
    assert run.err.startswith("offloadc: warning: the NVIDIA driver here is older than CUDA 12.4")
    run = program.run("device", cuda="9.0", OFFLOADC_DEVICE="cuda:0")
    assert run.last.startswith(
        "error 1 OFFLOADC_DEVICE=cuda:0: there is no such device; devices here: cpu; the NVIDIA driver"
    )


# --------------------------------------------------------------------------- the end of the process
def test_the_device_is_closed_at_exit(program: Program) -> None:
    run = succeeded(program.run("launch empty 1,1,1 1,1,1 0", cuda="9.0"))
    assert len(run.named("cuModuleUnload")) == 1
    assert run.calls[-1]["call"] == "cuDevicePrimaryCtxRelease"


def test_freeing_after_the_device_was_closed_is_harmless(program: Program) -> None:
    run = succeeded(program.run("alloc A 16", "at-exit A", cuda="9.0"))
    assert run.err == "late free: 0\n"


@pytest.mark.parametrize("failing", ["cuModuleUnload=4", "cuDevicePrimaryCtxRelease=4", "cuMemFree=4"])
def test_a_driver_that_is_gone_at_exit_does_no_harm(program: Program, failing: str) -> None:
    run = program.run("alloc A 16", "launch empty 1,1,1 1,1,1 0", cuda="9.0", OFFLOADC_STANDIN_FAIL=failing)
    assert (run.code, run.steps) == (0, ("ok", "ok"))
    assert "offloadc" not in run.err  # liboffload itself may complain


def test_a_forked_child_is_told_and_ends_in_peace(program: Program) -> None:
    run = program.run("alloc A 16", "fork", "launch empty 1,1,1 1,1,1 0", "sync", "free A", cuda="9.0")
    assert run.code == 0
    assert run.steps[2].startswith("error 7 cuda:0 was opened before fork()")
    assert run.steps[3].startswith("error 7 cuda:0 was opened before fork()")
    assert run.steps[4] == "ok"
    assert len(run.named("cuDevicePrimaryCtxRelease")) == 1  # the parent's


def test_fork_before_first_use_works(program: Program) -> None:
    run = succeeded(program.run("fork", "launch empty 1,1,1 1,1,1 0", cuda="9.0"))
    assert len(run.launches) == 1
