"""Checks of exported programs, on their own inputs and on drawn inputs, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from conformance.backends.registry import parse
from conformance.checking.file import check_batch
from conformance.checking.settings import Batch, CheckedFile, Settings
from conformance.executors.backend_workers import executor_of
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict
from conformance.gate.reading import load
from conformance.limits import Limits
from conformance.results.versions import versions

FAULTS = (
    "sign_lost",
    "sign_lost@dot_general",
    "sign_lost@multiply",
    "sign_lost@add",
    "transposed_operands@subtract",
    "transposed_operands@divide",
    "low_precision@exponential",
    "one_wrong_element",
    "reversed_elements",
)
"""Gross errors that must be flagged in each program, except where they are harmless."""


@dataclass(frozen=True)
class Row:
    """The result of one program on one kind of inputs (real or drawn)."""

    name: str
    inputs: str
    backend: str
    checked: CheckedFile
    seconds: float

    @property
    def verdict(self) -> str:
        """The verdict, with a mark if all failures are known."""
        return ("known " if self.checked.known else "") + self.checked.verdict.value

    def line(self) -> str:
        """Return the row as a line of the table."""
        where = self.checked.operation and f"at {self.checked.operation}"
        told = " ".join(filter(None, (self.checked.kind, where)))
        fault = self.backend.partition(":")[2]
        of = f"{self.name:34} {self.inputs:6}{fault and f' {fault:32}'} {self.verdict:12}"
        return f"{of} {self.seconds:7.1f} s  {told[:110]}".rstrip()


def _time_check(file: str, settings: Settings) -> tuple[CheckedFile, float]:
    begun = perf_counter()
    return check_batch(Batch(0, (file,), settings))[0], perf_counter() - begun


def rows(
    programs: Sequence[Path], inputs: Sequence[str], backend: str, timeout: float, jobs: int
) -> Iterator[Row]:
    """Yield every program on every kind of inputs as they finish, each within `timeout` seconds."""
    known = load(None, (backend,), versions())

    def calls() -> Iterator[Call]:
        for program in programs:
            for kind in inputs:
                archive = program.with_suffix(".npz") if kind == "real" else None
                settings = Settings(backend, archive, 0, known, Limits(timeout))
                yield Call((program.stem, kind), _time_check, (str(program), settings), timeout)

    with executor_of(parse(backend), jobs=jobs, functions=(_time_check,)) as executor:
        for ended in executor.results(calls()):
            if ended is None:
                continue
            name, kind = ended.call.name
            if isinstance(ended.value, WorkerCrash | WorkerTimeout):
                verdict, kind_of, message = crash_verdict(ended.value)
                checked, seconds = CheckedFile(verdict, kind_of, message, file=name), timeout
            elif isinstance(ended.value, Exception):
                raise ended.value
            else:
                checked, seconds = ended.value
            yield Row(name, kind, backend, checked, seconds)


def check_all(
    folder: Path,
    names: Sequence[str],
    inputs: Sequence[str],
    backends: Sequence[str],
    *,
    timeout: float,
    jobs: int,
) -> None:
    """Print a line for each program and each kind of inputs, the failures, and counts.

    Small programs come first. `names` are parts of names; no names select all.
    """
    programs = [
        one
        for one in sorted(folder.glob("*.mlir"), key=lambda path: path.stat().st_size)
        if not names or any(part in one.stem for part in names)
    ]
    found: list[Row] = []
    for backend in backends:
        for row in rows(programs, inputs, backend, timeout, jobs):
            print(row.line(), flush=True)
            found.append(row)
    print("\nNot passed:")
    for row in sorted(found, key=lambda row: (row.name, row.inputs, row.backend)):
        if row.verdict != "pass":
            print(f"{row.line()}\n    {row.checked.message}  {' '.join(row.checked.known)}")
    for backend in backends:
        for kind in inputs:
            of = Counter(r.verdict for r in found if (r.inputs, r.backend) == (kind, backend))
            counts = ", ".join(f"{count} {verdict}" for verdict, count in of.most_common())
            print(f"{backend}, {kind} inputs: {counts} of {of.total()}")
