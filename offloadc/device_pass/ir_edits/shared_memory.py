"""`__shared__` variables -> offsets in an arena that the engine gives each block.

A thread-local variable would not do: a block may want more than what the dynamic loader keeps for
thread-local storage of objects loaded later, and an address that is known only at run time must be
no constant. So each function that names a shared variable computes the address in its entry block.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from offloadc.device_pass.ir_edits.syntax import (
    GLOBAL,
    IDENTIFIER,
    Function,
    closing,
    first_instruction,
    functions,
    global_names,
    location,
    metadata,
    names_in_order,
    shorten,
    split_commas,
)
from offloadc.device_pass.ir_edits.types import layout, named_types, round_up, type_end
from offloadc.model import OffloadcError

LARGEST_ALIGN = 4096  # the arena is page-aligned
DYNAMIC_ALIGN = 128
LARGEST_ARENA = 1 << 30


@dataclass(frozen=True, slots=True)
class SharedVariable:
    """`offset` in the block's arena; None: it is the dynamic shared memory itself."""

    name: str
    size: int
    offset: int | None


_VARIABLE = re.compile(
    rf"^(@{IDENTIFIER}) = ((?:[a-z_]+ )*)addrspace\(3\) ((?:[a-z_]+ )*?)(?:global|constant) (?=\S)"
)
_LOCAL_CONSTANT = re.compile(rf"^(@{IDENTIFIER}) = (?:private|internal) [^@]*?\bconstant (?=\S)")


def shared_variables(text: str) -> tuple[SharedVariable, ...]:
    named = named_types(text)
    found = []
    end = 0
    for line in text.splitlines():
        match = _VARIABLE.match(line) if "addrspace(3)" in line else None
        if not match:
            continue
        stop = type_end(line, match.end())
        one = layout(line[match.end() : stop], named)
        stated = re.search(r", align (\d+)", line[stop:])
        align = max(int(stated[1]) if stated else one.align, 1)
        if align > LARGEST_ALIGN:
            raise OffloadcError(
                f"shared variable {match[1]} is aligned to {align} bytes, {LARGEST_ALIGN} can be"
            )
        if "external" in match[2].split() or "extern_weak" in match[2].split():
            found.append(SharedVariable(match[1], one.size, None))
            continue
        offset = round_up(end, align)
        end = offset + one.size
        found.append(SharedVariable(match[1], one.size, offset))
    if end > LARGEST_ARENA:
        raise OffloadcError(f"the shared variables of this file take {end} bytes, {LARGEST_ARENA} can be had")
    return tuple(found)


def arena_bytes(variables: tuple[SharedVariable, ...]) -> int:
    """Bytes up to the dynamic shared memory."""
    end = max((v.offset + v.size for v in variables if v.offset is not None), default=0)
    return round_up(end, DYNAMIC_ALIGN)


def place_shared_variables(text: str) -> str:
    """Addresses of shared variables become offsets into the block's arena."""
    variables = {v.name: v for v in shared_variables(text)}
    size = arena_bytes(tuple(variables.values()))
    lines = [line for line in text.splitlines() if not _defines_any(line, variables)]
    lines.append(f"@__offloadc_cpu_static_shared_bytes = hidden constant i64 {size}, align 8")
    if not variables:
        return "\n".join(lines) + "\n"
    lines, tables = _take_tables(lines, variables)
    names = re.compile("|".join(f"{re.escape(name)}(?![-\\w$.])" for name in sorted({**variables, **tables})))
    nodes = metadata(text)
    edited = [_edit_function(lines, f, _Places(variables, tables, names, nodes)) for f in functions(lines)]
    for function, body in reversed(list(zip(functions(lines), edited, strict=True))):
        lines[function.start : function.end] = body
    for line in lines:
        if names.search(line) and not line.startswith("@") and "addrspace(3) @" in line:
            raise OffloadcError(f"the address of a shared variable cannot be had here: {shorten(line)}")
    extra = ["declare ptr @offloadc.cpu.static_shared()", "declare ptr @__offloadc_cpu_dynamic_shared()"]
    if tables and not any("@llvm.memcpy.p0.p0.i64(" in line and line.startswith("declare") for line in lines):
        extra.append("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)")
    present = {m[0] for line in lines if line.startswith("declare ") and (m := GLOBAL.search(line))}
    lines += [e for e in extra if GLOBAL.findall(e)[0] not in present]
    return "\n".join(lines) + "\n"


def _defines_any(line: str, names: Mapping[str, object]) -> bool:
    found = re.match(rf"(@{IDENTIFIER}) = ", line)
    return bool(found) and found is not None and found[1] in names


# ----------------------------------------------------------------------------- constant tables
@dataclass(frozen=True, slots=True)
class _Table:
    """A constant that holds addresses of shared variables, such as `float *rows[] = {a, b};`.

    Each function that names it gets a copy with the block's addresses put in.
    """

    name: str
    type: str
    size: int
    align: int
    holes: tuple[tuple[tuple[int, ...], str], ...]  # index path, constant


def _take_tables(
    lines: list[str], variables: Mapping[str, SharedVariable]
) -> tuple[list[str], dict[str, _Table]]:
    """Constants whose initialisers name shared variables; those addresses become null in them."""
    tables: dict[str, _Table] = {}
    named = named_types("\n".join(lines))
    kept = []
    for line in lines:
        if line.startswith("@") and set(names_in_order(line)[1:]) & {*variables, *tables}:
            table, line = _table(line, named, variables)
            tables[table.name] = table
        kept.append(line)
    return kept, tables


def _table(
    line: str, named: Mapping[str, str], variables: Mapping[str, SharedVariable]
) -> tuple[_Table, str]:
    found = _LOCAL_CONSTANT.match(line)
    if not found:
        name = GLOBAL.findall(line)[0]
        raise OffloadcError(
            f"{name} is initialised with the address of a shared variable, which differs in blocks"
        )
    type_stop = type_end(line, found.end())
    type_ = line[found.end() : type_stop]
    start = type_stop + 1
    stop = _constant_end(line, start)
    holes: list[tuple[tuple[int, ...], str]] = []
    value = _punch(line[start:stop], (), variables, holes)
    stated = re.search(r", align (\d+)", line[stop:])
    its = layout(type_, named)
    table = _Table(found[1], type_, its.size, int(stated[1]) if stated else its.align, tuple(holes))
    return table, line[:start] + value + line[stop:]


def _constant_end(line: str, start: int) -> int:
    """The end of the constant at `start`: up to the next comma outside brackets."""
    first = split_commas(line[start:])
    return start + line[start:].index(first[0]) + len(first[0]) if first else len(line)


def _punch(
    constant: str,
    path: tuple[int, ...],
    variables: Mapping[str, SharedVariable],
    holes: list[tuple[tuple[int, ...], str]],
) -> str:
    if not global_names(constant) & variables.keys():
        return constant
    if constant[:1] in ("[", "{"):
        members = []
        for i, member in enumerate(split_commas(constant[1:-1])):
            stop = type_end(member)
            value = member[stop:].strip()
            members.append(f"{member[:stop]} {_punch(value, (*path, i), variables, holes)}")
        return constant[0] + ", ".join(members) + constant[-1]
    if len(path) > 50 or constant[:1] == "<":
        raise OffloadcError(
            f"a shared variable's address in {shorten(constant)} cannot be had on the CPU device"
        )
    holes.append((path, constant))
    return "null"


# ----------------------------------------------------------------------------- functions
@dataclass(frozen=True, slots=True)
class _Places:
    variables: Mapping[str, SharedVariable]
    tables: Mapping[str, _Table]
    names: re.Pattern[str]
    nodes: Mapping[int, str]


@dataclass(slots=True)
class _Entry:
    """The code that goes to the start of a function, each address computed once."""

    places: _Places
    lines: list[str] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)

    def emit(self, key: str, code: str) -> str:
        if key not in self.known:
            name = f"%offloadc.shared.{len(self.known)}"
            self.known[key] = name
            self.lines.append(f"  {name} = {code}")
        return self.known[key]

    def address(self, name: str) -> str:
        if name in self.places.tables:
            return self.table(self.places.tables[name])
        variable = self.places.variables[name]
        if variable.offset is None:
            base = self.emit("dynamic", "call ptr @__offloadc_cpu_dynamic_shared()")
            code = f"addrspacecast ptr {base} to ptr addrspace(3)"
        else:
            base = self.emit("static", "call ptr @offloadc.cpu.static_shared()")
            place = self.emit(f"+{variable.offset}", f"getelementptr i8, ptr {base}, i64 {variable.offset}")
            code = f"addrspacecast ptr {place} to ptr addrspace(3)"
        return self.emit(name, code)

    def table(self, table: _Table) -> str:
        if table.name in self.known:
            return self.known[table.name]
        copy = self.emit(table.name, f"alloca {table.type}, align {table.align}")
        self.lines.append(
            f"  call void @llvm.memcpy.p0.p0.i64(ptr align {table.align} {copy}, "
            f"ptr align {table.align} {table.name}, i64 {table.size}, i1 false)"
        )
        for path, constant in table.holes:
            value = self.constant(constant)
            indices = "".join(f", i32 {i}" for i in path)
            slot = self.emit(f"{table.name}{path}", f"getelementptr {table.type}, ptr {copy}, i32 0{indices}")
            self.lines.append(f"  store ptr {value}, ptr {slot}, align 8")
        return copy

    def constant(self, constant: str) -> str:
        """A constant that names shared variables, as a value."""
        constant = constant.strip()
        if GLOBAL.fullmatch(constant):
            return self.address(constant)
        if constant in self.known:
            return self.known[constant]
        found = _EXPRESSION.match(constant)
        if not found or closing(constant, found.end() - 1) != len(constant) - 1:
            raise OffloadcError(
                f"a shared variable's address in {shorten(constant)} cannot be had on the CPU device"
            )
        flags = re.sub(r" inrange\([^)]*\)", "", found[2])
        operands = self.operands(found[1], constant[found.end() : -1])
        return self.emit(constant, f"{found[1]}{flags} {operands}")

    def operands(self, operation: str, inside: str) -> str:
        """The operands of a constant expression as those of the instruction."""
        done = []
        for i, part in enumerate(split_commas(inside)):
            cast = _CAST_TO.match(part)
            body, tail = (cast[1], cast[2]) if cast else (part, "")
            stop = type_end(body)
            type_, value = body[:stop], body[stop:].strip()
            if self.places.names.search(value):
                value = self.constant(value)
            # `add i64 %a, %b` names the type once, `add (i64 a, i64 b)` twice.
            typed = f"{type_} {value}".rstrip() if i == 0 or operation not in _TWO_OPERANDS else value
            done.append(typed + tail)
        return ", ".join(done)


# Constant expressions of LLVM 22 that can hold an address.
_EXPRESSION = re.compile(
    r"(getelementptr|addrspacecast|ptrtoint|ptrtoaddr|inttoptr|bitcast|trunc|add|sub|xor)"
    r"((?: (?:inbounds|nuw|nsw|nusw|inrange\([^)]*\)))*) \("
)
_TWO_OPERANDS = ("add", "sub", "xor")
_CAST_TO = re.compile(r"(.*)( to (?:ptr|i\d+)(?: addrspace\(\d+\))?)$")


def _edit_function(lines: list[str], function: Function, places: _Places) -> list[str]:
    entry = _Entry(places)
    start = first_instruction(lines, function)
    body = lines[function.start : function.end]
    for i in range(start, function.end):
        line = lines[i]
        if places.names.search(line):
            try:
                body[i - function.start] = _edit_line(line, entry)
            except OffloadcError as error:
                raise OffloadcError(error.message, where=location(places.nodes, line)) from None
    at = start - function.start
    return body[:at] + entry.lines + body[at:]


def _edit_line(line: str, entry: _Entry) -> str:
    out = line
    while found := entry.places.names.search(out):
        start, stop = _whole_constant(out, found.start(), found.end())
        out = out[:start] + entry.constant(out[start:stop]) + out[stop:]
    return out


def _whole_constant(line: str, start: int, stop: int) -> tuple[int, int]:
    """The largest constant expression around line[start:stop]."""
    for match in _EXPRESSION.finditer(line, 0, start):
        end = closing(line, match.end() - 1) + 1
        if match.end() <= start and stop <= end:
            return match.start(), end
    return start, stop
