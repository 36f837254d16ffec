"""Wrongly computed operations: each fault was seen in a real backend.

Every function takes the operation to compute and its operands, and returns results. Operations that
a fault does not concern are computed right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.backends.fake.computation import Computation
from conformance.transforms.flushed_comparison import rewrite
from reference.interpreter.quantized import types_in_body
from reference.ir.op import QuantizedUse, Rounding
from reference.ir.program import Region, TensorType, Value
from reference.ir.types import Array, ElementType, element_type, element_type_of, from_bits, to_bits
from reference.numerics.alike import flush_subnormals
from reference.numerics.rounding import (
    from_ordinal,
    next_down,
    next_up,
    ordinal,
    round_to,
    to_float64,
)
from reference.ops.elementwise.elementwise import OPS as ELEMENTWISE
from reference.ops.structure import is_inside
from reference.ops.table import OPS

Operands = tuple[Array, ...]
Results = tuple[Array, ...]
Wrong = Callable[[Computation, Operands], Results]

_MOVES = frozenset(
    record.name
    for record in ELEMENTWISE
    if (record.rounding is Rounding.MOVES and record.monoid is None) or not record.operands
)
"""Elementwise ops without arithmetic."""

SIGN_ONLY = frozenset(record.name for record in ELEMENTWISE if record.is_sign_only)
_BITWISE = SIGN_ONLY | {record.name for record in ELEMENTWISE if record.rounding is Rounding.MOVES}
"""Ops whose results are elements of operands, except for their signs."""


def change_elements(
    change: Callable[[Array], Array], *, but: frozenset[str] = frozenset()
) -> Wrong:
    """Return the fault that applies `change` to the floating-point results of arithmetic.

    Complex results are changed by parts. Ops that only move bits, and the ops in `but`, stay right.
    """

    def compute_wrongly(computation: Computation, operands: Operands) -> Results:
        results = computation.right(operands)
        if computation.operation.name in _MOVES | but:
            return results
        return tuple(each_part(change, result) for result in results)

    return compute_wrongly


def each_part(change: Callable[[Array], Array], array: Array) -> Array:
    """Apply `change` to a floating-point array, or to both parts of a complex array."""
    of = element_type_of(array)
    if of.is_float:
        return change(array)
    if of.is_complex:
        parts = np.stack([np.real(array), np.imag(array)], axis=-1)
        changed = np.ascontiguousarray(change(parts))
        return changed.view(of.storage).reshape(array.shape)
    return array


def select(mask: Array, yes: Array, no: Array) -> Array:
    """Return elements of `yes` where the mask holds, otherwise of `no`; bits and type are kept."""
    of = element_type_of(no)
    return from_bits(np.where(mask, to_bits(yes), to_bits(no)), of)


def _negate_where(mask: Array, array: Array) -> Array:
    of, bits = element_type_of(array), to_bits(array)
    sign = np.array(1 << (of.bits - 1), bits.dtype)
    return from_bits(np.where(mask, bits ^ sign, bits), of)


def negate_zeros(array: Array) -> Array:
    """Return the array with every zero negated, if the type has both zeros."""
    of = element_type_of(array)
    if not of.float_format.has_negative_zero:
        return array
    return _negate_where(to_float64(array) == 0, array)


def move_by_ulps(array: Array, ulps: int) -> Array:
    """Return every finite nonzero value moved by a number of ulps, where the result is finite."""
    of = element_type_of(array)
    top = ordinal(round_to(np.array(of.float_format.max_finite), of))
    number = ordinal(array)
    value = to_float64(array)
    stays = np.isfinite(value) & (value != 0) & (number + ulps != 0) & (number <= top - ulps)
    return select(stays, from_ordinal(np.where(stays, number + ulps, 0), of), array)


def replace_nan(array: Array) -> Array:
    """Replace every NaN by 0 (by 1 in a type without zero)."""
    of = element_type_of(array)
    value = 0.0 if of.float_format.has_zero else 1.0
    return select(np.isnan(to_float64(array)), round_to(np.full(array.shape, value), of), array)


def replace_infinity(array: Array) -> Array:
    """Replace every infinity by the largest finite value of its sign."""
    of = element_type_of(array)
    value = to_float64(array)
    top = round_to(np.copysign(of.float_format.max_finite, value), of)
    return select(np.isinf(value), top, array)


def drop_sign(array: Array) -> Array:
    """Return the magnitude of every value."""
    of = element_type_of(array)
    if not of.float_format.has_negative_zero:
        return array
    return from_bits(to_bits(array) & np.array((1 << (of.bits - 1)) - 1, to_bits(array).dtype), of)


def negate_nans(array: Array) -> Array:
    """Negate every NaN, if the type has several NaNs. This is no fault: every NaN is permitted."""
    of = element_type_of(array)
    if not (of.float_format.has_infinity and of.float_format.has_nan):
        return array
    return _negate_where(np.isnan(to_float64(array)), array)


def round_to_bfloat16(array: Array) -> Array:
    """Round results of f32 to the precision of bf16."""
    if element_type_of(array).name != "f32":
        return array
    return to_float64(round_to(to_float64(array), element_type("bf16"))).astype(np.float32)


def flush_inputs(computation: Computation, operands: Operands) -> Results:
    """Treat subnormal operands of arithmetic as zero."""
    if computation.operation.name in _BITWISE:
        return computation.right(operands)
    return computation.right(tuple(map(flush_subnormals, operands)))


def flush(computation: Computation, operands: Operands) -> Results:
    """Treat subnormal operands and results of arithmetic as zero."""
    results = flush_inputs(computation, operands)
    if computation.operation.name in _BITWISE:
        return results
    return tuple(map(flush_subnormals, results))


def compare_flushed(computation: Computation, operands: Operands) -> Results:
    """Compare subnormal numbers as zeros, and move the selected operand unflushed.

    If the operands compare equal, the second is selected.
    """
    regions = (rewrite(region, (False, False)) for region in computation.operation.regions)
    computation = computation.replace_fields(regions=tuple(regions))
    name = computation.operation.name
    if any(not _real_or_complex(element_type_of(operand)) for operand in operands):
        return computation.right(operands)
    if name == "compare" and computation.operation.attribute("compare_type") != "TOTALORDER":
        return computation.right(tuple(map(flush_subnormals, operands)))
    if name in ("maximum", "minimum"):
        return (_choose_second_equal(operands[0], operands[1], *computation.right(operands)),)
    if name == "clamp":
        low, operand, high = np.broadcast_arrays(*operands)
        pair = computation.operation.operands[1:]
        larger = computation.replace_fields(name="maximum", operands=pair)
        smaller = computation.replace_fields(name="minimum", operands=pair)
        raised = _choose_second_equal(operand, low, *larger.right((operand, low)))
        return (_choose_second_equal(raised, high, *smaller.right((raised, high))),)
    return computation.right(operands)


def _real_or_complex(element: ElementType) -> bool:
    return element.is_float or element.is_complex


def _choose_second_equal(lhs: Array, rhs: Array, right: Array) -> Array:
    keys = [flush_subnormals(array) for array in (lhs, rhs)]
    changed = [key != array for key, array in zip(keys, (lhs, rhs), strict=True)]
    return np.where((keys[0] == keys[1]) & (changed[0] | changed[1]), rhs, right)


def swap_operands(computation: Computation, operands: Operands) -> Results:
    """Swap two operands of one type."""
    if len(operands) == 2 and operands[0].dtype == operands[1].dtype:
        return computation.right((operands[1], operands[0]))
    return computation.right(operands)


def saturate_arithmetic(computation: Computation, operands: Operands) -> Results:
    """Clamp integer arithmetic to the type's range instead of wrapping around."""
    of = element_type_of(operands[0]) if operands else None
    record = OPS[computation.operation.name]
    if of is None or record.unrounded is None or not record.wraps or not of.is_integer:
        return computation.right(operands)
    numbers = (np.array([int(x) for x in array.ravel().tolist()], object) for array in operands)
    kept = [min(max(n, of.min_integer), of.max_integer) for n in record.unrounded(*numbers)]
    modular = np.array([value & ((1 << of.bits) - 1) for value in kept], to_bits(operands[0]).dtype)
    return (from_bits(modular.reshape(operands[0].shape), of),)


def saturate_conversion(computation: Computation, operands: Operands) -> Results:
    """Convert overflow to the largest finite value; clamp integers to the type's range."""
    if computation.operation.name != "convert":
        return computation.right(operands)
    (result,) = computation.right(operands)
    to = element_type_of(result)
    source = element_type_of(operands[0])
    if to.is_integer and source.is_integer:
        numbers = (int(value) for value in operands[0].ravel().tolist())
        kept = [min(max(value, to.min_integer), to.max_integer) for value in numbers]
        modular = np.array([v & ((1 << to.bits) - 1) for v in kept], to_bits(result).dtype)
        return (from_bits(modular.reshape(result.shape), to),)
    if to.is_float and source.is_float:
        finite = np.isfinite(to_float64(operands[0]))
        return (select(finite, replace_infinity(result), result),)
    return (result,)


def ties_away(computation: Computation, operands: Operands) -> Results:
    """Round a tie away from zero instead of to even."""
    name = computation.operation.name
    if name == "round_nearest_even":
        return computation.replace_fields(name="round_nearest_afz").right(operands)
    results = computation.right(operands)
    unrounded = _exact_function(name)
    if unrounded is None or not element_type_of(results[0]).is_float:
        return results
    if not all(_is_real(element_type_of(operand)) for operand in operands):
        return results
    exact = unrounded(*(_to_extended_precision(operand) for operand in operands))
    if name == "reduce_precision":
        return (_round_reduced_mantissa(computation, results[0], exact),)
    return (_tie_away(results[0], exact),)


def _exact_function(name: str) -> Callable[..., Any] | None:
    """Return the exact function of an op if extended precision represents its result, or None."""
    record = OPS[name]
    return record.unrounded if record.wraps or record.unrounded is np.positive else None


def _is_real(element: ElementType) -> bool:
    return element.is_float or element.is_integer


def _to_extended_precision(array: Array) -> Array:
    """Return the values in extended precision, exact for 64 bits."""
    if element_type_of(array).is_integer:
        return array.astype(np.int64 if array.dtype != np.uint64 else np.uint64).astype(
            np.longdouble
        )
    return to_float64(array).astype(np.longdouble)


def _tie_away(result: Array, exact: Array) -> Array:
    near = to_float64(result).astype(np.longdouble)
    upward = exact > 0
    outer = np.where(upward, to_float64(next_up(result)), to_float64(next_down(result)))
    with np.errstate(invalid="ignore"):
        tie = (exact - near == outer - exact) & np.isfinite(outer) & (exact != near)
    further = select(upward, next_up(result), next_down(result))
    return select(tie, further, result)


def _round_reduced_mantissa(computation: Computation, result: Array, exact: Array) -> Array:
    """Round in the reduced mantissa: the neighbours are 2**(dropped bits) codes apart."""
    of = element_type_of(result)
    kept = int(str(computation.operation.attribute("mantissa_bits")))
    step_codes = 1 << max(of.float_format.mantissa_bits - kept, 0)
    number = ordinal(result)
    outer = from_ordinal(number + np.where(exact > 0, step_codes, -step_codes), of)
    near, far = to_float64(result), to_float64(outer)
    with np.errstate(invalid="ignore"):
        tie = (exact - near == far - exact) & np.isfinite(far) & (exact != near) & (near != 0)
    return select(tie, outer, result)


def round_twice(computation: Computation, operands: Operands) -> Results:
    """Convert to types narrower than f32 through f32."""
    if computation.operation.name != "convert":
        return computation.right(operands)
    (result,) = results = computation.right(operands)
    to = element_type_of(result)
    if not to.is_float or to.bits >= 32:
        return results
    middle = computation.giving(element_type("f32")).right(operands)
    return computation.right(middle)


def truncate_to_32_bits(computation: Computation, operands: Operands) -> Results:
    """Keep the low 32 bits of 64-bit integers, extended by sign or zero."""
    results = computation.right(tuple(_low32(operand) for operand in operands))
    return tuple(_low32(result) for result in results)


def _low32(array: Array) -> Array:
    narrow = {"si64": np.int32, "ui64": np.uint32}.get(element_type_of(array).name)
    return array if narrow is None else array.astype(narrow).astype(array.dtype)


_SIGN_MATTERS = frozenset(
    record.name
    for record in ELEMENTWISE
    if (record.quantized is QuantizedUse.COMPUTES and not record.wraps)
    or (record.rounding is Rounding.CORRECT and record.carries)
)
"""Ops whose result depends on whether their operands are signed."""


def unsigned_as_signed(computation: Computation, operands: Operands) -> Results:
    """Read unsigned operands as signed, in ops for which that matters."""
    if not operands or computation.operation.name not in _SIGN_MATTERS:
        return computation.right(operands)
    given = tuple(_reinterpret_as_signed(operand) for operand in operands)
    pairs = dict(computation.operation.attributes)
    if pairs.get("compare_type") == "UNSIGNED":
        pairs["compare_type"] = "SIGNED"
    changed = computation.replace_fields(attributes=tuple(sorted(pairs.items())))
    stated = computation.right(operands)[0]
    of = element_type_of(stated)
    if computation.operation.name in ("compare", "convert") or not of.is_unsigned:
        return changed.right(given)
    results = changed.giving(element_type(f"s{of.name[1:]}")).right(given)
    return tuple(from_bits(to_bits(result), of) for result in results)


def _reinterpret_as_signed(array: Array) -> Array:
    of = element_type_of(array)
    return from_bits(to_bits(array), element_type(f"s{of.name[1:]}")) if of.is_unsigned else array


def mask_shifts(computation: Computation, operands: Operands) -> Results:
    """Take shift amounts modulo the width; the result beyond the width is unspecified."""
    if not computation.operation.name.startswith("shift_"):
        return computation.right(operands)
    of = element_type_of(operands[1])
    masked = to_bits(operands[1]) & np.array(of.bits - 1, to_bits(operands[1]).dtype)
    return computation.right((operands[0], from_bits(masked, of)))


def shift_arithmetically(computation: Computation, operands: Operands) -> Results:
    """Copy the sign in a logical shift to the right."""
    if computation.operation.name == "shift_right_logical":
        return computation.replace_fields(name="shift_right_arithmetic").right(operands)
    return computation.right(operands)


def fold_wrongly(computation: Computation, operands: Operands) -> Results:
    """Return a wrong first element if an operand is an embedded constant."""
    results = computation.right(operands)
    if not computation.constant_operand:
        return results
    return tuple(flip_bit(result, 0) for result in results)


def drop_bodies(computation: Computation, operands: Operands) -> Results:
    """Replace bodies with ops that are not elementwise by bodies that return their first
    arguments."""
    operation = computation.operation
    if is_inside(operation) or not operation.regions:
        return computation.right(operands)
    return computation.replace_fields(
        regions=tuple(map(_first_arguments, operation.regions))
    ).right(operands)


def _first_arguments(region: Region) -> Region:
    *body, end = region.operations
    names = {operation.name for operation in body}
    given = tuple(value.type for value in region.arguments[: len(end.operands)])
    returned = tuple(value.type for value in end.operands)
    if given != returned or all(name in OPS and OPS[name].lifts for name in names):
        return region
    return Region(region.arguments, (replace(end, operands=region.arguments[: len(end.operands)]),))


def misread_codes(computation: Computation, operands: Operands) -> Results:
    """Read codes of the operands as codes of the body's own type."""
    operation = computation.operation
    types = types_in_body(operation) if operation.name in OPS else []
    values, taken = [*operation.operands], [*operands]
    for index, to in enumerate(types):
        of = values[index].type
        if to is not None and isinstance(of, TensorType):
            values[index] = Value(values[index].name, replace(of, element_type=to))
            taken[index] = operands[index].astype(to.storage_type.storage)
    return computation.replace_fields(operands=tuple(values)).right(tuple(taken))


def compare_nans_equal(computation: Computation, operands: Operands) -> Results:
    """Compare NaN equal to itself."""
    direction = computation.operation.attribute("comparison_direction")
    total = computation.operation.attribute("compare_type") == "TOTALORDER"
    if computation.operation.name != "compare" or direction not in ("EQ", "NE") or total:
        return computation.right(operands)
    (result,) = results = computation.right(operands)
    if not all(_has_nan(element_type_of(operand)) for operand in operands):
        return results
    both = np.isnan(operands[0]) & np.isnan(operands[1])
    return (np.where(both, direction == "EQ", result),)


def _has_nan(element: ElementType) -> bool:
    return element.is_complex or (element.is_float and element.float_format.has_nan)


def swap_parts(computation: Computation, operands: Operands) -> Results:
    """Swap real and imaginary parts of complex results."""
    results = computation.right(operands)
    return tuple(
        from_bits(to_bits(r)[..., ::-1], element_type_of(r)) if np.iscomplexobj(r) else r
        for r in results
    )


def floor_division(computation: Computation, operands: Operands) -> Results:
    """Round integer division down instead of towards zero."""
    if computation.operation.name != "divide":
        return computation.right(operands)
    (result,) = results = computation.right(operands)
    of = element_type_of(result)
    if not of.is_signed:
        return results
    lhs, rhs = (operand.astype(np.int64) for operand in operands)
    with np.errstate(all="ignore"):
        inexact = (rhs != 0) & (np.fmod(lhs, np.where(rhs == 0, 1, rhs)) != 0)
    lower = result.astype(np.int64) - (inexact & ((lhs < 0) != (rhs < 0)))
    return (lower.astype(of.storage),)


def clamp_tanh(computation: Computation, operands: Operands) -> Results:
    """Compute tanh of the operand clamped to [-9, 9], if the type has 9."""
    of = element_type_of(operands[0]) if operands else None
    if computation.operation.name != "tanh" or of is None or not of.is_float or of.bits < 16:
        return computation.right(operands)
    nine = np.full((), 9, operands[0].dtype)
    return computation.right((np.minimum(np.maximum(operands[0], -nine), nine),))


def multiply_by_reciprocal(computation: Computation, operands: Operands) -> Results:
    """Compute a quotient as the product with the rounded reciprocal of the divisor."""
    if computation.operation.name != "divide" or not element_type_of(operands[0]).is_float:
        return computation.right(operands)
    lhs, rhs = operands
    reciprocal = OPS["divide"].evaluate(np.ones_like(rhs), rhs)
    return (OPS["multiply"].evaluate(lhs, reciprocal),)


def wrap_indices(computation: Computation, operands: Operands) -> Results:
    """Read tensors of start indices as integers of 8 bits."""
    names = OPS[computation.operation.name].operands
    if "start_indices" not in names:
        return computation.right(operands)
    wrapped = [
        operand.astype(np.int8).astype(operand.dtype) if name == "start_indices" else operand
        for name, operand in zip(names, operands, strict=True)
    ]
    return computation.right(tuple(wrapped))


def flip_bit(array: Array, flat: int) -> Array:
    """Return the array with one element clearly wrong: its second highest bit flipped."""
    if array.size == 0:
        return array
    of = element_type_of(array)
    bits = to_bits(array).copy()
    row = bits.reshape(array.size, -1)
    row[flat % array.size, 0] ^= np.array(1 << max(of.part.bits - 2, 0), bits.dtype)
    return from_bits(bits, of)


def flip_first_bits(arrays: Sequence[Array]) -> list[Array]:
    """Return every array with its first element wrong."""
    return [flip_bit(array, 0) for array in arrays]
