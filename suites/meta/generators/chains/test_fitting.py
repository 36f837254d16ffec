"""A value in another shape: as it is, reshaped, repeated, cut, or filled up."""

from __future__ import annotations

import numpy as np
import pytest

from generators.chains.chain import Chain
from generators.chains.fitting import fit_shape
from reference.ir.program import TensorType
from reference.ir.types import element_type
from suites.meta.support.built_cases import evaluate_chain, pick_of, steps_of

F32 = element_type("f32")


def fit(shape: tuple[int, ...], wanted: tuple[int, ...], seed: int) -> tuple[list[str], np.ndarray]:
    chain = Chain(pick_of(seed))
    chain.data.append(chain.parameter(TensorType(shape, F32)))
    result = fit_shape(chain, chain.data[0], TensorType(wanted, F32))
    assert result.type == TensorType(wanted, F32)
    numbers = np.arange(5, 5 + np.prod(shape), dtype=np.float32).reshape(shape)
    return steps_of(chain), evaluate_chain(chain, result, numbers).reshape(-1)


@pytest.mark.parametrize(
    ("shape", "wanted", "steps"),
    [
        ((2, 3), (2, 3), []),
        ((2, 3), (3, 2), ["reshape"]),
        ((), (2, 2), ["broadcast_in_dim"]),
        ((1, 1), (2, 2), ["reshape", "broadcast_in_dim"]),
        ((6,), (4,), ["slice"]),
        ((2, 3), (2, 2), ["reshape", "slice", "reshape"]),
        ((2, 3), (), ["reshape", "slice", "reshape"]),
    ],
)
def test_steps_to_a_shape(
    shape: tuple[int, ...], wanted: tuple[int, ...], steps: list[str]
) -> None:
    assert fit(shape, wanted, 0)[0] == steps


def test_elements_are_cut_at_either_end() -> None:
    assert {tuple(fit((4,), (3,), seed)[1].tolist()) for seed in range(20)} == {
        (5, 6, 7), (6, 7, 8)
    }  # fmt: skip


def test_missing_elements_are_filled_at_either_end_with_zeros_or_ones() -> None:
    found = {tuple(fit((2,), (3,), seed)[1].tolist()) for seed in range(60)}
    assert found == {(5, 6, 0), (5, 6, 1), (0, 5, 6), (1, 5, 6)}
    assert {fit((2,), (3,), seed)[0][0] for seed in range(30)} == {"pad", "concatenate"}
