"""Where the tools are: one LLVM prefix, ptxas, device math bitcode, liboffload.

Looks at the file system and at the environment; starts a process only to ask a tool for its
version, once a tool (the answer is kept beside the cache, keyed by path, size and time stamp).
Every environment variable that offloadc reads is named in `Environment`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from offloadc.model import OffloadcError, Toolchain

SUPPORTED_LLVM_MAJORS = (22,)
PACKAGE_ROOT = Path(__file__).resolve().parent
RUNTIME = PACKAGE_ROOT / "runtime"

DEBIAN_HINT = "on Debian 12: apt-get install {packages}; elsewhere see docs/install.md"


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment variables offloadc itself reads (programs it builds read OFFLOADC_DEVICE, ...)."""

    llvm: str | None  # OFFLOADC_LLVM: LLVM prefix, such as /usr/lib/llvm-22
    ptxas: str | None  # OFFLOADC_PTXAS: path of ptxas; "none" does without
    libdevice: str | None  # OFFLOADC_LIBDEVICE: path of libdevice.10.bc; "none" does without
    rocm_device_libs: str | None  # OFFLOADC_ROCM_DEVICE_LIBS: folder of ocml.bc; "none" does without
    libclc: str | None  # OFFLOADC_LIBCLC: folder of libclc's bitcode
    liboffload: str | None  # OFFLOADC_LIBOFFLOAD: path of liboffload for doctor and programs
    cache_dir: str | None  # OFFLOADC_CACHE_DIR
    cache: bool  # OFFLOADC_CACHE=0 switches the cache off
    cache_bytes: int  # OFFLOADC_CACHE_SIZE in MiB
    tmpdir: str  # TMPDIR
    no_color: bool  # NO_COLOR
    force_color: bool  # FORCE_COLOR
    path: str  # PATH

    @staticmethod
    def read(environ: Mapping[str, str] | None = None) -> Environment:
        e = os.environ if environ is None else environ
        return Environment(
            llvm=e.get("OFFLOADC_LLVM"),
            ptxas=e.get("OFFLOADC_PTXAS"),
            libdevice=e.get("OFFLOADC_LIBDEVICE"),
            rocm_device_libs=e.get("OFFLOADC_ROCM_DEVICE_LIBS"),
            libclc=e.get("OFFLOADC_LIBCLC"),
            liboffload=e.get("OFFLOADC_LIBOFFLOAD"),
            cache_dir=e.get("OFFLOADC_CACHE_DIR"),
            cache=e.get("OFFLOADC_CACHE", "1") not in ("0", "off", "no"),
            cache_bytes=_mebibytes(e.get("OFFLOADC_CACHE_SIZE", "2048")),
            tmpdir=e.get("TMPDIR", "/tmp"),  # noqa: S108 - POSIX default, used through mkdtemp only
            no_color=bool(e.get("NO_COLOR")),
            force_color=bool(e.get("FORCE_COLOR")),
            path=e.get("PATH", os.defpath),
        )

    def cache_folder(self) -> Path:
        if self.cache_dir:
            return Path(self.cache_dir)
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        return Path(base) / "offloadc"


def _mebibytes(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise OffloadcError(f"OFFLOADC_CACHE_SIZE={text!r} is not a number of MiB", hint="for example 2048")
    return int(text) << 20


# --------------------------------------------------------------------------- versions, asked once
def _version_of(path: Path, pattern: str, store: Path) -> str:
    status = path.stat()
    key = f"{path}\0{status.st_size}\0{status.st_mtime_ns}"
    known = _read_versions(store)
    if key not in known:
        done = subprocess.run(  # noqa: S603
            (str(path), "--version"), capture_output=True, text=True, timeout=60, check=False
        )
        found = re.search(pattern, done.stdout)
        if done.returncode != 0 or not found:
            raise OffloadcError(
                f"{path} --version says nothing offloadc understands (exit code {done.returncode})",
                hint="reinstall the tool, or name another one (docs/install.md)",
            )
        known = {**known, key: found[1]}
        _write_versions(store, known)
    return known[key]


def _read_versions(store: Path) -> dict[str, str]:
    try:
        loaded = json.loads(store.read_text())
    except (OSError, ValueError):  # absent or damaged: the tools are asked again
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _write_versions(store: Path, known: Mapping[str, str]) -> None:
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        temporary = store.with_name(f"{store.name}.{os.getpid()}")
        temporary.write_text(json.dumps(known, sort_keys=True))
        temporary.replace(store)
    except OSError:  # a read-only home: the tools are asked again next time
        return


# --------------------------------------------------------------------------- search
def _llvm_prefixes(env: Environment) -> Iterator[Path]:
    if env.llvm:
        yield Path(env.llvm)
        return
    for major in SUPPORTED_LLVM_MAJORS:
        yield Path(f"/usr/lib/llvm-{major}")
        yield Path(f"/usr/lib64/llvm{major}")
        yield Path(f"/opt/llvm-{major}")
    names = [f"clang++-{major}" for major in SUPPORTED_LLVM_MAJORS] + ["clang++"]
    for name in names:
        found = shutil.which(name, path=env.path)
        if found:
            yield Path(found).resolve().parent.parent


def find_llvm(env: Environment, versions: Path) -> tuple[Path, str]:
    """The first LLVM prefix of a supported major version, and its version. Raises OffloadcError."""
    seen: list[str] = []
    for prefix in _llvm_prefixes(env):
        clang = prefix / "bin" / "clang++"
        if not os.access(clang, os.X_OK):
            if env.llvm:
                raise OffloadcError(f"OFFLOADC_LLVM={env.llvm}: there is no bin/clang++ in it")
            continue
        version = _version_of(clang, r"clang version (\d+\.\d+\.\d+)", versions)
        if int(version.split(".", 1)[0]) in SUPPORTED_LLVM_MAJORS:
            return prefix, version
        seen.append(f"{clang} is {version}")
    wanted = " or ".join(str(m) for m in SUPPORTED_LLVM_MAJORS)
    raise OffloadcError(
        f"no clang {wanted} found" + (f" ({'; '.join(seen)})" if seen else ""),
        hint=DEBIAN_HINT.format(packages="clang-22 lld-22 llvm-22") + "; or set OFFLOADC_LLVM to its prefix",
    )


def _nvidia_roots() -> Iterator[Path]:
    for folder in dict.fromkeys((*sys.path, str(Path(sys.prefix) / "lib"))):
        yield from sorted(Path(folder).glob("nvidia/cu*"), reverse=True) if folder else ()
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    yield Path("/usr/local/cuda")


def find_ptxas(env: Environment) -> Path | None:
    """ptxas named by OFFLOADC_PTXAS, of the PyPI wheel nvidia-cuda-nvcc, of PATH, of a CUDA toolkit."""
    if env.ptxas == "none":
        return None
    if env.ptxas:
        if not os.access(env.ptxas, os.X_OK):
            raise OffloadcError(f"OFFLOADC_PTXAS={env.ptxas}: not an executable file")
        return Path(env.ptxas)
    roots = list(_nvidia_roots())
    candidates = [root / "bin" / "ptxas" for root in roots[:-1]]
    on_path = shutil.which("ptxas", path=env.path)
    candidates += [Path(on_path)] if on_path else []
    candidates.append(roots[-1] / "bin" / "ptxas")
    return next((c for c in candidates if os.access(c, os.X_OK)), None)


def _first_file(candidates: Iterator[Path]) -> Path | None:
    return next((c for c in candidates if c.is_file()), None)


def find_libdevice(env: Environment) -> Path | None:
    if env.libdevice == "none":
        return None
    if env.libdevice:
        if not Path(env.libdevice).is_file():
            raise OffloadcError(f"OFFLOADC_LIBDEVICE={env.libdevice}: no such file")
        return Path(env.libdevice)
    return _first_file(root / "nvvm" / "libdevice" / "libdevice.10.bc" for root in _nvidia_roots())


def find_rocm_device_libs(env: Environment) -> Path | None:
    if env.rocm_device_libs == "none":
        return None
    if env.rocm_device_libs:
        if not Path(env.rocm_device_libs, "ocml.bc").is_file():
            raise OffloadcError(
                f"OFFLOADC_ROCM_DEVICE_LIBS={env.rocm_device_libs}: there is no ocml.bc in it"
            )
        return Path(env.rocm_device_libs)
    rocm = os.environ.get("ROCM_PATH", "/opt/rocm")
    folders = (
        f"{rocm}/amdgcn/bitcode",
        "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
        "/usr/lib/amdgcn/bitcode",
    )
    found = _first_file(Path(folder, "ocml.bc") for folder in folders)
    return found.parent if found else None


def find_libclc(env: Environment, llvm: Path) -> Path | None:
    """The folder of libclc's bitcode: beside clang's own headers, or where Debian puts it."""
    folders = (env.libclc,) if env.libclc else (str(llvm / "share" / "clc"), "/usr/lib/clc", "/usr/share/clc")
    found = _first_file(Path(folder, "nvptx64--.bc") for folder in folders)
    if env.libclc and found is None:
        raise OffloadcError(f"OFFLOADC_LIBCLC={env.libclc}: there is no nvptx64--.bc in it")
    return found.parent if found else None


def find_liboffload(env: Environment, llvm: Path) -> Path | None:
    if env.liboffload:
        return Path(env.liboffload) if Path(env.liboffload).is_file() else None
    return _first_file(llvm / "lib" / name for name in ("libLLVMOffload.so.22.1", "libLLVMOffload.so"))


def find_toolchain(env: Environment) -> Toolchain:
    """Everything there is. Raises OffloadcError only when there is no usable clang."""
    versions = env.cache_folder() / "versions.json"
    llvm, llvm_version = find_llvm(env, versions)
    ptxas = find_ptxas(env)
    return Toolchain(
        llvm=llvm,
        llvm_version=llvm_version,
        ptxas=ptxas,
        ptxas_version=_version_of(ptxas, r"release (\d+\.\d+)", versions) if ptxas else None,
        libdevice=find_libdevice(env),
        rocm_device_libs=find_rocm_device_libs(env),
        libclc=find_libclc(env, llvm),
        liboffload=find_liboffload(env, llvm),
        python=sys.executable,
    )


REQUIRED_TOOLS = (("ld.lld", "lld-22"), ("llvm-objcopy", "llvm-22"))


def require_tools(tools: Toolchain) -> None:
    """Raise OffloadcError when a part of LLVM that every build needs is missing beside clang."""
    for name, package in REQUIRED_TOOLS:
        if not os.access(tools.tool(name), os.X_OK):
            raise OffloadcError(f"{tools.tool(name)} is missing", hint=DEBIAN_HINT.format(packages=package))


# --------------------------------------------------------------------------- GPUs of this machine
def gpu_device_nodes() -> bool:
    """Whether a GPU driver's device node is there: cheap, asked before any tool is started."""
    return any(Path(node).exists() for node in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg"))


def native_archs(tools: Toolchain) -> tuple[str, ...]:
    """The archs of the GPUs of this machine, as LLVM's own tools name them, without duplicates."""
    found: list[str] = []
    for name in ("nvptx-arch", "amdgpu-arch"):
        if not os.access(tools.tool(name), os.X_OK):
            continue
        done = subprocess.run(  # noqa: S603
            (str(tools.tool(name)),), capture_output=True, text=True, timeout=60, check=False
        )
        found += [line.strip() for line in done.stdout.splitlines() if done.returncode == 0 and line.strip()]
    return tuple(dict.fromkeys(found))
