"""What a rule is: a name, its severity and a check over the evidence of one unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from offloadc.abi.readers.host_object import HostEntries
from offloadc.model import Evidence, Finding, Unknown


@dataclass(frozen=True, slots=True)
class UnitEvidence:
    """What the passes of one source say. `unit_hash` is behind `__intern__` in host names."""

    host: HostEntries | Unknown
    devices: tuple[Evidence, ...]
    unit_hash: str

    def device_name(self, host_name: str) -> str:
        return host_name.removesuffix(f"__intern__{self.unit_hash}")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; the file in rules/ is called ID_NAME with underscores."""

    id: str
    name: str
    check: Callable[[UnitEvidence], Iterator[Finding]]
