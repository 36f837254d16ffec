"""An oracle for numbers, written with Python's integers and fractions alone.

A number is a Fraction, one of the strings below, or for zeros +0 or -0: a float.
"""

from fractions import Fraction

from reference.ir.types import Array, ElementType, FloatFormat, NonFinite, to_bits

Number = Fraction | float | str

NAN, INF, NEGATIVE_INF = "nan", "inf", "-inf"


def decode(code: int, of: ElementType) -> Number:
    """Return the number that a code of a floating-point type means."""
    fmt = of.float_format
    mantissa = code & ((1 << fmt.mantissa_bits) - 1)
    exponent = code >> fmt.mantissa_bits & ((1 << fmt.exponent_bits) - 1)
    negative = bool(code >> (of.bits - 1)) and fmt.signed
    special = _special_name(code, exponent, mantissa, of, negative=negative)
    if special is not None:
        return special
    if not fmt.has_zero:
        return Fraction(2) ** (exponent - fmt.bias)
    if exponent == 0:
        magnitude = Fraction(mantissa, 1 << fmt.mantissa_bits) * Fraction(2) ** (1 - fmt.bias)
    else:
        significand = 1 + Fraction(mantissa, 1 << fmt.mantissa_bits)
        magnitude = significand * Fraction(2) ** (exponent - fmt.bias)
    if magnitude == 0:
        return -0.0 if negative else 0.0
    return -magnitude if negative else magnitude


def _special_name(
    code: int, exponent: int, mantissa: int, of: ElementType, *, negative: bool
) -> str | None:
    fmt = of.float_format
    all_ones = (1 << fmt.exponent_bits) - 1
    match fmt.non_finite:
        case NonFinite.IEEE if exponent == all_ones:
            return NAN if mantissa else NEGATIVE_INF if negative else INF
        case NonFinite.NAN_ALL_ONES if exponent == all_ones:
            return NAN if mantissa == (1 << fmt.mantissa_bits) - 1 else None
        case NonFinite.NAN_NEGATIVE_ZERO if code == 1 << (of.bits - 1):
            return NAN
        case _:
            return None


def numbers(array: Array, of: ElementType) -> list[Number]:
    """Return the elements of a floating-point array, in order."""
    return [decode(int(code), of) for code in to_bits(array).reshape(-1)]


def exact_value(number: Number) -> Fraction | None:
    """Return a finite number's value."""
    return None if isinstance(number, str) else Fraction(number)


def is_negative(number: Number) -> bool:
    """Return whether the sign is minus, of zeros too."""
    if isinstance(number, str):
        return number.startswith("-")
    return number < 0 or str(number) == "-0.0"


def nearest_number(value: Number, fmt: FloatFormat) -> tuple[Number | None, bool]:
    """Return the nearest number of a format, ties to even, and whether the result is unspecified.
    The number is None if no number is nearest.
    """
    if isinstance(value, str):
        return _nearest_special(value, fmt)
    if value == 0:
        if not fmt.has_zero:
            return None, True
        return (value if fmt.has_negative_zero else 0.0), False
    magnitude = abs(Fraction(value))
    if not fmt.has_zero:
        return _nearest_power(Fraction(value), fmt)
    exponent = max(floor_log2(magnitude), fmt.min_exponent)
    quantum = Fraction(2) ** (exponent - fmt.mantissa_bits)
    rounded = round(magnitude / quantum) * quantum  # Python rounds fractions half to even
    if rounded > Fraction(fmt.max_finite):
        if fmt.has_infinity:
            return (INF if value > 0 else NEGATIVE_INF), False
        return None, True
    if rounded == 0:
        return (-0.0 if value < 0 and fmt.has_negative_zero else 0.0), False
    return (rounded if value > 0 else -rounded), False


def _nearest_special(value: str, fmt: FloatFormat) -> tuple[Number | None, bool]:
    if value == NAN:
        return (NAN, False) if fmt.has_nan else (None, True)
    return (value, False) if fmt.has_infinity else (None, True)


def _nearest_power(value: Fraction, fmt: FloatFormat) -> tuple[Number | None, bool]:
    """Return the nearest number of f8E8M0FNU, and whether the result is unspecified."""
    if value < Fraction(fmt.smallest) or value >= Fraction(fmt.max_finite) * Fraction(3, 2):
        return None, True
    low = Fraction(2) ** floor_log2(value)
    if value == low * Fraction(3, 2):
        return None, True
    return (low if value < low * Fraction(3, 2) else 2 * low), False


def floor_log2(value: Fraction) -> int:
    """Return the exponent e of 2^e <= value < 2^(e+1)."""
    e = value.numerator.bit_length() - value.denominator.bit_length()
    return e if Fraction(2) ** e <= value else e - 1


def are_same(left: Number, right: Number) -> bool:
    """Return whether two numbers are the same, zeros with their signs; NaN is NaN."""
    if isinstance(left, str) or isinstance(right, str):
        return left == right
    return left == right and is_negative(left) == is_negative(right)


def wrap(value: int, of: ElementType) -> int:
    """Return an integer modulo 2^bits, as the type has it."""
    value %= 1 << of.bits
    return value - (1 << of.bits) if of.is_signed and value >> (of.bits - 1) else value


def integers(array: Array) -> list[int]:
    """Return the elements of an integer array."""
    return [int(element) for element in array.reshape(-1).tolist()]
