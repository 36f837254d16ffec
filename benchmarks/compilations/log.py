"""The log of compilations: loading this module in workers makes them write it."""

# pyright: reportPrivateUsage=false
# What asks for a compilation is told by the code of functions, some of them private.

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from conformance.backends.base import BackendError
from conformance.backends.session import Compiled, Session
from conformance.campaign import tasks
from conformance.pipeline.batch import Batcher, _SplitBatch
from reference.ir.program import Program
from reference.ir.types import Array

LOG = "HLO_CONFORMANCE_COMPILATIONS"
"""The environment variable with the folder that workers log to."""

BATCH, PART = "batch", "part of a refused batch"
MISS = "near miss"
PURPOSES = {
    tasks._miss_record.__code__: MISS,
    Batcher.attempts.__code__: "error, asked again",
    Batcher.run_in_isolation.__code__: "failure, in isolation",
    Batcher.batch_again.__code__: "batch, run again",
    _SplitBatch._refused_batch.__code__: "batch, run again",
}
"""The purpose of the compilations that a function requests, by the function's code."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """A module that a worker compiled, and the processor seconds that it took."""

    purpose: str
    programs: int
    seconds: float
    is_refused: bool

    @property
    def label(self) -> str:
        """The row of the table in which the compilation is counted."""
        of = "" if self.purpose not in (BATCH, PART) else " of one" if self.programs == 1 else ""
        return f"{self.purpose}{of}{', refused' if self.is_refused else ''}"


def purpose() -> str:
    """Return the purpose of the current compilation."""
    frame, splits = sys._getframe(), 0
    while frame is not None:
        if frame.f_code in PURPOSES:
            return PURPOSES[frame.f_code]
        splits += frame.f_code is _SplitBatch.run.__code__
        frame = frame.f_back
    return PART if splits > 1 else BATCH


def log_compilations(folder: Path) -> None:
    """Make each compilation of this process append a line to its file in a folder."""
    compile_program, run_batch = Session.compile, Session.run_batch
    merged = [1]

    def logged_batch(
        self: Session, programs: Sequence[Program], sets: Sequence[Sequence[Sequence[Array]]]
    ) -> list[list[list[Array]]]:
        merged[0] = len(programs)
        try:
            return run_batch(self, programs, sets)
        finally:
            merged[0] = 1

    def compile_and_log(self: Session, program: Program, text: str = "") -> Compiled:
        begun, is_refused = process_time(), False
        try:
            return compile_program(self, program, text)
        except BackendError:
            is_refused = True
            raise
        finally:
            row = (purpose(), merged[0], process_time() - begun, is_refused)
            with (folder / str(os.getpid())).open("a") as file:
                file.write(json.dumps(row) + "\n")

    Session.compile, Session.run_batch = compile_and_log, logged_batch


if LOG in os.environ:  # so workers log, which are forked from a process that loads this module
    log_compilations(Path(os.environ[LOG]))
