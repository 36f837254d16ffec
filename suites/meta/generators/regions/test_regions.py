"""Regions: bodies compute the same in every form; comparators order by what they say."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import rule_of
from conformance.judging.compare import judge
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.transforms.merge import merge
from conformance.verdict import Verdict
from generators.programs.building import prepend_operations
from generators.regions import forms
from generators.regions.bodies import Monoid, fold_of, monoid_ops, multi_op_bodies, selector
from generators.regions.comparators import Comparator, comparators
from generators.values.contents import fill, profiles_of
from reference.interpreter.evaluate import body_of, check, evaluate
from reference.ir.program import Program, Region, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type, to_bits
from reference.numerics.zeros import parts_of
from suites.meta.support.built_cases import pick_of

NAMES = ("f32", "bf16", "f8E4M3FN", "f8E8M0FNU", "complex<f64>", "si32", "ui4", "i1")
F32, SI32 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["si32"]


def lanes(region: Region, profile: int = 0) -> tuple[Array, ...]:
    """Return the results of a region on 9 elements for each argument."""
    types = [argument.type for argument in region.arguments]
    arrays = [
        fill(TensorType((9,), of.element), names[profile % len(names)], index)
        for index, of in enumerate(types)
        if isinstance(of, TensorType) and (names := profiles_of(of.element))
    ]
    with np.errstate(all="ignore"):
        return body_of(region).lanes(*arrays)


def assert_same(one: tuple[Array, ...], other: tuple[Array, ...]) -> None:
    for left, right in zip(one, other, strict=True):
        assert left.shape == right.shape
        np.testing.assert_array_equal(to_bits(left), to_bits(right))


def assert_equal(one: tuple[Array, ...], other: tuple[Array, ...]) -> None:
    """Return whether results are equal except for signs of zeros and bits of NaNs."""
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(parts_of(left), parts_of(right))


def reduction(body: Monoid, element: ElementType, size: int = 6) -> Program:
    """Return a reduction of a tensor to a scalar."""
    operands = (Value("input", TensorType((size,), element)), body.identity[0])
    results = (TensorType((), body.results[0]),)
    made = single_op("reduce", operands, results, {"dimensions": (0,)}, (body.region,))
    return prepend_operations(made, body.outside, body.functions)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", forms.FORMS)
def test_each_form_computes_the_same_as_the_plain_region(name: str, form: str) -> None:
    element = ELEMENT_TYPES[name]
    regions = [fold_of(op, element).region for op in monoid_ops(element)]
    regions += [body.region for body in multi_op_bodies(element) if not body.outside]
    regions.append(selector(element, "GE"))
    for index, region in enumerate(regions):
        assert_same(lanes(forms.FORMS[form](region), index), lanes(region, index))


@pytest.mark.parametrize("name", NAMES)
def test_op_as_reduce_or_dot_general_computes_the_same(name: str) -> None:
    element = ELEMENT_TYPES[name]
    for op in monoid_ops(element):
        plain = lanes(fold_of(op, element).region)
        assert_equal(lanes(forms.write_as_reduce(op, element)), plain)
        if op in ("add", "multiply") and not element.is_boolean:
            assert_equal(lanes(forms.write_as_dot_general(op, element)), plain)


def test_programs_with_such_bodies_are_valid_written_and_read() -> None:
    body = fold_of("maximum", F32)
    written = [forms.call_body(body)]
    regions = [form(body.region) for form in forms.FORMS.values()]
    regions += [forms.write_as_reduce("maximum", F32)]
    for region in regions:
        written.append(Monoid("maximum", region, body.inputs, body.identity, body.rows))
    for one in written:
        program = reduction(one, F32)
        assert not check(program)
        again = parse_module(emit(program))
        data = np.array([3, -1, 7, 0, 2, 5], np.float32)
        assert evaluate(again, (data,)) == evaluate(program, (data,)) == (7,)


def test_functions_of_bodies_are_renamed_where_programs_are_merged() -> None:
    programs = [reduction(forms.call_body(fold_of(op, SI32)), SI32) for op in ("add", "maximum")]
    data = np.array([3, -1, 7, 0, 2, 5], np.int32)
    assert evaluate(merge(programs), (data, data)) == (16, 7)


@pytest.mark.parametrize(("wrong", "verdict"), [(1, Verdict.PASS), (64, Verdict.INACCURATE)])
def test_a_sum_that_functions_compute_is_judged_as_a_sum(wrong: int, verdict: Verdict) -> None:
    """An unknown body would make the result unspecified if orders differ."""
    program = reduction(forms.call_body(fold_of("add", F32)), F32, 100)
    data = fill(TensorType((100,), F32), "unit", 7)
    (expected,) = evaluate(program, (data,))
    assert expected == np.float32(data.astype(np.float64).sum())  # rounded once
    bound = 99 * 2.0**-24 * float(np.abs(data.astype(np.float64)).sum())
    actual = np.asarray(expected + np.float32(wrong * bound / 4))
    rule = rule_of(program.subject)
    assert judge(program, (data,), (expected,), (actual,), rule).verdict is verdict


# --- Comparators ----------------------------------------------------------------------------------


def made(of: str, kind: str, count: int = 30, **planned: str) -> list[Comparator]:
    given = {"comparator": kind, **planned}
    return [comparators(element_type(of), pick_of(seed, given)) for seed in range(count)]


def before(one: Comparator, lhs: int, rhs: int) -> bool:
    """Return whether elements of `lhs` in every operand come before elements of `rhs`."""
    pairs = [np.array(side, of.storage) for of in one.inputs for side in (lhs, rhs)]
    return bool(body_of(one.region)(*pairs)[0])


@pytest.mark.parametrize("kind", ["one key", "two keys"])
@pytest.mark.parametrize(("direction", "ascending"), [("LT", True), ("GT", False)])
def test_keys_ascend_or_descend_in_every_form(kind: str, direction: str, ascending: bool) -> None:
    name = "direction" if kind == "one key" else "direction of key 1"
    other = {} if kind == "one key" else {"direction of key 2": direction}
    for one in made("si32", kind, **{name: direction}, **other):
        assert before(one, 1, 2) is ascending
        assert before(one, 2, 1) is not ascending
        assert not before(one, 1, 1)


def test_a_comparator_that_is_not_strict_has_short_slices() -> None:
    for one in made("f32", "non strict order"):
        assert before(one, 1, 1)
        assert one.longest == 16


def test_a_constant_orders_nothing() -> None:
    for one in made("f32", "constant false"):
        assert not before(one, 1, 2)
        assert not before(one, 2, 1)


def test_differences_are_of_small_numbers() -> None:
    for one in made("si8", "sign of difference"):
        assert before(one, -2, 2)
        assert one.rows == (("within:0:1",), ("within:-2:2",))


def test_comparators_in_functions_have_callees() -> None:
    assert all(one.functions for one in made("f32", "key in functions"))
    assert all(one.few and one.longest == 7 for one in made("f32", "non elementwise key"))


def test_each_row_has_a_profile_for_each_operand() -> None:
    for of in ("f32", "ui8", "i1", "complex<f32>"):
        for seed in range(40):
            one = comparators(element_type(of), pick_of(seed))
            assert {len(row) for row in one.rows} == {len(one.inputs)}
            assert element_type(of) in one.inputs
