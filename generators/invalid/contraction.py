"""Near misses of the ops of reference/ops/contraction.py."""

from __future__ import annotations

from collections.abc import Iterator

from generators.invalid.misses import Miss, Misses, program, tensor
from generators.invalid.quantized.products import (
    Axes,
    Element,
    Ids,
    mistyped_operands,
    quantized_type,
)
from reference.ir.program import Attribute, Program, TensorType
from reference.ir.types import ELEMENT_TYPES
from reference.ops.contraction import ALGORITHM

_F32 = ELEMENT_TYPES["f32"]
_LHS, _RHS, _RESULT = (2, 3, 4), (2, 4, 5), (2, 3, 5)
_IDS = Ids("C14", "C17", "C18", "C19", "C20")
_AXES = Axes((1, 3), (2, 5), (2, 5))

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others, by op: none."""


def _types(lhs: Element, rhs: Element, result: Element) -> tuple[TensorType, ...]:
    return TensorType(_LHS, lhs), TensorType(_RHS, rhs), TensorType(_RESULT, result)


_VALID = _types(_F32, _F32, _F32)


def _dot(types: tuple[TensorType, ...] = _VALID, **changed: Attribute) -> Program:
    """Return a batched product of matrices, with some attributes changed."""
    given: dict[str, Attribute] = {
        "lhs_batching_dimensions": (0,),
        "rhs_batching_dimensions": (0,),
        "lhs_contracting_dimensions": (2,),
        "rhs_contracting_dimensions": (1,),
        "precision_config": ("DEFAULT", "DEFAULT"),
        **changed,
    }
    lhs, rhs, result = types
    return program("dot_general", {"lhs": lhs, "rhs": rhs}, (result,), (), **given)


def _numbers() -> Iterator[Miss]:
    """Yield near misses of C1 to C8: numbers, range and uniqueness of dimensions."""
    yield "C1", _dot(lhs_batching_dimensions=())
    yield "C1", _dot(rhs_batching_dimensions=())
    yield "C1", _dot(lhs_batching_dimensions=(0, 1))
    yield "C2", _dot(lhs_contracting_dimensions=())
    yield "C2", _dot(rhs_contracting_dimensions=())
    yield "C2", _dot(rhs_contracting_dimensions=(1, 2))
    square = tuple(tensor(_F32, *shape) for shape in ((3, 3, 3), (3, 3, 3), (3, 3, 3)))
    yield "C3", _dot(square, lhs_contracting_dimensions=(0,))
    yield "C3", _dot(square, lhs_contracting_dimensions=(2, 2), rhs_contracting_dimensions=(1, 2))
    yield "C4", _dot(square, rhs_contracting_dimensions=(0,))
    yield "C4", _dot(square, lhs_contracting_dimensions=(1, 2), rhs_contracting_dimensions=(1, 1))
    for bad in (3, -1, 7):
        yield "C5", _dot(lhs_batching_dimensions=(bad,))
        yield "C6", _dot(lhs_contracting_dimensions=(bad,))
        yield "C7", _dot(rhs_batching_dimensions=(bad,))
        yield "C8", _dot(rhs_contracting_dimensions=(bad,))


def _sizes() -> Iterator[Miss]:
    """Yield near misses of C9, C10, C12: paired sizes, and the result's."""
    lhs, rhs, result = _VALID
    for batch in (3, 1, 0):
        yield "C9", _dot((lhs, tensor(_F32, batch, 4, 5), result))
        yield "C9", _dot((tensor(_F32, batch, 3, 4), rhs, result))
    for depth in (5, 1, 0):
        yield "C10", _dot((lhs, tensor(_F32, 2, depth, 5), result))
        yield "C10", _dot((tensor(_F32, 2, 3, depth), rhs, result))
    for shape in (
        (2, 5, 3),
        (3, 2, 5),
        (3, 5),
        (2, 3, 4, 4, 5),
        (2, 3, 6),
        (1, 3, 5),
        (2, 3, 5, 1),
    ):
        yield "C12", _dot((lhs, rhs, tensor(_F32, *shape)))


def _element_types() -> Iterator[Miss]:
    """Yield near misses of C13 for plain tensors."""
    pairs = (
        ("f32", "f64"), ("f32", "bf16"), ("bf16", "f16"), ("si32", "ui32"), ("si32", "f32"),
        ("f32", "complex<f32>"), ("f8E5M2", "f8E4M3FN"), ("si8", "si4"), ("i1", "si8"),
    )  # fmt: skip
    for left, right in pairs:
        lhs, rhs = ELEMENT_TYPES[left], ELEMENT_TYPES[right]
        yield "C13", _dot(_types(lhs, rhs, lhs))
        yield "C13", _dot(_types(rhs, lhs, lhs))


def _quantized_near_misses() -> Iterator[Miss]:
    """Yield near misses of I1, C14 to C20: quantized tensors."""
    for id_, *elements in mistyped_operands(_IDS, _AXES):
        yield id_, _dot(_types(*elements))
    of = quantized_type()
    for point in (1, -128):
        yield "C15", _dot(_types(of, quantized_type(point=point), of))
        yield "C15", _dot(_types(_F32, quantized_type(point=point), _F32))
    yield "C16", _dot(_types(of, quantized_type(axis=(1, 4)), of))
    yield "C16", _dot(_types(_F32, quantized_type(axis=(1, 4)), _F32))


def _precision() -> Iterator[Miss]:
    """Yield near misses of I7 to I10, C11, C21 to C24: precisions and algorithms."""
    for size in (1, 3):
        yield "C11", _dot(precision_config=("DEFAULT",) * size)
    yield "I7", _dot(precision_config=("LOWEST", "DEFAULT"))
    algorithm: dict[str, Attribute] = dict(
        zip(ALGORITHM, ("tf32", "tf32", "f32", 1, 1, 1, False), strict=True)
    )
    for id_, name in zip(("I8", "I9", "I10"), ALGORITHM[:3], strict=True):
        for wrong in ("i32", "complex<f32>"):
            yield id_, _dot(_VALID, **(algorithm | {name: wrong}))
    for config in (("HIGHEST", "HIGHEST"), ("DEFAULT", "HIGH"), ("HIGH", "DEFAULT")):
        yield "C21", _dot(_VALID, **(algorithm | {"precision_config": config}))
    for id_, name in zip(("C22", "C23", "C24"), ALGORITHM[3:6], strict=True):
        for count in (0, -1):
            yield id_, _dot(_VALID, **(algorithm | {name: count}))


def _dot_general(op: str) -> Iterator[Miss]:
    """Yield near misses of every constraint of `dot_general`."""
    del op  # the family's only op with constraints
    yield from _numbers()
    yield from _sizes()
    yield from _element_types()
    yield from _quantized_near_misses()
    yield from _precision()


NEAR_MISSES: dict[str, Misses] = {"dot_general": _dot_general}
"""The generator of each op's near misses; former ops have no constraints."""
