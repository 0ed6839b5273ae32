"""The frozen data every package exchanges. Imports nothing of offloadc."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol


def _empty() -> Mapping[str, str]:
    return MappingProxyType({})


# --------------------------------------------------------------------------- errors and findings
class Severity(enum.Enum):
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; line and column count from 1, None where unknown."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file, *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


class OffloadcError(Exception):
    """Something the user can mend: `message` says what and where, `hint` how to mend it."""

    def __init__(self, message: str, *, hint: str | None = None, where: Location | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where


@dataclass(frozen=True, slots=True)
class Provenance:
    """Which reader saw a fact, in which artifact, of which pass ("host", "sm_90", ...)."""

    reader: str
    artifact: str
    pass_name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Evidence that could not be had. Never equal to a fact, never a pass."""

    reason: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One disagreement between passes, or one piece of evidence that is missing."""

    rule: str
    severity: Severity
    message: str
    where: Location | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None


# --------------------------------------------------------------------------- images and bundles
class ImageKind(enum.IntEnum):
    """`llvm::object::ImageKind` as LLVM 22 numbers it."""

    NONE = 0
    OBJECT = 1
    BITCODE = 2
    CUBIN = 3
    FATBIN = 4
    PTX = 5
    SPIRV = 6


class OffloadKind(enum.IntFlag):
    """`llvm::object::OffloadKind` as LLVM 22 numbers it."""

    NONE = 0
    OPENMP = 1
    CUDA = 2
    HIP = 4
    SYCL = 8


@dataclass(frozen=True, slots=True)
class Image:
    """One device image with its metadata; `strings` keeps the order of the file."""

    kind: ImageKind
    offload_kind: OffloadKind
    data: bytes
    strings: Mapping[str, str] = field(default_factory=_empty)
    flags: int = 0

    @property
    def triple(self) -> str:
        return self.strings.get("triple", "")

    @property
    def arch(self) -> str:
        return self.strings.get("arch", "")


@dataclass(frozen=True, slots=True)
class Bundle:
    """Images in file order and the name of the format they were read from."""

    images: tuple[Image, ...]
    format: str = "offload-binary"
    version: int = 1


# --------------------------------------------------------------------------- what an image says
@dataclass(frozen=True, slots=True)
class KernelParam:
    """Where one parameter lies in the kernel-argument buffer, in bytes; align None: not stated."""

    offset: int
    size: int
    align: int | None = None


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """One kernel as an image states it. `args_size` ends at the end of the last parameter.

    `resources` holds what the image tells, by the field's names: registers, sgprs, agprs,
    static_shared (bytes), scratch (bytes a thread), spills, max_threads, ...
    """

    name: str
    params: tuple[KernelParam, ...]
    args_size: int
    resources: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one pass (host or one device image) says of its kernels, and who saw it."""

    pass_name: str
    kernels: tuple[KernelFacts, ...] | Unknown
    provenance: Provenance


# --------------------------------------------------------------------------- plan
class Side(enum.Flag):
    """Which passes an option or a job belongs to."""

    HOST = enum.auto()
    DEVICE = enum.auto()
    BOTH = HOST | DEVICE


class OutputKind(enum.Enum):
    EXECUTABLE = "executable"
    SHARED = "shared"
    OBJECT = "object"
    ASSEMBLY = "assembly"
    BITCODE = "bitcode"
    PREPROCESSED = "preprocessed"
    SYNTAX_ONLY = "syntax-only"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One input: a source with the language that reads it, or a linker input (language None)."""

    path: str
    language: str | None


class Debug(enum.Enum):
    """What debug information the shipped images hold."""

    NONE = "none"
    LINES = "lines"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Dependencies:
    """-M...: `only` prints and stops; `system` includes system headers."""

    only: bool = False
    write: bool = False
    system: bool = True
    file: str | None = None
    targets: tuple[str, ...] = ()
    phony: bool = False
    database: str | None = None


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command line, understood. Flags keep the order of the command line."""

    argv: tuple[str, ...]
    link_line: tuple[SourceFile | str, ...] = ()  # inputs and link flags in order
    output: str | None = None
    output_kind: OutputKind = OutputKind.EXECUTABLE
    archs: tuple[str, ...] | None = None  # None: not stated
    excluded_archs: tuple[str, ...] = ()
    host_flags: tuple[str, ...] = ()
    device_flags: tuple[str, ...] = ()
    arch_flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ptxas_flags: tuple[str, ...] = ()
    opt_level: str = "0"
    debug: Debug = Debug.NONE
    host_triple: str | None = None
    host_only: bool = False
    device_only: bool = False
    emit_llvm: bool = False
    dry_run: bool = False
    verbose: bool = False
    save_temps: str | None = None
    jobs: int = 0  # 0: as many as there are processors
    launcher: tuple[str, ...] = ()
    dependencies: Dependencies = Dependencies()
    color: bool | None = None  # None: on a terminal
    use_cache: bool = True
    time_jobs: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        return tuple(i for i in self.link_line if isinstance(i, SourceFile) and i.language)

    @property
    def links(self) -> bool:
        return self.output_kind in (OutputKind.EXECUTABLE, OutputKind.SHARED)


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The tools of one run. Paths that are None were not found; asking for them says how to get them."""

    llvm: Path  # prefix
    llvm_version: str
    ptxas: Path | None
    ptxas_version: str | None
    libdevice: Path | None
    rocm_device_libs: Path | None
    libclc: Path | None  # folder of its bitcode
    liboffload: Path | None
    python: str

    def tool(self, name: str) -> Path:
        return self.llvm / "bin" / name

    @property
    def clangxx(self) -> Path:
        return self.tool("clang++")

    @property
    def clang(self) -> Path:
        return self.tool("clang")

    @property
    def lld(self) -> Path:
        return self.tool("ld.lld")

    @property
    def llvm_major(self) -> int:
        return int(self.llvm_version.split(".", 1)[0])


@dataclass(frozen=True, slots=True)
class Unit:
    """One source to be compiled: where its intermediate files go and what tells it apart.

    `cuid` is the same in every pass of this unit; clang hashes it into the host names of
    internal kernels.
    """

    source: SourceFile
    stem: str
    work: Path
    cuid: str
    invocation: Invocation
    tools: Toolchain
    runtime: Path

    def file(self, *suffix: str) -> Path:
        """An intermediate file of this unit: unit.file("sm_90", "bc") is WORK/STEM-sm_90.bc."""
        *middle, extension = suffix
        return self.work / ("-".join((self.stem, *middle)).replace(":", "_") + "." + extension)

    @property
    def hash(self) -> str:
        """What clang makes of the cuid: LLVM's MD5Hash, the low 64 bits, lower-case hex."""
        digest = hashlib.md5(self.cuid.encode(), usedforsecurity=False).digest()
        return f"{int.from_bytes(digest[:8], 'little'):x}"


class Action(Protocol):
    """Work that a job does inside the driver. Equal actions over equal inputs give equal outputs."""

    def describe(self) -> str:
        """One line for -###, and what tells this action apart in the cache."""

    def prepare(self) -> None:
        """Load what run() will need; called while children run."""

    def run(self) -> str:
        """Do it; the text returned is for the user (warnings). Raises OffloadcError."""


@dataclass(frozen=True, slots=True)
class Job:
    """One step of the plan: a child process (`args`), or work inside the driver (`action`).

    A job runs when every job that writes one of its inputs is done. `pass_name` is "host", an
    arch ("sm_90", "x86-64") or "link". `depfile` is written by the child and lists what else it
    read. `unit` groups the front-end jobs of one source, whose diagnostics are merged.
    """

    name: str
    pass_name: str
    args: tuple[str, ...]
    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]
    action: Action | None = None
    depfile: Path | None = None
    unit: str | None = None
    cacheable: bool = True
