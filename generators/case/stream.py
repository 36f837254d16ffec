"""Choices from a stream of words: the same key and index make the same choices everywhere.

Hypothesis's own generation uses constants from the source of all loaded modules: the same seed
would give other cases in another process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from generators.case.choices import Pick

_BLOCK = 64  # words: more than most cases need


def key_of(name: str) -> int:
    """Return the key of the stream of that name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big")


def stream(
    key: int, index: int, planned: Mapping[str, str] | None = None, turn: int | None = None
) -> Pick:
    """Return choices as planned, others from the words of Philox stream number `index` of a key.

    `turn` is passed to `Pick`.
    """
    philox = np.random.Philox(key=key, counter=index << 128)
    words: list[int] = philox.random_raw(_BLOCK).tolist()
    words.reverse()

    def draw(count: int) -> int:
        if not words:
            words.extend(philox.random_raw(_BLOCK).tolist()[::-1])
        return (words.pop() * count) >> 64

    return Pick(draw, planned, turn)
