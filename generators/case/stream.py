"""Choices from a stream of words: the same key and index make the same choices everywhere.

Hypothesis's own generation uses constants from the source of all loaded modules: the same seed
would give other cases in another process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from generators.case.choices import Pick

_BLOCK = 64  # words: more than most cases need
_LOW = (1 << 64) - 1


class _Key(ISeedSequence):
    """A key in the form that numpy requests.

    Given a number, numpy would first ask the system for entropy, which takes twice as long as
    everything else.
    """

    def __init__(self, key: int) -> None:
        self._key = np.array([key & _LOW, key >> 64], np.uint64)

    def generate_state(self, n_words: int, dtype: Any = np.uint64) -> np.ndarray[Any, Any]:
        """Return the two 64-bit words that Philox requests."""
        assert n_words == len(self._key)
        assert dtype == self._key.dtype
        return self._key


def philox(key: int, counter: int = 0) -> np.random.Philox:
    """Return numpy's Philox generator of a key of up to 128 bits, from a counter on."""
    # numpy's stubs lack custom seed sequences
    return np.random.Philox(cast("Any", _Key(key)), counter=counter or None)


def key_of(name: str) -> int:
    """Return the key of the stream of that name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big")


def stream(
    key: int, index: int, planned: Mapping[str, str] | None = None, turn: int | None = None
) -> Pick:
    """Return choices as planned, others from the words of Philox stream number `index` of a key.

    `turn` is passed to `Pick`.
    """
    source = philox(key, index << 128)
    words: list[int] = source.random_raw(_BLOCK).tolist()
    words.reverse()

    def draw(count: int) -> int:
        if not words:
            words.extend(source.random_raw(_BLOCK).tolist()[::-1])
        return (words.pop() * count) >> 64

    return Pick(draw, planned, turn)
