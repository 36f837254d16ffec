"""Pairs of f32 written as operations of a program."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.pairs.written_pairs import pair_writer, write_pair
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Operation, Program, Region, Value
from suites.meta.support.small_programs import array, tensor_of

X = Value("x", tensor_of(1, of="f64"))


def split(number: float) -> tuple[float, float]:
    writer = pair_writer(X)
    pair = write_pair(writer, X)
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
