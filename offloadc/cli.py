"""The command line: verbs, and clang's own command line when there is no verb.

Prints results on stdout and everything else on stderr. Exit codes: 0 done, 1 an error that was
printed. Imports what a verb needs only when that verb runs.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

    from offloadc.model import OffloadcError
    from offloadc.toolchain import Environment

_RESET, _BOLD = "\x1b[0m", "\x1b[1m"
_COLORS = {"error": "\x1b[0;1;31m", "warning": "\x1b[0;1;35m", "help": "\x1b[0;1;36m"}

USAGE = """\
usage: offloadc [clang flags] FILE... [-o OUTPUT] [--offload-arch=ARCH,...]
       offloadc VERB [ARGUMENTS]

Compiles C++ with kernels for the host, NVIDIA and AMD GPUs and the CPU device, checks that the
passes agree, and links one executable that runs on whatever device is there.

verbs:
  run FILE [ARG...]   build into the cache and run
  doctor              what is installed, what is missing and the command that mends it
  inspect FILE        the device images in an executable, object, archive or bundle
  bundle              write an offload binary from images
  unbundle FILE       take images out of a file

flags besides clang's (docs/flags.md has every flag and the passes it reaches):
  --offload-arch=ARCHS     sm_90, gfx90a, gfx942:xnack+, native, ...; repeats and comma lists
                           (default: the GPUs of this machine, else sm_80,gfx90a; the CPU always)
  --offload-host-only      host pass only             --offload-device-only  device passes only
  -Xarch_host FLAG         one flag, host pass only   -Xarch_device FLAG     device passes only
  -Xarch_sm_90 FLAG        one flag, one arch only    --host-triple=TRIPLE   host to compile for
  -j N                     jobs at once               --launcher=ccache      prefix of compiler jobs
  -### / -v                print the commands         -save-temps[=DIR]      keep intermediate files
  --no-cache               do not use the cache       --time-jobs=FILE       job times as JSON

environment: OFFLOADC_DEVICE=cpu|cuda:N|amdgpu:N and OFFLOADC_TRACE=1 are read by built programs;
OFFLOADC_LLVM, OFFLOADC_PTXAS, OFFLOADC_CACHE_DIR, OFFLOADC_CACHE=0, ... by offloadc (docs/install.md).
"""


def _wants_color(env: Environment) -> bool:
    if env.no_color:
        return False
    return env.force_color or (sys.stderr.isatty() and os.environ.get("TERM") != "dumb")


class _Terminal:
    """Diagnostics on stderr, in clang's form."""

    def __init__(self, color: bool) -> None:
        self.color = color

    def _line(self, kind: str, text: str) -> None:
        if self.color:
            print(f"offloadc: {_COLORS[kind]}{kind}: {_RESET}{_BOLD}{text}{_RESET}", file=sys.stderr)
        else:
            print(f"offloadc: {kind}: {text}", file=sys.stderr)

    def say(self, text: str) -> None:
        sys.stderr.write(text)

    def error(self, error: OffloadcError) -> None:
        place = f"{error.where}: " if error.where else ""
        self._line("error", place + error.message)
        if error.hint:
            self._line("help", error.hint)

    def warn(self, text: str) -> None:
        self._line("warning", text)


def _compile(argv: tuple[str, ...], env: Environment, terminal: _Terminal) -> int:
    from offloadc import driver

    messages = driver.Messages(terminal.say, terminal.error, terminal.warn)
    try:
        return driver.compile_command(argv, env, messages, color=terminal.color)
    except driver.CompilationFailed:
        return 1


def _run(argv: tuple[str, ...], env: Environment, terminal: _Terminal) -> int:
    from offloadc import driver

    messages = driver.Messages(terminal.say, terminal.error, terminal.warn)
    try:
        return driver.run_command(argv, env, messages, color=terminal.color)
    except driver.CompilationFailed:
        return 1


def _doctor(argv: tuple[str, ...], env: Environment, terminal: _Terminal) -> int:
    from offloadc import doctor, report
    from offloadc.model import OffloadcError

    if argv and argv != ("--format=json",):
        raise OffloadcError(f"doctor takes only --format=json, not '{argv[0]}'")
    findings = doctor.examine(env)
    report.print_doctor(findings, as_json=bool(argv))
    return 0 if doctor.usable(findings) else 1


def _bundle(argv: tuple[str, ...], env: Environment, terminal: _Terminal) -> int:
    from offloadc import bundle_verbs

    return bundle_verbs.bundle(argv)


def _unbundle(argv: tuple[str, ...], env: Environment, terminal: _Terminal) -> int:
    from offloadc import bundle_verbs

    return bundle_verbs.unbundle(argv)


def _inspect(argv: tuple[str, ...], env: Environment, terminal: _Terminal) -> int:
    from offloadc import bundle_verbs

    return bundle_verbs.inspect(argv)


VERBS: Mapping[str, Callable[[tuple[str, ...], Environment, _Terminal], int]] = {
    "run": _run,
    "doctor": _doctor,
    "bundle": _bundle,
    "unbundle": _unbundle,
    "inspect": _inspect,
}


def _query(argv: tuple[str, ...], env: Environment) -> int:
    from offloadc import __version__, driver

    if "--version" in argv:
        print(f"offloadc {__version__}", flush=True)
    return driver.answer_query(argv, env)


def _dispatch(argv: tuple[str, ...], env: Environment, terminal: _Terminal) -> int:
    from offloadc.options import QUERIES, QUERY_PREFIXES

    if any(a in QUERIES or a.startswith(QUERY_PREFIXES) for a in argv):
        return _query(argv, env)
    verb = VERBS.get(argv[0])
    if verb is not None and not os.path.exists(argv[0]):
        return verb(argv[1:], env, terminal)
    return _compile(argv, env, terminal)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """A polite request to end is handled as Ctrl-C is: children end, nothing partial stays."""
    raise KeyboardInterrupt


def _bug(error: Exception) -> OffloadcError:
    import traceback

    from offloadc.model import OffloadcError

    place = traceback.extract_tb(error.__traceback__)[-1]
    return OffloadcError(
        f"internal error: {type(error).__name__}: {error} at {place.filename}:{place.lineno}",
        hint="please report it with the command line",
    )


def _open_closed_streams() -> None:
    """A caller may have closed our streams; what is written to them then goes nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def main(argv: list[str] | None = None) -> int:
    _open_closed_streams()
    words = tuple(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("--help", "-h", "-help", "help"):
        print(USAGE, end="", file=sys.stdout if words else sys.stderr)
        return 0 if words else 1
    from offloadc.model import OffloadcError
    from offloadc.toolchain import Environment

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    terminal = _Terminal(color=False)
    try:
        env = Environment.read()
        terminal = _Terminal(_wants_color(env))
        return _dispatch(words, env, terminal)
    except OffloadcError as error:
        terminal.error(error)
    except KeyboardInterrupt:
        terminal.error(OffloadcError("interrupted; nothing was written"))
    except BrokenPipeError:  # the reader of our output went away: nobody is left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        terminal.error(OffloadcError(f"{error.filename or 'write'}: {error.strerror}"))
    except Exception as error:  # a bug of ours reaches the user as one message, with its place
        terminal.error(_bug(error))
    return 1
