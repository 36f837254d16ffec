"""Wrong collectives: a process receives other values, or mistakes its own position.

A fault changes the process in which an operation is executed; the operation is computed again
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reference.interpreter.evaluate import body_of, given_attributes
from reference.interpreter.processes import last_process
from reference.interpreter.verify import stated_results
from reference.ir.errors import EvaluationError
from reference.ir.processes import Process, ProcessId
from reference.ir.program import Operation
from reference.ops.structure import COMMUNICATION
from reference.ops.table import OPS

WrongProcess = Callable[[Process], Process]
"""A function from a process to the process in which an operation is executed instead."""


def compute_in_process(
    wrong: WrongProcess, operation: Operation, results: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return the results of a collective in a changed process; results of other ops are
    unchanged."""
    if operation.name not in COMMUNICATION:
        return results
    process, record = last_process(), OPS[operation.name]
    keywords = given_attributes(operation) | {"process": wrong(process)}
    if record.needs_result:
        keywords |= stated_results(record, operation)
    keywords |= record.name_regions([body_of(region) for region in operation.regions])
    try:
        operands = process.take([process.id]) if operation.operands else []
        changed = record.evaluate(*operands, **keywords)
    except KeyError:  # in no group, or others have not come yet
        return results
    except EvaluationError:  # what it was given fits nothing: nothing is written
        return _zero_like(results)
    return changed if record.several else (changed,)


def _fault_of_received_values(change: Callable[[list[Any], Process], list[Any]]) -> WrongProcess:
    """Return the fault that changes the values that a process receives."""

    def corrupt_process(process: Process) -> Process:
        def take(wanted: Sequence[ProcessId]) -> list[Any]:
            return change(process.take(wanted), process)

        return replace(process, take=take)

    return corrupt_process


def _zero_like(value: Any) -> Any:
    return tuple(map(np.zeros_like, value)) if isinstance(value, tuple) else np.zeros_like(value)  # type: ignore[reportUnknownVariableType]


def _share_lost(values: list[Any], _: Process) -> list[Any]:
    return [*values[:-1], _zero_like(values[-1])]


def _first_twice(values: list[Any], _: Process) -> list[Any]:
    return [values[0], *values[:-1]]


def _reverse_values(values: list[Any], _: Process) -> list[Any]:
    return values[::-1]


def _rotate_values(values: list[Any], _: Process) -> list[Any]:
    return [*values[1:], values[0]]


def _pair_exchanged(values: list[Any], _: Process) -> list[Any]:
    return [*values[1::-1], *values[2:]]


def _own_alone(values: list[Any], process: Process) -> list[Any]:
    return process.take([process.id]) * len(values)


def _next_replica(process: Process) -> Process:
    replicas, _ = process.grid
    replica, partition = process.id
    return replace(process, id=((replica + 1) % replicas, partition))


def _next_partition(process: Process) -> Process:
    _, partitions = process.grid
    replica, partition = process.id
    return replace(process, id=(replica, (partition + 1) % partitions))


def _neighbours(process: Process) -> Process:
    """Return the process with the values of the replicas of the adjacent group."""
    replicas, _ = process.grid

    def take(wanted: Sequence[ProcessId]) -> list[Any]:
        return process.take(
            [((replica + 1) % replicas, partition) for replica, partition in wanted]
        )

    return replace(process, take=take)


def _take_previous() -> WrongProcess:
    kept: dict[ProcessId, list[Any]] = {}

    def corrupt_process(process: Process) -> Process:
        def take(wanted: Sequence[ProcessId]) -> list[Any]:
            values = process.take(wanted)
            before = kept.get(process.id, list(map(_zero_like, values)))
            kept[process.id] = values
            return before if len(before) == len(values) else values

        return replace(process, take=take)

    return corrupt_process


PROCESS_FAULTS: dict[str, tuple[str, WrongProcess]] = {
    "share_lost": (
        "the values of the last process of a group are zero",
        _fault_of_received_values(_share_lost),
    ),
    "share_twice": (
        "the first process of a group counts twice",
        _fault_of_received_values(_first_twice),
    ),
    "group_reversed": ("groups are in reversed order", _fault_of_received_values(_reverse_values)),
    "group_rotated": (
        "groups begin with their second process",
        _fault_of_received_values(_rotate_values),
    ),
    "pair_exchanged": (
        "the first two processes of a group are swapped",
        _fault_of_received_values(_pair_exchanged),
    ),
    "not_sent": (
        "each process receives only its own values",
        _fault_of_received_values(_own_alone),
    ),
    "wrong_group": ("groups are those of the next replicas", _neighbours),
    "wrong_replica_id": ("replicas use the id of the next replica", _next_replica),
    "wrong_partition_id": ("partitions use the id of the next partition", _next_partition),
    "stale_buffer": ("values arrive one collective late", _take_previous()),
}
"""Faults of collectives, by name."""
