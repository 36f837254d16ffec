"""Counter-based generators: the published generators' own vectors, and orders of output."""

import math

import numpy as np
import pytest

from reference.numerics.counter_based import philox_4x32, philox_bits, threefry_2x32, threefry_bits

FULL, PI = 0xFFFFFFFF, (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
MORE_PI = (0xA4093822, 0x299F31D0)


def arrays(*words):
    return tuple(np.array([word], np.uint32) for word in words)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((FULL, FULL), (FULL, FULL), (0x1CB996FC, 0xBB002BE7)),
        (PI[:2], PI[2:], (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_gives_the_known_answers(counter, key, words) -> None:
    """Random123's file of known answers, threefry2x32 with 20 rounds."""
    assert [int(word[0]) for word in threefry_2x32(arrays(*counter), key)] == list(words)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((FULL,) * 4, (FULL,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (PI, MORE_PI, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ],
)
def test_philox_gives_the_known_answers(counter, key, words) -> None:
    """Random123's file of known answers, philox4x32 with 10 rounds."""
    assert [int(word[0]) for word in philox_4x32(arrays(*counter), key)] == list(words)


def halves(state, count):
    """Return the two words of each of `count` counters, by the definition, one at a time."""
    pairs = []
    for number in range(count):
        counter = (int(state[1]) + number) % 2**64
        low, high = counter % 2**32, counter >> 32
        key = int(state[0]) % 2**32, int(state[0]) >> 32
        pairs.append([int(word[0]) for word in threefry_2x32(arrays(low, high), key)])
    return pairs


@pytest.mark.parametrize(
    ("shape", "half", "axis"),
    [
        ((4,), (2,), 0),
        ((5,), (3,), 0),
        ((2, 3), (1, 3), 0),
        ((3, 2), (3, 1), 1),
        ((3, 5), (3, 3), 1),
        ((5, 3), (3, 3), 0),
        ((3, 3), (2, 3), 0),
        ((3, 4, 6), (3, 2, 6), 1),
        ((1,), (1,), 0),
        ((3, 0), (3, 0), 1),
        ((0, 4), (0, 4), 0),
    ],
)
def test_threefry_halves_a_dimension(shape, half, axis) -> None:
    state = np.array([0x123456789ABCDEF, 2**64 - 2], np.uint64)
    after, numbers = threefry_bits(state, shape, 32)
    assert after.tolist() == [int(state[0]), (2**64 - 2 + math.prod(half)) % 2**64]
    pairs = np.array(halves(state, math.prod(half)), np.uint32).reshape(*half, 2)
    for index in np.ndindex(*shape):
        inside = list(index)
        inside[axis], which = divmod(index[axis], 2)
        assert numbers[index] == pairs[(*inside, which)]


def test_threefry_of_other_widths() -> None:
    state = np.array([3, 4], np.uint64)
    after, numbers = threefry_bits(state, (2, 3), 64)
    assert after.tolist() == [3, 10]
    assert numbers.reshape(-1).tolist() == [low | high << 32 for low, high in halves(state, 6)]
    after, scalar = threefry_bits(state, (), 32)
    assert after.tolist() == [3, 5]
    assert scalar.shape == ()
    assert int(scalar) == halves(state, 1)[0][0]


def test_philox_of_other_widths() -> None:
    state = np.array([3, 4, 5], np.uint64)
    words = [
        int(word[0])
        for number in range(3)
        for word in philox_4x32(arrays(4 + number, 0, 5, 0), (3, 0))
    ]
    after, numbers = philox_bits(state, (3, 3), 32)
    assert after.tolist() == [3, 7, 5]
    assert numbers.reshape(-1).tolist() == words[:9]
    after, numbers = philox_bits(state, (5,), 64)
    assert after.tolist() == [3, 7, 5]
    wide = [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)]
    assert numbers.tolist() == wide[:5]
    after, numbers = philox_bits(state[:2], (1,), 32)  # the key once more as the high word
    assert after.tolist() == [3, 5]
    assert int(numbers[0]) == int(philox_4x32(arrays(4, 0, 3, 0), (3, 0))[0][0])
