"""Every op that the reference knows: one table of type function, evaluation and constraints."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from reference.ir.notation import Admitted
from reference.ir.op import Evaluate, OpSemantics
from reference.numerics import arithmetic, bits, comparison, conversion
from reference.numerics.elementary import functions
from reference.ops import (
    contraction,
    control_flow,
    convolution,
    data_movement,
    dynamism,
    fft,
    host,
    linear_algebra,
    normalization,
    quantization,
    random,
)
from reference.ops import elementwise as types
from reference.ops.folds import reduction
from reference.ops.indexed import gathering
from reference.ops.sorts import sorting

__all__ = ["OPS", "OpSemantics"]


def _unary(name: str, admits: Admitted, evaluate: Evaluate) -> OpSemantics:
    infer = partial(types.same_type, admits=admits)
    return OpSemantics(name, infer, evaluate, ("operand",), (), False, ("C1",), ("I1",))


def _binary(name: str, admits: Admitted, evaluate: Evaluate) -> OpSemantics:
    infer = partial(types.same_type, admits=admits)
    inputs = () if admits is types.ANY else ("I1", "I2")
    return OpSemantics(name, infer, evaluate, ("lhs", "rhs"), (), False, ("C1",), inputs)


def _elementary(name: str) -> OpSemantics:
    function = functions.FUNCTIONS[name]
    if name in ("atan2", "power"):
        return _binary(name, types.FLOAT_OR_COMPLEX, function)
    return _unary(name, types.FLOAT_OR_COMPLEX, function)


_ELEMENTWISE: tuple[OpSemantics, ...] = (
    OpSemantics(
        "abs", types.abs_type, arithmetic.abs, ("operand",), (), False, ("C1", "C2"), ("I1",)
    ),
    OpSemantics(
        "add", types.add_type, arithmetic.add, ("lhs", "rhs"), (), False,
        ("C1", "C2", "C3", "C4", "C5", "C6", "C7"),
    ),
    _binary("and", types.LOGICAL, bits.and_),
    _elementary("atan2"),
    OpSemantics(
        "bitcast_convert", types.bitcast_convert_type, conversion.bitcast_convert,
        ("operand",), (), True, ("C1", "C2"),
    ),
    _elementary("cbrt"),
    _unary("ceil", types.FLOAT, arithmetic.ceil),
    OpSemantics(
        "clamp", types.clamp_type, arithmetic.clamp, ("min", "operand", "max"), (), False,
        ("C1", "C2", "C3", "C4"), ("I1", "I2", "I3"),
    ),
    OpSemantics(
        "compare", types.compare_type, comparison.compare, ("lhs", "rhs"),
        ("comparison_direction", "compare_type"), False, ("C1", "C2", "C3"),
        ("I1", "I2", "I3", "I4"), optional=("compare_type",),
    ),
    OpSemantics(
        "complex", types.complex_type, conversion.complex_, ("lhs", "rhs"), (), False,
        ("C1", "C2", "C3"), ("I1", "I2"),
    ),
    OpSemantics(
        "constant", types.constant_type, conversion.constant, (), ("value",), False, ("C1",)
    ),
    OpSemantics(
        "convert", types.convert_type, conversion.convert, ("operand",), (), True, ("C1",), ("I1",)
    ),
    _elementary("cosine"),
    _unary("count_leading_zeros", types.INTEGER, bits.count_leading_zeros),
    _binary("divide", types.ARITHMETIC, arithmetic.divide),
    _elementary("exponential"),
    _elementary("exponential_minus_one"),
    _unary("floor", types.FLOAT, arithmetic.floor),
    OpSemantics(
        "imag", types.part_type, conversion.imag, ("operand",), (), False, ("C1", "C2"), ("I1",)
    ),
    OpSemantics(
        "iota", types.iota_type, conversion.iota, (), ("iota_dimension",), True, ("C1",)
    ),
    OpSemantics(
        "is_finite", types.is_finite_type, comparison.is_finite, ("x",), (), False,
        ("C1",), ("I1",),
    ),
    _elementary("log"),
    _elementary("log_plus_one"),
    _elementary("logistic"),
    _binary("maximum", types.ANY_PER_TENSOR, arithmetic.maximum),
    _binary("minimum", types.ANY_PER_TENSOR, arithmetic.minimum),
    _binary("multiply", types.ANY_PER_TENSOR, arithmetic.multiply),
    _unary("negate", types.ARITHMETIC, arithmetic.negate),
    _unary("not", types.LOGICAL, bits.not_),
    _binary("or", types.LOGICAL, bits.or_),
    _unary("popcnt", types.INTEGER, bits.popcnt),
    _binary("power", types.ARITHMETIC, arithmetic.power),
    OpSemantics(
        "real", types.part_type, conversion.real, ("operand",), (), False, ("C1", "C2"), ("I1",)
    ),
    OpSemantics(
        "reduce_precision", types.reduce_precision_type, conversion.reduce_precision,
        ("operand",), ("exponent_bits", "mantissa_bits"), False, ("C1", "C2", "C3"), ("I1",),
    ),
    _binary("remainder", types.ARITHMETIC, arithmetic.remainder),
    _unary("round_nearest_afz", types.FLOAT, arithmetic.round_nearest_afz),
    _unary("round_nearest_even", types.FLOAT, arithmetic.round_nearest_even),
    _elementary("rsqrt"),
    OpSemantics(
        "select", types.select_type, comparison.select, ("pred", "on_true", "on_false"), (), False,
        ("C1", "C2"), ("I1", "I2", "I3"),
    ),
    _binary("shift_left", types.INTEGER, bits.shift_left),
    _binary("shift_right_arithmetic", types.INTEGER, bits.shift_right_arithmetic),
    _binary("shift_right_logical", types.INTEGER, bits.shift_right_logical),
    _unary("sign", types.SIGNED_ARITHMETIC, arithmetic.sign),
    _elementary("sine"),
    _unary("sqrt", types.FLOAT_OR_COMPLEX, arithmetic.sqrt),
    _binary("subtract", types.ARITHMETIC, arithmetic.subtract),
    _elementary("tan"),
    _elementary("tanh"),
    _binary("xor", types.LOGICAL, bits.xor),
)  # fmt: skip

_FAMILIES = (
    data_movement, dynamism, gathering, sorting, reduction, contraction, convolution,
    control_flow, host, normalization, linear_algebra, fft, random, quantization,
)  # fmt: skip

_ROWS = (
    *(replace(row, lifts=row.name != "bitcast_convert") for row in _ELEMENTWISE),
    *(row for family in _FAMILIES for row in family.ROWS),
)

OPS: dict[str, OpSemantics] = {row.name: row for row in sorted(_ROWS, key=lambda row: row.name)}
"""Every op, by mnemonic, in the specification's order, which is the alphabet's."""
