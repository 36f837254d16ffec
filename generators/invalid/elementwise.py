"""Near misses of elementwise ops, for every constraint of every op.

They are structural: values do not matter. An implementation must refuse such a program; if it
compiles the program, it has accepted an invalid program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import numpy as np

from generators.invalid.misses import Miss, Misses
from generators.invalid.quantized import elementwise as quantized_elementwise
from reference.ir.program import Attribute, Dense, Program, TensorType, Value, single_op
from reference.ir.types import ALL, BOOLEAN, ELEMENT_TYPES, ElementType, Kind
from reference.ops.elementwise.elementwise import BINARY
from reference.ops.elementwise.elementwise import OPS as RECORDS
from reference.ops.elementwise.types import COMPARE_TYPES, compare_types_of
from reference.ops.table import OPS

_SHAPE = (2, 3)
OTHER_SHAPES = ((2, 4), (3, 2), (2,), (2, 3, 1), (1, 3), (), (0, 3))
"""Shapes that differ in one size, with sizes swapped, with one dimension less or more, or that
broadcasting would accept."""

_I1, _F32, _F64 = (ELEMENT_TYPES[name] for name in ("i1", "f32", "f64"))

INSEPARABLE: dict[str, tuple[str, ...]] = {
    "clamp": ("I1", "I2", "I3"),
    "compare": ("I1", "I2"),
    "complex": ("I1", "I2"),
    "select": ("I2", "I3"),
    **dict.fromkeys(sorted(BINARY - {"add", "complex"}), ("I1", "I2")),
}
"""Ids of constraints that are violated only with others: another constraint requires operands of
one (baseline) type. So an inadmissible operand, for example quantized per axis, makes the others
inadmissible, or violates that constraint too.
"""


def _tensor(element_type: ElementType, shape: tuple[int, ...] = _SHAPE) -> TensorType:
    return TensorType(shape, element_type)


def _program(
    op: str, operands: dict[str, TensorType], result: TensorType, **given: Attribute
) -> Program:
    values = tuple(Value(name, of) for name, of in operands.items())
    return single_op(op, values, (result,), given)


def _one_per_kind(types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
    """Return the widest of these types of each kind."""
    found: dict[Kind, ElementType] = {row.kind: row for row in types}
    return tuple(found.values())


def admitted_types(op: str) -> tuple[ElementType, ...]:
    """Return the widest type of each kind that the op's principal operand admits."""
    return _one_per_kind(OPS[op].element_types)


def refused_types(op: str) -> tuple[ElementType, ...]:
    """Return the widest type of each kind that the op's principal operand does not admit."""
    return _one_per_kind(tuple(row for row in ALL if row not in OPS[op].element_types))


def similar_types(element_type: ElementType) -> tuple[ElementType, ...]:
    """Return types easily confused with this type: of its kind and another width, of its width and
    another kind.
    """
    alike = [row for row in ALL if row is not element_type and row.kind is element_type.kind]
    wide = [
        row for row in ALL if row.bits == element_type.bits and row.kind is not element_type.kind
    ]
    return (*alike[-1:], *wide[:1])


def _same_type(element_type: ElementType) -> ElementType:
    return element_type


def _part_of(element_type: ElementType) -> ElementType:
    return element_type.part


def _boolean_of(element_type: ElementType) -> ElementType:  # noqa: ARG001 - one signature for all
    return BOOLEAN[0]


_RESULT_OF = {"abs": _part_of, "real": _part_of, "imag": _part_of, "is_finite": _boolean_of}
"""Result types of the unary ops whose result type differs from their operand's, admissible or
not.
"""


def _unary_misses(op: str, **given: Attribute) -> Iterator[Miss]:
    """Yield near misses of I1 (element type), C1 (type of the result)."""
    (operand,), result_of = OPS[op].operands, _RESULT_OF.get(op, _same_type)
    for of in refused_types(op):
        yield "I1", _program(op, {operand: _tensor(of)}, _tensor(result_of(of)), **given)
    for of in admitted_types(op):
        for shape in OTHER_SHAPES:
            result = _tensor(result_of(of), shape)
            yield "C1", _program(op, {operand: _tensor(of)}, result, **given)
        if op not in _RESULT_OF:
            for other in similar_types(of):
                yield "C1", _program(op, {operand: _tensor(of)}, _tensor(other), **given)


def _part(op: str) -> Iterator[Miss]:
    """Yield near misses of `abs`, `real`, `imag`: C2 (element type of the result), and the unary
    ops'."""
    yield from _unary_misses(op)
    for of in admitted_types(op):
        wrong = {of, *similar_types(of.part)} - {of.part}
        for result in sorted(wrong, key=lambda row: row.name):
            yield "C2", _program(op, {"operand": _tensor(of)}, _tensor(result))


def _reduce_precision(op: str) -> Iterator[Miss]:
    """Yield near misses of C2, C3 (numbers of bits), and the unary ops'."""
    yield from _unary_misses(op, exponent_bits=4, mantissa_bits=3)
    operand = {"operand": _tensor(_F32)}
    for bits in (0, -1):
        yield "C2", _program(op, operand, _tensor(_F32), exponent_bits=bits, mantissa_bits=3)
    yield "C3", _program(op, operand, _tensor(_F32), exponent_bits=4, mantissa_bits=-1)


def _binary(op: str) -> Iterator[Miss]:
    """Yield near misses of C1: both operands and the result have one type."""
    for of in admitted_types(op):
        good = _tensor(of)
        wrong = [_tensor(of, shape) for shape in OTHER_SHAPES]
        # an operand that the op does not admit would also violate I1 or I2
        wrong += [_tensor(other) for other in similar_types(of) if other in OPS[op].element_types]
        for bad in wrong:
            yield "C1", _program(op, {"lhs": good, "rhs": bad}, good)
            yield "C1", _program(op, {"lhs": bad, "rhs": good}, good)
            yield "C1", _program(op, {"lhs": good, "rhs": good}, bad)


def _complex(op: str) -> Iterator[Miss]:
    """Yield near misses of C1 (types of the parts), C2 (shape of the result), C3 (its element
    type)."""
    part, result = _tensor(_F32), _tensor(ELEMENT_TYPES["complex<f32>"])
    yield "C1", _program(op, {"lhs": part, "rhs": _tensor(_F64)}, result)
    for shape in OTHER_SHAPES:
        yield "C1", _program(op, {"lhs": part, "rhs": _tensor(_F32, shape)}, result)
        bad = _tensor(ELEMENT_TYPES["complex<f32>"], shape)
        yield "C2", _program(op, {"lhs": part, "rhs": part}, bad)
    for name in ("complex<f64>", "f32", "f64"):
        bad = _tensor(ELEMENT_TYPES[name])
        yield "C3", _program(op, {"lhs": part, "rhs": part}, bad)


def _compare(op: str) -> Iterator[Miss]:
    """Yield near misses of C1 (element types), C2 (shapes), C3 (compare_type), I3, I4 (enum
    values)."""
    result = _tensor(_I1)
    for of in admitted_types(op):
        good, kind = _tensor(of), compare_types_of(of)[0]
        program = partial(_program, op, compare_type=kind, comparison_direction="LT")
        for other in similar_types(of):
            # C3 requires a compare_type for lhs, so that only rhs is wrong
            yield "C1", program({"lhs": good, "rhs": _tensor(other)}, result)
        for shape in OTHER_SHAPES:
            yield "C2", program({"lhs": good, "rhs": _tensor(of, shape)}, result)
            yield "C2", program({"lhs": good, "rhs": good}, _tensor(_I1, shape))
        both = {"lhs": good, "rhs": good}
        for wrong in COMPARE_TYPES:
            if wrong not in compare_types_of(of):
                given: dict[str, Attribute] = {"comparison_direction": "EQ", "compare_type": wrong}
                yield "C3", _program(op, both, result, **given)
        yield "I3", _program(op, both, result, comparison_direction="UN", compare_type=kind)
        yield "I4", _program(op, both, result, comparison_direction="EQ", compare_type="ORDERED")


def _select(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 (pred not i1), C1 (shape of pred), C2 (types of the alternatives)."""
    for of in admitted_types(op):
        good, predicate = _tensor(of), _tensor(_I1)

        def program(
            pred: TensorType, yes: TensorType, no: TensorType, result: TensorType
        ) -> Program:
            return _program(op, {"pred": pred, "on_true": yes, "on_false": no}, result)

        for name in ("si8", "ui8", "f32"):
            yield "I1", program(_tensor(ELEMENT_TYPES[name]), good, good, good)
        for shape in OTHER_SHAPES:
            bad = _tensor(of, shape)
            if shape:  # a scalar predicate is valid
                yield "C1", program(_tensor(_I1, shape), good, good, good)
            yield "C2", program(predicate, good, bad, good)
            yield "C2", program(predicate, good, good, bad)
        for other in similar_types(of):
            yield "C2", program(predicate, good, _tensor(other), good)
            yield "C2", program(predicate, good, good, _tensor(other))


def _clamp(op: str) -> Iterator[Miss]:
    """Yield near misses of C1, C2 (shapes of bounds), C3 (element types), C4 (result)."""
    for of in admitted_types(op):
        good = _tensor(of)

        def program(
            low: TensorType, operand: TensorType, high: TensorType, result: TensorType
        ) -> Program:
            return _program(op, {"min": low, "operand": operand, "max": high}, result)

        for shape in OTHER_SHAPES:
            bad = _tensor(of, shape)
            if shape:  # a scalar bound is valid
                yield "C1", program(bad, good, good, good)
                yield "C2", program(good, good, bad, good)
            yield "C4", program(good, good, good, bad)
        for other in similar_types(of):
            bad = _tensor(other)
            yield "C3", program(bad, good, good, good)
            yield "C3", program(_tensor(of, ()), good, _tensor(other, ()), good)
            yield "C4", program(good, good, good, bad)


def _bitcast_convert(op: str) -> Iterator[Miss]:
    """Yield near misses of C1 (numbers of bits), C2 (only one type is complex)."""
    names = (
        (("f32", 2, 3), ("f64", 2, 3)),  # twice the bits
        (("f32", 2, 3), ("si16", 2, 3)),
        (("f32", 2, 3), ("ui32", 3, 2)),
        (("f64", 2, 3), ("f32", 2, 3, 3)),
        (("f64", 2, 3), ("f32", 2, 2, 3)),
        (("f64", 2, 3), ("f32", 3, 3, 2)),
        (("f64", 2, 3), ("f32", 2, 6)),
        (("f32", 2, 3), ("f64", 2)),
        (("f32", 3, 2), ("f64", 3, 1)),
        (("si8",), ("si16",)),
        (("f6E2M3FN", 4), ("ui8", 3)),  # both have 24 bits, but 8 is no multiple of 6
        (("complex<f64>", 2), ("complex<f32>", 2)),
    )
    for before, after in names:
        yield "C1", _bitcast(op, before, after)
    pairs = (
        (("f64", 2), ("complex<f32>", 2)),
        (("complex<f32>", 2), ("f64", 2)),
        (("complex<f32>", 2), ("f32", 2, 2)),
        (("f64", 3, 2), ("complex<f64>", 3)),
        (("complex<f64>",), ("ui8", 16)),
    )
    for before, after in pairs:
        yield "C2", _bitcast(op, before, after)


def _bitcast(op: str, before: tuple[str | int, ...], after: tuple[str | int, ...]) -> Program:
    operand, result = (
        _tensor(ELEMENT_TYPES[str(name)], tuple(int(size) for size in shape))
        for name, *shape in (before, after)
    )
    return _program(op, {"operand": operand}, result)


def _convert(op: str) -> Iterator[Miss]:
    """Yield near misses of C1: the shapes differ."""
    for of in admitted_types(op):
        for to in admitted_types(op):
            for shape in OTHER_SHAPES:
                yield "C1", _program(op, {"operand": _tensor(of)}, _tensor(to, shape))


def _constant(op: str) -> Iterator[Miss]:
    """Yield near misses of C1: the output does not have the type of the value."""
    for of in admitted_types(op):
        value = Dense.of(np.zeros(_SHAPE, of.storage), _tensor(of))
        for shape in OTHER_SHAPES:
            yield "C1", single_op(op, (), (_tensor(of, shape),), {"value": value})
        for other in similar_types(of):
            yield "C1", single_op(op, (), (_tensor(other),), {"value": value})


def _iota(op: str) -> Iterator[Miss]:
    """Yield near misses of C1: the output has no such dimension."""
    for of in admitted_types(op):
        for shape, dimension in (((2, 3), 2), ((2, 3), -1), ((2, 3), 7), ((), 0), ((0,), 1)):
            yield "C1", single_op(op, (), (_tensor(of, shape),), {"iota_dimension": dimension})


_SPECIFIC: dict[str, Callable[[str], Iterator[Miss]]] = {
    "abs": _part,
    "bitcast_convert": _bitcast_convert,
    "clamp": _clamp,
    "compare": _compare,
    "complex": _complex,
    "constant": _constant,
    "convert": _convert,
    "imag": _part,
    "iota": _iota,
    "real": _part,
    "reduce_precision": _reduce_precision,
    "select": _select,
}


def _misses_of(op: str) -> Misses:
    plain = _SPECIFIC.get(op, _binary if op in BINARY else _unary_misses)
    return lambda op: chain(plain(op), quantized_elementwise.misses(op))


NEAR_MISSES: dict[str, Misses] = {record.name: _misses_of(record.name) for record in RECORDS}
"""The generator of each op's near misses."""
