"""Pairs of f32 written as operations of a program."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.pairs.written_pairs import PairWriter
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Operation, Program, Region, Value
from suites.meta.support.small_programs import array, tensor_of

X = Value("x", tensor_of(1, of="f64"))


def split(number: float) -> tuple[float, float]:
    writer = PairWriter(X)
    pair = writer.split()
    body = Region((X,), (*writer.operations, Operation("return", pair)))
    program = Program((Function("main", body, tuple(one.type for one in pair)),))
    high, low = evaluate(program, [array([number], "f64")])
    assert high.dtype == low.dtype == np.float32
    return float(high[0]), float(low[0])


@pytest.mark.parametrize(
    ("number", "pair"),
    [
        (1 + 2.0**-30, (1.0, 2.0**-30)),
        (-1 - 2.0**-30, (-1.0, -(2.0**-30))),
        (1e300, (np.inf, 0.0)),
        (0.5, (0.5, 0.0)),
    ],
)
def test_numbers_of_a_pair_add_up(number: float, pair: tuple[float, float]) -> None:
    assert split(number) == pair


def test_values_have_names_of_their_own() -> None:
    writer = PairWriter(X)
    results = [writer.fill(n, "f32") for n in range(3)]
    assert len({one.name for one in results}) == 3
    assert all(one.type == tensor_of(1) for one in results)
