"""What several passes over one source say, said once.

Clang reports a wrong line in every pass that compiles it. Blocks that all passes print are shown
once; a block that only some print is followed by the names of those passes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_ANSI = re.compile(r"\x1b\[[0-9;]*[mK]")
_HEAD = re.compile(r"^(?:\S.*?:\d+:\d+: |\S+: )?(?:fatal error|error|warning|remark): ")
_INCLUDED = re.compile(r"^(?:In file included from |\s+from )")
_SUMMARY = re.compile(r"^\d+ (?:warning|error)s?(?: and \d+ errors?)? generated")


@dataclass(frozen=True, slots=True)
class Block:
    """One diagnostic with its include stack, snippet and notes; `key` is it without colour."""

    key: str
    text: str


def blocks(text: str) -> tuple[Block, ...]:
    """Split a compiler's stderr into diagnostics; summaries such as '1 error generated.' are dropped."""
    groups: list[list[str]] = []
    stack: list[str] = []
    for line in text.splitlines():
        plain = _ANSI.sub("", line)
        if _SUMMARY.match(plain):
            continue
        if _INCLUDED.match(plain):
            stack.append(line)
        elif _HEAD.match(plain) or not groups:
            groups.append([*stack, line])
            stack = []
        else:
            groups[-1].extend((*stack, line))
            stack = []
    if stack:
        groups.append(stack)
    return tuple(Block(_ANSI.sub("", "\n".join(g)), "\n".join(g)) for g in groups)


def merge(by_pass: Mapping[str, str]) -> str:
    """One text of all passes' diagnostics, in the order in which the passes are given."""
    split = {name: blocks(text) for name, text in by_pass.items()}
    order: dict[str, str] = {}
    said_by: dict[str, list[str]] = {}
    for name, found in split.items():
        for block in dict.fromkeys(found):
            order.setdefault(block.key, block.text)
            said_by.setdefault(block.key, []).append(name)
    parts: list[str] = []
    for key, text in order.items():
        parts.append(text)
        if len(by_pass) > 1 and len(said_by[key]) < len(by_pass):
            parts.append(_only(said_by[key], [n for n in by_pass if n not in said_by[key]]))
    return "".join(part + "\n" for part in parts)


def _only(saying: list[str], silent: list[str]) -> str:
    passes = "pass" if len(saying) == 1 else "passes"
    return f"note: only in the {passes} {', '.join(saying)}; not in {', '.join(silent)}"
