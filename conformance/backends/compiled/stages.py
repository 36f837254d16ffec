"""The program after each pass of a compiler, read back from the modules that XLA dumps.

Source: jaxlib 0.10.2 and 0.12.0, measured. A module is dumped after each pass that changed it, at
the beginning of each pipeline, and before and after all passes, as an HloProto.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from conformance.backends.base import BackendError, NotReadBack, Settings
from conformance.backends.compiled.backend import read_back
from conformance.backends.session import Session
from reference.ir.program import Program

_DUMPED = re.compile(
    r"^(?P<module>module_\d+)\.(?:"
    r".+?\.(?P<number>\d{4})\.(?P<pipeline>.+?)\.after_(?P<name>.+?)(?:\.before_.+?)?"
    r"|.+\.(?P<before>before_optimizations)"
    r"|.+after_optimizations)\.hlo\.pb$"
)
_BEGINS = "pipeline-start"
_MOST_STAGES = 400
"""Stages that are read of one compilation; loops of passes may make thousands."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A program between two passes.

    Attributes:
        name: the pass that the stage follows, "" for the stage before all passes.
        pipeline: the pipeline of that pass.
        path: the dumped module.
    """

    name: str
    pipeline: str
    path: Path

    def program(self, compiled: Program) -> Program:
        """Return the stage as a program of as many processes as the compiled one.

        Raises:
            NotReadBack: when it has a construct that no program of ours can express.
        """
        return read_back(_module_of(self.path.read_bytes()), compiled)


def dumped_stages(session: Session, program: Program, folder: Path) -> list[Stage]:
    """Compile a program and return its stages in order, dumped into a folder.

    A compiler that breaks has dumped the stages before.

    Raises:
        Unsupported: when the backend has no compiler that could be told.
    """
    with suppress(BackendError):
        session.configured(Settings(dump=str(folder), dump_as_protos=True)).compile(program)
    return stages_in(folder)


def stages_in(folder: Path) -> list[Stage]:
    """Return the stages of the module in a folder that has the most of them, in order."""
    found = [(match, path) for path in folder.iterdir() if (match := _DUMPED.match(path.name))]
    if not found:
        return []
    ((module, _),) = Counter(match["module"] for match, _ in found).most_common(1)
    own = [(match, path) for match, path in found if match["module"] == module]
    pipelines = {match["pipeline"] for match, _ in own if match["pipeline"]}
    ordered = sorted(own, key=lambda one: _position(one[0]))
    stages = [
        Stage(match["name"] or "", match["pipeline"] or "", path)
        for match, path in ordered
        # a pipeline is a pass of another one: its last pass made the same module
        if match["name"] != _BEGINS and match["name"] not in pipelines
    ]
    return stages[:_MOST_STAGES]


def _position(match: re.Match[str]) -> tuple[int, int]:
    if match["before"]:
        return 0, 0
    return (1, int(match["number"])) if match["number"] else (2, 0)


def _module_of(proto: bytes) -> bytes:
    """Return the HloModuleProto in an HloProto, whose first field it is."""
    if proto[:1] != b"\x0a":
        raise NotReadBack("dumped module: the file does not begin with an HLO module")
    size, at, shift = 0, 1, 0
    while True:
        byte = proto[at]
        size |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return proto[at : at + size]
