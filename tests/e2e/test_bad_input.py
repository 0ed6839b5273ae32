"""Each wrong thing: one clear error, exit code 1, nothing partial left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Box

GOOD = """\
#include <offloadc/offload.h>
__global__ void k(int *p) { p[0] = 1; }
int main() { k<<<1, 1>>>(nullptr); }
"""


def test_no_source(box: Box) -> None:
    assert "error: no input files" in box.fails("-o", "x")


def test_absent_and_unreadable_source(box: Box) -> None:
    assert "cannot read 'absent.cpp': No such file or directory" in box.fails("absent.cpp")
    box.path("folder.cpp").mkdir()
    assert "cannot read 'folder.cpp': Is a directory" in box.fails("folder.cpp")


def test_unknown_arch_names_the_nearest(box: Box) -> None:
    box.write("k.cpp", GOOD)
    assert "did you mean gfx942?" in box.fails("--offload-arch=gfx94", "k.cpp")


def test_unwritable_output(box: Box) -> None:
    box.write("k.cpp", GOOD)
    assert "cannot write 'absent/k'" in box.fails("--offload-arch=x86-64", "k.cpp", "-o", "absent/k")


def test_error_in_every_pass_is_said_once(box: Box) -> None:
    box.write("k.cpp", GOOD.replace("p[0] = 1", "p[0] = nothing"))
    err = box.fails("--offload-arch=sm_90,gfx90a", "k.cpp", "-o", "k")
    assert err.count("use of undeclared identifier 'nothing'") == 1
    assert "only in" not in err
    assert "k.cpp: compilation failed (every pass)" in err


def test_error_in_one_pass_names_it(box: Box) -> None:
    text = GOOD.replace("p[0] = 1", "p[0] = 1 ON_AMD")
    box.write(
        "k.cpp", "#if __OFFLOADC_TARGET_AMDGCN__\n#define ON_AMD +\n#else\n#define ON_AMD\n#endif\n" + text
    )
    err = box.fails("--offload-arch=sm_90,gfx90a", "k.cpp", "-o", "k")
    assert "note: only in the pass gfx90a; not in host, sm_90, x86-64" in err
    assert "k.cpp: compilation failed (gfx90a)" in err


def test_warning_of_all_passes_is_said_once(box: Box) -> None:
    box.write("k.cpp", GOOD.replace("p[0] = 1", "int unused; p[0] = 1"))
    done = box.offloadc("-Wall", "--offload-arch=sm_90", "k.cpp", "-o", "k")
    assert done.code == 0
    assert done.err.count("unused variable") == 1


def test_misspelled_clang_flag(box: Box) -> None:
    box.write("k.cpp", GOOD)
    err = box.fails("-ffast-mth", "--offload-arch=sm_90", "k.cpp")
    assert err.count("unknown argument '-ffast-mth'; did you mean '-ffast-math'?") == 1


def test_link_error_is_the_linkers_own(box: Box) -> None:
    box.write("k.cpp", GOOD.replace("int main() {", "void missing(); int main() { missing();"))
    err = box.fails("--offload-arch=x86-64", "k.cpp", "-o", "k")
    assert "missing()" in err
    assert err.count("offloadc: error:") == 1


def test_external_device_function_is_explained(box: Box) -> None:
    box.write(
        "k.cpp",
        GOOD.replace("__global__", "__device__ int elsewhere();\n__global__").replace("= 1", "= elsewhere()"),
    )
    for arch in ("sm_90", "gfx90a", "x86-64"):
        err = box.fails(f"--offload-arch={arch}", "k.cpp", "-o", "k")
        assert "_Z9elsewherev" in err or "elsewhere()" in err
        assert "must be defined in the same source or in a header" in err


def test_ptx_assembly_on_the_cpu_device_is_an_error_with_its_line(box: Box) -> None:
    box.write("k.cpp", GOOD.replace("p[0] = 1;", '\n  asm("mov.u32 %0, %%laneid;" : "=r"(p[0]));'))
    err = box.fails("--offload-arch=sm_90", "k.cpp", "-o", "k")
    assert err.startswith("k.cpp:3:3: error: inline PTX assembly")
    assert err.endswith("offloadc: error: code generation failed (x86-64)\n")


def test_compiler_crash(box: Box) -> None:
    box.write("k.cpp", GOOD + "#pragma clang __debug crash\n")
    err = box.fails("--offload-arch=x86-64", "k.cpp", "-o", "k")
    assert "crashed" in err
    assert "-save-temps" in err


def test_back_end_crash_does_not_take_the_driver_down(box: Box) -> None:
    box.write(
        "k.cpp",
        GOOD.replace("int *p) { p[0] = 1; }", "float *p, __int128 *q) { p[0] = (float)q[0]; }").replace(
            "(nullptr)", "(nullptr, nullptr)"
        ),
    )
    err = box.fails("-O2", "--offload-arch=sm_90", "k.cpp", "-o", "k")
    assert "sm_90" in err
    assert err.count("offloadc: error:") == 1


def test_clang_missing(box: Box) -> None:
    box.write("k.cpp", GOOD)
    assert "there is no bin/clang++" in box.fails("k.cpp", OFFLOADC_LLVM=str(box.folder))


def fake_tool(box: Box, name: str, text: str) -> Path:
    box.path("bin").mkdir(exist_ok=True)
    tool = box.path(f"bin/{name}")
    tool.write_text("#!/bin/sh\n" + text)
    tool.chmod(0o755)
    return tool


def test_clang_of_another_version(box: Box) -> None:
    box.write("k.cpp", GOOD)
    fake_tool(box, "clang++", "echo 'Debian clang version 14.0.6'")
    err = box.fails("k.cpp", OFFLOADC_LLVM=str(box.folder))
    assert "no clang 22 found" in err
    assert "is 14.0.6" in err


def test_a_part_of_llvm_missing(box: Box) -> None:
    box.write("k.cpp", GOOD)
    box.path("bin").mkdir()
    for name in ("clang", "clang++"):
        box.path(f"bin/{name}").symlink_to(f"/usr/lib/llvm-22/bin/{name}")
    err = box.fails("k.cpp", OFFLOADC_LLVM=str(box.folder))
    assert "bin/ld.lld is missing" in err
    assert "apt-get install lld-22" in err


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("raise ImportError('broken')\n", "error: llvmlite cannot be loaded: broken"),
        ("llvm_version_info = (20, 1, 0)\ndef __getattr__(n): return lambda *a, **k: None\n", "LLVM 20"),
    ],
)
def test_llvmlite_broken_or_of_another_llvm(box: Box, module: str, message: str) -> None:
    box.write("k.cpp", GOOD)
    box.write("fake/llvmlite/__init__.py", "")
    box.write("fake/llvmlite/binding.py", module)
    err = box.fails(
        *("--offload-arch=x86-64", "--no-cache", "-c", "k.cpp"),
        PYTHONPATH=f"{box.path('fake')}:{ROOT}",
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert message in err


def test_closed_streams(box: Box) -> None:
    box.write("k.cpp", GOOD)
    line = f"{sys.executable} -m offloadc --offload-arch=x86-64 -c k.cpp -o k.o 2>&- >&-"
    assert box.command("/bin/sh", "-c", line).code == 0


def test_ptxas_missing_means_ptx_and_a_warning(box: Box) -> None:
    box.write("k.cpp", GOOD)
    done = box.offloadc("--offload-arch=sm_90", "k.cpp", "-o", "k", OFFLOADC_PTXAS="none")
    assert done.code == 0
    assert "warning: ptxas not found: sm_90 gets PTX only" in done.err
    listed = box.tool("llvm-objdump", "--offloading", "k")
    assert "ptx" in listed
    assert "cubin" not in listed


def test_ptxas_that_fails(box: Box) -> None:
    box.write("k.cpp", GOOD)
    tool = fake_tool(
        box,
        "ptxas",
        'case $1 in --version) echo "release 13.0, V13.0.88";; *) echo "ptxas fatal: boom"; exit 255;; esac',
    )
    err = box.fails("--offload-arch=sm_90", "k.cpp", "-o", "k", OFFLOADC_PTXAS=str(tool))
    assert "ptxas fatal: boom" in err


def test_full_disk(box: Box, tmp_path: Path) -> None:
    box.write("k.cpp", GOOD)
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ("mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)), capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("cannot mount a small file system here")
    try:
        err = box.fails("--offload-arch=x86-64", "k.cpp", "-o", "k", TMPDIR=str(small), OFFLOADC_CACHE="0")
        assert "No space left on device" in err or "no space left" in err.lower()
        err = box.fails("--offload-arch=x86-64", "k.cpp", "-o", str(small / "k"), OFFLOADC_CACHE="0")
        assert "No space left on device" in err
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(("umount", str(small)), check=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_leaves_nothing(box: Box, tmp_path: Path, number: signal.Signals) -> None:
    box.write("k.cpp", GOOD)
    slow = fake_tool(box, "slow", "sleep 60\n")
    before = box.listing()
    temporary = tmp_path / "t"
    temporary.mkdir()
    child = subprocess.Popen(
        (sys.executable, "-m", "offloadc", "--no-cache", f"--launcher={slow}", "k.cpp", "-o", "k"),
        cwd=box.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not list(temporary.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    child.send_signal(number)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 1
    assert err == "offloadc: error: interrupted; nothing was written\n"
    assert box.listing() == before
    assert list(temporary.iterdir()) == []


def test_disagreement_stops_the_link(box: Box) -> None:
    box.write(
        "k.cpp",
        "#include <offloadc/offload.h>\n"
        "#if __OFFLOADC_DEVICE_PASS__\nconstexpr int width = 4;\n#else\nconstexpr int width = 8;\n#endif\n"
        "template <int N> __global__ void fill(int *out) { out[threadIdx.x] = N; }\n"
        "int main() { fill<width><<<1, 32>>>(nullptr); }\n",
    )
    err = box.fails("--offload-arch=sm_90", "k.cpp", "-o", "k")
    assert "[kernel-missing-on-device]" in err
    assert "_Z4fillILi8EEvPi" in err
