"""A pretended machine for scripts/setup.sh: its own os-release, and tools that only record calls."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALL_NEEDED = ("clang-22", "lld-22", "llvm-22", "make")
ALL_WANTED = ("liboffload-22", "clang-tools-22", "libclang-rt-22-dev", "rocm-device-libs")

RECORD = 'echo "${0##*/} $*" >>"$MACHINE/calls"\n'

DPKG_QUERY = """#!/bin/bash
for word in "$@"; do
  case $word in -*|*'$'*) continue ;; esac
  if grep -qxF -- "$word" "$MACHINE/installed"; then echo "$word installed"; fi
done
"""

APT_CACHE = """#!/bin/bash
exec grep -qxF -- "${@: -1}" "$MACHINE/available"
"""

# update makes the archive's packages known; install puts them in, or fails as often as it is told.
APT_GET = f"""#!/bin/bash
{RECORD}
case " $* " in
  *" update "*) cat "$MACHINE/archive" >>"$MACHINE/available" ;;
  *" install "*)
    if [[ -s $MACHINE/install_failures ]]; then sed -i 1d "$MACHINE/install_failures"; exit 100; fi
    for word in "$@"; do case $word in -*|install) ;; *) echo "$word" >>"$MACHINE/installed" ;; esac; done ;;
esac
"""

SUDO = """#!/bin/bash
while [[ $1 == -n ]]; do shift; done
exec "$@"
"""

# Python that has venv only where the package that brings it is installed; pip needs no network.
PYTHON = f"""#!/bin/bash
case "$*" in
  *ensurepip*) grep -qxF python3-venv "$MACHINE/installed" ;;
  "-m venv "*)
    {RECORD}
    mkdir -p "${{@: -1}}/bin" && cp "$0" "${{@: -1}}/bin/python" ;;
  *" --version") ;;
  "-m pip "*)
    {RECORD}
    case "$*" in *--no-index*) exec test -e "$MACHINE/offline" ;; esac
    exec test ! -e "$MACHINE/no_network" ;;
  *) echo pretended ;;
esac
"""

TOOLS = {
    "dpkg-query": DPKG_QUERY,
    "apt-cache": APT_CACHE,
    "apt-get": APT_GET,
    "sudo": SUDO,
    "python3": PYTHON,
}


@dataclass
class Machine:
    """One pretended machine with a clone of the project on it."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def clone(self) -> Path:
        return self.folder / "clone"

    def write_lines(self, name: str, *lines: str) -> None:
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines))

    def os_release(self, **values: str) -> None:
        self.write_lines("os-release", *(f'{key}="{value}"' for key, value in values.items()))

    def setup(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder / 'bin'}:/usr/bin:/bin"
        return subprocess.run(
            [str(self.clone / "scripts" / "setup.sh"), *arguments],
            env={"MACHINE": str(self.folder), "PATH": path, "HOME": str(self.folder),
                 "OFFLOADC_OS_RELEASE": str(self.folder / "os-release"), **self.environment},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def calls(self) -> list[str]:
        file = self.folder / "calls"
        calls = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return calls


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A Debian 12 with nothing installed, whose package lists were never read."""
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    made = Machine(tmp_path)
    (made.clone / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup.sh", made.clone / "scripts")
    shutil.copy(ROOT / "pyproject.toml", made.clone)
    (tmp_path / "bin").mkdir()
    for name, text in TOOLS.items():
        (tmp_path / "bin" / name).write_text(text)
        os.chmod(tmp_path / "bin" / name, 0o755)
    made.os_release(ID="debian", VERSION_ID="12", PRETTY_NAME="Debian GNU/Linux 12 (bookworm)")
    made.write_lines("installed", "python3", "python3-venv")
    made.write_lines("available")
    made.write_lines("archive", *ALL_NEEDED, *ALL_WANTED, "python3", "python3-venv", "g++",
        "gdb", "ccache", "shellcheck",
              "libeigen3-dev", "libfmt-dev", "libboost-dev", "liboffload-22-dev", "libclc-22")  # fmt: skip
    return made
