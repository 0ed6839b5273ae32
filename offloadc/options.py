"""Command line -> Invocation. One table row a flag says which side gets it; see docs/flags.md."""

from __future__ import annotations

import difflib
import enum
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from offloadc.model import Debug, Invocation, OffloadcError, OutputKind, SourceFile


class Form(enum.Enum):
    """How a flag takes its value, in the words of LLVM's option library."""

    FLAG = "flag"
    JOINED = "joined"
    SEPARATE = "separate"
    JOINED_OR_SEPARATE = "joined or separate"


class Route(enum.Flag):
    """Who gets a flag."""

    HOST = enum.auto()
    DEVICE = enum.auto()
    LINK = enum.auto()
    DRIVER = enum.auto()
    BOTH = HOST | DEVICE
    HOST_LINK = HOST | LINK
    ALL = HOST | DEVICE | LINK


@dataclass(frozen=True, slots=True)
class Flag:
    spelling: str
    form: Form
    route: Route
    note: str = ""


def _rows(form: Form, route: Route, note: str, *spellings: str) -> tuple[Flag, ...]:
    return tuple(Flag(s, form, route, note) for s in spellings)


_F, _J, _S, _JS = Form.FLAG, Form.JOINED, Form.SEPARATE, Form.JOINED_OR_SEPARATE
_HOST, _DEVICE, _LINK, _DRIVER = Route.HOST, Route.DEVICE, Route.LINK, Route.DRIVER

# What writes more files beside the object would write them beside a temporary one.
_REFUSED = {
    "--coverage": "-fprofile-instr-generate -fcoverage-mapping",
    "-ftest-coverage": "-fprofile-instr-generate -fcoverage-mapping",
    "-fprofile-arcs": "-fprofile-instr-generate -fcoverage-mapping",
    "-gsplit-dwarf": "-gz",
    "-ftime-trace": "-ftime-trace=FILE",
}

# An exact FLAG or SEPARATE spelling wins; otherwise the longest prefix among the joined ones.
TABLE: tuple[Flag, ...] = (
    # --- driver
    *_rows(_JS, _DRIVER, "output file", "-o"),
    *_rows(_F, _DRIVER, "fat object, not linked", "-c"),
    *_rows(_F, _DRIVER, "assembly of every pass", "-S"),
    *_rows(_F, _DRIVER, "preprocess every pass", "-E"),
    *_rows(_F, _DRIVER, "check every pass, write nothing", "-fsyntax-only"),
    *_rows(_F, _DRIVER, "with -c or -S: LLVM IR of every pass", "-emit-llvm"),
    *_rows(_F, _DRIVER, "print the commands, run none", "-###"),
    *_rows(_F, _DRIVER, "print the commands while running them", "-v"),
    *_rows(_F, _DRIVER, "keep intermediate files in the current folder", "-save-temps", "--save-temps"),
    *_rows(_J, _DRIVER, "keep intermediate files: cwd, obj or a folder", "-save-temps=", "--save-temps="),
    *_rows(_JS, _DRIVER, "language of the inputs that follow", "-x"),
    *_rows(_J, _DRIVER, "device archs: repeats, comma lists, native", "--offload-arch="),
    *_rows(_J, _DRIVER, "take archs out again; all", "--no-offload-arch="),
    *_rows(_F, _DRIVER, "host pass only", "--offload-host-only", "--cuda-host-only"),
    *_rows(_F, _DRIVER, "device passes only", "--offload-device-only", "--cuda-device-only"),
    *_rows(_J, _DRIVER, "triple of the host pass", "--host-triple=", "--target="),
    *_rows(_S, _DRIVER, "triple of the host pass", "-target"),
    *_rows(_JS, _DRIVER, "jobs at once", "-j"),
    *_rows(_J, _DRIVER, "prefix of the compiler jobs, such as ccache", "--launcher="),
    *_rows(_F, _DRIVER, "dependencies only, union of all passes", "-M", "-MM"),
    *_rows(_F, _DRIVER, "dependency file beside the output, union of all passes", "-MD", "-MMD"),
    *_rows(_JS, _DRIVER, "name of the dependency file", "-MF"),
    *_rows(_JS, _DRIVER, "target in the dependency file", "-MT", "-MQ"),
    *_rows(_F, _DRIVER, "phony targets for the headers", "-MP"),
    *_rows(_JS, _DRIVER, "compilation database entries of every pass", "-MJ"),
    *_rows(_S, _DRIVER, "next flag to the host pass only", "-Xarch_host"),
    *_rows(_S, _DRIVER, "next flag to the device passes only", "-Xarch_device"),
    *_rows(_J, _DRIVER, "-Xarch_ARCH: next flag to one arch's pass only", "-Xarch_"),
    *_rows(_S, _DEVICE, "next flag to ptxas", "-Xcuda-ptxas"),
    *_rows(_F, _DRIVER, "colour in diagnostics", "-fcolor-diagnostics", "-fno-color-diagnostics"),
    *_rows(_J, _DRIVER, "colour in diagnostics: always, never, auto", "-fdiagnostics-color="),
    *_rows(_F, _DRIVER, "do not use the cache for this run", "--no-cache"),
    *_rows(_J, _DRIVER, "write how long each job took, as JSON", "--time-jobs="),
    *_rows(_F, _DRIVER, "device code linked over objects (not in this version)", "-fgpu-rdc"),
    *_rows(_F, _DRIVER, "accepted, no effect", "-fno-gpu-rdc", "-pipe"),
    # --- both passes
    *_rows(_JS, Route.BOTH, "preprocessor", "-D", "-U", "-I", "-isystem", "-iquote", "-idirafter"),
    *_rows(_JS, Route.BOTH, "preprocessor", "-include", "-imacros", "-isysroot", "-cxx-isystem"),
    *_rows(_S, Route.BOTH, "preprocessor", "-Xpreprocessor", "--include", "--include-directory"),
    *_rows(_J, Route.BOTH, "preprocessor", "-Wp,", "-iprefix", "-iwithprefix"),
    *_rows(_F, Route.BOTH, "preprocessor", "-nostdinc", "-nostdinc++", "-undef", "-P", "-C", "-CC", "-H"),
    *_rows(_F, Route.BOTH, "preprocessor", "-dM", "-dD", "-dI", "-nobuiltininc", "-trigraphs"),
    *_rows(_J, Route.BOTH, "language", "-std=", "--std="),
    *_rows(_F, Route.BOTH, "language", "-ansi", "-pedantic", "-pedantic-errors", "--pedantic"),
    *_rows(_J, Route.BOTH, "warnings", "-W"),
    *_rows(_F, Route.BOTH, "warnings", "-w"),
    *_rows(_J, Route.BOTH, "optimisation", "-O"),
    *_rows(_J, Route.BOTH, "debug information; in device images only when asked for", "-g"),
    *_rows(_J, Route.BOTH, "language and code generation", "-f"),
    *_rows(_S, Route.BOTH, "clang's front end", "-Xclang", "-mllvm"),
    *_rows(_J, Route.BOTH, "clang's front end", "-Xclang="),
    *_rows(_J, Route.ALL, "where headers and libraries are", "--sysroot=", "-stdlib=", "--stdlib="),
    *_rows(_J, Route.ALL, "where gcc's headers are", "--gcc-toolchain=", "--gcc-install-dir="),
    *_rows(_F, Route.BOTH, "clang", "--no-default-config", "-no-canonical-prefixes"),
    # --- host code only: on a GPU these are errors, are ignored, or would change code silently
    *_rows(_J, _HOST, "machine flags are the host's", "-m"),
    *_rows(_S, _HOST, "machine flags are the host's", "-mthread-model"),
    *_rows(_J, _HOST, "x86 control-flow protection; a hard error on GPUs", "-fcf-protection"),
    *_rows(_J, _HOST, "stack protection", "-fstack-protector", "-fno-stack-protector", "-fsplit-stack"),
    *_rows(_J, _HOST, "stack protection", "-fstack-clash-protection", "-fno-stack-clash-protection"),
    *_rows(_J, Route.HOST_LINK, "sanitizers; silently ignored on nvptx", "-fsanitize", "-fno-sanitize"),
    *_rows(_J, _HOST, "sanitizers", "-fsanitize-coverage=", "-fsanitize-ignorelist="),
    *_rows(
        _J, Route.HOST_LINK, "link-time optimisation of host code", "-flto", "-fno-lto", "-fwhole-program"
    ),
    *_rows(_J, Route.HOST_LINK, "profiling", "-fprofile-", "-fno-profile-", "-fcs-profile-", "-fcoverage-"),
    *_rows(_F, Route.HOST_LINK, "profiling", "-pg"),
    *_rows(_F, _DRIVER, "not supported: its files lie beside temporary objects", *_REFUSED),
    *_rows(_J, _HOST, "instrumentation", "-fxray-", "-finstrument-", "-fpatchable-function-entry="),
    *_rows(_J, _HOST, "basic block sections", "-fbasic-block-sections", "-fsplit-machine-functions"),
    *_rows(_J, _HOST, "host symbol visibility", "-fvisibility", "-fno-semantic-interposition"),
    *_rows(
        _F,
        _HOST,
        "host code",
        "-ffunction-sections",
        "-fdata-sections",
        "-fno-plt",
        "-fsemantic-interposition",
    ),
    *_rows(_F, _HOST, "host code", "-funique-section-names", "-fno-unique-section-names"),
    *_rows(_F, _HOST, "host code", "-fomit-frame-pointer", "-fno-omit-frame-pointer"),
    *_rows(_F, _HOST, "host code", "-fasynchronous-unwind-tables", "-fno-asynchronous-unwind-tables"),
    *_rows(_F, _HOST, "host code", "-funwind-tables", "-fno-unwind-tables", "-fno-inline-asm"),
    *_rows(_F, _HOST, "position of host code", "-fPIC", "-fpic", "-fPIE", "-fpie", "-fno-PIC", "-fno-pic"),
    *_rows(_F, _HOST, "position of host code", "-fno-PIE", "-fno-pie"),
    *_rows(_J, _HOST, "host code model", "-mcmodel="),
    *_rows(_J, _HOST, "host thread-local storage", "-ftls-model="),
    *_rows(_J, _HOST, "time trace of the host pass", "-ftime-trace="),
    *_rows(_J, Route.HOST_LINK, "host threads", "-fopenmp", "-fno-openmp"),
    *_rows(_F, Route.HOST_LINK, "host threads", "-pthread"),
    *_rows(_J, _HOST, "split host debug information", "-gz", "-gdwarf-aranges", "-gpubnames"),
    *_rows(_S, _HOST, "host assembler", "-Xassembler"),
    *_rows(_J, _HOST, "host assembler", "-Wa,"),
    *_rows(_JS, Route.HOST_LINK, "where host tools are", "-B"),
    # --- device code only
    *_rows(_J, _DEVICE, "AMD passes", "-mcode-object-version=", "-munsafe-fp-atomics", "-mwavefrontsize64"),
    *_rows(
        _J, _DEVICE, "AMD passes", "-mno-unsafe-fp-atomics", "-mno-wavefrontsize64", "-mcumode", "-mno-cumode"
    ),
    *_rows(_J, _DEVICE, "PTX and cubin", "--cuda-noopt-device-debug", "--cuda-feature="),
    *_rows(_J, _DEVICE, "device math", "-fgpu-flush-denormals-to-zero", "-fgpu-approx-transcendentals"),
    # --- link only
    *_rows(_JS, _LINK, "library", "-l", "-L"),
    *_rows(_JS, _LINK, "linker", "-T", "-u", "-z"),
    *_rows(_S, _LINK, "linker", "-e", "--entry"),
    *_rows(
        _J,
        _LINK,
        "linker",
        "-Wl,",
        "-fuse-ld=",
        "--ld-path=",
        "-rtlib=",
        "--rtlib=",
        "-unwindlib=",
        "--unwindlib=",
    ),
    *_rows(_S, _LINK, "linker", "-Xlinker", "-rpath"),
    *_rows(_F, _DRIVER, "shared object", "-shared", "--shared"),
    *_rows(_F, _LINK, "linker", "-static", "-static-pie", "-static-libgcc", "-static-libstdc++", "-rdynamic"),
    *_rows(_F, _LINK, "linker", "-s", "-r", "-pie", "-no-pie", "-nopie", "-nostdlib", "-nodefaultlibs"),
    *_rows(
        _F, _LINK, "linker", "-nostartfiles", "-nostdlib++", "-nolibc", "-shared-libgcc", "-shared-libasan"
    ),
)

# Build systems ask the compiler these; clang answers.
QUERIES = (
    "--version", "-dumpversion", "-dumpmachine", "-print-search-dirs", "--print-search-dirs",
    "-print-resource-dir", "--print-resource-dir", "-print-libgcc-file-name", "-print-target-triple",
    "--print-target-triple", "-print-multi-lib", "--print-multi-lib", "-print-multi-directory",
)  # fmt: skip
QUERY_PREFIXES = ("-print-file-name=", "--print-file-name=", "-print-prog-name=", "--print-prog-name=")

_EXACT: Mapping[str, Flag] = {f.spelling: f for f in TABLE if f.form is not Form.JOINED}
_JOINED: tuple[Flag, ...] = tuple(
    sorted((f for f in TABLE if f.form in (_J, _JS)), key=lambda f: -len(f.spelling))
)


# --------------------------------------------------------------------------- response files
_RESPONSE_DEPTH = 8


def expand_response_files(argv: tuple[str, ...], depth: int = 0) -> tuple[str, ...]:
    """Replace each @FILE by the words in it, quoted as a shell quotes them."""
    words: list[str] = []
    for word in argv:
        if not word.startswith("@") or len(word) == 1:
            words.append(word)
            continue
        if depth >= _RESPONSE_DEPTH:
            raise OffloadcError(f"response files nest deeper than {_RESPONSE_DEPTH}: {word}")
        words.extend(expand_response_files(_read_response_file(word[1:]), depth + 1))
    return tuple(words)


def _read_response_file(path: str) -> tuple[str, ...]:
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise OffloadcError(f"cannot read response file '{path}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise OffloadcError(f"response file '{path}' is not UTF-8 text") from error
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise OffloadcError(f"response file '{path}': {str(error).lower()}") from error


# --------------------------------------------------------------------------- words
@dataclass(frozen=True, slots=True)
class _Word:
    """One flag with its value (`flag` set) or one input."""

    flag: Flag | None
    value: str
    text: tuple[str, ...]


def _words(argv: tuple[str, ...]) -> Iterator[_Word]:
    rest = iter(argv)
    for arg in rest:
        if arg == "--":
            yield from (_Word(None, a, (a,)) for a in rest)
            return
        if arg == "-" or not arg.startswith("-"):
            yield _Word(None, arg, (arg,))
            continue
        yield _flag_word(arg, rest)


def _flag_word(arg: str, rest: Iterator[str]) -> _Word:
    if arg.startswith(("-offload-", "-no-offload-", "-host-triple")):  # would read as -o FILE
        raise OffloadcError(f"unknown argument: '{arg}'", hint=f"did you mean '-{arg}'?")
    exact = _EXACT.get(arg)
    if exact and exact.form is _F:
        return _Word(exact, "", (arg,))
    if exact:
        value = next(rest, None)
        if value is None:
            raise OffloadcError(f"argument to '{arg}' is missing")
        return _Word(exact, value, (arg, value))
    for flag in _JOINED:
        if arg.startswith(flag.spelling):
            if flag.spelling == "-Xarch_":
                return _xarch_word(flag, arg, rest)
            return _Word(flag, arg[len(flag.spelling) :], (arg,))
    raise OffloadcError(f"unknown argument: '{arg}'", hint=_nearest(arg))


def _xarch_word(flag: Flag, arg: str, rest: Iterator[str]) -> _Word:
    value = next(rest, None)
    if value is None:
        raise OffloadcError(f"argument to '{arg}' is missing")
    return _Word(flag, value, (arg, value))


def _nearest(arg: str) -> str | None:
    stem, equals, value = arg.partition("=")
    spellings = {f.spelling.rstrip("="): f.spelling for f in TABLE if len(f.spelling) > 2}
    spellings.update({q: q for q in QUERIES})
    found = difflib.get_close_matches(stem, spellings, n=1, cutoff=0.75)
    if not found:
        return "see offloadc --help; flags for one pass only go behind -Xarch_host or -Xarch_device"
    spelling = spellings[found[0]]
    return f"did you mean '{spelling}{value if spelling.endswith('=') and equals else ''}'?"


def split_run(argv: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`[flags] FILE [arguments]` -> what the compiler gets, what the program gets."""
    taken = 0
    for word in _words(argv):
        taken += len(word.text)
        if word.flag is None:
            return argv[:taken], tuple(a for a in argv[taken:])
    raise OffloadcError("no program to run", hint="offloadc run [flags] FILE [arguments of the program]")


# --------------------------------------------------------------------------- languages
# Sources that are none here; as linker inputs they would only puzzle the linker.
_NOT_COMPILED = {".rs": "Rust", ".f90": "Fortran", ".F90": "Fortran", ".go": "Go", ".cl": "OpenCL C"}


def language_of(
    path: str, forced: str | None, suffixes: Mapping[str, str], names: Mapping[str, str]
) -> str | None:
    """The language a source is in, None for a linker input, as clang decides: -x, else the suffix."""
    if forced and forced != "none":
        if forced not in names:
            close = difflib.get_close_matches(forced, names, n=1)
            hint = f"did you mean '{close[0]}'?" if close else "languages: " + ", ".join(sorted(names))
            raise OffloadcError(f"language not recognized: '{forced}'", hint=hint)
        return names[forced]
    suffix = os.path.splitext(path)[1]
    if suffix in _NOT_COMPILED and suffix not in suffixes:
        known = " ".join(sorted(suffixes))
        raise OffloadcError(
            f"'{path}': {_NOT_COMPILED[suffix]} is not compiled by this version", hint=f"sources: {known}"
        )
    return suffixes.get(suffix)


# --------------------------------------------------------------------------- parse
def parse(argv: tuple[str, ...], *, suffixes: Mapping[str, str], languages: Mapping[str, str]) -> Invocation:
    """Understand a command line. `suffixes` and `languages` come from the languages folder.

    Raises OffloadcError naming the word that is wrong, with the nearest right one.
    """
    words = expand_response_files(argv)
    state = _State(Invocation(argv=words), suffixes, languages)
    for word in _words(words):
        state.take(word)
    return _finish(state)


class _State:
    """The invocation so far; a row's handler replaces fields of it."""

    def __init__(
        self, invocation: Invocation, suffixes: Mapping[str, str], languages: Mapping[str, str]
    ) -> None:
        self.inv = invocation
        self.suffixes = suffixes
        self.languages = languages
        self.forced_language: str | None = None
        self.link_only: list[str] = []

    def set(self, **fields: object) -> None:
        self.inv = replace(self.inv, **fields)  # type: ignore[arg-type]

    def take(self, word: _Word) -> None:
        flag = word.flag
        if flag is None:
            self._take_input(word.value)
            return
        if flag.route is _DRIVER:
            _DRIVER_FLAGS[flag.spelling](self, word)
            return
        if flag.spelling == "-Xcuda-ptxas":
            self.set(ptxas_flags=(*self.inv.ptxas_flags, word.value))
            return
        self._observe(flag, word)
        self._route(flag.route, word.text)

    def _take_input(self, path: str) -> None:
        language = language_of(path, self.forced_language, self.suffixes, self.languages)
        self.set(link_line=(*self.inv.link_line, SourceFile(path, language)))

    def _route(self, route: Route, text: tuple[str, ...]) -> None:
        if route & _HOST:
            self.set(host_flags=(*self.inv.host_flags, *text))
        if route & _DEVICE:
            self.set(device_flags=(*self.inv.device_flags, *text))
        if route & _LINK:
            self.set(link_line=(*self.inv.link_line, *text))
        if route is _LINK:
            self.link_only.append(" ".join(text))

    def _observe(self, flag: Flag, word: _Word) -> None:
        if flag.spelling == "-O":
            self.set(opt_level=_opt_level(word.value))
        elif flag.spelling == "-g" and (level := _debug_level(word.text[0])) is not None:
            self.set(debug=level)


def _opt_level(value: str) -> str:
    """The device code generator's level for clang's -O: 4 and fast are 3, g is 1, empty is 1."""
    return {"": "1", "g": "1", "fast": "3", "4": "3", "s": "2", "z": "2"}.get(value, value)


def _debug_level(text: str) -> Debug | None:
    """None: a -g flag that does not change the level (-gdwarf-5 does, -gcolumn-info does not)."""
    if text in ("-g0", "-ggdb0"):
        return Debug.NONE
    if text in ("-gline-tables-only", "-gmlt", "-g1", "-ggdb1", "-gline-directives-only"):
        return Debug.LINES
    if text in ("-g", "-g2", "-g3") or text.startswith(("-ggdb", "-gdwarf", "-glldb")):
        return Debug.FULL
    return None


# --------------------------------------------------------------------------- driver flags
def _output(kind: OutputKind) -> Callable[[_State, _Word], None]:
    return lambda s, w: s.set(output_kind=kind)


def _on(name: str, value: object = True) -> Callable[[_State, _Word], None]:
    return lambda s, w: s.set(**{name: value})


def _dependency(**fields: object) -> Callable[[_State, _Word], None]:
    return lambda s, w: s.set(dependencies=replace(s.inv.dependencies, **fields))  # type: ignore[arg-type]


def _dependency_value(name: str) -> Callable[[_State, _Word], None]:
    return lambda s, w: s.set(dependencies=replace(s.inv.dependencies, **{name: w.value}))  # type: ignore[arg-type]


def _add_archs(state: _State, word: _Word) -> None:
    names = tuple(n for n in word.value.split(",") if n)
    if not names:
        raise OffloadcError(f"{word.text[0]} names no arch", hint="for example --offload-arch=sm_90,gfx90a")
    state.set(archs=(*(state.inv.archs or ()), *names))


def _exclude_archs(state: _State, word: _Word) -> None:
    names = tuple(n for n in word.value.split(",") if n)
    if "all" in names:
        state.set(archs=(), excluded_archs=())
        return
    state.set(archs=tuple(a for a in state.inv.archs or () if a not in names))


def _set_language(state: _State, word: _Word) -> None:
    state.forced_language = word.value
    if word.value != "none":
        language_of("", word.value, state.suffixes, state.languages)


def _set_jobs(state: _State, word: _Word) -> None:
    if not word.value.isdigit() or int(word.value) == 0:
        raise OffloadcError(f"-j wants a number of jobs, not '{word.value}'")
    state.set(jobs=min(int(word.value), 1024))


def _set_color(state: _State, word: _Word) -> None:
    values = {"always": True, "never": False, "auto": None}
    if word.value not in values:
        raise OffloadcError(f"-fdiagnostics-color wants always, never or auto, not '{word.value}'")
    state.set(color=values[word.value])


def _xarch(state: _State, word: _Word) -> None:
    where = word.text[0][len("-Xarch_") :]
    if where == "host":
        state.set(host_flags=(*state.inv.host_flags, word.value))
    elif where == "device":
        state.set(device_flags=(*state.inv.device_flags, word.value))
    else:
        before = state.inv.arch_flags.get(where, ())
        state.set(arch_flags={**state.inv.arch_flags, where: (*before, word.value)})


def _dependency_target(state: _State, word: _Word) -> None:
    quoted = (
        word.value.replace("$", "$$").replace(" ", "\\ ")
        if word.flag and word.flag.spelling == "-MQ"
        else word.value
    )
    deps = state.inv.dependencies
    state.set(dependencies=replace(deps, targets=(*deps.targets, quoted)))


def _refuse_rdc(state: _State, word: _Word) -> None:
    raise OffloadcError(
        "-fgpu-rdc: device code is not linked over objects in this version",
        hint="define device functions in headers, or put the kernels and what they call into one source",
    )


def _refuse(state: _State, word: _Word) -> None:
    flag = word.text[0]
    raise OffloadcError(
        f"{flag} writes files beside the object, which is temporary here", hint=f"use {_REFUSED[flag]}"
    )


_DRIVER_FLAGS: Mapping[str, Callable[[_State, _Word], None]] = {
    "-o": lambda s, w: s.set(output=w.value),
    "-c": _output(OutputKind.OBJECT),
    "-S": _output(OutputKind.ASSEMBLY),
    "-E": _output(OutputKind.PREPROCESSED),
    "-fsyntax-only": _output(OutputKind.SYNTAX_ONLY),
    "-shared": _output(OutputKind.SHARED),
    "--shared": _output(OutputKind.SHARED),
    "-emit-llvm": _on("emit_llvm"),
    "-###": _on("dry_run"),
    "-v": _on("verbose"),
    "-save-temps": _on("save_temps", "cwd"),
    "--save-temps": _on("save_temps", "cwd"),
    "-save-temps=": lambda s, w: s.set(save_temps=w.value),
    "--save-temps=": lambda s, w: s.set(save_temps=w.value),
    "-x": _set_language,
    "--offload-arch=": _add_archs,
    "--no-offload-arch=": _exclude_archs,
    "--offload-host-only": _on("host_only"),
    "--cuda-host-only": _on("host_only"),
    "--offload-device-only": _on("device_only"),
    "--cuda-device-only": _on("device_only"),
    "--host-triple=": lambda s, w: s.set(host_triple=w.value),
    "--target=": lambda s, w: s.set(host_triple=w.value),
    "-target": lambda s, w: s.set(host_triple=w.value),
    "-j": _set_jobs,
    "--launcher=": lambda s, w: s.set(launcher=tuple(shlex.split(w.value))),
    "-M": _dependency(only=True, system=True),
    "-MM": _dependency(only=True, system=False),
    "-MD": _dependency(write=True, system=True),
    "-MMD": _dependency(write=True, system=False),
    "-MF": _dependency_value("file"),
    "-MT": _dependency_target,
    "-MQ": _dependency_target,
    "-MP": _dependency(phony=True),
    "-MJ": _dependency_value("database"),
    "-Xarch_host": _xarch,
    "-Xarch_device": _xarch,
    "-Xarch_": _xarch,
    "-fcolor-diagnostics": _on("color", True),
    "-fno-color-diagnostics": _on("color", False),
    "-fdiagnostics-color=": _set_color,
    "--no-cache": _on("use_cache", False),
    "--time-jobs=": lambda s, w: s.set(time_jobs=w.value),
    **dict.fromkeys(_REFUSED, _refuse),
    "-fgpu-rdc": _refuse_rdc,
    "-fno-gpu-rdc": lambda s, w: None,
    "-pipe": lambda s, w: None,
}


# --------------------------------------------------------------------------- what does not fit together
def _finish(state: _State) -> Invocation:
    inv = state.inv
    inputs = [i for i in inv.link_line if isinstance(i, SourceFile)]
    if not inputs:
        raise OffloadcError("no input files", hint="offloadc app.cpp -o app")
    if inv.host_only and inv.device_only:
        raise OffloadcError("--offload-host-only and --offload-device-only exclude one another")
    if inv.device_only and inv.links:
        raise OffloadcError("--offload-device-only has nothing to link", hint="add -c, -S, -E or -emit-llvm")
    if not inv.links and inv.output and len(inv.sources) > 1:
        raise OffloadcError("cannot specify -o when generating multiple output files")
    for source in inv.sources:
        _require_readable(source.path)
    _require_new_standard(inv)
    for item in inputs:
        if inv.output and os.path.exists(inv.output) and os.path.exists(item.path):
            _require_different(item.path, inv.output)
    return replace(inv, warnings=_unused(state))


def _require_readable(path: str) -> None:
    if path == "-":
        raise OffloadcError("reading the source from standard input is not supported", hint="name a file")
    try:
        with open(path, "rb"):
            return
    except OSError as error:
        raise OffloadcError(f"cannot read '{path}': {error.strerror}") from error


# The header is written in C++17.
_TOO_OLD = re.compile(r"-?-std=(?:c|gnu)\+\+(?:98|03|0x|11|1y|14)$")


def _require_new_standard(inv: Invocation) -> None:
    stated = [f for f in inv.host_flags if f.lstrip("-").startswith("std=")]
    if stated and _TOO_OLD.match(stated[-1]):
        raise OffloadcError(f"{stated[-1]}: offload C++ is C++17 or later", hint="for example -std=c++20")


def _require_different(path: str, output: str) -> None:
    if os.path.samefile(path, output):
        raise OffloadcError(f"input '{path}' is the output as well", hint="name another file with -o")


def _has_lto(flags: tuple[str, ...]) -> bool:
    return any(f.startswith("-flto") for f in flags)


def _unused(state: _State) -> tuple[str, ...]:
    inv = state.inv
    if "-Wno-unused-command-line-argument" in inv.host_flags:
        return ()
    unused: list[str] = []
    if not inv.links:
        unused += [f"{text}: linker flag unused, nothing is linked" for text in state.link_only]
        unused += [
            f"{i.path}: linker input unused, nothing is linked"
            for i in inv.link_line
            if isinstance(i, SourceFile) and not i.language
        ]
    deps = inv.dependencies
    if (deps.file or deps.targets) and not (deps.only or deps.write):
        unused.append("-MF and -MT: unused without -M, -MM, -MD or -MMD")
    if inv.host_only and inv.archs:
        unused.append(f"--offload-arch={','.join(inv.archs)}: unused with --offload-host-only")
    if _has_lto(inv.host_flags) and inv.sources:
        unused.append("-flto: host code of sources with kernels is compiled without it")
    if inv.emit_llvm and inv.links:
        unused.append("-emit-llvm: unused when linking; add -c or -S")
    if not inv.sources and inv.archs:
        unused.append(f"--offload-arch={','.join(inv.archs)}: unused, there is no source to compile")
    return tuple(unused)
