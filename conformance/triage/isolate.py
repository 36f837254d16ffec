"""Every operation of a program judged on the operands that the backend itself has for it.

The program is run once more with the results of its operations as outputs. An operation is to blame
when its results are wrong for the operands it had, by its own rule; or in a fused group that
computes cheap operands again, on those of the group. What the specification leaves open is taken as
the backend has it, and all that comes after is judged with it.

Loops are gone through with the backend's own body, branches as the backend takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from conformance.backends.base import BackendError
from conformance.catalog import rule_of
from conformance.judging.compare import Judgement, judge, malformed
from conformance.judging.lapack import backward_error
from conformance.judging.lapack.residuals import top_k_violation, violation
from conformance.judging.perturbation.error_model import movable
from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.hull import within
from conformance.judging.perturbation.judge import judge_program, judge_result
from conformance.judging.perturbation.overrides import Override
from conformance.judging.perturbation.separate_uses import cheap, copies
from conformance.known.rewritings.table import stated_of
from conformance.transforms.dead_code import needed
from conformance.transforms.extract import alone, part, returning
from conformance.transforms.outline import outlined
from conformance.transforms.values import can_be_result, elements, makers_of
from conformance.triage.influence import influential
from conformance.triage.prediction import is_modelled
from conformance.triage.rewritings import rewritten
from conformance.verdict import Errors, Verdict
from reference.custom_calls.lapack.routines import TOP_K, direction
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.op import Structure
from reference.ir.program import Operation, Program, Region, Value
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements
from reference.ops.structure import calls_target, is_structure, structure_of

Run = Callable[[Program, Sequence[Sequence[Array]]], Iterator[list[Array]]]
"""run(program, input sets): the backend's results on each; raises BackendError."""

MOST_ELEMENTS = 1 << 24
"""Elements of all results together beyond which they are not all made outputs."""

ITERATIONS = 500
"""Iterations of a loop that are gone through."""

FAULTY_ITERATIONS = 8
"""Of them those in which something is wrong: what goes wrong later is hardly anything else."""

WINDOW = 3
"""How far back operands are looked for that a backend may have computed again."""

NO_SOLUTION = "not a solution"
"""The class of results of a decomposition that its equations refute."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """An operation whose results are wrong for its operands, and the judgement on them.

    `program` and `values` are where it stands: main, or the body of a loop or a branch in one
    iteration; `within` the loops and branches around it, the outermost first.
    """

    operation: Operation
    judgement: Judgement
    program: Program = field(repr=False)
    values: Mapping[str, Array] = field(repr=False)
    within: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class Steps:
    """What a backend has at every operation of main, and what is wrong with it.

    `values` are by name; `ends` what main returned beside them, by number of its result. `wrong`
    are in order. `adopted` are the operations whose results the specification leaves open, in some
    elements, `differing` those at fault in main (or with something wrong within), each beside what
    the reference makes of the same operands. `unsettled` are loops of which not all could be
    looked into. `harmless` are wrong, too, but repairing them changes no result by more than
    rounding does.
    """

    values: Mapping[str, Array]
    ends: Mapping[int, Array]
    wrong: tuple[Wrong, ...]
    adopted: tuple[Override, ...]
    differing: tuple[Override, ...]
    unsettled: tuple[Operation, ...]
    harmless: tuple[Wrong, ...] = ()

    def gives(self, actual: Sequence[Array]) -> bool:
        """Whether results are the same as without all these outputs, those that are looked at."""
        return all(
            bool(equal_elements(one, actual[number]).all()) for number, one in self.ends.items()
        )


def steps(
    run: Run, platform: str, program: Program, inputs: Sequence[Array], numbers: Sequence[int]
) -> Steps | None:
    """The steps that lead to the results of these numbers.

    None where they cannot be shown: too much, or the backend or the reference does not do it, or
    several processes execute the program, each with values of its own.
    """
    if program.process_count > 1:
        return None
    ends = program.main.body.operations[-1].operands
    wanted = [ends[number] for number in numbers]
    less = needed(program, wanted)
    made = (value for one in less.main.body.operations[:-1] for value in one.results)
    shown = [value for value in made if can_be_result(value)]
    if not shown or sum(map(elements, shown)) > MOST_ELEMENTS:
        return None
    returned = {value.name for value in wanted}
    outputs = [*wanted, *(value for value in shown if value.name not in returned)]
    try:
        (arrays,) = run(returning(less, outputs), [inputs])
        if len(arrays) != len(outputs):
            return None
        given = (one.name for one in less.main.arguments)
        values = {v.name: a for v, a in zip(outputs, arrays, strict=True)}
        values |= dict(zip(given, inputs, strict=True))
        results = dict(zip(numbers, arrays, strict=False))
        found = _Judging(run, platform, returning(less, shown), inputs, values).all(results)
        return _that_matter(less, platform, found)
    except (BackendError, EvaluationError):
        return None


def _that_matter(program: Program, platform: str, found: Steps) -> Steps:
    """Return the steps with those set apart that are wrong without making a result wrong."""
    culprits = influential(program, platform, found.values, found.differing)
    if len(culprits) == len(found.differing):
        return found
    of_culprits = {id(one.operation) for one in culprits}
    spared = {id(one.operation) for one in found.differing} - of_culprits

    def is_harmless(one: Wrong) -> bool:
        return id(one.within[0] if one.within else one.operation) in spared

    harmless = tuple(one for one in found.wrong if is_harmless(one))
    wrong = tuple(one for one in found.wrong if not is_harmless(one))
    return replace(found, wrong=wrong, differing=culprits, harmless=harmless)


class _Judging:
    """The judgement of the operations of one program, the backend's values of which are known."""

    def __init__(
        self, run: Run, platform: str, program: Program, inputs: Sequence[Array],
        values: dict[str, Array],
    ) -> None:  # fmt: skip
        self._run, self._platform, self._program = run, platform, program
        self._inputs, self._values = inputs, values
        self._operations = program.main.body.operations[:-1]
        self._makers = makers_of(program)
        self._by_values: Permitted | None = None
        self._wrong: list[Wrong] = []
        self._adopted: list[Override] = []
        self._differing: list[Override] = []
        self._unsettled: list[Operation] = []

    def all(self, ends: Mapping[int, Array]) -> Steps:
        """The judgement on every operation, in order."""
        for number, operation in enumerate(self._operations):
            self._judge(number, operation)
        return Steps(
            self._values, ends, tuple(self._wrong), tuple(self._adopted), tuple(self._differing),
            tuple(self._unsettled),
        )  # fmt: skip

    def _judge(self, number: int, operation: Operation) -> None:
        seen = [value for value in operation.results if value.name in self._values]
        got = tuple(self._values[value.name] for value in seen)
        taken = alone(self._program, operation, self._values, self._makers)
        if taken is None:  # not all of its operands or results can be shown
            for value, array in zip(seen, got, strict=True):
                self._found(operation, self._from_values(value, array))
            return
        expected = evaluate(*taken)
        if malformed(expected, got) is None and all(
            bool(equal_elements(one, other).all()) for one, other in zip(expected, got, strict=True)
        ):
            return
        before = len(self._wrong)
        judgement = self._judged(number, operation, taken, expected, got)
        if judgement is not None:
            self._found(operation, judgement)
        shift = Override(operation, expected, got)
        if len(self._wrong) > before:
            self._differing.append(shift)
        elif judgement is not None and judgement.verdict is Verdict.UNSPECIFIED:
            self._adopted.append(shift)

    def _found(self, operation: Operation, judgement: Judgement) -> None:
        if judgement.verdict.fails:
            self._wrong.append(Wrong(operation, judgement, self._program, self._values))

    def _from_values(self, value: Value, got: Array) -> Judgement:
        """The judgement on a value by what the reference makes of those that can be shown."""
        if self._by_values is None:
            self._by_values = Permitted(
                self._program, self._inputs, self._platform, taken=self._values
            )
        names = [one.name for one in self._program.main.body.operations[-1].operands]
        return judge_result(self._by_values, names.index(value.name), got)

    def _judged(
        self,
        number: int,
        operation: Operation,
        taken: tuple[Program, tuple[Array, ...]],
        expected: tuple[Array, ...],
        got: tuple[Array, ...],
    ) -> Judgement | None:
        """The judgement on results that differ from the reference's; None where they are right."""
        refuted = self._refuted(operation, got)
        if refuted is not None:
            return refuted if refuted.verdict.fails else _adopted(refuted, got)
        rule = rule_of(operation)
        if is_structure(operation) or calls_target(operation) or rule is None:
            judgement = judge_program(Permitted(*taken, self._platform), got)
            if judgement.verdict is Verdict.PASS:
                return None
            whole = rule and judge(*taken, expected, got, rule, platform=self._platform)
            if whole and is_modelled(operation, whole, self._platform):
                return whole
            return self._inside(operation, expected, got, judgement)
        judgement = judge(*taken, expected, got, rule, platform=self._platform)
        if not judgement.verdict.fails or malformed(expected, got) is not None:
            return judgement
        if self._is_near(operation, expected, got):
            return None
        given = self._program, operation, self._values, expected, got
        stated = rewritten(*given, judgement, stated_of)
        if stated is not judgement:
            return stated
        judgement = self._in_window(number, operation, got, judgement)
        if judgement is None or judgement.verdict is Verdict.FLUSHED:
            return judgement
        if is_modelled(operation, judgement, self._platform):
            return judgement
        return rewritten(*given, judgement)

    def _refuted(self, operation: Operation, got: tuple[Array, ...]) -> Judgement | None:
        """What the equations of a decomposition say; None of any other operation."""
        operands = tuple(self._values[value.name] for value in operation.operands)
        if operation.attribute("call_target_name") == TOP_K:
            named = operation.attribute("called_computations")
            bodies = tuple(f.body for f in self._program.functions if (f.name,) == named)
            wrong = top_k_violation(operation, operands, got, largest=direction(bodies) == "GT")
        elif backward_error.family(operation) is not None:
            wrong = violation(operation, operands, got)
        else:
            return None
        total = sum(array.size for array in got)
        verdict = Verdict.DIVERGENT if wrong else Verdict.PASS
        kind = NO_SOLUTION if wrong else ""
        return Judgement(verdict, kind, wrong or "", total, total, None, None, (), Errors())

    def _is_near(
        self, operation: Operation, expected: tuple[Array, ...], got: tuple[Array, ...]
    ) -> bool:
        """Whether results are as near as those of an operation in a program may be."""
        operands = tuple(self._values[value.name] for value in operation.operands)
        move = movable(operation, operands, expected, self._platform)
        there = [move(lambda shape, way=way: np.full(shape, way)) for way in (1.0, -1.0)]
        for number, (want, actual) in enumerate(zip(expected, got, strict=True)):
            of = element_type_of(want)
            right = equal_elements(want, actual)
            if of.is_float or of.is_complex:
                samples = [want, *(one[number] for one in there)]
                right = right | within(samples, actual, of, margin=0.0)
            if not right.all():
                return False
        return True

    def _in_window(
        self, number: int, operation: Operation, got: tuple[Array, ...], judgement: Judgement
    ) -> Judgement | None:
        """None where results are right if cheap operands, and their cheap operands, are computed
        again within the operation; else the mildest judgement on it and these.

        What is open among these is no excuse: the backend has shown which values it takes there.
        """
        kept = {number}
        for _ in range(WINDOW):
            names = {v.name for n in kept for v in self._operations[n].operands}
            more = {self._makers[name] for name in names if name in self._makers}
            wider = self._with_copies(kept | {n for n in more if cheap(self._operations[n])})
            if wider == kept:
                break
            kept = wider
            group = part(self._program, kept, operation.results, self._makers)
            given = [self._values.get(value.name) for value in group.main.arguments]
            inputs = [one for one in given if one is not None]
            if len(inputs) < len(given):
                break
            found = judge_program(Permitted(group, inputs, self._platform), got)
            if found.verdict is Verdict.PASS:
                return None
            if found.verdict is Verdict.UNSPECIFIED:
                continue
            judgement = min(judgement, found, key=lambda one: one.verdict.severity)
        return judgement

    def _with_copies(self, kept: set[int]) -> set[int]:
        """Add what makes copies of values that these operations make, where one takes such a copy.

        Computed again, the value and its copy are the same numbers.
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
        return copies(self._program)

    # --- Loops and branches ----------------------------------------------------------------------

    def _inside(
        self,
        operation: Operation,
        expected: tuple[Array, ...],
        got: tuple[Array, ...],
        judgement: Judgement,
    ) -> Judgement | None:
        """None where a loop or a branch is right within, or what is wrong is noted."""
        before = len(self._wrong)
        try:
            if structure_of(operation) is Structure.LOOPS:
                told = self._iterated(operation, expected, got)
            elif structure_of(operation) is Structure.BRANCHES:
                told = self._branch(operation, got)
            else:
                return judgement
        except (BackendError, EvaluationError, KeyError):
            told = len(self._wrong) > before
        if told:
            return None
        self._unsettled.append(operation)
        return judgement

    def _branch(self, operation: Operation, got: tuple[Array, ...]) -> bool:
        region = chosen(operation, self._values)
        program, around = outlined(self._program, region, self._values)
        return self._region(operation, program, around, got)

    def _iterated(
        self, operation: Operation, expected: tuple[Array, ...], got: tuple[Array, ...]
    ) -> bool:
        """Whether the backend's own condition and body, again and again, come to its results, and
        every time are right, or what is wrong is noted."""
        (condition, around), (body, inside) = (
            outlined(self._program, region, self._values) for region in operation.regions
        )
        carried = [self._values[value.name] for value in operation.operands]
        faulty, before = 0, len(self._wrong)
        noted = before
        for _ in range(ITERATIONS):
            (goes_on,) = self._run(condition, [[*carried, *around]])
            if not self._region(operation, condition, [*carried, *around], goes_on):
                return False
            if not bool(goes_on[0]):
                break
            inputs = [*carried, *inside]
            (carried,) = self._run(body, [inputs])
            if not self._region(operation, body, inputs, carried):
                return False
            if len(self._wrong) > noted:
                faulty, noted = faulty + 1, len(self._wrong)
            if faulty == FAULTY_ITERATIONS:
                return True
        else:
            return noted > before
        if noted > before:
            return _follows(expected, carried, got)
        return all(
            bool(equal_elements(one, other).all()) for one, other in zip(carried, got, strict=True)
        )

    def _region(
        self,
        operation: Operation,
        program: Program,
        inputs: Sequence[Array],
        actual: Sequence[Array],
    ) -> bool:
        """Whether the results of a region are right, or the ways that are wrong are noted."""
        permitted = Permitted(program, inputs, self._platform)
        if judge_program(permitted, actual).verdict is Verdict.PASS:
            return True
        found = steps(self._run, self._platform, program, inputs, range(len(actual)))
        if found is None:
            return False
        for one in found.wrong:
            inner = (operation, *one.within)
            self._wrong.append(Wrong(one.operation, one.judgement, one.program, one.values, inner))
        if found.wrong:
            ends = [found.ends[number] for number in range(len(actual))]
            return _follows(permitted.expected, ends, actual)
        return found.gives(actual) and not found.unsettled


def _follows(expected: Sequence[Array], shown: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Whether what went wrong on the way is all that is wrong with results: they are as where it
    shows, or as expected, or not further from these two than the one is from the other."""
    for want, one, got in zip(expected, shown, actual, strict=True):
        of = element_type_of(got)
        right = equal_elements(want, got) | equal_elements(one, got)
        if of.is_float or of.is_complex:
            right = right | within([want, one], got, of)
        if not right.all():
            return False
    return True


def _adopted(judgement: Judgement, got: tuple[Array, ...]) -> Judgement:
    total = sum(array.size for array in got)
    return Judgement(
        Verdict.UNSPECIFIED, "choice", judgement.message, total, total, None, None, (), Errors()
    )


def chosen(operation: Operation, values: Mapping[str, Any]) -> Region:
    """The branch of an `if` or a `case` that is taken."""
    index = np.asarray(values[operation.operands[0].name])
    if index.dtype == np.bool_:
        return operation.regions[0 if index else 1]
    index = int(index)
    last = len(operation.regions) - 1
    return operation.regions[index if 0 <= index <= last else last]
