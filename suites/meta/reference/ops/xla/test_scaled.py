"""ScaledDot equals its definition and decomposition; wrong scales are detected; unspecified
results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.bounds.scaled import SCALED
from conformance.verdict import Verdict
from generators.case.case import Case
from generators.cells import plan
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program, TensorType, Value, single_op
from reference.ir.types import Array, element_type, element_type_of
from reference.numerics.rounding import round_to, to_float64
from reference.ops.xla.composites import write_composites
from reference.ops.xla.contraction import DotDimensionNumbers
from reference.ops.xla.scaled import TYPES
from reference.unspecified.table import unspecified_elements

F8, F6, E8, BF16, F32 = (
    element_type(name) for name in ("f8E4M3FN", "f6E2M3FN", "f8E8M0FNU", "bf16", "f32")
)
PLAIN = DotDimensionNumbers((1,), (0,))


def program_of(arrays: tuple[Array, ...], to: str, sizes: tuple[int, ...]) -> Program:
    """Return lhs, its scale, rhs, its scale: the last dimension of lhs with the first of rhs."""
    types = tuple(TensorType(array.shape, element_type_of(array)) for array in arrays)
    values = tuple(Value(f"v{n}", of) for n, of in enumerate(types))
    given: dict[str, Any] = {"dimension_numbers": PLAIN}
    if to != types[0].element.name:
        given["preferred_element_type"] = to
    return single_op("ScaledDot", values, (TensorType(sizes, element_type(to)),), given)


def operands_of(case: Case) -> tuple[Operation, tuple[Array, ...], tuple[Array, ...]]:
    """Return the operation of a case, its operands, and the inputs of the program."""
    inputs = materialise(case.program, case.inputs[0])
    known = dict(zip((v.name for v in case.program.main.arguments), inputs, strict=True))
    *constants, subject, _ = case.program.main.body.operations
    for constant in constants:
        value: Any = constant.attribute("value")
        known[constant.results[0].name] = value.array
    return subject, tuple(known[value.name] for value in subject.operands), inputs


def evaluate_by_definition(numbers: DotDimensionNumbers, operands: tuple[Array, ...]) -> Array:
    """Return sums of products of four numbers each, index by index."""
    lhs, lhs_scale, rhs, rhs_scale = (to_float64(operand) for operand in operands)
    left, right = range(lhs.ndim), range(rhs.ndim)
    rows = [d for d in left if d not in (*numbers[0], *numbers[2])]
    columns = [d for d in right if d not in (*numbers[1], *numbers[3])]
    own = (*numbers.lhs_batch_dimensions, *rows)
    result = np.zeros([*(lhs.shape[d] for d in own), *(rhs.shape[d] for d in columns)])
    for place in product(*(range(n) for n in result.shape)):
        at = dict(zip(own, place, strict=False))
        to = dict(zip(columns, place[len(own) :], strict=True))
        to |= {r: at[d] for d, r in zip(numbers[2], numbers[3], strict=True)}
        for depth in product(*(range(lhs.shape[d]) for d in numbers[0])):
            at |= dict(zip(numbers[0], depth, strict=True))
            to |= dict(zip(numbers[1], depth, strict=True))
            ours, theirs = tuple(at[d] for d in left), tuple(to[d] for d in right)
            result[place] += (
                lhs[ours] * lhs_scale[block(ours, lhs, lhs_scale)]
                * rhs[theirs] * rhs_scale[block(theirs, rhs, rhs_scale)]
            )  # fmt: skip
    return result


def block(place: tuple[int, ...], operand: Array, scale: Array) -> tuple[int, ...]:
    """Return the element of the scale for an element of the operand."""
    pairs = zip(place, operand.shape, scale.shape, strict=True)
    return tuple(at * part // size for at, size, part in pairs)


def exact_cases(count: int) -> Iterator[tuple[Program, Operation, tuple[Array, ...], Any]]:
    """Yield cases of small numbers and scales that are powers of two, into f32."""
    for of in ("f8E4M3FN", "bf16"):
        for case in plan.cases("ScaledDot", element_type(of), 7, count):
            subject, operands, inputs = operands_of(case)
            result: Any = subject.results[0].type
            sizes = [operand.size for operand in operands]
            small = all(
                np.isfinite(to_float64(operand)).all() and (np.abs(to_float64(operand)) <= 64).all()
                for operand in operands
            )
            if small and 0 < max(sizes) <= 600 and result.element is F32:
                yield case.program, subject, operands, inputs


def test_a_scaled_dot_is_its_definition() -> None:
    seen = 0
    for program, subject, operands, inputs in exact_cases(120):
        numbers: Any = subject.attribute("dimension_numbers")
        (result,) = evaluate(program, inputs)
        want = evaluate_by_definition(numbers, operands)
        np.testing.assert_allclose(result, want, rtol=2.0**-22, atol=0)
        seen += 1
    assert seen > 20


@pytest.mark.slow
@pytest.mark.parametrize("of", [one for one in TYPES if one.bits > 4], ids=str)
def test_the_decomposition_is_right(of: Any) -> None:
    """A backend that calls the decomposition is permitted, except for flushed subnormal numbers."""
    for case in plan.cases("ScaledDot", of, 3, 24):
        for recipe in case.inputs[:3]:
            inputs = materialise(case.program, recipe)
            written = write_composites(case.program)
            assert {operation.name for operation in written.walk()} >= {"composite", "dot_general"}
            expected, actual = evaluate(case.program, inputs), evaluate(written, inputs)
            found = judge(case.program, inputs, expected, actual, SCALED)
            assert found.verdict in (Verdict.PASS, Verdict.UNSPECIFIED), found.message


LHS = np.arange(1, 13).reshape(2, 6).astype(F8.storage)
RHS = np.array([[1, -2], [3, 4], [-5, 6], [7, 8], [2, 2], [1, 3]]).astype(F8.storage)
LHS_SCALE = np.array([[1, 2, 4], [8, 1, 2]]).astype(E8.storage)
RHS_SCALE = np.array([[1, 2], [4, 8]]).astype(E8.storage)
SOUND = (LHS, LHS_SCALE, RHS, RHS_SCALE)
ONES = np.ones((1, 1)).astype(E8.storage)

WRONG: dict[str, Callable[[], tuple[Array, ...]]] = {
    "no scale of lhs": lambda: (LHS, ONES, RHS, RHS_SCALE),
    "no scale of rhs": lambda: (LHS, LHS_SCALE, RHS, ONES),
    "blocks in reverse": lambda: (LHS, LHS_SCALE[:, ::-1], RHS, RHS_SCALE),
    "rows in reverse": lambda: (LHS, LHS_SCALE[::-1], RHS, RHS_SCALE),
    "scales taken in turn": lambda: (LHS, np.tile(LHS_SCALE, (1, 2)), RHS, RHS_SCALE),
    "the first scale for all": lambda: (LHS, LHS_SCALE[:1, :1], RHS, RHS_SCALE),
    "scales along the other dimension": lambda: (LHS, LHS_SCALE, RHS, RHS_SCALE.T),
    "scales squared": lambda: (
        LHS, round_to(to_float64(LHS_SCALE) ** 2, E8), RHS, RHS_SCALE
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_scale_is_seen(wrong: str) -> None:
    program = program_of(SOUND, "f32", (2, 2))
    expected = evaluate(program, SOUND)
    operands = WRONG[wrong]()
    actual = evaluate(program_of(operands, "f32", (2, 2)), operands)
    assert judge(program, SOUND, expected, actual, SCALED).verdict.fails


def test_exact_data_is_judged_bit_for_bit() -> None:
    program = program_of(SOUND, "f32", (2, 2))
    (right,) = evaluate(program, SOUND)
    np.testing.assert_array_equal(right, evaluate_by_definition(PLAIN, SOUND))
    near = np.nextafter(right, np.float32(np.inf))
    assert judge(program, SOUND, (right,), (near,), SCALED).verdict.fails


def test_scaled_operands_may_or_may_not_be_rounded_to_bf16() -> None:
    """Scales of bf16 that are no powers of two: the scaled operand has more digits than bf16."""
    scale = np.array([[1.0078125, 0.6640625, 1.9921875], [0.703125, 3.015625, 5.03125]])
    operands = (LHS, scale.astype(BF16.storage), RHS, RHS_SCALE)
    program = program_of(operands, "f32", (2, 2))
    (exact,) = evaluate(program, operands)
    (rounded,) = evaluate(write_composites(program), operands)
    assert (exact != rounded).any()
    assert judge(program, operands, (exact,), (rounded,), SCALED).verdict is Verdict.PASS
    for far in (exact * np.float32(1.03), exact * np.float32(0.97)):
        assert judge(program, operands, (exact,), (far,), SCALED).verdict.fails


def test_sums_kept_in_bf16_fail() -> None:
    lhs, one = np.ones((1, 20)).astype(BF16.storage), np.ones((1, 1)).astype(E8.storage)
    lhs[0, 0] = 256
    operands = (lhs, one, np.ones((20, 1)).astype(BF16.storage), one)
    program = program_of(operands, "bf16", (1, 1))
    (right,) = evaluate(program, operands)
    for result, kind in ((276, ""), (256, "wrong value"), (0, "wrong value")):
        actual = (np.array([[result]]).astype(BF16.storage),)
        assert judge(program, operands, (right,), actual, SCALED).kind == kind


@pytest.mark.parametrize(("to", "permitted"), [("f16", True), ("f8E5M2", True), ("f32", False)])
def test_sums_may_be_bf16_before_they_are_of_a_third_type(to: str, permitted: bool) -> None:
    lhs, one = np.array([[128, 1, 0.5]]).astype(F8.storage), np.ones((1, 1)).astype(E8.storage)
    rhs = np.ones((3, 1)).astype(F8.storage)
    operands = (lhs, one, rhs, one)
    program = program_of(operands, to, (1, 1))
    (exact,) = evaluate(program, operands)
    detour = round_to(to_float64(round_to(np.array([[129.5]]), BF16)), element_type(to))
    found = judge(program, operands, (exact,), (detour,), SCALED)
    assert (found.verdict is Verdict.PASS) == permitted


def open_in(arrays: tuple[Array, ...], to: str) -> list[str]:
    program = program_of(arrays, to, (1, 1))
    operation = program.main.body.operations[0]
    return [
        label for label, _ in unspecified_elements(operation, arrays, evaluate(program, arrays)[0])
    ]


def unspecified_scaling(lhs: float, scale: float, to: str = "f32") -> list[str]:
    """Return the unspecified elements of the product of a number and its scale with 1."""
    arrays = tuple(
        np.array([[number]]).astype(of.storage)
        for number, of in ((lhs, F8), (scale, E8), (1.0, F8), (1.0, E8))
    )
    return open_in(arrays, to)


def test_scaled_operands_beyond_bf16_are_unspecified() -> None:
    assert unspecified_scaling(1.75, 2.0**127) == []
    assert unspecified_scaling(2.0, 2.0**127) == ["scaled operand beyond bf16"]
    assert unspecified_scaling(np.nan, 1.0) == []
    assert unspecified_scaling(np.nan, 1.0, "f6E2M3FN") == ["NaN in a format without NaN"]
    assert unspecified_scaling(1.0, 1.0, "f6E2M3FN") == []
    assert unspecified_scaling(1.0, 1.0, "f8E8M0FNU") == ["sum of a type without zero"]
