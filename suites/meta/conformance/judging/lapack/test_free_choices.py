"""Other free choices of a decomposition: signs, bases, orders of equal elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging.lapack.free_choices import VARIATIONS, vary_choices
from conformance.judging.perturbation.error_model import shift_elements
from reference.custom_calls.targets import call_built_in
from reference.ir.program import Operation, TensorType, Value
from reference.ir.types import Array, element_type_of

SYMMETRIC = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, -1.0]])


def call(target: str, operands: tuple[Array, ...], **options: Any) -> tuple[Operation, Any]:
    """Return a custom call and its results; options are codes of letters."""
    entries = tuple((name, ord(value), "ui8") for name, value in options.items())
    results = call_built_in(target, operands, {"mhlo.backend_config": entries})
    values = [
        tuple(Value(f"{p}{n}", TensorType(a.shape, element_type_of(a))) for n, a in enumerate(of))
        for p, of in (("a", operands), ("r", results))
    ]
    given = (("call_target_name", target), ("mhlo.backend_config", entries))
    return Operation("custom_call", *values, given), results


def vary(operation: Operation, operands: Any, results: Any, number: int) -> tuple[Any, str]:
    random = np.random.default_rng(number)
    return vary_choices(operation, operands, results, number, random, shift_elements)


@pytest.mark.parametrize("number", [0, 1, VARIATIONS - 1])
def test_varied_eigenvectors_are_still_eigenvectors(number: int) -> None:
    operation, results = call("lapack_dsyevd_ffi", (SYMMETRIC,), mode="V", uplo="L")
    (vectors, values, info), why = vary(operation, (SYMMETRIC,), results, number)
    assert why == "choice of eigenvectors"
    assert np.array_equal(values, results[1])
    assert info == 0
    assert np.allclose(SYMMETRIC @ vectors, vectors * values)
    assert np.array_equal(np.abs(vectors), np.abs(results[0]))


def test_first_variation_turns_all_vectors_and_the_next_every_second_vector() -> None:
    operation, results = call("lapack_dsyevd_ffi", (SYMMETRIC,), mode="V", uplo="L")
    for number, signs in ((0, [-1, -1, -1]), (1, [1, -1, 1]), (2, [1, 1, -1])):
        (vectors, *_), _ = vary(operation, (SYMMETRIC,), results, number)
        assert np.array_equal(vectors, results[0] * signs)


def test_basis_of_equal_eigenvalues_is_rotated() -> None:
    unit = np.eye(3)
    operation, results = call("lapack_dsyevd_ffi", (unit,), mode="V", uplo="L")
    (vectors, *_), _ = vary(operation, (unit,), results, 9)
    assert not np.allclose(np.abs(vectors), np.abs(results[0]))
    assert np.allclose(vectors.T @ vectors, unit)


@pytest.mark.parametrize("number", range(0, VARIATIONS, 3))
def test_varied_singular_vectors_have_the_same_product(number: int) -> None:
    a = np.array([[1.0, 2.0], [0.0, 3.0]])
    operation, results = call("lapack_dgesdd_ffi", (a,), mode="S")
    (_, s, left, right, _), why = vary(operation, (a,), results, number)
    assert why == "choice of singular vectors"
    assert np.allclose(left @ np.diag(s) @ right, a)


@pytest.mark.parametrize("number", range(0, VARIATIONS, 3))
def test_varied_eigenvalues_come_in_another_order_with_their_vectors(number: int) -> None:
    a = np.array([[1.0, 2.0, 0.0], [-2.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    operation, results = call("lapack_dgeev_ffi", (a,), compute_left="N", compute_right="V")
    (re, im, _, vectors, _), _ = vary(operation, (a,), results, number)
    first = int(np.flatnonzero(im > 0)[0])
    assert im[first + 1] == -im[first]
    vector = vectors[:, first]
    assert np.allclose(a @ vector, (re[first] + 1j * im[first]) * vector)


def test_operation_without_free_choices_stays() -> None:
    plain = Operation("add", (), ())
    results = (SYMMETRIC,)
    assert vary(plain, (), results, 0) == (results, "")


def test_results_of_a_failed_routine_are_arbitrary() -> None:
    a = -np.eye(2)
    operation, results = call("lapack_dpotrf_ffi", (a,), uplo="L")
    assert results[-1] != 0
    found = [vary(operation, (a,), results, number)[0][0] for number in range(3)]
    assert len({one.tobytes() for one in found}) == 3
