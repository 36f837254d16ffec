"""The program after each pass of a compiler, read back from the modules that XLA dumps.

Source: jaxlib 0.10.2 and 0.12.0, measured. A module is dumped after each pass that changed it, at
the beginning of each pipeline, and before and after all passes, as an HloProto.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from conformance.backends.base import BackendError, NotReadBack, Settings
from conformance.backends.compiled.modules import RewrittenProgram, read_back
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
"""Largest number of stages that are read from a compilation; loops of passes may make thousands."""

_MEMORY = Path("/dev/shm")  # noqa: S108 - a temporary folder with a random name is made in it
"""The folder of files in memory on Linux: to write and remove a dump on a disk may take longer than
to compile.
"""

_ROOM = 1 << 30
"""Free bytes of memory for files with which dumps are written there; a dump has a few MB at most,
unless a pass folds a large constant.
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """A program between two passes.

    Attributes:
        name: the pass that the stage follows, or stands in, where the pass has a pipeline of its
            own; "" for the stages before and after all passes.
        pipeline: the pipeline of that pass.
        path: the dumped module.
    """

    name: str
    pipeline: str
    path: Path

    def read(self, compiled: Program) -> RewrittenProgram:
        """Return the program that the stage computes, given the program that was compiled.

        Raises:
            NotReadBack: when it has a construct that no program of ours can express.
        """
        return read_back(_module_of(self.path.read_bytes()), compiled)


@contextmanager
def dump_folder() -> Generator[Path]:
    """Make a folder for a dump, in memory if there is room, and remove it after the block."""
    in_memory = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _ROOM
    place = str(_MEMORY) if in_memory else None
    with tempfile.TemporaryDirectory(prefix="hlo-conformance-", dir=place) as folder:
        yield Path(folder)


def dumped_stages(session: Session, program: Program, folder: Path, text: str = "") -> list[Stage]:
    """Return the stages of a program in order; they are written to a folder.

    They are those of the executable in the session's small cache, if it gives them. Otherwise the
    program is compiled for a dump, without optimisation of the generated code, because nobody runs
    it; the passes are the same. `text` is the source text, if there is one.

    If the compiler fails, the stages before the failure are returned.

    Raises:
        Unsupported: when the backend has no compiler that can dump stages.
    """
    for name, module in session.stages(program, text).items():
        if _DUMPED.match(name) and Path(name).name == name:
            (folder / name).write_bytes(module)
    if any(folder.iterdir()):
        return stages_in(folder)
    with suppress(BackendError):
        told = Settings(unoptimized=True, dump=str(folder), dump_as_protos=True)
        session.configured(told).compile(program, text)
    return stages_in(folder)


def stages_in(folder: Path) -> list[Stage]:
    """Return the stages of the module in a folder that has the most stages, in order."""
    found = [(match, path) for path in folder.iterdir() if (match := _DUMPED.match(path.name))]
    if not found:
        return []
    ((module, _),) = Counter(match["module"] for match, _ in found).most_common(1)
    own = [(match, path) for match, path in found if match["module"] == module]
    ordered = sorted(own, key=lambda one: _position(one[0]))
    pipelines = {match["pipeline"] for match, _ in own if match["pipeline"]}
    stages: list[Stage] = []
    for index, (match, path) in enumerate(ordered):
        name, pipeline = match["name"] or "", match["pipeline"] or ""
        if name == _BEGINS:
            stages += _pipeline_stages(ordered, index)
        elif name not in pipelines:  # the last pass of that pipeline made the same module
            stages.append(Stage(name, pipeline, path))
    return stages[:_MOST_STAGES]


def _pipeline_stages(ordered: Sequence[tuple[re.Match[str], Path]], number: int) -> list[Stage]:
    """Return the stage at the start of a pipeline, if an enclosing pass has changed the module
    before.

    Any other pipeline begins with the module that was dumped before.
    """
    if not number:
        return []
    path = ordered[number][1]
    if ordered[number - 1][1].read_bytes() == path.read_bytes():
        return []
    outer = {match["pipeline"] for match, _ in ordered[:number]}
    ended = (match for match, _ in ordered[number:] if match["pipeline"] in outer)
    found = (one for one in ended if one["name"] and one["name"] != _BEGINS)
    return [Stage(one["name"], one["pipeline"], path) for one in found][:1]


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
