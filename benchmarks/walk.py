"""Count the functions and folders between a case and its result, for several commands.

    python -m benchmarks.walk [run|check|fuzz|replay ...] [--list]

A *stop* is a function (not a property) that the case passes through: each function of the modules
in `WAYS`, and functions of other modules that these call. A *room* is a module. A *climb* is a
return to a module that the case had left before. Calls of workers are made in this process.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from inspect import CO_OPTIMIZED
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar
from unittest.mock import patch

from pebble import ProcessFuture

from conformance.campaign import replay, runner
from conformance.campaign.planning import Options
from conformance.campaign.session import RunSession
from conformance.checking import command, files
from conformance.executors.local import LocalExecutor
from conformance.executors.pool import Pool
from conformance.fuzzing.campaign import CampaignSession
from conformance.fuzzing.command import Options as FuzzOptions
from conformance.fuzzing.command import fuzz
from conformance.fuzzing.keeping.journal import Journal
from conformance.results.store import Store

ROOT = Path(__file__).parents[1]
WAYS = {
    "run": ("conformance/campaign/", "conformance/pipeline/"),
    "check": ("conformance/checking/", "conformance/pipeline/"),
    "fuzz": ("conformance/fuzzing/", "conformance/pipeline/"),
    "replay": ("conformance/campaign/", "conformance/pipeline/"),
}
PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.sine %x : tensor<4xf32>
  %z = stablehlo.add %y, %x : tensor<4xf32>
  return %z : tensor<4xf32>
}
"""


_T = TypeVar("_T")


class _Pool(Pool):
    """A pool that makes each call at once, in this process."""

    def __init__(self) -> None: ...

    @property
    def active(self) -> bool:
        return True

    def schedule(
        self,
        function: Callable[..., _T],
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> ProcessFuture[_T]:
        del timeout
        future: ProcessFuture[_T] = ProcessFuture()
        future.set_result(function(*args, **(kwargs or {})))
        return future

    def stop(self) -> None: ...

    def join(self, timeout: float | None = None) -> None: ...


class Walk:
    """The functions that are called, in the order of their first calls."""

    def __init__(self, way: tuple[str, ...]) -> None:
        self.stops: list[tuple[str, str]] = []
        self._way = way
        self._known: set[object] = set()

    def trace(self, frame: FrameType, event: str, _: object) -> None:
        """Add the called function to `stops`, if it belongs to the walk and is not there yet.

        Python's interpreter calls this at each event.
        """
        code = frame.f_code
        if event != "call" or code in self._known or not code.co_flags & CO_OPTIMIZED:
            return  # the body of a class or a module is no function
        room = _room(frame)
        if not room or code.co_name.startswith(("<", "__")) or _is_property(frame):
            return
        outer = frame.f_back
        while outer is not None and not _room(outer):
            outer = outer.f_back
        if room.startswith(self._way) or (outer and _room(outer).startswith(self._way)):
            self._known.add(code)
            self.stops.append((room, code.co_qualname))

    def during(self, function: Callable[..., _T]) -> Callable[..., _T]:
        """Return a function that is traced, together with all that it calls."""

        def call_traced(*arguments: Any, **named: Any) -> _T:
            sys.setprofile(self.trace)
            try:
                return function(*arguments, **named)
            finally:
                sys.setprofile(None)

        return call_traced

    def line(self) -> str:
        """Return the figures in a line."""
        rooms = [room for room, _ in self.stops]
        climbs = sum(
            room != before and room in rooms[:at]
            for at, (before, room) in enumerate(pairwise(rooms), 1)
        )
        own = sum(room.startswith(self._way) for room in rooms)
        return (
            f"{len(rooms)} stops, {own} of them on the way itself, "
            f"in {len({*rooms})} rooms, {climbs} climbs"
        )


def _room(frame: FrameType) -> str:
    """Return the module of a frame, relative to the root; "" if it is not of this project."""
    path = frame.f_code.co_filename
    own = path.startswith(f"{ROOT}{os.sep}") and not path.startswith(str(ROOT / "benchmarks"))
    return path.removeprefix(f"{ROOT}{os.sep}") if own else ""


def _is_property(frame: FrameType) -> bool:
    owner, _, name = frame.f_code.co_qualname.partition(".")
    return isinstance(vars(frame.f_globals.get(owner, object)).get(name), property)


def _end_trace_at(function: Callable[..., _T]) -> Callable[..., _T]:
    """Return a function that makes the same call and then ends the trace."""

    def call_and_end(*arguments: Any, **named: Any) -> _T:
        try:
            return function(*arguments, **named)
        finally:
            sys.setprofile(None)

    return call_and_end


def _run(folder: Path) -> None:
    runner.run(Options(folder, ("reference",), ("add",), ("f32",), "smoke", expectations=()))


def walk_run(walk: Walk, folder: Path) -> None:
    """Trace a run, from planned tasks to the first stored task."""
    tasks, last = vars(RunSession)["_run_tasks"], Store.add_task
    with (
        patch.object(RunSession, "_run_tasks", walk.during(tasks)),
        patch.object(Store, "add_task", _end_trace_at(last)),
    ):
        _run(folder)


def walk_check(walk: Walk, folder: Path) -> None:
    """Trace `check` of a program that passes, from the batches to the verdict."""
    program = folder / "program.mlir"
    program.write_text(PROGRAM)
    check_files = files.check_files
    given = command.Options((str(program),), "reference:flush_to_zero", expectations=())
    with patch.object(files, "check_files", walk.during(lambda *one: [*check_files(*one)])):
        command.check(given)


def walk_fuzz(walk: Walk, folder: Path) -> None:
    """Trace a trial of a campaign, from the calls to the first trial in the journal."""
    trials, last = vars(CampaignSession)["_run_trials"], Journal.add
    with (
        patch.object(CampaignSession, "_run_trials", walk.during(trials)),
        patch.object(Journal, "add", _end_trace_at(last)),
    ):
        fuzz(FuzzOptions(folder, "reference:flush_to_zero", budget="", programs=4, ops=("add",)))


def walk_replay(walk: Walk, folder: Path) -> None:
    """Trace the replay of a stored case that passed."""
    _run(folder)
    case = replay.find(folder, "add-f32-reference-0")
    walk.during(replay.replay)(case)


def walk_command(name: str, folder: Path) -> Walk:
    """Return the walk of a command, of the names in `WAYS`, which writes to a folder."""
    walks = {"run": walk_run, "check": walk_check, "fuzz": walk_fuzz, "replay": walk_replay}
    walk = Walk(WAYS[name])
    with patch.object(LocalExecutor, "_new_pool", lambda _: _Pool()):
        walks[name](walk, folder)
    return walk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", help=", ".join(WAYS))
    parser.add_argument("--list", action="store_true", help="print the stops")
    given = parser.parse_args()
    for name in given.commands or WAYS:
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(sys.stderr):
            walk = walk_command(name, Path(folder))
        if given.list:
            print(*(f"{room}: {function}" for room, function in walk.stops), sep="\n")
        print(f"{name}: {walk.line()}")


if __name__ == "__main__":
    main()
