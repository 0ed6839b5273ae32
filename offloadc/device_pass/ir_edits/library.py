"""IR that the edits link into a CPU image: what the header's and NVVM's functions become.

A thread's ids lie in the context that `__offloadc_cpu_context` points at (struct
offloadc_cpu_context in runtime/cpu/engine.c). They are loaded inline, and as invariant: neither the
pointer nor the ids change while one thread of one block runs.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from offloadc.device_pass.ir_edits.syntax import GLOBAL

CONTEXT_BYTES = 64
_INVARIANT = "!invariant.load !{}, !nonnull !{}"
_ATTRIBUTES = "alwaysinline nounwind willreturn"

_ENGINE = {
    "@__offloadc_cpu_context": (
        "@__offloadc_cpu_context = external hidden thread_local(initialexec) global ptr, align 8"
    ),
    "@__offloadc_cpu_barrier": "declare hidden void @__offloadc_cpu_barrier() nounwind",
    "@__offloadc_cpu_warp_barrier": "declare hidden void @__offloadc_cpu_warp_barrier(i64) nounwind",
    "@__offloadc_cpu_warp_ballot": "declare hidden i64 @__offloadc_cpu_warp_ballot(i64, i32) nounwind",
    "@__offloadc_cpu_warp_exchange_u32": (
        "declare hidden i32 @__offloadc_cpu_warp_exchange_u32(i64, i32, i32) nounwind"
    ),
    "@__offloadc_cpu_warp_exchange_u64": (
        "declare hidden i64 @__offloadc_cpu_warp_exchange_u64(i64, i64, i32) nounwind"
    ),
    "@__offloadc_cpu_vprintf": "declare hidden i32 @__offloadc_cpu_vprintf(ptr, ptr) nounwind",
    "@llvm.threadlocal.address.p0": "declare ptr @llvm.threadlocal.address.p0(ptr)",
    "@llvm.readcyclecounter": "declare i64 @llvm.readcyclecounter()",
}
"""What the engine defines, and intrinsics that the library calls."""

WAITING = frozenset(name for name in _ENGINE if "barrier" in name or "warp" in name)
"""Functions in which a thread waits for others of its block."""


def _function(name: str, result: str, params: str, body: str, attributes: str = _ATTRIBUTES) -> str:
    lines = "\n".join(f"  {line}" for line in body.strip().splitlines())
    return f"define internal {result} {name}({params}) {attributes} {{\n{lines}\n}}"


def _id(name: str, offset: int) -> str:
    return _function(
        name,
        "i32",
        "",
        f"""%context = call ptr @offloadc.cpu.context()
%field = getelementptr inbounds i8, ptr %context, i64 {offset}
%id = load i32, ptr %field, align 4, !invariant.load !{{}}
ret i32 %id""",
    )


def _shared(name: str, offset: int) -> str:
    return _function(
        name,
        "ptr",
        "",
        f"""%context = call ptr @offloadc.cpu.context()
%field = getelementptr inbounds i8, ptr %context, i64 {offset}
%base = load ptr, ptr %field, align 8, {_INVARIANT}, !align !{{i64 128}}
ret ptr %base""",
    )


_CONTEXT = {
    "@offloadc.cpu.context": _function(
        "@offloadc.cpu.context",
        "ptr",
        "",
        f"""%slot = call ptr @llvm.threadlocal.address.p0(ptr @__offloadc_cpu_context)
%context = load ptr, ptr %slot, align 8, {_INVARIANT}, !dereferenceable !{{i64 {CONTEXT_BYTES}}}
ret ptr %context""",
    ),
    **{
        f"@__offloadc_cpu_{what}_{axis}": _id(f"@__offloadc_cpu_{what}_{axis}", 12 * i + 4 * j)
        for i, what in enumerate(("thread_id", "block_id", "num_threads", "num_blocks"))
        for j, axis in enumerate("xyz")
    },
    "@offloadc.cpu.static_shared": _shared("@offloadc.cpu.static_shared", 48),
    "@__offloadc_cpu_dynamic_shared": _shared("@__offloadc_cpu_dynamic_shared", 56),
    "@offloadc.cpu.lane": _function(
        "@offloadc.cpu.lane",
        "i32",
        "",
        """%x = call i32 @__offloadc_cpu_thread_id_x()
%y = call i32 @__offloadc_cpu_thread_id_y()
%z = call i32 @__offloadc_cpu_thread_id_z()
%nx = call i32 @__offloadc_cpu_num_threads_x()
%ny = call i32 @__offloadc_cpu_num_threads_y()
%zy = mul i32 %z, %ny
%row = add i32 %zy, %y
%rows = mul i32 %row, %nx
%linear = add i32 %rows, %x
%lane = and i32 %linear, 31
ret i32 %lane""",
    ),
}


# ----------------------------------------------------------------------------- NVVM intrinsics
def _nvvm(name: str, result: str, params: str, body: str) -> tuple[str, str]:
    return f"@llvm.nvvm.{name}", _function(
        f"@offloadc.nvvm.{name}", result, params, body, "alwaysinline nounwind"
    )


def _call0(name: str, callee: str) -> tuple[str, str]:
    return _nvvm(name, "i32", "", f"%value = call i32 {callee}()\nret i32 %value")


def _math(name: str, type_: str, callee: str, count: int = 1) -> tuple[str, str]:
    names = [f"%{c}" for c in "abc"[:count]]
    args = ", ".join(f"{type_} {n}" for n in names)
    return _nvvm(name, type_, args, f"%value = call {type_} {callee}({args})\nret {type_} %value")


def _operation(name: str, type_: str, operation: str) -> tuple[str, str]:
    return _nvvm(
        name, type_, f"{type_} %a, {type_} %b", f"%value = {operation} {type_} %a, %b\nret {type_} %value"
    )


_SREG = {"tid": "thread_id", "ctaid": "block_id", "ntid": "num_threads", "nctaid": "num_blocks"}

_LANEMASK = {
    "eq": "%mask = shl i32 1, %lane",
    "lt": "%bit = shl i32 1, %lane\n%mask = sub i32 %bit, 1",
    "le": "%bit = shl i32 2, %lane\n%mask = sub i32 %bit, 1",
    "ge": "%bit = shl i32 1, %lane\n%mask = sub i32 0, %bit",
    "gt": "%bit = shl i32 2, %lane\n%mask = sub i32 0, %bit",
}

# "shfl.sync", PTX ISA 9.7.9.6: c holds the clamp in bits 0-4 and the segment mask in bits 8-12.
_SHUFFLE_SOURCE = {
    "up": ("%j = sub i32 %lane, %b", "%inside = icmp sge i32 %j, %most"),
    "down": ("%j = add i32 %lane, %b", "%inside = icmp sle i32 %j, %most"),
    "bfly": ("%j = xor i32 %lane, %b", "%inside = icmp sle i32 %j, %most"),
    "idx": (
        "%low = and i32 %b, 31\n%in.segment = and i32 %low, %not.segment\n%j = or i32 %least, %in.segment",
        "%inside = icmp sle i32 %j, %most",
    ),
}


def _shuffle_body(mode: str) -> str:
    source, inside = _SHUFFLE_SOURCE[mode]
    return f"""%lane = call i32 @offloadc.cpu.lane()
%c.high = lshr i32 %c, 8
%segment = and i32 %c.high, 31
%not.segment = xor i32 %segment, 31
%clamp = and i32 %c, 31
%least = and i32 %lane, %segment
%most.low = and i32 %clamp, %not.segment
%most = or i32 %least, %most.low
{source}
{inside}
%source = select i1 %inside, i32 %j, i32 %lane
%mask = zext i32 %m to i64
%got = call i32 @__offloadc_cpu_warp_exchange_u32(i64 %mask, i32 %bits, i32 %source)"""


def _shuffle(mode: str, type_: str) -> tuple[str, str]:
    cast = "%bits = add i32 %v, 0" if type_ == "i32" else "%bits = bitcast float %v to i32"
    back = "ret i32 %got" if type_ == "i32" else "%back = bitcast i32 %got to float\nret float %back"
    suffix = "i32" if type_ == "i32" else "f32"
    body = f"{cast}\n{_shuffle_body(mode)}\n{back}"
    return _nvvm(f"shfl.sync.{mode}.{suffix}", type_, f"i32 %m, {type_} %v, i32 %b, i32 %c", body)


def _vote(name: str, result: str, tail: str) -> tuple[str, str]:
    body = f"""%mask = zext i32 %m to i64
%given = zext i1 %p to i32
%votes64 = call i64 @__offloadc_cpu_warp_ballot(i64 %mask, i32 %given)
%votes = trunc i64 %votes64 to i32
{tail}"""
    return _nvvm(f"vote.{name}.sync", result, "i32 %m, i1 %p", body)


_VOTE_AGAINST = """%against64 = call i64 @__offloadc_cpu_warp_ballot(i64 %mask, i32 1)
%voters = trunc i64 %against64 to i32"""

_BARRIER = "call void @__offloadc_cpu_barrier()\nret void"

_NVVM = dict(
    (
        *(
            _call0(f"read.ptx.sreg.{sreg}.{axis}", f"@__offloadc_cpu_{ours}_{axis}")
            for sreg, ours in _SREG.items()
            for axis in "xyz"
        ),
        _call0("read.ptx.sreg.laneid", "@offloadc.cpu.lane"),
        _nvvm("read.ptx.sreg.warpsize", "i32", "", "ret i32 32"),
        *(
            _nvvm(
                f"read.ptx.sreg.lanemask.{which}",
                "i32",
                "",
                f"%lane = call i32 @offloadc.cpu.lane()\n{body}\nret i32 %mask",
            )
            for which, body in _LANEMASK.items()
        ),
        _nvvm("read.ptx.sreg.clock64", "i64", "", "%now = call i64 @llvm.readcyclecounter()\nret i64 %now"),
        # Each thread is its own convergent set: CUDA promises no more to __activemask.
        _nvvm(
            "activemask",
            "i32",
            "",
            "%lane = call i32 @offloadc.cpu.lane()\n%me = shl i32 1, %lane\nret i32 %me",
        ),
        _nvvm("barrier0", "void", "", _BARRIER),
        _nvvm("barrier.cta.sync.all", "void", "i32 %id", _BARRIER),
        _nvvm("barrier.cta.sync.aligned.all", "void", "i32 %id", _BARRIER),
        _nvvm(
            "bar.warp.sync",
            "void",
            "i32 %m",
            "%mask = zext i32 %m to i64\ncall void @__offloadc_cpu_warp_barrier(i64 %mask)\nret void",
        ),
        *(_shuffle(mode, type_) for mode in _SHUFFLE_SOURCE for type_ in ("i32", "float")),
        _vote("ballot", "i32", "ret i32 %votes"),
        _vote("any", "i1", "%some = icmp ne i32 %votes, 0\nret i1 %some"),
        _vote("all", "i1", f"{_VOTE_AGAINST}\n%every = icmp eq i32 %votes, %voters\nret i1 %every"),
        _vote(
            "uni",
            "i1",
            f"""{_VOTE_AGAINST}
%every = icmp eq i32 %votes, %voters
%none = icmp eq i32 %votes, 0
%same = or i1 %every, %none
ret i1 %same""",
        ),
        _nvvm("membar.cta", "void", "", "fence acq_rel\nret void"),
        _nvvm("membar.gl", "void", "", "fence seq_cst\nret void"),
        _nvvm("membar.sys", "void", "", "fence seq_cst\nret void"),
        *(
            _math(f"{nv}.{suffix}", type_, f"@llvm.{ours}.{f}", count)
            for suffix, type_, f in (("f", "float", "f32"), ("d", "double", "f64"))
            for nv, ours, count in (
                ("fabs", "fabs", 1),
                ("sqrt.rn", "sqrt", 1),
                ("fma.rn", "fma", 3),
                ("fmin", "minnum", 2),
                ("fmax", "maxnum", 2),
                ("floor", "floor", 1),
                ("ceil", "ceil", 1),
                ("trunc", "trunc", 1),
                ("round", "roundeven", 1),
            )
        ),
        *(
            _operation(f"{nv}.rn.{suffix}", type_, operation)
            for suffix, type_ in (("f", "float"), ("d", "double"))
            for nv, operation in (("add", "fadd"), ("mul", "fmul"), ("div", "fdiv"))
        ),
    )
)

NVVM = MappingProxyType({name: f"@offloadc.nvvm.{name[len('@llvm.nvvm.') :]}" for name in _NVVM})
"""NVVM intrinsic -> the function of this library that does its work."""

DEFINITIONS = MappingProxyType({**_CONTEXT, **{NVVM[name]: text for name, text in _NVVM.items()}})
DECLARATIONS = MappingProxyType(_ENGINE)

_INTRINSIC = re.compile(r"(@llvm\.(?:fabs|sqrt|fma|minnum|maxnum|floor|ceil|trunc|roundeven)\.(f32|f64))\(")


def intrinsic_declaration(definition: str) -> dict[str, str]:
    """Declarations of the math intrinsics that `definition` calls."""
    found = {}
    for match in _INTRINSIC.finditer(definition):
        type_ = {"f32": "float", "f64": "double"}[match[2]]
        count = definition[match.end() : definition.index(")", match.end())].count(",") + 1
        found[match[1]] = f"declare {type_} {match[1]}({', '.join([type_] * count)})"
    return found


def declaration(name: str) -> str:
    """How a module that calls the library's function declares it before it is linked in."""
    head = DEFINITIONS[name].split("\n", 1)[0]
    return head.replace("define internal ", "declare ", 1).rpartition(")")[0] + ")"


def closure(wanted: set[str]) -> list[str]:
    """The library's definitions that `wanted` needs, directly or through each other, sorted."""
    known: set[str] = set()
    work = sorted(wanted & DEFINITIONS.keys())
    while work:
        name = work.pop()
        if name not in known:
            known.add(name)
            work += sorted(set(GLOBAL.findall(DEFINITIONS[name])) & DEFINITIONS.keys())
    return sorted(known)
