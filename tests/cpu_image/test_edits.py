"""Each edit by itself: goldens for LLVM 22, what is refused, what no edit may do."""

from __future__ import annotations

import difflib
import os
import random
import re
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest

from offloadc.device_pass.ir_edits import (
    EDITS,
    Edit,
    lines_only,
    retarget_to_x86_64,
    strip_debug_info,
)
from offloadc.model import OffloadcError
from tests.cpu_image import image as cpu

GOLDEN = Path(__file__).parent / "golden"
BLESS = bool(os.environ.get("OFFLOADC_BLESS"))
INPUT = GOLDEN / "small.ll"


def small_input(folder: Path) -> str:
    source = GOLDEN / "small.cpp"
    flags = [f for f in cpu.CPU_PASS if not f.startswith("-D")]
    mode = "-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib --cuda-device-only -std=c++20".split()
    output = folder / "small.ll"
    cpu.run(cpu.tool("clang++"), *mode, *flags, "-g", f"-ffile-prefix-map={GOLDEN}=.", source, "-o", output)
    text = output.read_text().replace(str(source), "small.cpp")
    text = re.sub(r'directory: "[^"]*"', 'directory: "."', text)
    return re.sub(r"(Debian |Ubuntu )?clang version [^\"]*", "clang version 22", text)


def check_golden(path: Path, text: str) -> None:
    if BLESS:
        path.write_text(text)
    assert text == path.read_text(), "read the difference, then: make bless"


def test_the_goldens_input_is_what_clang_writes(tmp_path: Path) -> None:
    """A new clang that prints other IR shows here first."""
    check_golden(INPUT, small_input(tmp_path))


def states() -> list[tuple[str, str, str]]:
    """(edit, text before, text after) of the whole sequence."""
    text, found = INPUT.read_text(), []
    for edit in EDITS:
        after = edit.apply(text)
        found.append((edit.name, text, after))
        text = after
    return found


def difference(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=0)
    return "\n".join(line for line in lines if not line.startswith("@@")) + "\n"


@pytest.mark.parametrize("position", range(len(EDITS)), ids=[e.name for e in EDITS])
def test_edit(position: int) -> None:
    name, before, after = states()[position]
    assert cpu.what_is_wrong(before) is None
    assert cpu.what_is_wrong(after) is None
    check_golden(GOLDEN / f"{position:02}-{name}.diff", difference(before, after))


@pytest.mark.parametrize("edit", EDITS[1:], ids=[e.name for e in EDITS[1:]])
def test_edits_leave_alone_what_is_not_theirs(edit: Edit) -> None:
    """Strings and quoted names that look like IR, and a second application."""
    trap = (
        " addrspace(3) convergent dso_local @llvm.nvvm.x @llvm.a.p12 , ) @vprintf( comdat !dbg !3 @shared ; "
        "emissionKind: DebugDirectivesOnly DW_OP_constu, 8, DW_OP_swap, DW_OP_xderef target-cpu #dbg_value("
    )
    text = "\n".join((
        'target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"',
        'target triple = "nvptx64-nvidia-cuda"',
        f'@a = private constant [{len(trap)} x i8] c"{trap}", align 1',
        '@"x addrspacecast comdat" = internal global i32 0, align 4',
        "@shared = internal addrspace(3) global i32 undef, align 4",
        "",
    ))  # fmt: skip
    assert cpu.what_is_wrong(text) is None
    kept = [line for line in edit.apply(text).splitlines() if line.startswith(("@a", '@"x'))]
    assert kept == [line for line in text.splitlines() if line.startswith(("@a", '@"x'))]
    assert len(kept) == 2
    assert strip_debug_info(text).splitlines() == text.splitlines()


def test_the_whole_module() -> None:
    checked: list[str] = []

    def verify(text: str) -> str | None:
        checked.append(text)
        return cpu.what_is_wrong(text)

    module = retarget_to_x86_64(INPUT.read_text(), llvm_major=22, verify=verify)
    assert len(checked) == len(EDITS) + 2  # the input, each edit, the wrappers
    check_golden(GOLDEN / "small.x86_64.ll", module.text)
    (kernel,) = module.kernels
    assert [(p.offset, p.size, p.align) for p in kernel.params] == [(0, 32, 32), (32, 1, 1), (40, 8, 8)]
    assert (kernel.name, kernel.args_size, dict(kernel.resources)) == ("sum", 48, {"static_shared": 256})
    again = retarget_to_x86_64(INPUT.read_text(), llvm_major=22)
    assert again == module
    assert 'c"sum 48 0:32:32 32:1:1 40:8:8\\0A\\00", section ".offloadc.kernels"' in module.text


def test_nothing_of_nvptx_is_left() -> None:
    text = retarget_to_x86_64(INPUT.read_text(), llvm_major=22).text
    for word in ("nvvm", "ptx", "sm_70", "addrspace", "convergent", "dso_local", "comdat", 'syncscope("'):
        assert word not in re.sub(r"@offloadc\.nvvm\.[\w.]+|!DI.*", "", text), word


def edit_named(name: str) -> Edit:
    (found,) = (e for e in EDITS if e.name == name)
    return found


def test_scopes_of_atomics_become_the_process() -> None:
    body = """define void @f(ptr %p) {{
  fence{a} seq_cst
  fence syncscope("singlethread") acq_rel
  %x = atomicrmw add ptr %p, i32 1{b} monotonic, align 4
  %y = cmpxchg ptr %p, i32 1, i32 2{a} acquire monotonic, align 4
  %z = load atomic i32, ptr %p{b} monotonic, align 4
  ret void
}}
"""
    text = body.format(a=' syncscope("block")', b=' syncscope("device")')
    assert cpu.what_is_wrong(text) is None
    assert edit_named("drop-synchronization-scopes").apply(text) == body.format(a="", b="")


FLATTENING = [
    ("  call void @llvm.memcpy.p3.p1.i64(ptr addrspace(3) %a, ptr addrspace(1) %b, i64 8, i1 false)",
     "  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 8, i1 false)"),
    ("  %v = call <4 x i32> @llvm.masked.gather.v4i32.v4p1(<4 x ptr addrspace(1)> %p)",
     "  %v = call <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr> %p)"),
    ("  %c = addrspacecast ptr addrspace(5) %a to ptr", "  %c = bitcast ptr %a to ptr"),
    ("  %d = alloca i32, align 4, addrspace(5)", "  %d = alloca i32, align 4"),
    ("!1 = !DIExpression(DW_OP_constu, 8, DW_OP_swap, DW_OP_xderef)", "!1 = !DIExpression()"),
    ("!1 = !DIExpression(DW_OP_deref, DW_OP_constu, 8, DW_OP_swap, DW_OP_xderef)", "!1 = !DIExpression(DW_OP_deref)"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), FLATTENING)
def test_one_address_space(before: str, after: str) -> None:
    assert edit_named("flatten-address-spaces").apply(before) == after + "\n"


LINKAGE = [
    ("@a = dso_local addrspace(1) externally_initialized global i32 0, align 4",
     "@a = internal addrspace(1) global i32 0, align 4"),
    ("@a = weak_odr hidden local_unnamed_addr addrspace(4) constant i32 0, comdat, align 4",
     "@a = internal local_unnamed_addr addrspace(4) constant i32 0, align 4"),
    ('@a = linkonce_odr global i32 0, comdat($"b c"), align 4', "@a = internal global i32 0, align 4"),
    ("@a = extern_weak dso_local addrspace(1) global i32, align 4",
     "@a = extern_weak hidden addrspace(1) global i32, align 4"),
    ("@a = external dso_local global i32", "@a = external global i32"),
    ("@a = dso_local unnamed_addr alias void (), ptr @f", "@a = internal unnamed_addr alias void (), ptr @f"),
    ("@a = private unnamed_addr constant i8 0", "@a = private unnamed_addr constant i8 0"),
    ("define linkonce_odr hidden void @f() #1 comdat align 2 {", "define internal void @f() #1 align 2 {"),
    ("define weak_odr dso_local ptx_kernel void @f() comdat($g) {", "define internal ptx_kernel void @f() {"),
    ("declare !dbg !4 dso_local float @sinf(float) #1", "declare !dbg !4 float @sinf(float) #1"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), LINKAGE)
def test_linkage(before: str, after: str) -> None:
    assert edit_named("internalize").apply(before) == after + "\n"


# ----------------------------------------------------------------------------- refusals
@pytest.mark.parametrize("major", [0, 21, 23])
def test_unknown_llvm_is_refused(major: int) -> None:
    with pytest.raises(OffloadcError, match=f"LLVM {major} prints IR"):
        retarget_to_x86_64(INPUT.read_text(), llvm_major=major)


def test_a_complaint_of_the_verifier_names_the_edit() -> None:
    def verify(text: str) -> str | None:
        return "no good" if "addrspace(" not in text else None

    with pytest.raises(OffloadcError, match="after edit flatten-address-spaces: no good"):
        retarget_to_x86_64(INPUT.read_text(), llvm_major=22, verify=verify)


def compile_kernel(tmp_path: Path, body: str, before: str = "", *flags: str) -> str:
    source = tmp_path / "user.cpp"
    source.write_text(
        f'#include <offloadc/offload.h>\n{before}\nextern "C" __global__ void k(int *p) {{\n  {body}\n}}\nint main() {{}}\n'
    )
    return cpu.front_end(source, tmp_path / "user.ll", "-gline-tables-only", *flags)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('asm volatile("mov.u32 %0, %%laneid;" : "=r"(*p));', r'inline PTX assembly "mov.u32 \$0, %laneid;"'),
        ("*p = __nvvm_match_any_sync_i32(-1, *p);", r"llvm\.nvvm\.match\.any\.sync\.i32 cannot run"),
        ("__nvvm_barrier_sync(3);", r"llvm\.nvvm\.barrier|barrier 3"),
    ],
)
def test_what_cannot_run_is_named_with_its_line(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(OffloadcError, match=message) as caught:
        retarget_to_x86_64(compile_kernel(tmp_path, body), llvm_major=22, verify=cpu.what_is_wrong)
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("user.cpp")
    assert caught.value.where.line == 4
    assert caught.value.hint or "barrier" in message


def test_without_debug_information_the_place_is_unknown(tmp_path: Path) -> None:
    text = strip_debug_info(compile_kernel(tmp_path, 'asm volatile("exit;");'))
    with pytest.raises(OffloadcError, match="inline PTX") as caught:
        retarget_to_x86_64(text, llvm_major=22)
    assert caught.value.where is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "made from nvptx64 IR"),
        ('target datalayout = "e"\ntarget triple = "amdgcn-amd-amdhsa"\n', "this is amdgcn"),
        ('target datalayout = "e-p3:32:32"\ntarget triple = "nvptx64"\n', "pointers of 32 bits"),
        (
            'target datalayout = "e"\ntarget triple = "nvptx64"\nmodule asm ".word"\n',
            "assembly at file level",
        ),
    ],
)
def test_other_modules_are_refused(text: str, message: str) -> None:
    with pytest.raises(OffloadcError, match=message):
        retarget_to_x86_64(text, llvm_major=22)


def test_damaged_text_gives_an_error_and_nothing_else() -> None:
    """Bytes lost, doubled or changed: OffloadcError, or a module that the verifier has accepted."""
    text = INPUT.read_text()
    chance = random.Random(2)
    refused = 0
    for _ in range(300):
        at = chance.randrange(len(text))
        width = chance.choice((1, 2, 40, 4000))
        noise = chance.choice(("", '"', "(", "]", "%x", text[at : at + width] * 2))
        try:
            retarget_to_x86_64(text[:at] + noise + text[at + width :], llvm_major=22)
        except OffloadcError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("depth", [10, 100_000])
def test_deep_types_do_not_exhaust_the_stack(depth: int) -> None:
    type_ = "{" * depth + "i32" + "}" * depth
    text = INPUT.read_text().replace("%struct.Wide = type { [8 x float] }", f"%struct.Wide = type {type_}")
    if depth == 10:
        assert retarget_to_x86_64(text, llvm_major=22).kernels[0].params[0].size == 4
        return
    with pytest.raises(OffloadcError, match="nested too deeply"):
        retarget_to_x86_64(text, llvm_major=22)


# ----------------------------------------------------------------------------- debug information
GPU_PASSES = {
    "nvptx64": ("-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib --offload-arch=sm_90 "
                "--cuda-feature=+ptx80 -D__OFFLOADC_TARGET_NVPTX__=1", "sm_90", "+ptx80", "asm"),
    "amdgcn": ("-x hip -nogpuinc -nogpulib --no-gpu-bundle-output -cuid=1 --offload-arch=gfx90a "
               "-D__OFFLOADC_TARGET_AMDGCN__=1", "gfx90a", "", "obj"),
}  # fmt: skip
PROGRAM = """#include <offloadc/offload.h>
template <class F> __global__ void each(double *p, int n, F f) {
  __shared__ double tile[64];
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    tile[i % 64] = p[i];
    __syncthreads();
    for (int j = 0; j < 64; j++) p[i] += f(tile[j]);
    __syncthreads();
  }
}
int main() { each<<<1, 1>>>(nullptr, 0, [] __device__(double x) { return x * x; }); }
"""


@pytest.mark.parametrize("name", GPU_PASSES)
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_stripped_code_is_that_of_a_compile_without_g(tmp_path: Path, name: str, level: str) -> None:
    mode, processor, features, kind = GPU_PASSES[name]
    source = tmp_path / "program.cpp"
    source.write_text(PROGRAM)
    texts = {}
    for debug in ("-g0", "-g -Xclang -debug-info-kind=constructor"):
        output = tmp_path / "out.ll"
        flags = (
            f"{mode} {level} {debug} -std=c++20 -fdeclspec -Wno-cuda-compat -include offloadc/prologue.h "
            f"-D__OFFLOADC_DEVICE_PASS__=1 --cuda-device-only -S -emit-llvm -I{cpu.RUNTIME / 'include'}"
        )
        cpu.run(cpu.tool("clang++"), *flags.split(), source, "-o", output)
        texts[debug[:3].strip()] = output.read_text()
    assert "!DILocation" in texts["-g"]
    assert "!DILocation" not in texts["-g0"]
    stripped = strip_debug_info(texts["-g"])
    assert "DI" not in re.findall(r"!\w+", stripped)
    assert not re.search(r"!dbg|!DI|#dbg_|Debug Info Version|Dwarf", stripped)
    assert generate(stripped, processor, features, kind) == generate(texts["-g0"], processor, features, kind)
    assert generate(texts["-g"], processor, features, kind) != generate(stripped, processor, features, kind)


def generate(text: str, processor: str, features: str, kind: str) -> Any:
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_triple(module.triple)
    machine = target.create_target_machine(cpu=processor, features=features, opt=3, reloc="pic")
    return machine.emit_object(module) if kind == "obj" else machine.emit_assembly(module).encode()


def test_lines_only_changes_the_emission_alone(tmp_path: Path) -> None:
    text = compile_kernel(tmp_path, "*p = 1;", "", "-g", "-Xclang", "-debug-info-kind=constructor")
    edited = lines_only(text)
    assert "emissionKind: FullDebug" in text
    assert edited == text.replace("emissionKind: FullDebug", "emissionKind: LineTablesOnly")
