"""Near misses of the elementwise ops with quantized tensors: storage, expressed type, dimension."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generators.invalid.misses import Miss, program
from reference.ir.op import QuantizedUse
from reference.ir.program import Program, QuantizedType, TensorType
from reference.ir.types import ELEMENT_TYPES
from reference.ops.elementwise.elementwise import BINARY
from reference.ops.table import OPS

_SHAPE = (2, 3)
_I1, _F32 = (ELEMENT_TYPES[name] for name in ("i1", "f32"))

CODES = QuantizedType(ELEMENT_TYPES["si8"], -128, 127, _F32, (0.5,), (3,))
"""A quantized type that is admissible for every op with quantized operands."""

WIDER = replace(CODES, storage_type=ELEMENT_TYPES["si16"], storage_min=-32768, storage_max=32767)
UNSIGNED = replace(CODES, storage_type=ELEMENT_TYPES["ui8"], storage_min=0, storage_max=255)
NARROWER = replace(CODES, storage_min=-127)
HALF = replace(CODES, expressed_type=ELEMENT_TYPES["f16"])
BY_ROW = replace(CODES, scales=(0.5, 0.25), zero_points=(3, 0), quantization_dimension=0)
BY_COLUMN = replace(
    CODES, scales=(0.5, 0.25, 2.0), zero_points=(3, 0, -1), quantization_dimension=1
)
OTHERS = (WIDER, UNSIGNED, NARROWER, HALF)
"""Types that differ from CODES in one member other than the parameters."""


def tensor(quantized_type: QuantizedType, shape: tuple[int, ...] = _SHAPE) -> TensorType:
    """Return a tensor of quantized elements."""
    return TensorType(shape, quantized_type)


_GOOD, _PLAIN = tensor(CODES), TensorType(_SHAPE, _F32)


def misses(op: str) -> Iterator[Miss]:
    """Yield near misses of the op's constraints on quantized tensors."""
    if op in _OWN:
        yield from _OWN[op](op)
    elif OPS[op].quantized is QuantizedUse.COMPUTES:
        yield from (_binary if op in BINARY else _unary_misses)(op)
    elif op not in BINARY and OPS[op].inputs == ("I1",):
        yield "I1", program(op, {"operand": _GOOD}, (_GOOD,))


def _unary_misses(op: str, **given: int) -> Iterator[Miss]:
    """Yield near misses of I1 (per axis), C1 (C2 of abs): the baseline types differ."""
    id_ = "C2" if op == "abs" else "C1"

    def write_program(operand: TensorType, result: TensorType) -> Program:
        return program(op, {"operand": operand}, (result,), (), **given)

    yield "I1", write_program(tensor(BY_ROW), tensor(BY_ROW))
    for other in OTHERS:
        yield id_, write_program(_GOOD, tensor(other))
    yield id_, write_program(_GOOD, _PLAIN)
    yield id_, write_program(_PLAIN, _GOOD)
    yield id_, write_program(_GOOD, tensor(BY_COLUMN))


def _binary(op: str) -> Iterator[Miss]:
    """Yield near misses of C1: the baseline types of operands and result differ."""
    for other in map(tensor, OTHERS):
        yield "C1", program(op, {"lhs": _GOOD, "rhs": other}, (_GOOD,))
        yield "C1", program(op, {"lhs": other, "rhs": _GOOD}, (_GOOD,))
        yield "C1", program(op, {"lhs": _GOOD, "rhs": _GOOD}, (other,))
    yield "C1", program(op, {"lhs": _GOOD, "rhs": _PLAIN}, (_GOOD,))
    yield "C1", program(op, {"lhs": _GOOD, "rhs": _GOOD}, (_PLAIN,))


def _add(op: str) -> Iterator[Miss]:
    """Yield near misses of C2 (all quantized), C3 (storage), C4 (expressed), C5 to C7
    (dimensions)."""
    rows, columns = tensor(BY_ROW), tensor(BY_COLUMN)
    yield "C2", program(op, {"lhs": _GOOD, "rhs": _PLAIN}, (_GOOD,))
    yield "C2", program(op, {"lhs": _PLAIN, "rhs": _GOOD}, (_GOOD,))
    yield "C2", program(op, {"lhs": _GOOD, "rhs": _GOOD}, (_PLAIN,))
    for id_, wrong in (("C3", WIDER), ("C3", UNSIGNED), ("C4", HALF)):
        other = tensor(wrong)
        yield id_, program(op, {"lhs": _GOOD, "rhs": other}, (_GOOD,))
        yield id_, program(op, {"lhs": other, "rhs": _GOOD}, (_GOOD,))
        yield id_, program(op, {"lhs": _GOOD, "rhs": _GOOD}, (other,))
    yield "C5", program(op, {"lhs": _GOOD, "rhs": _GOOD}, (rows,))
    yield "C6", program(op, {"lhs": rows, "rhs": _GOOD}, (columns,))
    yield "C6", program(op, {"lhs": rows, "rhs": columns}, (columns,))
    yield "C7", program(op, {"lhs": _GOOD, "rhs": rows}, (columns,))
    yield "C7", program(op, {"lhs": columns, "rhs": rows}, (columns,))


def _convert(op: str) -> Iterator[Miss]:
    """Yield near misses of I1: a quantized operand requires `uniform_dequantize`."""
    for of in (CODES, BY_ROW):
        yield "I1", program(op, {"operand": tensor(of)}, (_PLAIN,))


def _clamp(op: str) -> Iterator[Miss]:
    """Yield near misses of C3 (element types of the bounds), C4 (type of the result)."""
    for other in map(tensor, OTHERS):
        yield "C3", program(op, {"min": other, "operand": _GOOD, "max": _GOOD}, (_GOOD,))
        yield "C3", program(op, {"min": _GOOD, "operand": _GOOD, "max": other}, (_GOOD,))
        yield "C4", program(op, {"min": _GOOD, "operand": _GOOD, "max": _GOOD}, (other,))
    yield "C3", program(op, {"min": _PLAIN, "operand": _GOOD, "max": _GOOD}, (_GOOD,))


def _compare(op: str) -> Iterator[Miss]:
    """Yield near misses of C1: element types that differ beyond their parameters."""
    result = (TensorType(_SHAPE, _I1),)
    for other in (*map(tensor, OTHERS), _PLAIN):
        operands = {"lhs": _GOOD, "rhs": other}
        yield "C1", program(op, operands, result, comparison_direction="LT")


def _select(op: str) -> Iterator[Miss]:
    """Yield near misses of C2: types of alternatives and result that differ beyond parameters."""
    pred = TensorType(_SHAPE, _I1)
    for other in (*map(tensor, OTHERS), _PLAIN):
        yield "C2", program(op, {"pred": pred, "on_true": _GOOD, "on_false": other}, (_GOOD,))
        yield "C2", program(op, {"pred": pred, "on_true": _GOOD, "on_false": _GOOD}, (other,))


def _is_finite(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 (per axis)."""
    yield "I1", program(op, {"x": tensor(BY_ROW)}, (TensorType(_SHAPE, _I1),))


def _reduce_precision(op: str) -> Iterator[Miss]:
    yield from _unary_misses(op, exponent_bits=4, mantissa_bits=3)


def _bitcast_convert(op: str) -> Iterator[Miss]:
    """Yield near misses of C1: codes have the bits of their storage type."""
    for before, after in (
        (_GOOD, _PLAIN), (_GOOD, tensor(WIDER)), (tensor(CODES, (4,)), tensor(WIDER, (4, 2))),
        (_PLAIN, tensor(CODES, (2, 3, 2))),
    ):  # fmt: skip
        yield "C1", program(op, {"operand": before}, (after,))


_OWN = {
    "add": _add,
    "bitcast_convert": _bitcast_convert,
    "clamp": _clamp,
    "compare": _compare,
    "convert": _convert,
    "is_finite": _is_finite,
    "reduce_precision": _reduce_precision,
    "select": _select,
}
