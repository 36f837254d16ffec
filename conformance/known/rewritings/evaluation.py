"""Evaluation of terms: values of a program, and of the program computed instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.catalog import rule_of
from conformance.known.rewritings.terms import Node, Term, as_term, has_more_than_operands
from conformance.known.rewritings.values import ObservedProgram
from conformance.tolerance.hardware import Hardware
from conformance.transforms.retype import with_element_type
from reference.interpreter.evaluate import EvaluationError, apply
from reference.interpreter.verify import violations
from reference.ir.constraints import ConstraintViolation
from reference.ir.program import Operation, TensorType, Value
from reference.ir.types import Array, element_type_of, from_bits, to_bits
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.alike import flush_subnormals
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import to_float64, ulp_size
from reference.ops.table import OPS

Evaluated = tuple[Array, Array]
"""A value, and its possible error from functions and roundings."""


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Evaluator of the values of a program, and of terms over these values."""

    shown: ObservedProgram

    def term_of(self, value: Value) -> Term | None:
        """Return the operation that defines a value, as a term; None for a parameter."""
        maker = self.shown.maker(value)
        if maker is None or len(maker.results) != 1:
            return None
        return as_term(maker)

    def is_constant(self, node: Node) -> bool:
        """Return whether a node is a constant to a compiler."""
        if isinstance(node, Value):
            return self.shown.is_folded(node)
        return not isinstance(node, Term) or all(map(self.is_constant, node.operands))

    def value(self, node: Node) -> Array | None:
        """Return the value of a node; None if not available."""
        try:
            return self.evaluate(node, flushes=False)[0]
        except LookupError:
            return None

    def evaluate(self, node: Node, *, flushes: bool) -> Evaluated:
        """Return the value of a node, and its possible error.

        Constants are folded, and not flushed before they are used.

        Raises:

        LookupError: a value is not available, or an operation cannot be evaluated on its operands.
        """
        keeps = flush_subnormals if flushes else np.asarray
        if isinstance(node, Value):
            array = self.shown.known_value(node)
            if array is None:
                raise LookupError(node.name)
            return keeps(array), np.zeros(array.shape)
        if not isinstance(node, Term):
            raise LookupError(node)
        flushes_within = flushes and not self.is_constant(node)
        pairs = self._operands(node, flushes=flushes_within)
        result, error = self._compute_with_error(node, pairs)
        return keeps(result), error

    def _operands(self, node: Term, *, flushes: bool) -> list[Evaluated]:
        """Return the operands of a term; numbers among them take the shape of the last operand that
        is a value.
        """
        found = {
            number: self.evaluate(one, flushes=flushes)
            for number, one in enumerate(node.operands)
            if not isinstance(one, float)
        }
        if not found:
            raise LookupError(node.op)
        *_, (like, _) = found.values()
        numbers = (
            (np.full_like(like, one), np.zeros(like.shape)) if isinstance(one, float) else None
            for one in node.operands
        )
        return [found[n] if one is None else one for n, one in enumerate(numbers)]

    @quiet
    def _compute_with_error(self, node: Term, pairs: list[Evaluated]) -> Evaluated:
        """Return the result of an operation on operands with errors, and its error."""
        arrays, errors = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if node.moves and node.maker is not None:
            return move_elements(node.maker, arrays[0]), move_elements(node.maker, errors[0])
        if node.op in BUILT:
            return BUILT[node.op](*arrays), np.zeros(arrays[0].shape)
        if has_more_than_operands(OPS.get(node.op)):
            result = _apply_operation(node, arrays, self.shown)
            return result, np.zeros(result.shape)
        result = _evaluate_node(node, arrays)
        return result, _error(node, result, arrays, errors)


def _apply_operation(node: Term, arrays: Sequence[Array], shown: ObservedProgram) -> Array:
    """Return the result of the program's operation on other operands, of any types."""
    if node.maker is None:
        raise LookupError(node.op)
    types = [TensorType(one.shape, element_type_of(one)) for one in arrays]
    operands = tuple(Value(f"operand {number}", of) for number, of in enumerate(types))
    operation = replace(node.maker, operands=operands)
    if violations(operation):
        raise LookupError(node.op)
    try:
        return apply(operation, arrays, shown.values if operation.regions else None)[0]
    except EvaluationError as error:
        raise LookupError(node.op) from error


def _evaluate_node(node: Term, arrays: Sequence[Array]) -> Array:
    """Return the result of an operation without attributes, or of a comparison."""
    record, direction = OPS[node.mnemonic], node.op.partition(".")[2]
    given: dict[str, Any] = {"comparison_direction": direction} if direction else {}
    try:
        record.infer(*(TensorType(one.shape, element_type_of(one)) for one in arrays), **given)
    except ConstraintViolation as error:
        raise LookupError(node.op) from error
    return record.evaluate(*arrays, **given)


def _error(node: Term, result: Array, arrays: Sequence[Array], errors: Sequence[Array]) -> Array:
    """Return the largest possible error of a result."""
    of = element_type_of(result)
    if not of.is_float:
        return np.zeros(result.shape)
    size = np.abs(to_float64(result))
    if node.op in ("add", "subtract"):
        error = errors[0] + errors[1] + size * unit_roundoff(of)
    elif node.op == "multiply":
        x, y = (np.abs(to_float64(one)) for one in arrays)
        error = x * errors[1] + y * errors[0] + size * unit_roundoff(of)
    elif OPS[node.op].is_sign_only:
        error = errors[0]
    elif node.op == "select":
        error = np.where(arrays[0], errors[1], errors[2])
    else:
        rule = rule_of(Operation(node.op))
        budget = 0.0 if rule is None else rule.budget(of, Hardware.CPU) or 0.0
        error = budget * ulp_size(to_float64(result), of) + size * errors[-1]
    return np.where(np.isfinite(error), error, 0)


@quiet
def _sum(x: Array, y: Array) -> Array:
    """Return x + y, or x where y is zero: compilers omit the addition of zero."""
    return OPS["add"].evaluate(x, y) if y.any() else x


def _shift_bits(x: Array, divisor: Array) -> Array:
    """Return the quotient of the bits of x, as of an unsigned integer."""
    bits, number = to_bits(x), to_bits(divisor)
    return from_bits((bits // number).astype(bits.dtype), element_type_of(x))


def _low_bits(x: Array, divisor: Array) -> Array:
    """Return the remainder of the bits of x, as of an unsigned integer."""
    bits, number = to_bits(x), to_bits(divisor)
    return from_bits((bits & (number - 1)).astype(bits.dtype), element_type_of(x))


def _other_zeros(x: Array) -> Array:
    """Return x with zeros of the other sign."""
    return np.where(x == 0, np.negative(x), x).astype(x.dtype)


BUILT: dict[str, Callable[..., Array]] = {
    "sum": _sum,
    "unsigned_quotient": _shift_bits,
    "unsigned_remainder": _low_bits,
    "other_zeros": _other_zeros,
}
"""Functions that replacements may use besides StableHLO's operations, by name."""


def move_elements(maker: Operation, array: Array) -> Array:
    """Return the elements of any type, moved as an operation moves its operand's."""
    of = element_type_of(array)
    operands, results = (
        tuple(with_element_type(value, of) for value in some)
        for some in (maker.operands, maker.results)
    )
    return apply(replace(maker, operands=operands, results=results), (array,))[0]
