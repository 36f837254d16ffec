"""Instructions whose results are computed element by element."""

from __future__ import annotations

from conformance.hlo.building import Building
from conformance.hlo.shapes import Tree
from conformance.hlo.site import Handler, Site
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES, ElementType

_SAME = """abs add and atan2 cbrt ceil clamp complex convert divide exponential floor imag log
    logistic maximum minimum multiply negate not or popcnt power real remainder rsqrt select sign
    sqrt subtract tan tanh xor cosine sine"""
"""Opcodes that have the same name as an op of the reference."""

_RENAMED = {
    "cosh": "mhlo.cosh", "erf": "mhlo.erf", "count-leading-zeros": "count_leading_zeros",
    "exponential-minus-one": "exponential_minus_one", "is-finite": "is_finite",
    "log-plus-one": "log_plus_one", "round-nearest-afz": "round_nearest_afz",
    "round-nearest-even": "round_nearest_even", "shift-left": "shift_left",
    "shift-right-arithmetic": "shift_right_arithmetic",
    "shift-right-logical": "shift_right_logical",
}  # fmt: skip


_TOTAL = "TOTALORDER"

_OF_ONE_TYPE = """add atan2 clamp divide maximum minimum multiply power remainder subtract"""
"""Ops whose operands and results have one type, except in mixed precision."""


def _elementwise(name: str) -> Handler:
    def handler(site: Site) -> Tree:
        operands = [site.value(number) for number in range(len(site.operands))]
        if name == "select":
            operands = [operands[0], site.converted_operand(1), site.converted_operand(2)]
        elif name in _OF_ONE_TYPE.split() and site.type.element.is_float:
            return _add_mixed_operation(site, name, operands)
        return site.building.one(name, operands, site.type)

    return handler


def _add_mixed_operation(site: Site, name: str, operands: list[Value]) -> Value:
    """Add an operation on floats: in the widest type of its operands, then rounded to its own."""
    building, of = site.building, site.type
    widest = max((tensor_of(operand).element for operand in operands), key=lambda one: one.bits)
    same = [building.convert(operand, widest) for operand in operands]
    result = TensorType(of.shape, widest, of.bounds)
    return building.convert(building.one(name, same, result), of.element)


def _compare(site: Site) -> Tree:
    """Add a comparison. Older modules state its type, newer modules whether its order is total.

    The type is omitted where it is that of the operands, as most programs omit it.
    """
    one, lhs = site.instruction, site.value(0)
    is_float = tensor_of(lhs).element.is_float
    is_total = one.comparison_type == _TOTAL or (one.comparison_order == "TOTAL" and is_float)
    kind = _TOTAL if is_total else None
    return site.building.one(
        "compare", (lhs, site.value(1)), site.type, compare_type=kind,
        comparison_direction=one.comparison_direction,
    )  # fmt: skip


def _reduce_precision(site: Site) -> Tree:
    one = site.instruction
    return site.building.one(
        "reduce_precision", (site.value(0),), site.type, exponent_bits=one.exponent_bits,
        mantissa_bits=one.mantissa_bits,
    )  # fmt: skip


def _mulhi(site: Site) -> Tree:
    of = site.type.element
    if of.bits < 64:
        return _high_half_by_wider_type(site.building, site.value(0), site.value(1), of)
    if of.is_signed:
        return _high_signed(site.building, site.value(0), site.value(1))
    return high_half_of_product(site.building, site.value(0), site.value(1))


def _high_half_by_wider_type(
    building: Building, lhs: Value, rhs: Value, element_type: ElementType
) -> Value:
    """Return the high halves of products that fit in the type of twice the width."""
    wide = ELEMENT_TYPES[f"{'si' if element_type.is_signed else 'ui'}{2 * element_type.bits}"]
    factors = [building.convert(operand, wide) for operand in (lhs, rhs)]
    product = building.binary("multiply", *factors)
    bits = building.full(element_type.bits, TensorType(tensor_of(product).shape, wide))
    return building.convert(building.binary("shift_right_logical", product, bits), element_type)


def high_half_of_product(building: Building, lhs: Value, rhs: Value) -> Value:
    """Return the high 64 bits of products of ui64, from products of halves."""
    of = tensor_of(lhs)
    half, low = building.full(32, of), building.full((1 << 32) - 1, of)

    def parts(value: Value) -> tuple[Value, Value]:
        shifted = building.binary("shift_right_logical", value, half)
        return shifted, building.binary("and", value, low)

    (a, b), (c, d) = parts(lhs), parts(rhs)
    lowest, _ = parts(building.binary("multiply", b, d))
    high, rest = parts(building.binary("add", building.binary("multiply", a, d), lowest))
    carry, _ = parts(building.binary("add", building.binary("multiply", b, c), rest))
    top = building.binary("add", building.binary("multiply", a, c), high)
    return building.binary("add", top, carry)


def _high_signed(building: Building, lhs: Value, rhs: Value) -> Value:
    """Return the high 64 bits of products of si64, derived from the products of ui64."""
    of = tensor_of(lhs)
    unsigned = ELEMENT_TYPES["ui64"]
    a, b = building.bitcast(lhs, unsigned), building.bitcast(rhs, unsigned)
    high = high_half_of_product(building, a, b)
    zero, none = building.full(0, of), building.full(0, TensorType(of.shape, unsigned))
    for negative, other in ((lhs, b), (rhs, a)):
        is_negative = building.compare("LT", negative, zero)
        less = building.one("select", (is_negative, other, none), other.type)
        high = building.binary("subtract", high, less)
    return building.bitcast(high, of.element)


HANDLERS: dict[str, Handler] = {
    **{name: _elementwise(name) for name in _SAME.split()},
    **{opcode: _elementwise(name) for opcode, name in _RENAMED.items()},
    "compare": _compare,
    "mulhi": _mulhi,
    "reduce-precision": _reduce_precision,
}
"""The function that reads each opcode."""
