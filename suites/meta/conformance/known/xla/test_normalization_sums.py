"""Sums of normalizations: in order, in vectors of rows, and in windows, of rounded terms or not."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.normalization_steps import Machine
from conformance.known.xla.normalization_sums import (
    mixed_sums,
    paired_sums,
    sums_in_loops,
    usual_sums,
)
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array, element_type
from reference.numerics.unrounded import fused_multiply_add

F32, F16 = element_type("f32"), element_type("f16")
PLAIN = Machine(F32, flushes=False, narrow=F16)
SMALL = 2.0**-24


def numbers(*given: float) -> Array:
    return np.array(given, np.float32)


def column(*given: float) -> Array:
    return numbers(*given).reshape(-1, 1)


def items(*factors: Array, axes: tuple[int, ...], machine: Machine = PLAIN) -> list[float]:
    every = (add(machine, *factors, axes=axes) for add in (usual_sums, sums_in_loops))
    return [one.item() for found in every for one in found]


def test_sums_are_fused_or_rounded_in_order_or_rounded_once() -> None:
    """2^24 + 1 is 2^24 in f32, so that only a sum that is rounded once counts both."""
    found = items(column(2.0**24, 1, 1), axes=(0,))
    assert found[:4] == [2.0**24, 2.0**24, 2.0**24 + 2, 2.0**24]


def test_sums_in_vectors_may_overflow_towards_both_sides() -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        found = items(column(3e38, 3e38, -3e38, -3e38), axes=(0,))
    assert found[:3] == [np.inf, np.inf, 0]
    assert np.isnan(found[3])


def test_products_are_rounded_unless_they_are_fused() -> None:
    """(1 + 2^-12)^2 - (1 + 2^-11) is 2^-24, but 0 if the square is rounded."""
    x, y = column(1 + 2.0**-11, 1 + 2.0**-12), column(-1, 1 + 2.0**-12)
    assert items(x, y, axes=(0,)) == [SMALL, 0, 0, 0, 0]
    stored = Machine(F32, False, F16, rounded=("products", "sums"))
    assert [one.shape for one in usual_sums(stored, x, y, axes=(0,))] == [(1, 1)] * 4
    assert [one.shape for one in sums_in_loops(stored, x, y, axes=(0,))] == [(1, 1)]


def test_first_of_two_products_may_be_the_one_that_is_fused() -> None:
    x, y = column(1 + 2.0**-12, 1 + 2.0**-11, SMALL), column(1 + 2.0**-12, -1, 1)
    assert items(x, y, axes=(0,)) == [SMALL, SMALL, SMALL, SMALL, 2 * SMALL]


def test_sum_of_one_element_may_keep_its_negative_zero() -> None:
    *zeros, element = usual_sums(PLAIN, numbers(-0.0), numbers(3.0), axes=(0,))
    assert not any(np.signbit(one) for one in zeros[:2])
    assert np.signbit(element)
    assert len(items(numbers(-0.0, -0.0), numbers(3.0, 3.0), axes=(0,))) == 5


def test_sums_may_be_those_of_rows() -> None:
    """2^24 and two ones are 2^24 in order. Fused, (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24."""
    x = numbers(2.0**24, 0, 1, 1).reshape(2, 1, 2)
    assert items(x, axes=(0, 2))[5:] == [2.0**24 + 2, 2.0**24 + 2]
    x = numbers(SMALL, 0, 1 + 2.0**-11, 1 + 2.0**-12).reshape(2, 1, 2)
    y = numbers(1, 0, -1, 1 + 2.0**-12).reshape(2, 1, 2)
    assert items(x, y, axes=(0, 2)) == [SMALL, 0, SMALL, 0, SMALL, SMALL, 2 * SMALL]


@pytest.mark.parametrize(
    ("elements", "sums_more"),
    [
        ([[0, 0], [1, 1], [0, 0], [0, 0]], [0, 2]),  # the first element of two plus 1 plus 1
        ([[1, 0], [0, 0], [1, 0], [0, 0]], [2, 2]),  # the second element of both is 2
        ([[1, 0], [0, 0], [0, 0], [1, 0]], [0, 0]),  # the last row belongs to no vector
        ([[1, 0], [0, 0], [1, 0]], [2, 0, 2]),  # the second two rows may belong to no vector
    ],
)
def test_vectors_hold_terms_of_several_rows(
    elements: list[list[int]], sums_more: list[int]
) -> None:
    """Rows after [2^24, 0] are added by vectors of two, which may leave two rows, and of four."""
    x = np.array([[2.0**24, 0], *elements], np.float32)[:, None, :]
    assert [one - 2**24 for one in items(x, axes=(0, 2))[5::2]] == sums_more


def test_vectors_within_blocks_begin_with_the_sum_of_the_blocks_before() -> None:
    """Vectors of two blocks add the second block to 0 first. Vectors of rows add it to 2^24."""
    x = np.array([[[2.0**24, 0], [0, 0]], [[1, 0], [1, 0]]], np.float32)[..., None]
    assert items(x, axes=(0, 1, 2))[5::2] == [2.0**24 + 2, 2.0**24]


def test_windows_of_long_dimensions_are_added_first() -> None:
    """Of 33 numbers, padded to 64, the first window has 17: the two ones are in the second one."""
    x = np.zeros((33, 1), np.float32)
    x[0], x[17], x[18] = 2.0**24, 1, 1
    assert items(x, axes=(0,))[-1] == 2.0**24 + 2
    x[16], x[17] = 1, 0
    assert items(x, axes=(0,))[-1] == 2.0**24
    assert len(items(x[:32], axes=(0,))) == len(items(x, axes=(0,))) - 1


def test_pairs_of_sums_are_distinct() -> None:
    """Usual sums are 2^24 in one way, and rounded once 2^24 + 2; vectors of rows give that, too."""
    x = numbers(2.0**24, 1, 0, 1).reshape(2, 1, 2)
    one = np.ones_like(x)
    low, high = 2.0**24, 2.0**24 + 2
    pairs = paired_sums(PLAIN, (x,), (x, one), (0, 2))
    assert [(a.item(), b.item()) for a, b in pairs] == [(low, low), (high, high)]
    mixed = mixed_sums(PLAIN, (x,), (x, one), (0, 2))
    assert [(a.item(), b.item(), usual) for a, b, usual in mixed] == [
        (low, low, True), (high, high, True), (low, high, False), (high, low, False),
    ]  # fmt: skip


TRAINED = """
func.func @main(%x: tensor<64x1xf64>, %s: tensor<1xf64>, %o: tensor<1xf64>) -> (tensor<64x1xf64>, tensor<1xf64>, tensor<1xf64>) {
  %y, %m, %v = "stablehlo.batch_norm_training"(%x, %s, %o) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<64x1xf64>, tensor<1xf64>, tensor<1xf64>) -> (tensor<64x1xf64>, tensor<1xf64>, tensor<1xf64>)
  return %y, %m, %v : tensor<64x1xf64>, tensor<1xf64>, tensor<1xf64>
}
"""  # fmt: skip # noqa: E501


@pytest.mark.parametrize(("grid", "kind"), [(0.0, "one-pass variance"), (2.0, "wrong value")])
def test_variances_of_windows_cancel_as_predicted(grid: float, kind: str) -> None:
    """E[x^2] is about 2^40, so that numbers next to the variance are 2^-12 apart."""
    program, f64 = parse_module(TRAINED), element_type("f64")
    machine = Machine(f64, flushes=False, narrow=f64)
    x = 2.0**20 + np.random.default_rng(1).standard_normal((64, 1))
    operands = x, np.ones(1), np.zeros(1)
    total, squares = (list(sums_in_loops(machine, *one, axes=(0,)))[-1] for one in ((x,), (x, x)))
    mean = (total / 64).reshape(1)
    variance = fused_multiply_add(-mean, mean, squares.reshape(1) / 64, f64) + grid
    output = (x - mean) * (1 / np.sqrt(variance.astype(np.longdouble) + 1)).astype(np.float64)
    judged = judge_operation(
        program,
        operands,
        evaluate(program, operands),
        (output, mean, variance),
        platform=Hardware.CPU,
    )
    assert judged.kind == kind
