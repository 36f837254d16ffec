"""Quantized cases: columns of ops, and per-axis types whose dimension follows the data.

That quantized cases are valid is a test of all ops (test_contract.py).
"""

from __future__ import annotations

from typing import Any

import pytest

from generators.case.quantized_types import PER_AXIS, PER_TENSOR, QuantizationParameters
from generators.quantized.axes import AXES, Types, dimension
from generators.quantized.columns import quantized_columns
from reference.ir.program import Operation, QuantizedType, TensorType, Value, attributes
from reference.ir.types import element_type
from suites.meta.support.built_cases import pick_of

F32, SI8 = element_type("f32"), element_type("si8")


@pytest.mark.parametrize(
    ("op", "columns"),
    [
        ("transpose", (*PER_TENSOR, PER_AXIS)), ("uniform_quantize", (*PER_TENSOR, PER_AXIS)),
        ("multiply", PER_TENSOR), ("fft", ()), ("while", ()), ("and", ()),
    ],
)  # fmt: skip
def test_columns_of_an_op(op: str, columns: tuple[Any, ...]) -> None:
    assert quantized_columns(op) == columns


def tensor(name: str, *shape: int) -> Value:
    return Value(name, TensorType(shape, F32))


def types_of(
    op: str, operands: tuple[Value, ...], result: Value, seed: int, **given: Any
) -> Types | None:
    pick = pick_of(seed)
    operation = Operation(op, operands, (result,), attributes(**given))
    return AXES[op](operation, QuantizationParameters.draw(SI8, F32, pick), pick)


def axis(found: Types | None, name: str) -> int | None:
    assert found is not None
    of = found[name]
    assert isinstance(of, QuantizedType)
    return of.quantization_dimension


def test_a_dimension_has_a_scale_at_least() -> None:
    assert {dimension((2, 0, 3), pick_of(seed)) for seed in range(20)} == {0, 2}
    assert dimension((0,), pick_of(0)) is None
    assert dimension((), pick_of(0)) is None


def test_a_transpose_moves_the_dimension() -> None:
    seen = set()
    for seed in range(20):
        found = types_of(
            "transpose", (tensor("x", 2, 3, 4),), tensor("y", 4, 2, 3), seed, permutation=(2, 0, 1)
        )
        seen.add((axis(found, "x"), axis(found, "y")))
    assert seen == {(0, 1), (1, 2), (2, 0)}


def test_a_reshape_keeps_the_sizes_around_the_dimension() -> None:
    seen = {
        (axis(found, "x"), axis(found, "y"))
        for seed in range(20)
        if (found := types_of("reshape", (tensor("x", 2, 3, 4),), tensor("y", 6, 4), seed))
    }
    assert seen == {(2, 1)}
    assert types_of("reshape", (tensor("x", 2, 3),), tensor("y", 6), 0) is None


def test_one_scale_is_repeated_along_a_broadcast() -> None:
    for seed in range(20):
        found = types_of(
            "broadcast_in_dim", (tensor("x", 1, 3),), tensor("y", 3, 5, 7), seed,
            broadcast_dimensions=(1, 0),
        )  # fmt: skip
        assert found is not None
        of, wide = found["x"], found["y"]
        assert isinstance(of, QuantizedType)
        assert isinstance(wide, QuantizedType)
        if of.quantization_dimension == 0:
            assert wide.quantization_dimension == 1
            assert wide.scales == of.scales * 5
        else:
            assert wide.quantization_dimension == 0
            assert wide.scales == of.scales


def test_a_sum_has_one_dimension_of_quantization() -> None:
    both: set[bool] = set()
    for seed in range(20):
        found = types_of("add", (tensor("x", 2, 3), tensor("y", 2, 3)), tensor("z", 2, 3), seed)
        assert axis(found, "x") == axis(found, "z") is not None
        assert axis(found, "y") in (None, axis(found, "x"))
        both.add(axis(found, "y") is not None)
    assert both == {True, False}


@pytest.mark.parametrize("operand", ["x", "y"])
def test_a_kernel_is_symmetric_and_never_along_a_contracted_dimension(operand: str) -> None:
    given = {
        "lhs_batching_dimensions": (), "rhs_batching_dimensions": (),
        "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,),
    }  # fmt: skip
    hybrids = 0
    for seed in range(30):
        found = types_of(
            "dot_general", (tensor("x", 2, 3), tensor("y", 3, 4)), tensor("z", 2, 4), seed, **given
        )
        assert found is not None
        kernel = found["y"]
        assert isinstance(kernel, QuantizedType)
        assert kernel.quantization_dimension == 1
        assert set(kernel.zero_points) == {0}
        hybrids += isinstance(found[operand], TensorType)
        if isinstance(found["z"], QuantizedType):
            assert found["z"].quantization_dimension in (None, 1)
    assert (hybrids > 0) == (operand == "x")


def test_a_product_without_free_dimensions_has_no_per_axis_kernel() -> None:
    given = {
        "lhs_batching_dimensions": (), "rhs_batching_dimensions": (),
        "lhs_contracting_dimensions": (0,), "rhs_contracting_dimensions": (0,),
    }  # fmt: skip
    found = types_of("dot_general", (tensor("x", 3), tensor("y", 3)), tensor("z"), 0, **given)
    assert found is None
