"""Batch normalizations: features, sizes, epsilon, profiles in the order of operands."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from generators.families.normalization import BUILDERS
from suites.meta.support.built_cases import assert_valid, built, sizes, subjects


@pytest.mark.parametrize("op", BUILDERS)
def test_vectors_have_the_size_of_the_feature_dimension(op: str) -> None:
    cases = built(BUILDERS[op], "f32", 40)
    assert_valid(cases)
    for one in subjects(cases):
        index = one.attribute("feature_index")
        assert isinstance(index, int)
        assert sizes(one, 1) == (sizes(one)[index],)
    assert {one.attribute("feature_index") for one in subjects(cases)} >= {0, 1, 2}


def test_the_gradient_takes_its_last_profile_from_the_output() -> None:
    """A variance is never negative, wherever the operand stands."""
    variances = ("values:", "positive", "within:", "unit", "mixed")
    for op, number in (("batch_norm_grad", 3), ("batch_norm_inference", 4)):
        for case in built(
            BUILDERS[op], "f32", 40, {f"{name} is": "a parameter" for name in _OPERANDS}
        ):
            for recipe in case.inputs:
                assert len(recipe.profiles) == 5
                assert recipe.profiles[number].startswith(variances)


_OPERANDS = ("operand", "scale", "offset", "mean", "variance", "grad_output")


def test_numbers_of_elements_are_numbers_of_the_type() -> None:
    """The largest number of f4E2M1FN is 6: more elements have no mean in it."""
    assert all(
        prod(sizes(one)) <= max(6, 2 ** len(sizes(one)))
        for one in subjects(built(BUILDERS["batch_norm_training"], "f4E2M1FN", 60))
    )
    largest = max(
        prod(sizes(one)) for one in subjects(built(BUILDERS["batch_norm_training"], "f32", 200))
    )
    assert 500 < largest <= 2048


def test_epsilons_are_numbers_of_f32() -> None:
    found = {
        one.attribute("epsilon") for one in subjects(built(BUILDERS["batch_norm_grad"], "f32", 100))
    }
    assert {0.0, 1.0} <= found
    assert all(float(np.float32(epsilon)) == epsilon for epsilon in found)  # type: ignore[arg-type]


def test_an_operand_may_be_empty() -> None:
    cases = built(BUILDERS["batch_norm_training"], "f32", 5, {"sizes": "with 0"})
    assert all(0 in sizes(one) for one in subjects(cases))
