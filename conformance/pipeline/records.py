"""Records of cases: made from judgements, refusals and worker crashes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from conformance.backends.base import BackendError, Unsupported, failure_of, kind_of_unsupported
from conformance.catalog import Cell
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.judging.compare import judge
from conformance.judging.judgement import Judgement, combine
from conformance.pipeline.batch import Bench, inputs_of
from conformance.pipeline.items import Inputs, Item, Results
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


def judge_all(item: Item, results: Results, bench: Bench) -> list[Judgement]:
    """Judge the results of a case, for each of its input sets."""
    hardware = bench.session.hardware
    with bench.watch.timed("comparison"):
        return [
            judge(item.program, inputs, expected, actual, bench.rule, platform=hardware)
            for inputs, expected, actual in zip(item.inputs, item.expected, results, strict=True)
        ]


def worst_of(judgements: Sequence[Judgement]) -> Judgement:
    """Return the judgement with the severest verdict, the first of several."""
    return max(judgements, key=lambda judgement: judgement.verdict.severity)


def judged(
    cell: Cell, item: Item, judgements: list[Judgement], batch: Sequence[Item] = ()
) -> tuple[Record, Errors]:
    """Return the record of a case with results; `batch` is given if only the batch shows them."""
    whole, worst = combine(judgements), worst_of(judgements)
    detail, failing = None, ()
    if batch and whole.verdict is not Verdict.PASS:
        inputs = inputs_of(batch, judgements.index(worst))
        detail = _detail(merge([p.program for p in batch]), inputs, worst)
    elif whole.verdict is not Verdict.PASS:
        detail = _detail(item.program, item.inputs[judgements.index(worst)], worst)
        failing = _failing(item, whole, judgements)
    record = Record(
        *_key(cell, item),
        verdict=whole.verdict,
        kind=ONLY_IN_BATCH if batch else whole.kind,
        message=printable(whole.message),
        pairs=len(judgements),
        values=whole.total,
        worst_ulp=whole.worst_ulp,
        budget_ulp=whole.budget_ulp,
        detail=detail,
        failing=failing,
    )
    return record, whole.errors


def _failing(item: Item, whole: Judgement, judgements: Sequence[Judgement]) -> tuple[Failing, ...]:
    """Return the classes that fail in a case, the class that the record shows first. Each has the
    inputs that show it, unless the same inputs show all.
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


def _key(cell: Cell, item: Item) -> tuple[str, str, str, int, str]:
    return cell.op, cell.element_type.name, cell.backend, item.index, item.program.digest


def refused(cell: Cell, item: Item, error: BackendError) -> tuple[Record, Errors]:
    """Return the record of a case that the backend answers with an error."""
    message = printable(str(error))
    if isinstance(error, Unsupported):
        kind = kind_of_unsupported(error)
        return Record(*_key(cell, item), Verdict.UNSUPPORTED, kind, message), Errors()
    return without_results(cell, item, *failure_of(error), message), Errors()


def without_results(cell: Cell, item: Item, verdict: Verdict, kind: str, message: str) -> Record:
    """Return the record of a failing case that gave no results, or none that are kept."""
    detail = _detail(item.program, item.inputs[0], None)
    return Record(*_key(cell, item), verdict, kind, message, detail=detail)


def not_deterministic(
    cell: Cell,
    item: Item,
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
        *_key(cell, item),
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
