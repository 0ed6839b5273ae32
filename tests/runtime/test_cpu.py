"""The CPU device: images loaded from memory and run in the process."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.runtime.conftest import Build, Images, cpu_image, described, tool
from tests.runtime.program import Program, Run, graffiti

VALUE = graffiti(1, 16)


@pytest.fixture(scope="module")
def program(build: Build, images: Images) -> Program:
    return build(images("x86-64"))


def note(program: Program, *steps: str, **environment: str) -> tuple[int, ...]:
    """What kernel "note" saw: grid, block, shared bytes, the image's mark."""
    run = program.run("alloc A 48", *steps, "get A 48", **environment)
    assert all(step.startswith("ok") for step in run.steps), run.steps
    seen = bytes.fromhex(run.last[3:])
    assert seen[32:48].hex() == VALUE
    return struct.unpack("<8I", seen[:32])


def test_a_launch_arrives_whole(program: Program) -> None:
    assert note(program, f"launch note 7,5,3 8,4,2 96 {VALUE} A") == (7, 5, 3, 8, 4, 2, 96, 1)
    assert note(program, f"chevron note 1,1,1 32,1,1 0 {VALUE} A") == (1, 1, 1, 32, 1, 1, 0, 1)


def test_an_empty_grid_runs_nothing(program: Program) -> None:
    run = program.run("alloc A 48", "fill A 0 48", f"launch note 0,1,1 1,1,1 0 {VALUE} A", "get A 4")
    assert run.last == "ok 00000000"


def test_the_device_is_described(program: Program) -> None:
    kind, name, arch, warp, units, threads, memory = program.run("device").last[3:].split("|")
    assert (kind, arch, warp, threads) == ("0:0", "x86-64", "32", "1024")
    assert name
    assert int(units) >= 1
    assert int(memory) > 1 << 20


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ("1,1,1 1025,1,1 0", "cpu"),
        ("1,1,1 32,32,2 0", "takes 1024 threads a block"),
        ("1,1,1 0,1,1 0", "zero extent"),
    ],
)
def test_limits_are_checked(program: Program, size: str, words: str) -> None:
    run = program.run(f"launch fails {size}")
    assert run.last.startswith("error 5 kernel fails: block ")
    assert words in run.last


def test_an_error_of_the_engine(program: Program) -> None:
    run = program.run("launch fails 1,1,1 1,1,1 0")
    assert run.last == "error 6 launching fails on the CPU device failed: Cannot allocate memory"


def test_a_kernel_whose_table_and_image_disagree(program: Program) -> None:
    run = program.run("launch miscounted 1,1,1 1,1,1 0 0000000000000000")
    assert run.last.startswith("error 3 kernel miscounted has 3 parameters in its x86-64 image but 1 in")


def test_memory_is_aligned_and_bounded(program: Program) -> None:
    run = program.run(
        "alloc A 1", "alloc B 65", "alloc C 18446744073709551615", "free A", "free B", OFFLOADC_TRACE="1"
    )
    addresses = [int(line.split(" at ")[1].split()[0], 16) for line in run.err.splitlines()[:2]]
    assert [address % 64 for address in addresses] == [0, 0]
    assert run.steps[2] == "error 6 the CPU device has no 18446744073709551615 bytes of memory left"


def test_queues_work_at_once(program: Program) -> None:
    steps = ("queue Q", f"launch at Q note 1,1,1 1,1,1 0 {VALUE} A", "sync Q", "unqueue Q")
    assert note(program, *steps)[0] == 1
    assert program.run("queue Q", "unqueue Q", "sync Q").last.startswith("error 5 ")


def test_threads_share_everything(program: Program) -> None:
    assert note(program, f"threads 8 note 2,1,1 3,1,1 0 {VALUE} A")[:4] == (2, 1, 1, 3)


def test_a_forked_child_goes_on(program: Program) -> None:
    steps = (f"launch note 1,1,1 1,1,1 0 {VALUE} A", "fork", f"launch note 9,1,1 1,1,1 0 {VALUE} A")
    assert note(program, *steps)[0] == 9


# --------------------------------------------------------------------------- images
@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Program:
    """Three units whose images differ only in a mark."""
    folder = tmp_path_factory.mktemp("marked")
    made = [described(cpu_image(folder / f"{n}.so", f"-DMARK={n}"), f"{n}a") for n in (1, 2, 3)]
    return build(*made, kernels=[f"note__intern__{n}a" for n in (1, 2, 3)])


def all_marks(program: Program, **environment: str) -> list[int]:
    steps = [f"launch note__intern__{n}a 1,1,1 1,1,1 0 {VALUE} A" for n in (1, 2, 3)]
    return [note(program, *steps[: n + 1], **environment)[7] for n in range(3)]


def test_every_unit_has_its_own_image(marked: Program) -> None:
    """The dynamic linker takes an equal path for an object it has; descriptors' paths come again."""
    assert all_marks(marked) == [1, 2, 3]


def test_images_load_without_proc_or_memfd(marked: Program, tmp_path: Path) -> None:
    """A system call filter as containers have it: memfd_create fails, files in TMPDIR do."""
    assert all_marks(marked, LD_PRELOAD=str(without_memfd(tmp_path)), TMPDIR=str(tmp_path)) == [1, 2, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["without.c", "without.so"]


def test_no_place_to_load_from_is_told(marked: Program, tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    preload = str(without_memfd(tmp_path))
    run = marked.run(
        f"launch note__intern__1a 1,1,1 1,1,1 0 {VALUE} {VALUE[:16]}", LD_PRELOAD=preload, TMPDIR=missing
    )
    assert run.last.startswith("error 3 this program's x86-64 image cannot be loaded: memfd_create: ")


def without_memfd(folder: Path) -> Path:
    source, output = folder / "without.c", folder / "without.so"
    source.write_text(
        "#include <errno.h>\nint memfd_create(const char *n, unsigned f) { errno = ENOSYS; return -1; }\n"
    )
    tool("clang", "-w", "-shared", "-fPIC", source, "-o", output)
    return output


def loaded(build: Build, folder: Path, *flags: str) -> Run:
    program = build(described(cpu_image(folder / "image.so", *flags), "a1"))
    return program.run("launch fails 1,1,1 1,1,1 0")


def test_an_image_of_another_version(build: Build, tmp_path: Path) -> None:
    run = loaded(build, tmp_path, "-DVERSION=77")
    assert run.last.startswith("error 3 this program's x86-64 image has another version than the program")


def test_an_image_that_needs_what_is_not_there(build: Build, tmp_path: Path) -> None:
    run = loaded(build, tmp_path, "-Wl,-soname,x.so", "-Wl,--no-as-needed", str(dependency(tmp_path)))
    assert run.last.startswith("error 3 this program's x86-64 image cannot be loaded: libgone.so")


def dependency(folder: Path) -> Path:
    """A library to link with that no search path has."""
    output = folder / "gone" / "libgone.so"
    output.parent.mkdir()
    (folder / "gone.c").write_text("int gone;\n")
    tool("clang", "-shared", "-fPIC", "-Wl,-soname,libgone.so", folder / "gone.c", "-o", output)
    return output


def test_a_kernel_that_the_image_lacks(build: Build, images: Images) -> None:
    image = images("x86-64")
    text = image.strings["offloadc.kernels"].replace("note ", "empty ")
    changed = type(image)(
        image.kind, image.offload_kind, image.data, {**image.strings, "offloadc.kernels": text}
    )
    run = build(changed).run("unsized empty 1,1,1 1,1,1 0 00 00")
    assert run.last.startswith("error 4 kernel empty is missing in the x86-64 image that lists it")


def test_no_image_for_the_cpu(build: Build, images: Images) -> None:
    run = build(images("sm_90")).run("launch empty 1,1,1 1,1,1 0", OFFLOADC_DEVICE="cpu")
    assert run.last.startswith("error 2 kernel empty has no image for cpu (")
    assert "images in the program: sm_90 cubin; rebuild with --offload-arch=x86-64" in run.last
