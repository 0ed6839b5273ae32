"""Finding things by listing a folder: one file a target, language, rule, format, reader."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def modules(package: ModuleType) -> tuple[ModuleType, ...]:
    """Every module directly inside a package, imported, in the order of their names."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    return tuple(importlib.import_module(f"{package.__name__}.{name}") for name in names)
