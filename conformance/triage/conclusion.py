"""What is concluded of a program that returns something else than expected.

The reference's perturbed evaluations cannot tell in three cases: where the specification leaves a
value open that others depend on, where rounding decides an integer or a truth value, and where a
result hangs on tiny errors of what it is made of. Then every operation is judged on the backend's
own operands (conformance/triage/isolate.py). If some are wrong, they are to blame. If none is, and
what the program returned follows from values that are all permitted, it is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from conformance.backends.base import BackendError
from conformance.judging.compare import Judgement, malformed
from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.judge import in_doubt, judge_program, judge_result, passed
from conformance.judging.perturbation.overrides import Override
from conformance.judging.perturbation.separate_uses import cheap, copies
from conformance.phases import phase
from conformance.transforms.dead_code import needed
from conformance.transforms.extract import returning
from conformance.transforms.values import can_be_result
from conformance.triage.isolate import Run, Steps, steps
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import Array
from reference.ops.structure import is_constant


@dataclass(frozen=True, slots=True)
class Settled:
    """A judgement on a program, and the steps that it rests on.

    `adopted` counts the operations of which the specification leaves results open, whose results
    were taken as the backend has them. `follows`: all values that lead to what was returned are
    permitted, though perturbed evaluation does not reach it.
    """

    judgement: Judgement
    steps: Steps | None = None
    adopted: int = 0
    follows: bool = False

    @property
    def note(self) -> str:
        """What a reader should know of how it was judged, "" where there is nothing."""
        notes: list[str] = []
        if self.adopted:
            which = "results" if self.adopted > 1 else "result"
            notes.append(
                f"{self.adopted} {which} judged with values of the backend's own "
                "that the specification leaves open"
            )
        if self.follows and not self.adopted:
            notes.append(
                "every operation is right on its own operands; "
                "the whole is sensitive to what they are rounded by"
            )
        return "; ".join(notes)


@dataclass(frozen=True, slots=True)
class Settling:
    """How to run programs, and on which platform."""

    run: Run
    platform: str

    @phase("settling")
    def settled(
        self,
        program: Program,
        inputs: Sequence[Array],
        actual: Sequence[Array],
        permitted: Permitted,
        on_wrong: Callable[[Steps], None] = lambda _: None,
    ) -> Settled:
        """Return the conclusion on what a program returned, `permitted` being what it may return.

        `on_wrong` is called once operations are found wrong that make results wrong: what may
        follow takes long, and only says how the results are wrong.
        """
        right = passed(sum(one.size for one in actual))
        if malformed(permitted.expected, actual) is not None:
            return Settled(judge_program(permitted, actual))
        numbers = in_doubt(permitted, actual)
        if not numbers:
            return Settled(right)
        found = steps(self.run, self.platform, program, inputs, numbers)
        if found is not None and found.wrong:
            on_wrong(found)
        if found is None or found.wrong:
            judgement = judge_program(permitted, actual)
            return Settled(judgement if found is None else _blamed(judgement, found), found)
        adopted = len(found.adopted)
        if found.gives(actual) and not found.unsettled:
            return Settled(right, found, adopted, follows=True)
        judgement = judge_program(permitted, actual)
        if judgement.verdict is Verdict.PASS:
            return Settled(judgement)
        if found.adopted:
            left = self._left(program, inputs, actual, found.adopted, judgement)
            if left.verdict is Verdict.PASS:
                return Settled(right, found, adopted)
            judgement = left if left.verdict.fails else judgement
        ends = program.main.body.operations[-1].operands
        wanted = [ends[number] for number in numbers]
        given = [actual[number] for number in numbers]
        for cut in _cuts(needed(program, wanted), found.adopted):
            if self._follows(program, inputs, wanted, given, cut):
                return Settled(right, found, adopted, follows=True)
        return Settled(judgement, found)

    def _left(
        self,
        program: Program,
        inputs: Sequence[Array],
        actual: Sequence[Array],
        adopted: Sequence[Override],
        otherwise: Judgement,
    ) -> Judgement:
        """The judgement with results that are open taken as the backend has them."""
        try:
            permitted = Permitted(program, inputs, self.platform, shifts=adopted)
        except EvaluationError:
            return otherwise
        return judge_program(permitted, actual)

    def _follows(
        self,
        program: Program,
        inputs: Sequence[Array],
        wanted: Sequence[Value],
        given: Sequence[Array],
        cut: Sequence[Value],
    ) -> bool:
        """Whether results follow from values that the backend has on the way, all of these being
        permitted."""
        whole = returning(program, [*cut, *wanted])
        try:
            (arrays,) = self.run(whole, [inputs])
            arrays = arrays[: len(cut)]
            taken = {value.name: array for value, array in zip(cut, arrays, strict=True)}
            permitted = Permitted(whole, inputs, self.platform, taken=taken)
            on_the_way = [judge_result(permitted, n, one) for n, one in enumerate(arrays)]
            ends = [judge_result(permitted, len(cut) + n, one) for n, one in enumerate(given)]
        except (BackendError, EvaluationError):
            return False
        return not any(one.verdict.fails for one in on_the_way) and all(
            one.verdict is Verdict.PASS for one in ends
        )


def _blamed(judgement: Judgement, steps_made: Steps) -> Judgement:
    """The judgement on the whole; where that leaves it open, on the worst operation."""
    if judgement.verdict.fails:
        return judgement
    worst = max((one.judgement for one in steps_made.wrong), key=lambda one: one.verdict.severity)
    message = f"an operation is wrong behind what is open ({judgement.kind})"
    return replace(judgement, verdict=worst.verdict, kind=worst.kind, message=message)


def _cuts(program: Program, adopted: Sequence[Override]) -> Iterator[list[Value]]:
    """Values on the way that are shown together: as many as possible, then those that a backend
    keeps anyhow, then those that are open, then each of those kept by itself."""
    operations = [one for one in program.main.body.operations[:-1] if not is_constant(one)]
    copied = copies(program)
    open_ = {value for shift in adopted for value in shift.operation.results}

    def of(some: Sequence[Operation]) -> list[Value]:
        return [v for one in some for v in one.results if can_be_result(v)]

    kept = [v for v in of([o for o in operations if not cheap(o)]) if v.name not in copied]
    discrete = of([one for one in operations if _is_discrete(one)])
    found = [
        of(operations),
        list(dict.fromkeys((*kept, *discrete, *open_))),
        list(dict.fromkeys((*kept, *open_))),
        list(dict.fromkeys((*discrete, *open_))),
        list(open_),
        *([value] for value in kept[:SINGLE_CUTS]),
    ]
    seen: set[frozenset[Value]] = set()
    for cut in found:
        if cut and frozenset(cut) not in seen:
            seen.add(frozenset(cut))
            yield cut


SINGLE_CUTS = 8
"""How many values that a backend keeps are shown by themselves."""


def _is_discrete(operation: Operation) -> bool:
    """Whether rounding of the operands may make another integer or truth value."""

    def rounds(values: Sequence[Value]) -> bool:
        types = [one.type for one in values if isinstance(one.type, TensorType)]
        return any(of.stored.is_float or of.stored.is_complex for of in types)

    return rounds(operation.operands) and not rounds(operation.results)
