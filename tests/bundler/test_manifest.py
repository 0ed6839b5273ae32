"""The string entry offloadc.kernels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offloadc.bundler.manifest import format_manifest, parse_manifest
from offloadc.model import KernelFacts, KernelParam, OffloadcError

NUMBERS = st.integers(0, 1 << 32)
PARAMS = st.builds(KernelParam, NUMBERS, NUMBERS, st.one_of(st.none(), st.integers(1, 1 << 20)))
NAMES = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1)
KERNELS = st.builds(KernelFacts, NAMES, st.lists(PARAMS, max_size=4).map(tuple), NUMBERS)


def test_the_form_that_runtime_h_states() -> None:
    kernels = (
        KernelFacts("_Z1kPfi", (KernelParam(0, 8, 8), KernelParam(8, 4)), 12),
        KernelFacts("_Z1av", (), 0),
    )
    assert format_manifest(kernels) == "_Z1av 0\n_Z1kPfi 12 0:8:8 8:4:0\n"


@given(kernels=st.lists(KERNELS, max_size=4, unique_by=lambda kernel: kernel.name))
def test_what_is_formatted_is_parsed(kernels: list[KernelFacts]) -> None:
    parsed = parse_manifest(format_manifest(kernels))
    assert [(k.name, k.params, k.args_size) for k in parsed] == sorted(
        ((k.name, k.params, k.args_size) for k in kernels), key=lambda facts: facts[0]
    )


@pytest.mark.parametrize(
    "line", ["k", "k ", " 1", "k x", "k 1 2", "k 1 2:3", "k 1 2:3:4:5", "k 1  2:3:4", "k -1", "k 1 2:3:4 "]
)
def test_malformed_lines_are_errors(line: str) -> None:
    with pytest.raises(OffloadcError, match="manifest"):
        parse_manifest(line + "\n")


@given(text=st.text())
def test_any_text_is_parsed_or_an_error(text: str) -> None:
    try:
        parse_manifest(text)
    except OffloadcError as error:
        assert "manifest" in error.message


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "a\0b"])
def test_names_that_would_break_the_form_are_refused(name: str) -> None:
    with pytest.raises(OffloadcError, match="manifest"):
        format_manifest([KernelFacts(name, (), 0)])
