"""Reductions against loops written from the specification, element by element.

Where the reference says that the order makes a difference (`unspecified`) nothing is compared;
sums and products may differ by their bound.
"""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from conformance.catalog import CATALOG, rule_of
from conformance.judging.compare import judge
from conformance.known.xla.orders import LABEL, TILES, UNPADDED, WINDOWED
from conformance.tolerance.bounds.reduction import (
    reduction_bound,
    rounding_operations,
)
from conformance.tolerance.ulp import bound_distances
from conformance.verdict import Verdict
from generators.cells.plan import cases
from generators.families.reduction import padding_of
from generators.regions import bodies
from generators.regions.bodies import BodyBuilder, Monoid, fold_of, literal, selector
from generators.values.contents import fill, materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Attribute, Program, Region, TensorType, Value, single_op
from reference.ir.types import ALL, Array, ElementType, element_type
from reference.numerics.contributions import Segments, Slices, Windows
from reference.numerics.rounding import to_float64
from reference.ops.table import OPS
from reference.unspecified.reduction import tiled_inits
from suites.meta.support.reductions import (
    LOOPS,
    OPS_HERE,
    is_open,
    judged,
    last,
    open_in,
    reduced,
    reducing,
    row,
    types_of,
)

F32, F64, F16, BF16, SI32, SI8, UI8, I1, C64 = (
    element_type(name)
    for name in ("f32", "f64", "f16", "bf16", "si32", "si8", "ui8", "i1", "complex<f32>")
)


@pytest.mark.parametrize("op", OPS_HERE)
@pytest.mark.parametrize("of", ALL[::2], ids=str)
def test_results_are_those_of_the_loops(op: str, of: ElementType) -> None:
    seen = 0
    for case in cases(op, of, seed=11, count=7):
        inputs = materialise(case.program, case.inputs[0])
        operation, operands = last(case.program, inputs)
        if sum(x.size for x in operands) > 150:
            continue
        seen += 1
        with np.errstate(all="ignore"):
            actual = LOOPS[op](operation, operands)
        permitted = (Verdict.PASS, Verdict.UNSPECIFIED)
        assert judged(case.program, inputs, actual, op) in permitted, case.program
    assert seen >= 2


def test_extrema_have_signed_zeros_and_nan() -> None:
    for of in (F32, F64, F16, BF16):
        for numbers in ((0.0, -0.0), (-0.0, 0.0)):
            assert not np.signbit(reduced(fold_of("maximum", of), row(of, *numbers)))
            assert np.signbit(reduced(fold_of("minimum", of), row(of, *numbers)))
        assert np.signbit(reduced(fold_of("maximum", of), row(of, -0.0, -1.0)))
        assert np.isnan(reduced(fold_of("maximum", of), row(of, 1.0, np.nan, 2.0)))
        assert np.isnan(reduced(fold_of("minimum", of), row(of, np.nan)))


def test_sums_are_rounded_once() -> None:
    numbers = fill(TensorType((500,), F32), "wide", 3)
    numbers = numbers[np.abs(numbers) < 1e30]
    expected = np.float32(math.fsum(numbers.tolist()))
    assert reduced(fold_of("add", F32), numbers) == expected
    assert reduced(fold_of("add", F16), row(F16, *[0.0004883] * 4, 1.0)) == np.float16(1.002)
    halves = row(BF16, 256, *[1] * 9)  # by ones in bf16 it would stay 256
    assert float(reduced(fold_of("add", BF16), halves)) == 264.0


def test_integers_wrap_and_bits_fold() -> None:
    assert reduced(fold_of("add", SI8), np.array([100, 100, 100], np.int8)) == 44
    assert reduced(fold_of("multiply", UI8), np.array([16, 16, 3], np.uint8)) == 0
    assert reduced(fold_of("xor", UI8), np.array([5, 3, 6], np.uint8)) == 0
    assert reduced(fold_of("and", SI8), np.array([-2, 6], np.int8)) == 6
    for name, expected in (("si4", -8 + 7), ("ui2", 3)):
        of = element_type(name)
        low, high = (np.asarray(n).astype(of.storage) for n in (of.min_integer, of.max_integer))
        total = reduced(fold_of("add", of), np.stack([low, high]))
        assert int(total) == expected
    assert reduced(fold_of("add", I1), np.array([False, True, True]))


def test_nothing_to_reduce_is_the_init_value() -> None:
    for op in bodies.ops_of(SI32):
        body = fold_of(op, SI32)
        empty = np.zeros((0, 3), np.int32)
        assert (reduced(body, empty) == body.identity[0].array).all()
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
    for body in (*(fold_of(op, of) for op in bodies.ops_of(of)), *bodies.several(of)):
        inputs = [fill(TensorType((9, 4), t), p, 5) for t, p in data_of(body, of)]
        if body.name in ("first valid", "last valid"):
            inputs[1][:] = True
        program, arrays = reducing(body, inputs)
        program = outside(program, body)
        limited = of.is_float and not of.float_format.has_infinity
        if not limited:
            assert not open_in(program, arrays).any(), body.name
        assert len(evaluate(program, arrays)) == len(body.results)


def outside(program: Program, body: Monoid) -> Program:
    """The program with the constants that the body names."""
    if not body.outside:
        return program
    main = program.main
    region = Region(main.arguments, (*body.outside, *main.body.operations))
    return Program((type(main)(main.name, region, main.result_types),))


def test_affine_maps_are_composed_in_order() -> None:
    maps = next(body for body in bodies.several(SI32) if body.name == "affine maps")
    a, b = np.array([2, 3, 5], np.int32), np.array([1, 10, 100], np.int32)
    program, arrays = reducing(maps, (a, b))
    first, second = evaluate(program, arrays)
    assert (int(first), int(second)) == (30, ((0 * 2 + 1) * 3 + 10) * 5 + 100)


def test_place_of_the_largest_is_the_first_of_equals() -> None:
    body = bodies.several(F32)[0]
    values, index = row(F32, 1, 7, 3, 7), np.arange(4, dtype=np.int32)
    program, arrays = reducing(body, (values, index))
    value, place = evaluate(program, arrays)
    assert (float(value), int(place)) == (7.0, 1)
    program, arrays = reducing(body, (row(F32, 1, np.nan, 3, np.nan), index))
    assert int(evaluate(program, arrays)[1]) == 1


def test_promotion_folds_in_the_wider_type() -> None:
    body = fold_of("add", SI8, SI32)
    assert reduced(body, np.full(100, 100, np.int8)) == 10000
    assert reduced(fold_of("add", F16, F32), row(F16, 60000, 60000)) == np.float32(120000)
    assert not is_open(fold_of("add", F16, F32), row(F16, 60000, 60000))


# --- What is open --------------------------------------------------------------------------------


def test_init_values_come_in_any_number() -> None:
    numbers = np.array([[1, 9], [2, 3]], np.int32)
    seven = [np.asarray(7, np.int32)]
    assert is_open(fold_of("add", SI32), numbers, inits=seven).all()
    assert is_open(fold_of("maximum", SI32), numbers, inits=seven).tolist() == [True, False]
    assert is_open(fold_of("minimum", SI32), numbers, inits=seven).tolist() == [False, False]
    zero = np.zeros((2, 2), np.int32)
    assert not is_open(fold_of("multiply", SI32), zero, inits=seven).any()
    body = bodies.several(SI32)[0]
    index = np.array([[0, 0], [1, 1]], np.int32)
    start = [np.asarray(5, np.int32), np.asarray(0, np.int32)]
    assert is_open(body, numbers, index, inits=start).tolist() == [True, False]


def test_sums_that_overflow_in_some_orders_are_open() -> None:
    sum_, big = fold_of("add", F32), 3e38
    assert is_open(sum_, row(F32, big, big, -big))
    assert not is_open(sum_, row(F32, big, big, big))  # in any order
    assert reduced(sum_, row(F32, big, big, big)) == np.inf
    assert not is_open(sum_, row(F32, big, -big, 1.0))
    assert not is_open(sum_, row(F32, np.inf, 1, -np.inf))
    assert is_open(sum_, row(F32, np.inf, -big, -big))
    assert not is_open(sum_, row(F32, np.nan, big, big, -big))
    limited = element_type("f8E4M3FN")
    assert is_open(fold_of("add", limited), row(limited, 448, 448))
    assert not is_open(fold_of("add", limited), row(limited, 128, 192))


def test_products_that_leave_the_range_in_some_orders_are_open() -> None:
    body = fold_of("multiply", F32)
    assert is_open(body, row(F32, 1e30, 1e30, 1e-30))
    assert is_open(body, row(F32, 1e-30, 1e-30, 1e30))
    assert not is_open(body, row(F32, 1e30, 1e30))
    assert not is_open(body, row(F32, 0, 1e30))
    assert is_open(body, row(F32, 0, 1e30, 1e30))
    assert not is_open(body, row(F32, 0, np.inf))  # NaN in any order
    assert not is_open(body, row(F32, 2, 3, 0.5))


def test_a_body_that_is_not_associative_is_open() -> None:
    block = BodyBuilder.of(SI32, SI32)
    region = block.returns(block.op("subtract", *block.arguments))
    body = Monoid("difference", region, (SI32,), (literal(0, SI32),), (("bits",),))
    assert is_open(body, np.array([1, 2, 4], np.int32))


def test_folding_one_by_one_is_tried_of_long_rows_too() -> None:
    """Zero times an element at a time; pairs of elements overflow, and zero times that is NaN."""
    block = BodyBuilder.of(F16, F16, F16, F16)
    first, second, third, _ = block.arguments
    products = block.op("multiply", first, third), block.op("multiply", second, third)
    inits = (literal(1, F16), literal(0, F16))
    body = Monoid("products", block.returns(*products), (F16, F16), inits, (("bits",),) * 2)
    numbers = row(F16, *[1] * 38, 3e4, 3e4)
    expected = evaluate(*reducing(body, [numbers, numbers]))
    assert np.isnan(expected[1])
    actual = (expected[0], row(F16, 0)[0])
    found = judge(
        *reducing(body, [numbers, numbers]), expected, actual, CATALOG["reduce"].tolerance
    )
    assert found.verdict is Verdict.UNSPECIFIED


def test_complex_extrema_are_open_where_their_order_is() -> None:
    body = Monoid("maximum", fold_of("maximum", C64).region, (C64,), (literal(-9, C64),), ())
    numbers = np.array([[1 + 2j, 0], [1 + 3j, complex(np.nan, 1)]], np.complex64)
    assert is_open(body, numbers).tolist() == [False, True]
    assert reduced(body, numbers)[0] == 1 + 3j


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


# --- Bounds --------------------------------------------------------------------------------------


def bound_of(body: Monoid, *inputs: Array) -> Array:
    program, arrays = reducing(body, inputs)
    operation, operands = last(program, arrays)
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
    expected, bound = reduced(body, numbers), bound_of(body, numbers)
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


def test_exact_data_leaves_no_room() -> None:
    numbers = fill(TensorType((64, 8), F32), "small_integers", 1)
    assert not bound_of(fold_of("add", F32), numbers).any()
    assert not bound_of(fold_of("add", F32), numbers / np.float32(1024)).any()
    assert bound_of(fold_of("add", F32), numbers + np.float32(1e-6)).all()
    powers = fill(TensorType((30, 8), F32), "within:1:2", 1)
    assert not bound_of(fold_of("multiply", F32), powers).any()
    large = np.full((300, 1), 255.0, np.float32).astype(BF16.storage)
    assert bound_of(fold_of("add", BF16), large).all()  # partial sums need 16 bits


def test_a_lost_or_repeated_element_is_found() -> None:
    numbers = fill(TensorType((64, 8), F32), "small_integers", 1)
    program, arrays = reducing(fold_of("add", F32), (numbers,))
    right = evaluate(program, arrays)
    assert judged(program, arrays, right, "reduce") is Verdict.PASS
    for wrong in (right[0] - numbers[7], right[0] + numbers[7]):
        assert judged(program, arrays, (wrong,), "reduce") is Verdict.DIVERGENT
    program, arrays = reducing(fold_of("maximum", F32), (numbers,))
    (most,) = evaluate(program, arrays)
    off = np.nextafter(most, np.float32(np.inf))
    assert judged(program, arrays, (off,), "reduce") is Verdict.DIVERGENT


def test_complex_sums_with_a_nan_part_are_judged_by_the_other() -> None:
    numbers = np.array([complex(0.1, np.nan), 0.2 + 1j, 0.7], np.complex64)
    program, arrays = reducing(fold_of("add", C64), (numbers,))
    (right,) = evaluate(program, arrays)
    real = np.real(right)
    near = np.asarray(complex(np.nextafter(real, np.float32(2)), np.nan), np.complex64)
    far = np.asarray(complex(real + 0.5, np.nan), np.complex64)
    assert judged(program, arrays, (near,), "reduce") is Verdict.PASS
    assert judged(program, arrays, (far,), "reduce") is Verdict.DIVERGENT


def test_rounding_operations_of_a_body() -> None:
    block = BodyBuilder.of(F32, SI32, F32, SI32)
    a, m, b, n = block.arguments
    total = block.op("add", a, b)
    larger = block.op("select", block.compare(a, b, "GT"), m, n)
    assert rounding_operations(block.returns(total, larger)) == (1, 1)
    assert rounding_operations(bodies.several(F32)[0].region) == (0, 0)


def test_map_is_bounded_by_its_operations() -> None:
    of = TensorType((5,), F32)
    block = BodyBuilder.of(F32, F32)
    total = block.op("add", *block.arguments)

    def bound(region: Region, x: Array, y: Array) -> Array | None:
        values = Value("x", of), Value("y", of)
        program = single_op("map", values, (of,), {"dimensions": (0,)}, (region,))
        operation, operands = last(program, (x, y))
        rule = rule_of(operation)
        assert rule is not None
        assert rule.bound is not None
        return rule.bound(operation, operands, evaluate(program, (x, y)))[0]

    x = fill(of, "moderate", 1)
    assert bound(block.returns(total), x, x) is None
    twice = bound(block.returns(block.op("multiply", total, total)), x, x)
    assert twice is not None
    unit = np.abs(4 * to_float64(x) ** 2) * 2.0**-23
    assert ((twice > unit) & (twice < 8 * unit)).all()


@pytest.mark.parametrize(("name", "ulps"), [("exponential", 3), ("tanh", 5), ("mhlo.erf", 16)])
def test_map_grants_an_operation_the_budget_of_its_own_rule(name: str, ulps: float) -> None:
    """On whatever hardware: a GPU may be off by 3 ulp in an exponential."""
    of = TensorType((5,), F32)
    block = BodyBuilder.of(F32)
    region = block.returns(block.op(name, *block.arguments))
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


def test_windows_without_their_padding_are_named() -> None:
    body, arrays = fold_of("multiply", UI8), (np.array([240], np.uint8), np.array(40, np.uint8))
    values = tuple(Value(f"x{n}", of) for n, of in enumerate(types_of(arrays)))
    given: dict[str, Attribute] = {"window_dimensions": (4,), "padding": padding_of(((3, 0),))}
    result = TensorType((1,), UI8)
    program = single_op("reduce_window", values, (result,), given, (body.region,))
    assert evaluate(program, arrays)[0].tolist() == [0]
    expected = evaluate(program, arrays)
    rule = CATALOG["reduce_window"].tolerance
    for number, kind in ((128, UNPADDED), (7, "wrong value")):
        found = judge(program, arrays, expected, (np.array([number], np.uint8),), rule)
        assert (found.verdict, found.kind) == (Verdict.DIVERGENT, kind)


def test_elements_in_another_order_are_named() -> None:
    body = next(body for body in bodies.several(SI32) if body.name == "first valid")
    random = np.random.default_rng(2)
    values = np.arange(24, dtype=np.int32).reshape(4, 6)
    valid = random.integers(0, 2, (4, 6)).astype(bool)
    arrays = (values, valid, *(dense.array for dense in body.identity))
    names = tuple(Value(f"x{n}", of) for n, of in enumerate(types_of(arrays)))

    def windows(arrays: Sequence[Array]) -> tuple[Array, ...]:
        of = [TensorType((3, 4), SI32), TensorType((3, 4), I1)]
        given: dict[str, Attribute] = {"window_dimensions": (2, 3)}
        program = single_op("reduce_window", names, tuple(of), given, (body.region,))
        operation, operands = last(program, arrays)
        expected = evaluate(program, arrays)
        ordered, tiled, _ = WINDOWED
        assert (ordered.label, tiled.label) == (LABEL, TILES)
        found, nothing = ordered.errors(operation, operands, expected, (columns, expected[1]))
        assert np.isinf(nothing).all()
        assert ((found <= 1) == (columns != expected[0])).all()
        assert (found <= 1).any()
        return expected

    columns = np.array([
        [
            next(
                (values[i + a, j + b] for b in range(3) for a in range(2) if valid[i + a, j + b]),
                values[i + 1, j + 2],
            )
            for j in range(4)
        ]
        for i in range(3)
    ], np.int32)  # fmt: skip
    windows(arrays)


# --- Windows and types ---------------------------------------------------------------------------


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
    compare = block.returns(block.compare(block.arguments[0], block.constant(0, F16), "GT"))
    assert OPS["map"].infer(matrix, dimensions=(0, 1, 2), regions=(compare,)) == TensorType(
        matrix.shape, I1
    )


def test_subnormals_may_be_flushed_in_a_whole_reduction() -> None:
    numbers = np.full(2000, 1e-40, np.float32)  # their sum is normal
    program, arrays = reducing(fold_of("add", F32), (numbers,))
    zero = np.zeros((), np.float32)
    assert judged(program, arrays, (zero,), "reduce") is Verdict.FLUSHED


@pytest.mark.parametrize(("size", "inits"), [(0, 1), (3, 1), (4, 1), (5, 2), (17, 5)])
def test_init_values_may_stand_before_every_few_elements(size: int, inits: int) -> None:
    """As what is computed in tiles has them: the specification permits any number, anywhere."""

    def added(left: Array, right: Array) -> tuple[Array, ...]:
        return (left + right,)

    rows = (np.arange(2 * size).reshape(size, 2),)
    (total,) = tiled_inits(4)(added, rows, (np.array(1000),))
    assert total.tolist() == (rows[0].sum(axis=0) + 1000 * inits).tolist()


def test_a_single_init_value_may_stand_between_any_two_elements() -> None:
    """Of matrices modulo 4; the init value, no identity, is seen only before the last."""
    of = element_type("ui2")
    matrices = next(b for b in bodies.several(of) if b.name == "matrices")
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
