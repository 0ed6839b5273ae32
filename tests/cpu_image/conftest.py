from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cpu_image import image as cpu

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="session")
def engine_object(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cpu.engine(tmp_path_factory.mktemp("engine") / "engine.o", "-Wall", "-Wextra", "-Werror")


@pytest.fixture(scope="session")
def built(engine_object: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], cpu.Image]:
    """The image of kernels/NAME.cpp, built once a session."""
    images: dict[str, cpu.Image] = {}

    def one(name: str) -> cpu.Image:
        if name not in images:
            images[name] = cpu.build(KERNELS / f"{name}.cpp", engine_object, tmp_path_factory.mktemp(name))
        return images[name]

    return one
