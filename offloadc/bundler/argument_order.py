"""The order in which llvm-offload-binary writes the keys of one --image argument.

The tool keeps them in an llvm::DenseMap<StringRef, StringRef> and writes them as that map iterates:
in the order of its buckets. Buckets follow from LLVM's hash_value(StringRef), which is
CityHash64 of 2011 with a fixed seed. Same arguments, same bytes: so the order is made again here.
"""

from __future__ import annotations

from collections.abc import Iterable

_MASK = (1 << 64) - 1
_SEED = 0xFF51AFD7ED558CCD
_K0 = 0xC3A5C85C97CB3127
_K1 = 0xB492B66FBE98F273
_K2 = 0x9AE16A3B2F90404F
_K3 = 0xC949D7C7509E6557
_MULTIPLIER = 0x9DDFEA08EB382D69

_FIRST_BUCKETS = 64


def in_tool_order(keys: Iterable[str]) -> tuple[str, ...]:
    """Different keys, in the order of the command line -> in the order of the written file."""
    buckets: dict[int, str] = {}
    count = _FIRST_BUCKETS
    for key in keys:
        if (len(buckets) + 1) * 4 >= count * 3:
            count *= 2
            buckets = _rehashed(buckets, count)
        _insert(buckets, key, count)
    return tuple(buckets[index] for index in sorted(buckets))


def _rehashed(buckets: dict[int, str], count: int) -> dict[int, str]:
    larger: dict[int, str] = {}
    for index in sorted(buckets):
        _insert(larger, buckets[index], count)
    return larger


def _insert(buckets: dict[int, str], key: str, count: int) -> None:
    index = string_hash(key.encode("utf-8", "surrogateescape")) % count
    probe = 1
    while index in buckets:
        index = (index + probe) % count
        probe += 1
    buckets[index] = key


# --------------------------------------------------------------------------- llvm::hash_value
def string_hash(text: bytes) -> int:
    length = len(text)
    if length > 64:
        return _hash_long(text)
    if length > 32:
        return _hash_33_to_64(text)
    if length > 16:
        return _hash_17_to_32(text)
    if length > 8:
        return _hash_9_to_16(text)
    if length >= 4:
        return _hash_4_to_8(text)
    return _hash_1_to_3(text) if length else _K2 ^ _SEED


def _u32(text: bytes, at: int) -> int:
    return int.from_bytes(text[at : at + 4], "little")


def _u64(text: bytes, at: int) -> int:
    return int.from_bytes(text[at : at + 8], "little")


def _rotate(value: int, shift: int) -> int:
    value &= _MASK
    return (value >> shift | value << (64 - shift)) & _MASK


def _shift_mix(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _hash_pair(low: int, high: int) -> int:
    a = _shift_mix(((low ^ high) & _MASK) * _MULTIPLIER)
    b = _shift_mix(((high & _MASK) ^ a) * _MULTIPLIER)
    return b * _MULTIPLIER & _MASK


def _hash_1_to_3(text: bytes) -> int:
    first, middle, last = text[0], text[len(text) >> 1], text[-1]
    y = first + (middle << 8)
    z = len(text) + (last << 2)
    return _shift_mix(y * _K2 ^ z * _K3 ^ _SEED) * _K2 & _MASK


def _hash_4_to_8(text: bytes) -> int:
    return _hash_pair(len(text) + (_u32(text, 0) << 3), _SEED ^ _u32(text, len(text) - 4))


def _hash_9_to_16(text: bytes) -> int:
    length = len(text)
    a, b = _u64(text, 0), _u64(text, length - 8)
    return _hash_pair(_SEED ^ a, _rotate(b + length, length)) ^ b


def _hash_17_to_32(text: bytes) -> int:
    length = len(text)
    a, b = _u64(text, 0) * _K1, _u64(text, 8)
    c, d = _u64(text, length - 8) * _K2 & _MASK, _u64(text, length - 16) * _K0
    return _hash_pair(
        (_rotate(a - b, 43) + _rotate(c ^ _SEED, 30) + d) & _MASK,
        (a + _rotate(b ^ _K3, 20) - c + length + _SEED) & _MASK,
    )


def _half_33_to_64(a: int, z: int, second: int, third: int) -> tuple[int, int]:
    b, c = _rotate(a + z, 52), _rotate(a, 37)
    a += second
    c += _rotate(a, 7)
    a += third
    return a + z, b + _rotate(a, 31) + c


def _hash_33_to_64(text: bytes) -> int:
    length = len(text)
    a = _u64(text, 0) + (length + _u64(text, length - 16)) * _K0
    vf, vs = _half_33_to_64(a, _u64(text, 24), _u64(text, 8), _u64(text, 16))
    a = _u64(text, 16) + _u64(text, length - 32)
    wf, ws = _half_33_to_64(a, _u64(text, length - 8), _u64(text, length - 24), _u64(text, length - 16))
    r = _shift_mix((vf + ws) * _K2 + (wf + vs) * _K0)
    return _shift_mix((_SEED ^ r * _K0 & _MASK) + vs) * _K2 & _MASK


def _mix_32(text: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    a += _u64(text, at)
    c = _u64(text, at + 24)
    b = _rotate(b + a + c, 21)
    d = a
    a += _u64(text, at + 8) + _u64(text, at + 16)
    b += _rotate(a, 44) + d
    return (a + c) & _MASK, b & _MASK


def _mix(state: tuple[int, ...], text: bytes, at: int) -> tuple[int, ...]:
    h0, h1, h2, h3, h4, h5, h6 = state
    h0 = _rotate(h0 + h1 + h3 + _u64(text, at + 8), 37) * _K1 & _MASK
    h1 = _rotate(h1 + h4 + _u64(text, at + 48), 42) * _K1 & _MASK
    h0 ^= h6
    h1 = (h1 + h3 + _u64(text, at + 40)) & _MASK
    h2 = _rotate(h2 + h5, 33) * _K1 & _MASK
    h3, h4 = _mix_32(text, at, h4 * _K1 & _MASK, (h0 + h5) & _MASK)
    h5, h6 = _mix_32(text, at + 32, (h2 + h6) & _MASK, (h1 + _u64(text, at + 16)) & _MASK)
    return h2, h1, h0, h3, h4, h5, h6


def _hash_long(text: bytes) -> int:
    h4, h5 = _SEED * _K1 & _MASK, _shift_mix(_SEED)
    start = (0, _SEED, _hash_pair(_SEED, _K1), _rotate(_SEED ^ _K1, 49), h4, h5, _hash_pair(h4, h5))
    state = _mix(start, text, 0)
    for at in range(64, len(text) & ~63, 64):
        state = _mix(state, text, at)
    if len(text) % 64:
        state = _mix(state, text, len(text) - 64)
    h0, h1, h2, h3, h4, h5, h6 = state
    low = _hash_pair(h3, h5) + _shift_mix(h1) * _K1 + h2
    high = _hash_pair(h4, h6) + _shift_mix(len(text)) * _K1 + h0
    return _hash_pair(low & _MASK, high & _MASK)
