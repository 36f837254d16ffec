"""Replaying a recorded case: the stored program and inputs, or both made again by seed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conformance.backends.base import BackendError
from conformance.campaign.planning import plan_of
from conformance.campaign.tasks import (
    ONLY_IN_BATCH,
    Prepared,
    Ran,
    Results,
    Task,
    bench_of,
    cases_of,
    conclude,
    judge_all,
    lost_record,
    refused,
    run_task,
    worst_of,
)
from conformance.catalog import CATALOG, Cell
from conformance.errors import NotAvailable
from conformance.executors.backend_workers import executor_of
from conformance.executors.local import Call, Died, LocalExecutor, TimedOut
from conformance.executors.lost import why
from conformance.results.inputs import unpack_inputs
from conformance.results.summary import RunData
from conformance.stablehlo.emit import emit
from conformance.verdict import Record
from generators.cells.columns import Invalid, column
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array, element_type_of

_SHOWN = 60
"""Elements of an array beyond which only its ends are shown."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A case run again: its new record, and the arrays of the worst input set as text.

    `arguments` are (name, type, values); `results` are (type, expected, actual), with nothing
    where the backend gave none.
    """

    record: Record
    program: str
    arguments: tuple[tuple[str, str, str], ...] = ()
    results: tuple[tuple[str, str, str], ...] = ()


def find(run: RunData, id: str) -> Record:  # noqa: A002 - what it is called everywhere
    """The record of that id.

    Raises:
        LookupError: when there is none; its argument is a line with the nearest ids.
    """
    for record in run.records:
        if record.id == id:
            return record
    close = difflib.get_close_matches(id, [record.id for record in run.records], n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "its report lists the ids"
    raise LookupError(f"this run has no case {id!r}; {hint}")


def replay(run: RunData, record: Record, timeout: float = 60.0) -> Replay:
    """Run the case again in a worker process, and judge it anew.

    Raises:
        NotAvailable: when the backend cannot be had here.
    """
    cell = Cell(record.op, column(record.element_type), record.backend)
    task = Task(cell, run.seed, record.index, record.index + 1)
    if isinstance(cell.element_type, Invalid):
        call = Call(record.id, _again_in_batch, (task, record), timeout)
    elif record.kind == ONLY_IN_BATCH:
        (task,) = (t for t in plan_of(cell, run.profile, run.seed) if record.index in t)
        call = Call(record.id, _again_in_batch, (task, record), timeout)
    else:
        call = Call(record.id, _again, (task, record), timeout)
    with executor_of(record.backend, jobs=1, preload=(__name__,)) as executor:
        answer = _answer(executor, call)
    if isinstance(answer, (Died, TimedOut)):
        lost = lost_record(Task(cell, run.seed, record.index, record.index + 1), *why(answer))
        return Replay(lost, lost.detail.program if lost.detail else "")
    return answer


def _answer(executor: LocalExecutor, call: Call) -> Replay | Died | TimedOut:
    answer = executor.one(call)
    if isinstance(answer, (Replay, Died, TimedOut)):
        return answer
    raise answer if isinstance(answer, Exception) else NotAvailable(str(answer))


def _again_in_batch(task: Task, record: Record) -> Replay:
    (found,) = (r for r in run_task(task).records if r.index == record.index)
    return Replay(found, found.detail.program if found.detail else "")


def _again(task: Task, record: Record) -> Replay:
    """In a worker: run and judge the case, and show the arrays of its worst input set."""
    bench = bench_of(task.cell)
    program, inputs = _case(task, record)
    expected = [evaluate(program, one) for one in inputs]
    one = Prepared(record.index, program, inputs, expected)
    try:
        results = bench.run([one])[0]
    except BackendError as error:
        new, _ = refused(task.cell, one, error)
        return _shown(one, new, 0, None)
    new, _ = conclude(task.cell, one, Ran(results, [one]), bench)
    judgements = judge_all(one, results, bench)
    return _shown(one, new, judgements.index(worst_of(judgements)), results)


def _case(task: Task, record: Record) -> tuple[Program, list[tuple[Array, ...]]]:
    """The stored program and inputs where they were kept; a case that passed is made again."""
    detail = record.detail
    if detail is not None and detail.inputs:
        from conformance.stablehlo.parse import parse_module  # loads jaxlib

        return parse_module(detail.program), [unpack_inputs(detail.inputs)]
    (case,) = cases_of(task)
    return case.program, [materialise(case.program, recipe) for recipe in case.inputs]


def _shown(one: Prepared, record: Record, turn: int, results: Results | None) -> Replay:
    inputs, expected = one.inputs[turn], one.expected[turn]
    names = [argument.name for argument in one.program.main.arguments]
    arguments = [
        (name, _type(array), text_of(array)) for name, array in zip(names, inputs, strict=True)
    ]
    actual = [text_of(array) for array in results[turn]] if results else [""] * len(expected)
    actual += ["nothing"] * (len(expected) - len(actual))
    shown = [(_type(want), text_of(want), got) for want, got in zip(expected, actual, strict=False)]
    return Replay(record, emit(one.program), tuple(arguments), tuple(shown))


def _type(array: Array) -> str:
    sizes = "".join(f"{size}x" for size in array.shape)
    return f"tensor<{sizes}{element_type_of(array)}>"


def text_of(array: Array) -> str:
    """An array in decimal, every digit that tells its values apart; long ones cut in the middle."""
    try:
        of = element_type_of(array)
    except KeyError:
        return f"an array of {array.dtype}"
    wide = array.astype(np.float64 if of.is_float else np.int64) if of.bits < 16 else array
    if of.name == "bf16":
        wide = array.astype(np.float32)
    return np.array2string(np.asarray(wide), threshold=_SHOWN, edgeitems=3, max_line_width=100)


def lines(replayed: Replay, before: Record) -> Sequence[str]:
    """What to print: program, arguments, results, the worst elements, the verdict then and now."""
    record = replayed.record
    shown = ["program:", replayed.program.rstrip()]
    for name, of, values in replayed.arguments:
        shown += [f"{name}: {of}", values]
    for number, (of, expected, actual) in enumerate(replayed.results):
        shown += [f"result {number}: {of}", f"expected {expected}"]
        shown += [f"actual   {actual}"] if actual else []
    unit = CATALOG[record.op].tolerance.unit if record.op in CATALOG else "ulp"
    for element in record.detail.elements if record.detail else ():
        ulp = "" if element.ulp is None else f", {element.ulp:g} {unit}"
        given = ", ".join(f"{name} {value} ({bits})" for name, value, bits in element.inputs)
        shown.append(
            f"at {list(element.index)}: expected {element.expected} ({element.expected_hex}), "
            f"got {element.actual} ({element.actual_hex}){ulp}" + (f"; {given}" if given else "")
        )
    shown.append(f"recorded: {_verdict(before)}")
    shown.append(f"now:      {_verdict(record)}")
    return shown


def _verdict(record: Record) -> str:
    kind = f" ({record.kind})" if record.kind else ""
    return f"{record.verdict.value}{kind}" + (f": {record.message}" if record.message else "")
