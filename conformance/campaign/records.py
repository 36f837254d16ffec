"""What is recorded of a case: judgements, refusals and lost workers as records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.backends.base import BackendError, Unsupported, failure_of, kind_of_unsupported
from conformance.campaign.batch import Bench, Inputs, Prepared, Results, inputs_of
from conformance.catalog import Cell
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.judging.compare import Judgement, combine, judge
from conformance.results.inputs import pack_inputs
from conformance.stablehlo.emit import emit
from conformance.transforms.merge import merge
from conformance.verdict import Detail, Errors, Failing, Record, Repeats, Verdict
from reference.ir.program import Program

ONLY_IN_BATCH = "only in batch"
"""The kind of a divergence that does not show when the case is compiled alone."""

INPUTS_KEPT = 1 << 20
"""Archives of inputs over this many bytes are not stored: `replay` makes them again by seed."""


def judge_all(prepared: Prepared, results: Results, bench: Bench) -> list[Judgement]:
    """A judgement for each input set of a case."""
    hardware = bench.session.hardware
    with bench.watch.timed("comparison"):
        return [
            judge(prepared.program, inputs, expected, actual, bench.rule, platform=hardware)
            for inputs, expected, actual in zip(
                prepared.inputs, prepared.expected, results, strict=True
            )
        ]


def worst_of(judgements: Sequence[Judgement]) -> Judgement:
    """The one with the severest verdict, the first of several."""
    return max(judgements, key=lambda judgement: judgement.verdict.severity)


def judged(
    cell: Cell, prepared: Prepared, judgements: list[Judgement], batch: Sequence[Prepared] = ()
) -> tuple[Record, Errors]:
    """The record of a case with results; `batch` is given where only the batch shows them."""
    whole, worst = combine(judgements), worst_of(judgements)
    detail, failing = None, ()
    if batch and whole.verdict is not Verdict.PASS:
        inputs = inputs_of(batch, judgements.index(worst))
        detail = _detail(merge([p.program for p in batch]), inputs, worst)
    elif whole.verdict is not Verdict.PASS:
        detail = _detail(prepared.program, prepared.inputs[judgements.index(worst)], worst)
        failing = _failing(prepared, whole, judgements)
    record = Record(
        *_key(cell, prepared),
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


def _failing(
    prepared: Prepared, whole: Judgement, judgements: Sequence[Judgement]
) -> tuple[Failing, ...]:
    """All that fails in a case, what is shown first: each with the inputs that show it, where not
    the same show all."""
    turns: dict[tuple[Verdict, str], int] = {}
    for turn, judgement in enumerate(judgements):
        for one in judgement.failures:
            turns.setdefault((one.verdict, one.kind), turn)
    several = len({*turns.values()}) > 1
    found: list[Failing] = []
    for one in whole.failing:
        is_shown = (one.verdict, one.kind) == (whole.verdict, whole.kind)
        told = whole if is_shown else one
        inputs = _kept(prepared.inputs[turns[one.verdict, one.kind]]) if several else b""
        one = replace(one, message=printable(told.message), elements=told.elements, inputs=inputs)
        found.insert(0 if is_shown else len(found), one)
    return tuple(found)


def _kept(inputs: Inputs) -> bytes:
    """The archive of inputs, b"" where it is too large to be stored."""
    packed = pack_inputs(inputs)
    return packed if len(packed) <= INPUTS_KEPT else b""


def _detail(program: Program, inputs: Inputs, judgement: Judgement | None) -> Detail:
    kept = _kept(inputs)
    if judgement is None:
        return Detail(emit(program), kept, 0, 0)
    return Detail(emit(program), kept, judgement.wrong, judgement.total, judgement.elements)


def _key(cell: Cell, prepared: Prepared) -> tuple[str, str, str, int, str]:
    return cell.op, cell.element_type.name, cell.backend, prepared.index, prepared.program.digest


def refused(cell: Cell, prepared: Prepared, error: BackendError) -> tuple[Record, Errors]:
    """The record of a case that the backend answers with an error."""
    message = printable(str(error))
    if isinstance(error, Unsupported):
        kind = kind_of_unsupported(error)
        return Record(*_key(cell, prepared), Verdict.UNSUPPORTED, kind, message), Errors()
    return without_results(cell, prepared, *failure_of(error), message), Errors()


def without_results(
    cell: Cell, prepared: Prepared, verdict: Verdict, kind: str, message: str
) -> Record:
    """Return the record of a failing case that gave no results, or none that are kept."""
    detail = _detail(prepared.program, prepared.inputs[0], None)
    return Record(*_key(cell, prepared), verdict, kind, message, detail=detail)


def not_deterministic(
    cell: Cell,
    prepared: Prepared,
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
    values = sum(array.size for results in prepared.expected for array in results)
    return Record(
        *_key(cell, prepared),
        verdict,
        NOT_DETERMINISTIC,
        message,
        pairs=len(prepared.inputs),
        values=values,
        detail=_detail(prepared.program, prepared.inputs[turn], None),
        repeats=repeats,
    )


def printable(message: str) -> str:
    """The message as text that every encoder takes: lone surrogates and NULs escaped."""
    return message.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
