"""Matrices for which a decomposition or a solution is undefined, and triangles nobody reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.unspecified.linear_algebra import REASONS
from suites.meta.support.ops.unspecified import Found, array, unspecified_by

ALL = [True] * 4
UPPER, LOWER = [False, True, False, False], [False, False, True, False]


def cholesky(a: Any, *, lower: bool = True, of: str = "f32") -> Found:
    return unspecified_by(REASONS, "cholesky", array(of, a), lower=lower)


def test_the_other_triangle_of_a_factor() -> None:
    assert cholesky([[4, 2], [2, 5]]) == {"the other triangle": UPPER}
    assert cholesky([[4, 2], [2, 5]], lower=False) == {"the other triangle": LOWER}


@pytest.mark.parametrize(
    "a",
    [
        [[4, 2], [1, 5]],
        [[1, 2], [2, 1]],
        [[0, 0], [0, 1]],
        [[1, 1j], [1j, 5]],
        [[np.nan, 0], [0, 1]],
    ],
)
def test_factors_of_matrices_that_are_not_positive_definite(a: Any) -> None:
    of = "complex<f32>" if np.iscomplexobj(a) else "f32"
    assert cholesky(a, of=of)["not Hermitian positive definite"] == ALL


def test_a_complex_matrix_is_compared_with_its_adjoint() -> None:
    assert cholesky([[1, 1j], [-1j, 5]], of="complex<f32>") == {"the other triangle": UPPER}


def unspecified_solve(a: Any, b: Any, of: str = "f32", **given: Any) -> Found:
    attributes: dict[str, Any] = {
        "left_side": True, "lower": True, "unit_diagonal": False, "transpose_a": "NO_TRANSPOSE"
    }  # fmt: skip
    return unspecified_by(
        REASONS, "triangular_solve", array(of, a), array(of, b), **attributes | given
    )


def test_a_regular_system_has_one_solution() -> None:
    assert unspecified_solve([[2, 0], [1, 4]], [[2], [5]]) == {}


def test_a_diagonal_said_to_be_of_ones() -> None:
    label = "diagonal not of ones"
    assert unspecified_solve([[2, 0], [1, 1]], [[2], [5]], unit_diagonal=True) == {
        label: [True, True]
    }
    assert unspecified_solve([[1, 0], [1, 1]], [[2], [5]], unit_diagonal=True) == {}


def test_a_singular_matrix() -> None:
    assert unspecified_solve([[2, 0], [1, 0]], [[2], [5]])["singular matrix"] == [True, True]
    assert unspecified_solve([[2, 9], [1, 4]], [[2], [5]]) == {}  # the upper triangle is not read


def test_numbers_that_are_not_finite_affect_their_own_column() -> None:
    label = "numbers that are not finite"
    assert unspecified_solve([[2, 0], [np.inf, 4]], [[2, 1], [5, 1]]) == {label: ALL}
    found = unspecified_solve([[2, 0], [1, 4]], [[np.nan, 1], [5, 1]])
    assert found == {label: [True, False, True, False]}
    found = unspecified_solve([[2, 0], [1, 4]], [[np.nan, 1], [5, 1]], left_side=False)
    assert found == {label: [True, True, False, False]}


def test_steps_beyond_the_largest_number_of_a_format() -> None:
    """The largest number is 6, and represents everything beyond it."""
    of, label = "f4E2M1FN", "steps beyond the largest number"
    assert unspecified_solve([[1, 0], [4, 1]], [[4], [2]], of) == {label: [False, True]}
    assert unspecified_solve([[1, 0], [1, 1]], [[4], [2]], of) == {}
    assert unspecified_solve([[0.5, 0], [1, 1]], [[4], [0]], of) == {label: [False, True]}
    assert unspecified_solve([[1, 4], [0, 1]], [[2], [4]], of, lower=False) == {
        label: [True, False]
    }
    rows = unspecified_solve([[1, 0], [4, 1]], [[2, 4]], of, left_side=False)
    assert rows == {label: [True, False]}
    assert unspecified_solve([[1, 0], [4, 1]], [[4], [2]], "f32") == {}


def test_the_other_triangle_of_a_triangular_solution() -> None:
    a = [[2, 0], [1, 4]]
    assert unspecified_solve(a, [[1, 0], [3, 4]]) == {"the other triangle": UPPER}
    assert unspecified_solve(a, [[1, 5], [3, 4]]) == {}
    assert unspecified_solve(a, [[1, 0], [3, 4]], transpose_a="TRANSPOSE") == {}
    assert unspecified_solve(np.transpose(a), [[1, 3], [0, 4]], lower=False) == {
        "the other triangle": LOWER
    }
