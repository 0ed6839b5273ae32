"""Run every rule over one unit's evidence."""

from __future__ import annotations

from functools import cache

from offloadc import discovery
from offloadc.abi import rules
from offloadc.abi.rule import Rule, UnitEvidence
from offloadc.model import Finding, Severity, Unknown


@cache
def all_rules() -> tuple[Rule, ...]:
    return tuple(module.RULE for module in discovery.modules(rules))


def check(evidence: UnitEvidence) -> tuple[Finding, ...]:
    """Findings in the order of the rules' ids. What could not be read is a finding, never a pass."""
    missing = tuple(_missing(evidence))
    return (*missing, *(finding for rule in all_rules() for finding in rule.check(evidence)))


def _missing(evidence: UnitEvidence) -> tuple[Finding, ...]:
    unknown = [evidence.host] if isinstance(evidence.host, Unknown) else []
    unknown += [d.kernels for d in evidence.devices if isinstance(d.kernels, Unknown)]
    return tuple(Finding("evidence-missing", Severity.WARNING, f"not checked: {u.reason}") for u in unknown)
