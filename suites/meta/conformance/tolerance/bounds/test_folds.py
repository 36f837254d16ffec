"""Bounds of reductions, scattered updates, sorts and maps."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG, rule_of
from conformance.judging.compare import judge
from conformance.tolerance.bounds.reduction import (
    count_rounding_operations,
    reduction_bound,
    weigh_rounding_operations,
)
from conformance.tolerance.bounds.scatter import SCATTERED_UPDATES
from conformance.tolerance.bounds.sorting import SORTED
from conformance.tolerance.ulp import bound_distances
from conformance.verdict import Verdict
from generators.families.reduction import padding_of
from generators.invalid.misses import tensor
from generators.regions import bodies
from generators.regions.bodies import BodyBuilder, Monoid, fold_of
from generators.values.contents import fill
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Attribute, Program, Region, TensorType, Value, single_op
from reference.ir.types import Array, ElementType, element_type, from_bits
from reference.ops.table import OPS
from reference.unspecified.sorting import NO_ORDER, unspecified_slices
from suites.meta.support.ops.gathering import points
from suites.meta.support.ops.reductions import (
    judge_result,
    last_operation,
    reduction_of,
    reduction_program,
    types_of,
)
from suites.meta.support.ops.sorting import compare_first, sort_of
from suites.meta.support.ops.sorting import judge_result as judge_sort
from suites.meta.support.small_programs import array

F32, F64, F16, BF16, SI32, SI8, UI8, I1, C64 = (
    element_type(name)
    for name in ("f32", "f64", "f16", "bf16", "si32", "si8", "ui8", "i1", "complex<f32>")
)


def bound_of(body: Monoid, *inputs: Array) -> Array:
    program, arrays = reduction_program(body, inputs)
    operation, operands = last_operation(program, arrays)
    (bound,) = reduction_bound(operation, operands, evaluate(program, arrays))
    assert bound is not None
    return bound


@pytest.mark.parametrize("of", [F16, BF16, F32, F64], ids=str)
@pytest.mark.parametrize("op", ["add", "multiply"])
def test_rounding_in_any_order_is_within_the_bound(of: ElementType, op: str) -> None:
    random = np.random.default_rng(5)
    profile = "moderate" if op == "add" else "near_one"
    numbers = fill(TensorType((40, 60), of), profile, 7)
    body = fold_of(op, of)
    expected, bound = reduction_of(body, numbers), bound_of(body, numbers)
    apply = OPS[op].evaluate
    worst = 0.0
    for _ in range(6):
        rows = list(numbers[random.permutation(40)])
        while len(rows) > 1:
            at = int(random.integers(len(rows) - 1))
            rows[at : at + 2] = [apply(rows[at], rows[at + 1])]
        distances = bound_distances(expected, rows[0], bound)
        worst = max(worst, float(distances.max()))
    assert 0.001 < worst <= 1


def test_exact_data_has_a_bound_of_zero() -> None:
    numbers = fill(TensorType((64, 8), F32), "small_integers", 1)
    assert not bound_of(fold_of("add", F32), numbers).any()
    assert not bound_of(fold_of("add", F32), numbers / np.float32(1024)).any()
    assert bound_of(fold_of("add", F32), numbers + np.float32(1e-6)).all()
    powers = fill(TensorType((30, 8), F32), "within:1:2", 1)
    assert not bound_of(fold_of("multiply", F32), powers).any()
    large = np.full((300, 1), 255.0, np.float32).astype(BF16.storage)
    assert bound_of(fold_of("add", BF16), large).all()  # partial sums need 16 bits


def test_a_missing_or_repeated_element_is_detected() -> None:
    numbers = fill(TensorType((64, 8), F32), "small_integers", 1)
    program, arrays = reduction_program(fold_of("add", F32), (numbers,))
    right = evaluate(program, arrays)
    assert judge_result(program, arrays, right, "reduce") is Verdict.PASS
    for wrong in (right[0] - numbers[7], right[0] + numbers[7]):
        assert judge_result(program, arrays, (wrong,), "reduce") is Verdict.DIVERGENT
    program, arrays = reduction_program(fold_of("maximum", F32), (numbers,))
    (most,) = evaluate(program, arrays)
    off = np.nextafter(most, np.float32(np.inf))
    assert judge_result(program, arrays, (off,), "reduce") is Verdict.DIVERGENT


def test_complex_sums_with_a_nan_part_are_judged_by_the_other() -> None:
    numbers = np.array([complex(0.1, np.nan), 0.2 + 1j, 0.7], np.complex64)
    program, arrays = reduction_program(fold_of("add", C64), (numbers,))
    (right,) = evaluate(program, arrays)
    real = np.real(right)
    near = np.asarray(complex(np.nextafter(real, np.float32(2)), np.nan), np.complex64)
    far = np.asarray(complex(real + 0.5, np.nan), np.complex64)
    assert judge_result(program, arrays, (near,), "reduce") is Verdict.PASS
    assert judge_result(program, arrays, (far,), "reduce") is Verdict.DIVERGENT


@pytest.mark.parametrize(("name", "ulps"), [("exponential", 3), ("tanh", 5), ("mhlo.erf", 16)])
def test_map_grants_an_operation_the_budget_of_its_own_rule(name: str, ulps: float) -> None:
    """On whatever hardware: a GPU may be off by 3 ulp in an exponential."""
    of = TensorType((5,), F32)
    block = BodyBuilder.of(F32)
    region = block.finish_region(block.op(name, *block.arguments))
    values = (Value("x", of),)
    program = single_op("map", values, (of,), {"dimensions": (0,)}, (region,))
    x = fill(of, "moderate", 1)
    (expected,) = evaluate(program, (x,))
    rule = rule_of(program.subject)
    assert rule is not None
    assert rule.bound is not None
    (bound,) = rule.bound(program.subject, (x,), (expected,))
    units = np.asarray(bound) / np.spacing(np.abs(expected))
    assert ((units >= ulps) & (units <= 2 * ulps + 1)).all()


def test_windows_without_their_padding_fail() -> None:
    body, arrays = fold_of("multiply", UI8), (np.array([240], np.uint8), np.array(40, np.uint8))
    values = tuple(Value(f"x{n}", of) for n, of in enumerate(types_of(arrays)))
    given: dict[str, Attribute] = {"window_dimensions": (4,), "padding": padding_of(((3, 0),))}
    result = TensorType((1,), UI8)
    program = single_op("reduce_window", values, (result,), given, (body.region,))
    assert evaluate(program, arrays)[0].tolist() == [0]
    expected = evaluate(program, arrays)
    rule = CATALOG["reduce_window"].tolerance
    for number in (128, 7):
        found = judge(program, arrays, expected, (np.array([number], np.uint8),), rule)
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong value")


def test_subnormals_may_be_flushed_in_a_whole_reduction() -> None:
    numbers = np.full(2000, 1e-40, np.float32)  # their sum is normal
    program, arrays = reduction_program(fold_of("add", F32), (numbers,))
    zero = np.zeros((), np.float32)
    assert judge_result(program, arrays, (zero,), "reduce") is Verdict.FLUSHED


def a_body(of: ElementType, kind: str) -> Monoid:
    """Return a body that is a sum up to rounding, a logarithm of a sum, or no monoid at all."""
    block = BodyBuilder.of(of, of)
    a, b = block.arguments
    if kind == "sum":
        end = block.op("add", a, block.op("multiply", b, block.constant(1.0, of)))
    elif kind == "difference":
        end = block.op("subtract", a, b)
    else:
        apart = block.op("negate", block.op("abs", block.op("subtract", a, b)))
        near = block.op("log_plus_one", block.op("exponential", apart))
        end = block.op("add", block.op("maximum", a, b), near)
    identity = bodies.literal(-1e30 if kind == "logarithm" else 0.0, of)
    return Monoid(kind, block.finish_region(end), (of,), (identity,), ())


@pytest.mark.parametrize("kind", ["sum", "logarithm"])
def test_what_no_order_of_a_rounded_body_gives_is_wrong(kind: str) -> None:
    numbers = np.random.default_rng(0).uniform(-1, 1, (100, 3)).astype(np.float32)
    program, arrays = reduction_program(a_body(F32, kind), (numbers,))
    (right,) = evaluate(program, arrays)
    for wrong in (-right, right * np.float32(1.01), np.full_like(right, np.nan)):
        assert judge_result(program, arrays, (wrong,), "reduce") is Verdict.DIVERGENT
    for end in (np.inf, -np.inf):
        near = np.nextafter(right, np.float32(end))
        assert not judge_result(program, arrays, (near,), "reduce").fails
    other = reduction_of(a_body(F32, kind), numbers[::-1])
    assert not judge_result(program, arrays, (other,), "reduce").fails


def test_a_body_that_is_not_associative_leaves_all_open() -> None:
    numbers = np.random.default_rng(0).uniform(-1, 1, (9, 3)).astype(np.float32)
    program, arrays = reduction_program(a_body(F32, "difference"), (numbers,))
    anything = np.full(3, 100, np.float32)
    assert judge_result(program, arrays, (anything,), "reduce") is Verdict.UNSPECIFIED


U = 2.0**-24
INDICES = array([0, 0, 1], "si32")
UPDATES = array([0.1, 0.3, 0.7])
START = array([1.1, 1.3, 1.7])


def scatter_program(body: Region, updates: Array = UPDATES) -> Program:
    of = F16 if updates.dtype == np.float16 else F32
    return points(of, 3, len(updates), body)


def scatter_bound(op: str) -> list[float]:
    """Return the bound of each element: the first has two updates, the second one update."""
    made = scatter_program(fold_of(op, F32).region)
    given = (START, INDICES, UPDATES)
    assert SCATTERED_UPDATES.bound is not None
    (found,) = SCATTERED_UPDATES.bound(made.subject, given, evaluate(made, given))
    assert found is not None
    return found.tolist()


def test_two_updates_add_with_two_roundings() -> None:
    """(n - 1) u times the sum of magnitudes, 1.5, for n = 3 terms; u times the result for ours."""
    assert scatter_bound("add") == [pytest.approx(U * (2 * 1.5 + 1.5), rel=1e-6), 0, 0]


def test_an_op_that_is_no_sum_rounds_once_for_each_update() -> None:
    made = scatter_bound("subtract")
    assert made == [pytest.approx(2 * U * 0.7, rel=1e-6), pytest.approx(U * 0.6, rel=1e-6), 0]


def zeros_of(op: str, first: float) -> list[bool] | None:
    made = scatter_program(fold_of(op, F32).region)
    given = (array([first, -0.0, 0.0]), INDICES, array([-first, 0.0, 0.0]))
    assert SCATTERED_UPDATES.either_zero is not None
    (found,) = SCATTERED_UPDATES.either_zero(made.subject, given, evaluate(made, given))
    return None if found is None else found.tolist()


def test_zeros_of_sums_have_one_sign_and_zeros_of_other_bodies_either() -> None:
    assert zeros_of("add", 1.0) is None
    assert zeros_of("subtract", 0.0) == [True, True, False]  # the last element has no update


def test_subnormal_numbers_are_lost_in_sums_of_types_that_hardware_flushes() -> None:
    assert SCATTERED_UPDATES.flush_loss is not None
    small = 2.0**-130
    made = scatter_program(fold_of("add", F32).region)
    given = (array([small, 1.0, small]), INDICES, array([small, small, small]))
    (lost,) = SCATTERED_UPDATES.flush_loss(made.subject, given, evaluate(made, given))
    assert lost is not None
    assert lost[0] >= 3 * small
    assert lost[1] >= small
    made = scatter_program(fold_of("add", F16).region, array([1.0, 1.0, 1.0], "f16"))
    halves = (array([1, 1, 1], "f16"), INDICES, array([1, 1, 1], "f16"))
    assert SCATTERED_UPDATES.flush_loss(made.subject, halves, evaluate(made, halves)) == (None,)


@pytest.mark.parametrize(("got", "wrong"), [(3.0, False), (4.0, False), (1.0, True)])
def test_a_replaced_element_is_one_of_its_updates(got: float, wrong: bool) -> None:
    body = BodyBuilder.of(F32, F32)
    made = scatter_program(body.finish_region(body.arguments[1]))
    given = (array([1.0, 1.0, 1.0]), INDICES, array([3.0, 4.0, 5.0]))
    actual = (array([got, 5.0, 1.0]),)
    assert SCATTERED_UPDATES.excludes is not None
    (found,) = SCATTERED_UPDATES.excludes(made.subject, given, evaluate(made, given), actual)
    marked = [mask.tolist() for label, mask in found if label == "no possible order"]
    assert marked == [[wrong, False, False]]


@pytest.mark.parametrize(("got", "wrong"), [(0.7, False), (0.70000005, False), (0.71, True)])
def test_a_difference_is_that_of_some_order_up_to_rounding(got: float, wrong: bool) -> None:
    made = scatter_program(fold_of("subtract", F32).region)
    given = (START, INDICES, UPDATES)
    expected = evaluate(made, given)
    actual = expected[0].copy()
    actual[0] = got
    assert SCATTERED_UPDATES.excludes is not None
    ((found,),) = SCATTERED_UPDATES.excludes(made.subject, given, expected, (actual,))
    assert found[0] == "no possible order"
    assert found[1].tolist() == [wrong, False, False]


NAN, INF = float("nan"), float("inf")
PAIRS = (tensor(SI32, 5), tensor(SI32, 5))
KEYS, PLACES = np.array([2, 1, 2, 1, 0], np.int32), np.arange(5, dtype=np.int32)


def permute(order: list[int]) -> list[Array]:
    return [KEYS[order], PLACES[order]]


def test_ties_are_free_in_unstable_sorts_only() -> None:
    for stable in (True, False):
        made = sort_of(compare_first(SI32, SI32), *PAIRS, stable=stable)
        given = [KEYS, PLACES]
        assert judge_sort(made, given, permute([4, 1, 3, 0, 2]))[0] is Verdict.PASS
        verdict = judge_sort(made, given, permute([4, 3, 1, 0, 2]))[0]
        assert verdict is (Verdict.DIVERGENT if stable else Verdict.PASS)
        assert judge_sort(made, given, permute([1, 4, 3, 0, 2]))[0] is Verdict.DIVERGENT


@pytest.mark.parametrize("stable", [True, False])
def test_operands_are_permuted_alike(stable: bool) -> None:
    made = sort_of(compare_first(SI32, SI32), *PAIRS, stable=stable)
    mixed = [KEYS[[4, 1, 3, 0, 2]], PLACES[[4, 0, 2, 1, 3]]]  # both fine by themselves
    verdict, kind = judge_sort(made, [KEYS, PLACES], mixed)
    assert (verdict, kind) == (Verdict.DIVERGENT, "no possible order")


def test_a_repeated_element_is_no_permutation() -> None:
    made = sort_of(compare_first(F32), tensor(F32, 2, 4), dimension=1, stable=False)
    x = np.array([[3, 1, 2, 2], [0, -0.0, NAN, 1]], np.float32)
    x[1, 2] = 5
    wrong = np.array([[1, 1, 2, 3], [-0.0, 0, 1, 5]], np.float32)
    found = judge(made, [x], evaluate(made, [x]), [wrong], SORTED)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "no possible order")
    assert {element.index[0] for element in found.elements} == {0}


def test_subnormals_treated_as_zeros_are_flushed() -> None:
    x = np.array([1e-45, 0, -1e-45, 1], np.float32)
    for stable in (True, False):
        made = sort_of(compare_first(F32, SI32), tensor(F32, 4), tensor(SI32, 4), stable=stable)
        given = [x, np.arange(4, dtype=np.int32)]
        assert judge_sort(made, given, given)[0] is Verdict.FLUSHED
    made = sort_of(compare_first(F32, kind="TOTALORDER"), tensor(F32, 4), stable=False)
    assert judge_sort(made, [x], [x[[3, 0, 1, 2]]])[0] is Verdict.DIVERGENT


ALIKE = from_bits(np.array([0x7FC00000, 0xFFC00000], np.uint32), F32)
"""A NaN of each sign, the bits that most machines make."""


def test_results_may_have_any_nan_if_a_comparator_distinguishes_them() -> None:
    """In total order -NaN comes first, but the result may be any NaN; otherwise equal elements stay
    ties.
    """
    plus, minus = ALIKE
    x = np.array([minus, 1, plus, minus, -1], np.float32)
    places = np.array([7, 7, 7, 8, 9], np.int32)
    sorted_ = np.array([minus, minus, -1, 1, plus], np.float32)
    for one in (plus, minus):
        for dimension in (0, -1):
            kind = compare_first(F32, SI32, kind="TOTALORDER")
            made = sort_of(kind, tensor(F32, 5), tensor(SI32, 5), dimension=dimension, stable=False)
            given = [x, places]
            for order, right in (
                ([0, 3, 4, 1, 2], True), ([3, 0, 4, 1, 2], True), ([3, 2, 4, 1, 0], True),
                ([0, 2, 4, 1, 3], False), ([4, 0, 3, 1, 2], False),
            ):  # fmt: skip
                values = np.where(np.isnan(x[order]), one, x[order])
                verdict, _ = judge_sort(made, given, [values, places[order]])
                assert verdict is (Verdict.PASS if right else Verdict.DIVERGENT), order
            assert judge_sort(made, given, [sorted_, places[[0, 3, 4, 1, 2]]])[0] is Verdict.PASS


@pytest.mark.parametrize("name", ["bitcast_convert", "TOTALORDER", "EQ", "select"])
def test_slices_are_unspecified_if_a_comparator_sees_the_bits_of_a_computed_nan(name: str) -> None:
    """The specification does not say which NaN inf - inf is, sign included."""
    block = BodyBuilder.of(F32, F32)
    keys = [block.op("subtract", value, value) for value in block.arguments]
    kind = {"compare_type": "TOTALORDER"}
    if name == "bitcast_convert":
        lhs, rhs = (block.op(name, key, to=SI32) for key in keys)
        less = block.compare(lhs, rhs, "LT")
    elif name == "select":  # as JAX does it: no matter which NaN it was
        nan = block.constant(NAN, F32)
        odd = [block.compare(key, key, "NE") for key in keys]
        lhs, rhs = (block.op("select", *one) for one in zip(odd, (nan, nan), keys, strict=True))
        less = block.op("compare", lhs, rhs, to=I1, comparison_direction="LT", **kind)
    else:
        way = "EQ" if name == "EQ" else "LT"
        less = block.op("compare", *keys, to=I1, comparison_direction=way, **kind)
    made = sort_of(block.finish_region(less), tensor(F32, 2, 2), dimension=1)
    x = np.array([[INF, 1], [2, 3]], np.float32)
    masks = [
        mask
        for label, mask in unspecified_slices(made.main.body.operations[-2], [x])
        if label != NO_ORDER
    ]
    open_ = np.logical_or.reduce(masks) if masks else np.zeros(2, bool)
    assert open_.tolist() == [name in ("bitcast_convert", "TOTALORDER"), False]


def test_slices_of_a_negative_dimension_that_are_not_sorted_fail() -> None:
    x = np.array([[3, 1], [2, 5]], np.float32)
    made = sort_of(compare_first(F32), tensor(F32, 2, 2), dimension=-2)
    assert judge_sort(made, [x], [x]) == (Verdict.DIVERGENT, "wrong value")
    moved = np.array([[2, 5], [3, 1]], np.float32)
    assert judge_sort(made, [x], [moved]) == (Verdict.DIVERGENT, "wrong value")
    lost = np.array([[3, 1], [3, 5]], np.float32)
    assert judge_sort(made, [x], [lost]) == (Verdict.DIVERGENT, "no possible order")
    tiny = np.array([[3, 1], [2, 1e-40]], np.float32)
    assert judge_sort(made, [tiny], [tiny]) == (Verdict.DIVERGENT, "wrong value")
    equal = np.array([[2e-40, 1], [1e-40, 2]], np.float32)  # if both are taken for zeros
    assert judge_sort(made, [equal], [equal])[0] is Verdict.FLUSHED
    for dimension in (0, -1):
        made = sort_of(compare_first(F32), tensor(F32, 2, 2), dimension=dimension)
        assert judge_sort(made, [x], [x]) == (Verdict.DIVERGENT, "wrong value")


def test_rounding_operations_of_a_body() -> None:
    block = BodyBuilder.of(F32, SI32, F32, SI32)
    a, m, b, n = block.arguments
    total = block.op("add", a, b)
    larger = block.op("select", block.compare(a, b, "GT"), m, n)
    assert count_rounding_operations(block.finish_region(total, larger)) == (1, 1)
    assert count_rounding_operations(bodies.multi_op_bodies(F32)[0].region) == (0, 0)


def test_functions_count_more_than_roundings() -> None:
    assert weigh_rounding_operations(a_body(F32, "sum").region) == (2,)
    assert weigh_rounding_operations(a_body(F32, "logarithm").region) == (66,)
