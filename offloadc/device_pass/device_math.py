"""Which device math bitcode a pass links, in one place. Licences are listed in docs/install.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from offloadc.device_pass.target import DeviceMath
from offloadc.model import OffloadcError, Toolchain


def libdevice(tools: Toolchain, arch: str) -> DeviceMath | None:
    """NVIDIA's libdevice, which covers every sm_; libclc where it is not installed."""
    if tools.libdevice is None:
        return _libclc(tools, "nvptx64--.bc")
    return DeviceMath(
        (tools.libdevice,), "libdevice", "NVIDIA CUDA Toolkit EULA, redistributable in binaries"
    )


def _libclc(tools: Toolchain, name: str) -> DeviceMath | None:
    """LLVM's OpenCL library for a target; None where that is not installed either."""
    file = tools.libclc / name if tools.libclc else None
    if file is None or not file.is_file():
        return None
    # its triple has no vendor and system, which clang would remark on
    args = ("-D__OFFLOADC_MATH_LIBCLC__=1", "-Wno-linker-warnings")
    return DeviceMath((file,), "libclc", "Apache-2.0 WITH LLVM-exception, parts MIT", args)


# A library release older than a GPU has no constants for it: those of the nearest relative stand in.
_ISA_STAND_INS = {
    "9-generic": "900",
    "9-4-generic": "942",
    "10-1-generic": "1010",
    "10-3-generic": "1030",
    "11-generic": "1100",
    "12-generic": "1201",
    "950": "942",
    "942": "940",
    "940": "90a",
    "1251": "1250",
    "1250": "1201",
    "1201": "1200",
    "1200": "1103",
    "1153": "1152",
    "1152": "1151",
    "1151": "1150",
    "1150": "1103",
    "1103": "1102",
    "1102": "1101",
    "1101": "1100",
    "1100": "1036",
}


def _isa_constants(folder: Path, isa: str) -> Path:
    wanted: str | None = isa
    while wanted is not None:
        file = folder / f"oclc_isa_version_{wanted}.bc"
        if file.is_file():
            return file
        wanted = _ISA_STAND_INS.get(wanted)
    raise OffloadcError(
        f"the ROCm device libraries in {folder} do not know gfx{isa}",
        hint="install a newer rocm-device-libs, or set OFFLOADC_ROCM_DEVICE_LIBS",
    )


def _rocm_files(folder: Path, isa: str, wave64: bool) -> Iterator[Path]:
    for name in ("ocml", "ockl", "oclc_daz_opt_off", "oclc_unsafe_math_off", "oclc_finite_only_off"):
        yield folder / f"{name}.bc"
    correctly_rounded = folder / "oclc_correctly_rounded_sqrt_on.bc"
    if correctly_rounded.is_file():  # gone in newer releases, which always round correctly
        yield correctly_rounded
    yield folder / f"oclc_wavefrontsize64_{'on' if wave64 else 'off'}.bc"
    yield _isa_constants(folder, isa)
    yield folder / "oclc_abi_version_500.bc"


def rocm_device_libs(tools: Toolchain, processor: str, wave64: bool) -> DeviceMath | None:
    """ROCm's ocml and the constants it is configured by; libclc where it is not installed."""
    if tools.rocm_device_libs is None:
        return _libclc(tools, "amdgcn-amd-amdhsa.bc")
    files = tuple(_rocm_files(tools.rocm_device_libs, processor.removeprefix("gfx"), wave64))
    missing = [f for f in files if not f.is_file()]
    if missing:
        raise OffloadcError(f"{missing[0]} is missing", hint="reinstall rocm-device-libs")
    return DeviceMath(files, "ROCm device libraries", "NCSA / MIT")
