"""Near misses of the ops of reference/ops/sorts/sorting.py."""

from __future__ import annotations

from collections.abc import Iterator

from generators.invalid.data_movement import quantized_type
from generators.invalid.misses import Miss, Misses, program, tensor
from generators.regions.bodies import BodyBuilder
from reference.ir.program import Program, Region, TensorType, Value
from reference.ir.types import ELEMENT_TYPES, ElementType

_F32, _F64, _I1, _SI32 = (ELEMENT_TYPES[name] for name in ("f32", "f64", "i1", "si32"))
_TYPES = tuple(ELEMENT_TYPES[name] for name in ("f32", "si64", "bf16", "ui8"))


def _ascending_comparator(*of: ElementType) -> Region:
    """Return a comparator of the first operand, for these element types."""
    block = BodyBuilder.of(*(one for one in of for _ in range(2)))
    return block.finish_region(block.compare(block.arguments[0], block.arguments[1], "LT"))


def _sort_program(
    inputs: tuple[TensorType, ...],
    results: tuple[TensorType, ...],
    comparator: Region,
    dimension: int = 0,
) -> Program:
    types = {f"input{n}": of for n, of in enumerate(inputs)}
    given = {"dimension": dimension, "is_stable": True}
    return program("sort", types, results, (comparator,), **given)


def _sort(_: str) -> Iterator[Miss]:
    """Yield near misses of I1 and every constraint."""
    for of in _TYPES:
        good, index = tensor(of, 4, 3), tensor(_SI32, 4, 3)
        both = (good, index)
        comparator = _ascending_comparator(of, _SI32)
        for shape in ((4, 4), (3, 4), (4,), (4, 3, 1), (1, 3)):
            bad = TensorType(shape, of)
            yield "C2", _sort_program(both, (bad, index), comparator)
        other = _F64 if of is not _F64 else _F32
        yield "C2", _sort_program(both, (good, tensor(other, 4, 3)), comparator)
        yield "C2", _sort_program(both, (index, good), comparator)
        for shape in ((4, 4), (3, 4), (4,), (1, 3)):
            bad = TensorType(shape, _SI32)
            yield "C3", _sort_program((good, bad), (good, bad), comparator)
        for dimension in (2, -3, 5):
            yield "C4", _sort_program(both, both, comparator, dimension)
        scalar = tensor(of)
        yield "C4", _sort_program((scalar,), (scalar,), _ascending_comparator(of))
        for region in _non_comparators(of, other):
            yield "C5", _sort_program(both, both, region)
    always = BodyBuilder(()).finish_region()
    yield "C1", _sort_program((), (), always)
    axis = quantized_type(4, 3, axis=1)
    block = BodyBuilder(tuple(Value(f"a{n}", TensorType((), axis.element_type)) for n in range(2)))
    region = block.finish_region(block.constant(0, _I1))
    yield "I1", _sort_program((axis,), (axis,), region)


def _non_comparators(element_type: ElementType, other: ElementType) -> Iterator[Region]:
    """Yield regions that do not compare elements of `element_type` and si32."""
    yield _ascending_comparator(element_type)
    yield _ascending_comparator(_SI32, element_type)
    yield _ascending_comparator(element_type, other)
    yield _ascending_comparator(element_type, _SI32, _SI32)
    types = (element_type, element_type, _SI32, _SI32)
    block = BodyBuilder.of(*types)
    yield block.finish_region(block.arguments[0])
    block = BodyBuilder.of(*types)
    less = block.compare(block.arguments[0], block.arguments[1], "LT")
    yield block.finish_region(less, less)
    apart = BodyBuilder.of(element_type, _SI32, element_type, _SI32)  # all of lhs, then all of rhs
    yield apart.finish_region(apart.compare(apart.arguments[0], apart.arguments[2], "LT"))
    ranked = BodyBuilder(tuple(Value(f"a{n}", tensor(one, 1)) for n, one in enumerate(types)))
    yield ranked.finish_region(ranked.constant(0, _I1))


NEAR_MISSES: dict[str, Misses] = {"sort": _sort}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others, by op: see each comment."""
