"""Identities of arithmetic, inverse pairs, strength reduction and reassociation."""

from __future__ import annotations

from generators.case.choices import choose
from generators.chains.chain import Chain, element, shape_of
from generators.chains.patterns.pattern import (
    Pattern,
    is_any,
    is_bits,
    is_complex,
    is_continuous,
    is_float,
    is_integer,
    is_number,
    is_ordered,
    is_real,
    is_shaped,
    is_signed,
)
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES, ElementType

_POWERS = (1, 2, 4, 8, 3, 16, 64, 7, -1, 0, 5, 10, 128)
_EXPONENTS = (2, 0, 1, 3, -1, 0.5, -0.5, 4, 8, 5)


def _constant(chain: Chain, value: Value, *numbers: float) -> Value:
    """Return a constant of the value's type with one of some numbers."""
    of = element(value)
    low = of.min_integer if of.is_integer else min(numbers)
    high = of.max_integer if of.is_integer else max(numbers)
    fitting = [number for number in numbers if low <= number <= high] or [0]
    return chain.number(choose(chain.pick, fitting), tensor_of(value))


# --- Pairs that undo each other ------------------------------------------------------------------


def _double_negation(chain: Chain, value: Value) -> Value:
    return chain.op("negate", chain.op("negate", value))


def _double_complement(chain: Chain, value: Value) -> Value:
    return chain.op("not", chain.op("not", value))


_INVERSES = (
    ("exponential", "log"), ("log", "exponential"),
    ("exponential_minus_one", "log_plus_one"), ("log_plus_one", "exponential_minus_one"),
    ("rsqrt", "rsqrt"), ("cbrt", "cbrt"), ("sqrt", "sqrt"), ("rsqrt", "sqrt"),
)  # fmt: skip


def _function_then_inverse(chain: Chain, value: Value) -> Value:
    chain.allow_any_contents(value)
    first, second = choose(chain.pick, _INVERSES)
    return chain.op(second, chain.op(first, value))


def _root_of_square(chain: Chain, value: Value) -> Value:
    """Write the absolute value or the sign by the root of a square that may over- or underflow."""
    chain.allow_any_contents(value)
    root = chain.op("sqrt", chain.op("multiply", value, value))
    return root if chain.pick(3) < 2 else chain.op("divide", value, root)


def _square_of_root(chain: Chain, value: Value) -> Value:
    root = chain.op(choose(chain.pick, ("sqrt", "rsqrt")), value)
    return chain.op("multiply", root, root)


def _exponential_times_reciprocal(chain: Chain, value: Value) -> Value:
    """Write an expression that is 1 only if the exponential is neither 0 nor infinite."""
    chain.allow_any_contents(value)
    raised = chain.op("exponential", value)
    if chain.pick(2):
        lowered = chain.op("exponential", chain.op("negate", value))
    else:
        lowered = chain.op("divide", chain.number(1, tensor_of(value)), raised)
    return chain.op("multiply", lowered, raised)


def _product_of_exponentials(chain: Chain, value: Value) -> Value:
    other = chain.value_of(tensor_of(value))
    return chain.op("multiply", chain.op("exponential", value), chain.op("exponential", other))


def _quotient_by_exponential(chain: Chain, value: Value) -> Value:
    other = chain.value_of(tensor_of(value))
    return chain.op("divide", other, chain.op("exponential", value))


def _log_of_power(chain: Chain, value: Value) -> Value:
    chain.allow_any_contents(value)
    exponent = _constant(chain, value, 2, 0.5, 3, -1)
    return chain.op("log", chain.op("power", chain.op("abs", value), exponent))


def _add_then_subtract(chain: Chain, value: Value) -> Value:
    other = chain.value_of(tensor_of(value))
    first, second = choose(chain.pick, (("add", "subtract"), ("subtract", "add")))
    return chain.op(second, chain.op(first, value, other), other)


def _multiply_then_divide(chain: Chain, value: Value) -> Value:
    factor = _constant(chain, value, 2, 3, -1, 8, 7)
    first, second = choose(chain.pick, (("multiply", "divide"), ("divide", "multiply")))
    return chain.op(second, chain.op(first, value, factor), factor)


def _shift_and_shift_back(chain: Chain, value: Value) -> Value:
    amount = _constant(chain, value, 1, 2, 4, 0, 7)
    right = choose(chain.pick, ("shift_right_logical", "shift_right_arithmetic"))
    first, second = choose(chain.pick, (("shift_left", right), (right, "shift_left")))
    return chain.op(second, chain.op(first, value, amount), amount)


def _complex_from_parts(chain: Chain, value: Value) -> Value:
    real, imaginary = chain.op("real", value), chain.op("imag", value)
    if chain.pick(3) == 2:
        real, imaginary = imaginary, chain.op("negate", real)
    return chain.op("complex", real, imaginary)


def _sign_times_magnitude(chain: Chain, value: Value) -> Value:
    return chain.op("multiply", chain.op("sign", value), chain.op("abs", value))


# --- Identities ----------------------------------------------------------------------------------


def _self_arithmetic(chain: Chain, value: Value) -> Value:
    op = choose(chain.pick, ("subtract", "add", "multiply", "maximum", "minimum"))
    return chain.op(op, value, value)


def _function_of_square(chain: Chain, value: Value) -> Value:
    """Write the absolute value or the sign of a square; squares of integers may wrap around."""
    chain.allow_any_contents(value)
    square = chain.op("multiply", value, value)
    op = choose(chain.pick, ("compare", "abs", "sign", "maximum", "sqrt of abs"))
    zero = chain.number(0, tensor_of(value))
    if op == "compare":
        return chain.compare(square, zero, choose(chain.pick, ("LT", "GE", "GT")))
    if op == "maximum":
        return chain.op(op, square, zero)
    if op == "sqrt of abs" and element(value).is_float:
        return chain.op("sqrt", chain.op("abs", square))
    signed_ = not element(value).is_unsigned
    return chain.op(op if op == "sign" else "abs", square) if signed_ else square


def _function_of_computed_zeros(chain: Chain, value: Value) -> Value:
    """Write computed zeros, as arguments of functions that are singular at zero."""
    other = chain.value_of(tensor_of(value))
    comparisons = [chain.compare(value, other, "GT") for _ in range(2)]
    of = choose(chain.pick, ("f32", "f64", "f16"))
    zeros = chain.convert(chain.op("xor", *comparisons), ELEMENT_TYPES[of])
    op = choose(chain.pick, ("atan2", "divide", "power", "log", "rsqrt", "remainder"))
    return chain.op(op, zeros) if op in ("log", "rsqrt") else chain.op(op, zeros, zeros)


def _self_bitwise(chain: Chain, value: Value) -> Value:
    other = chain.op("not", value) if chain.pick(2) else value
    return chain.op(choose(chain.pick, ("and", "or", "xor")), value, other)


def _self_division(chain: Chain, value: Value) -> Value:
    return chain.op(choose(chain.pick, ("divide", "remainder")), value, value)


def _operation_with_zero_or_one(chain: Chain, value: Value) -> Value:
    op, number = choose(
        chain.pick,
        (("add", 0), ("multiply", 1), ("subtract", 0), ("divide", 1), ("multiply", 0), ("add", 1)),
    )
    other = chain.number(number, tensor_of(value))
    if op in _COMMUTE and chain.pick(2):
        return chain.op(op, other, value)
    return chain.op(op, value, other)


_COMMUTE = frozenset({"add", "multiply"})


def _constant_minus_value(chain: Chain, value: Value) -> Value:
    """Write 0 - x, which is not -x for zeros, or -1 - x, which is ~x for integers only."""
    return chain.op("subtract", _constant(chain, value, 0, -1, 1), value)


def _self_comparison(chain: Chain, value: Value) -> Value:
    chain.allow_any_contents(value)  # a NaN is neither equal to itself nor less
    directions = ("EQ", "NE") if element(value).is_complex else ("EQ", "NE", "LE", "GE")
    return chain.compare(value, value, choose(chain.pick, directions))


def _comparison_with_extreme(chain: Chain, value: Value) -> Value:
    of = element(value)
    if of.is_integer:
        end = _constant(chain, value, of.min_integer, of.max_integer, 0)
    else:
        end = _constant(chain, value, 0, float("inf"), float("-inf"))
    direction = choose(chain.pick, ("LT", "LE", "GT", "GE", "EQ", "NE"))
    return (
        chain.compare(end, value, direction)
        if chain.pick(2)
        else chain.compare(value, end, direction)
    )


def _negated_comparison(chain: Chain, value: Value) -> Value:
    direction = choose(chain.pick, ("LT", "LE", "GT", "GE", "EQ", "NE"))
    return chain.op("not", chain.compare(value, chain.value_of(tensor_of(value)), direction))


def _select_of_same_value(chain: Chain, value: Value) -> Value:
    predicate = chain.value_of(TensorType(shape_of(value), ELEMENT_TYPES["i1"]))
    return chain.op("select", predicate, value, value)


def _select_by_comparison(chain: Chain, value: Value) -> Value:
    other = chain.value_of(tensor_of(value))
    direction = choose(chain.pick, ("LT", "LE", "GT", "GE", "EQ", "NE"))
    pair = (value, other) if chain.pick(2) == 0 else (other, value)
    return chain.op("select", chain.compare(value, other, direction), *pair)


def _select_by_negated_predicate(chain: Chain, value: Value) -> Value:
    predicate = chain.value_of(TensorType(shape_of(value), ELEMENT_TYPES["i1"]))
    return chain.op("select", chain.op("not", predicate), value, chain.value_of(tensor_of(value)))


def _clamp_with_crossed_bounds(chain: Chain, value: Value) -> Value:
    low, high = _constant(chain, value, 3, 0, 1), _constant(chain, value, 1, -2, 0)
    if chain.pick(2):
        return chain.op("maximum", chain.op("minimum", value, high), low)
    return chain.op("clamp", low, value, high)


def _double_clamp(chain: Chain, value: Value) -> Value:
    first = chain.op("clamp", _constant(chain, value, 0, -2), value, _constant(chain, value, 3, 5))
    return chain.op(
        "clamp", _constant(chain, value, 1, -1, 4), first, _constant(chain, value, 6, 2)
    )


# --- Strength reduction --------------------------------------------------------------------------


def _product_or_quotient_by_constant(chain: Chain, value: Value) -> Value:
    """Write products, quotients and remainders that shifts and masks may replace."""
    number = _constant(chain, value, *_POWERS)
    return chain.op(choose(chain.pick, ("multiply", "divide", "remainder")), value, number)


def _power_with_constant_exponent(chain: Chain, value: Value) -> Value:
    return chain.op("power", value, _constant(chain, value, *_EXPONENTS))


def _shift_by_constant(chain: Chain, value: Value) -> Value:
    ops = ("shift_left", "shift_right_logical", "shift_right_arithmetic")
    width = element(value).bits
    amount = _constant(chain, value, 1, 0, width - 1, width // 2)
    return chain.op(choose(chain.pick, ops), value, amount)


def _bitwise_with_mask(chain: Chain, value: Value) -> Value:
    mask = _constant(chain, value, 1, 0, -1, 7, 15, 127, 128, 255)
    return chain.op(choose(chain.pick, ("and", "or", "xor")), value, mask)


def _operation_on_reciprocal(chain: Chain, value: Value) -> Value:
    one = chain.op("divide", chain.number(1, tensor_of(value)), value)
    other = chain.value_of(tensor_of(value))
    return chain.op(choose(chain.pick, ("multiply", "divide")), other, one)


# --- Sums and products in another order ----------------------------------------------------------


def _consecutive_constants(chain: Chain, value: Value) -> Value:
    first, second = choose(
        chain.pick,
        (("add", "add"), ("multiply", "multiply"), ("add", "multiply"), ("subtract", "add"),
         ("maximum", "maximum"), ("minimum", "maximum"), ("multiply", "divide"),
         ("divide", "divide")),
    )  # fmt: skip
    one, other = _constant(chain, value, 2, 3, -1, 5, 100), _constant(chain, value, 7, -3, 2, 100)
    return chain.op(second, chain.op(first, value, one), other)


def _common_factor(chain: Chain, value: Value) -> Value:
    of = tensor_of(value)
    lhs, rhs = chain.value_of(of), chain.value_of(of)
    sums = choose(chain.pick, ("add", "subtract"))
    return chain.op(sums, chain.op("multiply", value, lhs), chain.op("multiply", value, rhs))


def _three_operands(chain: Chain, value: Value) -> Value:
    """Write sums and products of three values, which overflow in some orders only."""
    chain.allow_any_contents(value)
    ops = (("add", "add"), ("multiply", "multiply"), ("add", "subtract"), ("multiply", "divide"))
    first, second = choose(chain.pick, ops)
    others = [chain.value_of(tensor_of(value)) for _ in range(2)]
    for other in others:
        chain.allow_any_contents(other)
    return chain.op(second, chain.op(first, value, others[0]), others[1])


def _sum_of_sums(chain: Chain, value: Value) -> Value:
    of = tensor_of(value)
    op = choose(chain.pick, ("add", "multiply", "maximum", "minimum"))
    left = chain.op(op, value, chain.value_of(of))
    return chain.op(op, left, chain.op(op, chain.value_of(of), value))


def _negated_difference(chain: Chain, value: Value) -> Value:
    other = chain.value_of(tensor_of(value))
    kind = chain.pick(3)
    if kind == 0:
        return chain.op("negate", chain.op("subtract", value, other))
    if kind == 1:
        return chain.op("subtract", value, chain.op("negate", other))
    return chain.op("add", chain.op("negate", value), other)


def _function_of_magnitude_or_negation(chain: Chain, value: Value) -> Value:
    """Write an even or an odd function of the magnitude or the negation of a value."""
    op = choose(chain.pick, ("cosine", "sine", "tanh", "abs", "logistic", "sign"))
    changed = chain.op(choose(chain.pick, ("abs", "negate")), value)
    return chain.op(op, changed)


# --- Conversions ---------------------------------------------------------------------------------

_WIDER = {
    "f16": ("f32", "f64"), "bf16": ("f32", "f64"), "f32": ("f64", "bf16", "f16"),
    "f64": ("f32", "f16"), "si8": ("si32", "si16", "f32", "ui8"), "ui8": ("si32", "ui16", "si8"),
    "si16": ("si32", "si8"), "ui16": ("ui32", "ui8"), "si32": ("si64", "si8", "f64", "f32"),
    "ui32": ("ui64", "si64", "ui8"), "si64": ("si32", "si8"), "ui64": ("ui32", "si64"),
    "i1": ("si32", "ui8", "f32"), "si4": ("si8", "si32"), "ui4": ("ui8", "si32"),
    "f8E4M3FN": ("f16", "f32"), "f8E5M2": ("f16", "bf16"), "f8E4M3FNUZ": ("f32",),
}  # fmt: skip


def _round_trip_conversion(chain: Chain, value: Value) -> Value:
    there = chain.convert(value, _choose_other_type(chain, value))
    if chain.pick(3) == 2 and is_number(tensor_of(there)):
        there = chain.op("add", there, chain.number(1, tensor_of(there)))
    return chain.convert(there, element(value))


def _choose_other_type(chain: Chain, value: Value) -> ElementType:
    names = _WIDER.get(element(value).name, ("f32",))
    return ELEMENT_TYPES[choose(chain.pick, names)]


def _arithmetic_in_other_type(chain: Chain, value: Value) -> Value:
    other = chain.value_of(tensor_of(value))
    to = _choose_other_type(chain, value)
    op = choose(chain.pick, ("add", "multiply", "subtract", "maximum"))
    if to.is_float and not is_float(TensorType((), to)):
        return chain.convert(value, to)
    wide = chain.op(op, chain.convert(value, to), chain.convert(other, to))
    return chain.convert(wide, element(value))


def _round_trip_bitcast(chain: Chain, value: Value) -> Value:
    to = ELEMENT_TYPES[f"ui{element(value).bits}"]
    of = TensorType(shape_of(value), to)
    as_bits = chain.op("bitcast_convert", value, to=of)
    if chain.pick(2):
        as_bits = chain.op("xor", as_bits, chain.number(1 << (to.bits - 1), of))
    return chain.op("bitcast_convert", as_bits, to=tensor_of(value))


def _product_with_comparison(chain: Chain, value: Value) -> Value:
    direction = choose(chain.pick, ("LT", "NE", "GE", "EQ"))
    truth = chain.compare(value, chain.value_of(tensor_of(value)), direction)
    return chain.op("multiply", chain.convert(truth, element(value)), value)


def _reduced_precision(chain: Chain, value: Value) -> Value:
    exponent, mantissa = choose(chain.pick, ((8, 7), (5, 10), (8, 23), (4, 3), (5, 2), (11, 52)))
    return chain.op("reduce_precision", value, exponent_bits=exponent, mantissa_bits=mantissa)


def _is_readable(of: TensorType) -> bool:
    return of.element.is_float and f"ui{of.element.bits}" in ELEMENT_TYPES


def _is_convertible(of: TensorType) -> bool:
    return of.element.name in _WIDER


def _constant_expression(chain: Chain, value: Value) -> Value:
    """Write an operation on constants only, and use its result with the value."""
    of = tensor_of(value)
    first, second = chain.draw_constant(of), chain.draw_constant(of)
    op = "xor" if of.element.is_boolean else choose(chain.pick, ("add", "multiply", "subtract"))
    made = chain.op(op, first, second)
    return chain.op("and" if of.element.is_boolean else op, value, made)


def _arithmetic_with_iota(chain: Chain, value: Value) -> Value:
    """Write an iota, which compilers fold or compute element by element."""
    of = tensor_of(value)
    along = chain.op("iota", to=of, iota_dimension=chain.pick(of.rank))
    return chain.op(choose(chain.pick, ("add", "multiply", "subtract")), value, along)


def _function_of_iota(chain: Chain, value: Value) -> Value:
    """Write arithmetic on an iota, sometimes so long that its type wraps around."""
    of, rank = element(value), tensor_of(value).rank
    if not of.is_integer or chain.pick(2):
        of = ELEMENT_TYPES[choose(chain.pick, ("si8", "ui8", "si4", "si16"))]
    if of.bits <= 8 and chain.pick(3) < 2:
        to = TensorType((of.max_integer + choose(chain.pick, (2, 9)),), of)
    else:
        to = TensorType(shape_of(value), of)
    positions = chain.op("iota", to=to, iota_dimension=chain.pick(rank) if to.rank == rank else 0)
    signed_ = ("abs", "sign") if of.is_signed else ()
    op = choose(chain.pick, (*signed_, "compare", "maximum", "divide", "remainder", "multiply"))
    if op in signed_:
        return chain.op(op, positions)
    number = _constant(chain, positions, 0, 1, 2, 3, of.max_integer, -1)
    if op == "compare":
        return chain.compare(positions, number, choose(chain.pick, ("LT", "GE", "EQ", "NE")))
    return chain.op(op, positions, number)


def _can_count(of: TensorType) -> bool:
    """Return whether an iota of the type holds all its indices."""
    element = of.element
    most = max(of.static_shape, default=0)
    fits = not element.is_integer or most <= element.max_integer
    return of.rank > 0 and is_number(of) and fits and (element.bits >= 8)


def _is_number_or_boolean(of: TensorType) -> bool:
    return is_number(of) or of.element.is_boolean


PATTERNS = (
    Pattern(_double_negation, is_signed),
    Pattern(_double_complement, is_bits),
    Pattern(_function_then_inverse, is_continuous, weight=4),
    Pattern(_root_of_square, is_continuous),
    Pattern(_square_of_root, is_continuous),
    Pattern(_exponential_times_reciprocal, is_continuous),
    Pattern(_product_of_exponentials, is_continuous),
    Pattern(_quotient_by_exponential, is_continuous),
    Pattern(_log_of_power, is_real),
    Pattern(_add_then_subtract, is_number),
    Pattern(_multiply_then_divide, is_number),
    Pattern(_shift_and_shift_back, is_integer),
    Pattern(_complex_from_parts, is_complex),
    Pattern(_sign_times_magnitude, is_float),
    Pattern(_self_arithmetic, is_number),
    Pattern(_function_of_square, is_ordered),
    Pattern(_function_of_computed_zeros, is_ordered),
    Pattern(_self_bitwise, is_bits),
    Pattern(_self_division, is_number),
    Pattern(_operation_with_zero_or_one, is_number),
    Pattern(_constant_minus_value, is_signed),
    Pattern(_self_comparison, is_any),
    Pattern(_comparison_with_extreme, is_ordered),
    Pattern(_negated_comparison, is_ordered),
    Pattern(_select_of_same_value, is_any),
    Pattern(_select_by_comparison, is_ordered),
    Pattern(_select_by_negated_predicate, is_any),
    Pattern(_clamp_with_crossed_bounds, is_ordered),
    Pattern(_double_clamp, is_ordered),
    Pattern(_product_or_quotient_by_constant, is_number),
    Pattern(_power_with_constant_exponent, is_number),
    Pattern(_shift_by_constant, is_integer),
    Pattern(_bitwise_with_mask, is_integer),
    Pattern(_operation_on_reciprocal, is_float),
    Pattern(_consecutive_constants, is_number),
    Pattern(_common_factor, is_number),
    Pattern(_three_operands, is_number, weight=2),
    Pattern(_sum_of_sums, is_number),
    Pattern(_negated_difference, is_signed),
    Pattern(_function_of_magnitude_or_negation, is_real),
    Pattern(_round_trip_conversion, _is_convertible),
    Pattern(_arithmetic_in_other_type, _is_convertible),
    Pattern(_round_trip_bitcast, _is_readable),
    Pattern(_product_with_comparison, is_ordered),
    Pattern(_reduced_precision, is_float),
    Pattern(_constant_expression, _is_number_or_boolean),
    Pattern(_arithmetic_with_iota, _can_count),
    Pattern(_function_of_iota, is_shaped),
)
"""Patterns of arithmetic identities that compilers rewrite."""
