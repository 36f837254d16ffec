"""Result types of the elementwise ops, and the constraints that operands break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference.ir.constraints import collect_violations
from reference.ir.program import QuantizedType, TensorType
from reference.ir.types import ElementType, element_type
from reference.ops.elementwise import types
from reference.ops.elementwise.types import (
    abs_type,
    add_type,
    clamp_type,
    compare_type,
    compare_types_of,
    part_type,
    same_type,
)

F32, F64, SI8, I1, C64 = (element_type(n) for n in ("f32", "f64", "si8", "i1", "complex<f32>"))


def of(element: ElementType | QuantizedType, *shape: int | None) -> TensorType:
    return TensorType(shape or (2,), element)


def code(axis: int | None = None, storage: str = "si8", expressed: ElementType = F32) -> TensorType:
    """Return a tensor of quantized numbers, per axis if an axis is given."""
    scales, zeros = ((1.0,), (0,)) if axis is None else ((1.0, 1.0), (0, 0))
    low, high = element_type(storage).min_integer, element_type(storage).max_integer
    quantized = QuantizedType(element_type(storage), low, high, expressed, scales, zeros, axis)
    return of(quantized, 2, 2)


def broken_constraints(
    function: Callable[..., TensorType], *operands: TensorType, **given: Any
) -> list[str]:
    with collect_violations() as found:
        function(*operands, **given)
    return found.ids


def test_one_type_for_operands_and_result() -> None:
    admits = types.FLOAT
    assert same_type(of(F32), of(F32), admits=admits) == of(F32)
    assert broken_constraints(same_type, of(SI8), of(SI8), admits=admits) == ["I1", "I2"]
    assert broken_constraints(same_type, of(F32), of(F64), admits=admits) == ["C1"]
    assert broken_constraints(same_type, of(F32), of(F32), admits=admits, result=of(F32, 3)) == [
        "C1"
    ]


def test_sizes_that_one_operand_knows_are_the_results() -> None:
    assert same_type(of(F32, None, 3), of(F32, 2, None), admits=types.ANY) == of(F32, 2, 3)


@pytest.mark.parametrize(
    ("operands", "ids"),
    [
        ((code(), code(), code()), []),
        ((of(F32, 2, 2), code(), code()), ["C2"]),
        ((code(storage="ui8"), code(), code()), ["C3"]),
        ((code(expressed=F64), code(), code()), ["C4"]),
        ((code(), code(), code(0)), ["C5"]),
        ((code(0), code(), code(0)), []),
        ((code(1), code(), code(0)), ["C6"]),
        ((code(), code(1), code(0)), ["C7"]),
    ],
)
def test_quantized_sums(
    operands: tuple[TensorType, TensorType, TensorType], ids: list[str]
) -> None:
    lhs, rhs, result = operands
    assert broken_constraints(add_type, lhs, rhs, result=result) == ids


@pytest.mark.parametrize("function", [abs_type, part_type])
def test_parts_of_complex_numbers(function: Callable[..., TensorType]) -> None:
    assert function(of(C64)) == function(of(F32)) == of(F32)
    assert broken_constraints(function, of(C64), result=of(F32, 3)) == ["C1"]
    assert broken_constraints(function, of(C64), result=of(C64)) == ["C2"]
    assert broken_constraints(function, of(I1)) == ["I1"]


def test_bounds_are_scalars_or_of_the_operands_shape() -> None:
    scalar, full = TensorType((), F32), of(F32)
    assert clamp_type(scalar, full, full) == full
    assert broken_constraints(clamp_type, of(F32, 3), full, scalar) == ["C1"]
    assert broken_constraints(clamp_type, scalar, full, of(F32, 3)) == ["C2"]
    assert broken_constraints(clamp_type, scalar, full, TensorType((), F64)) == ["C3"]
    assert broken_constraints(clamp_type, scalar, full, scalar, result=of(F64)) == ["C4"]


def test_comparisons_have_a_direction_and_a_kind_that_fits_the_type() -> None:
    lhs = of(F32)
    assert compare_type(lhs, lhs, comparison_direction="LT") == of(I1)
    assert broken_constraints(compare_type, lhs, lhs, comparison_direction="LESS") == ["I3"]
    given = {"comparison_direction": "LT"}
    assert broken_constraints(compare_type, lhs, of(F64), **given) == ["C1"]
    assert broken_constraints(compare_type, lhs, of(F32, 3), **given) == ["C2"]
    assert broken_constraints(compare_type, lhs, lhs, **given, compare_type="SIGNED") == ["C3"]
    assert broken_constraints(compare_type, lhs, lhs, **given, compare_type="TOTAL") == ["I4"]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("f32", ("FLOAT", "TOTALORDER")), ("complex<f32>", ("FLOAT",)), ("si8", ("SIGNED",)),
        ("ui8", ("UNSIGNED",)), ("i1", ("UNSIGNED",)),
    ],
)  # fmt: skip
def test_kinds_of_comparison_by_type(name: str, kinds: tuple[str, ...]) -> None:
    assert compare_types_of(element_type(name)) == kinds
