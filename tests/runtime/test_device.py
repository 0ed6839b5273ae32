"""Which device a program gets, and what it is told when it gets another than it asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime.conftest import Build, Images, tool
from tests.runtime.program import Program

AMD = "gfx90a:sramecc+:xnack-"
LIBOFFLOAD = Path("/usr/lib/llvm-22/lib/libLLVMOffload.so.22.1")


@pytest.fixture(scope="module")
def program(build: Build, images: Images) -> Program:
    return build(*(images(name) for name in ("sm_80", "sm_90", "gfx90a", "x86-64")))


@pytest.fixture(scope="module")
def gpu_only(build: Build, images: Images) -> Program:
    return build(images("sm_90"))


def device(program: Program, cuda: str = "", amdgpu: str = "", **environment: str) -> tuple[str, str]:
    """Kind and index as "cuda:0", and stderr."""
    run = program.run("device", cuda=cuda, amdgpu=amdgpu, **environment)
    if not run.last.startswith("ok "):
        return run.last, run.err
    kind, index = run.last[3:].split("|")[0].split(":")
    return f"{('cpu', 'cuda', 'amdgpu')[int(kind)]}:{index}", run.err


# --------------------------------------------------------------------------- automatic
@pytest.mark.parametrize(
    ("cuda", "amdgpu", "chosen"),
    [
        ("", "", "cpu:0"),
        ("9.0", "", "cuda:0"),
        ("7.5,9.0", "", "cuda:1"),
        ("8.6,9.0", "", "cuda:0"),
        ("", AMD, "amdgpu:0"),
        ("7.5", AMD, "amdgpu:0"),
        ("", f"gfx1100,{AMD}", "amdgpu:1"),
        ("9.0", "gfx1100", "cuda:0"),
    ],
)
def test_the_first_gpu_that_fits(program: Program, cuda: str, amdgpu: str, chosen: str) -> None:
    assert device(program, cuda, amdgpu) == (chosen, "")


def test_gpus_that_do_not_fit_are_told_once(program: Program) -> None:
    chosen, err = device(program, "7.5", "gfx1100")
    assert chosen == "cpu:0"
    (line,) = err.splitlines()
    assert line.startswith("offloadc: warning: not using ")
    for part in ("cuda:0 (Stand-in NVIDIA GPU 0, sm_75)", "amdgpu:0 (Stand-in AMD GPU, gfx1100)"):
        assert part in line
    assert (
        "no device image fits; images in the program: sm_80 cubin, sm_90 cubin, gfx90a, x86-64; running on the CPU"
        in line
    )


def test_every_unit_must_fit(build: Build, images: Images) -> None:
    mixed = build(
        images("sm_90", "a1"), images("x86-64", "a1"), images("gfx90a", "b2"), images("x86-64", "b2")
    )
    chosen, err = device(mixed, "9.0")
    assert chosen == "cpu:0"
    assert "device images of only some of the program's files fit" in err
    assert device(mixed, "9.0", OFFLOADC_DEVICE="cuda:0") == ("cuda:0", "")


def test_nothing_fits_anything(gpu_only: Program) -> None:
    text, err = device(gpu_only, "8.0")
    assert text.startswith(
        "error 2 no device image in this program fits cuda:0 (Stand-in NVIDIA GPU 0, sm_80)"
    )
    assert text.endswith("images in the program: sm_90 cubin; rebuild with --offload-arch=sm_80")
    assert err == ""
    text, _ = device(gpu_only)
    assert text.startswith("error 2 no device image in this program fits cpu (")


def test_the_choice_and_its_failure_stay(gpu_only: Program) -> None:
    run = gpu_only.run("device", "alloc A 16", "launch empty 1,1,1 1,1,1 0", "sync", "queue Q", cuda="8.0")
    assert len(set(run.steps)) == 1
    assert len(run.named("cuInit")) == 1


# --------------------------------------------------------------------------- OFFLOADC_DEVICE
@pytest.mark.parametrize(
    ("request_text", "chosen"),
    [
        ("cpu", "cpu:0"),
        ("cuda", "cuda:1"),
        ("cuda:1", "cuda:1"),
        ("cuda:2", "cuda:2"),
        ("amdgpu", "amdgpu:0"),
        ("amdgpu:0", "amdgpu:0"),
        ("", "amdgpu:0"),
    ],
)
def test_asking_for_a_device(program: Program, request_text: str, chosen: str) -> None:
    assert device(program, "7.5,9.0,8.0", AMD, OFFLOADC_DEVICE=request_text) == (chosen, "")


def test_the_cpu_device_needs_no_driver(program: Program) -> None:
    assert program.run("device", cuda="9.0", OFFLOADC_DEVICE="cpu").calls == ()


@pytest.mark.parametrize(
    "text", ["gpu", "cuda:", "cuda:x", "cuda:1x", "cuda1", "cpu:0", "CUDA", "amdgpu:-1", " cpu", "opencl:0"]
)
def test_a_word_that_is_no_device(program: Program, text: str) -> None:
    message, _ = device(program, "9.0", OFFLOADC_DEVICE=text)
    assert message == (
        f"error 1 OFFLOADC_DEVICE={text} is no device; write cpu, cuda:N or amdgpu:N; "
        "devices here: cpu, cuda:0 (Stand-in NVIDIA GPU 0, sm_90)"
    )


@pytest.mark.parametrize("text", ["cuda:2", "amdgpu", "amdgpu:0", "cuda:99999999999999999999"])
def test_a_device_that_is_not_there(program: Program, text: str) -> None:
    message, _ = device(program, "9.0,8.0", OFFLOADC_DEVICE=text)
    assert message.startswith(
        f"error 1 OFFLOADC_DEVICE={text}: there is no such device; devices here: cpu, cuda:0 ("
    )
    assert message.endswith("cuda:1 (Stand-in NVIDIA GPU 1, sm_80)")


def test_asking_for_a_device_that_no_image_fits(program: Program) -> None:
    message, err = device(program, "7.5", OFFLOADC_DEVICE="cuda:0")
    assert message.startswith(
        "error 2 no device image in this program fits cuda:0 (Stand-in NVIDIA GPU 0, sm_75)"
    )
    assert err == ""


def test_calls_go_to_the_device_asked_for(program: Program) -> None:
    run = program.run(
        "alloc A 64", "launch empty 1,1,1 1,1,1 0", cuda="9.0,8.0,9.0", OFFLOADC_DEVICE="cuda:2"
    )
    assert run.launches[0]["device"] == 2
    run = program.run("launch empty 1,1,1 1,1,1 0", amdgpu=f"{AMD},{AMD}", OFFLOADC_DEVICE="amdgpu:1")
    assert run.launches[0]["agent"] == 0x300


# --------------------------------------------------------------------------- liboffload
@pytest.fixture
def library(tmp_path: Path) -> Callable[[str], Path]:
    """A shared object with this SONAME and nothing in it."""

    def make(soname: str) -> Path:
        output = tmp_path / "library.so"
        (tmp_path / "empty.c").write_text("int nothing;\n")
        words = (f"-Wl,-soname,{soname}",) if soname else ()
        tool("clang", "-shared", "-fPIC", *words, tmp_path / "empty.c", "-o", output)
        return output

    return make


@pytest.mark.parametrize(
    ("soname", "words"),
    [
        ("libLLVMOffload.so.23.0", "is libLLVMOffload.so.23.0, but this program needs LLVM 22's liboffload"),
        ("libLLVMOffload.so.21", "is libLLVMOffload.so.21, but"),
        ("libLLVMOffload.so.221.1", "is libLLVMOffload.so.221.1, but"),
        ("libLLVMOffload.so", "is libLLVMOffload.so without a version, but"),
        ("libother.so.22.1", "is libother.so.22.1 without a version, but"),
        ("", "is no liboffload, but"),
        ("libLLVMOffload.so.22.1", "lacks olInit"),
    ],
)
def test_another_liboffload_is_refused(
    program: Program, library: Callable[[str], Path], soname: str, words: str
) -> None:
    path = library(soname)
    message, _ = device(program, "9.0", OFFLOADC_LIBOFFLOAD=str(path))
    assert message.startswith("error 8 ")
    assert f"{path} {words}" in message
    message, _ = device(program, "9.0", OFFLOADC_LIBOFFLOAD=str(path), OFFLOADC_DEVICE="cuda:0")
    assert message.startswith(f"error 8 OFFLOADC_DEVICE=cuda:0: {path} ")


def test_a_named_liboffload_must_be_there(program: Program, tmp_path: Path) -> None:
    message, _ = device(program, OFFLOADC_LIBOFFLOAD=str(tmp_path / "none.so"))
    assert message.startswith(f"error 8 OFFLOADC_LIBOFFLOAD={tmp_path / 'none.so'} cannot be loaded: ")


@pytest.mark.skipif(not LIBOFFLOAD.exists(), reason="liboffload is not where Debian's packages put it")
def test_a_liboffload_by_any_path(program: Program, tmp_path: Path) -> None:
    copy = tmp_path / "renamed.so"
    copy.symlink_to(LIBOFFLOAD)
    assert device(program, "9.0", OFFLOADC_LIBOFFLOAD=str(copy)) == ("cuda:0", "")


def test_a_newer_liboffload_on_the_path_is_not_used_in_silence(
    program: Program, library: Callable[[str], Path], standins: Path, tmp_path: Path
) -> None:
    path = library("libLLVMOffload.so.23.0")
    path.rename(tmp_path / "libLLVMOffload.so.22.1")
    search = f"{tmp_path}:{standins}"
    chosen, err = device(program, "9.0", LD_LIBRARY_PATH=search)
    assert chosen == "cpu:0"
    assert err.startswith("offloadc: warning: libLLVMOffload.so.22.1 is libLLVMOffload.so.23.0, but")
    message, _ = device(program, "9.0", LD_LIBRARY_PATH=search, OFFLOADC_DEVICE="cuda")
    assert message.startswith(
        "error 8 OFFLOADC_DEVICE=cuda: libLLVMOffload.so.22.1 is libLLVMOffload.so.23.0"
    )


# --------------------------------------------------------------------------- OFFLOADC_TRACE
def test_trace_is_a_line_a_call(program: Program) -> None:
    steps = (
        "alloc A 64",
        "fill A 0 64",
        "launch last_is_small 7,5,3 8,4,2 96 0000000000000840 01",
        "queue Q",
        "sync Q",
        "get A 4",
        "free A",
    )
    run = program.run(*steps, cuda="9.0", OFFLOADC_TRACE="1")
    lines = run.err.splitlines()
    assert len(lines) == len(steps)
    assert all(
        line.startswith("offloadc: trace: ") and line.endswith(" on cuda:0 (sm_90) -> ok") for line in lines
    )
    assert (
        'launch last_is_small image="sm_90 cubin" grid=7,5,3 block=8,4,2 shared=96 args=9[0:8 8:1]'
        in lines[2]
    )
    assert "alloc 64 bytes at 0x" in lines[0]
    assert "copy_to_host 4 bytes from 0x" in lines[5]


def test_trace_shows_failures(program: Program) -> None:
    run = program.run(
        "launch empty 1,1,1 2048,1,1 0", "launch nowhere 1,1,1 1,1,1 0", cuda="9.0", OFFLOADC_TRACE="1"
    )
    first, second = run.err.splitlines()
    assert "-> kernel empty: block 2048,1,1 is too large" in first
    assert "is no kernel of this program" in second


@pytest.mark.parametrize("value", ["", "0"])
def test_no_trace_unless_asked_for(program: Program, value: str) -> None:
    assert program.run("launch empty 1,1,1 1,1,1 0", cuda="9.0", OFFLOADC_TRACE=value).err == ""
