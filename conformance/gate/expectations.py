"""Expectations: known divergences, each with the reason why it is known and what shows it.

conformance/gate/reading.py reads them from files; the shipped ones are in conformance/gate/known/.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import msgspec

from conformance.backends.base import ANSWERED
from conformance.backends.registry import names_of
from conformance.results.store import CellKey
from conformance.verdict import Record, Verdict
from reference.ops.table import OPS

FAILING = tuple(verdict.value for verdict in Verdict if verdict.fails)
"""The verdicts that an expectation can speak of."""


class Counterexample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that shows a known divergence, and its inputs.

    `program` is a module of StableHLO as MLIR's text. `inputs` are the arguments of its `main`, as
    conformance/gate/counterexamples.py describes.
    """

    program: str
    inputs: tuple[str, ...] = ()


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One known divergence: a [[known]] table of a file, whose keys are these fields.

    It knows a failure of an op and element type on a backend that its patterns (names or globs)
    match, with one of the verdicts, a class that one of `kinds` matches, one of `words` in what is
    told of it, and no error over `max_ulp`. An op written "convolution + maximum" is those
    operations going wrong only together. `versions` are those of jaxlib that it is true of, such as
    "<0.11". An entry that is `rare` does not have all cases of its cells run in processes of their
    own, though all that it knows is that processes end. `isa` is a condition on the instruction
    sets that XLA's CPU compiler targets, such as "<AVX512_FP16" (conformance/backends/isa.py).
    """

    id: str
    op: tuple[str, ...]
    reason: str
    element_types: tuple[str, ...] = ("*",)
    verdicts: tuple[str, ...] = FAILING
    kinds: tuple[str, ...] = ("*",)
    words: tuple[str, ...] = ("",)
    link: str = ""
    counterexample: Counterexample | None = None
    versions: str = ""
    max_ulp: float = float("inf")
    rare: bool = False
    backends: tuple[str, ...] = ("*",)
    isa: str = ""

    def applies(self, cell: CellKey) -> bool:
        """Whether it speaks of that cell."""
        op, element_type, backend = cell
        return (
            any(_matches(name, self.op) for name in _names(op))
            and _matches(element_type, self.element_types)
            and self.speaks_of(backend)
        )

    def speaks_of(self, backend: str) -> bool:
        """Tell whether it matches that backend, by its name or its family's."""
        return any(_matches(name, self.backends) for name in names_of(backend))

    def knows(self, failure: Failure | Record) -> bool:
        """Whether that failure is the one it speaks of."""
        return self.names(
            failure.verdict, failure.kind, failure.message, failure.worst_ulp
        ) and self.applies((failure.op, failure.element_type, failure.backend))

    def names(
        self, verdict: Verdict, kind: str, message: str, worst_ulp: float | None = None
    ) -> bool:
        """Whether it speaks of such a failure, whichever op it is of."""
        return (
            verdict.value in self.verdicts
            and _matches(kind, self.kinds)
            and any(word in message for word in self.words)
            and (worst_ulp or 0.0) <= self.max_ulp
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """What expectations are asked about, where there is no record: what failed, and how.

    `op` may be several, that go wrong together; `element_type` is the name of a cell's column.
    """

    op: str
    element_type: str
    backend: str
    verdict: Verdict
    kind: str
    message: str = ""
    worst_ulp: float | None = None


def _names(op: str) -> tuple[str, ...]:
    """An op's name, and that of the op it is lowered to, whose faults are its own."""
    record = OPS.get(op)
    return (op, record.twin) if record is not None and record.twin else (op,)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def known_by(expectations: Sequence[Expectation], failure: Failure | Record) -> str:
    """The id of the first expectation that knows the failure; "" for none, or for no failure."""
    if not failure.verdict.fails:
        return ""
    return next((e.id for e in expectations if e.knows(failure)), "")


def crashes(expectations: Sequence[Expectation], cell: CellKey) -> bool:
    """Whether the cell's programs are known to end their process, and not just now and then."""
    return any(one.applies(cell) for one in ending(expectations))


def ending(expectations: Sequence[Expectation]) -> tuple[Expectation, ...]:
    """The expectations that know cells to end their process, and not just now and then.

    After an answer, such as an internal error, the process goes on.
    """
    only = (Verdict.CRASHED.value,)
    return tuple(
        e
        for e in expectations
        if e.verdicts == only and not e.rare and not ANSWERED.keys() >= {*e.kinds}
    )
