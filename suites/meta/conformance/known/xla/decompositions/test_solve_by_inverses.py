"""Triangular systems solved by the inverses of the blocks on the diagonal."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.known.xla.decompositions.solve_by_inverses import LABEL
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from generators.invalid.misses import tensor
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program, Value, single_op
from reference.ir.types import Array, element_type, element_type_of
from reference.numerics.rounding import round_to

NAN, INF = np.nan, np.inf
WRONG = (Verdict.INACCURATE, Verdict.DIVERGENT)


def program(a: Array, b: Array, **given: bool) -> Program:
    """Return a system of these types, lower and with `a` on the left unless `given`
    says otherwise.
    """
    of = element_type_of(a)
    result = tensor(of, *b.shape)
    values = Value("a", tensor(of, *a.shape)), Value("b", result)
    attributes = {"left_side": True, "lower": True, "unit_diagonal": False, **given}
    return single_op(
        "triangular_solve",
        values,
        (result,),
        {**attributes, "transpose_a": "NO_TRANSPOSE"},
        (),
    )


def kinds_of(a: Array, b: Array, actual: Array, **given: bool) -> set[str]:
    """Return the classes of the elements of such a result that are wrong."""
    subject = program(a, b, **given)
    expected = evaluate(subject, (a, b))
    judged = judge(subject, (a, b), expected, (actual,), RULES["triangular system"])
    return {kind for verdict, kind in judged.findings if verdict in WRONG}


@pytest.mark.parametrize(
    ("second", "kinds"),
    [(-INF, {LABEL}), (NAN, {"NaN"}), (INF, {"infinity"}), (-1e38, {"wrong value"})],
)
def test_an_element_of_the_inverse_overflows(second: float, kinds: set[str]) -> None:
    """The inverse is [[1e21, -inf], [0, 1e21]]."""
    a = np.array([[1e-21, 1], [0, 1e-21]], np.float32)
    b = np.array([[1e-21, 1]], np.float32)
    actual = np.array([[1, second]], np.float32)
    assert kinds_of(a, b, actual, left_side=False, lower=False) == kinds


def ill_conditioned() -> tuple[Array, Array, Array]:
    """Return a system whose second unknown is nearly 0, and the product with the inverse of its
    matrix.
    """
    a = np.array([[1, 0, 0], [9.1, 1, 0], [1, 7.3, 1]], np.float32)
    b = a[:, :1] * np.float32(0.7)
    b[2] += np.float32(0.25)
    inverse = np.eye(3, dtype=np.float32)
    for i in range(1, 3):
        inverse[i] -= a[i, :i] @ inverse[:i]
    return a, b, inverse @ b


def test_the_inverse_rounds_more_than_substitution() -> None:
    a, b, found = ill_conditioned()
    assert kinds_of(a, b, found, unit_diagonal=True) == {LABEL}
    wrong = found.copy()
    wrong[2] *= np.float32(1 + 2**-8)
    assert kinds_of(a, b, wrong, unit_diagonal=True) == {"wrong value"}


def test_many_small_systems_are_solved_by_substitution() -> None:
    a, b, found = ill_conditioned()
    many = (np.broadcast_to(one, (9, *one.shape)).copy() for one in (a, b, found))
    assert LABEL not in kinds_of(*many, unit_diagonal=True)


@pytest.mark.parametrize(
    ("actual", "kinds"),
    [((NAN, 0), {LABEL}), ((16, NAN), {"NaN"}), ((8, 0), {"accuracy"}), ((16, 0), set[str]())],
)
def test_narrow_types_overflow_early(actual: tuple[float, float], kinds: set[str]) -> None:
    """The inverse has -256 in its corner, and 30 is the largest number."""
    of = element_type("f8E4M3B11FNUZ")
    a = round_to(np.array([[0.0625, 1], [0, 0.0625]]), of)
    b, got = (round_to(np.array(one, np.float64).reshape(2, 1), of) for one in ((1, 0), actual))
    assert kinds_of(a, b, got, lower=False) == kinds


@pytest.mark.parametrize(
    ("actual", "kinds"),
    [(0.42857143, set[str]()), (0.42857146, {LABEL}), (0.4285715, {"accuracy"})],
)
def test_a_single_equation_by_the_reciprocal(actual: float, kinds: set[str]) -> None:
    a, b = np.array([[7]], np.float32), np.array([[3]], np.float32)
    assert kinds_of(a, b, np.array([[actual]], np.float32)) == kinds


@pytest.mark.parametrize(("divisor", "kinds"), [(1.5e308, {LABEL}), (1e100, {"wrong value"})])
def test_the_reciprocal_of_a_single_equation_underflows_in_its_type(
    divisor: float, kinds: set[str]
) -> None:
    a = np.array([[divisor]])
    assert kinds_of(a, a, np.array([[0.0]])) == kinds


@pytest.mark.parametrize(("first", "kinds"), [(0.0, {LABEL}), (0.5, {"wrong value"})])
def test_substitution_multiplies_by_reciprocals_that_underflow(
    first: float, kinds: set[str]
) -> None:
    a = np.broadcast_to(np.array([[1.5e308, 0], [0.5, 2]]), (9, 2, 2)).copy()
    b = np.broadcast_to(np.array([[1.5e308], [3]]), (9, 2, 1)).copy()
    found = np.array([[first], [(3 - first / 2) / 2]])
    assert kinds_of(a, b, np.broadcast_to(found, b.shape).copy()) == kinds


@pytest.mark.parametrize(("ulps", "kinds"), [(0, {LABEL}), (1, {"accuracy"})])
def test_the_reciprocal_of_a_single_equation_is_rounded_once(ulps: int, kinds: set[str]) -> None:
    """The reciprocal lies near the middle of two numbers; a wider type would round it there."""
    a = np.array([[1 - 2.0**-53]])
    b = np.array([[0.8445716497913155]])
    found = b * (1 / a) * (1 + ulps * 2.0**-52)
    assert kinds_of(a, b, found) == kinds
