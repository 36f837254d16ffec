"""Endings without results that no known divergence describes: refusals, aborts, internal errors.

Their messages resemble XLA's but contain no file, check or pass of a compiler. So an entry that
matches any message of XLA's form matches these, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.backends.base import Failed, Rejected
from conformance.campaign.tasks import Task, cases_of, crash_record
from conformance.executors.local import WorkerCrash
from conformance.executors.lost import crash_verdict
from conformance.pipeline.items import CellItem
from conformance.pipeline.records import refusal_record
from conformance.stablehlo.emit import EmitError
from conformance.verdict import Record
from generators.case.case import Case
from generators.case.columns import Invalid
from generators.values.contents import materialise
from reference.ir.constraints import ConstraintViolation

REFUSALS = (
    "INVALID_ARGUMENT: '{op}' is not of the form that revision 7 of this compiler asks for",
    "INVALID_ARGUMENT: Invalid operand of {op}: expected at most 3 wagons, got 4",
    "MLIR to HLO conversion failed: error: '{op}' op operand #0 must be a wagon, but got a cart",
)
ABORTS = (
    "wagon_assignment.cc:417] Check failed: wagons.size() == carts.size() (3 vs. 4)",
    "cart_fusion.cc:95] Check failed: cart->IsLoaded() Unexpected cart of {op}",
    "LLVM ERROR: Cannot select: wagon = WagonISD::LOAD",
)
INTERNAL = (
    "INTERNAL: WAGON check failure: cart != nullptr in the pass wagon-assignment, at {op}",
    "INTERNAL: during context [wagon-assignment]: {op} has 4 carts where 3 are expected",
    "INTERNAL: Failed to load the wagon of {op}: no such cart",
)

Ending = Callable[[Task, Case, str], Record]


def _prepare_item(task: Task, case: Case) -> CellItem:
    inputs = [materialise(case.program, recipe) for recipe in case.inputs[:1]] or [()]
    return CellItem(task.start, case.program, inputs, [], task.cell)


def _refuse(task: Task, case: Case, words: str) -> Record:
    return refusal_record(_prepare_item(task, case), Rejected(words))


def _fail(task: Task, case: Case, words: str) -> Record:
    return refusal_record(_prepare_item(task, case), Failed(words))


def _abort(task: Task, _case: Case, words: str) -> Record:
    return crash_record(task, *crash_verdict(WorkerCrash("SIGABRT", words)))


ENDINGS: dict[str, tuple[Ending, Sequence[str]]] = {
    "refused": (_refuse, REFUSALS),
    "abort": (_abort, ABORTS),
    "internal": (_fail, INTERNAL),
}
"""Endings by name: a function that makes the runner's record, and messages."""


def records_of_ending(name: str, task: Task) -> list[Record]:
    """Return the records of a task with a single case that ends in this way, one record per
    message.

    There are no records if the ending is right, as a refusal of a near miss is, or if the program
    cannot be written and so reaches no backend.
    """
    ending, messages = ENDINGS[name]
    if name == "refused" and isinstance(task.cell.element_type, Invalid):
        return []
    try:
        (case,) = cases_of(task)
        return [ending(task, case, words.format(op=task.cell.op)) for words in messages]
    except (EmitError, ConstraintViolation):
        return []
