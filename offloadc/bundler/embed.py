"""The object that carries a bundle into the program, as assembler text."""

from __future__ import annotations

from dataclasses import dataclass

from offloadc.model import OffloadcError


@dataclass(frozen=True, slots=True)
class _Spelling:
    """How a host's assembler names section types and a pointer-sized word."""

    pointer: str
    type_mark: str


_SPELLINGS = {
    "x86_64": _Spelling(".quad", "@"),
    "aarch64": _Spelling(".xword", "%"),
}
_ALIASES = {"amd64": "x86_64", "arm64": "aarch64"}

# Section type llvm_offloading makes `llvm-objdump --offloading` list the images. Flag "R"
# (SHF_GNU_RETAIN) roots the record, and through it the images, against --gc-sections; nothing but
# __start_offloadc_images refers to it. The labels are local, so units never collide; the words are
# relocated against their own sections, which position-independent programs fix when loaded.
_TEXT = """\
\t.section .llvm.offloading,"a",{mark}llvm_offloading
\t.p2align 3
.Lbundle_begin:
\t.incbin "{path}"
.Lbundle_end:
\t.section offloadc_images,"awR",{mark}progbits
\t.p2align 3
\t{pointer} .Lbundle_begin
\t{pointer} .Lbundle_end
"""
_NO_EXECUTABLE_STACK = '\t.section .note.GNU-stack,"",{mark}progbits\n'


def embed_assembly(bundle_path: str, host_triple: str, *, empty: bool = False) -> str:
    """Text for clang's assembler; the bundle's path is written into it as it is given.

    `empty`: there are no images; the object then has no record either.
    """
    spelling = _spelling(host_triple)
    text = _NO_EXECUTABLE_STACK if empty else _TEXT + _NO_EXECUTABLE_STACK
    return text.format(mark=spelling.type_mark, pointer=spelling.pointer, path=_quoted(bundle_path))


def _spelling(host_triple: str) -> _Spelling:
    machine = host_triple.split("-", 1)[0]
    found = _SPELLINGS.get(_ALIASES.get(machine, machine))
    if found is None:
        raise OffloadcError(
            f"cannot embed images for the host '{host_triple}'", hint="hosts: " + " ".join(_SPELLINGS)
        )
    return found


def _quoted(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
