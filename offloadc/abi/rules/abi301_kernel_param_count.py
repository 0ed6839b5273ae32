"""Two device images state different numbers or sizes of parameters for one kernel.

One launch passes the same values to whichever image the device takes, so all must agree.

Bad:
    struct Config {
    #ifdef __OFFLOADC_TARGET_AMDGCN__
      double tolerance;
    #else
      float tolerance;
    #endif
    };
    __global__ void solve(Config c, float *x) { *x = float(c.tolerance); }

Good:
    struct Config { float tolerance; };
    __global__ void solve(Config c, float *x) { *x = c.tolerance; }
"""

from __future__ import annotations

from collections.abc import Iterator

from offloadc.abi.rule import Rule, UnitEvidence
from offloadc.model import Finding, KernelFacts, Severity, Unknown


def _check(evidence: UnitEvidence) -> Iterator[Finding]:
    first: dict[str, tuple[str, KernelFacts]] = {}
    for device in evidence.devices:
        if isinstance(device.kernels, Unknown):
            continue
        for kernel in device.kernels:
            pass_name, other = first.setdefault(kernel.name, (device.pass_name, kernel))
            if pass_name != device.pass_name and _sizes(kernel) != _sizes(other):
                yield _finding(pass_name, other, device.pass_name, kernel)


def _sizes(kernel: KernelFacts) -> tuple[int, ...]:
    return tuple(p.size for p in kernel.params)


def _finding(one: str, first: KernelFacts, other: str, second: KernelFacts) -> Finding:
    return Finding(
        "kernel-param-size" if len(first.params) == len(second.params) else "kernel-param-count",
        Severity.ERROR,
        f"the parameters of kernel {first.name} differ between the {one} and the {other} pass",
        notes=(
            f"{one}: sizes {', '.join(map(str, _sizes(first))) or 'none'}",
            f"{other}: sizes {', '.join(map(str, _sizes(second))) or 'none'}",
        ),
        help="give the parameter types one layout in every pass",
    )


RULE = Rule("ABI301", "kernel-param-count", _check)
