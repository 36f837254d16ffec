"""XlaBuilder's reductions, windows and mappings.

Source: XLA operation semantics, each op by its name.
"""

from __future__ import annotations

from typing import Any

from reference.ir.constants import matrix
from reference.ir.constraints import require
from reference.ir.op import Op
from reference.ir.program import Region, TensorType, Value
from reference.ops.xla.building import Building, lowered_op, renamed_op
from reference.ops.xla.windows import SAME, STRIDED_SAME, VALID, padding_along

Sizes = tuple[int, ...]
Values = tuple[Value, ...]


def _named_padding(name: str, windows: Sizes, dilations: Sizes | None = None) -> Any:
    spread = dilations or (1,) * len(windows)
    dilated = ((n - 1) * d + 1 for n, d in zip(windows, spread, strict=True))
    return matrix([padding_along(name, size) for size in dilated], 2)


def _window_conditions(
    operands: tuple[TensorType, ...], init_values: tuple[TensorType, ...], *, padding: str,
    **_: Any,
) -> None:  # fmt: skip
    """Require P1 and P2 of ReduceWindow, and a padding of the enum.

    P1: there is at least one input, and an init value for each. P2: inputs have the same
    dimensions.
    """
    require("P1", len(operands) >= 1 and len(init_values) == len(operands), len(operands))
    require("P2", len({of.shape for of in operands}) <= 1, operands)
    require("attributes", padding in (SAME, VALID), padding)


def _reduce_window(
    building: Building, operands: Values, init_values: Values, *, computation: Region,
    window_dimensions: Sizes, window_strides: Sizes, padding: str,
    base_dilations: Sizes | None = None, window_dilations: Sizes | None = None,
) -> Values:  # fmt: skip
    given: dict[str, Any] = {
        "window_dimensions": window_dimensions, "window_strides": window_strides,
        "padding": _named_padding(padding, window_dimensions, window_dilations),
    }  # fmt: skip
    given |= {} if base_dilations is None else {"base_dilations": base_dilations}
    given |= {} if window_dilations is None else {"window_dilations": window_dilations}
    return building.ops("reduce_window", *operands, *init_values, regions=(computation,), **given)


def _select_and_scatter(
    building: Building, operand: Value, source: Value, init_value: Value, *, select: Region,
    scatter: Region, window_dimensions: Sizes, window_strides: Sizes, padding: str,
) -> Value:  # fmt: skip
    return building.op(
        "select_and_scatter", operand, source, init_value, regions=(select, scatter),
        window_dimensions=window_dimensions, window_strides=window_strides,
        padding=_named_padding(padding, window_dimensions),
    )  # fmt: skip


OPS: tuple[Op, ...] = (
    renamed_op("Map", "map", operands=("*operands",)),
    renamed_op(
        "Reduce", "reduce", operands=("*operands", "*init_values"),
        renames={"computation": "body", "dimensions_to_reduce": "dimensions"},
    ),
    lowered_op(
        "ReduceWindow", "reduce_window", _reduce_window,
        operands=("*operands", "*init_values"), regions=("computation",),
        attributes=(
            "window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding",
        ),
        optional=("base_dilations", "window_dilations"),
        conditions=_window_conditions, constraints=("P1", "P2"), readings=(STRIDED_SAME,),
    ),
    lowered_op(
        "SelectAndScatter", "select_and_scatter", _select_and_scatter,
        operands=("operand", "source", "init_value"), regions=("select", "scatter"),
        attributes=("window_dimensions", "window_strides", "padding"), readings=(STRIDED_SAME,),
    ),
)  # fmt: skip
