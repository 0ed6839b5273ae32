"""Kernels of a CPU image: a wrapper each, the table that the launch stub reads, the manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from offloadc.device_pass.ir_edits import library
from offloadc.device_pass.ir_edits.shared_memory import SharedVariable
from offloadc.device_pass.ir_edits.syntax import (
    IDENTIFIER,
    Function,
    c_string,
    closing,
    functions,
    global_names,
    metadata,
    name_bytes,
    names_in_order,
    next_metadata,
    split_commas,
    text_name,
)
from offloadc.device_pass.ir_edits.types import layout, named_types, round_up, type_end
from offloadc.model import KernelFacts, KernelParam, OffloadcError

IMAGE_VERSION = 1  # OFFLOADC_CPU_IMAGE_VERSION in runtime.h
COOPERATIVE = 1  # OFFLOADC_CPU_KERNEL_COOPERATIVE
MANIFEST_SECTION = ".offloadc.kernels"
_KERNEL_CONVENTION = "ptx_kernel "


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel's parameter; `pointee` is set when the value is passed in memory (byval)."""

    type: str
    pointee: str | None
    size: int
    align: int


@dataclass(frozen=True, slots=True)
class Kernel:
    name: str  # with the @
    symbol: bytes
    params: tuple[Param, ...]
    cooperative: bool
    static_shared: int

    def offsets(self) -> tuple[int, ...]:
        found, end = [], 0
        for param in self.params:
            end = round_up(end, param.align)
            found.append(end)
            end += param.size
        return tuple(found)

    def facts(self) -> KernelFacts:
        offsets = self.offsets()
        params = tuple(KernelParam(o, p.size, p.align) for o, p in zip(offsets, self.params, strict=True))
        end = params[-1].offset + params[-1].size if params else 0
        resources = MappingProxyType({"static_shared": self.static_shared})
        return KernelFacts(text_name(self.symbol), params, end, resources)

    def manifest_line(self) -> bytes:
        facts = self.facts()
        params = "".join(f" {p.offset}:{p.size}:{p.align}" for p in facts.params)
        return self.symbol + f" {facts.args_size}{params}\n".encode()


# ----------------------------------------------------------------------------- what calls what
# What device code may call of libm, libc and the compiler's own library: nothing that calls back.
_MATH = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1
fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb
lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round roundeven scalbln scalbn
sin sincos sinh sqrt tan tanh tgamma trunc j0 j1 jn y0 y1 yn""".split()
_LIBC = """abort calloc free malloc memchr memcmp memcpy memmove memset posix_memalign printf puts
strcmp strlen strncmp vprintf __assert_fail __offloadc_cpu_vprintf __cxa_pure_virtual
__muldc3 __mulsc3 __divdc3 __divsc3 __divti3 __modti3 __udivti3 __umodti3""".split()
_LEAVES = frozenset(f"@{n}{s}" for n in _MATH for s in ("", "f", "l")) | {f"@{n}" for n in _LIBC}
_CALL = re.compile(r"\b(?:call|invoke|callbr)\b")
_CALLEE = re.compile(rf"([@%]{IDENTIFIER})\(")


@dataclass(frozen=True, slots=True)
class _Body:
    callees: frozenset[str]  # "" stands for an indirect call
    names: frozenset[str]


def _body(lines: Iterable[str]) -> _Body:
    callees: set[str] = set()
    names: set[str] = set()
    for line in lines:
        names |= global_names(line)
        call = _CALL.search(line) if "@" in line or "%" in line else None
        if call and not re.search(r"\basm\b", line):
            found = _CALLEE.search(line, call.end())
            callees.add(found[1] if found and found[1].startswith("@") else "")
    return _Body(frozenset(callees), frozenset(names))


def _reached(start: str, bodies: Mapping[str, _Body]) -> tuple[frozenset[str], bool]:
    """The functions that `start` reaches, itself included, and whether a thread can wait in them."""
    seen: set[str] = set()
    work, waits = [start], False
    while work:
        name = work.pop()
        if name in seen:
            continue
        seen.add(name)
        body = bodies.get(name)
        if body:
            work += body.callees
        elif not _is_leaf(name):
            waits = True
    return frozenset(seen), waits


def _is_leaf(name: str) -> bool:
    return name in _LEAVES or name in library.DEFINITIONS or (name.startswith("@llvm."))


# ----------------------------------------------------------------------------- reading kernels
def read_kernels(
    text: str, shared: tuple[SharedVariable, ...], named_by: Mapping[str, frozenset[str]]
) -> list[Kernel]:
    """Kernels in the order of the module. `named_by`: function -> shared variables it names."""
    lines = text.splitlines()
    defined = list(functions(lines))
    bodies = {f.name: _body(lines[f.start + 1 : f.end]) for f in defined}
    named = named_types(text)
    sizes = {v.name: v.size for v in shared if v.offset is not None}
    return [_kernel(f, named, bodies, sizes, named_by) for f in defined if _KERNEL_CONVENTION in f.before]


def _kernel(
    function: Function,
    named: Mapping[str, str],
    bodies: Mapping[str, _Body],
    sizes: Mapping[str, int],
    named_by: Mapping[str, frozenset[str]],
) -> Kernel:
    symbol = name_bytes(function.name)
    if not symbol or re.search(rb"[\x00-\x20\x7f]", symbol):
        raise OffloadcError(f"kernel name {function.name} holds white space or control characters")
    reached, waits = _reached(function.name, bodies)
    used = {v for f in reached for v in named_by.get(f, frozenset())}
    params = tuple(_param(p, function, named) for p in split_commas(function.params))
    return Kernel(function.name, symbol, params, waits, sum(sizes.get(v, 0) for v in used))


def _param(text: str, kernel: Function, named: Mapping[str, str]) -> Param:
    if text == "...":
        raise OffloadcError(f"kernel {kernel.name} takes a variable number of arguments")
    stop = type_end(text)
    type_, attributes = text[:stop], text[stop:]
    by_value = re.search(r"\bbyval\(", attributes)
    if not by_value:
        one = layout(type_, named)
        return Param(type_, None, one.size, one.align)
    end = closing(attributes, by_value.end() - 1)
    pointee = attributes[by_value.end() : end]
    one = layout(pointee, named)
    stated = re.search(r"\balign (\d+)", attributes[end:]) or re.search(r"\balign (\d+)", attributes)
    align = int(stated[1]) if stated else one.align
    if align & (align - 1) or not 1 <= align <= 1 << 20:
        raise OffloadcError(f"malformed IR: parameter of {kernel.name} aligned to {align}")
    return Param("ptr", pointee, one.size, align)


def shared_uses(text: str, shared: tuple[SharedVariable, ...]) -> dict[str, frozenset[str]]:
    """Which shared variables each function names, itself or through a constant table."""
    lines = text.splitlines()
    names = {v.name for v in shared}
    tables = {
        (found := names_in_order(line))[0]: frozenset(found[1:]) & names
        for line in lines
        if line.startswith("@") and "addrspace(3)" in line and len(names_in_order(line)) > 1
    }
    uses = {}
    for function in functions(lines):
        mentioned = {n for line in lines[function.start : function.end] for n in global_names(line)}
        through = {v for t in mentioned & tables.keys() for v in tables[t]}
        uses[function.name] = frozenset(mentioned & names) | through
    return uses


# ----------------------------------------------------------------------------- the edit
def wrap_kernels(text: str, kernels: list[Kernel]) -> str:
    """Kernels become plain functions, inlined into wrappers that load the arguments."""
    by_name = {kernel.name: kernel for kernel in kernels}
    lines = text.splitlines()
    groups = {m[1]: m[2] for line in lines if (m := re.match(r"attributes #(\d+) = \{ (.*) \}$", line))}
    added: dict[str, str] = {}
    wrappers: list[str] = []
    nodes: list[str] = []
    known, first = metadata(text), next_metadata(text)
    for function in functions(lines):
        kernel = by_name.get(function.name)
        if kernel is None:
            continue
        lines[function.start] = _plain_definition(function, groups, added)
        place = _debug_place(function, known, first + len(nodes))
        nodes += place.nodes if place else []
        wrappers.append(_wrapper(kernel, place))
    text = "\n".join((*lines, *wrappers, *_image(kernels), *added.values(), *nodes)) + "\n"
    return _declare_memcpy(text)


def _plain_definition(function: Function, groups: Mapping[str, str], added: dict[str, str]) -> str:
    params = ", ".join(_without_byval(p) for p in split_commas(function.params))
    before = function.before.replace(_KERNEL_CONVENTION, "", 1)
    after = re.sub(r"(?<= )#(\d+)", lambda m: _inlined(m[1], groups, added), function.after, count=1)
    return f"{before}{function.name}({params}){after} {{"


def _without_byval(param: str) -> str:
    """The wrapper makes the thread's own copy."""
    found = re.search(r" byval\(", param)
    return param[: found.start()] + param[closing(param, found.end() - 1) + 1 :] if found else param


def _inlined(group: str, groups: Mapping[str, str], added: dict[str, str]) -> str:
    """The attribute group for kernels: as `group`, but inlined into the wrapper."""
    words = groups.get(group, "")
    if re.search(r"\boptnone\b", words):
        return f"#{group}"
    if group not in added:
        number = max((int(g) for g in groups), default=-1) + 1 + len(added)
        kept = re.sub(r"\b(?:noinline|alwaysinline|inlinehint) ?", "", words)
        added[group] = f"attributes #{number} = {{ alwaysinline {kept} }}"
    return added[group].split(" ")[1]


@dataclass(frozen=True, slots=True)
class _Place:
    """Debug information of a wrapper: without, LLVM would drop the lines of what is inlined."""

    subprogram: str
    location: str
    nodes: list[str]


def _debug_place(function: Function, nodes: Mapping[int, str], first: int) -> _Place | None:
    found = re.search(r"!dbg !(\d+)", function.after)
    node = nodes.get(int(found[1]), "") if found else ""
    if not node.startswith("distinct !DISubprogram("):
        return None
    fields = {k: m[1] for k in ("file", "line", "type", "unit") if (m := re.search(rf"\b{k}: (!?\w+)", node))}
    if not {"file", "line", "type", "unit"} <= fields.keys():
        return None
    subprogram = (
        f'!{first} = distinct !DISubprogram(name: "{c_string(b"launch " + name_bytes(function.name))}", '
        f"scope: {fields['file']}, file: {fields['file']}, line: {fields['line']}, type: !{first + 1}, "
        f"scopeLine: {fields['line']}, flags: DIFlagArtificial, spFlags: DISPFlagLocalToUnit | "
        f"DISPFlagDefinition | DISPFlagOptimized, unit: {fields['unit']})"
    )
    rest = [
        f"!{first + 1} = !DISubroutineType(types: !{first + 2})",
        f"!{first + 2} = !{{}}",
        f"!{first + 3} = !DILocation(line: {fields['line']}, scope: !{first})",
    ]
    return _Place(f" !dbg !{first}", f", !dbg !{first + 3}", [subprogram, *rest])


def wrapper_name(kernel: Kernel) -> str:
    return f'@"{c_string(b"offloadc.thread." + kernel.symbol)}"'


def _wrapper(kernel: Kernel, place: _Place | None) -> str:
    location = place.location if place else ""
    code: list[str] = []
    args = []
    for i, param in enumerate(kernel.params):
        code += [
            f"%slot{i} = getelementptr inbounds ptr, ptr %args, i64 {i}",
            f"%at{i} = load ptr, ptr %slot{i}, align 8",
        ]
        loaded, value = _argument(i, param)
        code += loaded
        args.append(value)
    code += [f"call void {kernel.name}({', '.join(args)})", "ret void"]
    body = "\n".join(f"  {line}{location}" for line in code)
    head = f"define internal void {wrapper_name(kernel)}(ptr %args) nounwind uwtable"
    return f"{head}{place.subprogram if place else ''} {{\n{body}\n}}"


def _argument(i: int, param: Param) -> tuple[list[str], str]:
    """Code that loads argument i, and the operand. args[i] is aligned for nothing but bytes."""
    if param.pointee is not None:
        copy = f"%copy{i} = alloca {param.pointee}, align {param.align}"
        copied = (
            f"call void @llvm.memcpy.p0.p0.i64(ptr align {param.align} %copy{i}, ptr align 1 %at{i}, "
            f"i64 {param.size}, i1 false)"
        )
        return [copy, copied], f"ptr %copy{i}"
    odd = re.fullmatch(r"i(\d+)", param.type)
    if odd and int(odd[1]) % 8:
        wide = f"i{round_up(int(odd[1]), 8)}"
        code = [
            f"%wide{i} = load {wide}, ptr %at{i}, align 1",
            f"%arg{i} = trunc {wide} %wide{i} to {param.type}",
        ]
        return code, f"{param.type} %arg{i}"
    return [f"%arg{i} = load {param.type}, ptr %at{i}, align 1"], f"{param.type} %arg{i}"


def _image(kernels: list[Kernel]) -> list[str]:
    """The objects of runtime.h: offloadc_cpu_kernel's table, offloadc_cpu_image, the manifest."""
    out, rows = [], []
    for i, kernel in enumerate(kernels):
        name = kernel.symbol + b"\0"
        out.append(f'@offloadc.name.{i} = private constant [{len(name)} x i8] c"{c_string(name)}", align 1')
        flags = COOPERATIVE if kernel.cooperative else 0
        rows.append(
            f"{{ ptr, ptr, i32, i32 }} {{ ptr @offloadc.name.{i}, ptr {wrapper_name(kernel)}, "
            f"i32 {len(kernel.params)}, i32 {flags} }}"
        )
    manifest = b"".join(kernel.manifest_line() for kernel in kernels) + b"\0"
    count = len(kernels)
    out += [
        f"@offloadc.kernels = internal constant [{count} x {{ ptr, ptr, i32, i32 }}] "
        f"[{', '.join(rows)}], align 8",
        f'@offloadc.manifest = internal constant [{len(manifest)} x i8] c"{c_string(manifest)}", '
        f'section "{MANIFEST_SECTION}", align 1',
        "@offloadc_cpu_image = constant { i32, i32, ptr, ptr } "
        f"{{ i32 {IMAGE_VERSION}, i32 {count}, ptr @offloadc.kernels, ptr @__offloadc_cpu_launch }}, align 8",
        '@llvm.used = appending global [1 x ptr] [ptr @offloadc.manifest], section "llvm.metadata"',
        "declare hidden i32 @__offloadc_cpu_launch(ptr, ptr, i64, i32, i64, i32, i64)",
    ]
    return out


def _declare_memcpy(text: str) -> str:
    used = "@llvm.memcpy.p0.p0.i64(" in text
    declared = re.search(r"^declare .*@llvm\.memcpy\.p0\.p0\.i64\(", text, re.M)
    return (
        text + "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)\n"
        if used and not declared
        else text
    )
