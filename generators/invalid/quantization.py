"""Near misses of the ops of reference/ops/quantization.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generators.invalid.misses import Miss, Misses, program, tensor
from generators.invalid.quantized.elementwise import BY_COLUMN, BY_ROW, CODES, HALF
from reference.ir.program import TensorType
from reference.ir.types import ELEMENT_TYPES

_F32, _F16, _SI8 = (ELEMENT_TYPES[name] for name in ("f32", "f16", "si8"))
_SHAPE = (2, 3)
_OTHER_SHAPES = ((2, 4), (3, 2), (2,), (2, 3, 1), ())
_CODES = TensorType(_SHAPE, CODES)
_PLAIN = tensor(_F32, *_SHAPE)


def _dequantize(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 (not quantized), C1 (shapes), C2 (not the expressed type)."""
    for name in ("f32", "si8", "i1"):
        yield "I1", program(op, {"operand": tensor(ELEMENT_TYPES[name], *_SHAPE)}, (_PLAIN,))
    for shape in _OTHER_SHAPES:
        yield "C1", program(op, {"operand": _CODES}, (tensor(_F32, *shape),))
    for name in ("f16", "f64", "si8"):
        yield "C2", program(op, {"operand": _CODES}, (tensor(ELEMENT_TYPES[name], *_SHAPE),))
    for of in (BY_ROW, BY_COLUMN):
        operand = {"operand": TensorType(_SHAPE, of)}
        yield "C2", program(op, operand, (tensor(_F16, *_SHAPE),))


def _quantize(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 (neither float nor quantized), C1 (shapes), C2 (expressed types)."""
    for name in ("si8", "i1", "complex<f32>"):
        yield "I1", program(op, {"operand": tensor(ELEMENT_TYPES[name], *_SHAPE)}, (_CODES,))
    for shape in _OTHER_SHAPES:
        for of in (_F32, CODES):
            yield (
                "C1",
                program(op, {"operand": TensorType(_SHAPE, of)}, (TensorType(shape, CODES),)),
            )
    yield "C2", program(op, {"operand": tensor(_F16, *_SHAPE)}, (_CODES,))
    yield "C2", program(op, {"operand": TensorType(_SHAPE, HALF)}, (_CODES,))
    yield "C2", program(op, {"operand": _CODES}, (TensorType(_SHAPE, HALF),))
    rows = replace(BY_ROW, expressed_type=_F16)
    yield "C2", program(op, {"operand": _CODES}, (TensorType(_SHAPE, rows),))
    for name in ("f32", "si8"):  # the result is not quantized, so it has no expressed type
        yield "C2", program(op, {"operand": _PLAIN}, (tensor(ELEMENT_TYPES[name], *_SHAPE),))


NEAR_MISSES: dict[str, Misses] = {"uniform_dequantize": _dequantize, "uniform_quantize": _quantize}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others, by op: none."""
