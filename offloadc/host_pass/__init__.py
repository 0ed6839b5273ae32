"""Source -> host jobs. Languages are found by listing languages/."""

from __future__ import annotations

from functools import cache

from offloadc import discovery
from offloadc.host_pass import languages
from offloadc.host_pass.language import DeviceDialect, Language

__all__ = ["DeviceDialect", "Language", "all_languages", "language_named", "names", "suffixes"]


@cache
def all_languages() -> tuple[Language, ...]:
    return tuple(module.LANGUAGE for module in discovery.modules(languages))


def suffixes() -> dict[str, str]:
    """File suffix -> name of its language."""
    return {suffix: language.name for language in all_languages() for suffix in language.suffixes}


def names() -> dict[str, str]:
    """Every name -x takes -> name of the language."""
    return {n: language.name for language in all_languages() for n in (language.name, *language.aliases)}


def language_named(name: str) -> Language:
    return next(language for language in all_languages() if language.name == name)
