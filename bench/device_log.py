"""Run a program on a GPU and on the CPU device and record both, with the machine's versions.

    python bench/device_log.py --output reports/NAME.md [--device cuda:0] -- PROGRAM [ARGUMENTS]

Exit code 1 when a run fails or when a line that starts with `checksum` differs between devices.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path


def run(command: list[str], device: str, trace: bool = False) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OFFLOADC_DEVICE": device, "OFFLOADC_TRACE": "1" if trace else "0"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return done.stdout.strip() or done.stderr.strip()


def machine() -> list[str]:
    gpu = said(
        "nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader"
    )
    system = f"{platform.system()} {platform.release()}, {os.cpu_count()} cores"
    return [f"GPU: {gpu}", f"system: {system}"]


def checksums(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("checksum")]


def section(title: str, text: str) -> list[str]:
    return [f"## {title}", "", "```", text.rstrip(), "```", ""]


def launches(trace: str) -> str:
    """The first lines of each kind of a trace: what was loaded and how it was launched."""
    seen: dict[str, str] = {}
    for line in trace.splitlines():
        words = line.split()
        if len(words) > 3 and words[0] == "offloadc:":
            seen.setdefault(" ".join(words[2:4]) if words[2] == "launch" else words[2], line)
    return "\n".join(seen.values())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument(
        "--note", action="append", default=[], help="a line about versions, such as liboffload's"
    )
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    runs = {device: run(options.program, device) for device in (options.device, "cpu")}
    traced = run(options.program, options.device, trace=True)
    same = len({tuple(checksums(done.stdout)) for done in runs.values()}) == 1
    made_by = (
        f"Made by `python bench/device_log.py --device {options.device} -- {shlex.join(options.program)}`."
    )
    facts = (f"- {line}" for line in (*machine(), *options.note))
    lines = [f"# {shlex.join(options.program)}", "", made_by, "", *facts, ""]
    for device, done in runs.items():
        lines += section(f"{device}: exit code {done.returncode}", done.stdout + done.stderr)
    lines += section("first call of each kind, OFFLOADC_TRACE=1", launches(traced.stderr))
    lines += [
        f"checksums on {options.device} and on the CPU device: {'the same' if same else 'DIFFERENT'}",
        "",
    ]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text("\n".join(lines))
    print("\n".join(lines))
    return 0 if same and all(done.returncode == 0 for done in runs.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
