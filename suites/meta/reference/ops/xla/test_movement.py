"""XlaBuilder's data movement: sizes, lowering, and the conditions of the page."""

from __future__ import annotations

from typing import Any

import pytest

from reference.ir.program import TensorType
from reference.ir.types import element_type
from reference.ops.xla.movement import OPS, bitcast_sizes, collapse_sizes
from reference.ops.xla.shapes import Shape
from suites.meta.support.ops.lowering import lower, records_of, violations

F32, SI32 = element_type("f32"), element_type("si32")
IN, SCALAR = TensorType((2, 3), F32), TensorType((), F32)
RECORDS = records_of(OPS)


@pytest.mark.parametrize(
    ("shape", "bits", "sizes"), [((2, 4), 8, (2, 4, 4)), ((2, 4), 32, (2, 4)), ((2, 2), 64, (2,))]
)
def test_a_bitcast_has_parts_along_the_last_dimension(
    shape: tuple[int, ...], bits: int, sizes: tuple[int, ...]
) -> None:
    assert bitcast_sizes(TensorType(shape, F32), bits) == sizes


@pytest.mark.parametrize(
    ("dimensions", "sizes"),
    [((), (2, 3, 4)), ((1,), (2, 3, 4)), ((0, 1), (6, 4)), ((1, 2), (2, 12)), ((0, 1, 2), (24,))],
)
def test_consecutive_dimensions_are_merged(
    dimensions: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    assert collapse_sizes((2, 3, 4), dimensions) == sizes


@pytest.mark.parametrize(
    ("op", "given", "ids"),
    [
        ("BitcastConvertType", {"new_element_type": "si16"}, []),
        ("BitcastConvertType", {"new_element_type": "f64"}, ["P1"]),
        ("BroadcastInDim", {"out_dim_size": (2, 3, 4), "broadcast_dimensions": (0, 1)}, []),
        ("BroadcastInDim", {"out_dim_size": (2, 3), "broadcast_dimensions": (0, 0)}, ["P1"]),
        ("BroadcastInDim", {"out_dim_size": (2, 3), "broadcast_dimensions": (0, 2)}, ["P1"]),
        ("BroadcastInDim", {"out_dim_size": (2, 3), "broadcast_dimensions": (1,)}, ["P1"]),
        ("BroadcastInDim", {"out_dim_size": (3, 2), "broadcast_dimensions": (0, 1)}, ["P2"]),
        ("Collapse", {"dimensions": (0, 1)}, []),
        ("Collapse", {"dimensions": (1, 0)}, ["P1"]),
        ("Collapse", {"dimensions": (1, 2)}, ["P1"]),
        ("Reshape", {"dimensions": (6,)}, []),
        ("Reshape", {"dimensions": (5,)}, ["P1"]),
        ("Reshape (ordered)", {"dimensions": (1, 0), "new_sizes": (6,)}, []),
        ("Reshape (ordered)", {"dimensions": (0, 0), "new_sizes": (6,)}, ["P1"]),
        ("Reshape (ordered)", {"new_sizes": (5,)}, ["P2"]),
        ("Reshape (explicit)", {"shape": Shape("f32", (6,))}, []),
        ("Reshape (explicit)", {"shape": Shape("si32", (6,))}, ["P1"]),
        ("Reshape (explicit)", {"shape": Shape("f32", (5,))}, ["P1"]),
    ],
)
def test_conditions_on_one_operand(op: str, given: dict[str, Any], ids: list[str]) -> None:
    record = RECORDS[op]
    assert violations(record, IN, **given, **({"result": IN} if ids else {})) == ids


def test_an_index_runs_along_a_dimension_of_the_shape() -> None:
    given = {"shape": Shape("si32", (4,))}
    assert violations(RECORDS["Iota"], iota_dimension=0, **given) == []
    result = TensorType((4,), SI32)
    assert violations(RECORDS["Iota"], iota_dimension=1, result=result, **given) == ["P1"]


@pytest.mark.parametrize(
    ("value", "config", "ids"),
    [
        (SCALAR, ((1, 0, 0), (0, -1, 2)), []),
        (TensorType((1,), F32), ((0, 0, 0),) * 2, ["P1"]),
        (TensorType((), SI32), ((0, 0, 0),) * 2, ["P1"]),
        (SCALAR, ((0, 0, 0),), ["P2"]),
        (SCALAR, ((0, 0, -1),) * 2, ["P3"]),
    ],
)
def test_conditions_of_padding(
    value: TensorType, config: tuple[tuple[int, int, int], ...], ids: list[str]
) -> None:
    result = {"result": IN} if ids else {}
    assert violations(RECORDS["Pad"], IN, value, padding_config=config, **result) == ids


def test_padding_is_low_high_and_interior() -> None:
    (made,) = lower(RECORDS["Pad"], IN, SCALAR, padding_config=((1, 2, 3), (4, 5, 6)))
    given = [
        made.attribute(n) for n in ("edge_padding_low", "edge_padding_high", "interior_padding")
    ]
    assert given == [(1, 4), (2, 5), (3, 6)]


def test_a_reshape_in_another_order_transposes_first() -> None:
    record = RECORDS["Reshape (ordered)"]
    names = [one.name for one in lower(record, IN, dimensions=(1, 0), new_sizes=(6,))]
    assert names == ["transpose", "reshape"]
    assert [one.name for one in lower(record, IN, dimensions=(0, 1), new_sizes=(6,))] == ["reshape"]


SIZE = TensorType((), SI32)


@pytest.mark.parametrize(
    ("sizes", "bounds", "ids"),
    [
        ((SIZE, SIZE), (3, 2), []),
        ((SIZE,), (3, 2), ["P1"]),
        ((SIZE, SIZE), (3, 3), ["P2"]),
    ],
)
def test_conditions_of_a_dynamic_reshape(
    sizes: tuple[TensorType, ...], bounds: tuple[int, ...], ids: list[str]
) -> None:
    given = {"new_size_bounds": bounds, "dims_are_dynamic": (True,) * len(bounds)}
    result = {"result": IN} if ids else {}
    assert violations(RECORDS["DynamicReshape"], IN, *sizes, **given, **result) == ids


def test_sizes_of_a_dynamic_reshape_are_joined() -> None:
    given = {"new_size_bounds": (3, 2), "dims_are_dynamic": (False, True)}
    made = lower(RECORDS["DynamicReshape"], IN, SIZE, SIZE, **given)
    assert [one.name for one in made] == ["reshape", "reshape", "concatenate", "dynamic_reshape"]
    assert made[-1].results[0].type == TensorType((3, None), F32, (None, 2))
    none = lower(
        RECORDS["DynamicReshape"], TensorType((1,), F32), new_size_bounds=(), dims_are_dynamic=()
    )
    assert [one.name for one in none] == ["constant", "dynamic_reshape"]


def test_each_condition_of_a_scatter_restates_constraints_of_its_twin() -> None:
    record = RECORDS["Scatter"]
    assert [name for name, _ in record.restates] == list(record.constraints)
    theirs = [one for _, ids in record.restates for one in ids]
    assert len(theirs) == len(set(theirs))
