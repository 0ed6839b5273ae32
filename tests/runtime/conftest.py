"""The launch stub under test: its pure parts in small programs, the whole of it through stand-in drivers.

Stand-ins (standins/) take the place of libcuda.so.1 and libhsa-runtime64.so.1 and record what the real
plugins of liboffload ask of them, so what reaches a driver is proven where there is no GPU.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from offloadc.abi.readers import read_image
from offloadc.bundler.embed import embed_assembly
from offloadc.bundler.formats import offload_binary
from offloadc.bundler.manifest import format_manifest
from offloadc.model import Image, ImageKind, OffloadKind, Unknown
from tests.runtime.program import Program

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STUB = ROOT / "offloadc" / "runtime" / "stub"
INCLUDE = ROOT / "offloadc" / "runtime" / "include"
LLVM = Path(os.environ.get("OFFLOADC_LLVM", "/usr/lib/llvm-22"))
NVIDIA = sorted(path for root in sys.path if root for path in Path(root).glob("nvidia/cu*/bin"))
SEARCH = os.pathsep.join(map(str, (LLVM / "bin", *NVIDIA, os.environ.get("PATH", ""), "/usr/local/cuda/bin")))
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
C11 = ("-std=c11", f"-I{INCLUDE}", f"-I{STUB}")

Unit = Callable[[str], Path]
Images = Callable[..., Image]
Build = Callable[..., Program]


def find(name: str) -> str:
    found = shutil.which(name, path=SEARCH)
    if found is None and name == "ptxas":
        pytest.skip("ptxas is not here: pip install nvidia-cuda-nvcc brings it")
    assert found, f"{name} is not in {SEARCH}"
    return found


def tool(name: str, *words: object, cwd: Path | None = None) -> str:
    command = (find(name), *map(str, words))
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


# --------------------------------------------------------------------------- the pure parts
UNIT_SOURCES = {
    "images": ("images.c", "error.c", "text.c"),
    "manifest": ("manifest.c", "error.c"),
    "choose": ("choose.c", "images.c", "error.c", "text.c"),
    "layout": ("layout.c", "manifest.c", "error.c"),
    "entries": ("entries.c", "error.c"),
    "alias": ("library_alias.c", "memory_library.c", "error.c"),
}


@pytest.fixture(scope="session")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Unit:
    """The program c/NAME.c with the stub's files that it tests, under ASan and UBSan."""
    folder = tmp_path_factory.mktemp("units")

    def build(name: str) -> Path:
        output = folder / name
        if not output.exists():
            sources = (HERE / "c" / f"{name}.c", *(STUB / file for file in UNIT_SOURCES[name]))
            checks = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
            tool("clang", *C11, *WARNINGS, *checks, *sources, "-o", output)
        return output

    return build


# --------------------------------------------------------------------------- the whole
@pytest.fixture(scope="session")
def standins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both drivers under the versioned names, which are what machines have."""
    folder = tmp_path_factory.mktemp("standins")
    build_standin(folder / "libcuda.so.1", "libcuda.c")
    build_standin(folder / "libhsa-runtime64.so.1", "libhsa.c")
    return folder


def build_standin(output: Path, source: str, *flags: str) -> None:
    shared = (
        "-std=c11",
        "-O1",
        "-g",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        f"-Wl,-soname,{output.name}",
    )
    sources = (HERE / "standins" / source, HERE / "standins" / "record.c")
    tool("clang", *WARNINGS[:3], *shared, *flags, *sources, "-o", output)


@pytest.fixture(scope="session")
def stub_objects(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder = tmp_path_factory.mktemp("stub")
    flags = ("-O1", "-g", "-fPIC", "-fvisibility=hidden")
    tool("clang", *C11, *flags, "-c", *sorted(STUB.glob("*.c")), HERE / "c" / "steps.c", cwd=folder)
    return tuple(sorted(folder.glob("*.o")))


CUDA = ("-x", "cuda", "--cuda-path=/nonexistent", "-nocudainc", "-nocudalib", "--cuda-device-only", "-O1")
HIP = ("-x", "hip", "-nogpuinc", "-nogpulib", "--cuda-device-only", "--no-gpu-bundle-output", "-O1")


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Images:
    """Real images of kernels.cu (GPUs) and c/cpu_image.c, by "sm_90", "sm_90 PTX", "gfx90a", "x86-64"."""
    folder = tmp_path_factory.mktemp("images")
    made: dict[tuple[str, str], Image] = {}

    def image(name: str, unit: str = "a1") -> Image:
        if (name, unit) not in made:
            made[name, unit] = described(undescribed(folder, name), unit)
        return made[name, unit]

    return image


def undescribed(folder: Path, name: str) -> Image:
    arch = name.removesuffix(" PTX")
    if arch.startswith("x86"):
        return cpu_image(folder / "cpu.so")
    if arch.startswith("gfx"):
        output = folder / f"{name}.hsaco"
        tool("clang++", *HIP, f"--offload-arch={arch}", HERE / "kernels.cu", "-o", output)
        return Image(
            ImageKind.OBJECT, OffloadKind.HIP, output.read_bytes(), strings("amdgcn-amd-amdhsa", arch)
        )
    ptx = folder / f"{arch}.ptx"
    tool(
        "clang++",
        *CUDA,
        f"--offload-arch={arch}",
        "--cuda-feature=+ptx80",
        "-S",
        HERE / "kernels.cu",
        "-o",
        ptx,
    )
    if name.endswith("PTX"):
        return Image(
            ImageKind.PTX, OffloadKind.CUDA, ptx.read_bytes() + b"\0", strings("nvptx64-nvidia-cuda", arch)
        )
    cubin = folder / f"{arch}.cubin"
    tool("ptxas", f"-arch={arch}", ptx, "-o", cubin)
    return Image(ImageKind.CUBIN, OffloadKind.CUDA, cubin.read_bytes(), strings("nvptx64-nvidia-cuda", arch))


CPU_KERNELS = "fails 0\nmiscounted 8 0:8:8\nnote 24 0:16:8 16:8:8\n"


def cpu_image(output: Path, *flags: str) -> Image:
    shared = ("-O1", "-fPIC", "-shared", "-fvisibility=hidden", *flags)
    tool("clang", *C11, *shared, HERE / "c" / "cpu_image.c", "-o", output)
    known = {**strings("x86_64-unknown-linux-gnu", "x86-64"), "offloadc.kernels": CPU_KERNELS}
    return Image(ImageKind.OBJECT, OffloadKind.CUDA, output.read_bytes(), known)


def strings(triple: str, arch: str) -> dict[str, str]:
    return {"triple": triple, "arch": arch}


def described(image: Image, unit: str) -> Image:
    """With the unit and the kernel table, as the driver writes them."""
    kernels = image.strings.get("offloadc.kernels")
    if kernels is None:
        facts = read_image(image)
        assert not isinstance(facts, Unknown), facts
        kernels = format_manifest(facts)
    known = {**image.strings, "offloadc.unit": unit, "offloadc.kernels": kernels}
    return Image(image.kind, image.offload_kind, image.data, known)


GPU_KERNELS = ("empty", "plain", "structs", "aligned", "last_is_small")
KERNELS = (*GPU_KERNELS, "note", "fails", "miscounted")


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory, stub_objects: tuple[Path, ...], standins: Path) -> Build:
    """Links c/steps.c with the stub, these images (or bundle bytes) and an entry a kernel."""
    made: dict[tuple[bytes, tuple[str, ...]], Program] = {}

    def make(*images: Image, kernels: Sequence[str] = KERNELS, bundle: bytes | None = None) -> Program:
        key = (offload_binary.write(images) if bundle is None else bundle, tuple(kernels))
        if key not in made:
            folder = tmp_path_factory.mktemp("program")
            link(folder, stub_objects, key[0], key[1])
            made[key] = Program(folder / "program", standins)
        return made[key]

    return make


def link(folder: Path, objects: Sequence[Path], bundle: bytes, kernels: Sequence[str]) -> None:
    (folder / "bundle").write_bytes(bundle)
    (folder / "images.s").write_text(embed_assembly(str(folder / "bundle"), "x86_64"))
    (folder / "entries.c").write_text(entries_source(kernels))
    own = ("entries.c", "images.s") if bundle else ("entries.c",)
    tool("clang", "-fPIE", "-pie", *C11, *own, *objects, "-o", "program", cwd=folder)


def entries_source(kernels: Sequence[str]) -> str:
    """What clang's host pass would write: a stub a kernel, and entries that name them."""
    stubs = "".join(f"static void stub_{i}(void) {{}}\n" for i in range(len(kernels)))
    section = '__attribute__((section("llvm_offload_entries"), used, aligned(8)))'
    entries = "".join(
        f'static const struct offload_entry entry_{i} {section} = {{0, 1, 2, 0, (void *)stub_{i}, "{name}", 0, 0, 0}};\n'
        for i, name in enumerate(kernels)
    )
    names = "".join(
        f'  if (!strcmp(name, "{name}")) return (void *)stub_{i};\n' for i, name in enumerate(kernels)
    )
    look_up = f"const void *stub_named(const char *name) {{\n{names}  return name;\n}}\n"
    return f'#include <string.h>\n#include "entries.h"\n{stubs}{entries}const void *stub_named(const char *name);\n{look_up}'
