"""Steps of normalizations: each is rounded once, in the type of the machine."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.normalization_steps import (
    Machine,
    NormalizationOperands,
    distinct_arrays,
)
from reference.ir.types import Array, element_type

F32, F16 = element_type("f32"), element_type("f16")
PLAIN = Machine(F32, flushes=False, narrow=F16)
THIRD = np.float32(1) / np.float32(3)


def numbers(*given: float) -> Array:
    return np.array(given, np.float32)


def lists(arrays: object) -> list[list[float]]:
    return [array.tolist() for array in arrays]  # type: ignore[attr-defined]


def test_repeated_arrays_are_omitted_by_their_bits() -> None:
    arrays = (numbers(0.0), numbers(-0.0), numbers(0.0), numbers(1.0))
    assert [np.signbit(one[0]) for one in distinct_arrays(*arrays)] == [False, True, False]


def test_results_of_chosen_steps_are_stored_in_the_narrow_type() -> None:
    """f16 has 11 bits of precision: it rounds 1 + 2^-11 to 1."""
    x, machine = numbers(1 + 2.0**-11), Machine(F32, False, F16, rounded=("mean",))
    assert machine.store_step("mean", x) == 1
    assert machine.store_step("root", x) == x
    assert machine.store_step("mean", x).dtype == np.float32


@pytest.mark.parametrize(("flushes", "found"), [(True, 0), (False, 2.0**-130)])
def test_subnormal_results_may_be_flushed(flushes: bool, found: float) -> None:
    machine = Machine(F32, flushes, F16)
    assert machine.round_step(numbers(2.0**-130)) == found
    assert machine.widen(np.array([2.0**-130])) == found
    assert machine.fuse(numbers(2.0**-65), numbers(2.0**-65), numbers(0)) == found


def test_product_is_added_unrounded_then_rounded() -> None:
    """(1 + 2^-12) squared is 1 + 2^-11 + 2^-24; f32 drops the last term."""
    x = numbers(1 + 2.0**-12)
    assert lists(PLAIN.multiply_add(x, x, numbers(-1 - 2.0**-11))) == [[2.0**-24], [0]]
    assert lists(PLAIN.multiply_add(x, numbers(2), numbers(1))) == [[3 + 2.0**-11]]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, [[0.0], [-(2.0**-25)]]),  # 1 - 3 * (1 / 3 + 2^-25 / 3)
        ({"divides": True}, [[0.0]]),
        ({"rounded": ("mean",)}, [[0.0]]),
    ],
)
def test_mean_may_be_a_product_that_is_not_rounded(options: dict, found: list[list[float]]) -> None:
    machine = Machine(F32, False, F16, **options)
    centered = machine.center(numbers(1), numbers(3), numbers(float(THIRD)), numbers(1))
    assert lists(centered) == found


def test_inverse_roots_are_those_within_two_ulp() -> None:
    """1 / sqrt(2^-2) is 2, whose neighbours are 2^-22 above and 2^-23 below."""
    with np.errstate(divide="ignore"):
        found = lists(PLAIN.reciprocal_roots(numbers(0.25, 0.0)))
    above, below = 2.0**-22, 2.0**-23
    assert [one[0] for one in found] == [2, 2 + above, 2 - below, 2 + 2 * above, 2 - 2 * below]
    assert {one[1] for one in found} == {np.inf}


def operands(machine: Machine, x: Array, epsilon: float = 0.0) -> NormalizationOperands:
    constants = np.float32(epsilon), np.float32(len(x))
    return NormalizationOperands(machine, [x.reshape(-1, 1)], *map(np.asarray, constants), (0,))


def test_means_are_products_with_the_reciprocal_or_quotients() -> None:
    """In f32 1 / 41 is rounded down, and 41 times that is the number before 1."""
    x, total = np.ones(41, np.float32), numbers(41)
    assert operands(PLAIN, x).means(total) == np.nextafter(np.float32(1), np.float32(0))
    divides = Machine(F32, False, F16, divides=True)
    assert operands(divides, x).means(total) == 1
    assert operands(PLAIN, x[:3]).inverse == THIRD
    stored = Machine(F32, False, F16, rounded=("inverse",))
    assert operands(stored, x[:3]).inverse == np.float16(1 / 3)


def test_epsilon_of_zero_may_be_omitted() -> None:
    variance = numbers(-0.0)
    signs = [np.signbit(one).tolist() for one in operands(PLAIN, variance).spreads(variance)]
    assert signs == [[False], [True]]
    assert lists(operands(PLAIN, variance, 0.5).spreads(variance)) == [[0.5]]
    with np.errstate(divide="ignore"):
        roots = [one.item() for one in operands(PLAIN, variance).roots(variance)]
    assert {*roots[:5]} == {np.inf}
    assert {*roots[5:]} == {-np.inf}


@pytest.mark.parametrize(("x", "found"), [([3, 3, 3], 3), ([3, 3, 4], None), ([0.0, -0.0], None)])
def test_number_of_a_feature_is_that_of_all_its_elements(x: list, found: float | None) -> None:
    number = operands(PLAIN, numbers(*x)).equal_number
    assert (None if number is None else number.item()) == found
