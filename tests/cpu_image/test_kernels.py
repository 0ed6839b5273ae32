"""Kernels from source through every edit to a loaded image, against plain Python."""

from __future__ import annotations

import ctypes
import math
import os
import random
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cpu_image.image import ROOT, Image, address, array, pointer

Built = Callable[[str], Image]
INT, FLOAT, DOUBLE = ctypes.c_int, ctypes.c_float, ctypes.c_double


def same(got: object, wanted: object) -> None:
    assert list(got) == list(wanted)  # type: ignore[call-overload]


# ----------------------------------------------------------------------------- blocks
@pytest.mark.parametrize(("grid", "block"), [((1,), (1,)), ((2, 3, 2), (3, 2, 4)), ((1, 1, 3), (1, 33, 1))])
def test_ids_count_in_three_dimensions(built: Built, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    g, b = ((*e, 1, 1)[:3] for e in (grid, block))
    out = array(ctypes.c_uint32, 12 * math.prod(g) * math.prod(b))
    built("blocks").launch("ids", grid, block, out)
    wanted: list[int] = []
    for bz, by, bx in product(range(g[2]), range(g[1]), range(g[0])):
        for tz, ty, tx in product(range(b[2]), range(b[1]), range(b[0])):
            wanted += (tx, ty, tz, bx, by, bz, *b, *g)
    same(out, wanted)


@pytest.mark.parametrize("kernel", ["sum_static", "sum_dynamic"])
@pytest.mark.parametrize("threads", [1, 31, 32, 100, 1024])
def test_blocks_add_up_in_shared_memory(built: Built, kernel: str, threads: int) -> None:
    values = [random.Random(threads).randrange(1000) for _ in range(3 * threads)]
    out = array(INT, 3)
    built("blocks").launch(kernel, 3, threads, array(INT, values), out, shared=4 * threads)
    same(out, (sum(values[i * threads : (i + 1) * threads]) for i in range(3)))


def test_static_shared_memory_may_be_large(built: Built) -> None:
    out = array(DOUBLE, 2 * 96)
    built("blocks").launch("large_shared", 2, 96, out)
    wanted = [sum(16383 - i + b for i in range(t, 16384, 96)) for b in range(2) for t in range(96)]
    same(out, wanted)


def test_shared_variables_are_aligned_as_declared(built: Built) -> None:
    out = array(ctypes.c_uint64, 4)
    built("blocks").launch("alignments", 1, 1, out, shared=64)
    assert (out[0] % 128, out[1] % 1024, out[2] % 128, out[3]) == (0, 0, 0, 0)


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_constant_tables_of_shared_addresses(built: Built, rounds: int) -> None:
    values = list(range(100, 164))
    out = array(INT, 65)
    built("blocks").launch("double_buffer", 1, 64, array(INT, values), out, INT(rounds))
    same(out, [*(values[(t + rounds) % 64] + rounds for t in range(64)), 6])


def test_functions_share_the_blocks_variables(built: Built) -> None:
    out = array(FLOAT, 2)
    built("blocks").launch("through_function", 1, 2, out, INT(1))
    same(out, [2.5, 3.0])


def test_barrier_counts_threads_that_are_left(built: Built) -> None:
    out = array(INT, 40)
    built("blocks").launch("leave_early", 1, 40, out)
    same(out, range(39, -1, -1))


def test_branches_may_meet_at_barriers_of_their_own(built: Built) -> None:
    out = array(INT, 64)
    built("blocks").launch("two_barriers", 1, 64, out)
    same(out, [1, 2] * 32)


extents = st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
blocks = st.tuples(st.integers(1, 40), st.integers(1, 6), st.integers(1, 4))


@settings(max_examples=60, deadline=None)
@given(grid=extents, block=blocks, width=st.integers(0, 9))
def test_any_grid_and_block(built: Built, grid: tuple[int, ...], block: tuple[int, ...], width: int) -> None:
    n, count = math.prod(block), math.prod(grid)
    out = array(INT, n * count)
    built("blocks").launch("ragged", grid, block, out, INT(width))
    wanted: list[int] = []
    for b in range(count):
        sums = [sum((t + i) % n * 7 + b for i in range(width)) for t in range(n)]
        wanted += reversed(sums)
    same(out, wanted)


# ----------------------------------------------------------------------------- language
class Big(ctypes.Structure):
    _fields_ = [("v", DOUBLE * 10), ("c", ctypes.c_char), ("pad", ctypes.c_char * 47)]


class Small(ctypes.Structure):
    _fields_ = [("a", INT), ("b", FLOAT)]


def test_parameters_of_every_kind(built: Built) -> None:
    big = Big((DOUBLE * 10)(*range(10)))
    wide = array(ctypes.c_char, struct.pack("<qq", 7, 5))
    out = array(DOUBLE, 8 * 4)
    args = (
        big, Small(3, 0.5), ctypes.c_byte(-5), ctypes.c_bool(True), pointer(out), ctypes.c_short(-300), wide,
        ctypes.c_char(), ctypes.c_ubyte(200),
    )  # fmt: skip
    assert built("language").try_launch("params", 2, 4, *args) == 0
    # Each thread adds 1 to its own copy of `big`.
    same(out, [46, 3.5, -5, 1, -300, 12, 0, 200] * 4)
    same(big.v, range(10))


def test_parameters_lie_as_in_a_struct(built: Built) -> None:
    module = built("language").module
    assert module
    (facts,) = [k for k in module.kernels if k.name == "params"]
    offsets = [(p.offset, p.size, p.align) for p in facts.params]
    assert offsets == [
        (0, 128, 64), (128, 8, 4), (136, 1, 1), (137, 1, 1), (144, 8, 8), (152, 2, 2), (160, 16, 16),
        (176, 1, 1), (177, 1, 1),
    ]  # fmt: skip
    assert facts.args_size == 178


def test_arguments_need_no_alignment(built: Built) -> None:
    raw = array(ctypes.c_char, 200)
    big = (ctypes.c_char * 128).from_buffer(raw, 3)
    ctypes.memmove(big, bytes(Big((DOUBLE * 10)(*[1] * 10))), 128)
    out = array(DOUBLE, 8)
    odd = (ctypes.c_char * 16).from_buffer(array(ctypes.c_char, 40), 1)
    args = (big, Small(1, 1), ctypes.c_byte(), ctypes.c_bool(), pointer(out), ctypes.c_short(), odd,
            ctypes.c_char(), ctypes.c_ubyte())  # fmt: skip
    assert address(big) % 16
    assert built("language").try_launch("params", 1, 1, *args) == 0
    assert out[0] == 11


def test_templates_and_lambdas(built: Built) -> None:
    xs, ys = array(FLOAT, range(100)), array(FLOAT, 100)
    built("language").launch("mapIf5Scale", 4, 32, xs, ys, INT(90), FLOAT(3))
    same(ys, [*(3.0 * i for i in range(90)), *[0] * 10])
    dx, dy = array(DOUBLE, range(8)), array(DOUBLE, 8)
    built("language").launch("mapIdZ4main", 1, 8, dx, dy, INT(8), DOUBLE(0.5))
    same(dy, (0.5 * i + 1 for i in range(8)))


def test_internal_and_member_kernels(built: Built) -> None:
    out = array(INT, 1)
    built("language").launch("hidden_kernel", 1, 1, out)
    assert out[0] == 42
    built("language").launch("member", 1, 1, out)
    assert out[0] == 43


def test_constant_and_device_variables(built: Built) -> None:
    out = array(FLOAT, 2)
    for i, weight in enumerate((0.5, 0.25, 8)):
        built("language").launch("variables", 1, 1, out, INT(i))
        same(out, [weight, 100 + i])


def test_control_flow(built: Built) -> None:
    image = built("language")
    longs = array(ctypes.c_long, 12)
    image.launch("recursion", 1, 12, longs)
    same(longs, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89])
    out = array(INT, 5)
    image.launch("choose", 1, 5, array(INT, [1, 7, 8, 1000, 3]), out)
    same(out, [10, 71, 1, -1, 99])
    ints = array(INT, [1, 2, 3])
    image.launch("indirect", 1, 3, ints, INT(1))
    image.launch("indirect", 1, 3, ints, INT(0))
    same(ints, [2, 8, 18])
    one = array(INT, 1)
    image.launch("virtuals", 1, 1, one)
    assert one[0] == 4


def test_printf(built: Built, capfd: pytest.CaptureFixture[str]) -> None:
    text = ctypes.create_string_buffer(b"text")
    built("language").launch("say", 1, 2, INT(-3), text)
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == f"-3| 2.50|text|{1 << 40}|x|%|   7\n" * 2


def test_only_kernels_that_can_wait_are_cooperative(built: Built) -> None:
    flags = {
        name: k.flags
        for image in ("blocks", "language", "numbers")
        for name, k in built(image).kernels.items()
    }
    assert flags["sum_static"] == flags["leave_early"] == flags["atomics"] == 1  # through a call, too
    assert flags["ids"] == flags["recursion"] == flags["mathematics"] == flags["say"] == 0
    assert flags["indirect"] == 1  # nobody knows what it calls


# ----------------------------------------------------------------------------- warps
@pytest.mark.parametrize("n", [32, 64, 40])
def test_shuffles(built: Built, n: int) -> None:
    values = [10 * t + 1 for t in range(n)]
    out = array(INT, 6 * n)
    built("warps").launch("shuffles", 1, n, array(INT, values), out, INT(n))

    def lane(t: int, source: int, inside: bool = True) -> int:
        """What lane `source` of t's warp gave, t's own value where there is none."""
        there = t // 32 * 32 + source
        return values[there] if inside and there < n else values[t]

    for t in range(n):
        i = t % 32
        assert out[t] == lane(t, 5)
        assert out[n + t] == lane(t, i - 3, i >= 3)
        assert out[2 * n + t] == lane(t, i + 2, i + 2 < 32)
        assert out[3 * n + t] == lane(t, i ^ 1)
        assert out[4 * n + t] == lane(t, i // 8 * 8 + 2)
        assert out[5 * n + t] == lane(t, i ^ 2)


@pytest.mark.parametrize("n", [7, 32, 70])
def test_votes(built: Built, n: int) -> None:
    values = [t * 3 % 11 for t in range(n)]
    out = array(ctypes.c_uint32, 6 * n)
    built("warps").launch("votes", 1, n, array(INT, values), out, INT(n))
    for t in range(n):
        warp = values[t // 32 * 32 : t // 32 * 32 + 32]
        over = [v > 5 for v in warp]
        assert out[t] == sum(1 << i for i, v in enumerate(over) if v)
        assert out[n + t] == (9 in warp)
        assert out[2 * n + t] == 1
        assert out[3 * n + t] == (len(set(over)) == 1)
        assert (out[4 * n + t], out[5 * n + t]) == (t % 32, 32)


def test_lanes_that_left_are_not_waited_for(built: Built) -> None:
    out = array(ctypes.c_uint64, 64)
    built("warps").launch("some_left", 1, 64, out)
    same(out, [0x55555555, 0] * 32)


def test_lanes_outside_the_mask_are_not_waited_for(built: Built) -> None:
    out = array(ctypes.c_uint32, 64)
    built("warps").launch("half", 1, 64, out)
    wanted = [t // 32 * 32 + (t + 1) % 16 if t % 32 < 16 else 0 for t in range(64)]
    same(out, wanted)


def test_exchange_of_64_bits(built: Built) -> None:
    out = array(ctypes.c_uint64, 64)
    built("warps").launch("wide", 2, 64, out)
    same(out, (s << 40 | s for t in range(64) for s in [t // 32 * 32 + 31 - t % 32]))


@pytest.mark.parametrize("n", [1, 32, 50, 1024])
def test_warp_sums_with_partial_warps(built: Built, n: int) -> None:
    out = array(DOUBLE, (n + 31) // 32)
    built("warps").launch("warp_sums", 1, n, array(DOUBLE, range(n)), out)
    same(out, (sum(range(w, min(w + 32, n))) for w in range(0, n, 32)))


# ----------------------------------------------------------------------------- numbers
def test_atomics(built: Built) -> None:
    i, u, f, d = array(INT, 4), array(ctypes.c_uint64, 1), array(FLOAT, 1), array(DOUBLE, 1)
    built("numbers").launch("atomics", 5, 200, i, u, f, d)
    same(i, [2000, 199, -199, 200])
    assert (u[0], f[0], d[0]) == (3000, 500.0, 250.0)


def test_atomics_of_launches_at_a_time(built: Built) -> None:
    i, u, f, d = array(INT, 4), array(ctypes.c_uint64, 1), array(FLOAT, 1), array(DOUBLE, 1)
    image = built("numbers")
    work = [threading.Thread(target=image.launch, args=("atomics", 20, 256, i, u, f, d)) for _ in range(4)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert (i[0], i[3], u[0], f[0], d[0]) == (40960, 256, 61440, 10240.0, 5120.0)


def test_mathematics(built: Built) -> None:
    xs = [0.1 + 0.3 * i for i in range(20)]
    out = array(DOUBLE, 7 * 20)
    built("numbers").launch("mathematics", 1, 32, array(DOUBLE, xs), out, INT(20))
    functions: list[Callable[[float], float]] = [
        math.sin, math.exp, lambda x: math.pow(x, 1.5), math.sqrt, math.erf, math.tanh, lambda x: x * 3.0 + 1.0,
    ]  # fmt: skip
    for row, function in enumerate(functions):
        tolerance = 1e-6 if function is math.tanh else 1e-14
        assert out[row * 20 : row * 20 + 20] == pytest.approx([function(x) for x in xs], rel=tolerance)


# ----------------------------------------------------------------------------- launches
def test_launch_checks_its_extents(built: Built) -> None:
    image, out = built("blocks"), array(INT, 1)
    for grid, block in ((1, 0), (1, 1025), (1, (32, 33)), ((1, 65536), 1), (1, (1, 1, 1 << 31))):
        assert image.try_launch("ids", grid, block, pointer(out)) == 22
    assert image.try_launch("ids", 0, 1, pointer(out)) == 0
    assert out[0] == 0


def test_too_much_shared_memory_is_an_error(built: Built) -> None:
    out = array(INT, 1)
    assert built("blocks").try_launch("ids", 1, 1, pointer(out), shared=1 << 62) == 12


@pytest.mark.parametrize("size", ["64K", "1M", "131072"])
def test_stack_size_setting(built: Built, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setenv("OFFLOADC_CPU_STACK", size)
    out = array(INT, 1024)
    built("blocks").launch("deep_stack", 2, 1024, out)
    same(out, (6400 % 256 + t for t in range(1024)))


@pytest.mark.parametrize("size", ["many", "-1", "64G", "5000M"])
def test_stack_size_that_is_none(built: Built, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setenv("OFFLOADC_CPU_STACK", size)
    assert built("blocks").try_launch("deep_stack", 1, 2, pointer(array(INT, 2))) == 22


def alone(image: Image, kernel: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The kernel in a process of its own."""
    command = (sys.executable, "-m", "tests.cpu_image.image", str(image.path), kernel, "3", "32", "64")
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=ROOT, env={**os.environ, **env}, check=False
    )


def test_deadlock_at_a_barrier_ends_the_program(built: Built) -> None:
    done = alone(built("deadlocks"), "half_at_barrier")
    assert done.returncode == 1
    # The warp ballot asks for all lanes, 16 of which wait at the barrier.
    assert done.stderr == (
        "offloadc: deadlock in kernel half_at_barrier, block (0, 0, 0): of 32 threads 16 wait at a barrier, "
        "0 in a warp exchange, 16 in a warp ballot, 0 at a warp barrier, 0 have exited\n"
    )


def test_masks_that_disagree_end_the_program(built: Built) -> None:
    done = alone(built("deadlocks"), "wrong_mask")
    assert done.returncode == 1
    assert "of 32 threads 16 wait at a barrier, 16 in a warp exchange" in done.stderr


def test_stack_overflow_faults_and_a_larger_stack_mends_it(built: Built) -> None:
    assert alone(built("deadlocks"), "endless_stack").returncode < 0
    assert alone(built("deadlocks"), "endless_stack", OFFLOADC_CPU_STACK="2M").returncode == 0
