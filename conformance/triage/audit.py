"""Audit of a program: each operation is judged on the backend's operands.

The program is run once more with the results of its operations as outputs. An operation is at fault
if its results are wrong for its operands by its own rule. In a fused group that recomputes cheap
operands, the group's operands count. Unspecified results are taken as the backend has them, and
later operations are judged with them.

Loops are followed with the backend's own body, branches as the backend takes them. The region of a
manual computation is a program of several processes: each process is judged on its own values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from conformance.backends.base import BackendError
from conformance.catalog import rule_of
from conformance.judging.compare import describe_malformed, judge, judge_operation
from conformance.judging.judgement import Judgement
from conformance.judging.lapack.residuals import judge_by_equations
from conformance.judging.perturbation.error_model import make_mover
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.hull import MARGIN, is_within
from conformance.judging.perturbation.judge import judge_program, judge_result
from conformance.judging.perturbation.overrides import Override
from conformance.judging.perturbation.separate_uses import find_copies, is_cheap
from conformance.known.in_force import stated_hypotheses
from conformance.transforms.dead_code import restrict_to
from conformance.transforms.extract import extract, extract_operation, replace_results
from conformance.transforms.outline import device_shards, outline, outline_devices
from conformance.transforms.values import (
    can_be_result,
    definition_index,
    element_count,
    operations_within,
    used_values,
)
from conformance.triage.influence import influential_overrides
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate, split_by_process
from reference.ir.op import Rounding, Structure
from reference.ir.program import Operation, Program, Region, Value
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements, equal_results
from reference.numerics.rounding import to_float64
from reference.ops.structure import COMMUNICATION, calls_target, is_structure, structure_of
from reference.ops.table import OPS
from reference.unspecified.table import unspecified_mask

Run = Callable[[Program, Sequence[Sequence[Array]]], Iterator[list[Array]]]
"""A function run(program, input sets) that yields the backend's results on each; raises
BackendError.
"""

ITERATIONS = 500
"""Largest number of iterations of a loop that are judged."""

FAULTY_ITERATIONS = 8
"""Largest number of wrong iterations that are judged; later iterations seldom show another fault.
"""

MOST_ELEMENTS = 1 << 24
"""Largest total number of elements of values that are returned at once."""

WINDOW = 3
"""Depth of the search for operands that a backend may have recomputed."""


@dataclass(frozen=True, slots=True)
class WrongOperation:
    """An operation whose results are wrong for its operands, and the judgement on them.

    `program` and `values` are its surroundings: main, or the body of a loop or a branch in one
    iteration. `within` are the loops, branches and manual computations around it, the outermost
    first.
    """

    operation: Operation
    judgement: Judgement
    program: Program = field(repr=False)
    values: Mapping[str, Array] = field(repr=False)
    within: tuple[Operation, ...] = ()

    @property
    def results(self) -> list[Array]:
        """The operation's results that have values."""
        return [
            self.values[result.name]
            for result in self.operation.results
            if result.name in self.values
        ]


@dataclass(frozen=True, slots=True)
class OperationAudit:
    """A backend's values at every operation of main, and the judgements on them.

    `values` are by name; `ends` are main's results in the same run, by number. `wrong` is in order.
    `adopted` are operations with unspecified elements. `differing` are the operations of main at
    fault (or with a fault inside). Both come with the reference's results on the same operands.
    `unsettled` are loops that could not be judged as a whole. `harmless` are wrong operations whose
    repair changes no result by more than rounding. Of a program of several processes, each with its
    own values, there are no `values`, `adopted`, `differing` and `harmless`.
    """

    values: Mapping[str, Array]
    ends: Mapping[int, Array]
    wrong: tuple[WrongOperation, ...]
    adopted: tuple[Override, ...]
    differing: tuple[Override, ...]
    unsettled: tuple[Operation, ...]
    harmless: tuple[WrongOperation, ...] = ()

    def has_same_results(self, actual: Sequence[Array]) -> bool:
        """Return whether the judged results equal the results of the run without extra outputs.

        If they differ, the program was compiled otherwise, and the audit proves nothing about it.
        """
        return equal_results([*self.ends.values()], [actual[number] for number in self.ends])

    def shows_errors(self, actual: Sequence[Array]) -> bool:
        """Return whether the judged results are those of the run without extra outputs, or agree
        with them in half of the digits: a program compiled otherwise rounds otherwise.
        """
        return all(bool(_agreeing(one, actual[n]).all()) for n, one in self.ends.items())


def _agreeing(array: Array, other: Array) -> Array:
    """Return a mask of elements that are equal, or floats that agree in half of their digits."""
    element_type, same = element_type_of(array), equal_elements(array, other)
    if not (element_type.is_float or element_type.is_complex):
        return same
    near = 2.0 ** -(element_type.part.float_format.precision // 2)
    with np.errstate(all="ignore"):
        one, two = (to_float64(a) if element_type.is_float else a for a in (array, other))
        return same | (np.abs(one - two) <= near * np.minimum(np.abs(one), np.abs(two)))


def audit(
    run: Run,
    platform: str,
    program: Program,
    inputs: Sequence[Array],
    numbers: Sequence[int],
    *,
    only: Operation | None = None,
) -> OperationAudit | None:
    """Return the audit of the operations that lead to the results in `numbers`, or of `only` one.

    Results of several processes are numbered like the results of `evaluate`. None if values cannot
    be shown: there are too many, or the backend or the reference refuses.
    """
    ends = program.main.body.operations[-1].operands
    wanted = [*dict.fromkeys(ends[number % len(ends)] for number in numbers)]
    less = restrict_to(program, wanted)
    made = (value for operation in less.main.body.operations[:-1] for value in operation.results)
    around = None if only is None else {*used_values(only), *only.results}
    shown = [v for v in made if can_be_result(v) and (around is None or v in around)]
    if not shown or sum(map(element_count, shown)) > MOST_ELEMENTS:
        return None
    returned = {value.name for value in wanted}
    outputs = [*wanted, *(value for value in shown if value.name not in returned)]
    names = [value.name for value in (*less.main.arguments, *outputs)]
    try:
        (arrays,) = run(replace_results(less, outputs), [inputs])
        if len(arrays) != len(outputs) * program.process_count:
            return None
        shares = zip(
            split_by_process(program, inputs), split_by_process(program, arrays), strict=True
        )
        processes = [dict(zip(names, (*given, *made), strict=True)) for given, made in shares]
        results = {n: processes[n // len(ends)][ends[n % len(ends)].name] for n in numbers}
        whole = replace_results(less, shown)
        if program.process_count > 1:
            return _audit_processes(run, platform, whole, processes, results)
        found = _Auditor(run, platform, whole, processes).audit(results, only)
        return _separate_harmless(less, platform, found)
    except (BackendError, EvaluationError):
        return None


def _audit_processes(
    run: Run,
    platform: str,
    program: Program,
    processes: Sequence[dict[str, Array]],
    ends: Mapping[int, Array],
) -> OperationAudit:
    """Return the audit of a program of several processes, given the values of each.

    An operation is judged in each process by itself, unless processes communicate in it.
    """
    own = replace(program, process_grid=None)
    auditors = [_Auditor(run, platform, own, [values]) for values in processes]
    jointly = _JointAuditor(run, platform, program, processes)
    wrong: list[WrongOperation] = []
    for index, operation in enumerate(program.main.body.operations[:-1]):
        judges = (jointly,) if jointly.is_for(operation) else auditors
        wrong += [found for one in judges for found in one.judge_operation(index, operation)]
    unsettled = tuple(one for each in (*auditors, jointly) for one in each.unsettled)
    return OperationAudit({}, ends, tuple(wrong), (), (), unsettled)


def _separate_harmless(program: Program, platform: str, found: OperationAudit) -> OperationAudit:
    """Return the audit with separate lists of wrong operations that affect a result and that do
    not.
    """
    culprits = influential_overrides(program, platform, found.values, found.differing)
    if len(culprits) == len(found.differing):
        return found
    of_culprits = {id(culprit.operation) for culprit in culprits}
    spared = {id(one.operation) for one in found.differing} - of_culprits

    def is_harmless(one: WrongOperation) -> bool:
        return id(one.within[0] if one.within else one.operation) in spared

    harmless = tuple(one for one in found.wrong if is_harmless(one))
    wrong = tuple(one for one in found.wrong if not is_harmless(one))
    return replace(found, wrong=wrong, differing=culprits, harmless=harmless)


class _Auditor:
    """Judge of the operations of one program, given the backend's values."""

    def __init__(
        self, run: Run, platform: str, program: Program, processes: Sequence[Mapping[str, Array]]
    ) -> None:
        self._run, self._program, self._processes = run, program, processes
        self._operations = program.main.body.operations[:-1]
        self._makers = definition_index(program)
        self._wrong: list[WrongOperation] = []
        self.unsettled: list[Operation] = []
        self._platform, self._values = platform, processes[0] if len(processes) == 1 else {}
        self._by_values: PermittedResults | None = None
        self._adopted: list[Override] = []
        self._differing: list[Override] = []

    def audit(self, ends: Mapping[int, Array], only: Operation | None = None) -> OperationAudit:
        """Judge every operation in order, or `only` one."""
        for index, operation in enumerate(self._operations):
            if only is None or operation == only:
                self.judge_operation(index, operation)
        return OperationAudit(
            self._values, ends, tuple(self._wrong), tuple(self._adopted), tuple(self._differing),
            tuple(self.unsettled),
        )  # fmt: skip

    def judge_operation(self, number: int, operation: Operation) -> list[WrongOperation]:
        """Judge an operation of main, and return it if it is wrong, or the operations in it."""
        before = len(self._wrong)
        self._judge_operation(number, operation)
        return self._wrong[before:]

    def _judge_operation(self, number: int, operation: Operation) -> None:
        seen = [value for value in operation.results if value.name in self._values]
        got = tuple(self._values[value.name] for value in seen)
        taken = extract_operation(self._program, operation, self._values, self._makers)
        if taken is None:  # an operand or result cannot be shown
            for value, array in zip(seen, got, strict=True):
                judgement = self._judge_value(value, array)
                if structure_of(operation) is Structure.AWAITS and judgement.verdict.fails:
                    judgement = self._judge_regions(operation, (), got, judgement)
                if judgement is not None:
                    self._record(operation, judgement)
            return
        expected = evaluate(*taken)
        if equal_results(expected, got):
            return
        before = len(self._wrong)
        judgement = self._judge_results(number, operation, taken, expected, got)
        if judgement is not None:
            self._record(operation, judgement)
        shift = Override(operation, expected, got)
        if len(self._wrong) > before:
            self._differing.append(shift)
        elif judgement is not None and judgement.verdict is Verdict.UNSPECIFIED:
            self._adopted.append(shift)

    def _record(self, operation: Operation, judgement: Judgement) -> None:
        if judgement.verdict.fails:
            self._wrong.append(WrongOperation(operation, judgement, self._program, self._values))

    def _judge_value(self, value: Value, got: Array) -> Judgement:
        """Judge the backend's value by the results that its other returned values permit."""
        if self._by_values is None:
            inputs = [self._values[argument.name] for argument in self._program.main.arguments]
            self._by_values = PermittedResults(
                self._program, inputs, self._platform, taken=self._values
            )
        names = [operand.name for operand in self._program.main.body.operations[-1].operands]
        return judge_result(self._by_values, names.index(value.name), got)

    def _judge_results(
        self,
        number: int,
        operation: Operation,
        taken: tuple[Program, tuple[Array, ...]],
        expected: tuple[Array, ...],
        got: tuple[Array, ...],
    ) -> Judgement | None:
        """Judge results that differ from the reference's; None if they are right."""
        operands = tuple(self._values[value.name] for value in operation.operands)
        refuted = judge_by_equations(self._program, operation, operands, got)
        if refuted is not None:
            return refuted if refuted.verdict.fails else _adopting_judgement(refuted, got)
        rule = rule_of(operation)
        if is_structure(operation) or calls_target(operation) or rule is None:
            judgement = judge_program(PermittedResults(*taken, self._platform), got)
            if judgement.verdict is Verdict.PASS:
                return None
            whole = rule and judge(*taken, expected, got, rule, platform=self._platform)
            if whole and is_stated(operation, whole):
                return whole
            return self._judge_regions(operation, expected, got, judgement)
        judgement = judge(*taken, expected, got, rule, platform=self._platform)
        if not judgement.verdict.fails or describe_malformed(expected, got) is not None:
            return judgement
        if self._is_near(operation, expected, got):
            return None
        judgement = self._judge_in_window(number, operation, expected, got, judgement)
        if judgement is None or judgement.verdict in (Verdict.FLUSHED, Verdict.UNSPECIFIED):
            return judgement
        return None if self._is_operand_recomputed(operation, taken, got) else judgement

    def _is_near(
        self, operation: Operation, expected: tuple[Array, ...], got: tuple[Array, ...]
    ) -> bool:
        """Return whether results are within the tolerances of an operation in a program."""
        operands = tuple(self._values[value.name] for value in operation.operands)
        move = make_mover(operation, operands, expected, self._platform)
        there = [move(lambda shape, way=way: np.full(shape, way)) for way in (1.0, -1.0)]
        return _are_between([expected, *there], got, margin=0.0)

    def _judge_in_window(
        self,
        number: int,
        operation: Operation,
        expected: tuple[Array, ...],
        got: tuple[Array, ...],
        judgement: Judgement,
    ) -> Judgement | None:
        """Return None if results are right when cheap operands are recomputed within the operation,
        or that the specified ones are.

        Cheap operands of these may be recomputed, too. Elements that are `expected` of the shown
        operands are right in any case, and unspecified elements of these say nothing. Otherwise
        return the mildest judgement, or the given judgement if models predict all that is wrong,
        and it is not just flushed. Unspecified values among the operands are no excuse: the backend
        has shown which values it uses.
        """
        right = [equal_elements(want, one) for want, one in zip(expected, got, strict=True)]
        operands = tuple(self._values[value.name] for value in operation.operands)
        others = [
            unspecified_mask(operation, operands, want, n) & ~one
            for n, (want, one) in enumerate(zip(expected, right, strict=True))
        ]
        kept = {number}
        for _ in range(WINDOW):
            names = {v.name for n in kept for v in self._operations[n].operands}
            more = {self._makers[name] for name in names if name in self._makers}
            wider = self._add_copies(kept | {n for n in more if is_cheap(self._operations[n])})
            if wider == kept:
                break
            kept = wider
            group = extract(self._program, kept, operation.results, self._makers)
            given = [self._values.get(value.name) for value in group.main.arguments]
            inputs = [one for one in given if one is not None]
            if len(inputs) < len(given):
                break
            permitted = PermittedResults(group, inputs, self._platform)
            given_and_got = zip(right, others, permitted.expected, got, strict=True)
            left = [np.where(a | b, want, one) for a, b, want, one in given_and_got]
            found = judge_program(permitted, left)
            if found.verdict is Verdict.PASS:
                is_open = any(mask.any() for mask in others)
                return _adopting_judgement(judgement, got) if is_open else None
            if found.verdict is Verdict.UNSPECIFIED:
                continue
            if found.verdict is Verdict.FLUSHED or not is_stated(operation, judgement):
                judgement = min(judgement, found, key=lambda one: one.verdict.severity)
        return judgement

    def _is_operand_recomputed(
        self, operation: Operation, taken: tuple[Program, tuple[Array, ...]], got: Sequence[Array]
    ) -> bool:
        """Return whether an operation that never rounds had other operands than those returned.

        If it is right in isolation, and the rounding errors of all operations before it explain its
        results, its operands were computed once more.
        """
        if OPS[operation.name].rounding not in (Rounding.MOVES, Rounding.EXACT):
            return False
        inputs = [self._values[argument.name] for argument in self._program.main.arguments]
        before = restrict_to(self._program, operation.results)
        try:
            permitted = PermittedResults(before, inputs, self._platform)
            if judge_program(permitted, got).verdict is not Verdict.PASS:
                return False
            (isolated,) = self._run(taken[0], [taken[1]])
            return equal_results(evaluate(*taken), isolated)
        except (BackendError, EvaluationError):
            return False

    def _add_copies(self, kept: set[int]) -> set[int]:
        """Add to `kept` the operations that copy a value of an operation in `kept`, if another
        operation in `kept` takes the copy.

        Recomputed, the value and its copy are the same numbers.
        """
        found = set(kept)
        waiting = list(kept)
        while waiting:
            for value in self._operations[waiting.pop()].operands:
                root = self._copies.get(value.name)
                number = self._makers.get(value.name)
                if root is None or number is None or self._makers[root.name] not in kept:
                    continue
                if number not in found:
                    found.add(number)
                    waiting.append(number)
        return found

    @cached_property
    def _copies(self) -> dict[str, Value]:
        return find_copies(self._program)

    # --- Regions ---------------------------------------------------------------------------------

    def _judge_regions(
        self,
        operation: Operation,
        expected: Sequence[Array],
        got: Sequence[Array],
        judgement: Judgement,
    ) -> Judgement | None:
        """Return None if an operation's regions are right, or their faults are recorded."""
        before = len(self._wrong)
        try:
            match structure_of(operation):
                case Structure.LOOPS:
                    told = self._judge_loop(operation, expected, got)
                case Structure.BRANCHES:
                    told = self._judge_branch(operation, got)
                case Structure.SHARDS:
                    told = self._judge_devices(operation, got)
                case Structure.AWAITS:
                    told = self._judge_start(operation, got)
                case _:
                    return judgement
        except (BackendError, EvaluationError, KeyError):
            told = len(self._wrong) > before
        if told:
            return None
        self.unsettled.append(operation)
        return judgement

    def _values_of(self, values: Iterable[Value]) -> list[Array]:
        """Return the backend's values, process by process."""
        return [known[value.name] for known in self._processes for value in values]

    def _outline(self, region: Region) -> tuple[Program, list[list[Array]]]:
        """Return a region as a program, and the values of its last parameters in each process."""
        outlined = [outline(self._program, region, known) for known in self._processes]
        program = replace(outlined[0][0], process_grid=self._program.process_grid)
        return program, [around for _, around in outlined]

    def _judge_branch(self, operation: Operation, got: Sequence[Array]) -> bool:
        regions = [_taken_branch(operation, known) for known in self._processes]
        if any(region is not regions[0] for region in regions):
            raise EvaluationError("processes take different branches")
        program, around = self._outline(regions[0])
        return self._judge_region(operation, program, _join([], around), got)

    def _judge_start(self, operation: Operation, got: Sequence[Array]) -> bool:
        """Judge the operation that was started and is now awaited."""
        start = self._operations[self._makers[operation.operands[0].name]]
        program, around = self._outline(start.regions[0])
        inputs = _join(self._values_of(start.operands), around)
        return self._judge_region(start, program, inputs, got)

    def _judge_devices(self, operation: Operation, got: Sequence[Array]) -> bool:
        operands = self._values_of(operation.operands)
        inputs = device_shards(operation, operands, "in_shardings")
        actual = device_shards(operation, got, "out_shardings")
        return self._judge_region(operation, outline_devices(operation), inputs, actual)

    def _judge_loop(
        self, operation: Operation, expected: Sequence[Array], got: Sequence[Array]
    ) -> bool:
        """Return whether the backend's own condition and body, iterated, give its results.

        Every iteration must be right, or its faults are recorded.
        """
        (condition, around), (body, inside) = map(self._outline, operation.regions)
        carried = self._values_of(operation.operands)
        faulty, before = 0, len(self._wrong)
        noted = before
        for _ in range(ITERATIONS):
            inputs = _join(carried, around)
            (goes_on,) = self._run(condition, [inputs])
            if not self._judge_region(operation, condition, inputs, goes_on):
                return False
            if len({bool(one) for one in goes_on}) > 1:
                raise EvaluationError("processes leave a loop at different iterations")
            if not bool(goes_on[0]):
                break
            inputs = _join(carried, inside)
            (carried,) = self._run(body, [inputs])
            if not self._judge_region(operation, body, inputs, carried):
                return False
            if len(self._wrong) > noted:
                faulty, noted = faulty + 1, len(self._wrong)
            if faulty == FAULTY_ITERATIONS:
                return True
        else:
            return noted > before
        if noted > before:
            return _are_between([expected, carried], got)
        return equal_results(carried, got)

    def _judge_region(
        self,
        operation: Operation,
        program: Program,
        inputs: Sequence[Array],
        actual: Sequence[Array],
    ) -> bool:
        """Return whether the results of a region are right, or its faults are recorded."""
        permitted = PermittedResults(program, inputs, self._platform)
        if judge_program(permitted, actual).verdict is Verdict.PASS:
            return True
        found = audit(self._run, self._platform, program, inputs, range(len(actual)))
        if found is None:
            return False
        self._wrong += [replace(one, within=(operation, *one.within)) for one in found.wrong]
        if found.wrong:
            ends = [found.ends[number] for number in range(len(actual))]
            return _are_between([permitted.expected, ends], actual)
        return found.has_same_results(actual) and not found.unsettled


class _JointAuditor(_Auditor):
    """Judge of the operations in which processes communicate, given the values of each process."""

    def is_for(self, operation: Operation) -> bool:
        """Return whether processes communicate in an operation, or in what it awaits."""
        if structure_of(operation) is Structure.AWAITS:
            operation = self._operations[self._makers[operation.operands[0].name]]
        return any(one.name in COMMUNICATION for one in operations_within(operation))

    def _judge_operation(self, number: int, operation: Operation) -> None:
        if not all(map(can_be_result, operation.results)):
            return
        kept = {number}
        if structure_of(operation) is Structure.AWAITS:
            kept.add(self._makers[operation.operands[0].name])
        taken = extract(self._program, kept, operation.results, self._makers)
        given = self._values_of(taken.main.arguments)
        got = self._values_of(operation.results)
        permitted = PermittedResults(taken, given, self._platform)
        judgement = judge_program(permitted, got)
        if not judgement.verdict.fails:
            return
        if structure_of(operation) is Structure.COMMUNICATES:
            judgement = judge_operation(taken, given, permitted.expected, got, self._platform)
        elif self._judge_regions(operation, permitted.expected, got, judgement) is None:
            return
        self._record(operation, judgement)


def _join(first: Sequence[Array], last: Sequence[Sequence[Array]]) -> list[Array]:
    """Return the arguments of all processes, given the last arguments of each."""
    count = len(first) // len(last)
    shares = (first[number * count : (number + 1) * count] for number in range(len(last)))
    return [array for share, own in zip(shares, last, strict=True) for array in (*share, *own)]


def _are_between(
    samples: Sequence[Sequence[Array]], actual: Sequence[Array], margin: float = MARGIN
) -> bool:
    """Return whether each element is as in a sample, or within the hull of the samples.

    `margin` is in widths of the hull.
    """
    for got, *each in zip(actual, *samples, strict=True):
        element_type = element_type_of(got)
        right = np.any([equal_elements(one, got) for one in each], axis=0)
        if element_type.is_float or element_type.is_complex:
            right = right | is_within(each, got, element_type, margin)
        if not right.all():
            return False
    return True


def _taken_branch(operation: Operation, values: Mapping[str, Any]) -> Region:
    """Return the branch of an `if` or a `case` that is taken."""
    index = np.asarray(values[operation.operands[0].name])
    if index.dtype == np.bool_:
        return operation.regions[0 if index else 1]
    is_listed = 0 <= index < len(operation.regions)
    return operation.regions[int(index) if is_listed else -1]


def is_stated(operation: Operation, judgement: Judgement) -> bool:
    """Return whether expectations in force predict everything wrong with an operation's results.

    It may be right in isolation, where compilers may compute it in another way.
    """
    kinds = judgement.wrong_classes
    return (
        bool(kinds) and {hypothesis.label for hypothesis in stated_hypotheses(operation)} >= kinds
    )


def _adopting_judgement(judgement: Judgement, got: tuple[Array, ...]) -> Judgement:
    total = sum(array.size for array in got)
    return Judgement(Verdict.UNSPECIFIED, "choice", judgement.message, total, total)
