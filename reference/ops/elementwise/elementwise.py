"""The records of the elementwise ops."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from reference.ir.notation import AdmittedTensors, QuantizedTensors
from reference.ir.op import (
    FIRST_OPERAND,
    FIRST_RESULT,
    Dialect,
    Evaluate,
    Op,
    QuantizedUse,
    Rounding,
    Structure,
    ValuePosition,
)
from reference.ir.types import ALL, COMPLEX, FLOATS, NUMBERS
from reference.numerics import arithmetic, bits, comparison, conversion, exactness
from reference.numerics.elementary import functions
from reference.ops.elementwise import types

_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, principal=FIRST_OPERAND,
    structure=Structure.COMPUTES, lifts=True, attributes=(), needs_result=False,
)  # fmt: skip


def _uniform_op(
    name: str,
    operands: tuple[str, ...],
    inputs: tuple[str, ...],
    admits: AdmittedTensors,
    evaluate: Evaluate,
    rounding: Rounding,
) -> Op:
    """Return the record of an op whose operands and result all have one type."""
    quantized = admits.quantized is not QuantizedTensors.NONE
    return _op(
        name=name, type_function=partial(types.same_type, admits=admits), evaluate=evaluate,
        operands=operands, constraints=("C1",), inputs=inputs, rounding=rounding,
        element_types=admits.element_types,
        quantized=QuantizedUse.COMPUTES if quantized else QuantizedUse.REFUSES,
    )  # fmt: skip


def _unary(name: str, admits: AdmittedTensors, evaluate: Evaluate, rounding: Rounding) -> Op:
    return _uniform_op(name, ("operand",), ("I1",), admits, evaluate, rounding)


def _binary(name: str, admits: AdmittedTensors, evaluate: Evaluate, rounding: Rounding) -> Op:
    inputs = () if admits is types.ANY else ("I1", "I2")
    return _uniform_op(name, ("lhs", "rhs"), inputs, admits, evaluate, rounding)


def _elementary(name: str) -> Op:
    evaluate = functions.FUNCTIONS[name]
    return _unary(name, types.FLOAT_OR_COMPLEX, evaluate, Rounding.APPROXIMATES)


def _monotonic(record: Op, *zero_signs: int) -> Op:
    """Return the record of an op whose results only grow or only shrink with each operand."""
    return replace(record, monotonic=True, zero_signs=zero_signs)


def _exact_op(record: Op) -> Op:
    """Return the record of an op on numbers whose results need no rounding."""
    return replace(record, is_exact=exactness.is_always_exact)


OPS: tuple[Op, ...] = (
    _op(
        name="abs", type_function=types.abs_type, evaluate=arithmetic.abs, operands=("operand",),
        constraints=("C1", "C2"), inputs=("I1",),
        element_types=types.SIGNED_ARITHMETIC.element_types, quantized=QuantizedUse.COMPUTES,
        rounding=Rounding.EXACT, unrounded=np.abs, wraps=True, is_exact=exactness.is_exact_if_real,
    ),
    _op(
        name="add", type_function=types.add_type, evaluate=arithmetic.add, operands=("lhs", "rhs"),
        constraints=("C1", "C2", "C3", "C4", "C5", "C6", "C7"), element_types=ALL,
        quantized=QuantizedUse.COMPUTES, rounding=Rounding.CORRECT, unrounded=np.add, wraps=True,
        is_exact=exactness.is_exact_sum, rescales=True, monotonic=True,
    ),
    _binary("and", types.LOGICAL, bits.and_, Rounding.EXACT),
    replace(
        _binary("atan2", types.FLOAT_OR_COMPLEX, functions.atan2, Rounding.APPROXIMATES),
        monotonic=True, zero_signs=(0, 1),
    ),
    _op(
        name="bitcast_convert", type_function=types.bitcast_convert_type,
        evaluate=conversion.bitcast_convert, operands=("operand",), constraints=("C1", "C2"),
        element_types=ALL, quantized=QuantizedUse.MOVES, rounding=Rounding.MOVES,
        needs_result=True, lifts=False, is_bitcast=True,
    ),
    _monotonic(_elementary("cbrt")),
    _monotonic(_exact_op(_unary("ceil", types.FLOAT, arithmetic.ceil, Rounding.EXACT))),
    _op(
        name="clamp", type_function=types.clamp_type, evaluate=arithmetic.clamp,
        operands=("min", "operand", "max"), constraints=("C1", "C2", "C3", "C4"),
        inputs=("I1", "I2", "I3"), element_types=ALL, quantized=QuantizedUse.COMPUTES,
        rounding=Rounding.MOVES, monotonic=True,
    ),
    _op(
        name="compare", type_function=types.compare_type, evaluate=comparison.compare,
        operands=("lhs", "rhs"), attributes=("comparison_direction", "compare_type"),
        optional=("compare_type",), constraints=("C1", "C2", "C3"),
        inputs=("I1", "I2", "I3", "I4"), element_types=ALL, quantized=QuantizedUse.COMPUTES,
        rounding=Rounding.EXACT,
    ),
    _op(
        name="complex", type_function=types.complex_type, evaluate=conversion.complex_,
        operands=("lhs", "rhs"), constraints=("C1", "C2", "C3"), inputs=("I1", "I2"),
        element_types=tuple(of.part for of in COMPLEX), quantized=QuantizedUse.REFUSES,
        rounding=Rounding.MOVES, monotonic=True,
    ),
    _op(
        name="constant", type_function=types.constant_type, evaluate=conversion.constant,
        operands=(), attributes=("value",), constraints=("C1",), element_types=ALL,
        principal=FIRST_RESULT, quantized=QuantizedUse.MOVES, rounding=Rounding.MOVES,
        structure=Structure.CONSTANT,
    ),
    _op(
        name="convert", type_function=types.convert_type, evaluate=conversion.convert,
        operands=("operand",), constraints=("C1",), inputs=("I1",), element_types=ALL,
        quantized=QuantizedUse.REFUSES, rounding=Rounding.CORRECT, needs_result=True,
        unrounded=np.positive, is_exact=exactness.is_exact_conversion, carries=(0,),
        monotonic=True,
    ),
    _elementary("cosine"),
    _unary("count_leading_zeros", types.INTEGER, bits.count_leading_zeros, Rounding.EXACT),
    replace(
        _binary("divide", types.ARITHMETIC, arithmetic.divide, Rounding.CORRECT),
        unrounded=np.divide, is_exact=exactness.is_exact_quotient, monotonic=True, zero_signs=(1,),
    ),
    _monotonic(_elementary("exponential")),
    _monotonic(_elementary("exponential_minus_one")),
    _monotonic(_exact_op(_unary("floor", types.FLOAT, arithmetic.floor, Rounding.EXACT))),
    _op(
        name="imag", type_function=types.part_type, evaluate=conversion.imag,
        operands=("operand",), constraints=("C1", "C2"), inputs=("I1",),
        element_types=types.PARTS.element_types, quantized=QuantizedUse.REFUSES,
        rounding=Rounding.MOVES, monotonic=True,
    ),
    _op(
        name="iota", type_function=types.iota_type, evaluate=conversion.iota, operands=(),
        attributes=("iota_dimension",), constraints=("C1",), element_types=NUMBERS,
        principal=FIRST_RESULT, quantized=QuantizedUse.CONVERTS, rounding=Rounding.CORRECT,
        needs_result=True,
    ),
    _op(
        name="is_finite", type_function=types.is_finite_type, evaluate=comparison.is_finite,
        operands=("x",), constraints=("C1",), inputs=("I1",), element_types=FLOATS,
        quantized=QuantizedUse.COMPUTES, rounding=Rounding.EXACT,
    ),
    _monotonic(_elementary("log")),
    _monotonic(_elementary("log_plus_one")),
    _monotonic(_elementary("logistic")),
    replace(
        _binary("maximum", types.ANY_PER_TENSOR, arithmetic.maximum, Rounding.MOVES), rescales=True,
        monotonic=True,
    ),
    replace(
        _binary("minimum", types.ANY_PER_TENSOR, arithmetic.minimum, Rounding.MOVES), rescales=True,
        monotonic=True,
    ),
    replace(
        _binary("multiply", types.ANY_PER_TENSOR, arithmetic.multiply, Rounding.CORRECT),
        unrounded=np.multiply, wraps=True, is_exact=exactness.is_exact_product, monotonic=True,
    ),
    replace(
        _unary("negate", types.ARITHMETIC, arithmetic.negate, Rounding.EXACT),
        unrounded=np.negative, wraps=True, monotonic=True,
    ),
    _unary("not", types.LOGICAL, bits.not_, Rounding.EXACT),
    _binary("or", types.LOGICAL, bits.or_, Rounding.EXACT),
    _unary("popcnt", types.INTEGER, bits.popcnt, Rounding.EXACT),
    _monotonic(_binary("power", types.ARITHMETIC, arithmetic.power, Rounding.APPROXIMATES), 0),
    _op(
        name="real", type_function=types.part_type, evaluate=conversion.real,
        operands=("operand",), constraints=("C1", "C2"), inputs=("I1",),
        element_types=types.PARTS.element_types, quantized=QuantizedUse.REFUSES,
        rounding=Rounding.MOVES, monotonic=True,
    ),
    _op(
        name="reduce_precision", type_function=types.reduce_precision_type,
        evaluate=conversion.reduce_precision, operands=("operand",),
        attributes=("exponent_bits", "mantissa_bits"), constraints=("C1", "C2", "C3"),
        inputs=("I1",), element_types=FLOATS, quantized=QuantizedUse.COMPUTES,
        rounding=Rounding.CORRECT, unrounded=np.positive,
        is_exact=exactness.is_always_exact, carries=(0,), monotonic=True,
    ),
    _exact_op(_binary("remainder", types.ARITHMETIC, arithmetic.remainder, Rounding.CORRECT)),
    replace(
        _exact_op(
            _unary("round_nearest_afz", types.FLOAT, arithmetic.round_nearest_afz, Rounding.EXACT)
        ),
        carries=(0,), monotonic=True,
    ),
    replace(
        _exact_op(
            _unary("round_nearest_even", types.FLOAT, arithmetic.round_nearest_even, Rounding.EXACT)
        ),
        unrounded=np.positive, carries=(0,), monotonic=True,
    ),
    _monotonic(_elementary("rsqrt"), 0),
    _op(
        name="select", type_function=types.select_type, evaluate=comparison.select,
        operands=("pred", "on_true", "on_false"), constraints=("C1", "C2"),
        inputs=("I1", "I2", "I3"), element_types=ALL,
        principal=ValuePosition(of_results=False, number=1), quantized=QuantizedUse.COMPUTES,
        rounding=Rounding.MOVES, carries=(1, 2),
    ),
    _binary("shift_left", types.INTEGER, bits.shift_left, Rounding.EXACT),
    _binary("shift_right_arithmetic", types.INTEGER, bits.shift_right_arithmetic, Rounding.EXACT),
    _binary("shift_right_logical", types.INTEGER, bits.shift_right_logical, Rounding.EXACT),
    replace(
        _unary("sign", types.SIGNED_ARITHMETIC, arithmetic.sign, Rounding.EXACT),
        is_exact=exactness.is_exact_if_real, monotonic=True,
    ),
    _elementary("sine"),
    replace(
        _unary("sqrt", types.FLOAT_OR_COMPLEX, arithmetic.sqrt, Rounding.CORRECT),
        unrounded=np.sqrt, is_exact=exactness.is_exact_square_root, monotonic=True,
    ),
    replace(
        _binary("subtract", types.ARITHMETIC, arithmetic.subtract, Rounding.CORRECT),
        unrounded=np.subtract, wraps=True, is_exact=exactness.is_exact_difference, rescales=True,
        cancels=True, monotonic=True,
    ),
    _elementary("tan"),
    _monotonic(_elementary("tanh")),
    replace(_binary("xor", types.LOGICAL, bits.xor, Rounding.EXACT), cancels=True),
)  # fmt: skip
"""The ops of this family."""

BINARY = frozenset(
    record.name for record in OPS if record.operands == ("lhs", "rhs") and not record.attributes
)
"""The ops of two operands, lhs and rhs, without attributes (which `compare` has)."""

SHIFTS = tuple(record.name for record in OPS if record.name.startswith("shift_"))
"""The shifts, whose second operand is a number of bits."""
