"""CHLO's top_k: the largest elements first, equal elements by their index."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.constraints import collect_violations
from reference.ir.program import TensorType
from reference.ir.types import ELEMENT_TYPES
from reference.ops.chlo.sorting import OPS

(TOP_K,) = OPS
I1, SI32 = ELEMENT_TYPES["i1"], ELEMENT_TYPES["si32"]


def test_true_is_larger_than_false() -> None:
    values, indices = TOP_K.evaluate(np.array([[False, True, False, True]]), k=3)
    assert values.tolist() == [[True, True, False]]
    assert indices.tolist() == [[1, 3, 0]]


@pytest.mark.parametrize(
    ("shape", "k", "sizes", "ids"),
    [
        ((None, 4), 4, (None, 4), ()),
        ((2, None), 9, (2, 9), ()),
        ((), 0, (0,), ("P1",)),
        ((2, 4), 5, (2, 5), ("P2",)),
        ((2, 4), -1, (2, 0), ("P2",)),
        ((2, 4), 3, (2, 4), ("P3",)),
    ],
)
def test_constraints(
    shape: tuple[int | None, ...], k: int, sizes: tuple[int | None, ...], ids: tuple[str, ...]
) -> None:
    results = TensorType(sizes, I1), TensorType(sizes, SI32)
    with collect_violations() as found:
        TOP_K.infer(TensorType(shape, I1), k=k, results=results)
    assert tuple(found.ids) == ids


def test_complex_numbers_have_no_order() -> None:
    with collect_violations() as found:
        TOP_K.infer(TensorType((2,), ELEMENT_TYPES["complex<f32>"]), k=1)
    assert tuple(found.ids) == ("operands",)
