"""Folds, products and sorts that compilers rewrite."""

from __future__ import annotations

import numpy as np
import pytest

from generators.chains.chain import Chain
from generators.chains.patterns.folds import PATTERNS, body_and_init, can_be_multiplied
from reference.interpreter.evaluate import body_of
from reference.ir.program import TensorType
from reference.ir.types import element_type
from suites.meta.support.built_cases import evaluate_chain, pick_of, steps_of, write_chains

NUMBERS = np.array([[3, 1, 2], [5, 4, 6]], np.int32)


@pytest.mark.parametrize("of", ["si8", "ui8", "f32", "f8E4M3FN", "i1", "bf16"])
def test_an_init_value_is_neutral(of: str) -> None:
    element = element_type(of)
    number = np.array([1]).astype(element.storage)
    for seed in range(30):
        chain = Chain(pick_of(seed))
        region, _ = body_and_init(chain, element)
        init = chain.operations[-1].attribute("value").array  # type: ignore[union-attr]
        (found,) = body_of(region)(np.asarray(init), number[0])
        assert found == number[0]


def test_a_reduction_over_a_dimension_of_one_is_the_value() -> None:
    for chain, result in write_chains(PATTERNS, "reduction of unit dimension", "si32", (2, 3)):
        found = evaluate_chain(chain, result, NUMBERS)
        np.testing.assert_array_equal(found.reshape(2, 3), NUMBERS)


def test_a_product_with_ones_is_a_sum() -> None:
    sums = 0
    for chain, result in write_chains(PATTERNS, "product with ones", "si32", (2, 3), 40):
        (product,) = (one for one in chain.operations if one.name == "dot_general")
        along = product.attribute("lhs_contracting_dimensions")
        ones = [one for one in chain.operations if one.name == "constant"]
        if along and ones and (ones[-1].attribute("value").array == 1).all():  # type: ignore[union-attr]
            found = evaluate_chain(chain, result, NUMBERS)
            assert found.tolist() == NUMBERS.sum(axis=along).tolist()  # type: ignore[arg-type]
            sums += 1
    assert sums > 3


def test_sorted_positions_sort_the_value() -> None:
    for chain, result in write_chains(PATTERNS, "argsort", "si32", (2, 3)):
        (sort,) = (one for one in chain.operations if one.name == "sort")
        places = evaluate_chain(chain, result, NUMBERS)
        axis = sort.attribute("dimension")
        assert isinstance(axis, int)
        found = np.take_along_axis(NUMBERS, places, axis)
        steps = np.diff(found, axis=axis)
        assert (steps > 0).all() or (steps < 0).all()


def test_only_the_first_of_sorted_elements_are_used() -> None:
    sizes = {
        result.type.static_shape[0]  # type: ignore[union-attr]
        for _, result in write_chains(PATTERNS, "slice of sort", "si32", (4, 2))
    }
    assert sizes == {1, 2}


def test_a_sum_along_one_of_many_dimensions() -> None:
    for chain, result in write_chains(PATTERNS, "high rank sum of products", "f32", (2,), 10):
        assert steps_of(chain)[-2:] == ["multiply", "reduce"]
        assert len(result.type.static_shape) >= 6  # type: ignore[union-attr]


def test_types_that_products_accept() -> None:
    assert can_be_multiplied(TensorType((512,), element_type("si8")))
    assert not can_be_multiplied(TensorType((513,), element_type("si8")))
    assert not can_be_multiplied(TensorType((2,), element_type("si4")))
    assert not can_be_multiplied(TensorType((2,), element_type("i1")))
