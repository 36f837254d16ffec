"""Near misses of the ops of reference/ops/convolution.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from generators.invalid.misses import Miss, Misses, program, tensor
from generators.invalid.quantized.products import (
    Axes,
    Element,
    Ids,
    mistyped_operands,
    quantized_type,
)
from reference.ir.program import Attribute, Dense, Program, TensorType
from reference.ir.types import ELEMENT_TYPES

_F32, _SI64 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["si64"]
_LHS, _RHS, _RESULT = (2, 6, 5, 4), (3, 2, 4, 6), (2, 4, 4, 6)
_IDS = Ids("C28", "C31", "C32", "C33", "C34")
_AXES = Axes((1, 6), (3, 6), (3, 6))

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others, by op: none."""

Make = Callable[..., Program]


def _padding(*rows: tuple[int, ...]) -> Dense:
    numbers = np.array(rows, np.int64)
    return Dense.of(numbers, TensorType(numbers.shape, _SI64))


_ATTRIBUTES: dict[str, Attribute] = {
    "window_strides": (1, 1),
    "lhs_dilation": (1, 1),
    "rhs_dilation": (1, 1),
    "window_reversal": (False, False),
    "input_batch_dimension": 0,
    "input_feature_dimension": 3,
    "input_spatial_dimensions": (1, 2),
    "kernel_input_feature_dimension": 2,
    "kernel_output_feature_dimension": 3,
    "kernel_spatial_dimensions": (0, 1),
    "output_batch_dimension": 0,
    "output_feature_dimension": 3,
    "output_spatial_dimensions": (1, 2),
    "feature_group_count": 1,
    "batch_group_count": 1,
    "precision_config": ("DEFAULT", "DEFAULT"),
}


def _types(lhs: Element, rhs: Element, result: Element) -> tuple[TensorType, ...]:
    return TensorType(_LHS, lhs), TensorType(_RHS, rhs), TensorType(_RESULT, result)


def _shapes(*shapes: tuple[int, ...]) -> tuple[TensorType, ...]:
    return tuple(tensor(_F32, *shape) for shape in shapes)


_VALID = _types(_F32, _F32, _F32)


def _convolution(types: tuple[TensorType, ...] = _VALID, **changed: Attribute) -> Program:
    """Return a two-dimensional convolution, with some attributes changed."""
    lhs, rhs, result = types
    given = _ATTRIBUTES | {"padding": _padding((0, 0), (0, 0))} | changed
    return program("convolution", {"lhs": lhs, "rhs": rhs}, (result,), (), **given)


def _dynamic(types: tuple[TensorType, ...] = _VALID, **changed: Attribute) -> Program:
    return _dynamic_convolution(tensor(_SI64, 2, 2), types, **changed)


def _dynamic_convolution(
    padding: TensorType, types: tuple[TensorType, ...] = _VALID, **changed: Attribute
) -> Program:
    """Return a two-dimensional convolution whose padding is an operand of this type."""
    lhs, rhs, result = types
    operands = {"lhs": lhs, "rhs": rhs, "padding": padding}
    return program("dynamic_conv", operands, (result,), (), **(_ATTRIBUTES | changed))


def _windows(make: Make) -> Iterator[Miss]:
    """Yield near misses of C2, C3, C5 to C9, C24, I19: window attributes, and precisions."""
    for id_, name in (("C2", "window_strides"), ("C5", "lhs_dilation"), ("C7", "rhs_dilation")):
        for sizes in ((1,), (1, 1, 1), ()):
            yield id_, make(**{name: sizes})
    for id_, name in (("C3", "window_strides"), ("C6", "lhs_dilation"), ("C8", "rhs_dilation")):
        for sizes in ((0, 1), (1, -1)):
            yield id_, make(**{name: sizes})
    for reversal in ((False,), (True, False, False)):
        yield "C9", make(window_reversal=reversal)
    for size in (1, 3):
        yield "C24", make(precision_config=("DEFAULT",) * size)
    yield "I19", make(precision_config=("DEFAULT", "LOWEST"))


def _numbers(make: Make) -> Iterator[Miss]:
    """Yield near misses of C1, C12, C13, C17 to C20, C26: ranks and dimension numbers."""
    lhs, rhs, result = _VALID
    yield "C1", make((lhs, tensor(_F32, 3, 2, 4), result))
    yield "C1", make((tensor(_F32, 2, 6, 4), rhs, result))
    parts = (
        ("C12", "C13", "input", "input_feature_dimension"),
        ("C17", "C18", "kernel", "kernel_output_feature_dimension"),
        ("C19", "C20", "output", "output_batch_dimension"),
    )
    for size_id, id_, part, feature in parts:
        name = f"{part}_spatial_dimensions"
        first, second = (0, 1) if part == "kernel" else (1, 2)
        yield size_id, make(**{name: (first,)})
        yield size_id, make(**{name: ()})
        yield id_, make(**{name: (first, first)})
        yield id_, make(**{name: (first, 4)})
        yield id_, make(**{name: (-1, second)})
        yield id_, make(**{feature: second})
        yield id_, make(**{feature: 4})
    yield "C26", make((lhs, rhs, tensor(_F32, 2, 4, 4)))
    yield "C26", make((lhs, rhs, tensor(_F32, 2, 4, 4, 6, 1)))


def _groups(make: Make) -> Iterator[Miss]:
    """Yield near misses of C10, C11, C14 to C16, C21 to C23: groups."""
    yield "C10", make(_shapes((3, 6, 5, 4), _RHS, (1, 4, 4, 6)), batch_group_count=2)
    yield "C11", make(_shapes((2, 6, 5, 5), (3, 2, 2, 6), _RESULT), feature_group_count=2)
    for taken in (5, 2, 1):
        yield "C14", make(_shapes(_LHS, (3, 2, taken, 6), _RESULT))
    yield "C14", make(_shapes(_LHS, _RHS, _RESULT), feature_group_count=2)
    yield "C15", make(_shapes(_LHS, (3, 2, 4, 5), (1, 4, 4, 5)), batch_group_count=2)
    yield "C16", make(_shapes(_LHS, (3, 2, 2, 5), (2, 4, 4, 5)), feature_group_count=2)
    for count in (0, -1):
        yield "C21", make(feature_group_count=count)
        yield "C22", make(batch_group_count=count)
    both = _shapes(_LHS, (3, 2, 2, 6), (1, 4, 4, 6))
    yield "C23", make(both, feature_group_count=2, batch_group_count=2)


def _element_types(make: Make) -> Iterator[Miss]:
    """Yield near misses of C27 for plain tensors, of I1 and C28 to C34 for quantized tensors."""
    pairs = (("f32", "f64"), ("bf16", "f32"), ("si32", "ui32"), ("si8", "si32"), ("i1", "ui8"))
    for left, right in pairs:
        element_type, other = ELEMENT_TYPES[left], ELEMENT_TYPES[right]
        yield "C27", make(_types(element_type, element_type, other))
        yield "C27", make(_types(element_type, other, element_type))
        yield "C27", make(_types(other, element_type, element_type))
    for id_, *elements in mistyped_operands(_IDS, _AXES):
        yield id_, make(_types(*elements))
    plain = quantized_type()
    by_input, by_output = quantized_type(axis=(2, 4)), quantized_type(axis=_AXES.rhs)
    yield "C29", make(_types(plain, by_input, plain))
    yield "C29", make(_types(_F32, by_input, _F32))
    yield "C30", make(_types(plain, by_output, quantized_type(axis=(1, 4))))
    yield "C30", make(_types(plain, by_output, quantized_type(axis=(0, 2))))


def _convolution_misses(op: str) -> Iterator[Miss]:
    """Yield near misses of every constraint of `convolution`."""
    del op  # called for this op only
    yield from _windows(_convolution)
    yield from _numbers(_convolution)
    yield from _groups(_convolution)
    yield from _element_types(_convolution)
    for padding in (_padding((0, 0)), _padding((0,), (0,)), _padding((0, 0), (0, 0), (0, 0))):
        yield "C4", _convolution(padding=padding)
    lhs, rhs, _ = _VALID
    for shape in ((2, 4, 5, 6), (1, 4, 4, 6), (2, 4, 4, 5), (2, 5, 4, 6), (2, 0, 4, 6)):
        yield "C25", _convolution((lhs, rhs, tensor(_F32, *shape)))
    yield "C25", _convolution(padding=_padding((1, 0), (0, 0)))
    yield "C25", _convolution(window_strides=(2, 1))
    yield "C25", _convolution(rhs_dilation=(1, 2))
    yield "C25", _convolution(lhs_dilation=(2, 1))


def _dynamic_conv_misses(op: str) -> Iterator[Miss]:
    """Yield near misses of every constraint of `dynamic_conv`, whose window counts are unknown."""
    del op  # called for this op only
    yield from _windows(_dynamic)
    yield from _numbers(_dynamic)
    yield from _groups(_dynamic)
    yield from _element_types(_dynamic)
    for shape in ((3, 2), (2, 3), (1, 2), (2, 1)):
        yield "C4", _dynamic_convolution(tensor(_SI64, *shape))
    yield "I3", _dynamic_convolution(tensor(_F32, 2, 2))
    yield "I3", _dynamic_convolution(tensor(ELEMENT_TYPES["i1"], 2, 2))
    yield "I3", _dynamic_convolution(tensor(_SI64, 4))
    lhs, rhs, _ = _VALID
    for shape in ((1, 4, 4, 6), (2, 4, 4, 5)):
        yield "C25", _dynamic((lhs, rhs, tensor(_F32, *shape)))


NEAR_MISSES: dict[str, Misses] = {
    "convolution": _convolution_misses,
    "dynamic_conv": _dynamic_conv_misses,
}
"""The generator of each op's near misses."""
