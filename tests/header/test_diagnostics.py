"""Misuse is a compile error that names the rule. Each source states what it expects in its first lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import DIAGNOSTICS, Compiler, annotation


def _errors(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if " error: " in line]


@pytest.mark.parametrize("source", DIAGNOSTICS, ids=lambda p: p.stem)
def test_diagnostic(compiler: Compiler, source: Path, tmp_path: Path) -> None:
    expected = annotation(source, "expect-error")
    assert expected, f"{source.name} states no expect-error"
    note = annotation(source, "expect-note")
    for pass_name in (annotation(source, "passes") or "host").split():
        emit = compiler.passes[pass_name].emit
        stage = (*emit, "-o", str(tmp_path / "output")) if annotation(source, "stage") else ("-fsyntax-only",)
        done = compiler.run(pass_name, source, *stage)
        errors = _errors(done.stderr)
        assert done.returncode != 0, f"{pass_name} accepts it"
        assert len(errors) == 1 and expected in errors[0], f"{pass_name}:\n{done.stderr}"
        assert note is None or note in done.stderr
