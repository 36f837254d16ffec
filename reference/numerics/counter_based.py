"""Counter-based random number generators: Threefry-2x32 with 20 rounds, Philox-4x32 with 10.

Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). Each
random word is a function of a counter and a key; there is no other state. All functions work on
whole arrays of counters.

The specification does not define how an op's state determines counters and keys, nor the order of
words in its output. These functions follow XLA (`RngBitGenerator` in its operation semantics), so
that programs produce the numbers that XLA produces.
"""

from __future__ import annotations

import math

import numpy as np

from reference.ir.types import Array

_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_THREEFRY_GROUPS = 5
"""Number of groups of four rounds, with a word of the key added after each group."""

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_PHILOX_ROUNDS = 10


def split_words(number: int) -> tuple[int, int]:
    """Return the low and the high 32 bits of a 64-bit number."""
    return number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF


def _split_halves(numbers: Array) -> tuple[Array, Array]:
    """Return the low and high halves of 64-bit numbers, as ui32."""
    return (numbers & _MASK).astype(np.uint32), (numbers >> _HALF).astype(np.uint32)


def _join_words(low: Array, high: Array) -> Array:
    return low.astype(np.uint64) | (high.astype(np.uint64) << _HALF)


def threefry_2x32(counter: tuple[Array, Array], key: tuple[int, int]) -> tuple[Array, Array]:
    """Return the two random words of each counter, all ui32."""
    schedule = [np.uint32(word) for word in (*key, _PARITY ^ key[0] ^ key[1])]
    x = counter[0] + schedule[0]
    y = counter[1] + schedule[1]
    for group in range(_THREEFRY_GROUPS):
        for distance in _ROTATIONS[group % 2]:
            x = x + y
            y = (y << np.uint32(distance) | y >> np.uint32(32 - distance)) ^ x
        x = x + schedule[(group + 1) % 3]
        y = y + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def philox_4x32(counter: tuple[Array, ...], key: tuple[int, int]) -> tuple[Array, ...]:
    """Return the four random words of each counter of four words, all ui32."""
    x = counter
    for number in range(_PHILOX_ROUNDS):
        keys = [np.uint32((key[n] + number * _WEYL[n]) & 0xFFFFFFFF) for n in (0, 1)]
        low_0, high_0 = _split_halves(x[0].astype(np.uint64) * _MULTIPLIERS[0])
        low_1, high_1 = _split_halves(x[2].astype(np.uint64) * _MULTIPLIERS[1])
        x = (high_1 ^ x[1] ^ keys[0], low_1, high_0 ^ x[3] ^ keys[1], low_0)
    return x


# --- States, and the order of the output ---------------------------------------------------------


def threefry_bits(state: Array, shape: tuple[int, ...], width: int) -> tuple[Array, Array]:
    """Return random bits by Threefry, and the new state.

    The state is a key and a counter. 64-bit elements are the words of one counter each, in
    row-major order. Narrower elements use a half-sized shape: the first dimension of even size
    (else the first of the largest) is halved, rounding up, and the two words of a counter become
    neighbours along it. If a word is wider than an element, its low bits are used.

    Args:
        state: two ui64.
        shape: the shape of the output.
        width: the number of bits of an element: 64 or fewer.

    Returns:
        The new state, and ui64 (for 64 bits) or ui32 numbers of that shape.
    """
    axis = _halved_axis(shape)
    half = shape
    if width < 64:
        half = (*shape[:axis], -(-shape[axis] // 2), *shape[axis + 1 :]) if shape else (1,)
    count = math.prod(half)
    with np.errstate(over="ignore"):
        counters = (state[1] + np.arange(count, dtype=np.uint64)).reshape(half)
        after = np.array([state[0], state[1] + np.uint64(count)], np.uint64)
        words = threefry_2x32(_split_halves(counters), split_words(int(state[0])))
    if width == 64:
        return after, _join_words(*words)
    if not shape:
        return after, words[0].reshape(())
    pairs = np.stack(words, axis=axis + 1)
    whole = pairs.reshape(*half[:axis], 2 * half[axis], *half[axis + 1 :])
    return after, np.take(whole, np.arange(shape[axis]), axis=axis)


def _halved_axis(shape: tuple[int, ...]) -> int:
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    if even or not shape:
        return even[0] if even else 0
    return shape.index(max(shape))


def philox_bits(state: Array, shape: tuple[int, ...], width: int) -> tuple[Array, Array]:
    """Return random bits by Philox, and the new state.

    The state is a key and a counter of 128 bits, low word first; if it has two words only, the high
    word of the counter is the key again. Each counter yields four words of 32 bits or two of 64
    bits, in row-major order; if a word is wider than an element, its low bits are used.

    Args:
        state: two or three ui64.
        shape: the shape of the output.
        width: the number of bits of an element: 64 or fewer.

    Returns:
        The new state, and ui64 (for 64 bits) or ui32 numbers of that shape.
    """
    size = math.prod(shape)
    count = -(-size * (2 if width == 64 else 1) // 4)
    low, high = state[1], state[2] if len(state) > 2 else state[0]
    with np.errstate(over="ignore"):
        lows = low + np.arange(count + 1, dtype=np.uint64)
        highs = high + (lows < low).astype(np.uint64)
        counters = (*_split_halves(lows[:-1]), *_split_halves(highs[:-1]))
        words = philox_4x32(counters, split_words(int(state[0])))
    after = np.array([state[0], lows[-1], highs[-1]][: len(state)], np.uint64)
    if width == 64:
        words = (_join_words(*words[:2]), _join_words(*words[2:]))
    return after, np.stack(words, axis=-1).reshape(-1)[:size].reshape(shape)
