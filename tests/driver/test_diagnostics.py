"""What all passes say is said once; what one pass says is said with its name."""

from __future__ import annotations

from offloadc.driver.diagnostics import blocks, merge

BOTH = "a.cpp:3:5: error: use of undeclared identifier 'x'\n    3 | x;\n      | ^\n"
DEVICE = "a.cpp:9:1: warning: only here [-Wfoo]\na.cpp:2:1: note: declared here\n"


def test_common_block_is_printed_once() -> None:
    text = merge(
        {
            "host": BOTH + "1 error generated.\n",
            "sm_90": BOTH + "1 error generated when compiling for sm_90.\n",
        }
    )
    assert text == BOTH


def test_block_of_one_pass_names_it() -> None:
    text = merge({"host": BOTH, "sm_90": BOTH + DEVICE, "gfx90a": BOTH + DEVICE})
    assert text == BOTH + DEVICE + "note: only in the passes sm_90, gfx90a; not in host\n"


def test_include_stack_belongs_to_the_block_behind_it() -> None:
    stack = "In file included from a.cpp:1:\nIn file included from b.h:2:\n"
    first, second = blocks(BOTH + stack + DEVICE)
    assert second.text.startswith("In file included from a.cpp:1:")
    assert "In file included" not in first.text


def test_colour_does_not_make_a_difference() -> None:
    coloured = BOTH.replace("a.cpp:3:5: error: ", "\x1b[1ma.cpp:3:5: \x1b[0m\x1b[0;1;31merror: \x1b[0m")
    assert merge({"host": coloured, "sm_90": BOTH}).count("undeclared") == 1


def test_a_tool_message_without_a_place_is_kept() -> None:
    text = "clang: error: unknown argument: '-ffoo'\n"
    assert merge({"host": text, "sm_90": text}) == text
    assert merge({}) == ""
