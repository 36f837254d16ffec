"""Backends that are the reference with a seeded fault: an op's code, or a rewriting of operations.

A changed op is computed in its own process, forked with the changed code. So the results are judged
by the unchanged reference.
"""

from __future__ import annotations

import multiprocessing
import resource
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.campaign_faults.rewritings import Rewriting, rewrite_program
from benchmarks.mutants.swapping import Codes, forget, put
from benchmarks.mutants.trials import SECONDS
from benchmarks.mutants.workers import MEMORY
from conformance.backends.base import Description, Failed
from conformance.backends.fake.reference import ReferenceBackend
from conformance.transforms.inline import NotInlined, inline
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Program


class FaultyBackend(ReferenceBackend):
    """The reference as a backend; `evaluate` is a function of a program and its inputs that returns
    results.
    """

    def __init__(self, told: str, evaluate: Any) -> None:
        super().__init__()
        self.name = "reference:seeded"  # `check` believes the one without a fault
        self.told, self.evaluate = told, evaluate

    def describe(self) -> Description:
        return Description(self.name, "reference", self.told, ())

    def compile(self, text: str, program: Program) -> _Executable:
        super().compile(text, program)
        return _Executable(partial(self.evaluate, program))


@dataclass(frozen=True, slots=True)
class _Executable:
    run: Any

    def execute(self, inputs: Sequence[Sequence[Any]]) -> list[list[Any]]:
        (arguments,) = inputs
        return [self.run(arguments)]


def backend_with_rewriting(rewriting: Rewriting) -> FaultyBackend:
    """Return a backend: the reference, which evaluates programs after a wrong rewriting."""

    def run(program: Program, inputs: Sequence[Any]) -> list[Any]:
        try:
            return list(evaluate(rewrite_program(inline(program).program, rewriting), inputs))
        except (EvaluationError, NotInlined) as error:
            raise Failed(str(error)) from error

    return FaultyBackend(rewriting.told, run)


@dataclass(slots=True)
class _MutantProcess:
    """The process that computes with changed code, started on demand."""

    codes: Codes
    pipe: Any = None
    process: Any = None
    context: Any = field(default_factory=lambda: multiprocessing.get_context("fork"))

    def run(self, program: Program, inputs: Sequence[Any]) -> list[Any]:
        if self.process is None or not self.process.is_alive():
            self.pipe, there = self.context.Pipe()
            self.process = self.context.Process(target=_serve, args=(there, self.codes))
            self.process.daemon = True
            with warnings.catch_warnings():
                # jax warns of its threads where it is loaded; the child computes with numpy alone
                warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
                self.process.start()
            there.close()
        try:
            self.pipe.send((program, list(inputs)))
            if not self.pipe.poll(SECONDS):
                self.end()
                raise Failed("no end in sight")
            answer = self.pipe.recv()
        except (EOFError, OSError) as error:
            self.end()
            raise Failed("the process ended") from error
        if isinstance(answer, str):
            raise Failed(answer)
        return answer

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def _serve(pipe: Any, codes: Codes) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    forget()
    put(codes)
    while True:
        program, inputs = pipe.recv()
        try:
            with np.errstate(all="ignore"):
                results: list[Any] = list(evaluate(program, inputs))
            arrays = all(isinstance(result, np.ndarray) for result in results)
            pipe.send(results if arrays else "results that are no arrays")
        except Exception as error:  # changed code raises what nobody would
            pipe.send(f"{type(error).__name__}: {error}")


def backend_with_code(told: str, codes: Codes) -> tuple[FaultyBackend, Any]:
    """Return the reference with other code in some of its functions, and a function that ends its
    process.
    """
    changed = _MutantProcess(codes)
    return FaultyBackend(told, changed.run), changed.end
