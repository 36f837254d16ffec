"""The element types of the specification, their storage as numpy arrays, and their bits.

Source: StableHLO specification, "Types". Each element type has one numpy (or ml_dtypes) storage
type and no two share one, so that an array determines its element type (`element_type_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Kind(Enum):
    """The kinds of element types that the specification distinguishes."""

    BOOLEAN = "boolean"
    SIGNED = "signed integer"
    UNSIGNED = "unsigned integer"
    FLOAT = "floating-point"
    COMPLEX = "complex"


class NonFinite(Enum):
    """The encoding of infinities and NaNs in a floating-point format."""

    IEEE = "infinities and NaNs in the largest exponent"
    NAN_ALL_ONES = "no infinity; NaN is all ones (FN)"
    NAN_NEGATIVE_ZERO = "no infinity, no negative zero; NaN is the code of negative zero (FNUZ)"
    NONE = "finite values only"


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary floating-point format: value = (-1)^s * 1.m * 2^(e - bias), subnormals below.

    Only f8E8M0FNU, which has powers of two and a NaN, lacks `signed` and `has_zero`.
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    non_finite: NonFinite = NonFinite.IEEE
    signed: bool = True
    has_zero: bool = True

    @property
    def has_infinity(self) -> bool:
        """Whether the format has infinities."""
        return self.non_finite is NonFinite.IEEE

    @property
    def has_nan(self) -> bool:
        """Whether the format has a NaN."""
        return self.non_finite is not NonFinite.NONE

    @property
    def has_negative_zero(self) -> bool:
        """Whether -0 and +0 are two values."""
        return self.signed and self.non_finite is not NonFinite.NAN_NEGATIVE_ZERO

    @property
    def precision(self) -> int:
        """The number of significand bits, including the implicit bit."""
        return self.mantissa_bits + 1

    @property
    def min_exponent(self) -> int:
        """The exponent e of the smallest normal number 2^e (for f8E8M0FNU, of the smallest
        number)."""
        return 1 - self.bias if self.has_zero else -self.bias

    @property
    def max_exponent(self) -> int:
        """The exponent e of the largest finite number 1.m * 2^e."""
        top = (1 << self.exponent_bits) - 1 - self.bias
        if self.non_finite is NonFinite.IEEE or not self.has_zero:
            return top - 1
        return top

    @property
    def max_finite(self) -> float:
        """The largest finite value (exact in float64 for every format here)."""
        mantissa = (1 << self.mantissa_bits) - 1
        if self.non_finite is NonFinite.NAN_ALL_ONES and self.has_zero:
            mantissa -= 1
        return float(np.ldexp(1.0 + mantissa / (1 << self.mantissa_bits), self.max_exponent))

    @property
    def smallest(self) -> float:
        """The smallest positive value; subnormal if the format has subnormals."""
        return float(
            np.ldexp(1.0, self.min_exponent - (self.mantissa_bits if self.has_zero else 0))
        )

    @property
    def smallest_normal(self) -> float:
        """The smallest positive normal value."""
        return float(np.ldexp(1.0, self.min_exponent))


@dataclass(frozen=True, slots=True, eq=False)
class ElementType:
    """An element type: the specification's name, MLIR's spelling, kind, bits and storage.

    There is one object for each, so that comparing and hashing cost nothing.
    """

    name: str
    kind: Kind
    bits: int
    storage: np.dtype[Any]
    mlir: str
    format: FloatFormat | None = None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"ElementType({self.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (element_type, (self.name,))

    @property
    def is_boolean(self) -> bool:
        """Whether this is `i1`."""
        return self.kind is Kind.BOOLEAN

    @property
    def is_signed(self) -> bool:
        """Whether this is a signed integer type."""
        return self.kind is Kind.SIGNED

    @property
    def is_unsigned(self) -> bool:
        """Whether this is an unsigned integer type."""
        return self.kind is Kind.UNSIGNED

    @property
    def is_integer(self) -> bool:
        """Whether this is an integer type, signed or unsigned; `i1` is not an integer type."""
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_float(self) -> bool:
        """Whether this is a floating-point type."""
        return self.kind is Kind.FLOAT

    @property
    def is_complex(self) -> bool:
        """Whether this is a complex type."""
        return self.kind is Kind.COMPLEX

    @property
    def part(self) -> ElementType:
        """The type of a complex number's parts; any other type is its own part."""
        return _PART.get(self.name, self)

    @property
    def float_format(self) -> FloatFormat:
        """The format of a floating-point type, or of a complex type's parts.

        Raises:
            TypeError: for booleans and integers, which have no format.
        """
        found = self.part.format
        if found is None:
            raise TypeError(f"{self.name} is not a floating-point or complex type")
        return found

    @property
    def min_integer(self) -> int:
        """The smallest value of an integer type; 0 for `i1`."""
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def max_integer(self) -> int:
        """The largest value of an integer type; 1 for `i1`."""
        return (1 << (self.bits - 1)) - 1 if self.is_signed else (1 << self.bits) - 1


def _integers() -> list[ElementType]:
    rows: list[ElementType] = []
    for bits in (2, 4, 8, 16, 32, 64):
        signed = np.dtype(getattr(ml_dtypes if bits < 8 else np, f"int{bits}"))
        rows.append(ElementType(f"si{bits}", Kind.SIGNED, bits, signed, f"i{bits}"))
    for bits in (2, 4, 8, 16, 32, 64):
        unsigned = np.dtype(getattr(ml_dtypes if bits < 8 else np, f"uint{bits}"))
        rows.append(ElementType(f"ui{bits}", Kind.UNSIGNED, bits, unsigned, f"ui{bits}"))
    return rows


def _float(name: str, bits: int, storage: Any, mlir: str | None, fmt: FloatFormat) -> ElementType:
    return ElementType(name, Kind.FLOAT, bits, np.dtype(storage), mlir or name, fmt)


_FN, _FNUZ, _FINITE = NonFinite.NAN_ALL_ONES, NonFinite.NAN_NEGATIVE_ZERO, NonFinite.NONE
_E8M0 = FloatFormat(8, 0, 127, _FN, signed=False, has_zero=False)

_ROWS: tuple[ElementType, ...] = (
    ElementType("i1", Kind.BOOLEAN, 1, np.dtype(np.bool_), "i1"),
    *_integers(),
    _float("f4E2M1FN", 4, ml_dtypes.float4_e2m1fn, None, FloatFormat(2, 1, 1, _FINITE)),
    _float("f6E2M3FN", 6, ml_dtypes.float6_e2m3fn, None, FloatFormat(2, 3, 1, _FINITE)),
    _float("f6E3M2FN", 6, ml_dtypes.float6_e3m2fn, None, FloatFormat(3, 2, 3, _FINITE)),
    _float("f8E3M4", 8, ml_dtypes.float8_e3m4, None, FloatFormat(3, 4, 3)),
    _float("f8E4M3", 8, ml_dtypes.float8_e4m3, None, FloatFormat(4, 3, 7)),
    _float("f8E4M3FN", 8, ml_dtypes.float8_e4m3fn, None, FloatFormat(4, 3, 7, _FN)),
    _float("f8E4M3FNUZ", 8, ml_dtypes.float8_e4m3fnuz, None, FloatFormat(4, 3, 8, _FNUZ)),
    _float("f8E4M3B11FNUZ", 8, ml_dtypes.float8_e4m3b11fnuz, None, FloatFormat(4, 3, 11, _FNUZ)),
    _float("f8E5M2", 8, ml_dtypes.float8_e5m2, None, FloatFormat(5, 2, 15)),
    _float("f8E5M2FNUZ", 8, ml_dtypes.float8_e5m2fnuz, None, FloatFormat(5, 2, 16, _FNUZ)),
    _float("f8E8M0FNU", 8, ml_dtypes.float8_e8m0fnu, None, _E8M0),
    _float("bf16", 16, ml_dtypes.bfloat16, None, FloatFormat(8, 7, 127)),
    _float("f16", 16, np.float16, None, FloatFormat(5, 10, 15)),
    _float("f32", 32, np.float32, None, FloatFormat(8, 23, 127)),
    _float("f64", 64, np.float64, None, FloatFormat(11, 52, 1023)),
    ElementType("complex<f32>", Kind.COMPLEX, 64, np.dtype(np.complex64), "complex<f32>"),
    ElementType("complex<f64>", Kind.COMPLEX, 128, np.dtype(np.complex128), "complex<f64>"),
)

ELEMENT_TYPES: dict[str, ElementType] = {row.name: row for row in _ROWS}
"""Every element type of the specification, by the specification's name, in its order."""

_PART = {"complex<f32>": ELEMENT_TYPES["f32"], "complex<f64>": ELEMENT_TYPES["f64"]}
_BY_STORAGE = {row.storage: row for row in _ROWS}
_BY_MLIR = {row.mlir: row for row in _ROWS}

_UNSIGNED_DTYPES = {width: np.dtype(f"uint{width}") for width in (8, 16, 32, 64)}

BOOLEAN = (ELEMENT_TYPES["i1"],)
SIGNED = tuple(row for row in _ROWS if row.is_signed)
UNSIGNED = tuple(row for row in _ROWS if row.is_unsigned)
INTEGERS = SIGNED + UNSIGNED
FLOATS = tuple(row for row in _ROWS if row.is_float)
COMPLEX = tuple(row for row in _ROWS if row.is_complex)
ALL = _ROWS
BITS = BOOLEAN + INTEGERS
ANALYTIC = FLOATS + COMPLEX
NUMBERS = INTEGERS + FLOATS + COMPLEX


def element_type(name: str) -> ElementType:
    """Return the element type of that name, as the specification spells it.

    Raises:
        KeyError: if there is none; the message lists the known names.
    """
    try:
        return ELEMENT_TYPES[name]
    except KeyError:
        known = ", ".join(ELEMENT_TYPES)
        raise KeyError(f"unknown element type {name!r}; known: {known}") from None


def element_type_of(array: Array) -> ElementType:
    """Return the element type whose storage this array has."""
    return _BY_STORAGE[array.dtype]


def from_mlir(spelling: str) -> ElementType:
    """Return the element type with this spelling in MLIR (`i32` is the specification's `si32`)."""
    return _BY_MLIR[spelling]


def bits_dtype(element: ElementType) -> np.dtype[Any]:
    """Return the unsigned numpy type that holds one element's bits (ui8 for all types under a
    byte)."""
    return _UNSIGNED_DTYPES[max(8, element.part.bits)]


def to_bits(array: Array) -> Array:
    """Return the bits of every element as unsigned integers; types under a byte use the low bits.

    A complex array gets a trailing dimension of size 2 (real, imaginary).
    """
    of = element_type_of(array)
    if of.is_complex:
        parts = np.stack([np.real(array), np.imag(array)], axis=-1)
        return parts.view(bits_dtype(of))
    bits = np.ascontiguousarray(array).reshape(array.shape).view(bits_dtype(of))
    if of.bits < 8 and not of.is_boolean:
        return np.asarray(bits & np.uint8((1 << of.bits) - 1))  # rank 0 stays an array
    return bits


def from_bits(bits: Array, to: ElementType) -> Array:
    """Return an array of the storage type of `to` with these bits: the inverse of `to_bits`."""
    bits = np.ascontiguousarray(bits, dtype=bits_dtype(to)).reshape(bits.shape)
    if to.is_complex:
        parts = bits.view(to.part.storage)
        return np.ascontiguousarray(parts).view(to.storage).reshape(bits.shape[:-1])
    if to.is_boolean:
        return np.asarray(bits & 1).astype(np.bool_)
    if to.bits < 8:
        spare = np.uint8(8 - to.bits)
        raised = np.asarray(bits << spare)
        if to.is_signed:  # ml_dtypes stores signed types under a byte sign-extended
            raised = raised.view(np.int8)
        bits = np.asarray(raised >> spare.astype(raised.dtype))
    return bits.view(to.storage)
