"""A kernel that the host can launch is not in a device image.

The launch would fail when the program runs on that device. It happens when the set of instances
depends on something the passes disagree about: a macro of one pass, alignof, sizeof.

Bad:
    template <int N> __global__ void fill(int *out) { out[threadIdx.x] = N; }
    #ifdef __OFFLOADC_DEVICE_PASS__
    constexpr int width = 4;
    #else
    constexpr int width = 8;
    #endif
    int main() { fill<width><<<1, 32>>>(nullptr); }

Good:
    constexpr int width = 8;
    int main() { fill<width><<<1, 32>>>(nullptr); }
"""

from __future__ import annotations

from collections.abc import Iterator

from offloadc.abi.rule import Rule, UnitEvidence
from offloadc.model import Finding, Severity, Unknown


def _check(evidence: UnitEvidence) -> Iterator[Finding]:
    if isinstance(evidence.host, Unknown):
        return
    for device in evidence.devices:
        if isinstance(device.kernels, Unknown):
            continue
        there = {kernel.name for kernel in device.kernels}
        for host_name in evidence.host.kernels:
            name = evidence.device_name(host_name)
            if name not in there:
                yield _finding(name, device.pass_name, sorted(there))


def _finding(name: str, pass_name: str, there: list[str]) -> Finding:
    return Finding(
        "kernel-missing-on-device",
        Severity.ERROR,
        f"the host launches kernel {name}, which the {pass_name} pass did not compile",
        notes=(f"kernels of the {pass_name} image: {', '.join(there) or 'none'}",),
        help="let the instance depend only on what every pass sees alike (no device macro, no alignof)",
    )


RULE = Rule("ABI201", "kernel-missing-on-device", _check)
