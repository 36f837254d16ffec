"""Conditions that patterns put on values, such as `power_of_two` in `C:power_of_two`."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from conformance.known.crashing_operations import LEAST_OF_YNNPACK
from conformance.known.rewritings.evaluation import Evaluator
from conformance.known.rewritings.signs import is_not_negative
from conformance.known.rewritings.terms import Node
from conformance.known.rewritings.values import is_truth_value
from conformance.transforms.retype import element_of
from reference.ir.program import Attribute, Operation, TensorType, Value
from reference.ir.types import Array, element_type_of, to_bits
from reference.numerics.rounding import to_float64
from reference.ops.table import OPS

Condition = Callable[[Evaluator, Node], bool]


def _is_power_of_two(evaluator: Evaluator, node: Node) -> bool:
    """Return whether all elements are powers of two, so that the reciprocal of a float is exact."""
    value = evaluator.value(node)
    if value is None:
        return False
    if element_type_of(value).is_integer:
        bits = to_bits(value)
        return bool(((value > 0) & (bits & (bits - 1) == 0)).all())
    mantissa, _ = np.frexp(to_float64(value))
    return bool((np.abs(mantissa) == 0.5).all())


def _is_assumed_nonnegative(evaluator: Evaluator, node: Node) -> bool:
    """Return whether compilers assume a value to be nonnegative."""
    return isinstance(node, Value) and is_not_negative(evaluator.shown, node)


def _zero_by_truth_values(evaluator: Evaluator, node: Node) -> bool:
    """Return whether a value converted from i1 is all zeros, without being a constant."""
    value = evaluator.value(node) if isinstance(node, Value) else None
    if value is None or value.any() or evaluator.is_constant(node):
        return False
    return isinstance(node, Value) and is_truth_value(evaluator.shown, node)


def _boolean(evaluator: Evaluator, node: Node) -> bool:
    """Return whether a value consists of i1 values."""
    value = evaluator.value(node)
    return value is not None and element_type_of(value).is_boolean


def _constant(evaluator: Evaluator, node: Node) -> bool:
    """Return whether a value is a constant to a compiler."""
    return isinstance(node, Value) and evaluator.is_constant(node)


def _has_clamped_start(evaluator: Evaluator, node: Node) -> bool:
    """Return whether a constant start index of an update lies where the update does not fit."""
    given = _update_operands(evaluator, node)
    if given is None:
        return False
    array, update, starts = given
    for start, size, width in zip(starts, array.shape, update.shape, strict=True):
        first = evaluator.value(start) if evaluator.is_constant(start) else None
        if first is not None and not 0 <= int(first) <= size - width:
            return True
    return False


def _is_overwritten(evaluator: Evaluator, node: Node) -> bool:
    """Return whether a value is an update as large as the array that it updates."""
    term = evaluator.term_of(node) if isinstance(node, Value) else None
    if term is None or term.op != "dynamic_update_slice" or term.maker is None:
        return False
    array, update, *_ = term.maker.operands
    return array.type == update.type


def _has_bit_moved(evaluator: Evaluator, node: Node) -> bool:
    """Return whether a value is rounded, after another operation, to one bit of exponent less and
    one bit of mantissa more than its element type has.
    """
    term = evaluator.term_of(node) if isinstance(node, Value) else None
    if term is None or term.maker is None or not isinstance(term.operands[0], Value):
        return False
    of = term.maker.results[0].type
    if evaluator.term_of(term.operands[0]) is None or not isinstance(of, TensorType):
        return False
    own = of.element.float_format
    return _stated_format(term.maker) == (own.exponent_bits - 1, own.mantissa_bits + 1)


def _keeps_format(evaluator: Evaluator, node: Node) -> bool:
    """Return whether a value is rounded to the format that its element type has."""
    term = evaluator.term_of(node) if isinstance(node, Value) else None
    of = element_of(node) if isinstance(node, Value) else None
    if term is None or term.maker is None or of is None or not of.is_float:
        return False
    own = of.float_format
    return _stated_format(term.maker) == (own.exponent_bits, own.mantissa_bits)


def _stated_format(operation: Operation) -> tuple[Attribute | None, ...]:
    """Return the bits of exponent and mantissa that an operation rounds to."""
    return tuple(operation.attribute(name) for name in ("exponent_bits", "mantissa_bits"))


def _update_operands(
    evaluator: Evaluator, node: Node
) -> tuple[Array, Array, tuple[Node, ...]] | None:
    """Return the array, the update and the start index for each dimension; None if the value is no
    update of a slice.
    """
    term = evaluator.term_of(node) if isinstance(node, Value) else None
    if term is None or term.op != "dynamic_update_slice":
        return None
    array, update = (evaluator.value(one) for one in term.operands[:2])
    return None if array is None or update is None else (array, update, term.operands[2:])


def _is_reduced_later(evaluator: Evaluator, node: Node) -> bool:
    """Return whether a reduction of many elements uses a value, possibly through other
    operations.
    """
    if not isinstance(node, Value):
        return False
    names = {node.name}
    for one in evaluator.shown.program.main.body.operations[:-1]:
        taken = [value for value in one.operands if value.name in names]
        record = OPS.get(one.name)
        if not taken or record is None:
            continue
        if record.elementwise or record.moves_elements:
            names |= {value.name for value in one.results}
            continue
        sizes = [value.type.static_shape for value in taken if isinstance(value.type, TensorType)]
        if any(prod(size) >= LEAST_OF_YNNPACK for size in sizes):
            return True
    return False


def _is_variable(evaluator: Evaluator, node: Node) -> bool:
    """Return whether a value is not a constant to a compiler."""
    return not evaluator.is_constant(node)


CONDITIONS: dict[str, Condition] = {
    "bit_moved": _has_bit_moved,
    "boolean": _boolean,
    "clamped": _has_clamped_start,
    "constant": _constant,
    "not_negative": _is_assumed_nonnegative,
    "overwritten": _is_overwritten,
    "power_of_two": _is_power_of_two,
    "reduced": _is_reduced_later,
    "unchanged": _keeps_format,
    "variable": _is_variable,
    "zero_by_truth_values": _zero_by_truth_values,
}
