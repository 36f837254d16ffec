"""The evaluation hook that perturbs the results of a program's operations.

It moves results within their tolerances, fills unspecified elements, and flushes subnormals.
conformance/judging/perturbation/evaluations.py selects among these.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.perturbation.arbitrary_values import (
    Filling,
    fill_arbitrary,
    replace_nans,
)
from conformance.judging.perturbation.error_model import (
    Directions,
    Mover,
    make_mover,
    sign_zeros,
)
from conformance.judging.perturbation.flushing import FlushingChoices
from conformance.judging.perturbation.overrides import Override, apply_overrides
from conformance.judging.perturbation.tiny_numbers import Tiny, tiny_of
from conformance.transforms.substitute import embed_free_values
from conformance.transforms.values import used_values
from reference.custom_calls.targets import BUILT_IN
from reference.interpreter.calls import runs_processes
from reference.interpreter.evaluate import apply
from reference.interpreter.processes import current_process
from reference.ir.op import Rounding
from reference.ir.processes import ProcessId
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.ops.structure import COMMUNICATION, calls_target, is_structure, structure_of
from reference.ops.table import OPS
from reference.unspecified.table import unspecified_elements

FIRST = (0, 0)
"""The process of a program with a single process."""

Values = tuple[Any, ...]


@dataclass(slots=True)
class Tolerances:
    """A cache of movers, shared by all evaluations of a program.

    A mover is reused if the operation has the same operand arrays again.
    """

    _kept: dict[int, tuple[Operation, Values, Mover]] = field(
        default_factory=dict[int, tuple[Operation, Values, Mover]]
    )

    excess: float | None = None
    """Tolerance in ulp of every rounding, explicit ones as well; None for that of `excess_of`."""

    def mover(
        self, operation: Operation, operands: Values, results: Values, platform: str
    ) -> Mover:
        """Return a cached function that moves these results within their tolerances."""
        kept = self._kept.get(id(operation))
        if kept is not None and all(a is b for a, b in zip(kept[1], operands, strict=True)):
            return kept[2]
        move = self.new_mover(operation, operands, results, platform)
        self._kept[id(operation)] = (operation, operands, move)
        return move

    def new_mover(
        self, operation: Operation, operands: Values, results: Values, platform: str
    ) -> Mover:
        """Return a new function that moves these results within their tolerances."""
        return make_mover(operation, operands, results, platform, excess=self.excess)


@dataclass(slots=True)
class PerturbationHook:
    """The `on_result` hook of `evaluate`: records operands and perturbs the results.

    `main` are the operations of the main function. Uses of the values in `apart` move separately
    (conformance/judging/perturbation/separate_uses.py). `flush` treats subnormal results as zero.
    `fill` replaces unspecified elements, by the numbers of `filling`. `opened` collects the reasons
    why elements are unspecified.

    Values of main in `taken` replace computed values, which are kept in `found`. `affected` are the
    values of main that change when results are moved. `tolerances` caches the movers of earlier
    evaluations of the same program. `others` has the values of main in each process but the first.
    """

    values: dict[str, Any]
    platform: str
    main: tuple[Operation, ...] = ()
    directions: Directions | None = None
    apart: frozenset[str] = frozenset()
    flush: FlushingChoices | None = None
    fill: np.random.Generator | None = None
    filling: Filling = Filling.ANY
    opened: dict[str, None] = field(default_factory=dict[str, None])
    subnormal: bool = False
    shifts: Sequence[Override] = ()
    taken: Mapping[str, Array] = field(default_factory=dict[str, Array])
    found: dict[str, Any] = field(default_factory=dict[str, Any])
    affected: set[str] = field(default_factory=set[str])
    tolerances: Tolerances = field(default_factory=Tolerances)
    others: dict[ProcessId, dict[str, Any]] = field(default_factory=dict[ProcessId, dict[str, Any]])
    _again: dict[str, Mover] = field(default_factory=dict[str, Mover])
    _tiny: dict[tuple[ProcessId, str], Tiny] = field(
        default_factory=dict[tuple[ProcessId, str], Tiny]
    )
    _nans: set[str] = field(default_factory=set[str])
    _own: frozenset[int] = frozenset()
    _moves: bool = False

    def __post_init__(self) -> None:
        """Index the operations of main, to distinguish them from operations in its regions."""
        self._own = frozenset(map(id, self.main))

    def __call__(self, operation: Operation, results: Values) -> Values:
        """Return the perturbed results of an operation in place of the evaluated results."""
        given = operation
        before = results = apply_overrides(operation, results, self.shifts)
        seen = self._visible_values()
        operands = tuple(seen.get(value.name) for value in operation.operands)
        if not is_structure(operation) and all(operand is not None for operand in operands):
            operation = embed_free_values(operation, seen) if operation.regions else operation
            if self.fill is not None:
                results = self._fill(operation, operands, results, self.fill)
            if self.directions is not None:
                results = self._move(operation, operands, results, self.directions)
        if self.flush is not None:
            results = self._flush(operation, operands, results, self.flush)
        if self.directions is not None:
            self._moves |= any(a is not b for a, b in zip(before, results, strict=True))
        if id(given) in self._own:
            results = self._record_main(given, results)
        seen.update(zip((v.name for v in operation.results), results, strict=True))
        return results

    def _visible_values(self) -> MutableMapping[str, Any]:
        """Return the values that are visible to the process that is being evaluated."""
        process = current_process()
        if process == FIRST:
            return self.values
        return ChainMap(self.others.setdefault(process, {}), self.values)

    def _move(
        self, operation: Operation, operands: Values, results: Values, directions: Directions
    ) -> Values:
        structure = structure_of(operation)
        if structure is not None and structure.forwards_values and len(operands) == 1:
            return self._move_copy(operation, results, directions)
        draws = operation.name in OPS and OPS[operation.name].is_random
        is_new = operation.regions or draws
        known = self.tolerances.new_mover if is_new else self.tolerances.mover
        move = known(operation, operands, results, self.platform)
        if len(results) == 1 and operation.results[0].name in self.apart:
            self._again[operation.results[0].name] = move
        return self._sign_zeros(operation, operands, move(directions), directions)

    def _move_copy(self, operation: Operation, results: Values, directions: Directions) -> Values:
        """Return another version of a value that an operation propagates."""
        taken, given = operation.operands[0].name, operation.results[0].name
        again = self._again.get(taken)
        if again is None:
            return results
        self._record_tiny(given, self._tiny.get((current_process(), taken)))
        return again(directions)

    def _sign_zeros(
        self, operation: Operation, operands: Values, results: Values, directions: Directions
    ) -> Values:
        """Return the results with zeros of either sign where they stand for tiny numbers."""
        if len(results) != 1:
            return results
        process = current_process()
        known = [self._tiny.get((process, value.name)) for value in operation.operands]
        tiny = tiny_of(operation, operands, known, results[0])
        self._record_tiny(operation.results[0].name, tiny)
        if tiny is None:
            return results
        self._moves = True  # later operations depend on the sign
        either = tiny.zeros_of_either_sign(results[0])
        return (sign_zeros(results[0], either, directions),) if either.any() else results

    def _record_tiny(self, name: str, tiny: Tiny | None) -> None:
        """Record the zeros of a value that stand for tiny numbers, or drop an old record."""
        if tiny is None:
            self._tiny.pop((current_process(), name), None)
        else:
            self._tiny[current_process(), name] = tiny

    def _record_main(self, operation: Operation, results: Values) -> Values:
        names = [value.name for value in operation.results]
        self.found.update(zip(names, results, strict=True))
        if self._moves or any(value.name in self.affected for value in used_values(operation)):
            self.affected |= set(names)
        self._moves = False
        return tuple(
            self.taken.get(name, result) for name, result in zip(names, results, strict=True)
        )

    def _flush(
        self, operation: Operation, operands: Values, results: Values, flush: FlushingChoices
    ) -> Values:
        own = not is_structure(operation) and operation.name not in COMMUNICATION
        known = own and all(operand is not None for operand in operands)
        found = flush.flush_results(operation, operands if known else None, results, self.platform)
        self.subnormal |= any(new is not old for new, old in zip(found, results, strict=True))
        return found

    def _fill(
        self, operation: Operation, operands: Values, results: Values, random: np.random.Generator
    ) -> Values:
        runs = calls_target(operation) and runs_processes(operation)
        if (
            runs
            or _call_target(operation) in BUILT_IN
            or not all(isinstance(one, np.ndarray) for one in (*operands, *results))
        ):
            return results
        results = self._replace_nan_bits(operation, operands, results, random)
        filled: list[Array] = []
        drawn = _drawn_elements(operation)
        # random numbers are seldom NaN
        is_random = bool(drawn or operation.attribute("rng_algorithm"))
        filling = Filling.ANY if is_random and self.filling is Filling.NAN else self.filling
        for index, result in enumerate(results):
            mask = np.zeros(result.shape, np.bool_)
            for label, open_ in (
                *unspecified_elements(operation, operands, result, index), *drawn,
            ):  # fmt: skip
                mask |= open_
                self.opened.setdefault(label)
            filled.append(fill_arbitrary(result, mask, random, filling) if mask.any() else result)
        return tuple(filled)

    def _replace_nan_bits(
        self, operation: Operation, operands: Values, results: Values, random: np.random.Generator
    ) -> Values:
        """Return the results with other bits of computed NaNs, for ops that expose bits.

        The NaN that an operation produces is unspecified (IEEE 754-2019, section 6.2.3).
        """
        record, rule = OPS.get(operation.name), rule_of(operation)
        computed = [value.name in self._nans for value in operation.operands]
        if rule is not None and rule.nan_bits and any(computed):
            others = [
                replace_nans(operand, random) if is_computed else operand
                for operand, is_computed in zip(operands, computed, strict=True)
            ]
            self.opened.setdefault("bits of a NaN that is computed")
            return apply(operation, others)
        if any(computed) or (record is not None and record.rounding is not Rounding.MOVES):
            pairs = zip(operation.results, results, strict=True)
            floats = [(value, one) for value, one in pairs if element_type_of(one).is_float]
            self._nans |= {value.name for value, one in floats if bool(np.isnan(one).any())}
        return results


def _drawn_elements(operation: Operation) -> tuple[tuple[str, np.bool_], ...]:
    """Return the mask of unspecified elements of a random number generator: all elements.

    In isolation such an op is judged by what may be drawn.
    """
    record = OPS.get(operation.name)
    return (("random numbers", np.True_),) if record is not None and record.is_random else ()


def _call_target(operation: Operation) -> str | None:
    """Return the target of a custom call; built-in targets leave only free choices unspecified."""
    if not calls_target(operation):
        return None
    return str(operation.attribute("call_target_name"))
