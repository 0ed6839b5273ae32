"""The string entry offloadc.kernels: one line a kernel, NAME SP ARGS_SIZE {SP OFFSET:SIZE:ALIGN} LF.

Bytes in the kernel-argument buffer; ALIGN 0: not stated (offloadc/runtime.h).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from offloadc.model import KernelFacts, KernelParam, OffloadcError

KEY = "offloadc.kernels"

_LINE = re.compile(
    r"(?P<name>[^\s\0]+) (?P<args_size>[0-9]{1,10})(?P<params>(?: [0-9]{1,10}:[0-9]{1,10}:[0-9]{1,10})*)"
)


def format_manifest(kernels: Iterable[KernelFacts]) -> str:
    """Kernels in the order of their names: the text does not depend on a reader's order."""
    return "".join(_line(kernel) for kernel in sorted(kernels, key=lambda kernel: kernel.name))


def _line(kernel: KernelFacts) -> str:
    params = "".join(f" {p.offset}:{p.size}:{p.align or 0}" for p in kernel.params)
    line = f"{kernel.name} {kernel.args_size}{params}"
    if not _LINE.fullmatch(line):
        raise OffloadcError(f"kernel {kernel.name!r} cannot be listed in a manifest: {line!r}")
    return line + "\n"


def parse_manifest(text: str, where: str = KEY) -> tuple[KernelFacts, ...]:
    return tuple(_kernel(line, where) for line in text.split("\n") if line)


def _kernel(line: str, where: str) -> KernelFacts:
    found = _LINE.fullmatch(line)
    if not found:
        raise OffloadcError(f"{where}: malformed manifest line {line[:80]!r}")
    params = tuple(_param(words) for words in found["params"].split())
    return KernelFacts(found["name"], params, int(found["args_size"]))


def _param(words: str) -> KernelParam:
    offset, size, align = (int(word) for word in words.split(":"))
    return KernelParam(offset, size, align or None)
