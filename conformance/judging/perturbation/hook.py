"""What follows the evaluation of a program and changes results of its operations as they may be.

They are moved within their tolerances, chosen or filled anew where they are open, flushed to zero
where they are subnormal. Which of these, the evaluations of
conformance/judging/perturbation/judge.py say.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.lapack import free_choices
from conformance.judging.perturbation.error_model import (
    Directions,
    Moved,
    movable,
    shifted_by,
    with_signs,
)
from conformance.judging.perturbation.flushing import Flushing
from conformance.judging.perturbation.open_values import other, with_other_nans
from conformance.judging.perturbation.overrides import Override, shifted
from conformance.judging.perturbation.tiny_numbers import Tiny, tiny_of
from conformance.transforms.substitute import self_contained
from conformance.transforms.values import used_by
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
from reference.unspecified.table import unspecified

FIRST = (0, 0)
"""The process that the whole program is evaluated in, where it is one."""

Values = tuple[Any, ...]


@dataclass(slots=True)
class Tolerances:
    """What moves the results of operations whose operands are the same arrays again: worked out
    once for all evaluations of a program."""

    _kept: dict[int, tuple[Operation, Values, Moved]] = field(
        default_factory=dict[int, tuple[Operation, Values, Moved]]
    )

    unrounded: bool = False
    """Whether what is only rounded may be left as it was."""

    def movable(
        self, operation: Operation, operands: Values, results: Values, platform: str
    ) -> Moved:
        """What moves these results."""
        kept = self._kept.get(id(operation))
        if kept is not None and all(a is b for a, b in zip(kept[1], operands, strict=True)):
            return kept[2]
        move = self.anew(operation, operands, results, platform)
        self._kept[id(operation)] = (operation, operands, move)
        return move

    def anew(self, operation: Operation, operands: Values, results: Values, platform: str) -> Moved:
        """The same, of what is not kept."""
        return movable(operation, operands, results, platform, unrounded=self.unrounded)


@dataclass(slots=True)
class Follower:
    """What `evaluate` calls after every operation: knows the operands, and moves the results.

    `main` are the operations of the program's main function. Uses of the values called `apart` move
    by themselves (conformance/judging/perturbation/separate_uses.py). `flush` treats subnormal
    results as zero, and says of which. `fill` replaces elements that the specification leaves open,
    with `nan` numbers by that, `choose` is the number of a choice among results that are all right
    (such as eigenvectors), to be made anew; `opened` names the reasons met. `taken` are values of
    main that are taken as given: what the operations made of their operands is kept in `found`.
    `affected` are the values of main that moves change. `tolerances` are those of evaluations
    before, of the same program. `others` are the values of the other processes, where there are
    several, each beside those that all of them see.
    """

    values: dict[str, Any]
    platform: str
    main: tuple[Operation, ...] = ()
    directions: Directions | None = None
    apart: frozenset[str] = frozenset()
    flush: Flushing | None = None
    fill: np.random.Generator | None = None
    nan: bool = False
    choose: int | None = None
    opened: dict[str, None] = field(default_factory=dict[str, None])
    subnormal: bool = False
    shifts: Sequence[Override] = ()
    taken: Mapping[str, Array] = field(default_factory=dict[str, Array])
    found: dict[str, Any] = field(default_factory=dict[str, Any])
    affected: set[str] = field(default_factory=set[str])
    tolerances: Tolerances = field(default_factory=Tolerances)
    others: dict[ProcessId, dict[str, Any]] = field(default_factory=dict[ProcessId, dict[str, Any]])
    _again: dict[str, Moved] = field(default_factory=dict[str, Moved])
    _tiny: dict[tuple[ProcessId, str], Tiny] = field(
        default_factory=dict[tuple[ProcessId, str], Tiny]
    )
    _nans: set[str] = field(default_factory=set[str])
    _own: frozenset[int] = frozenset()
    _moves: bool = False

    def __post_init__(self) -> None:
        """Know the operations of main from those of its regions."""
        self._own = frozenset(map(id, self.main))

    def __call__(self, operation: Operation, results: Values) -> Values:
        """The results of an operation that go on in the place of those evaluated."""
        given = operation
        before = results = shifted(operation, results, self.shifts)
        seen = self._seen()
        operands = tuple(seen.get(value.name) for value in operation.operands)
        if not is_structure(operation) and all(one is not None for one in operands):
            operation = self_contained(operation, seen) if operation.regions else operation
            if self.choose is not None:
                results = self._chosen(operation, operands, results, self.choose)
            elif self.fill is not None:
                results = self._filled(operation, operands, results, self.fill)
            if self.directions is not None:
                results = self._moved(operation, operands, results, self.directions)
        if self.flush is not None:
            results = self._flushed(operation, operands, results, self.flush)
        if self.directions is not None:
            self._moves |= any(a is not b for a, b in zip(before, results, strict=True))
        if id(given) in self._own:
            results = self._of_main(given, results)
        seen.update(zip((v.name for v in operation.results), results, strict=True))
        return results

    def _seen(self) -> MutableMapping[str, Any]:
        """The values that the process sees which is being evaluated."""
        process = current_process()
        if process == FIRST:
            return self.values
        return ChainMap(self.others.setdefault(process, {}), self.values)

    def _moved(
        self, operation: Operation, operands: Values, results: Values, directions: Directions
    ) -> Values:
        structure = structure_of(operation)
        if structure is not None and structure.forwards_values and len(operands) == 1:
            return self._moved_again(operation, results, directions)
        draws = operation.name in OPS and OPS[operation.name].draws
        is_new = operation.regions or draws
        known = self.tolerances.anew if is_new else self.tolerances.movable
        move = known(operation, operands, results, self.platform)
        if len(results) == 1 and operation.results[0].name in self.apart:
            self._again[operation.results[0].name] = move
        return self._signed(operation, operands, move(directions), directions)

    def _moved_again(self, operation: Operation, results: Values, directions: Directions) -> Values:
        """Return one more version of a value that an operation hands on."""
        taken, given = operation.operands[0].name, operation.results[0].name
        again = self._again.get(taken)
        if again is None:
            return results
        self._follow(given, self._tiny.get((current_process(), taken)))
        return again(directions)

    def _signed(
        self, operation: Operation, operands: Values, results: Values, directions: Directions
    ) -> Values:
        """Return the results, zeros of either sign where they stand for numbers of another."""
        if len(results) != 1:
            return results
        process = current_process()
        known = [self._tiny.get((process, value.name)) for value in operation.operands]
        tiny = tiny_of(operation, operands, known, results[0])
        self._follow(operation.results[0].name, tiny)
        if tiny is None:
            return results
        self._moves = True  # what comes after it has to know
        either = tiny.either(results[0])
        return (with_signs(results[0], either, directions),) if either.any() else results

    def _follow(self, name: str, tiny: Tiny | None) -> None:
        """Keep which zeros of a value stand for numbers, until it is computed again."""
        if tiny is None:
            self._tiny.pop((current_process(), name), None)
        else:
            self._tiny[current_process(), name] = tiny

    def _of_main(self, operation: Operation, results: Values) -> Values:
        names = [value.name for value in operation.results]
        self.found.update(zip(names, results, strict=True))
        if self._moves or any(value.name in self.affected for value in used_by(operation)):
            self.affected |= set(names)
        self._moves = False
        return tuple(
            self.taken.get(name, result) for name, result in zip(names, results, strict=True)
        )

    def _flushed(
        self, operation: Operation, operands: Values, results: Values, flush: Flushing
    ) -> Values:
        own = not is_structure(operation) and operation.name not in COMMUNICATION
        known = own and all(one is not None for one in operands)
        found = flush.results(operation, operands if known else None, results, self.platform)
        self.subnormal |= any(new is not old for new, old in zip(found, results, strict=True))
        return found

    def _chosen(
        self, operation: Operation, operands: Values, results: Values, number: int
    ) -> Values:
        assert self.fill is not None
        found, why = free_choices.chosen(
            operation, operands, results, number, self.fill, shifted_by
        )
        if why:
            self.opened.setdefault(why)
        return found

    def _filled(
        self, operation: Operation, operands: Values, results: Values, random: np.random.Generator
    ) -> Values:
        runs = calls_target(operation) and runs_processes(operation)
        if (
            runs
            or _target(operation) in BUILT_IN
            or not all(isinstance(one, np.ndarray) for one in (*operands, *results))
        ):
            return results
        results = self._with_nan_bits(operation, operands, results, random)
        filled: list[Array] = []
        drawn = _drawn(operation)
        # random numbers are NaN seldom
        nan = self.nan and not (drawn or operation.attribute("rng_algorithm"))
        for number, result in enumerate(results):
            mask = np.zeros(result.shape, np.bool_)
            for label, open_ in (
                *unspecified(operation, operands, result, number), *drawn,
            ):  # fmt: skip
                mask |= open_
                self.opened.setdefault(label)
            filled.append(other(result, mask, random, nan=nan) if mask.any() else result)
        return tuple(filled)

    def _with_nan_bits(
        self, operation: Operation, operands: Values, results: Values, random: np.random.Generator
    ) -> Values:
        """The results of other bits of the NaNs that were computed, where bits are made visible:
        which NaN an operation makes is open (IEEE 754-2019, section 6.2.3)."""
        record, rule = OPS.get(operation.name), rule_of(operation)
        computed = [value.name in self._nans for value in operation.operands]
        if rule is not None and rule.nan_bits and any(computed):
            others = [
                with_other_nans(one, random) if is_computed else one
                for one, is_computed in zip(operands, computed, strict=True)
            ]
            self.opened.setdefault("bits of a NaN that is computed")
            return apply(operation, others)
        if any(computed) or (record is not None and record.rounding is not Rounding.MOVES):
            pairs = zip(operation.results, results, strict=True)
            floats = [(value, one) for value, one in pairs if element_type_of(one).is_float]
            self._nans |= {value.name for value, one in floats if bool(np.isnan(one).any())}
        return results


def _drawn(operation: Operation) -> tuple[tuple[str, np.bool_], ...]:
    """Ops that draw: alone they are judged by what may be drawn, of a program nothing is known."""
    record = OPS.get(operation.name)
    return (("random numbers", np.True_),) if record is not None and record.draws else ()


def _target(operation: Operation) -> str | None:
    """What a custom call calls: a target that is built in is open in nothing but its choices."""
    if not calls_target(operation):
        return None
    return str(operation.attribute("call_target_name"))
