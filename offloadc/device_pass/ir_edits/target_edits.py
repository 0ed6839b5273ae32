"""Edits that take nvptx64's own words out of a module: layout, attributes, intrinsics, linkage."""

from __future__ import annotations

import re

from offloadc.device_pass.ir_edits import library
from offloadc.device_pass.ir_edits.syntax import (
    GLOBAL,
    IDENTIFIER,
    global_names,
    location,
    metadata,
    next_metadata,
    outside_strings,
    shorten,
    without_comments,
)
from offloadc.model import OffloadcError

X86_64_TRIPLE = "x86_64-pc-linux-gnu"
# clang 22's, from `clang --target=x86_64-pc-linux-gnu -S -emit-llvm`
X86_64_LAYOUT = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"


def check_nvptx(text: str) -> str:
    """Refuse what is no nvptx64 module with 64-bit pointers everywhere; drop comments."""
    text = without_comments(text)
    triple = re.search(r'^target triple = "([^"]*)"', text, re.M)
    layout = re.search(r'^target datalayout = "([^"]*)"', text, re.M)
    if not triple or not layout or not triple[1].startswith("nvptx64"):
        found = triple[1] if triple else "something else"
        raise OffloadcError(f"the CPU device's image is made from nvptx64 IR, this is {found}")
    if re.search(r"-p[1345]?:32", layout[1]):
        raise OffloadcError(
            f"pointers of 32 bits in the device pass (data layout {layout[1]})",
            hint="compile without -fcuda-short-ptr",
        )
    if re.search(r"^module asm ", text, re.M):
        raise OffloadcError("assembly at file level cannot run on the CPU device")
    return text


# ----------------------------------------------------------------------------- inline assembly
_ASM = re.compile(r'\bcall\b[^"]*?\basm\b[a-z ]* "([^"]*)", "([^"]*)"')
_ANY_ASM = re.compile(r'\basm\b[a-z ]* "')
_BARRIER_CONSTRAINTS = frozenset(("=r", "r", "=&r", "+r", "=*m", "*m", "~{memory}", "0", "1", "2", "3"))


def refuse_inline_assembly(text: str) -> str:
    """PTX cannot run here. Empty assembly, the compiler barrier of many a header, can."""
    nodes = None
    for line in text.splitlines():
        if " asm " not in line or not _ANY_ASM.search(line):
            continue
        found = _ASM.search(line)
        if found and not found[1] and set(found[2].split(",")) <= _BARRIER_CONSTRAINTS | {""}:
            continue
        if found or re.search(r"^\s+(%\S+ = )?(tail |musttail |notail )?(call|callbr|invoke)\b", line):
            nodes = metadata(text) if nodes is None else nodes
            shown = found[1] if found else shorten(line.strip())
            raise OffloadcError(
                f'inline PTX assembly "{shorten(shown, 60)}" cannot run on the CPU device',
                hint="guard it with #ifdef __OFFLOADC_TARGET_NVPTX__ and give other targets plain C++",
                where=location(nodes, line),
            )
    return text


# ----------------------------------------------------------------------------- intrinsics
_NVVM_NAME = re.compile(r"@llvm\.nvvm\.[\w.]+")
_BARRIER_WITH_ID = re.compile(
    r"@llvm\.nvvm\.barrier\.cta\.sync\.(?:aligned\.)?all\(i32 (?:noundef )?([^)]*)\)"
)


def lower_nvvm_intrinsics(text: str) -> str:
    """Give NVVM's intrinsics bodies for the CPU; name the one that has none, and where it stands."""
    lines = []
    for line in text.splitlines():
        if line.startswith("declare ") and "@llvm.nvvm." in line:
            continue
        if line.startswith(" ") and "@llvm.nvvm." in line:
            _refuse_unknown_intrinsics(text, line)
            line = _NVVM_NAME.sub(lambda m: library.NVVM[m[0]], line)
        if "@vprintf(" in line and not line.startswith("@"):
            # clang packs the arguments of a kernel's printf into a buffer that is no va_list.
            line = line.replace("@vprintf(", "@__offloadc_cpu_vprintf(")
        lines.append(line)
    text = "\n".join(lines)
    called = sorted(global_names(text) & set(library.NVVM.values()))
    return "\n".join((text, *map(library.declaration, called))) + "\n"


def _refuse_unknown_intrinsics(text: str, line: str) -> None:
    for name in _NVVM_NAME.findall(line):
        if name not in library.NVVM:
            raise OffloadcError(
                f"{name[1:]} cannot run on the CPU device",
                hint="use the header's functions, or guard it with #ifdef __OFFLOADC_TARGET_NVPTX__",
                where=location(metadata(text), line),
            )
    barrier = _BARRIER_WITH_ID.search(line)
    if barrier and barrier[1] != "0":
        raise OffloadcError(
            f"barrier {barrier[1]}: only a block's barrier 0 can run on the CPU device",
            where=location(metadata(text), line),
        )


def link_library(text: str) -> str:
    """Add the definitions that the module needs of the library, and what they call."""
    names = library.closure(global_names(text))
    added = [library.DEFINITIONS[name] for name in names]
    lines = [line for line in text.splitlines() if not _declares_any(line, set(names))]
    needed = {name for one in added for name in GLOBAL.findall(one)} | global_names(text)
    declared = {**library.DECLARATIONS}
    for one in added:
        declared |= library.intrinsic_declaration(one)
    known = {name for line in lines if (name := _declared(line))}
    extra = [declared[name] for name in sorted(needed & declared.keys()) if name not in known]
    return "\n".join(_hide_engine(line) for line in (*lines, *extra, *added)) + "\n"


def _declared(line: str) -> str | None:
    if line.startswith("declare "):
        found = GLOBAL.search(line)
        return found[0] if found else None
    found = re.match(rf"(@{IDENTIFIER}) = ", line)
    return found[1] if found else None


def _declares_any(line: str, names: set[str]) -> bool:
    return line.startswith("declare ") and _declared(line) in names


def _hide_engine(line: str) -> str:
    """The engine is linked into the image: its functions are called without a PLT."""
    if line.startswith("declare ") and _declared(line) in library.DECLARATIONS and "@llvm." not in line:
        return re.sub(r"^declare ((?:!dbg !\d+ )?)(?:dso_local |hidden )*", r"declare \1hidden ", line)
    return line


# ----------------------------------------------------------------------------- address spaces
def flatten_address_spaces(text: str) -> str:
    """One address space: casts between them become casts that change nothing, which LLVM folds."""
    text = outside_strings(text, r",? addrspace\(\d+\)", "")
    text = outside_strings(text, r"\baddrspacecast\b", "bitcast")
    text = outside_strings(text, r"@llvm\.[\w.]+", _generic_overload)
    text = re.sub(r"!DIExpression\([^)]*DW_OP_xderef[^)]*\)", _generic_expression, text)
    return _without_doubled_declarations(text)


def _generic_overload(intrinsic: re.Match[str]) -> str:
    return re.sub(r"(\.(?:v\d+)?p)\d+(?=\.|$)", r"\g<1>0", intrinsic[0])


def _generic_expression(expression: re.Match[str]) -> str:
    # DWARF's way to name nvptx's address spaces; x86-64 has none.
    kept = re.sub(r"DW_OP_constu, \d+, DW_OP_swap, DW_OP_xderef(?:, )?", "", expression[0])
    return kept.replace(", )", ")")


def _without_doubled_declarations(text: str) -> str:
    seen: set[str] = set()
    kept = []
    for line in text.splitlines():
        if line.startswith("declare "):
            name = _declared(line)
            if name in seen:
                continue
            seen.add(name or "")
        kept.append(line)
    return "\n".join(kept) + "\n"


def drop_synchronization_scopes(text: str) -> str:
    """ "block", "device", ... are nvptx's; the whole process is the CPU device's only scope."""
    lines = (_SCOPE.sub("", line) if line.startswith(" ") else line for line in text.splitlines())
    return "\n".join(lines) + "\n"


_SCOPE = re.compile(r' syncscope\("(?!singlethread")[^"]*"\)')


# ----------------------------------------------------------------------------- linkage
_LINKAGE = frozenset(
    "private internal available_externally linkonce weak common appending extern_weak linkonce_odr weak_odr "
    "external".split()
)
_OTHER_PREFIXES = frozenset(
    "hidden protected default dso_local dso_preemptable externally_initialized".split()
)
_KEPT_LINKAGE = frozenset("private internal available_externally external extern_weak appending".split())
_GLOBAL_VARIABLE = re.compile(
    rf"^(@{IDENTIFIER}) = ((?:[a-z_]+(?:\([^)]*\))? )*?)(global|constant|alias|ifunc) "
)
_COMDAT = r",? comdat(?:\(\$" + IDENTIFIER + r"\))?"
_LISTS = ("@llvm.used ", "@llvm.compiler.used ", "@__clang_gpu_used_external ")


def internalize(text: str) -> str:
    """Nothing outside the image can name what is in it: definitions become internal."""
    lines = []
    for line in text.splitlines():
        if line.startswith(_LISTS) or re.match(rf"^\${IDENTIFIER} = comdat ", line):
            continue
        if line.startswith("@"):
            line = _internal_variable(line)
        elif line.startswith("define "):
            line = _internal_function(line)
        elif line.startswith("declare "):
            line = re.sub(
                r"^declare ((?:!dbg !\d+ )?)((?:[a-z_]+ )*?)dso_local ",
                lambda m: f"declare {m[1]}{m[2]}",
                line,
            )
        lines.append(line)
    return "\n".join(lines) + "\n"


def _internal_variable(line: str) -> str:
    found = _GLOBAL_VARIABLE.match(line)
    if not found:
        raise OffloadcError(f"malformed IR: {shorten(line)}")
    words = found[2].split()
    linkage = next((w for w in words if w in _LINKAGE), "")
    kept = [w for w in words if w not in _LINKAGE and w not in _OTHER_PREFIXES]
    if linkage == "extern_weak":
        kept.insert(0, "hidden")
    linkage = linkage if linkage in _KEPT_LINKAGE else "internal"
    rest = outside_strings(line[found.end() :], _COMDAT, "")
    return f"{found[1]} = {' '.join((linkage, *kept, found[3]))} {rest}"


def _internal_function(line: str) -> str:
    words = line.split(" ")
    at = 1
    while at < len(words) and (words[at] in _LINKAGE or words[at] in _OTHER_PREFIXES):
        at += 1
    linkage = next((w for w in words[1:at] if w in ("private", "available_externally")), "internal")
    rest = " ".join(words[at:])
    if linkage != "available_externally":
        rest = outside_strings(rest, _COMDAT, "")
    return f"define {linkage} {rest}"


# ----------------------------------------------------------------------------- attributes
_TARGET_ATTRIBUTES = re.compile(
    r' "(?:target-cpu|tune-cpu|target-features|uniform-work-group-size|frame-pointer|denormal-fp-math[\w-]*'
    r'|nvvm\.[\w.-]+)"(?:="[^"]*")?'
)


def drop_target_attributes(text: str) -> str:
    """nvptx's CPU, features and launch bounds. Functions get unwind tables, so that gdb and
    exceptions can walk through kernels. `convergent` has nothing to hold: each thread runs alone."""

    def one(line: str) -> str:
        if not line.startswith("attributes #"):
            return line
        table = "uwtable " if '"target-cpu"=' in line else ""
        line = outside_strings(_TARGET_ATTRIBUTES.sub("", line), r"\bconvergent ", "")
        return line.replace("= { ", f"= {{ {table}", 1)

    return "\n".join(map(one, text.splitlines())) + "\n"


# ----------------------------------------------------------------------------- module level
_DROPPED_FLAGS = ("nvvm-reflect-ftz", "nvvm-reflect-prec-sqrt", "nvvm-reflect-prec-div", "frame-pointer")


def retarget_module(text: str) -> str:
    """Triple, data layout, NVVM's named metadata and the module flags."""
    text = re.sub(r"^target triple = .*$", f'target triple = "{X86_64_TRIPLE}"', text, flags=re.M)
    text = re.sub(r"^target datalayout = .*$", f'target datalayout = "{X86_64_LAYOUT}"', text, flags=re.M)
    text = re.sub(r"^!nvvm[\w.]* = .*\n", "", text, flags=re.M)
    return _module_flags(_dwarf_emission(text))


def _dwarf_emission(text: str) -> str:
    # clang asks for lines only in nvptx's optimised code; DWARF has another word for that.
    return re.sub(
        r"(^!\d+ = distinct !DICompileUnit\(.*?emissionKind: )DebugDirectivesOnly",
        r"\g<1>LineTablesOnly",
        text,
        flags=re.M,
    )


def _module_flags(text: str) -> str:
    found = re.search(r"^!llvm\.module\.flags = !\{([^}]*)\}$", text, re.M)
    kept, dropped = [], []
    nodes = metadata(text)
    for reference in found[1].split(", ") if found and found[1] else []:
        node = nodes.get(int(reference[1:]), "") if re.fullmatch(r"!\d+", reference) else ""
        if not any(
            f'!"{flag}"' in node for flag in (*_DROPPED_FLAGS, "Dwarf Version", "PIC Level", "uwtable")
        ):
            kept.append(reference)
        else:
            dropped.append(reference)
    for reference in dropped:
        text = re.sub(rf"^{reference} = .*\n", "", text, flags=re.M)
    first = next_metadata(text)
    # Behaviours (LangRef, "Module Flags Metadata"): 7 takes the maximum, 8 the minimum is for PIC.
    own = (
        '!{i32 7, !"Dwarf Version", i32 5}',
        '!{i32 8, !"PIC Level", i32 2}',
        '!{i32 7, !"uwtable", i32 2}',
    )
    flags = ", ".join((*kept, *(f"!{first + i}" for i in range(len(own)))))
    line = f"!llvm.module.flags = !{{{flags}}}"
    text = text.replace(found[0], line, 1) if found else f"{text}{line}\n"
    return text + "".join(f"!{first + i} = {node}\n" for i, node in enumerate(own))
