"""Discrete Fourier transforms.

numpy's transforms (pocketfft: mixed radix, and Bluestein's algorithm for large prime factors) work
in the type of their input: complex64 is transformed in complex128, complex128 in extended
precision. The results are rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import is_complex, sizes_agree
from reference.ir.op import FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import TensorType
from reference.ir.types import COMPLEX, Array, ElementType, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.products import to_wide_type
from reference.ops.elementwise.types import COMPLEX_OF, PARTS
from reference.ops.linear_algebra import round_numbers

FFT_TYPES = ("FFT", "IFFT", "RFFT", "IRFFT")
"""The values of `fft_type`."""

MAX_DIMENSIONS = 3


def fft_type(
    operand: TensorType,
    *,
    fft_type: str,
    fft_length: Sequence[int],
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `fft`.

    Raises:
        ConstraintViolation: I1, I2 (unknown fft_type), C1 (more lengths than dimensions), C2
            (element types), C3 (number of lengths), C4 (sizes of the real tensor), C5 (shapes).
    """
    admitted = require("I1", operand in PARTS, operand)
    known = require("I2", fft_type in FFT_TYPES, fft_type)
    few = require("C3", 1 <= len(fft_length) <= MAX_DIMENSIONS, fft_length)
    fits = require("C1", len(fft_length) <= operand.rank, f"{operand}, {fft_length}")
    if not (admitted and known and few and fits):
        return result or operand
    element = _result_element(operand, fft_type)
    given = f"{fft_type} of {operand}, {result}"
    same = result is None or result.element_type == element
    require("C2", element is not None and same, given)
    inferred = TensorType(_result_shape(operand, fft_type, fft_length), element or operand.element)
    real = {"RFFT": operand, "IRFFT": result or inferred}.get(fft_type)
    if real is not None:
        sizes = real.shape[len(real.shape) - len(fft_length) :]
        require("C4", _agree(sizes, tuple(fft_length)), f"{real}, {fft_length}")
    require("C5", _shapes_fit(operand, result or inferred, fft_type), given)
    return result or inferred


def _result_element(operand: TensorType, fft_type: str) -> ElementType | None:
    """Return the element type of the result; None if the operand's type does not fit."""
    if fft_type == "RFFT":
        return COMPLEX_OF.get(str(operand.element_type))
    if not is_complex(operand):
        return None
    return operand.element.part if fft_type == "IRFFT" else operand.element


def count_bins(size: int | None) -> int | None:
    """Return the number of elements of a real transform of this size."""
    return size // 2 + 1 if size else size


def _result_shape(
    operand: TensorType, fft_type: str, fft_length: Sequence[int]
) -> tuple[int | None, ...]:
    if fft_type == "RFFT":
        return (*operand.shape[:-1], count_bins(operand.shape[-1]))
    return (*operand.shape[:-1], fft_length[-1]) if fft_type == "IRFFT" else operand.shape


def _shapes_fit(operand: TensorType, result: TensorType, fft_type: str) -> bool:
    """Check constraint C5: shapes agree except for the last dimension of real transforms."""
    if operand.rank != result.rank:
        return False
    before, after = operand.shape, result.shape
    if fft_type == "RFFT":
        before = (*before[:-1], count_bins(before[-1]))
    if fft_type == "IRFFT":
        after = (*after[:-1], count_bins(after[-1]))
    return _agree(before, after)


def _agree(left: tuple[int | None, ...], right: tuple[int | None, ...]) -> bool:
    return len(left) == len(right) and all(map(sizes_agree, left, right))


@quiet
def fft(operand: Array, *, fft_type: str, fft_length: Sequence[int]) -> Array:
    """Return the transform of the last `len(fft_length)` dimensions, over their whole sizes.

    Spec, "fft", applies a transform of 1-dimensional tensors to whole slices `operand[i0, ..., :]`,
    and C5 gives the result the operand's shape. C4 relates `fft_length` to the sizes of real
    tensors only, so for complex tensors only its length matters.

    IFFT and IRFFT divide by the number of elements. IRFFT treats the first and (for an even length)
    the last element of its last dimension as real, because they are real in every result of `rfft`:
    other operands have no inverse.

    Args:
        operand: real numbers for RFFT, complex numbers otherwise.
        fft_type: FFT, IFFT, RFFT or IRFFT.
        fft_length: for RFFT and IRFFT the last dimensions of the real tensor.
    """
    x = to_wide_type(operand)
    element_type = element_type_of(operand)
    axes = tuple(range(operand.ndim - len(fft_length), operand.ndim))
    last = int(fft_length[-1])
    if fft_type == "RFFT":
        to = COMPLEX_OF[element_type.name]
        shape = (*operand.shape[:-1], last // 2 + 1 if last else 0)
    else:
        to = element_type.part if fft_type == "IRFFT" else element_type
        shape = (*operand.shape[:-1], last) if fft_type == "IRFFT" else operand.shape
    if not operand.size or 0 in shape:
        return np.zeros(shape, to.storage)
    if fft_type == "IRFFT":
        found = np.fft.irfft(inner_inverse(x, len(fft_length)), n=last, axis=-1)
    else:
        found = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn}[fft_type](
            x, axes=axes
        )
    return round_numbers(found, to)


def inner_inverse(x: Array, count: int) -> Array:
    """Return the operand of the last step of an IRFFT over `count` dimensions, the others
    inverted."""
    axes = tuple(range(x.ndim - count, x.ndim - 1))
    return np.fft.ifftn(x, axes=axes) if axes else x


OPS: tuple[Op, ...] = (
    Op(
        name="fft", dialect=Dialect.STABLEHLO, specified=True, type_function=fft_type, evaluate=fft,
        operands=("operand",), attributes=("fft_type", "fft_length"),
        constraints=("C1", "C2", "C3", "C4", "C5"), inputs=("I1", "I2"),
        element_types=(*(of.part for of in COMPLEX), *COMPLEX), principal=FIRST_OPERAND,
        quantized=QuantizedUse.REFUSES,
        rounding=Rounding.ACCUMULATES, structure=Structure.COMPUTES, lifts=False,
        needs_result=False,
    ),
)  # fmt: skip
"""The ops of this family."""
