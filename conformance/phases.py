"""The current step of a worker, noted in a file that the parent can read.

The parent ends a check that takes too long. So that the timeout's message can name the step, each
phase is noted when it begins and when it ends. A result that is known before the call ends is
written to a second file beside it.
"""

from __future__ import annotations

import math
import os
import pickle
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

_FREE = 1.25
"""Factor by which the suggested time limit exceeds the estimated time."""

_DOING = {
    "drawing": "inputs had been drawn for {}",
    "compilation": "the backend had been compiling for {}",
    "execution": "the backend had been executing for {}",
    "evaluation": "the reference had been evaluating for {}",
    "inputs": "results had been judged for {}",
    "locating": "the search for the first wrong operation had run for {}",
    "settling": "operations had been judged on the backend's own operands for {}",
}
"""Text about the innermost phase at a timeout, by name of the phase."""

_AROUND = {
    "drawing": "while inputs were drawn",
    "moved": "with intermediate results perturbed",
    "more": "with intermediate results perturbed in further directions",
    "flushed": "with subnormal numbers as zero",
    "filled": "with other values for unspecified elements",
    "locating": "during the search for the first wrong operation",
    "settling": "while operations were judged on the backend's own operands",
}
"""Text about an enclosing phase at a timeout, by name of the phase."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A timed step: number `number` of `of`, or 0 if unknown.

    `began` and `ended` are seconds since the call began; `ended` is None while the step runs.
    """

    name: str
    number: int
    of: int
    began: float
    ended: float | None = None


class _Notes:
    """The file of notes of one call, created when the first note is written."""

    def __init__(self, path: Path) -> None:
        self._path, self._start = path, time.monotonic()
        self._file: int | None = None

    def write(self, *words: object) -> None:
        if self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            self._file = os.open(self._path, flags, 0o600)
        line = " ".join(map(str, (f"{time.monotonic() - self._start:.3f}", *words)))
        os.write(self._file, f"{line}\n".encode())

    def keep(self, value: object) -> None:
        """Write a value that can be pickled. A reader sees all of it, or the value before."""
        new = self._path.with_suffix(".new")
        new.write_bytes(pickle.dumps(value))
        new.replace(_saved_path(self._path))

    def close(self) -> None:
        _saved_path(self._path).unlink(missing_ok=True)
        if self._file is not None:
            os.close(self._file)
            self._path.unlink(missing_ok=True)


_NOTES: ContextVar[_Notes | None] = ContextVar("notes of this call", default=None)


@contextmanager
def note_phases(path: Path) -> Generator[None]:
    """Write the phases within the block to a file, which is removed at the end."""
    notes = _Notes(path)
    before = _NOTES.set(notes)
    try:
        yield
    finally:
        _NOTES.reset(before)
        notes.close()


@contextmanager
def phase(name: str, number: int = 0, of: int = 0) -> Generator[None]:
    """Note the block as phase `name`; also a decorator for functions.

    `number` counts the phases with this name, `of` is their total, 0 if unknown. Phases may be
    nested. Without a file for notes, nothing is written.
    """
    notes = _NOTES.get()
    if notes is None:
        yield
        return
    notes.write(name, number, of)
    try:
        yield
    finally:
        notes.write()


def keep_value(value: object) -> None:
    """Store a value for the parent before this call returns; the last value counts.

    Without a file for notes, nothing is done.
    """
    notes = _NOTES.get()
    if notes is not None:
        notes.keep(value)


def take_kept(path: Path) -> Any:
    """Return the value that a terminated call left beside its notes, and delete it; None for
    nothing.
    """
    kept = _saved_path(path)
    try:
        return pickle.loads(kept.read_bytes())  # noqa: S301 - written by a worker of ours
    except OSError:
        return None
    finally:
        kept.unlink(missing_ok=True)


def _saved_path(path: Path) -> Path:
    return path.with_suffix(".kept")


def read_phases(path: Path) -> tuple[Phase, ...]:
    """Return the phases noted in a file, in the order of their beginning; none without a file."""
    phases: list[Phase] = []
    going_on: list[int] = []
    with suppress(OSError, ValueError):
        for line in path.read_text().splitlines():
            when, *words = line.split()
            if words:
                name, number, of = words
                going_on.append(len(phases))
                phases.append(Phase(name, int(number), int(of), float(when)))
            elif going_on:
                last = going_on.pop()
                phases[last] = replace(phases[last], ended=float(when))
    return tuple(phases)


def describe_timeout(phases: Sequence[Phase], seconds: float) -> str:
    """Return a message about a call that was ended after so many seconds.

    It says which step was slow, how far the call was, and which limit it needs. "" if no phase was
    noted.
    """
    open_ = [one for one in phases if one.ended is None]
    if not open_:
        return ""
    last = next((one for one in reversed(open_) if one.name in _DOING), open_[0])
    since = _seconds(seconds - last.began)
    doing = _DOING.get(last.name, "it had run for {}").format(since)
    set_ = next((one for one in open_ if one.name == "inputs"), None)
    if last.name == "evaluation":
        doing = _evaluation_message(phases, last, set_, since)
    around = [_AROUND[one.name] for one in open_ if one is not last and one.name in _AROUND]
    if set_ is not None and set_.of > 1 and set_ is not last:
        around[-1:] = [f"{' '.join(around[-1:])}, input set {set_.number} of {set_.of}"]
    return (
        f"{' '.join((doing, *around)).replace(' ,', ',')}; {_advice(phases, last, set_, seconds)}"
    )


def _evaluation_message(
    phases: Sequence[Phase], last: Phase, set_: Phase | None, since: str
) -> str:
    """Return the message about an unfinished evaluation: its number, and the mean time of
    evaluations.
    """
    done = _durations(phases, "evaluation")
    if not done:
        return _DOING["evaluation"].format(since)
    number = _number(phases, last, set_)
    which = f"{number} of {last.of}" if number <= last.of else f"{number}"
    mean = _seconds(sum(done) / len(done))
    return f"the reference was in evaluation {which} (about {mean} each)"


def _number(phases: Sequence[Phase], last: Phase, set_: Phase | None) -> int:
    """Return the number, from 1, of the last evaluation of this input set."""
    since = set_.began if set_ else 0.0
    return sum(one.name == last.name and one.began >= since for one in phases)


def _durations(phases: Sequence[Phase], name: str) -> list[float]:
    return [one.ended - one.began for one in phases if one.name == name and one.ended is not None]


def _advice(phases: Sequence[Phase], last: Phase, set_: Phase | None, seconds: float) -> str:
    """Return the advice on a time limit, estimated from the finished evaluations."""
    done = _durations(phases, "evaluation")
    if last.name != "evaluation" or not done or last.of < _number(phases, last, set_):
        return f"the time needed is unknown: try --timeout {_round(2 * seconds)}"
    mean = sum(done) / len(done)
    left = last.of - _number(phases, last, set_) + 1
    left += last.of * (set_.of - set_.number if set_ else 0)
    needed = max(last.began + left * mean, seconds)
    return f"if nothing is wrong, --timeout {_round(_FREE * needed)} should be enough"


def _round(seconds: float) -> str:
    """Return seconds, rounded up to two significant digits."""
    step = 10.0 ** (math.floor(math.log10(max(seconds, 1e-3))) - 1)
    return f"{math.ceil(seconds / step - 1e-9) * step:g}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
