"""Result types of the elementwise ops, with every constraint checked under its id.

Positional parameters are the op's inputs, keyword-only parameters its attributes. `result` is the
type that a program states for the result, checked if it is given. The ids I1, I2, ... refer to the
inputs that the specification restricts in its tables "Inputs".
"""

from __future__ import annotations

from dataclasses import replace

from reference.ir.constraints import require
from reference.ir.notation import (
    AdmittedTensors,
    QuantizedTensors,
    admit,
    baseline_element_type,
    is_complex,
    is_quantized,
    join_with_commas,
    merged_shape,
    quantized_element,
    same_baseline_type,
    same_shape,
    stated_types,
)
from reference.ir.program import Dense, QuantizedType, TensorType
from reference.ir.types import ELEMENT_TYPES, ElementType, Kind

ANY = admit(*Kind, quantized=QuantizedTensors.ANY)
ANY_PER_TENSOR = admit(*Kind, quantized=QuantizedTensors.PER_TENSOR)
PLAIN = admit(*Kind)
LOGICAL = admit(Kind.BOOLEAN, Kind.SIGNED, Kind.UNSIGNED)
INTEGER = admit(Kind.SIGNED, Kind.UNSIGNED)
FLOAT = admit(Kind.FLOAT, quantized=QuantizedTensors.PER_TENSOR)
FLOAT_OR_COMPLEX = admit(Kind.FLOAT, Kind.COMPLEX, quantized=QuantizedTensors.PER_TENSOR)
PARTS = admit(Kind.FLOAT, Kind.COMPLEX)
SIGNED_ARITHMETIC = admit(
    Kind.SIGNED, Kind.FLOAT, Kind.COMPLEX, quantized=QuantizedTensors.PER_TENSOR
)
ARITHMETIC = admit(
    Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT, Kind.COMPLEX, quantized=QuantizedTensors.PER_TENSOR
)

BOOLEAN = ELEMENT_TYPES["i1"]
COMPLEX_OF = {"f32": ELEMENT_TYPES["complex<f32>"], "f64": ELEMENT_TYPES["complex<f64>"]}
DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
COMPARE_TYPES = ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")


def _check_inputs(operands: tuple[TensorType, ...], admits: AdmittedTensors) -> None:
    for index, operand in enumerate(operands, 1):
        require(f"I{index}", operand in admits, operand)  # I1, I2, I3


def same_type(
    *operands: TensorType, admits: AdmittedTensors, result: TensorType | None = None
) -> TensorType:
    """Return the result type of ops whose operands and result have one (baseline) type.

    Raises:
        ConstraintViolation: I1, I2 (operand not of an admitted type), C1 (types differ).
    """
    _check_inputs(operands, admits)
    types = stated_types(*operands, result)
    require("C1", same_baseline_type(*types), join_with_commas(*types))
    return result or replace(operands[0], shape=merged_shape(operands))


def add_type(lhs: TensorType, rhs: TensorType, *, result: TensorType | None = None) -> TensorType:
    """Return the result type of `add`, the only binary op that admits per-axis quantized tensors.

    Raises:
        ConstraintViolation: I1, I2, C1; C2 to C7 if quantized.
    """
    _check_inputs((lhs, rhs), ANY)
    types = stated_types(lhs, rhs, result)
    if not any(is_quantized(of) for of in types):
        require("C1", same_baseline_type(*types), join_with_commas(*types))
        return result or replace(lhs, shape=merged_shape((lhs, rhs)))
    quantized = [of for of in map(quantized_element, types) if of is not None]
    if require("C2", len(quantized) == len(types), join_with_commas(*types)):
        _check_quantized_add(quantized[0], quantized[1], quantized[2] if result else None)
    return result or lhs


def _check_quantized_add(
    lhs: QuantizedType, rhs: QuantizedType, result: QuantizedType | None
) -> None:
    given = [of for of in (lhs, rhs, result) if of is not None]
    storage = {of.storage_type for of in given}
    expressed = {of.expressed_type for of in given}
    require("C3", len(storage) == 1, join_with_commas(*storage))
    require("C4", len(expressed) == 1, join_with_commas(*expressed))
    if result is None:
        return
    axes = (lhs.quantization_dimension, rhs.quantization_dimension, result.quantization_dimension)
    per_axis = axes[0] is not None or axes[1] is not None
    require("C5", per_axis == (axes[2] is not None), join_with_commas(*axes))
    require("C6", axes[0] is None or axes[0] == axes[2], join_with_commas(*axes))
    require("C7", axes[1] is None or axes[1] == axes[2], join_with_commas(*axes))


def abs_type(operand: TensorType, *, result: TensorType | None = None) -> TensorType:
    """Return the result type of `abs`: for complex numbers the type of their parts.

    Raises:
        ConstraintViolation: I1, C1 (shapes differ), C2 (element type of the result).
    """
    require("I1", operand in SIGNED_ARITHMETIC, operand)
    inferred = _part_type(operand)
    if result is not None:
        require("C1", same_shape(result, operand), join_with_commas(operand, result))
        of = baseline_element_type(result)
        require("C2", of == baseline_element_type(inferred), join_with_commas(operand, result))
    return result or inferred


def part_type(operand: TensorType, *, result: TensorType | None = None) -> TensorType:
    """Return the result type of `real` and `imag`.

    Raises:
        ConstraintViolation: I1, C1 (shapes differ), C2 (element type of the result).
    """
    require("I1", operand in PARTS, operand)
    inferred = _part_type(operand)
    if result is not None:
        require("C1", same_shape(result, operand), join_with_commas(operand, result))
        element_type = inferred.element_type
        require("C2", result.element_type == element_type, join_with_commas(operand, result))
    return result or inferred


def _part_type(operand: TensorType) -> TensorType:
    return replace(operand, element_type=operand.element.part) if is_complex(operand) else operand


def clamp_type(
    min: TensorType,  # noqa: A002 - the specification's name
    operand: TensorType,
    max: TensorType,  # noqa: A002 - the specification's name
    *,
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `clamp`, whose bounds may be scalars.

    Raises:
        ConstraintViolation: I1 to I3, C1, C2 (shape of a bound), C3 (element types), C4.
    """
    _check_inputs((min, operand, max), ANY_PER_TENSOR)
    require("C1", min.rank == 0 or same_shape(min, operand), join_with_commas(min, operand))
    require("C2", max.rank == 0 or same_shape(max, operand), join_with_commas(max, operand))
    element_types = {baseline_element_type(of) for of in (min, operand, max)}
    require("C3", len(element_types) == 1, join_with_commas(min, operand, max))
    if result is not None:
        require("C4", same_baseline_type(operand, result), join_with_commas(operand, result))
    return result or operand


def compare_type(
    lhs: TensorType,
    rhs: TensorType,
    *,
    comparison_direction: str,
    compare_type: str | None = None,
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `compare`; the default `compare_type` is what C3 requires.

    Raises:
        ConstraintViolation: I1 to I4, C1 (element types), C2 (shapes), C3 (compare_type).
    """
    _check_inputs((lhs, rhs), ANY_PER_TENSOR)
    require("I3", comparison_direction in DIRECTIONS, comparison_direction)
    known = require("I4", compare_type in (None, *COMPARE_TYPES), compare_type)
    same = baseline_element_type(lhs) == baseline_element_type(rhs)
    require("C1", same, join_with_commas(lhs, rhs))
    shapes = stated_types(lhs, rhs, result)
    require("C2", same_shape(*shapes), join_with_commas(*shapes))
    if known and compare_type is not None and isinstance(lhs.element_type, ElementType):
        require("C3", compare_type in compare_types_of(lhs.element_type), compare_type)
    return result or TensorType(merged_shape((lhs, rhs)), BOOLEAN)


def compare_types_of(element_type: ElementType) -> tuple[str, ...]:
    """Return the values of `compare_type` that constraint C3 of `compare` permits, default
    first."""
    if element_type.is_signed:
        return ("SIGNED",)
    if element_type.is_float:
        return ("FLOAT", "TOTALORDER")
    return ("FLOAT",) if element_type.is_complex else ("UNSIGNED",)


def complex_type(
    lhs: TensorType, rhs: TensorType, *, result: TensorType | None = None
) -> TensorType:
    """Return the result type of `complex`.

    Raises:
        ConstraintViolation: I1, I2 (parts not f32 or f64), C1, C2 (shape), C3 (element type).
    """
    known = [
        require(f"I{index}", str(of.element_type) in COMPLEX_OF, of)  # I1, I2
        for index, of in enumerate((lhs, rhs), 1)
    ]
    require("C1", same_baseline_type(lhs, rhs), join_with_commas(lhs, rhs))
    of = COMPLEX_OF.get(str(lhs.element_type))
    if result is not None:
        require("C2", same_shape(result, lhs), join_with_commas(lhs, result))
        require("C3", not known[0] or result.element_type == of, join_with_commas(lhs, result))
    return result or TensorType(merged_shape((lhs, rhs)), of or COMPLEX_OF["f32"])


def constant_type(*, value: Dense, result: TensorType | None = None) -> TensorType:
    """Return the result type of `constant`.

    Raises:
        ConstraintViolation: C1 (the value and the output have different types).
    """
    if result is not None:
        require("C1", value.type == result, join_with_commas(value.type, result))
    return result or value.type


def convert_type(operand: TensorType, *, result: TensorType) -> TensorType:
    """Return the result type of `convert`, which the program states.

    Raises:
        ConstraintViolation: I1 (quantized operand), C1 (shapes differ).
    """
    require("I1", operand in PLAIN, operand)
    require("C1", same_shape(operand, result), join_with_commas(operand, result))
    return result


def bitcast_convert_type(operand: TensorType, *, result: TensorType) -> TensorType:
    """Return the result type of `bitcast_convert`, which the program states.

    Raises:
        ConstraintViolation: C1 (sizes in bits do not match), C2 (only one of the two is complex).
    """
    require("C1", _bits_match(operand, result), join_with_commas(operand, result))
    require("C2", is_complex(operand) == is_complex(result), join_with_commas(operand, result))
    return result


def _stored_bits(given: TensorType) -> int:
    element_type = given.element_type
    return (
        element_type.storage_type.bits
        if isinstance(element_type, QuantizedType)
        else element_type.bits
    )


def _bits_match(operand: TensorType, result: TensorType) -> bool:
    """Check constraint C1 of `bitcast_convert`: a wide element is a row of the narrow tensor."""
    wide, narrow = _stored_bits(operand), _stored_bits(result)
    if wide == narrow:
        return same_shape(operand, result)
    if wide < narrow:
        operand, result, wide, narrow = result, operand, narrow, wide
    if result.rank != operand.rank + 1:
        return False
    row = result.shape[-1]
    rest = TensorType(result.shape[:-1], result.element_type)
    return same_shape(rest, operand) and (row is None or row * narrow == wide)


def iota_type(*, iota_dimension: int, result: TensorType) -> TensorType:
    """Return the result type of `iota`, which the program states.

    Raises:
        ConstraintViolation: C1 (no such dimension).
    """
    require("C1", 0 <= iota_dimension < result.rank, f"{iota_dimension} of {result}")
    return result


def is_finite_type(x: TensorType, *, result: TensorType | None = None) -> TensorType:
    """Return the result type of `is_finite`.

    Raises:
        ConstraintViolation: I1, C1 (shapes differ).
    """
    require("I1", x in FLOAT, x)
    if result is not None:
        require("C1", same_shape(x, result), join_with_commas(x, result))
    return result or TensorType(x.shape, BOOLEAN)


def reduce_precision_type(
    operand: TensorType,
    *,
    exponent_bits: int,
    mantissa_bits: int,
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `reduce_precision`.

    Raises:
        ConstraintViolation: I1, C1 (types differ), C2, C3 (too few bits).
    """
    require("I1", operand in FLOAT, operand)
    types = stated_types(operand, result)
    require("C1", same_baseline_type(*types), join_with_commas(*types))
    require("C2", exponent_bits >= 1, exponent_bits)
    require("C3", mantissa_bits >= 0, mantissa_bits)
    return result or operand


def select_type(
    pred: TensorType,
    on_true: TensorType,
    on_false: TensorType,
    *,
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `select`, whose predicate may be a scalar.

    Raises:
        ConstraintViolation: I1 (predicate not i1), I2, I3, C1 (its shape), C2 (types differ).
    """
    require("I1", pred.element_type == BOOLEAN, pred)
    require("I2", on_true in ANY_PER_TENSOR, on_true)
    require("I3", on_false in ANY_PER_TENSOR, on_false)
    require("C1", pred.rank == 0 or same_shape(pred, on_true), join_with_commas(pred, on_true))
    types = stated_types(on_true, on_false, result)
    require("C2", same_baseline_type(*types), join_with_commas(*types))
    return result or replace(on_true, shape=merged_shape((on_true, on_false)))
