"""XlaBuilder's windows: padding by name, and the conditions of the page."""

from __future__ import annotations

from typing import Any

import pytest

from generators.regions.bodies import fold_of, selector
from reference.ir.program import Dense, Operation, TensorType
from reference.ir.types import element_type
from reference.ops.xla.reduction import OPS
from suites.meta.support.ops.lowering import lower, records_of, violations

F32 = element_type("f32")
IN, INIT = TensorType((6,), F32), TensorType((), F32)
ADD = fold_of("add", F32).region
RECORDS = records_of(OPS)
WINDOW: dict[str, Any] = {
    "window_dimensions": (3,), "window_strides": (1,), "padding": "SAME", "regions": (ADD,),
}  # fmt: skip


def padding_of(operation: Operation) -> Any:
    padding = operation.attribute("padding")
    assert isinstance(padding, Dense)
    return padding.array.tolist()


@pytest.mark.parametrize(
    ("changed", "padding"),
    [
        ({}, [[1, 1]]),
        ({"window_dilations": (2,)}, [[2, 2]]),  # a window of five with its holes
        ({"base_dilations": (2,)}, [[1, 1]]),
        ({"padding": "VALID"}, [[0, 0]]),
    ],
)
def test_padding_follows_the_window_with_its_holes(
    changed: dict[str, Any], padding: list[list[int]]
) -> None:
    (made,) = lower(RECORDS["ReduceWindow"], IN, INIT, **WINDOW | changed)
    assert padding_of(made) == padding
    assert all(made.attribute(name) == changed[name] for name in changed if name != "padding")


@pytest.mark.parametrize(
    ("operands", "changed", "ids"),
    [
        ((IN, INIT), {}, []),
        ((), {}, ["P1"]),
        ((IN, TensorType((5,), F32), INIT, INIT), {}, ["P2"]),
        ((IN, INIT), {"padding": "FULL"}, ["attributes"]),
    ],
)
def test_conditions_of_windows(
    operands: tuple[TensorType, ...], changed: dict[str, Any], ids: list[str]
) -> None:
    results = {"results": (IN,)} if ids else {}
    found = violations(RECORDS["ReduceWindow"], *operands, **WINDOW | changed | results)
    assert found == ids


def test_padding_of_selected_elements() -> None:
    given = WINDOW | {"window_dimensions": (2,), "regions": (selector(F32, "GE"), ADD)}
    (made,) = lower(RECORDS["SelectAndScatter"], IN, IN, INIT, **given)
    assert padding_of(made) == [[0, 1]]
    assert made.regions == given["regions"]


def test_names_of_a_reduction() -> None:
    (made,) = lower(RECORDS["Reduce"], IN, INIT, regions=(ADD,), dimensions_to_reduce=(0,))
    assert (made.name, made.attribute("dimensions")) == ("reduce", (0,))
