"""Near misses of the ops of reference/ops/dynamism.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from generators.invalid.data_movement import broadcasts, quantized_type, reshapes, steps
from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import Attribute, Dense, Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, ElementType

_F32, _I1, _SI32, _SI64 = (ELEMENT_TYPES[name] for name in ("f32", "i1", "si32", "si64"))
_TYPES = tuple(ELEMENT_TYPES[name] for name in ("f32", "si64", "bf16", "complex<f32>"))
_SIZE = tensor(_SI32)


def _non_number_types(count: int) -> tuple[TensorType, ...]:
    """Return types of `count` elements that are no integer tensors with one dimension."""
    return (tensor(_F32, count), tensor(_I1, count), tensor(_SI64, 1, count), tensor(_SI64))


def _shape_operand_program(
    op: str,
    name: str,
    operands: dict[str, TensorType],
    results: tuple[TensorType, ...],
    **given: Attribute,
) -> Program:
    """Return the program of an op that takes the shape of its result as its last operand,
    `name`."""
    types = {**operands, name: tensor(_SI64, results[0].rank)}
    values = tuple(Value(name, of) for name, of in types.items())
    return single_op(op, values, results, given)


def _dynamic_broadcast_in_dim(op: str) -> Iterator[Miss]:
    """Yield near misses of C7 (number of sizes), C8 to C10 (known dimensions), and the
    broadcasts'."""
    name = "output_dimensions"
    make = partial(_shape_operand_program, op, name)
    yield from broadcasts(make)
    for of in _TYPES:
        operand, result = {"operand": tensor(of, 2, 1)}, tensor(of, 3, 2, 4)
        where = {"broadcast_dimensions": (1, 2)}
        for bad in _non_number_types(3):
            yield "I2", program(op, {**operand, name: bad}, (result,), broadcast_dimensions=(1, 2))
        for count in (0, 2, 4):
            bad = tensor(_SI64, count)
            yield "C7", program(op, {**operand, name: bad}, (result,), broadcast_dimensions=(1, 2))
        known = partial(make, operand, (result,), **where)
        for expanding, kept in (((1,), (1,)), ((1, 1), ()), ((), (0, 0)), ((0, 1), (0,))):
            yield (
                "C8",
                known(known_expanding_dimensions=expanding, known_nonexpanding_dimensions=kept),
            )
        for dimension in (2, -1):
            yield "C9", known(known_expanding_dimensions=(dimension,))
            yield "C10", known(known_nonexpanding_dimensions=(dimension,))


def _dynamic_iota(op: str) -> Iterator[Miss]:
    """Yield near misses of C1 (no such dimension), C2 (number of sizes)."""
    for of in _TYPES:
        good, result = {"output_shape": tensor(_SI64, 2)}, tensor(of, 4, 5)
        for bad in _non_number_types(2):
            yield "I1", program(op, {"output_shape": bad}, (result,), iota_dimension=0)
        for dimension in (2, -1, 7):
            yield "C1", program(op, good, (result,), iota_dimension=dimension)
        for shape in ((4,), (4, 5, 1), ()):
            yield "C2", program(op, good, (tensor(of, *shape),), iota_dimension=0)


def _padding_types(tensor_type: TensorType) -> dict[str, TensorType]:
    return {
        "edge_padding_low": tensor_type,
        "edge_padding_high": tensor_type,
        "interior_padding": tensor_type,
    }


def _dynamic_pad(op: str) -> Iterator[Miss]:
    """Yield near misses of I2 to I5, C1 (types), C2, C3 (number and sign of amounts), C4 (rank)."""
    make, good = partial(program, op), _padding_types(tensor(_SI64, 2))
    for of in _TYPES:
        operand, result = tensor(of, 2, 3), tensor(of, 5, 9)
        given = {"operand": operand, "padding_value": tensor(of)}
        other = _SI32 if of is not _SI32 else _F32
        for shape in ((1,), (2, 3)):
            bad = {"operand": operand, "padding_value": tensor(of, *shape)}
            yield "I2", make({**bad, **good}, (result,))
        for index, name in enumerate(good, 3):
            for wrong in _non_number_types(2):
                yield f"I{index}", make({**given, **good, name: wrong}, (result,))
            yield "C2", make({**given, **good, name: tensor(_SI64, 1)}, (result,))
        yield "C2", make({**given, **_padding_types(tensor(_SI64, 3))}, (result,))
        yield "C1", make({**given, **good, "padding_value": tensor(other)}, (result,))
        yield "C1", make({**given, **good}, (tensor(other, 5, 9),))
        for shape in ((5,), (5, 9, 1), ()):
            yield "C4", make({**given, **good}, (tensor(of, *shape),))
        yield "C3", _negative_padding(op, operand, tensor(of, 1, 1), (-1, -2))
        yield "C3", _negative_padding(op, operand, tensor(of, 2, 1), (0, -1))
    codes, other = quantized_type(2, 3), steps(1, first=0.25)
    given = {"operand": codes, "padding_value": TensorType((), other), **good}
    yield "C1", make(given, (quantized_type(5, 9),))


def _negative_padding(
    op: str, operand: TensorType, result: TensorType, interior: Sequence[int]
) -> Program:
    """Return a dynamic_pad with constant amounts, all interior."""
    counts = tensor(_SI64, 2)
    none = Dense.of(np.zeros(2, np.int64), counts)
    between = Dense.of(np.array(interior, np.int64), counts)
    value = Value("padding_value", TensorType((), operand.element_type))
    return single_op(op, (Value("operand", operand), value, none, none, between), (result,))


def _dynamic_reshape(op: str) -> Iterator[Miss]:
    """Yield near misses of C4 (number of sizes), and near misses of reshape."""
    yield from reshapes(partial(_shape_operand_program, op, "output_shape"))
    for of in _TYPES:
        operand, result = {"operand": tensor(of, 2, 3)}, tensor(of, 3, 2)
        for bad in _non_number_types(2):
            yield "I2", program(op, {**operand, "output_shape": bad}, (result,))
        for count in (0, 1, 3):
            yield "C4", program(op, {**operand, "output_shape": tensor(_SI64, count)}, (result,))


def _get_dimension_size(op: str) -> Iterator[Miss]:
    """Yield near misses of C1: no such dimension."""
    types: tuple[ElementType, ...] = (*_TYPES, _I1)
    for of in types:
        for shape, dimension in (((2, 3), 2), ((2, 3), -1), ((), 0), ((0,), 1)):
            operand = {"operand": tensor(of, *shape)}
            yield "C1", program(op, operand, (_SIZE,), dimension=dimension)


NEAR_MISSES: dict[str, Misses] = {
    "dynamic_broadcast_in_dim": _dynamic_broadcast_in_dim,
    "dynamic_iota": _dynamic_iota,
    "dynamic_pad": _dynamic_pad,
    "dynamic_reshape": _dynamic_reshape,
    "get_dimension_size": _get_dimension_size,
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {
    # the padding value has the operand's element type (C1): also per axis, which violates I2
    "dynamic_pad": ("I1",),
}
"""Ids of constraints that are violated only with others, by op: see each comment."""
