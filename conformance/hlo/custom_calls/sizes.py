"""Arrays of dynamic sizes: the array of their bounds, and their sizes.

XLA keeps such an array in an array of the size of its bounds, with the sizes beside it.
`PadToStatic` separates the two, `SliceToDynamic` joins them.
"""

from __future__ import annotations

from conformance.hlo.building import Building
from conformance.hlo.shapes import Tree, array_type_of
from conformance.hlo.site import Handler, Site
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES

_SIZE = ELEMENT_TYPES["si32"]


def _slice_to_dynamic(site: Site) -> Tree:
    """Add the first elements along each dynamic dimension, as many as its size operand says."""
    building, value, wanted = site.building, site.value(0), site.type
    for dimension, size in enumerate(wanted.shape):
        if size is None:
            own = tensor_of(value)
            sizes = tuple(None if d == dimension else of for d, of in enumerate(own.shape))
            bounds = tuple(
                bound if of is None else None
                for of, bound in zip(sizes, site.instruction.shape.dimensions, strict=True)
            )
            count = building.convert(site.value(dimension + 1), _SIZE)
            of = TensorType(sizes, own.element_type, bounds)
            value = building.one("set_dimension_size", (value, count), of, dimension=dimension)
    return value


def _pad_to_static(site: Site) -> Tree:
    """Add an array of the bounds, with zeros behind the valid elements, and the sizes."""
    building, value = site.building, site.value(0)
    shapes = site.instruction.shape.tuple_shapes
    of = array_type_of(shapes[0])
    sizes = [
        building.one("get_dimension_size", (value,), TensorType((), _SIZE), dimension=dimension)
        for dimension in range(of.rank)
    ]
    none = [building.full(0, TensorType((), _SIZE))] * of.rank
    high = [
        building.binary("subtract", building.full(bound, TensorType((), _SIZE)), size)
        for bound, size in zip(of.static_shape, sizes, strict=True)
    ]
    zero = building.full(0, TensorType((), of.element_type))
    ends = (_vector(building, one) for one in (none, high, none))
    padded = building.one("dynamic_pad", (value, zero, *ends), of)
    return (padded, *sizes)


def _vector(building: Building, scalars: list[Value]) -> Value:
    one = TensorType((1,), _SIZE)
    rows = [building.one("reshape", (scalar,), one) for scalar in scalars]
    return building.one("concatenate", rows, TensorType((len(rows),), _SIZE), dimension=0)


TARGETS: dict[str, Handler] = {
    "PadToStatic": _pad_to_static,
    "SliceToDynamic": _slice_to_dynamic,
}
"""The function that reads the calls of each target."""
