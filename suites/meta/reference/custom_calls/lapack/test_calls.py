"""A call of a LAPACK routine: shapes of results, letters, triangles, finite matrices."""

from __future__ import annotations

import numpy as np
import pytest

from reference.custom_calls.lapack.calls import (
    RoutineCall,
    complete_hermitian,
    finite_matrices,
    option_letter,
    real_type,
)
from reference.ir.program import TensorType
from reference.ir.types import element_type

BATCH = np.zeros((2, 3, 3), np.float32)


def test_info_has_one_number_for_each_matrix() -> None:
    call = RoutineCall((BATCH,), {}, ())
    assert call.info().tolist() == [0, 0]
    assert call.info(np.array([1, 4])).tolist() == [1, 4]
    assert call.info().dtype == np.int32


def test_a_static_shape_of_the_program_precedes_the_computed_one() -> None:
    f32 = element_type("f32")
    call = RoutineCall((BATCH,), {}, (TensorType((2, 5), f32), TensorType((None, 5), f32)))
    assert call.shape(0, (7,)) == (2, 5)
    assert call.shape(1, (7,)) == (7,)
    assert call.shape(2, (7,)) == (7,)


@pytest.mark.parametrize("option", ["U", ord("U"), np.uint8(ord("U"))])
def test_an_option_is_a_letter_or_its_code(option: object) -> None:
    assert option_letter(option) == "U"


def test_a_triangle_gives_the_hermitian_matrix() -> None:
    """The other triangle, and imaginary parts of the diagonal, are not read."""
    a = np.array([[1 + 9j, 5], [2 + 3j, 4 - 9j]])
    assert complete_hermitian(a, lower=True).tolist() == [[1, 2 - 3j], [2 + 3j, 4]]
    assert complete_hermitian(a, lower=False).tolist() == [[1, 5], [5, 4]]


def test_the_real_type_is_the_type_of_the_parts() -> None:
    assert real_type(np.zeros(1, np.complex64)) == element_type("f32")
    assert real_type(np.zeros(1, np.float64)) == element_type("f64")


def test_a_matrix_counts_as_finite_if_it_is_finite_in_all_arrays() -> None:
    first, scales = np.ones((3, 2, 2)), np.ones((3, 2))
    first[0, 1, 0], scales[1, 1] = np.nan, np.inf
    assert finite_matrices((first,)).tolist() == [False, True, True]
    assert finite_matrices((first, scales)).tolist() == [False, False, True]
    assert finite_matrices((first, np.ones((3, 2), np.int32))).tolist() == [False, True, True]
