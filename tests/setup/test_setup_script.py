"""scripts/setup.sh on pretended machines: what it would install, when it asks, how it refuses."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.setup.conftest import ALL_NEEDED, ALL_WANTED, ROOT, Machine

INSTALL = "apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "
UPDATE = "apt-get -q -y -o DPkg::Lock::Timeout=300 update"


def installs(calls: list[str]) -> list[list[str]]:
    return [call.removeprefix(INSTALL).split() for call in calls if call.startswith(INSTALL)]


def snapshot(machine: Machine) -> set[str]:
    return {str(p) for p in machine.folder.rglob("*")}


# --------------------------------------------------------------------------- Debian
def test_bare_debian_gets_everything_once(machine: Machine) -> None:
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    calls = machine.calls()
    assert calls[0] == UPDATE
    assert installs(calls) == [[*ALL_NEEDED, *ALL_WANTED]]
    assert any("pip" in call and "--editable" in call and "[nvidia,zstd,dev]" in call for call in calls)

    again = machine.setup()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert machine.calls() == []


def test_only_what_is_missing_is_installed_and_lists_are_read_only_when_needed(machine: Machine) -> None:
    machine.write_lines("installed", "python3", "python3-venv", *ALL_NEEDED)
    machine.write_lines("available", *ALL_WANTED)
    assert machine.setup().returncode == 0
    calls = machine.calls()
    assert UPDATE not in calls
    assert installs(calls) == [list(ALL_WANTED)]


def test_a_package_that_was_removed_comes_back(machine: Machine) -> None:
    machine.setup()
    installed = (machine.folder / "installed").read_text().splitlines()
    machine.write_lines("installed", *(name for name in installed if name != "lld-22"))
    machine.calls()
    assert machine.setup().returncode == 0
    assert installs(machine.calls()) == [["lld-22"]]


def test_tests_want_more(machine: Machine) -> None:
    machine.setup()
    machine.calls()
    assert machine.setup("--tests").returncode == 0
    (more,) = installs(machine.calls())
    assert {"g++", "gdb", "ccache", "libeigen3-dev", "libfmt-dev", "libboost-dev"} <= set(more)
    assert not set(more) & {*ALL_NEEDED, *ALL_WANTED}


def test_python_without_venv_gets_it(machine: Machine) -> None:
    machine.write_lines("installed", "python3")
    machine.environment["PYTHON"] = str(machine.folder / "bin" / "python3")
    assert machine.setup().returncode == 0
    (names,) = installs(machine.calls())
    assert "python3-venv" in names


def test_an_unusable_python_is_named(machine: Machine) -> None:
    machine.environment["PYTHON"] = "/nonexistent/python"
    done = machine.setup()
    assert done.returncode == 1
    assert "/nonexistent/python is not a Python 3.10 or newer" in done.stderr


def test_stale_lists_are_read_anew(machine: Machine) -> None:
    machine.write_lines("available", *ALL_NEEDED, *ALL_WANTED)
    machine.write_lines("install_failures", "one")
    assert machine.setup().returncode == 0
    calls = machine.calls()
    assert len(installs(calls)) == 2
    assert UPDATE in calls


def test_an_optional_package_that_no_archive_has_is_left_out(machine: Machine) -> None:
    machine.write_lines("archive", *ALL_NEEDED, "libclang-rt-22-dev")
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "going on without: liboffload-22" in done.stdout
    assert installs(machine.calls()) == [[*ALL_NEEDED, "libclang-rt-22-dev"]]

    machine.setup()
    assert machine.calls() == []  # and it is not asked for each time


def test_without_llvm_22_nothing_is_installed(machine: Machine) -> None:
    machine.os_release(ID="ubuntu", ID_LIKE="debian", PRETTY_NAME="Ubuntu 24.04 LTS")
    machine.write_lines("archive", "make", "rocm-device-libs")
    done = machine.setup()
    assert done.returncode == 1
    assert "no package archive of this system has: clang-22 lld-22 llvm-22" in done.stderr
    assert "LLVM's own Debian and Ubuntu archive" in done.stderr
    assert installs(machine.calls()) == []
    assert not (machine.clone / ".venv").exists()


def test_failing_apt_is_one_clear_error(machine: Machine) -> None:
    machine.write_lines("install_failures", "one", "two")
    done = machine.setup()
    assert done.returncode == 1
    assert "setup: error: apt-get could not install: clang-22" in done.stderr
    assert not (machine.clone / ".venv").exists()


# --------------------------------------------------------------------------- .venv
def test_pip_failure_leaves_no_stamp(machine: Machine) -> None:
    (machine.folder / "no_network").touch()
    done = machine.setup()
    assert done.returncode == 1
    assert "pip could not install" in done.stderr
    (machine.folder / "no_network").unlink()
    assert machine.setup().returncode == 0


def test_offline_with_everything_there_works(machine: Machine) -> None:
    machine.setup()
    (machine.clone / ".venv" / "offloadc-setup.stamp").unlink()
    (machine.folder / "no_network").touch()
    (machine.folder / "offline").touch()
    machine.calls()
    done = machine.setup()
    assert (done.returncode, done.stderr) == (0, "")
    assert all("--no-index" in call for call in machine.calls() if "pip" in call)


def test_changed_requirements_are_installed(machine: Machine) -> None:
    machine.setup()
    machine.calls()
    with (machine.clone / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert machine.setup().returncode == 0
    calls = machine.calls()
    assert any("--editable" in call for call in calls)
    assert not any("venv" in call.split("/")[0] for call in calls)  # the environment itself stays


def test_a_broken_environment_is_made_anew(machine: Machine) -> None:
    machine.setup()
    (machine.clone / ".venv" / "bin" / "python").unlink()
    machine.calls()
    assert machine.setup().returncode == 0
    assert any("-m venv --clear" in call for call in machine.calls())


# --------------------------------------------------------------------------- dry run, arguments
def test_dry_run_changes_nothing(machine: Machine) -> None:
    before = snapshot(machine)
    done = machine.setup("--dry-run", "--tests")
    assert done.returncode == 0
    assert "would install with apt-get: clang-22 lld-22 llvm-22 make" in done.stdout
    assert "ccache" in done.stdout
    assert "would make .venv" in done.stdout
    assert snapshot(machine) == before


def test_unknown_argument(machine: Machine) -> None:
    done = machine.setup("--test")
    assert done.returncode == 1
    assert "unknown argument '--test'" in done.stderr


# --------------------------------------------------------------------------- other systems
@pytest.mark.parametrize(
    ("release", "command"),
    [
        ({"ID": "fedora", "PRETTY_NAME": "Fedora Linux 43"}, "sudo dnf install clang lld llvm"),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora", "PRETTY_NAME": "Rocky 10"}, "sudo dnf install"),
        ({"ID": "arch", "PRETTY_NAME": "Arch Linux"}, "sudo pacman -S --needed clang lld llvm"),
        ({"ID": "opensuse-leap", "ID_LIKE": "suse opensuse", "PRETTY_NAME": "Leap"}, "sudo zypper install"),
        ({"ID": "alpine", "PRETTY_NAME": "Alpine"}, "musl is not supported"),
        ({"ID": "plan9", "PRETTY_NAME": "Plan 9"}, "package manager is not known"),
    ],
    ids=lambda value: value["ID"] if isinstance(value, dict) else None,
)
def test_elsewhere_it_lists_what_is_missing(machine: Machine, release: dict[str, str], command: str) -> None:
    machine.os_release(**release)
    machine.environment["OFFLOADC_LLVM"] = str(machine.folder)
    before = snapshot(machine)
    done = machine.setup()
    assert done.returncode == 1
    assert f"missing on this system ({release['PRETTY_NAME']})" in done.stderr
    for thing in ("clang 22", "lld 22", "libclang 22"):
        assert f"setup:   {thing}" in done.stderr.splitlines()
    assert command in done.stderr
    assert snapshot(machine) == before  # nothing half done


def test_elsewhere_with_everything_there_it_goes_on(machine: Machine) -> None:
    machine.os_release(ID="fedora", PRETTY_NAME="Fedora Linux 44")
    prefix = machine.folder / "llvm"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").mkdir()
    (prefix / "lib" / "libclang.so.22.1").touch()
    for name, version in (
        ("clang++", "clang version 22.1.0"),
        ("ld.lld", "LLD 22.1.0"),
        ("llvm-objcopy", "LLVM version 22.1.0"),
    ):
        tool = prefix / "bin" / name
        tool.write_text(f"#!/bin/sh\necho '{version}'\n")
        tool.chmod(0o755)
    machine.environment["OFFLOADC_LLVM"] = str(prefix)
    (machine.folder / "bin" / "make").symlink_to("/bin/true")
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert installs(machine.calls()) == []


def test_another_llvm_is_missing_llvm_22(machine: Machine) -> None:
    machine.os_release(ID="arch", PRETTY_NAME="Arch Linux")
    tool = machine.folder / "llvm" / "bin" / "clang++"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho 'clang version 21.1.7'\n")
    tool.chmod(0o755)
    machine.environment["OFFLOADC_LLVM"] = str(machine.folder / "llvm")
    done = machine.setup()
    assert done.returncode == 1
    assert "clang 22" in done.stderr


# --------------------------------------------------------------------------- the scripts themselves
@pytest.mark.parametrize("script", ["scripts/setup.sh", ".ci/run"])
def test_shellcheck_has_nothing_to_say(script: str) -> None:
    tool = shutil.which("shellcheck")
    if tool is None:
        pytest.skip("shellcheck is not installed (make test installs it)")
    done = subprocess.run([tool, str(ROOT / script)], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0


def test_ci_runs_the_readmes_test_command() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "make test" in script
    assert "$ make test" in (ROOT / "README.md").read_text()
    assert Path(ROOT / ".ci" / "run").stat().st_mode & 0o111
