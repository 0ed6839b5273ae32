"""Dependency files: escaping survives a round trip, the union keeps order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from offloadc.driver import depfile

NAMES = st.text(st.sampled_from("ab/. $#_-"), min_size=1, max_size=12).filter(
    lambda s: s.strip() == s and not s.endswith("\\")
)


@given(st.lists(NAMES, min_size=1, max_size=5))
def test_what_is_written_is_read_back(names: list[str]) -> None:
    assert depfile.parse(depfile.write(("t.o",), names, phony=True)) == tuple(names)


def test_clang_continuation_lines() -> None:
    assert depfile.parse("offloadc: a.cpp \\\n  b\\ c.h \\\n  d$$e.h\n") == ("a.cpp", "b c.h", "d$e.h")


def test_union_is_ordered_and_without_duplicates() -> None:
    assert depfile.union((("a", "b"), ("a", "c"), ())) == ("a", "b", "c")


def test_system_headers_can_be_left_out() -> None:
    files = ("a.cpp", "/usr/include/stdio.h", "/usr/includes/x.h")
    assert depfile.without_system(files, ("/usr/include",)) == ("a.cpp", "/usr/includes/x.h")
