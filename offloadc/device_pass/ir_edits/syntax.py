"""Reading LLVM's textual IR as the printer writes it: one instruction or definition a line.

The grammar is that of the LLVM Language Reference (https://llvm.org/docs/LangRef.html). Strings
hold no escaped quote (the printer writes \\22), so `"[^"]*"` is a whole string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from offloadc.model import Location, OffloadcError

IDENTIFIER = r'(?:"[^"]*"|[-a-zA-Z$._][-a-zA-Z$._0-9]*|\d+)'
GLOBAL = re.compile("@" + IDENTIFIER)
_OPEN, _CLOSE = "([{<", ")]}>"
_STRING_OR_COMMENT = re.compile(r'("[^"]*")|;[^\n]*')


def without_comments(text: str) -> str:
    """Comments may hold quotes and names; nothing after this has to think of them."""
    return _STRING_OR_COMMENT.sub(lambda m: m[1] or "", text)


def outside_strings(text: str, pattern: str, replace: str | Callable[[re.Match[str]], str]) -> str:
    """Substitute, leaving strings and quoted names alone. `pattern` has named groups only."""
    both = re.compile(rf'"[^"]*"|(?P<outside__>{pattern})')

    def one(match: re.Match[str]) -> str:
        if match["outside__"] is None:
            return match[0]
        return match.expand(replace) if isinstance(replace, str) else replace(match)

    return both.sub(one, text)


def closing(text: str, start: int) -> int:
    """Where the bracket opened at `start` closes."""
    depth, i = 0, start
    while i < len(text):
        c = text[i]
        if c == '"':
            i = text.find('"', i + 1)
            if i < 0:
                break
        elif c in _OPEN:
            depth += 1
        elif c in _CLOSE:
            depth -= 1
            if depth == 0:
                return i
        i += 1
    raise OffloadcError(f"malformed IR: unbalanced {text[start : start + 1]!r} in {shorten(text)}")


def split_commas(text: str) -> tuple[str, ...]:
    """The comma-separated parts of `text`, brackets and strings kept whole."""
    parts: list[str] = []
    start = i = 0
    while i < len(text):
        c = text[i]
        if c == '"':
            end = text.find('"', i + 1)
            i = len(text) if end < 0 else end
        elif c in _OPEN:
            i = closing(text, i)
        elif c == ",":
            parts.append(text[start:i].strip())
            start = i + 1
        i += 1
    last = text[start:].strip()
    return (*parts, last) if last else tuple(parts)


def shorten(text: str, limit: int = 120) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."


_NAME_OR_STRING = re.compile(rf'c"[^"]*"|(@{IDENTIFIER})')


def names_in_order(text: str) -> list[str]:
    """The globals that `text` names; the contents of character arrays name none."""
    return [m[1] for m in _NAME_OR_STRING.finditer(text) if m[1]]


def global_names(text: str) -> set[str]:
    return set(names_in_order(text))


def name_bytes(name: str) -> bytes:
    """The symbol that a global's spelling (`@f`, `@"\\C3\\A9"`) stands for."""
    body = name[1:]
    if not body.startswith('"'):
        return body.encode()
    return re.sub(rb"\\([0-9a-fA-F]{2})", lambda m: bytes([int(m[1], 16)]), body[1:-1].encode())


def c_string(data: bytes) -> str:
    """`data` as the inside of an IR string."""
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)


def text_name(symbol: bytes) -> str:
    """`symbol` as messages show it."""
    return symbol.decode("utf-8", "backslashreplace")


# ----------------------------------------------------------------------------- functions
@dataclass(frozen=True, slots=True)
class Function:
    """One definition: `lines[start]` is its `define`, `lines[end]` its closing brace."""

    name: str  # with the @
    start: int
    end: int
    before: str  # "define ... " up to the name
    params: str  # between the parentheses
    after: str  # from the closing parenthesis on, without the brace


_DEFINE = re.compile(rf"^define (?P<before>(?:[^@\"]|\"[^\"]*\")*)(?P<name>@{IDENTIFIER})\(")


def functions(lines: list[str]) -> Iterator[Function]:
    i = 0
    while i < len(lines):
        if lines[i].startswith("define "):
            one = _function(lines, i)
            yield one
            i = one.end
        i += 1


def _function(lines: list[str], start: int) -> Function:
    head = lines[start]
    found = _DEFINE.match(head)
    if not found or not head.rstrip().endswith("{"):
        raise OffloadcError(f"malformed IR: {shorten(head)}")
    parenthesis = found.end() - 1
    end = closing(head, parenthesis)
    try:
        last = lines.index("}", start)
    except ValueError:
        raise OffloadcError(f"malformed IR: {found['name']} has no end") from None
    return Function(
        name=found["name"],
        start=start,
        end=last,
        before="define " + found["before"],
        params=head[parenthesis + 1 : end],
        after=head[end + 1 :].rstrip()[:-1].rstrip(),
    )


def first_instruction(lines: list[str], function: Function) -> int:
    """Where code of the entry block may be put: behind its label, should it have one."""
    i = function.start + 1
    while i < function.end and (not lines[i].strip() or re.match(rf"^{IDENTIFIER}:", lines[i])):
        i += 1
    return i


# ----------------------------------------------------------------------------- metadata
_NODE = re.compile(r"^!(\d+) = (.*)$", re.M)


def metadata(text: str) -> dict[int, str]:
    return {int(m[1]): m[2] for m in _NODE.finditer(text)}


def next_metadata(text: str) -> int:
    return max((int(m[1]) for m in _NODE.finditer(text)), default=-1) + 1


def _field(node: str, name: str) -> str | None:
    found = re.search(rf'\b{name}: ("[^"]*"|!?\w+)', node)
    return found[1] if found else None


def _node(nodes: Mapping[int, str], reference: str | None) -> str:
    if not reference or not re.fullmatch(r"!\d+", reference):
        return ""
    return nodes.get(int(reference[1:]), "")


def location(nodes: Mapping[int, str], instruction: str) -> Location | None:
    """Where the instruction stands in the source, when the module has debug information."""
    found = re.search(r"!dbg (!\d+)", instruction)
    node = _node(nodes, found[1]) if found else ""
    line, column = _field(node, "line"), _field(node, "column")
    if not line:
        return None
    scope = _field(node, "scope")
    for _ in range(1000):
        node = _node(nodes, scope)
        file = _node(nodes, _field(node, "file"))
        if file:
            path = (_field(file, "filename") or '""')[1:-1]
            return Location(text_name(name_bytes(f'@"{path}"')), int(line), int(column or 0) or None)
        scope = _field(node, "scope")
    return None
