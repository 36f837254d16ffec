"""Each constraint of the ops that fold, broken in isolation."""

from __future__ import annotations

from typing import Any

import pytest

from generators.regions.bodies import BodyBuilder, fold_of, selector
from reference.ir.constants import matrix
from reference.ir.program import Region, TensorType
from reference.ir.types import element_type
from reference.ops.folds.reduction_types import (
    map_type,
    reduce_type,
    reduce_window_type,
    select_and_scatter_type,
)
from suites.meta.support.ops.violations import violated_by

F32, F64, SI32 = (element_type(name) for name in ("f32", "f64", "si32"))
IN, INIT = TensorType((4, 6), F32), TensorType((), F32)
ADD, WIDER = fold_of("add", F32).region, fold_of("add", F64).region
INTEGERS = fold_of("add", SI32).region


def of(*shape: int | None, element: Any = F32) -> TensorType:
    return TensorType(shape, element)


def test_a_reduction_drops_dimensions_and_takes_the_elements_of_its_body() -> None:
    assert reduce_type((IN,), (INIT,), dimensions=(0,), body=ADD) == (of(6),)
    assert reduce_type((IN,), (INIT,), dimensions=(0, 1), body=WIDER) == (of(element=F64),)


REDUCE: dict[str, Any] = {
    "inputs": (IN,), "init_values": (INIT,), "dimensions": (0,), "body": ADD, "results": (of(6),)
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"init_values": (of(1),)}, ["I2"]),
        (
            {"inputs": (IN, of(4, 5)), "init_values": (INIT, INIT), "results": (of(6), of(5))},
            ["C1", "C6"],
        ),
        ({"init_values": (of(element=F64),)}, ["C2"]),
        ({"inputs": (), "init_values": (), "results": ()}, ["C3"]),
        ({"init_values": (INIT, INIT)}, ["C3"]),
        ({"dimensions": (2,)}, ["C4"]),
        ({"dimensions": (0, 0)}, ["C5"]),
        ({"body": INTEGERS}, ["C6"]),
        ({"results": (of(4),)}, ["C7"]),
        ({"results": (of(6, element=F64),)}, ["C8"]),
    ],
)
def test_constraints_of_a_reduction(changed: dict[str, Any], ids: list[str]) -> None:
    assert violated_by(reduce_type, **REDUCE | changed) == ids


WINDOW: dict[str, Any] = {
    "inputs": (IN,), "init_values": (INIT,), "body": ADD, "window_dimensions": (2, 3),
    "window_strides": (1, 2), "base_dilations": (1, 1), "window_dilations": (1, 1),
    "padding": matrix([[0, 1], [0, 0]]),
}  # fmt: skip


def test_windows_are_counted_with_padding_strides_and_dilations() -> None:
    assert reduce_window_type(**WINDOW) == (of(4, 2),)
    assert reduce_window_type(**WINDOW | {"base_dilations": (2, 1)}) == (of(7, 2),)
    assert reduce_window_type(**WINDOW | {"inputs": (of(None, 6),)}) == (of(None, 2),)


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({"inputs": (), "init_values": ()}, ["C1"]),
        ({"init_values": (of(element=F64),)}, ["C3"]),
        ({"window_dimensions": (2,)}, ["C4"]),
        ({"window_dimensions": (0, 1)}, ["C5"]),
        ({"window_strides": (1,)}, ["C6"]),
        ({"window_strides": (1, 0)}, ["C7"]),
        ({"base_dilations": (1, 1, 1)}, ["C8"]),
        ({"base_dilations": (0, 1)}, ["C9"]),
        ({"window_dilations": ()}, ["C10"]),
        ({"window_dilations": (1, -1)}, ["C11"]),
        ({"padding": matrix([[0, 0]])}, ["C12"]),
        ({"body": INTEGERS}, ["C13"]),
        ({"results": (of(4, 3),)}, ["C15"]),
        ({"results": (of(4, 2, element=F64),)}, ["C16"]),
    ],
)
def test_constraints_of_a_reduction_of_windows(changed: dict[str, Any], ids: list[str]) -> None:
    assert violated_by(reduce_window_type, **WINDOW | changed) == ids


SELECT: dict[str, Any] = {
    "operand": IN, "source": of(3, 3), "init_value": INIT, "select": selector(F32, "GE"),
    "scatter": ADD, "window_dimensions": (2, 2), "window_strides": (1, 2),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"init_value": of(1)}, ["I3"]),
        ({"source": of(3, 3, element=F64)}, ["C1"]),
        ({"source": of(3, 2)}, ["C2"]),
        ({"init_value": of(element=F64)}, ["C3"]),
        ({"window_dimensions": (2,)}, ["C4"]),
        ({"window_strides": (1, 0)}, ["C7"]),
        ({"padding": matrix([[0, 0]])}, ["C8"]),
        ({"select": selector(F64, "GE")}, ["C9"]),
        ({"scatter": INTEGERS}, ["C10"]),
        ({"result": of(4, 5)}, ["C11"]),
        ({"result": of(4, 6, element=F64)}, ["C12"]),
    ],
)
def test_constraints_of_scattering_to_selected_elements(
    changed: dict[str, Any], ids: list[str]
) -> None:
    assert violated_by(select_and_scatter_type, **SELECT | changed) == ids


def computation(*types: Any) -> Region:
    block = BodyBuilder.of(*types)
    return block.finish_region(block.arguments[0])


MAP: dict[str, Any] = {
    "inputs": (IN, IN), "dimensions": (0, 1), "computation": computation(F32, F32), "result": IN
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"inputs": (IN, of(6, 4))}, ["C1"]),
        ({"inputs": ()}, ["C2"]),
        ({"dimensions": (1, 0)}, ["C3"]),
        ({"dimensions": (0,)}, ["C3"]),
        ({"computation": computation(F32)}, ["C4"]),
        ({"result": of(4, 6, element=F64)}, ["C4"]),
    ],
)
def test_constraints_of_a_map(changed: dict[str, Any], ids: list[str]) -> None:
    assert violated_by(map_type, **MAP | changed) == ids


def test_a_map_has_the_elements_that_its_computation_returns() -> None:
    given = {"inputs": (IN,), "dimensions": (0, 1), "computation": selector_of_zero()}
    assert map_type(**given) == TensorType((4, 6), element_type("i1"))


def selector_of_zero() -> Region:
    block = BodyBuilder.of(F32)
    return block.finish_region(block.compare(block.arguments[0], block.constant(0, F32), "EQ"))
