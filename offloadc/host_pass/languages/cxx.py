"""Offload C++: kernels and host code in one file over <offloadc/offload.h>."""

from __future__ import annotations

from functools import partial

from offloadc.host_pass.clang_jobs import device_job, host_job
from offloadc.host_pass.language import Language

_PROLOGUE = ("offloadc/prologue.h",)

LANGUAGE = Language(
    name="cxx",
    suffixes=(".cpp", ".cc", ".cxx", ".c++", ".C", ".cp", ".CPP"),
    aliases=("c++",),
    offload=True,
    host_job=partial(host_job, prologue=_PROLOGUE),
    device_job=partial(device_job, prologue=_PROLOGUE),
)
