"""--offload-arch=native: the archs that LLVM's own tools name. They are stand-ins here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import LLVM, Box

SOURCE = "#include <offloadc/offload.h>\n__global__ void k(int *p) { *p = 1; }\nint main() {}\n"


@pytest.fixture
def prefix(box: Box, tmp_path: Path) -> Path:
    """An LLVM prefix whose nvptx-arch finds two kinds of GPU."""
    root = tmp_path / "llvm"
    (root / "bin").mkdir(parents=True)
    (root / "lib").symlink_to(LLVM / "lib")
    for tool in (LLVM / "bin").iterdir():
        if tool.name not in ("nvptx-arch", "amdgpu-arch"):
            (root / "bin" / tool.name).symlink_to(tool)
    for name, archs in (("nvptx-arch", "sm_90\\nsm_90\\n"), ("amdgpu-arch", "gfx90a:sramecc+:xnack-\\n")):
        (root / "bin" / name).write_text(f"#!/bin/sh\nprintf '{archs}'\n")
        (root / "bin" / name).chmod(0o755)
    return root


def test_native_is_what_is_there(box: Box, prefix: Path) -> None:
    box.write("k.cpp", SOURCE)
    box.build("-O1", "--offload-arch=native,gfx942", "-c", "k.cpp", OFFLOADC_LLVM=str(prefix))
    listed = box.tool("llvm-objdump", "--offloading", "k.o")
    archs = [line.split()[1] for line in listed.splitlines() if line.startswith("arch")]
    assert archs == ["sm_90", "sm_90", "gfx90a:sramecc+:xnack-", "gfx942", "x86-64"]  # cubin and PTX


def test_doctor_lists_them(box: Box, prefix: Path) -> None:
    done = box.offloadc("doctor", OFFLOADC_LLVM=str(prefix))
    assert "GPU sm_90" in done.out
    assert "GPU gfx90a:sramecc+:xnack-" in done.out
    assert done.out.count("GPU sm_90") == 1


def test_native_where_there_is_none(box: Box, prefix: Path) -> None:
    box.write("k.cpp", SOURCE)
    for name in ("nvptx-arch", "amdgpu-arch"):
        (prefix / "bin" / name).write_text("#!/bin/sh\nexit 1\n")
    err = box.fails("--offload-arch=native", "-c", "k.cpp", OFFLOADC_LLVM=str(prefix))
    assert "--offload-arch=native: no GPU was found on this machine" in err
