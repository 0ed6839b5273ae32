"""Jobs that run inside the driver: gather evidence, check, bundle."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offloadc.device_pass import PlannedImage
from offloadc.model import Evidence, Finding, Image, KernelFacts, OffloadcError, Provenance, Severity, Unknown

if TYPE_CHECKING:
    from offloadc.abi.readers.host_object import HostEntries


def _image(planned: PlannedImage) -> Image:
    strings = {"triple": planned.triple, "arch": planned.arch}
    return Image(planned.kind, planned.offload_kind, planned.path.read_bytes(), strings)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Images -> one offload binary file and the assembly that embeds it.

    Each image gets the manifest of its kernels and the hash of its unit; an image without kernels
    and variables is left out, so that a source without device code embeds nothing.
    """

    images: tuple[PlannedImage, ...]
    unit_hash: str
    host_object: Path
    host_triple: str
    bundle: Path
    assembly: Path
    contract: Path

    def describe(self) -> str:
        names = " ".join(f"{i.arch}={i.path}" for i in self.images)
        return f"bundle {names} -> {self.bundle} {self.assembly}"

    def prepare(self) -> None:
        import elftools.elf.elffile  # noqa: F401
        import msgpack  # noqa: F401

        from offloadc.abi import check, readers
        from offloadc.bundler import embed, formats, manifest  # noqa: F401

        check.all_rules()
        readers.all_readers()

    def run(self) -> str:
        from offloadc.abi.check import check
        from offloadc.abi.readers import host_object, read_image
        from offloadc.abi.rule import UnitEvidence

        images = tuple(_image(p) for p in self.images)
        host = host_object.read_entries(self.host_object.read_bytes(), str(self.host_object))
        devices = tuple(
            Evidence(p.arch, read_image(i), Provenance("image", str(p.path), p.arch))
            for p, i in zip(self.images, images, strict=True)
        )
        findings = check(UnitEvidence(host, devices, self.unit_hash))
        verdict = _verdict(host, devices, findings)
        self._write(images, devices, _sentence(verdict))
        self.contract.write_text(json.dumps(verdict, sort_keys=True))
        return _report(findings)

    def _write(self, images: tuple[Image, ...], devices: tuple[Evidence, ...], verdict: str) -> None:
        from offloadc.abi.readers import properties
        from offloadc.bundler.embed import embed_assembly
        from offloadc.bundler.formats import offload_binary
        from offloadc.bundler.manifest import format_manifest

        kept: list[Image] = []
        for image, evidence in zip(images, devices, strict=True):
            kernels = _facts(evidence)
            if not kernels:
                continue
            strings = {
                **image.strings,
                **properties(image),
                "offloadc.contract": verdict,
                "offloadc.kernels": format_manifest(kernels),
                "offloadc.unit": self.unit_hash,
            }
            kept.append(Image(image.kind, image.offload_kind, image.data, strings))
        self.bundle.write_bytes(offload_binary.write(kept))
        # without images the bundle is empty, and so is the section
        self.assembly.write_text(embed_assembly(str(self.bundle), self.host_triple, empty=not kept))


def _facts(evidence: Evidence) -> tuple[KernelFacts, ...]:
    if isinstance(evidence.kernels, Unknown):
        raise OffloadcError(
            f"{evidence.provenance.artifact}: cannot read the image's kernels: {evidence.kernels.reason}"
        )
    return evidence.kernels


def _verdict(
    host: HostEntries | Unknown, devices: tuple[Evidence, ...], findings: tuple[Finding, ...]
) -> dict[str, Any]:
    worst = max((f.severity for f in findings), key=_RANK.__getitem__, default=None)
    kernels = 0 if isinstance(host, Unknown) else len(host.kernels)
    return {
        "schema": "offloadc-verdict/1",
        "kernels": kernels,
        "passes": [d.pass_name for d in devices],
        "worst": worst.value if worst else "none",
        "findings": [f"{f.rule}: {f.message}" for f in findings],
    }


def _sentence(verdict: dict[str, Any]) -> str:
    """The verdict as the program itself can print it."""
    kernels, passes = verdict["kernels"], ", ".join(("host", *dict.fromkeys(verdict["passes"])))
    warnings = len(verdict["findings"]) if verdict["worst"] == Severity.WARNING.value else 0
    found = f"{warnings} warning(s)" if warnings else "no disagreement"
    return f"{found} among {kernels} kernel{'' if kernels == 1 else 's'} of {passes}"


_RANK = {Severity.NOTE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


def _report(findings: tuple[Finding, ...]) -> str:
    text = "".join(format_finding(f) for f in findings)
    errors = sum(f.severity is Severity.ERROR for f in findings)
    if errors:
        raise OffloadcError(
            f"host and device disagree ({errors} finding{'s' if errors > 1 else ''}); nothing was linked\n"
            + text.rstrip("\n")
        )
    return text


def format_finding(finding: Finding) -> str:
    """A finding as clang prints a diagnostic, with notes and help below it."""
    where = f"{finding.where}: " if finding.where else ""
    lines = [f"{where}{finding.severity.value}: {finding.message} [{finding.rule}]"]
    lines += [f"note: {note}" for note in finding.notes]
    lines += [f"help: {finding.help}"] if finding.help else []
    return "".join(line + "\n" for line in lines)
