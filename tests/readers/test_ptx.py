"""PTX text, of clang and by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offloadc.abi.readers import identify, read_image
from offloadc.abi.readers.ptx import PtxHeader, ptx_header
from offloadc.model import Image, ImageKind, KernelFacts, OffloadcError, OffloadKind, Unknown
from tests.bundler.foreign import survives, survives_changes, survives_cuts
from tests.readers.conftest import NATURAL

HEADER = ".version 8.6\n.target sm_90a, debug\n.address_size 64\n"


def image(data: bytes) -> Image:
    return Image(ImageKind.PTX, OffloadKind.CUDA, data)


def kernels(text: str) -> dict[str, KernelFacts]:
    found = read_image(image((HEADER + text).encode()))
    assert isinstance(found, tuple)
    return {kernel.name: kernel for kernel in found}


def layout(params: str) -> list[tuple[int, int, int | None]]:
    (kernel,) = kernels(f".entry k({params}) {{ ret; }}").values()
    return [(p.offset, p.size, p.align) for p in kernel.params]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_clangs_ptx(make_ptx: Callable[[str], Path], arch: str) -> None:
    found = read_image(image(make_ptx(arch).read_bytes()))
    assert isinstance(found, tuple)
    assert {k.name: [(p.offset, p.size) for p in k.params] for k in found} == NATURAL
    by_name = {kernel.name: kernel for kernel in found}
    assert [p.align for p in by_name["wide"].params] == [1, 32, 1, 8]
    assert by_name["bounded"].resources == {"max_threads": 128}
    assert by_name["mixed"].args_size == 33


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ("", []),
        (".param .u32 a", [(0, 4, 4)]),
        (".param .b8 a, .param .f64 b", [(0, 1, 1), (8, 8, 8)]),
        (".param .align 32 .b8 a[32], .param .b8 b", [(0, 32, 32), (32, 1, 1)]),
        (".param .b8 z, .param .align 128 .b8 a [ 3 ]", [(0, 1, 1), (128, 3, 128)]),
        (".param .u64 .ptr .global .align 16 p, .param .u64 .ptr q", [(0, 8, 8), (8, 8, 8)]),
        (".param .u64 .ptr .align 1 p", [(0, 8, 8)]),
        (".param.align 8.b8 a[16]", [(0, 16, 8)]),
        (".param .b32 a[2][3]", [(0, 24, 4)]),
        (".param .align 16 .b128 a", [(0, 16, 16)]),
        ("\n\t.param\n.u16\tone ,\r\n .param .s16 $two_%", None),
    ],
)
def test_declarations(params: str, expected: list[tuple[int, int, int]] | None) -> None:
    if expected is None:
        with pytest.raises(OffloadcError, match="not understood"):
            layout(params)
        return
    assert layout(params) == expected


def test_line_breaks_and_comments_anywhere() -> None:
    text = """
    // .entry commented(.param .u64 x) { }
    /* .entry also(.param .u64 x) {
       } */
    .visible
    .entry // the name comes below
    k$1 /* params */ (
      .param .u32 k_0, // first )
      .param /* second , */ .align 8 .b8
        k_1[16]
    )
    .maxntid 32, 4 // threads {
    .minnctapersm 2
    { ret; }
    """
    (kernel,) = kernels(text).values()
    assert kernel.name == "k$1"
    assert [(p.offset, p.size, p.align) for p in kernel.params] == [(0, 4, 4), (8, 16, 8)]
    assert kernel.resources == {"max_threads": 128}


def test_kernels_without_a_list_pragmas_strings_and_prototypes() -> None:
    text = """
    .file 1 "/* .entry in_a_string(.param .u64 x) {"
    .file 2 "a \\" // b"
    .visible .entry declared(.param .u32 a);
    .entry bare .pragma "nounroll"; { .pragma "x;{", "y"; ret; }
    .entry listed() .reqntid 7 { ret; }
    .func (.param .b32 r) f(.param .b32 a) { ret; }
    """
    found = kernels(text)
    assert sorted(found) == ["bare", "listed"]
    assert found["bare"].params == ()
    assert found["listed"].resources == {"max_threads": 7}


def test_textures_are_unknown() -> None:
    answer = read_image(image(f"{HEADER}.entry k(.param .texref t) {{ ret; }}".encode()))
    assert isinstance(answer, Unknown)
    assert "texture" in answer.reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".entry k(.param .u32 a", "ends inside the declaration of k"),
        (".entry k(.param .u32 a)", "ends inside the declaration of k"),
        (".entry k(.param .u32) {", "not understood"),
        (".entry k(.reg .u32 a) {", "not understood"),
        (".entry k(.param .what a) {", "unknown type .what"),
        (".entry k(.param .align 3 .b8 a[3]) {", "aligned at 3"),
        (".entry k(.param .align 0 .b8 a[3]) {", "aligned at 0"),
        (".entry k() {} .entry k() {}", "lists kernel k twice"),
    ],
)
def test_errors_are_told(text: str, message: str) -> None:
    with pytest.raises(OffloadcError, match=message):
        kernels(text)


def test_the_header_is_read() -> None:
    assert ptx_header(f"// made by\n/* hand * */\n{HEADER}".encode()) == PtxHeader((8, 6), "sm_90a", 64)
    assert ptx_header(b".version 1.4\n.target sm_13\n") == PtxHeader((1, 4), "sm_13", 32)
    assert ptx_header(b".version 1.4\n") is None
    found = identify(HEADER.encode())
    assert found is not None
    assert (found.kind, found.triple, found.arch) == (ImageKind.PTX, "nvptx64-nvidia-cuda", "sm_90a")
    assert identify(b"x .version 8.6 .target sm_90") is None


PIECES = [
    ".entry k",
    "(",
    ")",
    "{",
    "}",
    ";",
    ",",
    ".param ",
    ".align 8 ",
    ".b8 ",
    "a[4]",
    "a",
    "//",
    "\n",
    "/*",
    "*/",
    '"',
    ".maxntid 1",
]


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_text_is_an_error_or_read(pieces: list[str]) -> None:
    survives(lambda data: read_image(image(data)), (HEADER + "".join(pieces)).encode())


@pytest.mark.parametrize(
    "piece",
    ["/*", "/**/", ".entry k ", ".entry k(", '"', "//", ".param .u32 a, ", "(", "/* *", '"\\', ".pragma "],
)
def test_hostile_text_is_read_in_linear_time(piece: str) -> None:
    """Half a megabyte of one piece; a pattern that backtracks would take hours."""
    text = HEADER + piece * (500_000 // len(piece))
    start = time.process_time()
    survives(
        lambda data: (read_image(image(data)), identify(piece.encode() * 200_000 + b" .version")),
        text.encode(),
    )
    assert time.process_time() - start < 5


def test_foreign_bytes_are_an_error_or_read(make_ptx: Callable[[str], Path]) -> None:
    data = make_ptx("sm_90").read_bytes()
    read = lambda data: (read_image(image(data)), identify(data))  # noqa: E731
    survives_changes(read, [data])
    survives_cuts(read, data)
