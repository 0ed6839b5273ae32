"""How long a build takes: against its own commands run one after another, and again unchanged.

    python bench/build_time.py [--rounds N] [--output reports/build-time]

Prints and records (JSON and Markdown):
  parallel / serial   wall time of `offloadc` with an empty cache, over the wall time of the child
                      commands that -### prints, run one after another (rounds alternate A B A B)
  driver's own time   wall time of the build less the time in which at least one child ran
  unchanged rebuild, --help
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "examples" / "heat" / "heat.cpp"
FLAGS = ("-O3", "-std=c++20", "--offload-arch=sm_90,gfx90a,gfx942")


def offloadc(*words: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OFFLOADC_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed offloadc has its .pyc files
    command = (sys.executable, "-m", "offloadc", *words)
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment)


def timed(*words: str, cache: Path) -> float:
    started = time.monotonic()
    offloadc(*words, cache=cache)
    return time.monotonic() - started


def cold_build(work: Path, times: Path) -> tuple[float, float]:
    """Wall time of a build with an empty cache, and of it the time in which no child ran."""
    cache = work / "cold-cache"
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir()
    shutil.copy(work / "versions.json", cache)  # asking the tools their versions is done once a machine
    wall = timed(*FLAGS, str(SOURCE), "-o", str(work / "heat"), f"--time-jobs={times}", cache=cache)
    jobs = json.loads(times.read_text())["jobs"]
    spans = sorted((j["start_s"], j["end_s"]) for j in jobs if not j["in_process"])
    return wall, wall - covered(spans)


def covered(spans: list[tuple[float, float]]) -> float:
    total, end = 0.0, 0.0
    for start, stop in spans:
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def child_commands(work: Path) -> list[list[str]]:
    """The commands of -### over kept intermediate files, so that each can be run by itself."""
    keep = f"-save-temps={work / 'kept'}"
    arguments = (*FLAGS, str(SOURCE), "-o", str(work / "heat"), keep)
    offloadc(*arguments, cache=work / "unused")
    printed = offloadc("-###", *arguments, cache=work / "unused").stderr
    return [shlex.split(line) for line in printed.splitlines() if line and not line.startswith("#")]


def serial(commands: list[list[str]]) -> float:
    started = time.monotonic()
    for command in commands:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.monotonic() - started


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def measure(rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="offloadc-bench-") as folder:
        work = Path(folder)
        warm = work / "warm-cache"
        rebuild = (*FLAGS, str(SOURCE), "-o", str(work / "heat"))
        timed(*rebuild, cache=warm)
        shutil.copy(warm / "versions.json", work)
        commands = child_commands(work)
        serial(commands)
        rows = []
        for _ in range(rounds):
            wall, own = cold_build(work, work / "times.json")
            rows.append({"parallel_s": wall, "own_s": own, "serial_s": serial(commands)})
        ratios = [r["parallel_s"] / r["serial_s"] for r in rows]
        return {
            "schema": "offloadc-build-time/1",
            "command": "python bench/build_time.py",
            "machine": {
                "processor": processor(),
                "cores": len(os.sched_getaffinity(0)),
                "system": platform.platform(),
            },
            "python": platform.python_version(),
            "build": " ".join(("offloadc", *FLAGS, "examples/heat/heat.cpp")),
            "child_commands": len(commands),
            "rounds": rows,
            "ratio": spread(ratios),
            "parallel_s": spread([r["parallel_s"] for r in rows]),
            "serial_s": spread([r["serial_s"] for r in rows]),
            "own_s": spread([r["own_s"] for r in rows]),
            "rebuild_s": spread([timed(*rebuild, cache=warm) for _ in range(max(rounds, 9))]),
            "help_s": spread([timed("--help", cache=warm) for _ in range(max(rounds, 9))]),
        }


def spread(values: list[float]) -> dict[str, float]:
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


GOALS = {"ratio": 0.70, "own_s": 0.200, "rebuild_s": 0.150, "help_s": 0.150}
TITLES = {
    "ratio": "parallel / serial",
    "own_s": "driver's own time [s]",
    "rebuild_s": "unchanged rebuild [s]",
    "help_s": "--help [s]",
    "parallel_s": "cold build [s]",
    "serial_s": "its commands one after another [s]",
}


def markdown(result: dict[str, Any]) -> str:
    machine = result["machine"]
    lines = [
        "# Build time",
        "",
        f"`{result['build']}`, empty cache, {result['child_commands']} child commands.",
        f"Made by `{result['command']}` on {machine['processor']}, "
        f"{machine['cores']} cores, Python {result['python']}.",
        "",
        "| figure | min | median | max | goal |",
        "|---|---|---|---|---|",
    ]
    for key, title in TITLES.items():
        value = result[key]
        goal = f"<= {GOALS[key]:.2f}" if key in GOALS else ""
        lines.append(
            f"| {title} | {value['min']:.3f} | {value['median']:.3f} | {value['max']:.3f} | {goal} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=ROOT / "reports" / "build-time")
    options = parser.parse_args()
    result = measure(options.rounds)
    options.output.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    options.output.with_suffix(".md").write_text(markdown(result))
    print(markdown(result), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
