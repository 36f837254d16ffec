"""Decompositions and triangular systems: sizes, sides, and matrices that have a result."""

from __future__ import annotations

import pytest

from generators.families.linear_algebra import BUILDERS
from suites.meta.support.built_cases import assert_valid, built, sizes, subjects


def test_both_triangles_sides_and_transpositions() -> None:
    cases = built(BUILDERS["triangular_solve"], "complex<f32>", 100)
    assert_valid(cases)
    found = subjects(cases)
    assert {one.attribute("transpose_a") for one in found} == {
        "NO_TRANSPOSE",
        "TRANSPOSE",
        "ADJOINT",
    }
    for name in ("left_side", "lower", "unit_diagonal"):
        assert {one.attribute(name) for one in found} == {True, False}


def test_right_hand_sides_are_on_the_side_of_the_matrix() -> None:
    for one in subjects(built(BUILDERS["triangular_solve"], "f32")):
        matrix, right = sizes(one), sizes(one, 1)
        assert right[-2 if one.attribute("left_side") else -1] == matrix[-1]


@pytest.mark.parametrize(("of", "most"), [("f16", 65), ("f8E5M2", 4), ("f8E8M0FNU", 1)])
def test_narrow_types_have_small_matrices(of: str, most: int) -> None:
    largest = max(sizes(one)[-1] for one in subjects(built(BUILDERS["cholesky"], of, 200)))
    assert largest == most


def test_a_unit_diagonal_is_one_of_ones() -> None:
    cases = built(BUILDERS["triangular_solve"], "f32", 60, {"unit_diagonal": "yes"})
    first = [recipe.profiles[0] for case in cases for recipe in case.inputs if recipe.profiles]
    assert first.count("unit_diagonal") > len(first) / 2


def test_most_matrices_are_positive_definite() -> None:
    cases = built(BUILDERS["cholesky"], "f32", 60)
    first = [recipe.profiles[0] for case in cases for recipe in case.inputs if recipe.profiles]
    definite = [name for name in first if name in ("definite", "gram", "graded", "hilbert")]
    assert len(definite) > len(first) / 2
