"""argv -> Invocation, and what is said when a word is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from offloadc.model import Debug, OffloadcError, OutputKind
from offloadc.options import TABLE, Form, split_run
from tests.plan.conftest import parse


def test_flags_reach_the_side_the_table_says(source: str) -> None:
    inv = parse("-O3", "-fcf-protection", "-march=native", "-DX=1", "-lm", "-fsanitize=address", source)
    assert inv.host_flags == ("-O3", "-fcf-protection", "-march=native", "-DX=1", "-fsanitize=address")
    assert inv.device_flags == ("-O3", "-DX=1")
    assert [w for w in inv.link_line if isinstance(w, str)] == ["-lm", "-fsanitize=address"]


def test_xarch_reaches_one_side_only(source: str) -> None:
    inv = parse("-Xarch_host", "-DH", "-Xarch_device", "-DD", "-Xarch_sm_90", "-DS", source)
    assert (inv.host_flags, inv.device_flags) == (("-DH",), ("-DD",))
    assert inv.arch_flags == {"sm_90": ("-DS",)}


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ((), "0"),
        (("-O",), "1"),
        (("-Ofast",), "3"),
        (("-O3", "-Os"), "2"),
        (("-O2",), "2"),
    ],
)
def test_optimisation_level(source: str, words: tuple[str, ...], level: str) -> None:
    assert parse(*words, source).opt_level == level


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ((), Debug.NONE),
        (("-g",), Debug.FULL),
        (("-gline-tables-only",), Debug.LINES),
        (("-g", "-g0"), Debug.NONE),
        (("-gdwarf-5",), Debug.FULL),
        (("-gcolumn-info",), Debug.NONE),
    ],
)
def test_debug_level(source: str, words: tuple[str, ...], level: Debug) -> None:
    assert parse(*words, source).debug is level


def test_archs_accumulate_and_can_be_taken_out(source: str) -> None:
    words = ("--offload-arch=sm_90,gfx90a", "--offload-arch=gfx942", "--no-offload-arch=gfx90a")
    assert parse(*words, source).archs == ("sm_90", "gfx942")


def test_inputs_and_link_flags_keep_their_order(source: str) -> None:
    inv = parse("-La", source, "-lx", "b.o", "-Wl,--as-needed", "-ly")
    assert [w if isinstance(w, str) else w.path for w in inv.link_line] == [
        "-La", "app.cpp", "-lx", "b.o", "-Wl,--as-needed", "-ly",
    ]  # fmt: skip


def test_x_overrides_the_suffix(source: str) -> None:
    Path("kernel.inc").write_text("")
    inv = parse("-x", "cuda", "kernel.inc", "-x", "none", source)
    assert [s.language for s in inv.sources] == ["cuda", "cxx"]


def test_response_file(source: str) -> None:
    Path("flags.rsp").write_text("-O2 '-DNAME=a b'\n-c @more.rsp")
    Path("more.rsp").write_text(source)
    inv = parse("@flags.rsp")
    assert inv.device_flags == ("-O2", "-DNAME=a b")
    assert inv.output_kind is OutputKind.OBJECT
    assert inv.sources[0].path == source


def test_response_file_that_names_itself_is_an_error(source: str) -> None:
    Path("loop.rsp").write_text("@loop.rsp")
    with pytest.raises(OffloadcError, match="nest deeper"):
        parse("@loop.rsp")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ("--offlod-arch=sm_90", "app.cpp"),
            "unknown argument: '--offlod-arch=sm_90'",
            "--offload-arch=sm_90",
        ),
        (("-offload-arch=sm_90", "app.cpp"), "unknown argument", "'--offload-arch=sm_90'"),
        (("-save-tmps", "app.cpp"), "unknown argument", "-save-temps"),
        (("--nonsense", "app.cpp"), "unknown argument", "-Xarch_host"),
        (("app.cpp", "-o"), "argument to '-o' is missing", None),
        (("app.cpp", "-Xarch_device"), "argument to '-Xarch_device' is missing", None),
        ((), "no input files", "offloadc app.cpp"),
        (("-x", "c+", "app.cpp"), "language not recognized: 'c+'", "did you mean 'c"),
        (("absent.cpp",), "cannot read 'absent.cpp': No such file", None),
        (("-j", "zero", "app.cpp"), "-j wants a number", None),
        (("@absent.rsp",), "cannot read response file 'absent.rsp'", None),
        (("--offload-arch=", "app.cpp"), "names no arch", "sm_90"),
        (("--offload-device-only", "app.cpp"), "nothing to link", "-c"),
        (("--offload-host-only", "--offload-device-only", "-c", "app.cpp"), "exclude one another", None),
        (("--coverage", "app.cpp"), "temporary", "-fcoverage-mapping"),
        (("-gsplit-dwarf", "app.cpp"), "temporary", "-gz"),
        (("app.cpp", "-o", "./app.cpp"), "is the output as well", "-o"),
        (("app.cpp", "-std=gnu++14"), "C++17 or later", "-std=c++20"),
        (("app.rs",), "'app.rs': Rust is not compiled by this version", ".cpp"),
        (("-fgpu-rdc", "app.cpp"), "-fgpu-rdc", "headers"),
    ],
)
def test_wrong_words(source: str, words: tuple[str, ...], message: str, hint: str | None) -> None:
    with pytest.raises(OffloadcError) as caught:
        parse(*words)
    assert message in caught.value.message
    if hint is not None:
        assert caught.value.hint is not None
        assert hint in caught.value.hint


def test_unused_flags_are_reported(source: str) -> None:
    inv = parse("-c", "-lm", "lib.a", "--offload-host-only", "--offload-arch=sm_90", source)
    assert len(inv.warnings) == 3
    assert parse("-c", "-MF", "x.d", source).warnings == ("-MF and -MT: unused without -M, -MM, -MD or -MMD",)
    assert parse("-c", "-lm", "-Wno-unused-command-line-argument", source).warnings == ()


def test_every_row_is_said_once_and_has_a_note() -> None:
    spellings = [(f.spelling, f.form) for f in TABLE]
    assert len(spellings) == len(set(spellings))
    exact = [f.spelling for f in TABLE if f.form in (Form.FLAG, Form.SEPARATE)]
    assert len(exact) == len(set(exact))
    assert all(f.note for f in TABLE)


def test_run_splits_the_programs_arguments(source: str) -> None:
    assert split_run(("-O2", "-I", "x", "app.cpp", "-o", "y")) == (("-O2", "-I", "x", "app.cpp"), ("-o", "y"))
    with pytest.raises(OffloadcError, match="no program"):
        split_run(("-O2",))
