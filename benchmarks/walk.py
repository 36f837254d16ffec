"""Count what a reader meets on the way of a case from the plan to the stored record.

    python -m benchmarks.walk [--backend reference:ulp] [--list]

A *stop* is a function that a case passes through, but no property: every function of the rooms that
make up the way (`WAY`), and those of other rooms that they call. A *room* is a module. A *climb* is
a stop in a room that was left before. Calls of the worker are made in this process.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import Future
from itertools import pairwise
from pathlib import Path

from conformance.campaign import runner
from conformance.campaign.planning import Options
from conformance.campaign.session import RunSession
from conformance.executors.local import LocalExecutor
from conformance.executors.pool import Job
from conformance.results.store import Store

ROOT = Path(__file__).parents[1]
WAY = ("conformance/campaign/", "conformance/pipeline/")


class _Pool:
    """A pool that makes each call at once, in this process."""

    active = True

    def schedule(self, job: Job, timeout: float) -> Future:
        del timeout
        future: Future = Future()
        future.set_result(job.function())
        return future

    def stop(self) -> None: ...

    def join(self) -> None: ...


class Walk:
    """The functions that were met, in the order of the first calls."""

    def __init__(self) -> None:
        self.stops: list[tuple[str, str]] = []
        self._known: set[object] = set()

    def trace(self, frame, event, _) -> None:
        if event != "call" or frame.f_code in self._known:
            return
        room = _room(frame)
        if not room or frame.f_code.co_name.startswith(("<", "__")) or _is_property(frame):
            return
        outer = frame.f_back
        while outer is not None and not _room(outer):
            outer = outer.f_back
        if room.startswith(WAY) or (outer is not None and _room(outer).startswith(WAY)):
            self._known.add(frame.f_code)
            self.stops.append((room, frame.f_code.co_qualname))

    def figures(self) -> tuple[int, int, int]:
        """Return stops, rooms and climbs."""
        rooms = [room for room, _ in self.stops]
        pairs = enumerate(pairwise(rooms), 1)
        climbs = sum(room != before and room in rooms[:at] for at, (before, room) in pairs)
        return len(rooms), len({*rooms}), climbs


def _room(frame) -> str:
    """Return the module of a frame, relative to the root; "" if it is not of this project."""
    path = frame.f_code.co_filename
    own = path.startswith(f"{ROOT}{os.sep}") and not path.startswith(str(ROOT / "benchmarks"))
    return path.removeprefix(f"{ROOT}{os.sep}") if own else ""


def _is_property(frame) -> bool:
    owner, _, name = frame.f_code.co_qualname.partition(".")
    return isinstance(vars(frame.f_globals.get(owner, object)).get(name), property)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="reference")
    parser.add_argument("--list", action="store_true", help="print the stops")
    given = parser.parse_args()
    walk = Walk()
    LocalExecutor._new_pool = lambda _: _Pool()
    work, add_task = RunSession._do, Store.add_task

    def walking(*arguments, **named):
        sys.setprofile(walk.trace)
        try:
            return work(*arguments, **named)
        finally:
            sys.setprofile(None)

    def storing(*arguments, **named):
        try:
            return add_task(*arguments, **named)
        finally:
            sys.setprofile(None)

    RunSession._do, Store.add_task = walking, storing
    with tempfile.TemporaryDirectory() as folder:
        options = Options(
            Path(folder), (given.backend,), ("add",), ("f32",), "smoke", expectations=()
        )
        runner.run(options)
    stops, rooms, climbs = walk.figures()
    if given.list:
        print(*(f"{room}: {name}" for room, name in walk.stops), sep="\n")
    own = sum(room.startswith(WAY) for room, _ in walk.stops)
    print(f"{stops} stops, {own} of them on the way itself, in {rooms} rooms, {climbs} climbs")


if __name__ == "__main__":
    main()
