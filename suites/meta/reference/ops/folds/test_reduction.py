"""Reductions against loops written from the specification, element by element.

Where the reference says that the order makes a difference (`unspecified_elements`) nothing is
compared; sums and products may differ by their bound.
"""

import math

import numpy as np
import pytest

from conformance.verdict import Verdict
from generators.cells.plan import cases
from generators.regions import bodies
from generators.regions.bodies import BodyBuilder, Monoid, fold_of, selector
from generators.values.contents import fill, materialise
from reference.interpreter.evaluate import body_of, evaluate
from reference.ir.constants import matrix
from reference.ir.program import Program, Region, TensorType
from reference.ir.types import ALL, ElementType, element_type
from reference.numerics.contributions import Segments, Slices, Windows
from reference.ops.folds.reduction import FOLDS, map_, reduce, reduce_window, select_and_scatter
from reference.ops.table import OPS
from suites.meta.support.ops.reductions import (
    LOOPS,
    OPS_HERE,
    is_open,
    judge_result,
    last_operation,
    open_in,
    reduction_of,
    reduction_program,
    row,
)

F32, F64, F16, BF16, SI32, SI8, UI8, I1, C64 = (
    element_type(name)
    for name in ("f32", "f64", "f16", "bf16", "si32", "si8", "ui8", "i1", "complex<f32>")
)


@pytest.mark.parametrize("op", OPS_HERE)
@pytest.mark.parametrize("of", ALL[::2], ids=str)
def test_results_equal_loops_from_the_specification(op: str, of: ElementType) -> None:
    seen = 0
    for case in cases(op, of, seed=11, count=7):
        inputs = materialise(case.program, case.inputs[0])
        operation, operands = last_operation(case.program, inputs)
        if sum(x.size for x in operands) > 150:
            continue
        seen += 1
        with np.errstate(all="ignore"):
            actual = LOOPS[op](operation, operands)
        permitted = (Verdict.PASS, Verdict.UNSPECIFIED)
        assert judge_result(case.program, inputs, actual, op) in permitted, case.program
    assert seen >= 2


def test_extrema_have_signed_zeros_and_nan() -> None:
    for of in (F32, F64, F16, BF16):
        for numbers in ((0.0, -0.0), (-0.0, 0.0)):
            assert not np.signbit(reduction_of(fold_of("maximum", of), row(of, *numbers)))
            assert np.signbit(reduction_of(fold_of("minimum", of), row(of, *numbers)))
        assert np.signbit(reduction_of(fold_of("maximum", of), row(of, -0.0, -1.0)))
        assert np.isnan(reduction_of(fold_of("maximum", of), row(of, 1.0, np.nan, 2.0)))
        assert np.isnan(reduction_of(fold_of("minimum", of), row(of, np.nan)))


def test_sums_are_rounded_once() -> None:
    numbers = fill(TensorType((500,), F32), "wide", 3)
    numbers = numbers[np.abs(numbers) < 1e30]
    expected = np.float32(math.fsum(numbers.tolist()))
    assert reduction_of(fold_of("add", F32), numbers) == expected
    assert reduction_of(fold_of("add", F16), row(F16, *[0.0004883] * 4, 1.0)) == np.float16(1.002)
    halves = row(BF16, 256, *[1] * 9)  # by ones in bf16 it would stay 256
    assert float(reduction_of(fold_of("add", BF16), halves)) == 264.0


def test_integers_wrap_and_bits_fold() -> None:
    assert reduction_of(fold_of("add", SI8), np.array([100, 100, 100], np.int8)) == 44
    assert reduction_of(fold_of("multiply", UI8), np.array([16, 16, 3], np.uint8)) == 0
    assert reduction_of(fold_of("xor", UI8), np.array([5, 3, 6], np.uint8)) == 0
    assert reduction_of(fold_of("and", SI8), np.array([-2, 6], np.int8)) == 6
    for name, expected in (("si4", -8 + 7), ("ui2", 3)):
        of = element_type(name)
        low, high = (np.asarray(n).astype(of.storage) for n in (of.min_integer, of.max_integer))
        total = reduction_of(fold_of("add", of), np.stack([low, high]))
        assert int(total) == expected
    assert reduction_of(fold_of("add", I1), np.array([False, True, True]))


def test_a_reduction_without_elements_is_the_init_value() -> None:
    for op in bodies.monoid_ops(SI32):
        body = fold_of(op, SI32)
        empty = np.zeros((0, 3), np.int32)
        assert (reduction_of(body, empty) == body.identity[0].array).all()
        assert not is_open(body, empty).any()


def data_of(body: Monoid, of: ElementType) -> list[tuple[ElementType, str]]:
    """Element types and profiles such that nothing overflows."""
    profiles = list(body.rows[0])
    if of.is_float or of.is_complex:
        if body.name == "multiply":
            profiles = ["within:1:2" if of.bits > 8 else "values:1"]
        if "add" in body.name and of.bits < 16:
            profiles = ["within:0:1" if p == "small_integers" else p for p in profiles]
    return list(zip(body.inputs, profiles, strict=True))


@pytest.mark.parametrize("of", ALL, ids=str)
def test_bodies_are_monoids_on_their_data(of: ElementType) -> None:
    """With the identity for init value no order makes a difference (but to overflow)."""
    for body in (*(fold_of(op, of) for op in bodies.monoid_ops(of)), *bodies.multi_op_bodies(of)):
        inputs = [fill(TensorType((9, 4), t), p, 5) for t, p in data_of(body, of)]
        if body.name in ("first valid", "last valid"):
            inputs[1][:] = True
        program, arrays = reduction_program(body, inputs)
        program = add_outer_constants(program, body)
        limited = of.is_float and not of.float_format.has_infinity
        if not limited:
            assert not open_in(program, arrays).any(), body.name
        assert len(evaluate(program, arrays)) == len(body.results)


def add_outer_constants(program: Program, body: Monoid) -> Program:
    """Return the program with the constants that the body names."""
    if not body.outside:
        return program
    main = program.main
    region = Region(main.arguments, (*body.outside, *main.body.operations))
    return Program((type(main)(main.name, region, main.result_types),))


def test_affine_maps_are_composed_in_order() -> None:
    maps = next(body for body in bodies.multi_op_bodies(SI32) if body.name == "affine maps")
    a, b = np.array([2, 3, 5], np.int32), np.array([1, 10, 100], np.int32)
    program, arrays = reduction_program(maps, (a, b))
    first, second = evaluate(program, arrays)
    assert (int(first), int(second)) == (30, ((0 * 2 + 1) * 3 + 10) * 5 + 100)


def test_argmax_is_the_first_of_equal_elements() -> None:
    body = bodies.multi_op_bodies(F32)[0]
    values, index = row(F32, 1, 7, 3, 7), np.arange(4, dtype=np.int32)
    program, arrays = reduction_program(body, (values, index))
    value, place = evaluate(program, arrays)
    assert (float(value), int(place)) == (7.0, 1)
    program, arrays = reduction_program(body, (row(F32, 1, np.nan, 3, np.nan), index))
    assert int(evaluate(program, arrays)[1]) == 1


def test_promotion_folds_in_the_wider_type() -> None:
    body = fold_of("add", SI8, SI32)
    assert reduction_of(body, np.full(100, 100, np.int8)) == 10000
    assert reduction_of(fold_of("add", F16, F32), row(F16, 60000, 60000)) == np.float32(120000)
    assert not is_open(fold_of("add", F16, F32), row(F16, 60000, 60000))


@pytest.mark.parametrize("size", [1, 2, 3, 31, 40, 64, 100])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (3, 1), (1, 2), (2, 3)])
def test_long_windows_are_folded_by_doubling(size: int, stride: int, dilation: int) -> None:
    numbers = np.random.default_rng(size).integers(-9, 9, 400)
    leaves = Windows((400,), (size,), (stride,), (1,), (dilation,), ((5, -7),))
    padded = np.concatenate([np.full(5, 1), numbers[:-7]])
    span = (size - 1) * dilation + 1
    for ufunc in (np.add, np.minimum, np.bitwise_xor):
        expected = [
            ufunc.reduce(padded[start : start + span : dilation])
            for start in range(0, len(padded) - span + 1, stride)
        ]
        assert leaves.fold(ufunc, numbers, 1, 0).tolist() == expected


def test_segments_keep_the_order_of_elements() -> None:
    leaves = Segments((2, 2), np.array([3, 0, -1, 3, 0, 3]))
    assert leaves.counts.tolist() == [[2, 0], [0, 3]]
    values = np.arange(6)
    assert leaves.fold(np.add, values, 0, 0).tolist() == [[5, 0], [0, 8]]
    groups = {int(w): rows[0][:, n].tolist() for where, rows in leaves.groups((values,), ())
              for n, w in enumerate(where)}  # fmt: skip
    assert groups == {0: [1, 4], 1: [], 2: [], 3: [0, 3, 5]}
    assert Slices((2, 0), (1,)).counts.tolist() == [0, 0]


def test_types_are_inferred() -> None:
    matrix, scalar = TensorType((4, None, 2), F16), TensorType((), F16)
    wide = fold_of("add", F16, F32).region
    infer = OPS["reduce"].infer
    assert infer(matrix, scalar, dimensions=(0,), regions=(wide,)) == (TensorType((None, 2), F32),)
    assert OPS["reduce_window"].infer(
        matrix, scalar, window_dimensions=(3, 2, 2), window_strides=(2, 1, 1), regions=(wide,)
    ) == (TensorType((1, None, 1), F32),)
    source = TensorType((2, None, 1), F16)
    assert OPS["select_and_scatter"].infer(
        matrix, source, scalar, window_dimensions=(3, 1, 2), regions=(selector(F16, "GE"), wide)
    ) == TensorType((4, None, 2), F32)
    block = BodyBuilder.of(F16)
    compare = block.finish_region(block.compare(block.arguments[0], block.constant(0, F16), "GT"))
    assert OPS["map"].infer(matrix, dimensions=(0, 1, 2), regions=(compare,)) == TensorType(
        matrix.shape, I1
    )


# --- The ops on arrays ---------------------------------------------------------------------------


def test_a_map_is_applied_element_by_element_in_any_shape() -> None:
    block = BodyBuilder.of(SI32, SI32)
    body = body_of(block.finish_region(block.op("subtract", *block.arguments)))
    numbers = np.arange(6, dtype=np.int32).reshape(2, 3)
    found = map_((numbers, numbers[::-1]), dimensions=(0, 1), computation=body)
    assert found.tolist() == [[-3, -3, -3], [3, 3, 3]]


def test_dimensions_are_folded_and_windows_counted() -> None:
    body = body_of(fold_of("add", SI32).region)
    numbers, init = np.arange(6, dtype=np.int32).reshape(2, 3), np.array(10, np.int32)
    (rows,) = reduce((numbers,), (init,), dimensions=(1,), body=body)
    assert rows.tolist() == [13, 22]
    (windows,) = reduce_window(
        (numbers,), (init,), body=body, window_dimensions=(1, 2), padding=matrix([[0, 0], [0, 1]])
    )
    assert windows.tolist() == [[11, 13, 22], [17, 19, 25]]  # padding is an init value, too


def test_a_source_is_added_where_its_window_selects() -> None:
    larger, add = selector(SI32, "GE"), fold_of("add", SI32).region
    found = select_and_scatter(
        np.array([1, 5, 2, 4], np.int32), np.array([10, 20], np.int32), np.array(1, np.int32),
        select=body_of(larger), scatter=body_of(add), window_dimensions=(2,), window_strides=(2,),
    )  # fmt: skip
    assert found.tolist() == [1, 11, 1, 21]


def test_a_map_folds_nothing() -> None:
    assert {"reduce", "reduce_window", "select_and_scatter"} == FOLDS
