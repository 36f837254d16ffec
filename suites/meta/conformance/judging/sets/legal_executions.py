"""Executions that a compiler may choose: contracted products, narrow types kept in f32.

They are written without the judgement's own samples, to test it: none of their results is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from conformance.transforms.retype import retype
from reference.interpreter.evaluate import apply
from reference.ir.op import Rounding
from reference.ir.program import Operation, Program
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.rounding import round_to, to_float64
from reference.ops.table import OPS

_F32, _F64 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["f64"]
SUMS = (np.add, np.subtract)


class LegalExecution:
    """The `on_result` hook of `evaluate` that leaves out roundings of main at random.

    An f32 product is exact in a sum that takes it. A value of a narrow type stays an f32 value
    for the operations that take it, but for explicit roundings, and within its type's range.
    """

    def __init__(self, program: Program, inputs: tuple[Array, ...], seed: int) -> None:
        names = (one.name for one in program.main.arguments)
        self._values: dict[str, Any] = dict(zip(names, inputs, strict=True))
        self._unrounded: dict[str, Array] = {}
        self._main = frozenset(map(id, program.main.body.operations))
        self._random = np.random.default_rng(seed)

    def __call__(self, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the results of this execution in place of the reference's."""
        if id(operation) in self._main and len(results) == 1:
            results = (self._result(operation, results[0]),)
        names = (one.name for one in operation.results)
        self._values.update(zip(names, results, strict=True))
        return results

    def _result(self, operation: Operation, result: Any) -> Any:
        record = OPS.get(operation.name)
        if record is None or not operation.operands or operation.regions:
            return result
        if not isinstance(result, np.ndarray):
            return result
        of, name = element_type_of(result), operation.results[0].name
        if not of.is_float or not of.float_format.signed or record.only_rounds or of is _F64:
            return result
        if record.moves_elements or record.is_sign_only:
            if any(one.name in self._unrounded for one in operation.operands):
                self._unrounded[name] = self._applied(operation, {of: _F64}, every=True)
            return result
        if not record.lifts or record.rounding is Rounding.EXACT:
            return result
        if of is not _F32:
            kept = to_float64(self._applied(operation, {of: _F32}))
            rounded = round_to(kept, of)
            if record.rounding is not Rounding.MOVES:
                stored = to_float64(rounded)
                is_in_range = (np.abs(kept) <= of.float_format.max_finite) & (stored != 0)
                self._unrounded[name] = np.where(is_in_range, kept, stored)
            return rounded
        if record.unrounded is np.multiply:
            self._unrounded[name] = self._applied(operation, {of: _F64})
        if record.unrounded in SUMS:
            return round_to(self._applied(operation, {of: _F64}), of)
        return result

    def _applied(
        self, operation: Operation, types: Mapping[ElementType, ElementType], *, every: bool = False
    ) -> Array:
        """Return the result on wider types, of operands unrounded at random, or of `every` one."""
        (wide,) = types.values()
        operands: list[Array] = []
        for value in operation.operands:
            given = self._values[value.name]
            if value.name in self._unrounded and (every or self._random.integers(2)):
                given = self._unrounded[value.name]
            of = element_type_of(given)
            operands.append(round_to(to_float64(given), wide) if of.is_float else given)
        (result,) = apply(retype(operation, types), operands)
        return result
