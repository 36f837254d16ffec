"""Rewritings: the changes of a compiler that explain results, read off its own modules.

The reference evaluates the optimised module that an executable was made of. If the backend's
results are what that program may give, code generation is right, and all that is wrong is a
rewriting. The modules between passes show which pass made it, and the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from conformance.backends.base import BackendError, NotReadBack
from conformance.backends.compiled.modules import RewrittenProgram, read_back
from conformance.backends.compiled.stages import Stage, dump_folder, dumped_stages
from conformance.backends.session import Session
from conformance.catalog import rule_of
from conformance.executors.limit import TooSlow, limit_evaluation
from conformance.gate.classes import UNPREDICTED
from conformance.judging.compare import describe_malformed, judge
from conformance.judging.judgement import Judgement, add_causes, mark_flushed
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.known.hypothesis import SUBNORMAL
from conformance.localize.change import find_changes
from conformance.localize.culprit import ResultJudge, bisect_stages
from conformance.transforms.collective import collective_of
from conformance.transforms.inline import inline
from conformance.transforms.values import working_operations
from conformance.verdict import Failing, Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import equal_elements, equal_results

TRANSLATION = "translation"
"""The name, in place of a pass, of the translation of StableHLO to what the backend reads."""

UNNAMED = "the compiler"
"""The name, in place of a pass, of a compiler that shows its last module alone."""

MOST_OPERATIONS = 1000
"""Largest number of operations of a module that is judged."""

MOST = 8
"""Largest number of passes that change the meaning, one after the other."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A change of meaning by a compiler: the pass (`UNNAMED` if unknown), the change, and the
    operation that is computed otherwise.
    """

    name: str
    change: str
    operation: Operation

    def __str__(self) -> str:
        """Return pass and change as an expectation names them."""
        return f"{self.name}: {self.change}"


@dataclass(frozen=True, slots=True)
class ModuleExplanation:
    """An explanation of wrong results by the module that the compiler made.

    `rewritings` change the meaning, in the order of the passes. `sets` are the numbers of the
    explained sets of results. In those that are `exact`, the reference's results of the module are
    the backend's, bit for bit; if it `flushes`, they are in some with subnormal numbers flushed.
    Without rewritings and flushing, nothing is explained. Where the module explains only some
    elements of a set, `left` has the other failures, by the number of the set.
    """

    rewritings: tuple[Rewriting, ...] = ()
    flushes: bool = False
    sets: tuple[int, ...] = ()
    exact: tuple[int, ...] = ()
    left: Mapping[int, tuple[Failing, ...]] = field(default_factory=dict[int, tuple[Failing, ...]])

    @property
    def whole(self) -> tuple[Rewriting, ...]:
        """The rewritings, if they explain all elements; otherwise none."""
        return () if self.left else self.rewritings

    def apply(self, judgement: Judgement, number: int = 0) -> Judgement:
        """Return the judgement on an explained set of results, with the rewritings as causes of the
        failures that no class predicts; or these failures as flushed.

        If the module is exact, the rewritings are the cause of all failures: what looks flushed
        does so by chance. What the module leaves is a failure beside them.
        """
        if self.rewritings:
            every = {failure.kind for failure in judgement.failures}
            kinds = every if number in self.exact else UNPREDICTED
            made = add_causes(judgement, kinds, tuple(map(str, self.rewritings)))
            return replace(made, failing=(*made.failing, *self.left.get(number, ())))
        return mark_flushed(judgement, UNPREDICTED, SUBNORMAL) if self.flushes else judgement


UNEXPLAINED = ModuleExplanation()

ExplainByModule = Callable[
    [Program, Sequence[Sequence[Array]], Sequence[Sequence[Array]]], ModuleExplanation
]
"""A function explain_by_module(program, input sets, their results)."""


def explain_nothing(
    program: Program, sets: Sequence[Sequence[Array]], results: Sequence[Sequence[Array]]
) -> ModuleExplanation:
    """Return no explanation: for callers that have no compiler to ask."""
    del program, sets, results
    return UNEXPLAINED


def can_explain(judgement: Judgement) -> bool:
    """Return whether any failure is of a class that predicts nothing."""
    return any(failure.kind in UNPREDICTED for failure in judgement.failures)


def explain_by_module(
    session: Session,
    seconds: float,
    program: Program,
    sets: Sequence[Sequence[Array]],
    results: Sequence[Sequence[Array]],
    text: str = "",
) -> ModuleExplanation:
    """Return the explanation of wrong results of a program by the compiler's own module.

    After a pass that changes the meaning, the program that it leaves is the meaning for the passes
    after it.

    Args:
        session: a session of the backend that gave the results.
        seconds: the limit on one evaluation by the reference.
        program: the program, on whose input `sets` the backend gave wrong `results`.
        sets: the sets of inputs.
        results: the results on each of them.
        text: the program as it was compiled, if it was given as text.

    Returns:
        `UNEXPLAINED` if the backend gives no module, if no set of results is what the module may
        give, at least in some elements, or if its stages do not show the changes.
    """
    try:
        session.compile_cached(program, text)
        lowered = session.lowered_program(program, text)
        module = b"" if lowered else session.optimised_module(program, text)
        if not (lowered or module):
            return UNEXPLAINED
        whole = RewrittenProgram(lowered) if lowered else read_back(module, program)
        verdicts: dict[int, Verdict | None] = {}
        left: dict[int, tuple[Failing, ...]] = {}
        for index, (inputs, actual) in enumerate(zip(sets, results, strict=True)):
            with limit_evaluation(seconds):
                found = _judge_by_module(whole, inputs, actual, session)
                if found and found.verdict.fails and found.verdict is not Verdict.FLUSHED:
                    if not found.failing or not _is_closer(whole, program, inputs, actual):
                        continue
                    left[index] = found.failing
            verdicts[index] = found and found.verdict
        if not verdicts:
            return UNEXPLAINED
        exact = tuple(number for number, verdict in verdicts.items() if verdict is None)
        named: dict[str, Rewriting] = {}
        with dump_folder() as folder:
            stages = [] if lowered else dumped_stages(session, program, folder, text)
            name = TRANSLATION if lowered else UNNAMED
            for number in verdicts:
                chain = _Chain(session, program, sets[number], seconds)
                made = chain.rewritings(stages) if stages else chain.changes_of(whole, name)
                for one in made:
                    named.setdefault(str(one), one)
            is_one = len(working_operations(inline(program).program)) == 1
            for number in verdicts if not named else ():
                chain = _Chain(session, program, sets[number], seconds, results[number])
                is_flushed = verdicts[number] is Verdict.FLUSHED
                if number in exact:  # an operation within is wrong
                    named |= {str(rewriting): rewriting for rewriting in chain.rewritings(stages)}
                elif is_one is not is_flushed and number not in left:
                    made = chain.permitting_rewritings(stages, flushes=is_flushed)
                    named |= {str(one): one for one in made}
        flushes = Verdict.FLUSHED in verdicts.values()
        return ModuleExplanation(tuple(named.values()), flushes, tuple(verdicts), exact, left)
    except (BackendError, EvaluationError, TooSlow):
        return UNEXPLAINED


def _is_closer(
    whole: RewrittenProgram, program: Program, inputs: Sequence[Array], actual: Sequence[Array]
) -> bool:
    """Return whether more elements are as the module gives them than as the program does."""
    given = whole.evaluate(inputs), evaluate(program, inputs)
    if any(describe_malformed(results, actual) is not None for results in given):
        return False
    by_module, by_program = (
        sum(int((~equal_elements(*pair)).sum()) for pair in zip(results, actual, strict=True))
        for results in given
    )
    return by_module < by_program


def _judge_by_module(
    whole: RewrittenProgram,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    session: Session,
) -> Judgement | None:
    """Return the judgement on results of an optimised module; None if they have the module's own
    bits.

    Other bits are divergent if the module is long, because judging evaluates it hundreds of times.
    """
    results = whole.evaluate(inputs)
    if equal_results(results, actual):
        return None
    is_long = sum(1 for _ in whole.program.walk()) > MOST_OPERATIONS
    if is_long or whole.placement is not None or describe_malformed(results, actual) is not None:
        return Judgement(Verdict.DIVERGENT, "wrong value", "", 0, 0)
    collective = collective_of(whole.program)
    rule = None if collective is None else rule_of(collective)
    if rule is not None:
        given = (whole.program, inputs, results, actual, rule)
        judged = judge(*given, platform=session.hardware)
        if not judged.verdict.fails or judged.verdict is Verdict.FLUSHED:
            return judged
    # code is generated with other roundings than a module states
    permitted = PermittedResults(whole.program, inputs, session.hardware, has_sets=False)
    return judge_program(permitted, actual)


@dataclass(frozen=True, slots=True)
class _Chain:
    """The passes of one compilation, each judged by the meaning that the passes before left.

    `wrong` are results that count as wrong, though the program as a whole permits them.
    """

    session: Session
    program: Program
    inputs: Sequence[Array]
    seconds: float
    wrong: Sequence[Array] | None = None

    def rewritings(self, stages: Sequence[Stage]) -> Iterator[Rewriting]:
        """Yield the rewritings of passes that change the meaning.

        Raises:
            NotReadBack: if a stage around such a pass cannot be evaluated.
        """
        meaning, begin = RewrittenProgram(inline(self.program).program), -1
        for _ in range(MOST):
            judge = ResultJudge(meaning.program, self.inputs, self.session)
            if self.wrong is not None and not judge.is_expected(self.wrong):
                judge.add_wrong(self.wrong)
            is_right = partial(self._is_right, judge, stages)
            last = len(stages) - 1
            ended = is_right(last) if last > begin else True
            if ended is None:
                raise NotReadBack("the last stage cannot be evaluated")
            if ended:
                return
            right, wrong = bisect_stages(begin, last, is_right)
            before = meaning if right == begin else stages[right].read(self.program)
            after = stages[wrong].read(self.program)
            for change in find_changes(before.program, after.program, self.inputs):
                yield Rewriting(stages[wrong].name or TRANSLATION, change.text, change.operation)
            if after.placement is not None:
                return
            meaning, begin = after, wrong
        raise NotReadBack("too many passes change the meaning")

    def permitting_rewritings(
        self, stages: Sequence[Stage], *, flushes: bool
    ) -> Iterator[Rewriting]:
        """Yield the rewriting of an operation to others whose roundings permit the wrong results,
        or whose subnormal numbers do if they are flushed.

        On other inputs it changes the meaning: there is no change of values to see on these.
        """
        wrong, last = self.wrong or (), len(stages) - 1

        def forbids(number: int) -> bool:
            stage = stages[number].read(self.program)
            judge = ResultJudge(stage.program, self.inputs, self.session)
            if judge.is_single and not flushes:  # its rule is narrower than the hull
                return not judge.is_right(wrong)
            judged = _judge_by_module(stage, self.inputs, wrong, self.session)
            if judged is None or (flushes and judged.verdict is Verdict.FLUSHED):
                return False
            return judged.verdict.fails

        def is_before(number: int) -> bool | None:
            return self._in_time(partial(forbids, number))

        meaning = inline(self.program).program
        expected = evaluate(meaning, self.inputs)
        if last < 0 or len(expected) != len(wrong) or is_before(last) is not False:
            return
        before, after = bisect_stages(-1, last, is_before)
        old = meaning if before < 0 else stages[before].read(self.program).program
        new = stages[after].read(self.program).program
        pairs = enumerate(zip(expected, wrong, strict=True))
        count = len(meaning.main.result_types)  # of each process
        of = {number % count for number, pair in pairs if not equal_results([pair[0]], [pair[1]])}
        for change in find_changes(old, new, self.inputs, of):
            yield Rewriting(stages[after].name or TRANSLATION, change.text, change.operation)

    def changes_of(self, whole: RewrittenProgram, name: str) -> Iterator[Rewriting]:
        """Yield the rewritings of a compiler that shows only the last module, with this name."""
        for change in find_changes(inline(self.program).program, whole.program, self.inputs):
            yield Rewriting(name, change.text, change.operation)

    def _is_right(self, judge: ResultJudge, stages: Sequence[Stage], number: int) -> bool | None:
        def ask() -> bool:
            return judge.is_right(stages[number].read(self.program).evaluate(self.inputs))

        return self._in_time(ask)

    def _in_time(self, ask: Callable[[], bool]) -> bool | None:
        """Return the answer; None for a stage that cannot be evaluated, or takes too long."""
        try:
            with limit_evaluation(self.seconds):
                return ask()
        except (NotReadBack, TooSlow):
            return None
