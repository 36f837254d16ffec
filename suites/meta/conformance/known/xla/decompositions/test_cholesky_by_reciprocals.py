"""Cholesky decompositions by reciprocals of rounded roots."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.decompositions.cholesky_by_reciprocals import BY_RECIPROCALS
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array
from suites.meta.support.small_programs import array, execute, op_program, tensor_of

TYPES = ("bf16", "f16", "f32", "f64", "complex<f32>", "complex<f64>")


def _program(of: str, size: int, *, lower: bool) -> Program:
    kind = tensor_of(2, size, size, of=of)
    return op_program("cholesky", [kind], kind, lower=lower)


def _matrices(of: str, size: int) -> Array:
    random = np.random.default_rng(size)
    made = random.normal(size=(2, size, size)) + 1j * random.normal(size=(2, size, size))
    made = made if "complex" in of else np.real(made)
    return array(made @ np.conj(np.swapaxes(made, -1, -2)), of)


def _errors(program: Program, a: Array, got: Array, *, in_ulp: bool = False) -> Array:
    """Return the errors of the triangle that is asked for."""
    measure = BY_RECIPROCALS.ulps if in_ulp else BY_RECIPROCALS.errors
    assert measure is not None
    (errors,) = measure(program.subject, (a,), tuple(evaluate(program, (a,))), (got,))
    return np.tril(errors) if program.subject.attribute("lower") else np.triu(errors)


@pytest.mark.parametrize("of", TYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_only_results_of_the_cpu_are_predicted(of: str, lower: bool) -> None:
    program, a = _program(of, 5, lower=lower), _matrices(of, 5)
    (got,) = execute("cpu", program, a)
    assert (_errors(program, a, got) <= 1).all()
    if of in ("bf16", "f16"):
        assert not _errors(program, a, got, in_ulp=True).any()
    wrong = got.copy()
    wrong[1, 2, 2] *= wrong.dtype.type(1 + 2.0**-6)
    found = _errors(program, a, wrong)
    assert found[1, 2, 2] > 1
    assert (found[0] <= 1).all()


def test_the_pivot_is_a_product_with_the_reciprocal_of_its_rounded_root() -> None:
    program = op_program("cholesky", [tensor_of(2, 2)], tensor_of(2, 2), lower=True)
    a = array([[1.0625, 0.21875], [0.21875, 2.765625]])
    root = np.float32(np.sqrt(1.0625))
    reciprocal = np.float32(1) / root
    right = np.array([[a[0, 0] * reciprocal, 0], [a[1, 0] * reciprocal, 0]], np.float32)
    right[1, 1] = np.sqrt(a[1, 1] - right[1, 0] ** 2)
    assert right[0, 0] != root
    assert (_errors(program, a, right) <= 1).all()
    for other in (root - np.spacing(root) * 3, root + np.spacing(root) * 8):
        spoilt = right.copy()
        spoilt[0, 0] = other
        assert _errors(program, a, spoilt)[0, 0] > 1


def test_an_ill_conditioned_matrix_hides_no_wrong_digit() -> None:
    """The steps may be off by any number in the last pivot, which the equation still tells."""
    program = op_program("cholesky", [tensor_of(2, 2)], tensor_of(2, 2), lower=True)
    a = array([[1, 1], [1, 1 + 2.0**-22]])
    for last, is_predicted in ((2.0**-11, True), (0.01, False), (np.nan, True)):
        got = array([[1, 0], [1, last]])
        assert bool(_errors(program, a, got)[1, 1] <= 1) == is_predicted
