"""Every program compiles, without a warning, in all four passes and down to each device's own code."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .conftest import PASS_NAMES, PROGRAMS, Compiler, own_flags

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")

# Where standard versions change what the header or libstdc++ declare.
VERSIONED = ("complex", "host_math", "lambdas", "math", "spans", "standard_library")

# What a CPU image may leave for its engine and for libm and libc to define.
_LIBM = """sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p cbrt
    erf erfc tgamma lgamma logb pow hypot atan2 fmod remainder fdim nextafter ldexp frexp ilogb""".split()
# `scratch` is an extern __shared__ array of shared_dynamic.cpp, which retargeting replaces.
CPU_EXTERNALS = {"scratch", *_LIBM, *(f"{name}f" for name in _LIBM), "memcpy", "memset", "memmove"}


def _warnings(source: Path) -> tuple[str, ...]:
    third_party = source.stem.startswith(("eigen", "fmt", "boost"))
    return ("-w",) if third_party else WARNINGS


def _undefined(compiler: Compiler, module: Path) -> set[str]:
    """Strong references only: threadIdx and its like are weak, and gone once anything is optimised."""
    command = (str(compiler.tools.tool("llvm-nm")), "--undefined-only", "--format=posix", str(module))
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listing.splitlines() if line.split()[1] == "U"}


@pytest.mark.parametrize("pass_name", PASS_NAMES)
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda p: p.stem)
def test_compiles(compiler: Compiler, source: Path, pass_name: str, tmp_path: Path) -> None:
    output = tmp_path / "output"
    emit = compiler.passes[pass_name].emit
    done = compiler.run(pass_name, source, *_warnings(source), *own_flags(source), *emit, "-o", str(output))
    assert (done.returncode, done.stderr) == (0, "")
    if pass_name == "sm_90":
        _assemble(compiler, output)
    if pass_name == "cpu":
        left = {s for s in _undefined(compiler, output) if not s.startswith("__offloadc_cpu_")}
        assert left <= CPU_EXTERNALS


def _assemble(compiler: Compiler, ptx: Path) -> None:
    assert compiler.tools.ptxas, "ptxas of the README is missing"
    command = (str(compiler.tools.ptxas), "-arch=sm_90", str(ptx), "-o", f"{ptx}.cubin")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("pass_name", PASS_NAMES)
@pytest.mark.parametrize("std", ["c++17", "c++23"])
@pytest.mark.parametrize("source", [p for p in PROGRAMS if p.stem in VERSIONED], ids=lambda p: p.stem)
def test_other_standards(compiler: Compiler, source: Path, std: str, pass_name: str) -> None:
    done = compiler.run(pass_name, source, *_warnings(source), "-fsyntax-only", std=std)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("pass_name", ["sm_90", "gfx90a"])
@pytest.mark.parametrize("source", [p for p in PROGRAMS if p.stem in ("ids", "warps")], ids=lambda p: p.stem)
def test_without_optimisation(compiler: Compiler, source: Path, pass_name: str, tmp_path: Path) -> None:
    output = tmp_path / "output"
    emit = tuple("-O0" if word == "-O2" else word for word in compiler.passes[pass_name].emit)
    done = compiler.run(pass_name, source, *emit, "-o", str(output))
    assert (done.returncode, done.stderr) == (0, "")
    if pass_name == "sm_90":
        _assemble(compiler, output)


def test_without_exceptions(compiler: Compiler, tmp_path: Path) -> None:
    source = next(p for p in PROGRAMS if p.stem == "spans")
    for pass_name in PASS_NAMES:
        done = compiler.run(pass_name, source, *WARNINGS, "-fno-exceptions", "-fsyntax-only")
        assert (done.returncode, done.stderr) == (0, ""), pass_name
