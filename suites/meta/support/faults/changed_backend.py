"""Backends that are the reference with some results changed, for tests of triage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.backends.base import single_process_inputs
from conformance.backends.fake.reference import ReferenceBackend
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array

Change = Callable[[Program, Operation, tuple[Any, ...]], tuple[Any, ...]]
"""change(program, operation, results): the backend's results instead."""


@dataclass(frozen=True)
class Changed:
    """The reference, some of its results changed."""

    program: Program
    change: Change

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        def on_result(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
            return self.change(self.program, operation, results)

        return [list(evaluate(self.program, single_process_inputs(inputs), on_result=on_result))]


class Backend(ReferenceBackend):
    """A backend with right results, except for a change."""

    def __init__(self, change: Change) -> None:
        super().__init__()
        self.name = "cpu"
        self._change = change

    def compile(self, text: str, program: Program) -> Any:
        del text
        return Changed(program, self._change)


def result_of(name: str, value: Callable[[Array], Array]) -> Change:
    """Return every result of an op made another."""

    def change(_: Program, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if operation.name != name:
            return results
        return tuple(np.asarray(value(result)).astype(result.dtype) for result in results)

    return change


def compose_changes(*changes: Change) -> Change:
    def change(program: Program, operation: Operation, results: Any) -> tuple[Any, ...]:
        for one in changes:
            results = one(program, operation, results)
        return results

    return change


def run_changed(change: Change) -> Callable[[Program, Sequence[Sequence[Array]]], Any]:
    """Return a function that runs a program on several inputs, with a change."""

    def run(program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        def on_result(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
            return change(program, operation, results)

        for inputs in sets:
            yield [np.asarray(one) for one in evaluate(program, inputs, on_result=on_result)]

    return run
