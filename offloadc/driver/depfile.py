"""Make-style dependency files: read what a pass read, write the union of all passes."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"(?:\\.|[^\s\\])+")


def parse(text: str) -> tuple[str, ...]:
    """The prerequisites of a dependency file with one rule, in order, unescaped."""
    _, colon, rest = text.replace("\\\n", " ").partition(":")
    if not colon:
        return ()
    first_rule = rest.split("\n", 1)[0]
    return tuple(_unescape(word) for word in _WORD.findall(first_rule))


def _unescape(word: str) -> str:
    return re.sub(r"\\([ #\\])", r"\1", word).replace("$$", "$")


def _escape(path: str) -> str:
    return path.replace("$", "$$").replace(" ", "\\ ").replace("#", "\\#")


def union(passes: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Every file that some pass read, each once, in the order they were met."""
    return tuple(dict.fromkeys(path for files in passes for path in files))


def write(targets: Iterable[str], files: Iterable[str], *, phony: bool) -> str:
    """The text of a dependency file; `phony` adds an empty rule for each header but the source."""
    names = [_escape(f) for f in files]
    text = " ".join(targets) + ": " + " \\\n  ".join(names) + "\n"
    if phony:
        text += "".join(f"{name}:\n" for name in names[1:])
    return text


def without_system(files: Iterable[str], system_folders: Iterable[str]) -> tuple[str, ...]:
    """The files that lie in no system header folder (what -MM and -MMD leave out)."""
    folders = tuple(folder.rstrip("/") + "/" for folder in system_folders)
    return tuple(f for f in files if not f.startswith(folders))
