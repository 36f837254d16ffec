"""Cholesky decomposition and triangular systems: against exact arithmetic and numpy; the rule."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from generators.values.shaped_values import fill_shaped
from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, element_type_of
from reference.numerics.rounding import round_to, to_float64, ulp_size
from reference.ops.linear_algebra import TRANSPOSITIONS, cholesky, coefficients, triangular_solve
from reference.unspecified.table import unspecified_elements

FACTORED, SOLVED = RULES["Cholesky decomposition"], RULES["triangular system"]
WIDE_ENOUGH = ("f16", "bf16", "f32", "f64", "complex<f32>", "complex<f64>")


def fill_values(name, shape, profile, seed=1):
    return fill_shaped(ELEMENT_TYPES[name], shape, profile, seed)


def program(op, operands, result, **given):
    names = ("a", "b")[: len(operands)]
    values = tuple(
        Value(name, TensorType(array.shape, element_type_of(array)))
        for name, array in zip(names, operands, strict=True)
    )
    return single_op(op, values, (TensorType(result.shape, element_type_of(result)),), given)


def exact_elements(array):
    """Return every element as an exact mpmath number."""
    return mpmath.matrix([
        [mpmath.mpc(float(np.real(x)), float(np.imag(x))) for x in row]
        for row in (array if array.dtype.kind in "fc" else to_float64(array))
    ])  # fmt: skip


def assert_rounded(result, want):
    """Return each part of each element is the nearest to an mpmath number, or next to it (within
    0.51).
    """
    of = element_type_of(result).part
    for index in np.ndindex(*result.shape):
        got = result[index] if result.dtype.kind in "fc" else to_float64(result)[index]
        for part in ("real", "imag"):
            exactly = getattr(mpmath.mpc(want[index]), part)
            one = np.array(float(exactly), np.float64)
            unit = max(float(ulp_size(one, of)), 2.0**-1000)
            assert abs(mpmath.mpf(float(getattr(np, part)(got))) - exactly) <= 0.51 * unit


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("name", WIDE_ENOUGH)
def test_cholesky_is_correctly_rounded(name, lower) -> None:
    with mpmath.workprec(200):
        for seed in range(3):
            a = fill_values(name, (5, 5), "definite", seed)
            want = mpmath.cholesky(exact_elements(a))  # lower triangular
            assert_rounded(cholesky(a, lower=lower), want if lower else want.H)


@pytest.mark.parametrize("name", ["f32", "complex<f64>"])
def test_batches_are_decomposed_one_by_one(name) -> None:
    a = fill_values(name, (2, 3, 4, 4), "graded")
    whole = cholesky(a, lower=True)
    for index in np.ndindex(2, 3):
        np.testing.assert_array_equal(whole[index], cholesky(a[index], lower=True))
    for shape in ((0, 0), (3, 0, 0), (0, 2, 2)):
        empty = np.zeros(shape, a.dtype)
        assert cholesky(empty, lower=False).shape == shape


def test_only_one_triangle_is_read_and_written() -> None:
    a = fill_values("f64", (4, 4), "gram")
    for lower, keep in ((True, np.tril), (False, np.triu)):
        spoiled = np.where(keep(np.ones((4, 4))) == 1, a, np.nan)
        result = cholesky(spoiled, lower=lower)
        np.testing.assert_array_equal(result, keep(result))
        np.testing.assert_array_equal(result, cholesky(a, lower=lower))


def test_gram_matrices_of_integers_are_decomposed_exactly() -> None:
    for name in ("f16", "f32", "f64", "complex<f32>"):
        result = cholesky(fill_values(name, (4, 6, 6), "gram"), lower=True)
        np.testing.assert_array_equal(result, np.rint(result.real) + 1j * np.rint(result.imag))


@pytest.mark.parametrize("name", ["f16", "f32", "f64", "complex<f32>", "complex<f64>"])
def test_unspecified_results_of_a_decomposition(name) -> None:
    good, bad = fill_values(name, (3, 3), "gram"), fill_values(name, (3, 3), "gram")
    bad[2, 1] += 1  # no longer Hermitian
    indefinite = -good
    a = np.stack([good, bad, indefinite])
    for lower, other in ((True, np.triu_indices(3, 1)), (False, np.tril_indices(3, -1))):
        result = cholesky(a, lower=lower)
        made = program("cholesky", (a,), result, lower=lower)
        found = dict(unspecified_elements(made.main.body.operations[0], (a,), result))
        undefined = found["not Hermitian positive definite"]
        assert undefined.all(axis=(1, 2)).tolist() == [False, True, True]
        assert not undefined[0].any()
        triangle = found["the other triangle"]
        assert triangle[0][other].all()
        assert int(triangle.sum()) == 9


def solve_exactly(a, b, **given):
    """Return the solution in rational arithmetic, straight from the specification's text."""
    size = a.shape[-1]
    keep = [[(i >= j) if given["lower"] else (i <= j) for j in range(size)] for i in range(size)]
    t = [[Fraction(float(a[i, j])) if keep[i][j] else Fraction(0) for j in range(size)] for i in range(size)]  # fmt: skip # noqa: E501
    if given["unit_diagonal"]:
        for i in range(size):
            t[i][i] = Fraction(1)
    if given["transpose_a"] != "NO_TRANSPOSE":
        t = [list(row) for row in zip(*t, strict=True)]
    right = [[Fraction(float(x)) for x in row] for row in b]
    if not given["left_side"]:
        t, right = [list(r) for r in zip(*t, strict=True)], [list(r) for r in zip(*right, strict=True)]  # fmt: skip # noqa: E501
    # Gauss and Jordan, on any matrix
    rows = [t[i] + right[i] for i in range(size)]
    for i in range(size):
        pivot = next(k for k in range(i, size) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(size):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    found = np.array([[float(x) for x in row[size:]] for row in rows])
    return found if given["left_side"] else found.T


EVERY_WAY = [
    {"left_side": left, "lower": lower, "unit_diagonal": unit, "transpose_a": transpose}
    for left in (True, False)
    for lower in (True, False)
    for unit in (True, False)
    for transpose in TRANSPOSITIONS
]


@pytest.mark.parametrize("given", EVERY_WAY, ids=lambda given: "-".join(map(str, given.values())))
def test_systems_are_solved_exactly_but_for_one_rounding(given) -> None:
    a = fill_values("f32", (4, 4), "triangular")
    b = fill_values("f32", (4, 3) if given["left_side"] else (3, 4), "within:-8:8")
    result = triangular_solve(a, b, **given)
    np.testing.assert_array_equal(result, solve_exactly(a, b, **given).astype(np.float32))


@pytest.mark.parametrize("given", EVERY_WAY, ids=lambda given: "-".join(map(str, given.values())))
def test_complex_systems(given) -> None:
    """Put into the equation of the specification's text, a solution gives the right-hand side."""
    a = fill_values("complex<f64>", (2, 5, 5), "triangular").astype(np.clongdouble)
    shape = (2, 5, 2) if given["left_side"] else (2, 2, 5)
    b = fill_values("complex<f64>", shape, "within:-8:8")
    x = triangular_solve(a.astype(np.complex128), b, **given).astype(np.clongdouble)
    t = np.tril(a) if given["lower"] else np.triu(a)
    if given["unit_diagonal"]:
        t[:, np.arange(5), np.arange(5)] = 1
    if given["transpose_a"] != "NO_TRANSPOSE":
        t = np.swapaxes(t, -1, -2)
    if given["transpose_a"] == "ADJOINT":
        t = np.conj(t)
    left, right = (t, x) if given["left_side"] else (x, t)
    assert (np.abs(left @ right - b) <= 2.0**-52 * (np.abs(left) @ np.abs(right))).all()


def test_unspecified_results_of_a_system() -> None:
    given = EVERY_WAY[3] | {"unit_diagonal": True}
    a, b = (
        fill_values("f32", (2, 3, 3), "unit_diagonal"),
        fill_values("f32", (2, 3, 2), "within:1:8"),
    )
    a[1, 2, 2] = 3
    result = triangular_solve(a, b, **given)
    made = program("triangular_solve", (a, b), result, **given).main.body.operations[0]
    found = dict(unspecified_elements(made, (a, b), result))
    assert found["diagonal not of ones"].all(axis=(1, 2)).tolist() == [False, True]
    given["unit_diagonal"] = False
    a[0, 1, 1] = 0
    result = triangular_solve(a, b, **given)
    made = program("triangular_solve", (a, b), result, **given).main.body.operations[0]
    found = dict(unspecified_elements(made, (a, b), result))
    assert found["singular matrix"].all(axis=(1, 2)).tolist() == [True, False]


@pytest.mark.parametrize("given", EVERY_WAY, ids=lambda given: "-".join(map(str, given.values())))
def test_results_after_a_step_beyond_the_largest_number_are_unspecified(given) -> None:
    """Only in types without infinities, and only results after the overflow, by order of steps."""
    a = np.broadcast_to(np.eye(4), (4, 4)) + 0.5 * (1 - np.eye(4))
    numbers = np.array([[1.0, 1, -7, 1], [0.5, 0.25, 1, 0.5]])  # the third of them is too large
    below = given["lower"] == (given["transpose_a"] == "NO_TRANSPOSE")
    below = below if given["left_side"] else not below
    if not below:
        numbers = numbers[:, ::-1]
    b = numbers.T if given["left_side"] else numbers
    for name, opens in (("f6E2M3FN", True), ("f16", False)):
        operands = [one.astype(ELEMENT_TYPES[name].storage) for one in (a, b)]
        result = triangular_solve(*operands, **given)
        made = program("triangular_solve", operands, result, **given).main.body.operations[0]
        mask = dict(unspecified_elements(made, operands, result)).get(
            "steps beyond the largest number"
        )
        if not opens:
            assert mask is None
            continue
        order = mask.T if given["left_side"] else mask
        order = order if below else order[:, ::-1]
        assert order.tolist() == [[False, False, True, True], [False] * 4]


def test_the_other_triangle_is_unspecified_only_if_the_solution_is_triangular() -> None:
    given = {
        "left_side": True, "lower": True, "unit_diagonal": False, "transpose_a": "NO_TRANSPOSE",
    }  # fmt: skip
    a = fill_values("f32", (3, 3), "triangular")
    for b, count in ((np.eye(3), 3), (np.ones((3, 3)), 0), (np.ones((3, 2)), 0)):
        b = b.astype(np.float32)
        result = triangular_solve(a, b, **given)
        made = program("triangular_solve", (a, b), result, **given).main.body.operations[0]
        masks = [mask for _, mask in unspecified_elements(made, (a, b), result)]
        assert int(sum(mask.sum() for mask in masks)) == count


def verdict(made, operands, actual, rule):
    return judge(made, operands, evaluate(made, operands), (actual,), rule).verdict


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("name", ["f32", "f64", "complex<f32>"])
def test_decompositions_in_the_type_itself_are_within_the_rule(name, lower) -> None:
    """numpy's, and those with one element wrong are not."""
    for seed, profile in enumerate(("definite", "graded", "gram", "definite")):
        a = fill_values(name, (8, 8), profile, seed)
        keep = np.tril if lower else np.triu
        narrow = keep(np.linalg.cholesky(a, upper=not lower))  # LAPACK, in the type
        made = program("cholesky", (a,), narrow, lower=lower)
        assert verdict(made, (a,), narrow, FACTORED) is Verdict.PASS
        index = (5, 2) if lower else (2, 5)
        narrow[index] += np.asarray(1 + abs(narrow[index]), narrow.dtype) / 128
        assert verdict(made, (a,), narrow, FACTORED) is Verdict.DIVERGENT
        narrow[index[::-1]] = np.nan  # implementation-defined
        narrow[index] = evaluate(made, (a,))[0][index]
        assert verdict(made, (a,), narrow, FACTORED) is Verdict.UNSPECIFIED


def test_slightly_wrong_decompositions_are_inaccurate() -> None:
    a = fill_values("f32", (4, 4), "definite")
    made = program("cholesky", (a,), a, lower=True)
    off = evaluate(made, (a,))[0] * np.float32(1 + 2.0**-18)
    judgement = judge(made, (a,), evaluate(made, (a,)), (off,), FACTORED)
    assert judgement.verdict is Verdict.INACCURATE
    assert judgement.worst_ulp is not None
    assert 1 < judgement.worst_ulp < 64


def test_a_root_is_rounded_once() -> None:
    """A product with a reciprocal is rounded twice."""
    b = np.arange(1, 1000, dtype=np.float32).reshape(-1, 1, 1)
    made = program("cholesky", (b,), b, lower=True)
    (right,) = evaluate(made, (b,))
    assert verdict(made, (b,), right, FACTORED) is Verdict.PASS
    far = b * (1 / np.sqrt(b))
    found = judge(made, (b,), (right,), (far,), FACTORED)
    assert (found.verdict, found.kind) == (Verdict.INACCURATE, "accuracy")


def test_an_unknown_that_overflows_is_the_only_wrong_one() -> None:
    a = np.array([[1, 1, 2, 1], [0, 1, 3, 1], [0, 0, 2, 1], [0, 0, 0, 1]], np.float32)
    b = np.array([[3, 2, 1, 5]], np.float32)
    given = {
        "left_side": False, "lower": False, "unit_diagonal": False, "transpose_a": "NO_TRANSPOSE",
    }  # fmt: skip
    made = program("triangular_solve", (a, b), b, **given)
    (right,) = evaluate(made, (a, b))
    near = right + np.float32(2**-23)  # substitution's own roundings: not to be blamed
    assert verdict(made, (a, b), near, SOLVED) is Verdict.PASS
    near[0, 2] = np.inf
    found = judge(made, (a, b), (right,), (near,), SOLVED)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "infinity")
    assert found.message.startswith("infinity: 1 of 4 elements is wrong; at [0, 2]")


def test_underflow_is_gradual() -> None:
    """A product under the smallest normal number that is lost is wrong."""
    a = np.array([[1, 0], [1e-20, 1]], np.float32)
    b = np.array([[1e-20], [1e-37]], np.float32)
    given = {
        "left_side": True, "lower": True, "unit_diagonal": True, "transpose_a": "NO_TRANSPOSE",
    }  # fmt: skip
    made = program("triangular_solve", (a, b), b, **given)
    (right,) = evaluate(made, (a, b))
    assert (right != b).any()  # 1e-37 - 1e-40
    found = judge(made, (a, b), (right,), (b,), SOLVED)
    assert found.verdict.fails
    a = np.array([[1, 1e-20], [1e-20, 1e-37]], np.float32)
    made = program("cholesky", (a,), a, lower=True)
    (right,) = evaluate(made, (a,))
    lost = right.copy()
    lost[1, 1] = np.sqrt(np.float32(1e-37))
    found = judge(made, (a,), (right,), (lost,), FACTORED)
    assert found.verdict.fails


def test_nan_factor_is_permitted_only_if_rounding_may_cause_it() -> None:
    nan = np.full((10, 10), np.nan, np.float32)
    hilbert = fill_values("f32", (10, 10), "hilbert").astype(np.float64)
    near = (hilbert + np.eye(10) * 2.0**-22).astype(np.float32)  # definite, by little
    far = fill_values("f32", (10, 10), "definite")
    for a, want in ((near, Verdict.UNSPECIFIED), (far, Verdict.DIVERGENT)):
        made = program("cholesky", (a,), a, lower=True)
        assert verdict(made, (a,), nan, FACTORED) is want  # the other triangle is open anyway


def test_results_before_a_breakdown_are_judged() -> None:
    """The last element of the diagonal has no part in the equations of the others."""
    a = np.array([[8, 5, 4], [5, 4, 3], [4, 3, 2.5]]).astype(ELEMENT_TYPES["f8E5M2"].storage) / 16
    actual = np.array([[0.625, 0, 0], [0.4375, 0.25, 0], [0.3125, 0.25, np.nan]]).astype(a.dtype)
    made = program("cholesky", (a,), a, lower=True)
    assert verdict(made, (a,), actual, FACTORED) is Verdict.PASS
    actual[1, 0] = np.nan
    judgement = judge(made, (a,), evaluate(made, (a,)), (actual,), FACTORED)
    assert judgement.verdict is Verdict.DIVERGENT


@pytest.mark.parametrize("given", EVERY_WAY[::3])
@pytest.mark.parametrize("name", ["f32", "f64", "complex<f32>", "complex<f64>"])
def test_substitution_in_the_type_itself_is_within_the_rule(name, given) -> None:
    a = fill_values(name, (12, 12), "unit_diagonal" if given["unit_diagonal"] else "triangular")
    b = fill_values(name, (12, 12), "within:-8:8")
    made = program("triangular_solve", (a, b), b, **given)
    t, below = coefficients(a, **given)
    right = b if given["left_side"] else b.T
    narrow = np.zeros_like(right)
    for i in range(12) if below else reversed(range(12)):
        narrow[i] = (right[i] - t[i] @ narrow) / t[i, i]
    narrow = narrow if given["left_side"] else narrow.T.copy()
    assert verdict(made, (a, b), narrow, SOLVED) is Verdict.PASS
    narrow[7, 3] *= 1 + 2.0**-8
    assert verdict(made, (a, b), narrow, SOLVED) is Verdict.DIVERGENT


def test_a_forward_error_is_no_backward_error() -> None:
    """On an ill-conditioned system a good solution is far from the exact solution."""
    size = 40
    a = (np.eye(size) - np.triu(np.ones((size, size)), 1)).astype(np.float32)
    b = (np.arange(size * 1.0)[:, None] / 7).astype(np.float32)
    given = {
        "left_side": True, "lower": False, "unit_diagonal": True, "transpose_a": "NO_TRANSPOSE",
    }  # fmt: skip
    made = program("triangular_solve", (a, b), b, **given)
    narrow = np.zeros_like(b)
    for i in reversed(range(size)):
        narrow[i] = b[i] - a[i, i + 1 :] @ narrow[i + 1 :]
    exactly = evaluate(made, (a, b))[0]
    assert not np.array_equal(narrow, exactly)
    assert verdict(made, (a, b), narrow, SOLVED) is Verdict.PASS


def test_profiles_of_matrices() -> None:
    for name in WIDE_ENOUGH:
        for profile in ("definite", "gram", "graded"):
            a = fill_values(name, (2, 4, 4), profile)
            np.testing.assert_array_equal(a, np.conj(np.swapaxes(a, -1, -2)))
            factor = cholesky(a, lower=True)
            finite = np.isfinite(np.real(factor).astype(np.float64))
            assert finite.all(), (name, profile)
    a = to_float64(fill_values("f32", (3, 3), "hilbert", 4))
    np.testing.assert_array_equal(a, to_float64(round_to(a, ELEMENT_TYPES["f32"])))
    ones = np.diagonal(fill_values("f16", (2, 3, 3), "unit_diagonal"), axis1=-2, axis2=-1)
    assert (ones == 1).all()
    assert (np.triu(fill_values("f32", (5, 5), "lower_triangular"), 1) == 0).all()
    graded = np.abs(fill_values("f64", (6, 6), "graded_triangular"))
    assert math.log2(graded.max() / graded[graded > 0].min()) > 6
