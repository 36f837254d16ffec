"""Reductions whose result depends on the order of elements or on the number of init values."""

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.verdict import Verdict
from generators.families.reduction import padding_of
from generators.regions import bodies
from generators.regions.bodies import BodyBuilder, Monoid, fold_of, literal, selector
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Attribute, Program, TensorType, Value, single_op
from reference.ir.types import Array, element_type
from reference.unspecified.reduction import tiled_inits
from suites.meta.support.ops.reductions import (
    is_open,
    open_in,
    reduction_of,
    reduction_program,
    row,
)

F32, F64, F16, BF16, SI32, SI8, UI8, I1, C64 = (
    element_type(name)
    for name in ("f32", "f64", "f16", "bf16", "si32", "si8", "ui8", "i1", "complex<f32>")
)


def test_results_depending_on_number_of_init_values_are_unspecified() -> None:
    numbers = np.array([[1, 9], [2, 3]], np.int32)
    seven = [np.asarray(7, np.int32)]
    assert is_open(fold_of("add", SI32), numbers, inits=seven).all()
    assert is_open(fold_of("maximum", SI32), numbers, inits=seven).tolist() == [True, False]
    assert is_open(fold_of("minimum", SI32), numbers, inits=seven).tolist() == [False, False]
    zero = np.zeros((2, 2), np.int32)
    assert not is_open(fold_of("multiply", SI32), zero, inits=seven).any()
    body = bodies.multi_op_bodies(SI32)[0]
    index = np.array([[0, 0], [1, 1]], np.int32)
    start = [np.asarray(5, np.int32), np.asarray(0, np.int32)]
    assert is_open(body, numbers, index, inits=start).tolist() == [True, False]


def test_sums_that_overflow_in_some_orders_are_unspecified() -> None:
    sum_, big = fold_of("add", F32), 3e38
    assert is_open(sum_, row(F32, big, big, -big))
    assert not is_open(sum_, row(F32, big, big, big))  # in any order
    assert reduction_of(sum_, row(F32, big, big, big)) == np.inf
    assert not is_open(sum_, row(F32, big, -big, 1.0))
    assert not is_open(sum_, row(F32, np.inf, 1, -np.inf))
    assert is_open(sum_, row(F32, np.inf, -big, -big))
    assert not is_open(sum_, row(F32, np.nan, big, big, -big))
    limited = element_type("f8E4M3FN")
    assert is_open(fold_of("add", limited), row(limited, 448, 448))
    assert not is_open(fold_of("add", limited), row(limited, 128, 192))


def test_products_that_leave_the_range_in_some_orders_are_unspecified() -> None:
    body = fold_of("multiply", F32)
    assert is_open(body, row(F32, 1e30, 1e30, 1e-30))
    assert is_open(body, row(F32, 1e-30, 1e-30, 1e30))
    assert not is_open(body, row(F32, 1e30, 1e30))
    assert not is_open(body, row(F32, 0, 1e30))
    assert is_open(body, row(F32, 0, 1e30, 1e30))
    assert not is_open(body, row(F32, 0, np.inf))  # NaN in any order
    assert not is_open(body, row(F32, 2, 3, 0.5))


def test_results_of_a_body_that_is_not_associative_are_unspecified() -> None:
    block = BodyBuilder.of(SI32, SI32)
    region = block.finish_region(block.op("subtract", *block.arguments))
    body = Monoid("difference", region, (SI32,), (literal(0, SI32),), (("bits",),))
    assert is_open(body, np.array([1, 2, 4], np.int32))


def test_folding_one_by_one_is_tried_of_long_rows_too() -> None:
    """Zero times an element at a time; pairs of elements overflow, and zero times that is NaN."""
    block = BodyBuilder.of(F16, F16, F16, F16)
    first, second, third, _ = block.arguments
    products = block.op("multiply", first, third), block.op("multiply", second, third)
    inits = (literal(1, F16), literal(0, F16))
    body = Monoid("products", block.finish_region(*products), (F16, F16), inits, (("bits",),) * 2)
    numbers = row(F16, *[1] * 38, 3e4, 3e4)
    expected = evaluate(*reduction_program(body, [numbers, numbers]))
    assert np.isnan(expected[1])
    actual = (expected[0], row(F16, 0)[0])
    found = judge(
        *reduction_program(body, [numbers, numbers]), expected, actual, CATALOG["reduce"].tolerance
    )
    assert found.verdict is Verdict.UNSPECIFIED


def test_complex_extrema_are_unspecified_where_their_order_is() -> None:
    body = Monoid("maximum", fold_of("maximum", C64).region, (C64,), (literal(-9, C64),), ())
    numbers = np.array([[1 + 2j, 0], [1 + 3j, complex(np.nan, 1)]], np.complex64)
    assert is_open(body, numbers).tolist() == [False, True]
    assert reduction_of(body, numbers)[0] == 1 + 3j


def test_windows_without_elements_and_ties() -> None:
    kind = TensorType((4,), SI32)
    operand = Value("a", kind)
    source, init = Value("b", TensorType((3,), SI32)), Value("c", TensorType((), SI32))

    def program(direction: str, pads: tuple[int, int], window: int) -> Program:
        given: dict[str, Attribute] = {
            "window_dimensions": (window,), "window_strides": (2,), "padding": padding_of((pads,)),
        }  # fmt: skip
        regions = (selector(SI32, direction), fold_of("add", SI32).region)
        return single_op("select_and_scatter", (operand, source, init), (kind,), given, regions)

    numbers = np.array([1, 1, 2, 2], np.int32), np.array([10, 20, 30], np.int32)
    inputs = (*numbers, np.zeros((), np.int32))
    first = evaluate(program("GE", (1, 1), 2), inputs)[0].tolist()
    later = evaluate(program("GT", (1, 1), 2), inputs)[0].tolist()
    assert first == [10, 0, 20, 30]
    assert later == [10, 0, 20, 30]
    ties = evaluate(program("GT", (0, 2), 2), (numbers[0], numbers[1], inputs[2]))[0].tolist()
    assert ties == [0, 10, 0, 20]
    assert open_in(program("GT", (0, 2), 2), inputs).all()  # the last window has no element


@pytest.mark.parametrize(("size", "inits"), [(0, 1), (3, 1), (4, 1), (5, 2), (17, 5)])
def test_init_values_may_stand_before_every_few_elements(size: int, inits: int) -> None:
    """As in tiled code: the specification permits any number of init values, anywhere."""

    def add_lanes(left: Array, right: Array) -> tuple[Array, ...]:
        return (left + right,)

    rows = (np.arange(2 * size).reshape(size, 2),)
    (total,) = tiled_inits(4)(add_lanes, rows, (np.array(1000),))
    assert total.tolist() == (rows[0].sum(axis=0) + 1000 * inits).tolist()


def test_a_single_init_value_may_stand_between_any_two_elements() -> None:
    """The body multiplies matrices modulo 4; the init value, no identity, shows only before the
    last.
    """
    of = element_type("ui2")
    matrices = next(b for b in bodies.multi_op_bodies(of) if b.name == "matrices")
    rows = ([0, 3, 2, 2], [2, 1, 0, 2], [1, 2, 3, 0], [0, 3, 2, 3])
    values = [np.array(row, of.storage) for row in rows]
    inits = [np.array(number, of.storage) for number in (2, 0, 0, 1)]
    names = [Value(f"v{n}", TensorType(x.shape, of)) for n, x in enumerate((*values, *inits))]
    types = (TensorType((), of),) * 4
    made = single_op("reduce", names, types, {"dimensions": (0,)}, (matrices.region,))
    expected = evaluate(made, [*values, *inits])
    assert [int(x) for x in expected] == [0, 0, 2, 0]
    actual = [*expected[:3], np.array(2, of.storage)]  # that of M0 M1 M2 I M3
    judgement = judge(made, [*values, *inits], expected, actual, CATALOG["reduce"].tolerance)
    assert judgement.verdict is Verdict.UNSPECIFIED
    actual = [expected[0], np.array(1, of.storage), *expected[2:]]  # 0 by every tree
    judgement = judge(made, [*values, *inits], expected, actual, CATALOG["reduce"].tolerance)
    assert judgement.verdict is Verdict.DIVERGENT
