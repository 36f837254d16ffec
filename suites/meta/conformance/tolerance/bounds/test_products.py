"""Sums of products: their bounds by hardware, stored sparse matrices, and underflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.judging.judgement import Judgement
from conformance.tolerance.bounds.contraction import CONTRACTED, contraction_sums, depth_of
from conformance.tolerance.bounds.convolution import (
    CONVOLVED,
    convolution_sums,
    geometry_of,
)
from conformance.tolerance.bounds.products import (
    DefaultPrecision,
    default_precision,
    make_bound,
    make_flush_loss,
    make_measure,
    precision_of,
)
from conformance.tolerance.bounds.scaled import SCALED
from conformance.tolerance.bounds.sparse import STORED
from conformance.tolerance.bounds.underflow import has_flushing_modes
from conformance.verdict import Verdict
from generators.cells import plan
from generators.families.reduction import padding_of
from generators.values.contents import materialise
from reference.custom_calls.sparse import CSR
from reference.custom_calls.targets import call_built_in
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ir.types import Array, element_type, element_type_of
from reference.numerics.products import unrounded_products
from reference.ops.xla.contraction import DotDimensionNumbers
from suites.meta.support.ops.contractions import (
    BF16,
    F32,
    ONE_SPATIAL,
    dot_general,
    old_op_program,
    operation_of,
)
from suites.meta.support.small_programs import array, op_program, tensor_of


def judge_result(
    lhs: Array, rhs: Array, actual: Array, *, platform: str = "cpu", **given: Any
) -> Judgement:
    program, expected = dot_general(lhs, rhs, element_type_of(actual), **given)
    inputs, results = (lhs, rhs), (expected,)
    return judge(program, inputs, results, (actual,), CONTRACTED, platform=platform)


def verdict(lhs: Array, rhs: Array, actual: Array, **given: Any) -> Verdict:
    return judge_result(lhs, rhs, actual, **given).verdict


def _normal(seed: int, depth: int = 300) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    return (
        random.normal(size=(20, depth)).astype(np.float32),
        random.normal(size=(depth, 20)).astype(np.float32),
    )


def _cut(array: Array, bits: int) -> Array:
    """Return rounded to so many significant bits."""
    mantissa, exponent = np.frexp(array)
    return np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits).astype(array.dtype)


def test_sums_in_the_type_itself_pass() -> None:
    lhs, rhs = _normal(1)
    assert verdict(lhs, rhs, lhs @ rhs) is Verdict.PASS
    forward = np.add.accumulate(lhs[:, :, None] * rhs[None], axis=1, dtype=np.float32)[:, -1]
    assert verdict(lhs, rhs, forward) is Verdict.PASS
    half = (lhs @ rhs).astype(BF16.storage)
    assert verdict(lhs, rhs, half) is Verdict.PASS


def test_sums_in_less_do_not() -> None:
    lhs, rhs = _normal(2, 30)
    exact_sums = lhs.astype(float) @ rhs
    assert verdict(lhs, rhs, _cut(exact_sums, 14).astype(np.float32)) is not Verdict.PASS
    assert verdict(lhs, rhs, (_cut(lhs, 8) @ _cut(rhs, 8))) is not Verdict.PASS
    near = dot_general(lhs, rhs)[1]
    lost = near - lhs[:, :1] * rhs[:1]  # the first term
    assert verdict(lhs, rhs, lost) is not Verdict.PASS


@pytest.mark.parametrize(
    ("platform", "bits", "config", "passes"),
    [
        ("gpu", 11, "DEFAULT", True), ("gpu", 11, "HIGHEST", False), ("gpu", 8, "DEFAULT", False),
        ("tpu", 8, "DEFAULT", True), ("tpu", 8, "HIGH", False), ("tpu", 16, "HIGH", True),
        ("cpu", 11, "DEFAULT", False),
    ],
)  # fmt: skip
def test_platforms_round_operands_by_default(
    platform: str, bits: int, config: str, passes: bool
) -> None:
    lhs, rhs = _normal(3, 30)
    actual = _cut(lhs, bits) @ _cut(rhs, bits)
    given: dict[str, Any] = {"precision_config": (config, config)}
    assert (verdict(lhs, rhs, actual, platform=platform, **given) is Verdict.PASS) is passes


@pytest.mark.parametrize(
    ("precision", "operations", "bits", "passes"),
    [("tf32", 1, 11, True), ("bf16", 1, 8, True), ("tf32", 1, 8, False), ("bf16", 3, 16, True),
     ("bf16", 3, 8, False), ("f32", 1, 11, False), ("tf32", 1, 24, False), ("bf16", 1, 24, False),
     ("bf16", 1, 11, False), ("f32", 1, 24, True)],
)  # fmt: skip
def test_algorithms_say_how_operands_are_rounded(
    precision: str, operations: int, bits: int, passes: bool
) -> None:
    lhs, rhs = _normal(5, 30)
    given: dict[str, Any] = {
        "lhs_precision_type": precision, "rhs_precision_type": precision,
        "accumulation_type": "f32", "lhs_component_count": 1, "rhs_component_count": 1,
        "num_primitive_operations": operations, "allow_imprecise_accumulation": False,
    }  # fmt: skip
    actual = _cut(lhs, bits) @ _cut(rhs, bits)
    assert (verdict(lhs, rhs, actual, **given) is Verdict.PASS) is passes


@pytest.mark.parametrize(
    ("precision", "of", "accumulation"),
    [
        ("bf16", "f32", np.float32), ("bf16", "f32", np.float64), ("tf32", "f32", np.float32),
        ("bf16", "f64", np.float32), ("bf16", "f64", np.float64),
    ],
)  # fmt: skip
def test_operands_not_rounded_as_the_algorithm_states_fail(
    precision: str, of: str, accumulation: type
) -> None:
    lhs, rhs = (one.astype(TYPES[of].storage) / 3 for one in _normal(7, 30))
    actual = (lhs.astype(accumulation) @ rhs.astype(accumulation)).astype(lhs.dtype)
    given: dict[str, Any] = {
        "lhs_precision_type": precision, "rhs_precision_type": precision,
        "accumulation_type": "f32", "lhs_component_count": 1, "rhs_component_count": 1,
        "num_primitive_operations": 1, "allow_imprecise_accumulation": False,
    }  # fmt: skip
    found = judge_result(lhs, rhs, actual, **given)
    assert found.verdict.fails


def test_sums_no_better_than_without_the_stated_algorithm_fail() -> None:
    """Their exact sum is 9.0017, which is 10 in f8E5M2; rounded to 9 on the way it is 8."""
    of = TYPES["f8E5M2"].storage
    lhs = np.array([[-0.75, -1, -1, -0.875, -1, 1.75]]).astype(of)
    rhs = np.array([[0.02734375, -96, 80, -0.013671875, 7, 0.005859375]]).T.astype(of)
    given: dict[str, Any] = {
        "lhs_precision_type": "f8E5M2", "rhs_precision_type": "f8E5M2",
        "accumulation_type": "f32", "lhs_component_count": 1, "rhs_component_count": 1,
        "num_primitive_operations": 1, "allow_imprecise_accumulation": False,
    }  # fmt: skip
    for result, kind in ((10, ""), (8, "wrong value"), (-8, "wrong value")):
        found = judge_result(lhs, rhs, np.array([[result]]).astype(of), **given)
        assert found.kind == kind
    assert verdict(lhs, rhs, np.array([[8]]).astype(of)) is Verdict.PASS


@pytest.mark.parametrize("name", ["bf16", "f32"])
def test_sums_kept_in_bf16_fail(name: str) -> None:
    """256 and twenty ones: rounded to bf16 at each step they stay 256. No sum is lost by that."""
    of = TYPES[name].storage
    lhs, rhs = np.ones((1, 21)).astype(of), np.ones((21, 1)).astype(of)
    lhs[0, 0] = 256
    assert judge_result(lhs, rhs, np.array([[276]]).astype(of)).verdict is Verdict.PASS
    for wrong in (256, 0, -256, 512):
        assert judge_result(lhs, rhs, np.array([[wrong]]).astype(of)).verdict.fails


@pytest.mark.parametrize("platform", ["cpu", "gpu", "tpu"])
def test_exact_data_must_have_exact_results(platform: str) -> None:
    random = np.random.default_rng(6)
    lhs, rhs = random.integers(-8, 9, (2, 30, 30)).astype(np.float32)
    right = lhs @ rhs
    assert verdict(lhs, rhs, right, platform=platform) is Verdict.PASS
    wrong = right.copy()
    wrong[3, 4] = np.nextafter(wrong[3, 4], np.float32(np.inf))
    assert verdict(lhs, rhs, wrong, platform=platform) is Verdict.DIVERGENT


def test_a_sum_of_zeros_is_zero() -> None:
    lhs, rhs = np.zeros((2, 9), np.float32), _normal(8, 9)[1]
    assert verdict(lhs, rhs, np.full((2, 20), -0.0, np.float32)) is Verdict.DIVERGENT
    assert verdict(lhs, rhs, np.full((2, 20), 1e-30, np.float32)) is Verdict.DIVERGENT


def test_intermediate_and_final_overflow() -> None:
    large = np.float32(3e38)
    lhs, rhs = np.array([[large, large, -large, -large]]), np.full((4, 1), 1.5, np.float32)
    for got in (0.0, np.inf, -np.inf, np.nan):
        assert verdict(lhs, rhs, np.array([[got]], np.float32)) is Verdict.PASS
    one = np.ones((4, 1), np.float32) / 8
    assert verdict(lhs, one, np.array([[np.inf]], np.float32)) is not Verdict.PASS
    nans = np.full((1, 4), np.nan, np.float32)
    assert verdict(nans, rhs, np.array([[np.inf]], np.float32)) is not Verdict.PASS
    top = np.float32(np.finfo(np.float32).max)
    pair, both = np.array([[top, top * np.float32(2**-25)]]), np.ones((2, 1), np.float32)
    assert verdict(pair, both, np.array([[np.inf]], np.float32)) is Verdict.PASS


def test_underflow_is_gradual() -> None:
    """Products and operands that are lost because they are subnormal: flushed, not right."""
    tiny, zero = np.full((1, 3), 1e-20, np.float32), np.zeros((1, 1), np.float32)
    found = judge_result(tiny, tiny.T.copy(), zero)  # three products of 1e-40
    assert (found.verdict, found.kind) == (Verdict.FLUSHED, "flushed")
    many = np.full((1, 300), 1e-20, np.float32)  # whose sum is a normal number
    found = judge_result(many, many.T.copy(), zero)
    assert found.verdict is Verdict.DIVERGENT
    # a product under the smallest number of all is 0 by rounding
    least = np.full((1, 3), 1e-25, np.float32)
    assert judge_result(least, least.T.copy(), zero).verdict is Verdict.PASS
    subnormal, ten = np.full((1, 3), 1e-40, np.float32), np.full((3, 1), 1e10, np.float32)
    found = judge_result(subnormal, ten, zero)
    assert (found.verdict, found.kind) == (Verdict.FLUSHED, "flushed")
    mixed = np.array([[1e-40, 1e-36, 1e-40]], np.float32)
    only = (mixed[:, 1:2].astype(np.float64) * 1e10).astype(np.float32)
    assert judge_result(mixed, ten, only).verdict is Verdict.FLUSHED
    assert verdict(subnormal, ten, np.full((1, 1), 1e-29, np.float32)) is Verdict.DIVERGENT


def test_narrow_types_may_add_up_in_f16() -> None:
    """0.5 + 2^-12 is 0.5 in f16, and a tie in f8E4M3FN would then go the other way."""
    of = TYPES["f8E4M3FN"].storage
    lhs = np.array([[1.0, 0.0625, 0.001953125]]).astype(of)
    rhs = np.array([[1.0], [1.0], [0.125]]).astype(of)
    assert verdict(lhs, rhs, np.array([[1.0]]).astype(of)) is Verdict.PASS
    assert verdict(lhs, rhs, np.array([[1.125]]).astype(of)) is Verdict.PASS
    assert verdict(lhs, rhs, np.array([[1.25]]).astype(of)) is not Verdict.PASS


def test_complex_sums() -> None:
    random = np.random.default_rng(9)
    parts = random.normal(size=(4, 12, 12))
    lhs, rhs = (parts[0] + 1j * parts[1]).astype("c8"), (parts[2] + 1j * parts[3]).astype("c8")
    assert verdict(lhs, rhs, lhs @ rhs) is Verdict.PASS
    assert verdict(lhs, rhs, (lhs @ rhs.conj())) is not Verdict.PASS


def test_exceptions_of_complex_products_are_unspecified() -> None:
    """Exceptions of `multiply` are unspecified, too; other sums of the result are specified."""
    lhs = np.array([[1, 2], [1j, complex(3, np.inf)], [1e20, -1e20]], np.complex64)
    rhs = np.array([[1, 0], [0, 1]], np.complex64)
    (expected,) = evaluate(dot_general(lhs, rhs)[0], (lhs, rhs))
    assert np.imag(expected)[1, 1] == np.inf
    other = expected.copy()
    other[1, 1] = complex(np.nan, np.nan)
    found = judge_result(lhs, rhs, other)
    assert (found.verdict, found.kind) == (Verdict.UNSPECIFIED, "exception in complex arithmetic")
    other[0, 0] += 1
    assert judge_result(lhs, rhs, other).verdict is Verdict.DIVERGENT
    many, few = np.full((1, 4), 5e37, np.complex64), np.array([[1, -1, 1, -1]], np.complex64).T
    assert judge_result(many, few, np.array([[np.nan]], np.complex64)).verdict is Verdict.DIVERGENT


def test_old_ops_have_the_same_rule() -> None:
    lhs, rhs = _normal(10, 40)
    for op, given in (("dot", {}), ("einsum", {"einsum_config": "ij,jk->ik"})):
        program = old_op_program(op, lhs, rhs, shape=(20, 20), **given)
        expected = evaluate(program, (lhs, rhs))
        good = judge(program, (lhs, rhs), expected, (lhs @ rhs,), CONTRACTED)
        assert good.verdict is Verdict.PASS
        bad = judge(program, (lhs, rhs), expected, (_cut(lhs, 11) @ rhs,), CONTRACTED)
        assert bad.verdict is not Verdict.PASS


def test_a_reference_that_sums_otherwise_never_alarms() -> None:
    """Sums in f32 one after another, on every kind of contents that cases have."""
    seen = 0
    for number in range(80):
        case = plan.case("dot_general", F32, 12, number)
        operation = operation_of(case.program)
        if operation.attribute("accumulation_type") or any(
            one.name == "constant" for one in case.program.main.body.operations
        ):
            continue
        lhs, rhs = materialise(case.program, case.inputs[0])
        expected = evaluate(case.program, (lhs, rhs))
        if expected[0].dtype != np.float32:
            continue
        given = dict(operation.attributes)
        with np.errstate(all="ignore"):
            actual = _sum_in_order(lhs, rhs, given).reshape(expected[0].shape)
        judgement = judge(case.program, (lhs, rhs), expected, (actual,), CONTRACTED)
        assert judgement.verdict is Verdict.PASS, (number, judgement.message)
        seen += 1
    assert seen >= 10


def _sum_in_order(lhs: Array, rhs: Array, given: dict[str, Any]) -> Array:
    from reference.ops.contraction import Dimensions, arrange_matrices

    of = Dimensions(*(
        given[f"{side}_{part}_dimensions"] for part in ("batching", "contracting")
        for side in ("lhs", "rhs")
    ))  # fmt: skip
    a, b, _ = arrange_matrices(lhs, rhs, of)
    a, b = a.astype(np.float32), b.astype(np.float32)
    total = np.zeros((*a.shape[:-1], b.shape[-1]), np.float32)
    for depth in range(a.shape[-1]):
        total = total + a[..., :, depth, None] * b[..., depth, None, :]
    return total


OF_DOT = contraction_sums, depth_of
U = 2.0**-24


@pytest.mark.parametrize(("ulps", "within"), [(4, True), (6, False)])
def test_bound_of_four_products_is_five_roundings(ulps: int, within: bool) -> None:
    """u |e| + gamma(4) S with e = S (Higham, 3.1 and 3.5); e is 7.4, its ulp 8 u."""
    lhs, rhs = np.array([[1.1, 1.2, 1.3, 1.4]], np.float32), np.full((4, 1), 1.48, np.float32)
    program, expected = dot_general(lhs, rhs)
    exact = float(lhs.astype(np.float64).sum() * float(rhs[0, 0]))
    given = program.subject, (lhs, rhs), (expected,)
    (bound,) = make_bound(*OF_DOT, DefaultPrecision())(*given)
    off = abs(float(expected.item()) - exact)
    assert bound is not None
    assert float(bound.item()) == pytest.approx(5 * U * exact + off, rel=1e-5)
    moved = expected + np.float32(ulps * 8 * U)
    (units,) = make_measure(*OF_DOT, DefaultPrecision())(*given, (moved,))
    error = float(moved.item()) - exact
    assert units.item() == pytest.approx(error / (5 * U * exact), rel=1e-5)
    assert bool(units.item() <= 1) is within


def test_flushed_products_are_lost_whole() -> None:
    """1e-20 * 1e-20 is under 2^-126; in f16 nothing is flushed, and small integers are exact."""
    tiny = np.full((1, 2), 1e-20, np.float32)
    program, expected = dot_general(tiny, tiny.T)
    loss = make_flush_loss(*OF_DOT, DefaultPrecision())
    (lost,) = loss(program.subject, (tiny, tiny.T), (expected,))
    assert lost is not None
    assert float(lost.item()) == pytest.approx(2e-40, rel=1e-6)
    for type_ in (np.float16, np.float32):
        ones = np.ones((1, 2), type_)
        program, expected = dot_general(ones, ones.T)
        assert loss(program.subject, (ones, ones.T), (expected,)) == (None,)


INDPTR, INDICES = np.array([0, 40, 100], np.int32), np.arange(100, dtype=np.int32) % 50

PRODUCT = op_program(
    "custom_call",
    [tensor_of(100), tensor_of(3, of="si32"), tensor_of(100, of="si32"), tensor_of(50)],
    tensor_of(2),
    call_target_name=CSR,
).subject


def errors(operation: Operation, values: Array, dense: Array, actual: Array) -> list[float]:
    operands = (values, INDPTR, INDICES, dense)
    expected = call_built_in(CSR, operands, {})
    assert STORED.measure is not None
    return STORED.measure(operation, operands, expected, (actual,))[0].tolist()


def test_sums_in_any_order_are_permitted_and_others_are_not() -> None:
    random = np.random.default_rng(1)
    values, dense = array(random.normal(size=100), "f32"), array(random.normal(size=50), "f32")
    products = values * dense[INDICES]
    rows = (products[:40], products[40:])
    for order in (slice(None), slice(None, None, -1)):
        sums = array([np.cumsum(row[order])[-1] for row in rows], "f32")
        assert max(errors(PRODUCT, values, dense, sums)) <= 1
    first = array([products[1:40].sum(), products[40:].sum()], "f32")
    assert [error > 1 for error in errors(PRODUCT, values, dense, first)] == [True, False]


def test_sums_of_integers_are_exact() -> None:
    values, dense = array(np.arange(100.0), "f32"), array(np.ones(50), "f32")
    exact = array([np.arange(40).sum(), np.arange(40, 100).sum()], "f32")
    assert errors(PRODUCT, values, dense, exact) == [0, 0]
    assert errors(PRODUCT, values, dense, np.nextafter(exact, array(np.inf, "f32")))[0] > 1


U_BF16 = 2.0**-8
"""Unit roundoff of bf16."""

SCALE_ONE = array([[1.0]], "bf16")
ROW, COLUMN = array([[1.0, 3.0]], "f16"), array([[2.0], [5.0]], "f16")


def scaled_dot(*operands: Array, to: str = "f32") -> Operation:
    types = [tensor_of(*operand.shape, of=element_type_of(operand).name) for operand in operands]
    given: dict[str, Any] = {"dimension_numbers": DotDimensionNumbers((1,), (0,))}
    return op_program(
        "ScaledDot", types, tensor_of(1, 1, of=to), preferred_element_type=to, **given
    ).subject


@pytest.mark.parametrize(("scale", "bound"), [(1.0, 0.0), (257.0, 2 * U_BF16 * 17 * 257)])
def test_exact_data_has_no_error_and_a_rounded_scale_its_own(scale: float, bound: float) -> None:
    """1 * 2 + 3 * 5 is 17. Errors of the sum in f32 are 2^-16 of the scale's error."""
    operands = ROW, array([[scale]], "f16"), COLUMN, SCALE_ONE
    expected = np.full((1, 1), 17 * scale, np.float32)
    assert SCALED.bound is not None
    (found,) = SCALED.bound(scaled_dot(*operands), operands, (expected,))
    assert found is not None
    assert float(found.item()) == pytest.approx(bound, rel=2.0**-13)


@pytest.mark.parametrize(("first", "free"), [(1e-3, False), (2.0**-70, True)])
def test_a_factor_that_bf16_flushes_gives_a_zero_of_either_sign(first: float, free: bool) -> None:
    """2^-70 times a scale of 2^-60 is under 2^-126, the smallest normal number of bf16."""
    scale = array([[2.0**-60 if free else 1.0]], "bf16")
    operands = array([[first, 0.0]], "bf16"), scale, array([[0.0], [1.0]], "bf16"), SCALE_ONE
    assert SCALED.either_zero is not None
    expected = (np.zeros((1, 1), np.float32),)
    (found,) = SCALED.either_zero(scaled_dot(*operands), operands, expected)
    assert (found is not None and bool(found.item())) is free


IMAGE = array([1.0, -2.0, 3.0]).reshape(1, 3, 1)
KERNEL = array([10.0, -1.0]).reshape(2, 1, 1)


def convolution(lhs: Array, kernel: Array, size: int, **given: Any) -> Operation:
    """Return a convolution along one dimension; unless given, the padding is (1, 0)."""
    attributes: dict[str, Any] = {"padding": padding_of(((1, 0),)), **ONE_SPATIAL, **given}
    types = tensor_of(*lhs.shape), tensor_of(*kernel.shape)
    result = tensor_of(lhs.shape[0], size, kernel.shape[2])
    return op_program("convolution", types, result, **attributes).subject


def test_padding_of_a_dynamic_convolution_is_an_operand() -> None:
    types = tensor_of(1, 3, 1), tensor_of(2, 1, 1), tensor_of(1, 2, of="si32")
    operation = op_program("dynamic_conv", types, tensor_of(1, 7, 1), **ONE_SPATIAL).subject
    padding = np.array([[2, 3]], np.int32)
    assert geometry_of(operation, (IMAGE, KERNEL, padding)).padding == ((2, 3),)
    sums = convolution_sums(operation, (IMAGE, KERNEL, padding), unrounded_products)
    assert sums.ravel().tolist() == [0, -1, 12, -23, 30, 0, 0]


@pytest.mark.parametrize(("ulps", "within"), [(3, True), (5, False)])
def test_bound_is_that_of_a_sum_of_two_products(ulps: int, within: bool) -> None:
    """Higham, 3.1 and 3.5: u |e| + gamma(2) S. 2 e = 2 S here, so the bound is 3 u S, and the sum
    is just above a power of two: an ulp is nearly 2 u S.
    """
    lhs, kernel = array([1.1, 1.1]).reshape(1, 2, 1), array([0.95, 0.95]).reshape(2, 1, 1)
    operation = convolution(lhs, kernel, 1, padding=padding_of(((0, 0),)))
    exact = 2 * float(lhs[0, 0, 0]) * float(kernel[0, 0, 0])
    expected = np.full((1, 1, 1), exact, np.float32)
    assert CONVOLVED.bound is not None
    assert CONVOLVED.measure is not None
    (bound,) = CONVOLVED.bound(operation, (lhs, kernel), (expected,))
    assert bound is not None
    off = abs(float(expected.item()) - exact)
    assert float(bound.item()) == pytest.approx(3 * U * exact + off, rel=1e-6)
    moved = expected + np.float32(ulps * U * exact)
    (units,) = CONVOLVED.measure(operation, (lhs, kernel), (expected,), (moved,))
    assert bool(units.item() <= 1) is within


def test_default_precision_is_that_of_the_hardware() -> None:
    """TF32 has 11 significant bits, bf16 8, and the sum of two bf16 numbers 16."""
    found = {name: default_precision(name) for name in ("cpu", "gpu", "tpu")}
    assert {name: (one.default, one.high) for name, one in found.items()} == {
        "cpu": (0.0, 0.0), "gpu": (2.0**-11, 2.0**-11), "tpu": (2.0**-8, 2.0**-16),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("of", "to", "sums", "intermediate"),
    [
        ("f8E4M3FN", "f16", "f16", 0.0),
        ("f8E4M3FN", "f32", "f32", 0.0),
        ("f16", "f16", "f32", 0.0),
        ("f16", "bf16", "f32", 2.0**-11),
        ("f32", "bf16", "f32", 2.0**-24),
        ("f32", "f64", "f64", 0.0),
    ],
)
def test_sums_are_kept_in_the_least_precise_type(
    of: str, to: str, sums: str, intermediate: float
) -> None:
    ones = np.ones((1, 1)).astype(TYPES[of].storage)
    program, _ = dot_general(ones, ones, TYPES[to])
    found = precision_of(program.subject, (ones, ones), TYPES[to], DefaultPrecision())
    assert found.of is TYPES[sums]
    assert found.accumulation == {"f16": 2.0**-11, "f32": U, "f64": 2.0**-53}[sums]
    assert found.intermediate == intermediate


@pytest.mark.parametrize(
    ("of", "flushes"),
    [("f32", True), ("bf16", True), ("f64", True), ("f16", False), ("f8E5M2", False),
     ("f8E8M0FNU", False)],
)  # fmt: skip
def test_hardware_flushes_wide_exponents_only(of: str, flushes: bool) -> None:
    assert has_flushing_modes(element_type(of)) is flushes
