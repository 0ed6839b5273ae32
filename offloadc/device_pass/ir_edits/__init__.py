"""Every textual edit that offloadc makes on LLVM IR.

llvmlite changes neither calling conventions nor address spaces, so these edits work on the text
that LLVM prints. That text differs between LLVM's major versions: an unknown one is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from offloadc.device_pass.ir_edits import kernels as _kernels
from offloadc.device_pass.ir_edits import target_edits
from offloadc.device_pass.ir_edits.debug_info import lines_only, strip_debug_info
from offloadc.device_pass.ir_edits.shared_memory import place_shared_variables, shared_variables
from offloadc.model import KernelFacts, OffloadcError

__all__ = [
    "EDITS",
    "SUPPORTED_LLVM_MAJORS",
    "CpuModule",
    "Edit",
    "lines_only",
    "retarget_to_x86_64",
    "strip_debug_info",
]

SUPPORTED_LLVM_MAJORS = (22,)

Verify = Callable[[str], str | None]
"""Answers what is wrong with a module, None if nothing is."""


@dataclass(frozen=True, slots=True)
class Edit:
    name: str
    apply: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class CpuModule:
    """IR of a CPU image's kernels, and what the image tells of them."""

    text: str
    kernels: tuple[KernelFacts, ...]


def _edit(function: Callable[[str], str]) -> Edit:
    return Edit(function.__name__.replace("_", "-"), function)


EDITS: tuple[Edit, ...] = tuple(
    map(
        _edit,
        (
            target_edits.check_nvptx,
            target_edits.refuse_inline_assembly,
            target_edits.internalize,
            target_edits.lower_nvvm_intrinsics,
            place_shared_variables,
            target_edits.flatten_address_spaces,
            target_edits.drop_synchronization_scopes,
            target_edits.drop_target_attributes,
            target_edits.link_library,
            target_edits.retarget_module,
        ),
    )
)
"""In this order; wrapping the kernels comes last."""


def check_llvm_major(major: int) -> None:
    if major not in SUPPORTED_LLVM_MAJORS:
        known = ", ".join(map(str, SUPPORTED_LLVM_MAJORS))
        raise OffloadcError(
            f"LLVM {major} prints IR that offloadc has not been tried with (it knows LLVM {known})",
            hint=f"install LLVM {known}, or name its prefix in OFFLOADC_LLVM",
        )


def retarget_to_x86_64(ir_text: str, *, llvm_major: int, verify: Verify = lambda text: None) -> CpuModule:
    """A CPU image's kernels from an nvptx64 device pass (clang -O2 -Xclang -disable-llvm-passes)."""
    check_llvm_major(llvm_major)
    _verified("input", ir_text, verify)
    text = ir_text
    shared = uses = None
    for edit in EDITS:
        if edit.apply is place_shared_variables:
            shared = shared_variables(text)
            uses = _kernels.shared_uses(text, shared)
        text = edit.apply(text)
        _verified(edit.name, text, verify)
    found = _kernels.read_kernels(text, shared or (), uses or {})
    text = _kernels.wrap_kernels(text, found)
    _verified("wrap-kernels", text, verify)
    return CpuModule(text, tuple(kernel.facts() for kernel in found))


def _verified(name: str, text: str, verify: Verify) -> None:
    complaint = verify(text)
    if complaint is not None:
        raise OffloadcError(f"IR does not verify after edit {name}: {' '.join(complaint.split())}")
