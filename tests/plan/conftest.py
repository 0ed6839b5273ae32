"""Plans are asserted without a compiler: the tools are names, nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from offloadc import host_pass, options
from offloadc.driver import make_plan
from offloadc.driver.plan import Plan, device_passes
from offloadc.model import Invocation, Toolchain

TOOLS = Toolchain(
    llvm=Path("/llvm"),
    llvm_version="22.1.8",
    ptxas=Path("/cuda/ptxas"),
    ptxas_version="13.0",
    libdevice=Path("/cuda/libdevice.10.bc"),
    rocm_device_libs=None,
    libclc=None,
    liboffload=None,
    python="python3",
)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("app.cpp").write_text("int main() {}\n")
    return "app.cpp"


def parse(*words: str) -> Invocation:
    return options.parse(words, suffixes=host_pass.suffixes(), languages=host_pass.names())


def plan(*words: str, tools: Toolchain = TOOLS, present: tuple[str, ...] = ()) -> Plan:
    inv = parse(*words)
    triple = inv.host_triple or "x86_64-pc-linux-gnu"
    return make_plan(inv, tools, Path("/w"), device_passes(inv, present, triple), triple)
