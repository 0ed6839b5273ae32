"""Programs of examples/, compiled once a test run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def clangxx() -> str:
    found = shutil.which("clang++-22") or shutil.which(
        "clang++", path="/usr/lib/llvm-22/bin:" + os.environ["PATH"]
    )
    if found is None:
        pytest.fail("no clang++: run scripts/setup.sh")
    return found


@pytest.fixture(scope="session")
def image_tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program over examples/heat/image.hpp with sanitizers: reads a picture, prints or rewrites it."""
    out = tmp_path_factory.mktemp("image") / "image_tool"
    flags = ["-std=c++17", "-g", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    source = Path(__file__).with_name("image_tool.cpp")
    include = ROOT / "examples" / "heat"
    subprocess.run(
        [clangxx(), *flags, *sanitize, "-I", str(include), str(source), "-o", str(out)], check=True
    )
    return out
