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


def axis(of: object) -> Any:
    """Return the dimension of quantization; the element type of a tensor that is not quantized."""
    return of.quantization_dimension if isinstance(of, QuantizedType) else "float"


def contraction(lhs: int, rhs: int) -> dict[str, tuple[int, ...]]:
    return {
        "lhs_batching_dimensions": (), "rhs_batching_dimensions": (),
        "lhs_contracting_dimensions": (lhs,), "rhs_contracting_dimensions": (rhs,),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("op", "operands", "result", "given", "axes"),
    [
        ("transpose", [(2, 3, 4)], (4, 2, 3), {"permutation": (2, 0, 1)},
         {(0, 1), (1, 2), (2, 0)}),
        ("reshape", [(2, 3, 4)], (6, 4), {}, {(2, 1)}),
        ("reshape", [(2, 3)], (6,), {}, set()),
        ("broadcast_in_dim", [(1, 3)], (3, 5, 7), {"broadcast_dimensions": (1, 0)},
         {(0, 1), (1, 0)}),
        ("add", [(2, 3), (2, 3)], (2, 3), {},
         {(0, 0, 0), (0, None, 0), (1, 1, 1), (1, None, 1)}),
        ("dot_general", [(2, 3), (3, 4)], (2, 4), contraction(1, 0),
         {(None, 1, None), (None, 1, 1), ("float", 1, "float")}),
        ("dot_general", [(3,), (3,)], (), contraction(0, 0), set()),
    ],
)  # fmt: skip
def test_the_dimension_follows_the_data(
    op: str, operands: list[tuple[int, ...]], result: tuple[int, ...], given: Any, axes: set[Any]
) -> None:
    values = tuple(tensor(f"x{n}", *shape) for n, shape in enumerate(operands))
    seen: set[Any] = set()
    for seed in range(60):
        found = types_of(op, values, tensor("y", *result), seed, **given)
        if found is None:
            continue
        seen.add(tuple(axis(found[name]) for name in (*(value.name for value in values), "y")))
        if op == "broadcast_in_dim":  # one scale is repeated along a new size
            narrow, wide = found["x0"], found["y"]
            assert isinstance(narrow, QuantizedType)
            assert isinstance(wide, QuantizedType)
            assert wide.scales == narrow.scales * (5 if axis(narrow) == 0 else 1)
        if op == "dot_general":  # a kernel is symmetric
            kernel = found["x1"]
            assert isinstance(kernel, QuantizedType)
            assert set(kernel.zero_points) == {0}
    assert seen == axes


def test_a_dimension_has_a_scale_at_least() -> None:
    assert {dimension((2, 0, 3), pick_of(seed)) for seed in range(20)} == {0, 2}
    assert dimension((0,), pick_of(0)) is None
    assert dimension((), pick_of(0)) is None
