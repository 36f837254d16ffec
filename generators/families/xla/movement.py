"""Cases of XlaBuilder's ops that create, convert and move data: their twins' cases, restated."""

from __future__ import annotations

import math
from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.case.shapes import capped_label, shape
from generators.families import data_movement, elementwise, gathering, sorting
from generators.families.contraction import shuffle
from generators.families.dynamism import BUILDERS as DYNAMIC
from generators.families.dynamism import UNOBSERVED, Writer, bounded_type, observations_of
from generators.families.xla.twins import Restate, twins
from generators.programs.building import Builder, case
from generators.values import profiles
from reference.ir.program import Operation, TensorType
from reference.ir.types import ElementType
from reference.ir.types import element_type as type_of
from reference.ops.dynamism import SIZE
from reference.ops.xla.movement import OPS as RECORDS
from reference.ops.xla.movement import collapse_sizes
from reference.ops.xla.shapes import shape_of


def _result(operation: Operation) -> TensorType:
    (result,) = operation.results
    assert isinstance(result.type, TensorType)
    return result.type


def _new_element_type(operation: Operation) -> dict[str, Any]:
    return {"new_element_type": _result(operation).element.name}


def _out_dim_size(operation: Operation) -> dict[str, Any]:
    given = dict(operation.attributes)
    return {
        "out_dim_size": _result(operation).static_shape,
        "broadcast_dimensions": given["broadcast_dimensions"],
    }


def _dimensions(operation: Operation) -> dict[str, Any]:
    return {"dimensions": _result(operation).static_shape}


def _shape(operation: Operation) -> dict[str, Any]:
    return dict(operation.attributes) | {"shape": shape_of(_result(operation))}


def _padding_config(operation: Operation) -> dict[str, Any]:
    given: dict[str, Any] = dict(operation.attributes)
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return {"padding_config": tuple(zip(*(given[name] for name in names), strict=True))}


RESTATED: dict[str, Restate] = {
    "BitcastConvertType": _new_element_type,
    "BroadcastInDim": _out_dim_size,
    "ConvertElementType": _new_element_type,
    "Iota": _shape,
    "Pad": _padding_config,
    "Reshape": _dimensions,
    "Reshape (explicit)": _shape,
}
"""By op, a function from an operation of its twin to the attributes of XlaBuilder's op, as far as
they differ.
"""


def _collapse(element_type: ElementType, pick: Pick) -> Case:
    sizes = shape(pick)
    pairs = [
        tuple(range(first, last + 1))
        for first in range(len(sizes))
        for last in range(first, len(sizes))
    ]
    dimensions = choose(pick, ((), *pairs), "dimensions", _describe_dimensions)
    of = TensorType(sizes, element_type)
    result = TensorType(collapse_sizes(sizes, dimensions), element_type)
    rows = profiles.rows(element_type)
    return case(pick, "Collapse", {"operand": of}, (result,), rows, {"dimensions": dimensions})


_LEFT_OUT, _IN_ORDER, _REVERSED, _SHUFFLED = "left out", "in order", "reversed", "shuffled"


def _reshape_ordered(element_type: ElementType, pick: Pick) -> Case:
    sizes = shape(pick)
    rank = len(sizes)
    kinds = (_LEFT_OUT, _IN_ORDER, *(_REVERSED,) * 2 * (rank > 1), *(_SHUFFLED,) * 3 * (rank > 2))
    kind = choose(pick, kinds, "dimensions", _shown_order)
    new_sizes = _new_sizes(sizes, choose(pick, _NEW_SHAPES, "new shape"))
    given: dict[str, Any] = {"new_sizes": new_sizes}
    if kind != _LEFT_OUT:
        order = shuffle(pick, rank) if kind == _SHUFFLED else tuple(range(rank))
        given["dimensions"] = order[::-1] if kind == _REVERSED else order
    of, result = TensorType(sizes, element_type), TensorType(new_sizes, element_type)
    rows = profiles.rows(element_type)
    return case(pick, "Reshape (ordered)", {"operand": of}, (result,), rows, given)


def _shown_order(kind: str) -> str:
    """Return the label of an order of dimensions; an omitted order equals the natural order."""
    return _IN_ORDER if kind == _LEFT_OUT else kind


_most = capped_label(3)


_INDEX_TYPES = ("si32", "si64")


FULL, BELOW = "at their bounds", "below their bounds"


_NEW_SHAPES = ("another order", "in one", "as it is", "with ones")


def _new_sizes(sizes: tuple[int, ...], kind: str) -> tuple[int, ...]:
    """Return a shape with the same number of elements."""
    whole = {"another order": sizes[::-1], "in one": (math.prod(sizes),), "as it is": sizes}
    return whole.get(kind, (1, *sizes, 1))


def _dynamic_reshape(element_type: ElementType, pick: Pick) -> Case:
    """Write the sizes of another shape with as many elements, each as an operand.

    Dynamic sizes stay below their bounds if the operand's sizes do.
    """
    sizes = shape(pick)
    kind = choose(pick, _NEW_SHAPES, "new shape")
    index = TensorType((), type_of(choose(pick, _INDEX_TYPES, "index type")))
    observations = observations_of(element_type)
    observation = choose(pick, (*[UNOBSERVED] * len(observations), *observations), "observation")
    after = _new_sizes(sizes, kind)
    given: dict[str, Any] = {"new_size_bounds": after, "dims_are_dynamic": (False,) * len(after)}
    before, result = TensorType(sizes, element_type), TensorType(after, element_type)
    if observation == UNOBSERVED or not sizes:
        types = {"operand": before} | {f"size{n}": index for n in range(len(after))}
        rows = tuple(
            (row[0], *(f"values:{size}" for size in after)) for row in profiles.rows(element_type)
        )
        return case(pick, "DynamicReshape", types, (result,), rows, given)
    writer = Writer(pick)
    value = writer.parameter("operand", before, "")
    now = sizes
    if choose(pick, (FULL, BELOW)) == BELOW:
        now = (pick(sizes[0] + 1), *sizes[1:])
        free = (True, *[False] * (len(sizes) - 1))
        left = writer.parameter("left", SIZE, f"values:{now[0]}")
        cut = bounded_type(sizes, free, element_type)
        value = writer.add("set_dimension_size", (value, left), cut, dimension=0)
    then = _new_sizes(now, kind)
    dynamic = tuple(then[n] != after[n] or not pick(3) for n in range(len(after)))
    if not any(dynamic):
        dynamic = (True, *dynamic[1:])
    wanted = [writer.parameter(f"size{n}", index, f"values:{size}") for n, size in enumerate(then)]
    given["dims_are_dynamic"] = dynamic
    made = bounded_type(after, dynamic, element_type)
    reshaped = writer.add("DynamicReshape", (value, *wanted), made, **given)
    return writer.case(writer.observe(reshaped, then, observation), profiles.rows(element_type))


def _describe_dimensions(dimensions: tuple[int, ...]) -> str:
    if len(dimensions) < 2:  # the shape is unchanged
        return "0 or 1"
    where = "" if not dimensions else " from the first" if dimensions[0] == 0 else " later"
    return f"{_most(len(dimensions))}{where}"


_BUILDERS = (
    elementwise.BUILDERS | data_movement.BUILDERS | gathering.BUILDERS | sorting.BUILDERS
    | DYNAMIC
)  # fmt: skip

_OWN: dict[str, Builder] = {
    "Collapse": _collapse,
    "DynamicReshape": _dynamic_reshape,
    "Reshape (ordered)": _reshape_ordered,
}

BUILDERS: dict[str, Builder] = (
    twins(_BUILDERS, (record for record in RECORDS if record.name not in _OWN), RESTATED) | _OWN
)
"""The builder of each op's cases."""
