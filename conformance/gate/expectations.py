"""Expectations: known divergences, each with the reason why it is known and what shows it.

conformance/gate/reading.py reads them from files; the shipped ones are in conformance/gate/known/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from conformance.backends.base import ANSWERED
from conformance.backends.registry import names_of
from conformance.executors.lost import own_words
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.known.computed import Computed, ulps
from conformance.known.rewritings.stated import Stated, StatedRewriting
from conformance.results.store import CellKey
from conformance.stablehlo.emit import operations_in, spell_operation
from conformance.verdict import Failing, LostBatch, Record, Verdict
from reference.ir.program import Operation
from reference.ops.table import OPS

FAILING = tuple(verdict.value for verdict in Verdict if verdict.fails)
"""The verdicts that an expectation can match."""

WITHOUT_RESULTS = tuple(v.value for v in Verdict if v.fails and not v.has_results)
"""The verdicts on programs that gave no results: what the backend says is all there is."""

WITH_RESULTS = tuple(verdict for verdict in FAILING if verdict not in WITHOUT_RESULTS)
"""The verdicts that an expectation matches where it names none."""


class Counterexample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that shows a known divergence, and its inputs.

    `program` is a module of StableHLO as MLIR's text. `inputs` are the arguments of its `main`, as
    conformance/gate/counterexamples.py describes.
    """

    program: str
    inputs: tuple[str, ...] = ()


class Versions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The versions that an entry is true of (conformance/gate/versions.py); "" for all.

    `jaxlib` and `plugin`, the backend's own version, are conditions such as ">=2.1,<3"; `library`
    is the beginning of the SHA-256 of a plugin's library, or several with commas.
    """

    jaxlib: str = ""
    plugin: str = ""
    library: str = ""


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One known divergence: a [[known]] table of a file, whose keys are these fields.

    It knows a failure of an op and element type on a backend that its patterns (names or globs)
    match, with one of the verdicts, a class that one of `kinds` matches, and no error over
    `max_ulp`. One of `words` must be in the message: of a program without results, in what the
    backend itself says. One of `where` must be in the operation as MLIR's generic form spells it,
    of a program without results. Both are patterns as `contains` takes them. A program that
    ends its process without a word is known only where `where` is given. An op written "convolution
    + maximum" is those operations going wrong only together. `versions` are those that it is true
    of: of jaxlib, such as "<0.11", or those of `Versions`. An entry that is `rare` does not have
    all cases of its cells run in processes of their own, though all that it knows is that processes
    end. `isa` is a condition on the instruction sets that XLA's CPU compiler targets, such as
    "<AVX512_FP16" (conformance/backends/isa.py).
    An entry that is `flaky` knows cases that do not fail every time, which no other entry does, and
    batches that failed as a whole alone; it is never stale.
    An `unpredictable` entry is about elements that may have any value
    (conformance/gate/unpredictable.py).
    `computes` is what the backend computes in place of the op (conformance/known/template.py): the
    entry knows the elements that are within `within` of that, and nothing else. Where it `flushes`,
    subnormal numbers are zeros on the way; `constants` are the operands that must be constants to
    a compiler, by name or glob. Where `instead_of` is given, that and `computes` are a pair of
    patterns (conformance/known/rewritings/terms.py): what is computed in place of several
    operations, the last of them being `op`.
    """

    id: str
    op: tuple[str, ...]
    reason: str
    element_types: tuple[str, ...] = ("*",)
    verdicts: tuple[str, ...] = WITH_RESULTS
    kinds: tuple[str, ...] = ("*",)
    words: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    link: str = ""
    counterexample: Counterexample | None = None
    versions: str | Versions = ""
    max_ulp: float = float("inf")
    rare: bool = False
    backends: tuple[str, ...] = ("*",)
    isa: str = ""
    flaky: bool = False
    unpredictable: bool = False
    instead_of: str = ""
    computes: str = ""
    within: str = ""
    flushes: bool = False
    constants: tuple[str, ...] = ()

    @property
    def hypothesis(self) -> Stated | None:
        """What it says that a backend computes in place of the op; None where it does not."""
        if not self.computes:
            return None
        within = ulps(self.within)
        if self.instead_of:
            patterns = self.instead_of, self.computes
            return StatedRewriting(self.id, self.element_types, *patterns, within, self.flushes)
        return Computed(
            self.id,
            self.op,
            self.element_types,
            self.computes,
            within,
            self.flushes,
            self.constants,
            self.unpredictable,
        )

    def applies(self, cell: CellKey) -> bool:
        """Whether it speaks of that cell."""
        op, element_type, backend = cell
        return (
            any(_matches(name, self.op) for name in names_and_twins(op))
            and _matches(element_type, self.element_types)
            and self.speaks_of(backend)
        )

    def speaks_of(self, backend: str) -> bool:
        """Tell whether it matches that backend, by its name or its family's."""
        return any(_matches(name, self.backends) for name in names_of(backend))

    def knows(self, failure: Failure | Record) -> bool:
        """Whether that failure is the one it speaks of."""
        classes = classes_of(failure)
        return (
            self.names(failure.verdict, failure.kind, failure.message, failure.worst_ulp, classes)
            and self.applies((failure.op, failure.element_type, failure.backend))
            and (not self.where or any(map(self.is_where, spelled(failure))))
        )

    def is_where(self, operation: str) -> bool:
        """Tell whether one of `where` is in an operation."""
        return any(contains(operation, pattern) for pattern in self.where)

    def knows_batch(self, batch: LostBatch) -> bool:
        """Tell whether it knows a batch that failed as a whole, which only a flaky entry can."""
        return (
            self.flaky
            and self.names(batch.verdict, batch.kind, batch.message)
            and any(self.applies((op, of, batch.backend)) for op, of, _ in batch.cases)
        )

    def is_of_class(self, kind: str, classes: Sequence[str] = ()) -> bool:
        """Tell whether it knows a class; `classes` are those of what fails now and then.

        What does not fail every time is known by entries that say so alone: those that are flaky,
        and unpredictable ones that name it.
        """
        if kind != NOT_DETERMINISTIC:
            return _matches(kind, self.kinds)
        if self.flaky:
            return any(_matches(one, self.kinds) for one in (kind, *classes))
        return self.unpredictable and kind in self.kinds

    def names(
        self,
        verdict: Verdict,
        kind: str,
        message: str,
        worst_ulp: float | None = None,
        classes: Sequence[str] = (),
    ) -> bool:
        """Whether it speaks of such a failure, whichever op it is of."""
        return (
            verdict.value in self.verdicts
            and self.is_of_class(kind, classes)
            and self.is_told(verdict, message)
            and (worst_ulp or 0.0) <= self.max_ulp
        )

    def is_told(self, verdict: Verdict, message: str) -> bool:
        """Tell whether the message has one of the words, or none are asked for."""
        if verdict.has_results:
            return not self.words or any(contains(message, pattern) for pattern in self.words)
        said = own_words(message)
        is_silent = not said and bool(self.where)
        return is_silent or any(contains(said, pattern) for pattern in self.words)


@dataclass(frozen=True, slots=True)
class Failure:
    """What expectations are asked about, where there is no record: what failed, and how.

    `op` may be several, that go wrong together; `element_type` is the name of a cell's column.
    `operation` is the one that fails, the last of several.
    """

    op: str
    element_type: str
    backend: str
    verdict: Verdict
    kind: str
    message: str = ""
    worst_ulp: float | None = None
    operation: Operation | None = None


def classes_of(failure: Failure | Record) -> tuple[str, ...]:
    """Return the classes with which a case failed that did not fail every time."""
    found = failure.repeats if isinstance(failure, Record) else None
    return found.classes if found else ()


def spelled(failure: Failure | Record) -> Iterator[str]:
    """Yield the operations that may have failed, as MLIR's generic form spells them."""
    if isinstance(failure, Record):
        yield from operations_in(failure.detail.program) if failure.detail else ()
    elif failure.operation is not None:
        yield spell_operation(failure.operation)


def contains(text: str, pattern: str) -> bool:
    """Tell whether a pattern matches part of a text.

    `*` in it stands for any text; a pattern between two `/` is a regular expression of Python, in
    which `.` is a line's end, too.
    """
    return _compiled(pattern).search(text) is not None


def is_regular_expression(pattern: str) -> bool:
    """Tell whether a pattern of `words` or `where` is one, between two `/`."""
    return len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/")


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    if is_regular_expression(pattern):
        return re.compile(pattern[1:-1], re.DOTALL)
    return re.compile(".*?".join(map(re.escape, pattern.split("*"))), re.DOTALL)


def failures_of(cell: CellKey, failing: Sequence[Failing], operation: Operation) -> list[Failure]:
    """What expectations are asked about the elements that fail in results of an operation."""
    return [
        Failure(*cell, one.verdict, one.kind, one.message, one.worst_ulp, operation)
        for one in failing
    ]


def names_and_twins(op: str) -> tuple[str, ...]:
    """An op's name, and that of the op it is lowered to, whose faults are its own."""
    record = OPS.get(op)
    return (op, record.twin) if record is not None and record.twin else (op,)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def hypotheses_of(expectations: Sequence[Expectation], backend: str) -> tuple[Stated, ...]:
    """Return what expectations say that a backend computes in place of ops."""
    about = (one.hypothesis for one in expectations if one.speaks_of(backend))
    return tuple(found for found in about if found is not None)


def known_by(expectations: Sequence[Expectation], failure: Failure | Record) -> str:
    """The id of the first expectation that knows the failure; "" for none, or for no failure."""
    if not failure.verdict.fails:
        return ""
    return next((e.id for e in expectations if e.knows(failure)), "")


def settled(record: Record, expectations: Sequence[Expectation]) -> Record:
    """The record with which expectations know what fails in it: known where all of it is.

    Shown is the worst of what none knows, or, where all is known, the worst.
    """
    if not record.failing:
        return replace(record, known=known_by(expectations, record))
    failing = tuple(replace(f, known=_known(expectations, record, f)) for f in record.failing)
    new = [one for one in failing if not one.known]
    shown = max(new or failing, key=lambda one: one.verdict.severity)  # the first of the worst
    detail = record.detail
    if detail is not None:
        inputs = shown.inputs or detail.inputs
        detail = replace(detail, inputs=inputs, wrong=shown.wrong, elements=shown.elements)
    return replace(
        record, verdict=shown.verdict, kind=shown.kind, message=shown.message, known=shown.known,
        failing=failing, detail=detail,
    )  # fmt: skip


def _known(expectations: Sequence[Expectation], record: Record, one: Failing) -> str:
    shown = replace(
        record, verdict=one.verdict, kind=one.kind, message=one.message, worst_ulp=one.worst_ulp
    )
    return known_by(expectations, shown)


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
        if e.verdicts == only and not (e.rare or e.flaky) and not ANSWERED.keys() >= {*e.kinds}
    )
