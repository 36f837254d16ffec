"""The rule of sort: ties, permutations, subnormal numbers and NaN."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.bounds.sorting import SORTED, are_permutations, are_sorted
from conformance.verdict import Verdict
from generators.invalid.misses import tensor
from generators.regions.bodies import BodyBuilder
from reference.interpreter.evaluate import body_of, evaluate
from reference.ir.types import Array, from_bits
from reference.unspecified.sorting import NO_ORDER, unspecified_slices
from suites.meta.support.ops.sorting import (
    F32,
    I1,
    SI32,
    SI64,
    compare_first,
    judge_result,
    sort_of,
)

NAN, INF = float("nan"), float("inf")


PAIRS = (tensor(SI32, 5), tensor(SI32, 5))


KEYS, PLACES = np.array([2, 1, 2, 1, 0], np.int32), np.arange(5, dtype=np.int32)


def permute(order: list[int]) -> list[Array]:
    return [KEYS[order], PLACES[order]]


def test_ties_are_free_in_unstable_sorts_only() -> None:
    for stable in (True, False):
        made = sort_of(compare_first(SI32, SI32), *PAIRS, stable=stable)
        given = [KEYS, PLACES]
        assert judge_result(made, given, permute([4, 1, 3, 0, 2]))[0] is Verdict.PASS
        verdict = judge_result(made, given, permute([4, 3, 1, 0, 2]))[0]
        assert verdict is (Verdict.DIVERGENT if stable else Verdict.PASS)
        assert judge_result(made, given, permute([1, 4, 3, 0, 2]))[0] is Verdict.DIVERGENT


@pytest.mark.parametrize("stable", [True, False])
def test_operands_are_permuted_alike(stable: bool) -> None:
    made = sort_of(compare_first(SI32, SI32), *PAIRS, stable=stable)
    mixed = [KEYS[[4, 1, 3, 0, 2]], PLACES[[4, 0, 2, 1, 3]]]  # both fine by themselves
    verdict, kind = judge_result(made, [KEYS, PLACES], mixed)
    assert (verdict, kind) == (Verdict.DIVERGENT, "no possible order")


def test_a_repeated_element_is_no_permutation() -> None:
    made = sort_of(compare_first(F32), tensor(F32, 2, 4), dimension=1, stable=False)
    x = np.array([[3, 1, 2, 2], [0, -0.0, NAN, 1]], np.float32)
    x[1, 2] = 5
    wrong = np.array([[1, 1, 2, 3], [-0.0, 0, 1, 5]], np.float32)
    found = judge(made, [x], evaluate(made, [x]), [wrong], SORTED)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "no possible order")
    assert {element.index[0] for element in found.elements} == {0}


def test_same_elements_and_in_order() -> None:
    x = np.array([[1, 2, 2], [3, 3, 1]], np.int64)
    y = np.array([[2, 1, 2], [3, 1, 1]], np.int64)
    assert are_permutations((x,), (y,)).tolist() == [True, False]
    nan = np.array([[NAN, 1.0]])
    assert are_permutations((nan,), (np.array([[1.0, -NAN]]),)).tolist() == [True]
    assert are_permutations((np.array([[0.0, 1]]),), (np.array([[-0.0, 1]]),)).tolist() == [False]
    body = body_of(compare_first(SI64))
    assert are_sorted((np.array([[1, 2, 2], [3, 3, 1]]),), body).tolist() == [True, False]


def test_subnormals_treated_as_zeros_are_flushed() -> None:
    x = np.array([1e-45, 0, -1e-45, 1], np.float32)
    for stable in (True, False):
        made = sort_of(compare_first(F32, SI32), tensor(F32, 4), tensor(SI32, 4), stable=stable)
        given = [x, np.arange(4, dtype=np.int32)]
        assert judge_result(made, given, given)[0] is Verdict.FLUSHED
    made = sort_of(compare_first(F32, kind="TOTALORDER"), tensor(F32, 4), stable=False)
    assert judge_result(made, [x], [x[[3, 0, 1, 2]]])[0] is Verdict.DIVERGENT


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
                verdict, _ = judge_result(made, given, [values, places[order]])
                assert verdict is (Verdict.PASS if right else Verdict.DIVERGENT), order
            assert judge_result(made, given, [sorted_, places[[0, 3, 4, 1, 2]]])[0] is Verdict.PASS


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
    assert judge_result(made, [x], [x]) == (Verdict.DIVERGENT, "wrong value")
    moved = np.array([[2, 5], [3, 1]], np.float32)
    assert judge_result(made, [x], [moved]) == (Verdict.DIVERGENT, "wrong value")
    lost = np.array([[3, 1], [3, 5]], np.float32)
    assert judge_result(made, [x], [lost]) == (Verdict.DIVERGENT, "no possible order")
    tiny = np.array([[3, 1], [2, 1e-40]], np.float32)
    assert judge_result(made, [tiny], [tiny]) == (Verdict.DIVERGENT, "wrong value")
    equal = np.array([[2e-40, 1], [1e-40, 2]], np.float32)  # if both are taken for zeros
    assert judge_result(made, [equal], [equal])[0] is Verdict.FLUSHED
    for dimension in (0, -1):
        made = sort_of(compare_first(F32), tensor(F32, 2, 2), dimension=dimension)
        assert judge_result(made, [x], [x]) == (Verdict.DIVERGENT, "wrong value")


def test_slices_are_unspecified_if_the_comparator_is_no_order() -> None:
    made = sort_of(compare_first(F32), tensor(F32, 2, 3), dimension=1)
    x = np.array([[2, NAN, 1], [3, 2, 1]], np.float32)
    operation = made.main.body.operations[-2]
    (found,) = unspecified_slices(operation, [x])
    assert found[0] == NO_ORDER
    assert found[1].tolist() == [True, False]
    assert (
        judge_result(made, [x], [np.array([[2, NAN, 1], [1, 2, 3]], "f4")])[0]
        is Verdict.UNSPECIFIED
    )
    assert (
        judge_result(made, [x], [np.array([[1, 2, NAN], [3, 2, 1]], "f4")])[0] is Verdict.DIVERGENT
    )
    made = sort_of(compare_first(SI32, way="LE"), tensor(SI32, 3))
    for values, open_ in (([1, 2, 3], True), ([1, 1, 2], True)):
        ((_, mask),) = unspecified_slices(
            made.main.body.operations[-2], [np.array(values, np.int32)]
        )
        assert bool(mask) == open_


def test_long_slices_are_checked() -> None:
    made = sort_of(compare_first(F32), tensor(F32, 5000))
    operation = made.main.body.operations[-2]
    x = np.arange(5000, dtype=np.float32)
    assert unspecified_slices(operation, [x]) == []
    x[77] = NAN
    ((label, mask),) = unspecified_slices(operation, [x])
    assert (label, bool(mask)) == (NO_ORDER, True)
