"""A recorded case run again in a worker, for `replay`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conformance.backends.base import BackendError
from conformance.backends.registry import parse
from conformance.backends.session import open_session
from conformance.campaign.planning import make_batches, plan_of
from conformance.campaign.recorded import RecordedCase, Replay
from conformance.campaign.tasks import Manner, Task, TaskBatch, cases_of, crash_record, run_tasks
from conformance.catalog import CATALOG, Cell, cells
from conformance.executors.local import WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict
from conformance.gate.classes import ONLY_IN_BATCH
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.pipeline.batch import Batcher
from conformance.pipeline.confirmation import JudgementCache, conclude
from conformance.pipeline.items import CellItem, Item, ItemAnswer, Results
from conformance.pipeline.records import refusal_record
from conformance.results.inputs import unpack_inputs
from conformance.stablehlo.emit import emit
from conformance.verdict import Record
from generators.case.columns import Invalid, column
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.processes import processes
from reference.ir.program import Program
from reference.ir.types import Array, element_type_of

_SHOWN = 60
"""Number of elements above which only the ends of an array are shown."""


def rerun(case: RecordedCase, hypotheses: tuple[EntryPrediction, ...], generic: bool) -> Replay:
    """Rerun a case and judge it again, with its batch if the failure needs the batch.

    `hypotheses` are those that the expectations of its backend state.
    """
    with in_force(hypotheses):
        return _rerun(case, hypotheses, generic)


def _rerun(case: RecordedCase, hypotheses: Sequence[EntryPrediction], generic: bool) -> Replay:
    record = case.record
    cell = Cell(record.op, column(record.element_type), parse(case.backend).name)
    task = Task(cell, case.seed, record.index, record.index + 1)
    if isinstance(cell.element_type, Invalid):
        return _replay_in_batch((task,), record, hypotheses, generic)
    if record.kind == ONLY_IN_BATCH:
        batch = _batch_of(cell, record.index, case)
        return _replay_in_batch(batch, record, hypotheses, generic)
    return _run_again(task, record, generic)


def _batch_of(cell: Cell, index: int, case: RecordedCase) -> TaskBatch:
    """Return the tasks that were compiled with the case, in a run of all cells of the op."""
    beside = cells([cell.op], backends=[cell.backend])
    tasks = [task for one in beside for task in plan_of(one, case.profile, case.seed)]
    return next(
        batch
        for batch in make_batches(tasks)
        if any(task.cell == cell and index in task for task in batch)
    )


def crash_replay(case: RecordedCase, reason: WorkerCrash | WorkerTimeout) -> Replay:
    """Return the replay of a case whose worker crashed or timed out. The parent calls this
    function, which runs nothing.
    """
    record = case.record
    cell = Cell(record.op, column(record.element_type), parse(case.backend).name)
    task = Task(cell, case.seed, record.index, record.index + 1)
    new = crash_record(task, *crash_verdict(reason))
    return Replay(new, new.detail.program if new.detail else "")


def _replay_in_batch(
    batch: TaskBatch, record: Record, hypotheses: Sequence[EntryPrediction], generic: bool
) -> Replay:
    (new,) = (
        found
        for result in run_tasks(batch, Manner(tuple(hypotheses)))
        for found in result.records
        if (found.element_type, found.index) == (record.element_type, record.index)
    )
    return Replay(new, _program(new.detail.program, generic) if new.detail else "")


def _run_again(task: Task, record: Record, generic: bool) -> Replay:
    """Run and judge the case, and show the arrays of its worst input set."""
    batcher = Batcher(open_session(task.cell.backend))
    program, inputs = _case(task, record)
    expected = [evaluate(program, one) for one in inputs]
    item = CellItem(record.index, program, inputs, expected, task.cell)
    try:
        results = batcher.run([item])[0]
    except BackendError as error:
        return _show_arrays(item, refusal_record(item, error), 0, None, generic)
    new = conclude(item, ItemAnswer(results, [item]), batcher).record
    return _show_arrays(
        item, new, JudgementCache(item, batcher).of(results).worst_set, results, generic
    )


def _case(task: Task, record: Record) -> tuple[Program, list[tuple[Array, ...]]]:
    """Return the stored program and inputs; generate a case that passed again."""
    detail = record.detail
    if detail is not None and detail.inputs:
        from conformance.stablehlo.parse import parse_module  # loads jaxlib

        return parse_module(detail.program), [unpack_inputs(detail.inputs)]
    (case,) = cases_of(task)
    return case.program, [materialise(case.program, recipe) for recipe in case.inputs]


def _show_arrays(
    item: Item, record: Record, turn: int, results: Results | None, generic: bool
) -> Replay:
    inputs, expected = item.inputs[turn], item.expected[turn]
    names = _parameter_names(item.program)
    arguments = [
        (name, _type(array), text_of(array)) for name, array in zip(names, inputs, strict=True)
    ]
    actual = [text_of(array) for array in results[turn]] if results else [""] * len(expected)
    actual += ["nothing"] * (len(expected) - len(actual))
    shown = [(_type(want), text_of(want), got) for want, got in zip(expected, actual, strict=False)]
    program = _program(emit(item.program), generic)
    return Replay(record, program, tuple(arguments), tuple(shown), _unit(record))


def _parameter_names(program: Program) -> list[str]:
    """Return the names of the parameters, process by process if there are several."""
    names = [argument.name for argument in program.main.arguments]
    if program.process_count == 1:
        return names
    return [
        f"{name} of process {replica}, {partition}"
        for replica, partition in processes(program.process_grid or (1, 1))
        for name in names
    ]


def _type(array: Array) -> str:
    sizes = "".join(f"{size}x" for size in array.shape)
    return f"tensor<{sizes}{element_type_of(array)}>"


def text_of(array: Array) -> str:
    """Return an array in decimal, with enough digits to distinguish its values; long arrays are
    cut.
    """
    try:
        element_type = element_type_of(array)
    except KeyError:
        return f"an array of {array.dtype}"
    wide = (
        array.astype(np.float64 if element_type.is_float else np.int64)
        if element_type.bits < 16
        else array
    )
    if element_type.name == "bf16":
        wide = array.astype(np.float32)
    return np.array2string(np.asarray(wide), threshold=_SHOWN, edgeitems=3, max_line_width=100)


def _program(text: str, generic: bool) -> str:
    if generic:
        return text
    from conformance.stablehlo.pretty import print_pretty  # loads jaxlib

    return print_pretty([text])[0]


def _unit(record: Record) -> str:
    return CATALOG[record.op].tolerance.unit if record.op in CATALOG else "ulp"
