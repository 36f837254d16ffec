"""Records of cases: made from judgements, refusals and worker crashes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from conformance.backends.base import BackendError, Unsupported, failure_of
from conformance.gate.classes import NOT_DETERMINISTIC, ONLY_IN_BATCH
from conformance.judging.digests import combine_digests, digest_arrays
from conformance.judging.judgement import Judgement, SetJudgements
from conformance.pipeline.items import CellItem, Inputs, Item
from conformance.results.inputs import pack_inputs
from conformance.stablehlo.emit import emit
from conformance.transforms.merge import merge, merge_arguments
from conformance.verdict import (
    INPUT_DIGITS,
    WRONG_DIGITS,
    Detail,
    Errors,
    Failing,
    Record,
    Repeats,
    Verdict,
)
from reference.ir.program import Program

INPUTS_KEPT = 1 << 20
"""Size in bytes above which inputs are not stored: `replay` generates them from the seed."""


class CaseResult(NamedTuple):
    """The record of a case, with its error statistics.

    A failure `is_steady` if every run in isolation gave the same bits, or the same message. It has
    no meaning for a case that did not fail; a failure in a batch only is not steady.
    """

    record: Record
    errors: Errors
    is_steady: bool = False


def have_one_ending(records: Iterable[Record]) -> bool:
    """Return whether all records of a case have the same verdict and message."""
    return len({(record.verdict, record.kind, record.message) for record in records}) == 1


def judged_result(
    item: CellItem,
    judged: SetJudgements,
    *,
    is_steady: bool = False,
    batch: Sequence[Item] = (),
) -> CaseResult:
    """Return the record of a case with results; `batch` is given if only the batch shows them."""
    whole, turn = judged.whole, judged.worst_set
    detail, failing = None, ()
    if batch and whole.verdict is not Verdict.PASS:
        programs = [one.program for one in batch]
        inputs = merge_arguments(programs, [one.inputs for one in batch], turn)
        detail = _detail(merge(programs), inputs, judged.each[turn])
    elif whole.verdict is not Verdict.PASS:
        detail = _detail(item.program, item.inputs[turn], judged.each[turn])
        failing = _failing_classes(item, judged)
    record = Record(
        *item.key,
        verdict=whole.verdict,
        kind=ONLY_IN_BATCH if batch else whole.kind,
        message=whole.message,
        pairs=len(judged.each),
        values=whole.total,
        worst_ulp=whole.worst_ulp,
        budget_ulp=whole.budget_ulp,
        detail=detail,
        failing=failing,
        wrong_digest=_wrong_digest(item, judged) if is_steady else "",
    )
    return CaseResult(record, whole.errors, is_steady)


def _wrong_digest(item: CellItem, judged: SetJudgements) -> str:
    """Return `Record.wrong_digest` of a case whose results do not vary."""
    if not judged.whole.verdict.fails or item.cell.rule.is_nondeterministic:
        return ""
    inputs = combine_digests(map(digest_arrays, item.inputs))
    return inputs.hex()[:INPUT_DIGITS] + judged.whole.digest.hex()[:WRONG_DIGITS]


def _failing_classes(item: Item, judged: SetJudgements) -> tuple[Failing, ...]:
    """Return the failing classes of a case, the record's class first. Each class has the inputs
    that show it, unless the same inputs show all classes.
    """
    whole = judged.whole
    turns: dict[tuple[Verdict, str], int] = {}
    for turn, judgement in enumerate(judged.each):
        for one in judgement.failures:
            turns.setdefault((one.verdict, one.kind), turn)
    several = len({*turns.values()}) > 1
    found: list[Failing] = []
    for one in whole.failing:
        is_shown = (one.verdict, one.kind) == (whole.verdict, whole.kind)
        source = whole if is_shown else one
        inputs = _stored_inputs(item.inputs[turns[one.verdict, one.kind]]) if several else b""
        one = replace(one, message=source.message, elements=source.elements, inputs=inputs)
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


def refusal_record(item: CellItem, error: BackendError) -> Record:
    """Return the record of a case that the backend answers with an error."""
    message = escape_unprintable(str(error))
    if isinstance(error, Unsupported):
        return Record(*item.key, *failure_of(error), message)
    return record_without_results(item, *failure_of(error), message)


def record_without_results(item: CellItem, verdict: Verdict, kind: str, message: str) -> Record:
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
    """Return the record of a case that does not always end in the same way.

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
        message = escape_unprintable(f"in {often}: {words}")
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


def escape_unprintable(message: str) -> str:
    """Return the message with lone surrogates and NULs escaped, which every encoder takes."""
    return message.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
