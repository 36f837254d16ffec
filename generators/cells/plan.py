"""Planned batches: the cases of a cell by seed and index.

A case depends on (op, element type, seed, index) alone. Its choices are Philox words and not
Hypothesis's own generation, because that mixes in constants found in the source of whatever
modules are loaded: the same seed would give other cases in another process. The builders are those
behind the Hypothesis strategies, which serve to shrink what a batch has found.
"""

from __future__ import annotations

import hashlib

import numpy as np

from generators.case.case import Case
from generators.case.quantized_types import QuantizedColumn
from generators.case.shapes import Pick
from generators.families.table import builder
from generators.quantized.columns import quantized_case, quantized_columns
from reference.ir.types import ElementType
from reference.ops.table import OPS

_BLOCK = 64  # words: more than most cases need


def _picker(key: int, index: int) -> Pick:
    """Choices from the words of a Philox stream of their own."""
    philox = np.random.Philox(key=key, counter=index << 128)
    words: list[int] = philox.random_raw(_BLOCK).tolist()
    words.reverse()

    def pick(count: int) -> int:
        if not words:
            words.extend(philox.random_raw(_BLOCK).tolist()[::-1])
        return (words.pop() * count) >> 64

    return pick


def case(op: str, element_type: ElementType | QuantizedColumn, seed: int, index: int) -> Case:
    """The case number `index` (from 0) of a cell under a seed.

    Raises:
        KeyError: for an op without cases.
        ValueError: when the op does not take the element type.
    """
    build = builder(op)
    if element_type not in (*OPS[op].element_types, *quantized_columns(op)):
        raise ValueError(f"{op} takes no tensor of {element_type}")
    name = f"{op} {element_type.name} {seed}".encode()
    key = int.from_bytes(hashlib.sha256(name).digest()[:16], "big")
    if isinstance(element_type, QuantizedColumn):
        return quantized_case(op, element_type, _picker(key, index))
    return build(element_type, _picker(key, index))


def cases(
    op: str, element_type: ElementType | QuantizedColumn, seed: int, count: int, start: int = 0
) -> list[Case]:
    """The cases `start` to `start + count - 1` of a cell under a seed.

    Raises:
        KeyError: for an op without cases.
        ValueError: when the op does not take the element type.
    """
    return [case(op, element_type, seed, start + number) for number in range(count)]
