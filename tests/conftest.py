"""Which tests `make check` leaves out: those of whole folders that compile in every test."""

from __future__ import annotations

from pathlib import Path

import pytest

_HERE = Path(__file__).parent
_SLOW = (
    "cpu_image/test_kernels.py",
    "cpu_image/test_image.py",
    "examples",
    "gpu",
    "header",
    "readers/test_cubin.py",
    "readers/test_code_object.py",
    "runtime",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.relative_to(_HERE).as_posix().startswith(_SLOW):
            item.add_marker(pytest.mark.slow)
