"""Records of cases: made from judgements, refusals and worker crashes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from conformance.backends.base import BackendError, Unsupported, failure_of, kind_of_unsupported
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.judging.compare import judge
from conformance.judging.judgement import Judgement, combine
from conformance.pipeline.batch import Batcher, inputs_of
from conformance.pipeline.items import CellItem, Inputs, Item, Results
from conformance.results.inputs import pack_inputs
from conformance.stablehlo.emit import emit
from conformance.transforms.merge import merge
from conformance.verdict import Detail, Errors, Failing, Record, Repeats, Verdict
from reference.ir.program import Program

ONLY_IN_BATCH = "only in batch"
"""The kind of a divergence that does not show when the case is compiled alone."""

INPUTS_KEPT = 1 << 20
"""Archives of inputs over this many bytes are not stored: `replay` makes them again by seed."""


class CaseResult(NamedTuple):
    """The record of a case, with its error picture.

    A failure `is_steady` if every run in isolation gave the same bits, or the same message. Nothing
    is said of a case that did not fail; a failure in a batch only is not steady.
    """

    record: Record
    errors: Errors
    is_steady: bool = False


def have_one_ending(records: Iterable[Record]) -> bool:
    """Return whether all records of a case without results have the same verdict and message."""
    return len({(one.verdict, one.kind, one.message) for one in records}) == 1


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """The judgements of a case on its input sets, and all of them combined."""

    item: CellItem
    judgements: Sequence[Judgement]
    whole: Judgement

    @classmethod
    def of(cls, item: CellItem, results: Results, batcher: Batcher) -> Self:
        """Judge the results of a case on each of its input sets by the rule of its cell."""
        rule, hardware = item.cell.rule, batcher.session.hardware
        with batcher.watch.timed("comparison"):
            judgements = [
                judge(item.program, inputs, expected, actual, rule, platform=hardware)
                for inputs, expected, actual in zip(
                    item.inputs, item.expected, results, strict=True
                )
            ]
        return cls(item, judgements, combine(judgements))

    @property
    def verdict(self) -> Verdict:
        """The severest verdict."""
        return self.whole.verdict

    @property
    def turn(self) -> int:
        """The number of the first input set with the severest verdict."""
        return [one.verdict for one in self.judgements].index(self.verdict)

    def result(self, *, is_steady: bool = False, batch: Sequence[Item] = ()) -> CaseResult:
        """Return the record of the case; `batch` is given if only the batch shows the results."""
        item, whole = self.item, self.whole
        detail, failing = None, ()
        if batch and self.verdict is not Verdict.PASS:
            inputs, program = inputs_of(batch, self.turn), merge([one.program for one in batch])
            detail = _detail(program, inputs, self.judgements[self.turn])
        elif self.verdict is not Verdict.PASS:
            detail = _detail(item.program, item.inputs[self.turn], self.judgements[self.turn])
            failing = _failing(item, whole, self.judgements)
        record = Record(
            *item.key,
            verdict=whole.verdict,
            kind=ONLY_IN_BATCH if batch else whole.kind,
            message=printable(whole.message),
            pairs=len(self.judgements),
            values=whole.total,
            worst_ulp=whole.worst_ulp,
            budget_ulp=whole.budget_ulp,
            detail=detail,
            failing=failing,
        )
        return CaseResult(record, whole.errors, is_steady)


def _failing(item: Item, whole: Judgement, judgements: Sequence[Judgement]) -> tuple[Failing, ...]:
    """Return the failing classes of a case, the record's class first. Each class has the inputs
    that show it, unless the same inputs show all classes.
    """
    turns: dict[tuple[Verdict, str], int] = {}
    for turn, judgement in enumerate(judgements):
        for one in judgement.failures:
            turns.setdefault((one.verdict, one.kind), turn)
    several = len({*turns.values()}) > 1
    found: list[Failing] = []
    for one in whole.failing:
        is_shown = (one.verdict, one.kind) == (whole.verdict, whole.kind)
        source = whole if is_shown else one
        inputs = _stored_inputs(item.inputs[turns[one.verdict, one.kind]]) if several else b""
        one = replace(
            one, message=printable(source.message), elements=source.elements, inputs=inputs
        )
        found.insert(0 if is_shown else len(found), one)
    return tuple(found)


def _stored_inputs(inputs: Inputs) -> bytes:
    """Return the archive of inputs, b"" where it is too large to be stored."""
    packed = pack_inputs(inputs)
    return packed if len(packed) <= INPUTS_KEPT else b""


def _detail(program: Program, inputs: Inputs, judgement: Judgement | None) -> Detail:
    kept = _stored_inputs(inputs)
    if judgement is None:
        return Detail(emit(program), kept, 0, 0)
    return Detail(emit(program), kept, judgement.wrong, judgement.total, judgement.elements)


def refused(item: CellItem, error: BackendError) -> Record:
    """Return the record of a case that the backend answers with an error."""
    message = printable(str(error))
    if isinstance(error, Unsupported):
        return Record(*item.key, Verdict.UNSUPPORTED, kind_of_unsupported(error), message)
    return without_results(item, *failure_of(error), message)


def without_results(item: CellItem, verdict: Verdict, kind: str, message: str) -> Record:
    """Return the record of a failing case that gave no results, or none that are kept."""
    detail = _detail(item.program, item.inputs[0], None)
    return Record(*item.key, verdict, kind, message, detail=detail)


def not_deterministic(
    item: CellItem,
    verdict: Verdict,
    repeats: Repeats,
    words: str = "",
    *,
    turn: int = 0,
) -> Record:
    """Return the record of a case that does not end in the same way every time.

    `words` are the backend's own, where it gave no results. `turn` is the input set that shows it.
    Which elements differ would change from run to run.
    """
    often = f"{repeats.failed} of {repeats.runs} runs"
    if verdict.has_results:
        message = (
            f"{NOT_DETERMINISTIC}: results change when the program is run on the same inputs "
            f"again: wrong in {often}"
        )
    else:
        message = printable(f"in {often}: {words}")
    values = sum(array.size for results in item.expected for array in results)
    return Record(
        *item.key,
        verdict,
        NOT_DETERMINISTIC,
        message,
        pairs=len(item.inputs),
        values=values,
        detail=_detail(item.program, item.inputs[turn], None),
        repeats=repeats,
    )


def printable(message: str) -> str:
    """Return the message with lone surrogates and NULs escaped, which every encoder takes."""
    return message.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
