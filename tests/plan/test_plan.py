"""What would be run, for which pass, over which files: no compiler is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from offloadc import device_pass
from offloadc.model import Job, OffloadcError
from tests.plan.conftest import TOOLS, plan


def front_ends(jobs: tuple[Job, ...]) -> dict[str, Job]:
    return {j.pass_name: j for j in jobs if j.unit is not None}


def test_default_is_host_two_gpus_and_the_cpu_device(source: str) -> None:
    assert list(front_ends(plan(source).jobs)) == ["host", "sm_80", "gfx90a", "x86-64"]


def test_gpus_of_this_machine_are_the_default(source: str) -> None:
    assert list(front_ends(plan(source, present=("sm_90",)).jobs)) == ["host", "sm_90", "x86-64"]


def test_native_without_a_gpu_is_an_error(source: str) -> None:
    with pytest.raises(OffloadcError, match="no GPU was found"):
        plan(source, "--offload-arch=native")


def test_unknown_arch_names_the_nearest(source: str) -> None:
    with pytest.raises(OffloadcError) as caught:
        plan(source, "--offload-arch=gfx94")
    assert caught.value.hint == "did you mean gfx942?"
    with pytest.raises(OffloadcError) as caught:
        plan(source, "--offload-arch=sm_91")
    assert caught.value.hint == "did you mean sm_90?"


def test_target_id_features_are_put_in_order(source: str) -> None:
    jobs = front_ends(plan(source, "--offload-arch=gfx90a:xnack+:sramecc-").jobs)
    assert "--offload-arch=gfx90a:sramecc-:xnack+" in jobs["gfx90a:sramecc-:xnack+"].args


def test_one_arch_given_twice_is_compiled_once(source: str) -> None:
    jobs = plan(source, "--offload-arch=sm_90,sm_90").jobs
    assert [j.pass_name for j in jobs if j.unit].count("sm_90") == 1


def test_all_passes_share_the_cuid_and_only_the_host_is_rdc(source: str) -> None:
    jobs = front_ends(plan(source).jobs)
    assert any(a.startswith("-cuid=") for a in jobs["host"].args)
    assert "-fgpu-rdc" in jobs["host"].args
    assert all("-fgpu-rdc" not in job.args for name, job in jobs.items() if name != "host")


def test_flags_of_one_target_do_not_reach_another(source: str) -> None:
    jobs = front_ends(plan(source, "--cuda-feature=+ptx87", "-mcode-object-version=6").jobs)
    assert "--cuda-feature=+ptx87" not in jobs["gfx90a"].args
    assert "-mcode-object-version=6" not in jobs["sm_80"].args
    assert "-mcode-object-version=6" in jobs["gfx90a"].args


def test_without_ptxas_ptx_only_and_a_warning(source: str) -> None:
    found = plan(source, "--offload-arch=sm_90", tools=replace(TOOLS, ptxas=None, ptxas_version=None))
    assert not [j for j in found.jobs if j.name == "assemble"]
    assert "PTX only" in found.warnings[0]


def test_ptxas_that_does_not_know_an_arch_gives_ptx_only(source: str) -> None:
    found = plan(source, "--offload-arch=sm_70,sm_90")
    assert [j.pass_name for j in found.jobs if j.name == "assemble"] == ["sm_90"]
    assert found.warnings == ("ptxas 13.0 does not know sm_70: it gets PTX only",)


def test_c_makes_one_fat_object_a_source(source: str) -> None:
    Path("b.cpp").write_text("")
    found = plan("-c", source, "b.cpp")
    assert [str(p.destination) for p in found.products] == ["app.o", "b.o"]
    assert not [j for j in found.jobs if j.name == "link"]


def test_equal_file_names_do_not_collide(source: str) -> None:
    for folder in ("x", "y"):
        Path(folder).mkdir()
        Path(folder, "k.cpp").write_text("")
    outputs = [path for job in plan("x/k.cpp", "y/k.cpp").jobs for path in job.outputs]
    assert len(outputs) == len(set(outputs))


def test_units_of_different_files_have_different_cuids(source: str) -> None:
    Path("b.cpp").write_text("int main() {}\n")
    first, second = plan(source, "b.cpp").units
    assert first.cuid != second.cuid


def test_assembly_of_every_pass_is_named_after_it(source: str) -> None:
    found = plan("-S", source, "--offload-arch=sm_90,gfx942")
    assert [str(p.destination) for p in found.products] == [
        "app.s",
        "app-sm_90.s",
        "app-gfx942.s",
        "app-x86-64.s",
    ]


def test_o_with_several_outputs_is_an_error(source: str) -> None:
    with pytest.raises(OffloadcError, match="4 passes write one each"):
        plan("-S", source, "-o", "x.s")
    assert len(plan("-S", source, "-o", "x.s", "--offload-host-only").products) == 1


def test_launcher_prefixes_compiler_jobs_only(source: str) -> None:
    jobs = plan(source, "--launcher=ccache").jobs
    assert all((j.args[:1] == ("ccache",)) == (j.unit is not None) for j in jobs)


def test_host_only_has_no_images(source: str) -> None:
    names = {j.name for j in plan(source, "--offload-host-only").jobs}
    assert "bundle" not in names
    assert "device" not in names


def test_shared_object(source: str) -> None:
    link = next(j for j in plan(source, "-shared", "-fPIC", "-o", "libx.so").jobs if j.name == "link")
    assert "-shared" in link.args


def test_c_source_is_host_only(source: str) -> None:
    Path("plain.c").write_text("")
    assert [j.pass_name for j in plan("-c", "plain.c").jobs] == ["host"]


def test_plans_are_the_same_every_time(source: str) -> None:
    assert plan(source, "-O3") == plan(source, "-O3")


@pytest.mark.parametrize("target", device_pass.all_targets(), ids=lambda t: t.name)
def test_every_target_knows_its_own_archs(target: device_pass.Target) -> None:
    for arch in target.archs:
        assert device_pass.target_of_arch(arch) == (target, arch)


@pytest.mark.parametrize(
    "word", ["gfx90a:xnack", "gfx90a:xnack+:xnack+", "gfx1100:xnack+", "gfx90a:foo+", "SM_90", ""]
)
def test_what_is_no_arch(word: str) -> None:
    with pytest.raises(OffloadcError, match="unknown offload arch"):
        device_pass.target_of_arch(word)
