"""Signs of zeros of sums: the reference's, and the signs that the rules permit.

The permitted signs of `reduce` are found by enumerating every tree of the specification: the
elements in order, up to two init values at any position, +0 and -0 distinguished. The verdicts on
+0 and on -0 are compared with them.
"""

from collections.abc import Sequence
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import pytest

from conformance.campaign.planning import cases_of
from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.judging.judgement import Judgement
from conformance.verdict import Verdict
from generators.cells.plan import cases
from generators.families.reduction import padding_of
from generators.regions.bodies import BodyBuilder, fold_of, selector
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Attribute, Operation, Program, Region, TensorType, Value, single_op
from reference.ir.types import ALL, Array, ElementType, element_type, element_type_of
from reference.numerics.zeros import is_negative_zero, is_zero
from reference.unspecified.table import unspecified_elements
from suites.meta.support.ops.reductions import last_operation, reduction_program, row

BF16, F16, F32, F64, F8, FNUZ, C64, C128 = (
    element_type(name)
    for name in (
        "bf16", "f16", "f32", "f64", "f8E5M2", "f8E5M2FNUZ", "complex<f32>", "complex<f64>",
    )
)  # fmt: skip
LEAVES = (0.0, -0.0, 1.0, -1.0)
ZEROS = (0.0, -0.0)
SIGNED = (Verdict.DIVERGENT, "signed zero")
SIGN_KINDS = ("signed zero", "zeros taken for equal")


def judge_result(
    program: Program, inputs: Sequence[Array], actual: Array, **given: Any
) -> Judgement:
    expected = evaluate(program, inputs)
    rule = CATALOG[program.subject.name].tolerance
    return judge(program, inputs, expected, (actual,), rule, **given)


def permits(program: Program, inputs: Sequence[Array], actual: Array) -> bool:
    """Return whether a result passes; a failing result fails because of the sign of its zeros."""
    found = judge_result(program, inputs, actual)
    assert found.verdict is Verdict.PASS or found.verdict is Verdict.DIVERGENT
    assert found.verdict is Verdict.PASS or found.kind in SIGN_KINDS
    return found.verdict is Verdict.PASS


def program_of(
    op: str, operands: Sequence[Array], to: TensorType, *regions: Region, **given: Attribute
) -> Program:
    types = [TensorType(x.shape, element_type_of(x)) for x in operands]
    values = tuple(Value(f"x{n}", of) for n, of in enumerate(types))
    return single_op(op, values, (to,), given, regions)


def signs(program: Program, inputs: Sequence[Array]) -> list[tuple[bool, bool]]:
    """Return for each zero element of the result whether it may be +0, and whether it may be -0."""
    (expected,) = evaluate(program, inputs)
    assert is_zero(expected).all()
    found: list[tuple[bool, bool]] = []
    for place in np.ndindex(expected.shape):
        both: list[bool] = []
        for zero in ZEROS:
            actual = expected.copy()
            actual[place] = zero
            both.append(permits(program, inputs, actual))
        found.append((both[0], both[1]))
    return found


PLUS, MINUS, EITHER = (True, False), (False, True), (True, True)


# -- every schedule -------------------------------------------------------------------------------


@cache
def trees(leaves: tuple[str, ...]) -> frozenset[str]:
    """Return the sums of all binary trees over these leaves, in order, in hexadecimal."""
    if len(leaves) == 1:
        return frozenset(leaves)
    found: set[str] = set()
    for cut in range(1, len(leaves)):
        for left, right in product(trees(leaves[:cut]), trees(leaves[cut:])):
            found.add((float.fromhex(left) + float.fromhex(right)).hex())
    return frozenset(found)


def schedules(leaves: Sequence[float], init: float) -> set[str]:
    """Return the same with none, one or two init values anywhere."""
    found: set[str] = set()
    for count in range(3):
        for places in combinations_with_replacement(range(len(leaves) + 1), count):
            whole = list(leaves)
            for place in reversed(places):
                whole.insert(place, init)
            if whole:
                found |= trees(tuple(number.hex() for number in whole))
    return found


def replace_element(array: Array, place: int, number: float) -> Array:
    """Return the array with an element, or the real part of it, replaced by a number."""
    changed = array.copy()
    if array.dtype.kind == "c":
        changed.real[place] = number
    else:
        changed[place] = number
    return changed


def held_against(program: Program, inputs: Sequence[Array], permitted: Sequence[set[str]]) -> None:
    """Return the reference's result, and the verdicts on both zeros, against the
    permitted zeros.
    """
    (expected,) = evaluate(program, inputs)
    for place, right in enumerate(permitted):
        want = float(np.real(expected[place]))
        assert want.hex() in right
        for zero in ZEROS if want == 0 else ():
            actual = replace_element(expected, place, zero)
            assert permits(program, inputs, actual) == (zero.hex() in right), (place, zero)


def columns_of(of: ElementType, columns: Sequence[tuple[float, ...]]) -> Array:
    """[elements, columns]; imaginary parts are 1 for complex types."""
    numbers = np.array(columns, np.float64).reshape(len(columns), -1).T
    if of.is_complex:
        both = np.stack([numbers, np.ones_like(numbers)], axis=-1)
        return both.view(np.complex128)[..., 0].astype(of.storage)
    return numbers.astype(of.storage)


@pytest.mark.parametrize("of", [F8, BF16, F16, F32, F64, C64, C128], ids=str)
@pytest.mark.parametrize("init", ZEROS)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_reduce(of: ElementType, init: float, depth: int) -> None:
    columns = list(product(LEAVES, repeat=depth))
    start = columns_of(of, [(init,)])[0, 0]
    if of.is_complex:
        start = np.array([init, 0.0]).view(np.complex128)[0].astype(of.storage)
    program, inputs = reduction_program(
        fold_of("add", of), [columns_of(of, columns)], [np.asarray(start)]
    )
    held_against(program, inputs, [schedules(column, init) for column in columns])


@pytest.mark.parametrize("of", [F8, F16, F32, F64, C64], ids=str)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_scatter(of: ElementType, count: int) -> None:
    columns = list(product(LEAVES, repeat=count + 1))
    elements = columns_of(of, columns)
    operands = (elements[0], np.zeros((count, 1), np.int32), elements[1:])
    program = program_of(
        "scatter", operands, TensorType((len(columns),), of), fold_of("add", of).region,
        update_window_dims=(1,), inserted_window_dims=(), input_batching_dims=(),
        scatter_indices_batching_dims=(), scatter_dims_to_operand_dims=(0,), index_vector_dim=1,
        indices_are_sorted=False, unique_indices=False,
    )  # fmt: skip
    permitted: list[set[str]] = []
    for first, *updates in columns:
        orders = [float(np.sum([first, *order], initial=-0.0)) for order in permutations(updates)]
        permitted.append({number.hex() for number in orders})
    held_against(program, operands, permitted)


def dot(lhs: Array, rhs: Array, of: ElementType | None = None, **given: Attribute) -> Program:
    to = TensorType((lhs.shape[0], rhs.shape[1]), of or element_type_of(lhs))
    return program_of(
        "dot_general", (lhs, rhs), to,
        lhs_contracting_dimensions=(1,), rhs_contracting_dimensions=(0,), **given,
    )  # fmt: skip


@pytest.mark.parametrize("of", [F8, F16, F32, F64], ids=str)
@pytest.mark.parametrize("factor", [1.0, -1.0])
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_dot_general(of: ElementType, factor: float, depth: int) -> None:
    rows = list(product(LEAVES, repeat=depth))
    lhs = columns_of(of, rows).T.copy()
    rhs = np.full((depth, 1), factor).astype(of.storage)
    program = dot(lhs, rhs)
    (expected,) = evaluate(program, (lhs, rhs))
    assert not is_negative_zero(expected).any()  # the schedule with one init value
    for place, leaves in enumerate(rows):
        right = schedules([leave * factor for leave in leaves], 0.0)
        for zero in ZEROS if expected[place, 0] == 0 else ():
            actual = expected.copy()
            actual[place, 0] = zero
            assert permits(program, (lhs, rhs), actual) == (zero.hex() in right), leaves


# -- init values and padding ----------------------------------------------------------------------


@pytest.mark.parametrize("of", [F32, BF16, C64, C128], ids=str)
def test_empty_sum_is_the_init_value(of: ElementType) -> None:
    for init, right in ((0.0, PLUS), (-0.0, MINUS)):
        start = np.asarray(complex(init, init) if of.is_complex else init).astype(of.storage)
        program, inputs = reduction_program(
            fold_of("add", of), [np.zeros((0, 2), of.storage)], [start]
        )
        if not of.is_complex:
            assert signs(program, inputs) == [right] * 2
        (result,) = evaluate(program, inputs)
        assert (is_negative_zero(result) == right[1]).all()


def windows(numbers: Array, init: float, low: int, high: int) -> tuple[Program, tuple[Array, ...]]:
    operands = (numbers, np.asarray(init, numbers.dtype))
    size = len(numbers) + low + high - 1
    program = program_of(
        "reduce_window", operands, TensorType((size,), F32), fold_of("add", F32).region,
        window_dimensions=(2,), padding=padding_of(((low, high),)),
    )  # fmt: skip
    return program, operands


def test_padding_is_among_the_elements_of_a_window() -> None:
    numbers = row(F32, -0.0, -0.0, 0.0)
    assert signs(*windows(numbers, 0.0, 1, 2)) == [PLUS, EITHER, PLUS, PLUS, PLUS]
    assert signs(*windows(numbers, -0.0, 1, 2)) == [MINUS, MINUS, PLUS, PLUS, MINUS]


def test_elements_without_source_have_the_init_value() -> None:
    operand, source = row(F32, 1, 2, 3, 4, 5, 6), row(F32, -0.0, 0.0)
    for init, right in (
        (0.0, [PLUS, PLUS, EITHER, PLUS, PLUS, PLUS]),
        (-0.0, [MINUS, MINUS, MINUS, MINUS, MINUS, PLUS]),
    ):
        operands = (operand, source, np.asarray(init, np.float32))
        program = program_of(
            "select_and_scatter", operands, TensorType((6,), F32), selector(F32, "GE"),
            fold_of("add", F32).region, window_dimensions=(3,), window_strides=(3,),
        )  # fmt: skip
        assert signs(program, operands) == right


def test_element_without_update_keeps_its_sign() -> None:
    """This holds for other computations, too, whose own zeros may have any sign."""
    block = BodyBuilder.of(F32, F32)
    first, second = block.arguments
    region = block.finish_region(block.op("add", block.op("add", first, second), first))
    operands = (row(F32, -0.0, -0.0, 0.0), np.array([[1]], np.int32), row(F32, -0.0))
    program = program_of(
        "scatter", operands, TensorType((3,), F32), region,
        update_window_dims=(), inserted_window_dims=(0,), input_batching_dims=(),
        scatter_indices_batching_dims=(), scatter_dims_to_operand_dims=(0,), index_vector_dim=1,
        indices_are_sorted=False, unique_indices=False,
    )  # fmt: skip
    assert signs(program, operands) == [MINUS, EITHER, PLUS]


def test_only_the_sign_of_a_sum_of_negative_zeros_is_free() -> None:
    program, inputs = reduction_program(
        fold_of("add", F32), [row(F32, -0.0, -0.0)], [np.zeros((), np.float32)]
    )
    operation, operands = last_operation(program, inputs)
    (expected,) = evaluate(program, inputs)
    assert not any(mask.any() for _, mask in unspecified_elements(operation, operands, expected))
    assert judge_result(program, inputs, np.float32(5) + expected).verdict is Verdict.DIVERGENT


def test_products_have_the_sign_that_their_elements_give() -> None:
    program, inputs = reduction_program(
        fold_of("multiply", F32), [row(F32, -0.0, -2.0, 3.0)[:, None]]
    )
    assert signs(program, inputs) == [PLUS]
    program, inputs = reduction_program(
        fold_of("multiply", F32), [row(F32, -0.0, 2.0, 3.0)[:, None]]
    )
    assert signs(program, inputs) == [MINUS]


# -- sums of products -----------------------------------------------------------------------------


def test_the_sign_of_a_zero_complex_product_is_free_and_of_a_cancelled_sum_is_not() -> None:
    rhs = np.array([[1], [1]], np.complex64)
    for numbers, right in (([0, 0], EITHER), ([1, -1], PLUS)):
        lhs = np.array([numbers], np.complex64)
        program = dot(lhs, rhs)
        for zero, good in zip(ZEROS, right, strict=True):
            actual = np.array([[complex(zero, 0)]], np.complex64)
            assert permits(program, (lhs, rhs), actual) == good


def convolution_of(
    lhs: Array, rhs: Array, low: int, high: int
) -> tuple[Program, tuple[Array, ...]]:
    """Return a convolution of one channel along one dimension."""
    operands = (lhs.reshape(1, -1, 1), rhs.reshape(-1, 1, 1))
    size = len(lhs) + low + high - len(rhs) + 1
    program = program_of(
        "convolution", operands, TensorType((1, size, 1), F32),
        input_batch_dimension=0, input_feature_dimension=2, input_spatial_dimensions=(1,),
        kernel_input_feature_dimension=1, kernel_output_feature_dimension=2,
        kernel_spatial_dimensions=(0,), output_batch_dimension=0, output_feature_dimension=2,
        output_spatial_dimensions=(1,), padding=padding_of(((low, high),)),
    )  # fmt: skip
    return program, operands


def test_padding_of_a_convolution_is_positive_zero() -> None:
    negative, positive = row(F32, -0.0, -0.0), row(F32, 0.0, 0.0)
    assert signs(*convolution_of(negative, row(F32, 1, 2), 1, 1)) == [PLUS, EITHER, PLUS]
    assert signs(*convolution_of(negative, row(F32, -1, 2), 1, 1)) == [EITHER, PLUS, PLUS]
    assert signs(*convolution_of(positive, row(F32, -1, -2), 1, 1)) == [EITHER, EITHER, EITHER]


def test_zeros_of_exact_sums_have_their_sign_on_every_platform() -> None:
    program, operands = convolution_of(row(F32, 0.0, -0.0), row(F32, 1, 2), 1, 1)
    (expected,) = evaluate(program, operands)
    for platform in ("cpu", "gpu"):
        found = judge_result(program, operands, -expected, platform=platform)
        assert (found.verdict, found.kind) == SIGNED
    lhs, rhs = row(F32, 0.0, -0.0)[None], row(F32, 1, 2)[:, None]
    negative = np.full((1, 1), -0.0, np.float32)
    found = judge_result(dot(lhs, rhs), (lhs, rhs), negative, platform="gpu")
    assert (found.verdict, found.kind) == SIGNED


@pytest.mark.parametrize("op", ["einsum", "unary_einsum"])
def test_an_einsum_without_sums_keeps_negative_zeros(op: str) -> None:
    lhs = row(F32, -0.0, 0.0, 2.0)
    operands = (lhs, row(F32, 1, -1, 1))[: 2 if op == "einsum" else 1]
    config = "i,i->i" if op == "einsum" else "i->i"
    program = program_of(op, operands, TensorType((3,), F32), einsum_config=config)
    (result,) = evaluate(program, operands)
    assert is_negative_zero(result).tolist() == [True, op == "einsum", False]
    other = result + np.float32(0)  # as of a sum that starts with 0
    assert permits(program, operands, other) == (op == "einsum")


def test_an_einsum_with_sums_starts_with_zero() -> None:
    operands = (row(F32, -0.0, -0.0)[None],)
    for config, shape in (("ij->i", (1,)), ("ij->j", (2,)), ("ij->", ())):
        program = program_of(
            "unary_einsum", operands, TensorType(shape, F32), einsum_config=config
        )  # fmt: skip
        assert set(signs(program, operands)) == {EITHER}


def test_product_that_may_underflow_may_have_either_sign() -> None:
    lhs, rhs = row(F32, 1e-30, 1.0)[None], row(F32, -1e-30, 0.0)[:, None]
    assert signs(dot(lhs, rhs), (lhs, rhs)) == [EITHER]
    half = np.array([[1e-30, -1e-30]], np.float32)
    ones = np.ones((2, 1), np.float32)
    assert signs(dot(half, ones, F16), (half, ones)) == [EITHER]


# -- cases ----------------------------------------------------------------------------------------

FOUND = tuple[Operation, tuple[Array, ...], tuple[Array, ...]]


def planned_cases(op: str, *types: ElementType) -> list[FOUND]:
    """Operation, operands and results of the cases of the profile standard in these cells."""
    found: list[FOUND] = []
    for of in types:
        for case in cases(op, of, seed=0, count=cases_of(CATALOG[op], "standard")):
            for recipe in case.inputs:
                inputs = materialise(case.program, recipe)
                found.append(
                    (*last_operation(case.program, inputs), evaluate(case.program, inputs))
                )
    return found


def either_of(found: FOUND) -> bool:
    """Return whether some zero of a case may have either sign."""
    either = CATALOG[found[0].name].tolerance.either_zero
    assert either is not None
    return any(mask is not None and mask.any() for mask in either(*found))


REAL = tuple(of for of in ALL if of.is_float)
SUMMING = {
    "reduce": 0, "reduce_window": 0, "select_and_scatter": 1, "scatter": 0, "dot_general": 0,
    "convolution": 0, "dynamic_conv": 0, "dot": 0, "einsum": 0, "unary_einsum": 0,
}  # fmt: skip
"""Ops that add up, and the operand with (some of) the terms."""


@pytest.mark.slow
@pytest.mark.parametrize("op", SUMMING)
def test_a_run_reaches_sums_of_negative_zeros(op: str) -> None:
    types = tuple(of for of in REAL if of in CATALOG[op].element_types)
    sets = planned_cases(op, *types, C64)
    some = [(operands[SUMMING[op]], results) for _, operands, results in sets]
    assert any(x.size and is_negative_zero(x).all() for x, _ in some)
    assert any(is_zero(x).all() and set(is_negative_zero(x).flat) == {True, False} for x, _ in some)
    if op != "scatter":  # whose sums have no init value
        assert any(map(either_of, sets))
    else:
        assert any(is_negative_zero(results[0]).all() for x, results in some if x.size)


@pytest.mark.slow
@pytest.mark.parametrize("op", ["reduce", "reduce_window", "select_and_scatter"])
def test_a_run_reaches_init_values_of_negative_zero(op: str) -> None:
    starts = [
        operands for operation, operands, results in planned_cases(op, *REAL)
        if len(results) == 1 and is_negative_zero(operands[-1]).all()
    ]  # fmt: skip
    assert len(starts) > 5
    if op == "reduce":
        assert any(not operands[0].size for operands in starts)
