"""Members of `ar` archives, GNU and BSD.

"!<arch>\\n", then members at even offsets: name[16] date[12] uid[6] gid[6] mode[8] size[10] "`\\n"
"""

from __future__ import annotations

from collections.abc import Iterator

from offloadc.bundler.bytes_view import align, corrupt, part
from offloadc.model import OffloadcError

MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"
_HEADER_SIZE = 60
_SYMBOL_TABLES = ("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED", "__.SYMDEF_64")
_LONG_NAMES = "//"
_LONGEST_NAME = 4096


def is_archive(data: bytes | memoryview) -> bool:
    return bytes(data[:8]) in (MAGIC, THIN_MAGIC)


def members(data: memoryview, where: str) -> Iterator[tuple[str, memoryview]]:
    """Name and contents of each member that is an object, in file order."""
    if bytes(data[:8]) == THIN_MAGIC:
        raise OffloadcError(
            f"{where}: a thin archive names its members and does not hold them",
            hint="name the object files themselves, or make the archive without --thin",
        )
    long_names = b""
    at = len(MAGIC)
    while at < len(data):
        header = bytes(part(data, at, _HEADER_SIZE, where, "archive member's header"))
        name, size = _name_and_size(header, where)
        contents = part(data, at + _HEADER_SIZE, size, where, f"archive member {name}")
        at = align(at + _HEADER_SIZE + size, 2)
        if name == _LONG_NAMES:
            long_names = bytes(contents)
            continue
        name, contents = _resolved(name, contents, long_names, where)
        if name not in _SYMBOL_TABLES:
            yield name, contents


def _name_and_size(header: bytes, where: str) -> tuple[str, int]:
    size = header[48:58].strip()
    if header[58:] != b"`\n" or not size.isdigit():
        raise corrupt(where, "archive member's header is malformed")
    return header[:16].rstrip().decode("utf-8", "backslashreplace"), int(size)


def _resolved(name: str, contents: memoryview, long_names: bytes, where: str) -> tuple[str, memoryview]:
    """GNU: "name/", or "/OFFSET" into the table "//"; BSD: "#1/LENGTH", the name before the contents."""
    if name in _SYMBOL_TABLES:
        return name, contents
    if name.startswith("#1/"):
        length = _number(name[3:], where)
        raw = bytes(part(contents, 0, length, where, "archive member's name"))
        return raw.rstrip(b"\0").decode("utf-8", "backslashreplace"), contents[length:]
    if name.startswith("/"):
        offset = _number(name[1:], where)
        raw = long_names[offset : offset + _LONGEST_NAME].split(b"\n", 1)[0]
        return raw.removesuffix(b"/").decode("utf-8", "backslashreplace"), contents
    return name.removesuffix("/"), contents


def _number(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise corrupt(where, f"archive member's name refers to {text!r}")
    return int(text)
