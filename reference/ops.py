"""Every op that the reference knows: one table of type function, evaluation and constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from reference import arithmetic, bits, comparison, conversion, elementary
from reference import elementwise as types
from reference.constraints import ConstraintViolation, checking
from reference.notation import Admitted
from reference.program import TensorType, ValueType
from reference.types import Array

Infer = Callable[..., TensorType]
Evaluate = Callable[..., Array]


@dataclass(frozen=True, slots=True)
class OpSemantics:
    """One op of the specification.

    `operands`, `attributes` and `regions` are the names of its inputs, in order, `optional` the
    attributes that may be left out. `constraints` are the ids that the specification lists for
    it, `inputs` the ids of those inputs that its table "Inputs" restricts. Where `needs_result`,
    the result type is not implied by the operands: both functions must be given `result=`.

    `evaluate` takes arrays, attributes as keywords, and for each region, as a keyword, a callable
    from arrays to a tuple of arrays; it returns one array, or a tuple of several.
    """

    name: str
    type_function: Infer
    evaluate: Evaluate
    operands: tuple[str, ...]
    attributes: tuple[str, ...]
    needs_result: bool
    constraints: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()

    def infer(
        self, *operands: ValueType, result: ValueType | None = None, **given: Any
    ) -> TensorType:
        """The result type; every constraint is checked, those on `result` where it is given.

        Raises:
            ConstraintViolation: naming the op and the id; "operands", "attributes" or "result"
                stands for the id when they are not even of the number, names or (tensor) types
                that the op takes, or when a result type is needed and not stated.
        """
        self._check_form(operands, given, result)
        with checking(self.name):
            if result is None:
                return self.type_function(*operands, **given)
            return self.type_function(*operands, result=result, **given)

    def _check_form(
        self, operands: tuple[ValueType, ...], given: dict[str, Any], result: ValueType | None
    ) -> None:
        if len(operands) != len(self.operands):
            expected = f"{len(operands)} given, the op takes {len(self.operands)}"
            raise ConstraintViolation(self.name, "operands", expected)
        if not all(isinstance(operand, TensorType) for operand in operands):
            raise ConstraintViolation(self.name, "operands", "not a tensor")
        missing = [n for n in self.attributes if n not in given and n not in self.optional]
        unknown = [n for n in given if n not in self.attributes]
        if missing or unknown:
            message = f"missing: {', '.join(missing)}; unknown: {', '.join(unknown)}"
            raise ConstraintViolation(self.name, "attributes", message)
        if result is None and self.needs_result:
            raise ConstraintViolation(self.name, "result", "the result type must be stated")
        if result is not None and not isinstance(result, TensorType):
            raise ConstraintViolation(self.name, "result", "not a tensor")


def _unary(name: str, admits: Admitted, evaluate: Evaluate) -> OpSemantics:
    infer = partial(types.same_type, admits=admits)
    return OpSemantics(name, infer, evaluate, ("operand",), (), False, ("C1",), ("I1",))


def _binary(name: str, admits: Admitted, evaluate: Evaluate) -> OpSemantics:
    infer = partial(types.same_type, admits=admits)
    inputs = () if admits is types.ANY else ("I1", "I2")
    return OpSemantics(name, infer, evaluate, ("lhs", "rhs"), (), False, ("C1",), inputs)


def _elementary(name: str) -> OpSemantics:
    function = elementary.FUNCTIONS[name]
    if name in ("atan2", "power"):
        return _binary(name, types.FLOAT_OR_COMPLEX, function)
    return _unary(name, types.FLOAT_OR_COMPLEX, function)


_ROWS: tuple[OpSemantics, ...] = (
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

OPS: dict[str, OpSemantics] = {row.name: row for row in _ROWS}
"""Every op, by mnemonic, in the specification's order."""
