"""Jobs that run an IR stage in a child process of its own: an LLVM abort ends only that child."""

from __future__ import annotations

from pathlib import Path

from offloadc.model import Debug, Job, Unit


def emit_job(
    unit: Unit,
    pass_name: str,
    bitcode: Path,
    output: Path,
    *,
    stage: str,
    triple: str,
    cpu: str,
    features: str,
    filetype: str,
    debug: Debug | None = None,
    line_info: str = "LineTablesOnly",
) -> Job:
    """Bitcode -> the target's assembly or object; `debug` None: as the user asked for it."""
    inv = unit.invocation
    args = (
        unit.tools.python,
        "-m",
        "offloadc.device_pass.ir_worker",
        stage,
        f"--triple={triple}",
        f"--cpu={cpu}",
        f"--features={features}",
        f"--opt={inv.opt_level}",
        f"--debug={(debug or inv.debug).value}",
        f"--line-info={line_info}",
        f"--filetype={filetype}",
        "-o",
        str(output),
        str(bitcode),
    )
    return Job(f"{stage}-{filetype}", pass_name, args, (bitcode,), (output,))
