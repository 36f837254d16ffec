"""Near misses of the ops of reference/ops/fft.py."""

from __future__ import annotations

from collections.abc import Iterator

from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import Program, TensorType
from reference.ir.types import ELEMENT_TYPES as TYPES

_F32, _F64, _C64, _C128 = (TYPES[name] for name in ("f32", "f64", "complex<f32>", "complex<f64>"))

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others, by op: none."""


def _fft(
    op: str, operand: TensorType, kind: str, lengths: tuple[int, ...], result: TensorType
) -> Program:
    return program(op, {"operand": operand}, (result,), (), fft_type=kind, fft_length=lengths)


def _element_types(op: str) -> Iterator[Miss]:
    """Yield near misses of C2: element types of each transform."""
    whole, half = (2, 4), (2, 3)
    for kind in ("FFT", "IFFT"):
        for before, after in ((_C64, _C128), (_C64, _F32), (_F32, _C64), (_F32, _F32)):
            yield "C2", _fft(op, tensor(before, *whole), kind, (4,), tensor(after, *whole))
    for before, after in ((_F32, _C128), (_F32, _F32), (_C64, _C64), (TYPES["f16"], _C64)):
        yield "C2", _fft(op, tensor(before, *whole), "RFFT", (4,), tensor(after, *half))
    for before, after in ((_C64, _F64), (_C64, _C64), (_F32, _F32)):
        yield "C2", _fft(op, tensor(before, *half), "IRFFT", (4,), tensor(after, *whole))


def _shapes(op: str) -> Iterator[Miss]:
    """Yield near misses of C4 (sizes of the real tensor), C5 (the other shape)."""
    # 5 // 2 + 1 = 4 // 2 + 1: the shapes agree, but not the length
    yield "C4", _fft(op, tensor(_F32, 2, 5), "RFFT", (4,), tensor(_C64, 2, 3))
    yield "C4", _fft(op, tensor(_F32, 2, 4), "RFFT", (5,), tensor(_C64, 2, 3))
    yield "C4", _fft(op, tensor(_F32, 3, 4), "RFFT", (2, 4), tensor(_C64, 3, 3))
    yield "C4", _fft(op, tensor(_C64, 2, 3), "IRFFT", (4,), tensor(_F32, 2, 5))
    yield "C4", _fft(op, tensor(_C64, 3, 3), "IRFFT", (2, 4), tensor(_F32, 3, 4))
    for shape in ((2, 4), (2, 2), (3, 3), (2, 3, 1), (3,), (2, 0)):
        yield "C5", _fft(op, tensor(_F32, 2, 4), "RFFT", (4,), tensor(_C64, *shape))
    for shape in ((2, 4), (2, 2), (3, 3), (2, 3, 1), (2, 0)):
        yield "C5", _fft(op, tensor(_C64, *shape), "IRFFT", (4,), tensor(_F32, 2, 4))
    for kind in ("FFT", "IFFT"):
        for shape in ((2, 3), (4, 2), (2, 4, 1), (8,), (1, 4)):
            yield "C5", _fft(op, tensor(_C64, 2, 4), kind, (4,), tensor(_C64, *shape))


def _fft_misses(op: str) -> Iterator[Miss]:
    for name in ("i1", "si32", "ui64"):
        of = tensor(TYPES[name], 4)
        yield "I1", _fft(op, of, "FFT", (4,), of)
        yield "I1", _fft(op, of, "RFFT", (4,), tensor(_C64, 3))
    four = tensor(_C64, 4)
    yield "I2", _fft(op, four, "DCT", (4,), four)
    yield "I2", _fft(op, four, "fft", (4,), four)
    for lengths in ((4, 4), (2, 2)):
        yield "C1", _fft(op, four, "FFT", lengths, four)
    yield "C1", _fft(op, tensor(_C64), "IFFT", (1,), tensor(_C64))
    deep = tensor(_C64, 2, 2, 2, 2, 2)
    yield "C3", _fft(op, deep, "FFT", (), deep)
    yield "C3", _fft(op, deep, "IFFT", (2, 2, 2, 2), deep)
    real = tensor(_F32, 2, 2, 2, 2)
    yield "C3", _fft(op, real, "RFFT", (2, 2, 2, 2), tensor(_C64, 2, 2, 2, 2))
    yield from _element_types(op)
    yield from _shapes(op)


NEAR_MISSES: dict[str, Misses] = {"fft": _fft_misses}
"""The generator of each op's near misses."""
