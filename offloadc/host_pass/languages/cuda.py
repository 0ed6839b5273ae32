"""Offload C++ in CUDA spelling: as nvcc does, the header is there without an #include."""

from __future__ import annotations

from functools import partial

from offloadc.host_pass.clang_jobs import device_job, host_job
from offloadc.host_pass.language import Language

_PROLOGUE = ("offloadc/prologue.h", "offloadc/offload.h")

LANGUAGE = Language(
    name="cuda",
    suffixes=(".cu",),
    aliases=(),
    offload=True,
    host_job=partial(host_job, prologue=_PROLOGUE),
    device_job=partial(device_job, prologue=_PROLOGUE),
)
