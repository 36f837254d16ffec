"""The passes that XLA runs on a program, read from its dumped files and its log.

Source: jaxlib 0.10.2 and 0.12.0, measured. A file is dumped after each pass that changed the
program, and at the beginning of each pipeline; its name states the pass. With `hlo_pass_pipeline`
logged, a line is printed when a pass begins, and another when it has ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_DUMPED = re.compile(r"\.(\d{4})\.(?P<pipeline>[^.]+)\.after_(?P<name>[^.]+)\.before_[^.]+\.txt")
_BEGINS = "pipeline-start"
_STARTED = re.compile(r"\]\s+HLO pass (?P<name>\S.*)$")
_ENDED = re.compile(r"\] HLO pass: (?P<name>\S.*?) time: ")

PRINTING = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "hlo_pass_pipeline=1"}
"""The environment in which XLA prints passes; a process reads it when it logs its first line."""


@dataclass(frozen=True, slots=True)
class Passes:
    """Passes of a compiler in the order in which they ran, each once.

    `single` are passes that change a program, `pipelines` are sequences of passes.
    """

    single: tuple[str, ...] = ()
    pipelines: tuple[str, ...] = ()


def dumped_passes(folder: Path) -> Passes:
    """Return the passes that changed a program, from the folder of its dumped stages."""
    found = [_DUMPED.search(path.name) for path in sorted(folder.iterdir())]
    told = [one for one in found if one is not None]
    pipelines = {one["pipeline"] for one in told}
    names = dict.fromkeys(one["name"] for one in told if one["name"] != _BEGINS)
    return Passes(
        tuple(name for name in names if name not in pipelines),
        tuple(name for name in names if name in pipelines),
    )


def unfinished_passes(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the passes that began and did not end, by the printed lines: the innermost first."""
    going_on: list[str] = []
    for line in lines:
        if ended := _ENDED.search(line):
            if ended["name"] in going_on:
                going_on = going_on[: len(going_on) - 1 - going_on[::-1].index(ended["name"])]
        elif started := _STARTED.search(line):
            going_on.append(started["name"])
    return tuple(reversed(going_on))
