"""Debug information out of IR, without a change to the code that comes of it."""

from __future__ import annotations

import re

from offloadc.device_pass.ir_edits.syntax import outside_strings, split_commas, without_comments

_NODE = re.compile(r"^!(\d+) = (?:distinct )?(.*)$")
_REFERENCE = re.compile(r"!(\d+)")
_ATTACHED = r",? !(?:dbg|DIAssignID|heapallocsite) !\d+"


def strip_debug_info(text: str) -> str:
    """The module without debug information, as StripDebugInfo leaves it."""
    lines = without_comments(text).splitlines()
    gone = {int(m[1]) for line in lines if (m := _NODE.match(line)) and m[2].startswith("!DI")}
    flag = {int(m[1]) for line in lines if (m := _NODE.match(line)) and _is_debug_flag(m[2])}
    kept = []
    for line in lines:
        if line.startswith("!"):
            edited = _metadata_line(line, gone, flag)
            if edited is not None:
                kept.append(edited)
        elif not line.lstrip().startswith("#dbg_"):
            kept.append(outside_strings(line, _ATTACHED, "") if " !" in line else line)
    return "\n".join(kept) + "\n"


def _is_debug_flag(node: str) -> bool:
    return any(f'!"{name}"' in node for name in ("Debug Info Version", "Dwarf Version", "DWARF64"))


def _metadata_line(line: str, gone: set[int], flag: set[int]) -> str | None:
    if line.startswith("!llvm.dbg.cu ="):
        return None
    if line.startswith("!llvm.module.flags ="):
        return _without_operands(line, flag)
    found = _NODE.match(line)
    if found and (int(found[1]) in gone or int(found[1]) in flag):
        return None
    return _without_operands(line, gone)


def _without_operands(line: str, gone: set[int]) -> str:
    """A tuple without the operands that are gone: a loop's source range, mostly."""
    head, brace, rest = line.partition("!{")
    if not brace or not any(int(n) in gone for n in _REFERENCE.findall(rest)):
        return line
    kept = [o for o in split_commas(rest[:-1]) if not (re.fullmatch(r"!\d+", o) and int(o[1:]) in gone)]
    return f"{head}!{{{', '.join(kept)}}}"


def lines_only(text: str, emission: str = "LineTablesOnly") -> str:
    """Debug information that tells files and lines only. nvptx: "DebugDirectivesOnly"."""
    return re.sub(
        r"(^!\d+ = distinct !DICompileUnit\(.*?emissionKind: )\w+", rf"\g<1>{emission}", text, flags=re.M
    )
