"""pyproject.toml, the wheel, the Makefile and the documents agree with one another and the source."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DOCUMENTS = sorted(
    [ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/*.md")]
)


def requirements(*extras: str) -> dict[str, Requirement]:
    lines = list(PROJECT["project"]["dependencies"])
    for extra in extras:
        lines += PROJECT["project"]["optional-dependencies"][extra]
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


def third_party_imports() -> set[str]:
    names: set[str] = set()
    for file in (ROOT / "offloadc").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"offloadc"}


# --------------------------------------------------------------------------- pyproject.toml
def test_every_import_is_a_declared_dependency() -> None:
    providers = importlib.metadata.packages_distributions()
    declared = set(requirements("zstd"))
    for module in sorted(third_party_imports()):
        assert {canonicalize_name(d) for d in providers.get(module, ())} & declared, module


@pytest.mark.parametrize("name", sorted(requirements()))
def test_dependencies_are_installed_in_the_versions_asked_for(name: str) -> None:
    assert requirements()[name].specifier.contains(importlib.metadata.version(name))


def test_toolkit_wheels_stay_at_one_release() -> None:
    wheels = requirements("nvidia")
    assert {str(wheels[n].specifier) for n in ("nvidia-cuda-nvcc", "nvidia-nvvm")} == {"==13.0.*"}


def test_one_oldest_python_everywhere() -> None:
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert PROJECT["tool"]["mypy"]["python_version"] == oldest
    assert PROJECT["tool"]["ruff"]["target-version"] == "py" + oldest.replace(".", "")
    major, minor = oldest.split(".")
    assert f"sys.version_info < ({major}, {minor})" in (ROOT / "scripts" / "setup.sh").read_text()


def test_licence_is_apache_with_the_llvm_exception() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert PROJECT["project"]["license"] == "Apache-2.0 WITH LLVM-exception"
    assert "Apache License" in text and "END OF TERMS AND CONDITIONS" in text
    assert "---- LLVM Exceptions to the Apache 2.0 License ----" in text


def test_extras_that_setup_installs_exist() -> None:
    (extras,) = re.findall(r"^EXTRAS=(\S+)$", (ROOT / "scripts" / "setup.sh").read_text(), re.MULTILINE)
    assert set(extras.split(",")) == set(PROJECT["project"]["optional-dependencies"])


# --------------------------------------------------------------------------- the wheel
@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; it comes with the extra dev")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "-w", str(folder), str(ROOT)], check=True, timeout=120)
    (built,) = folder.glob("offloadc-*.whl")
    return zipfile.ZipFile(built)


@pytest.mark.slow
def test_wheel_holds_every_source_of_the_package(wheel: zipfile.ZipFile) -> None:
    held = set(wheel.namelist())
    files = (p for p in (ROOT / "offloadc").rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    assert {str(p.relative_to(ROOT)) for p in files} - held == set()
    assert "offloadc/runtime/include/offloadc/runtime.h" in held


@pytest.mark.slow
def test_wheel_holds_nothing_else(wheel: zipfile.ZipFile) -> None:
    assert {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" not in name} == {"offloadc"}


@pytest.mark.slow
def test_wheel_makes_the_command_and_carries_the_licence(wheel: zipfile.ZipFile) -> None:
    (entry_points,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    assert "offloadc = offloadc.cli:main" in wheel.read(entry_points).decode()
    assert any(n.endswith("licenses/LICENSE") for n in wheel.namelist())


# --------------------------------------------------------------------------- Makefile, documents
def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_makefile_has_the_targets_and_lists_them() -> None:
    assert {"setup", "run", "test", "check", "bless", "bench", "help"} <= make_targets()
    done = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {line.split()[0] for line in done.stdout.splitlines()} == make_targets()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_make_commands_in_documents_exist(document: Path) -> None:
    assert set(re.findall(r"(?:\$ |`)make ([a-z]+)", document.read_text())) <= make_targets()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text()):
        if "://" not in link:
            assert (document.parent / link).exists(), link


def test_install_page_names_every_environment_variable() -> None:
    source = (ROOT / "offloadc" / "toolchain.py").read_text()
    page = (ROOT / "docs" / "install.md").read_text()
    for name in sorted(set(re.findall(r"\"(OFFLOADC_[A-Z_]+)\"", source))):
        assert f"`{name}`" in page, name
