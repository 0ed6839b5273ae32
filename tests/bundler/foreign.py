"""What every reader of foreign bytes must bear: cut and changed input, told by OffloadcError alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offloadc.model import OffloadcError

Read = Callable[[bytes], object]


def survives(read: Read, data: bytes) -> None:
    try:
        read(data)
    except OffloadcError as error:
        assert error.message
        assert "\n" not in error.message


def survives_cuts(read: Read, data: bytes) -> None:
    """Every length near the start, where the headers are, and some others."""
    for length in {*range(min(len(data), 150)), *range(0, len(data), len(data) // 60 + 1)}:
        survives(read, data[:length])


def survives_changes(read: Read, samples: Iterable[bytes], *, examples: int = 100) -> None:
    """Up to eight bytes or words changed anywhere, headers more often."""
    choices = tuple(samples)
    word = st.sampled_from([0, 1, 7, 0x7F, 0xFF, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 63, (1 << 64) - 1])

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(data=st.data())
    def change(data: st.DataObject) -> None:
        changed = bytearray(data.draw(st.sampled_from(choices)))
        for _ in range(data.draw(st.integers(1, 8))):
            last = len(changed) - 1
            at = data.draw(st.one_of(st.integers(0, last), st.integers(0, min(last, 200))))
            size = data.draw(st.sampled_from((1, 2, 4, 8)))
            value = data.draw(st.one_of(word, st.integers(0, (1 << 64) - 1)))
            changed[at : at + size] = (value % (1 << (8 * size))).to_bytes(size, "little")
        survives(read, bytes(changed))

    change()


def survives_noise(read: Read, magic: bytes) -> None:
    @settings(max_examples=100, deadline=None, database=None)
    @given(noise=st.binary(max_size=200))
    def noisy(noise: bytes) -> None:
        survives(read, magic + noise)

    noisy()
