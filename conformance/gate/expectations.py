"""Expectations: known divergences, each with its reason and a counterexample.

conformance/gate/reading.py reads them from files. conformance/gate/known/ has the shipped files,
one for each family of causes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from conformance.backends.base import ANSWERED
from conformance.backends.registry import names_of
from conformance.executors.lost import ending, own_words
from conformance.gate.classes import NOT_DETERMINISTIC, UNPREDICTED
from conformance.known.crashing_operations import describes
from conformance.known.entry_prediction import ROUNDING, EntryPrediction, ulps
from conformance.results.store import CellKey
from conformance.stablehlo.emit import operations_in, spell_operation
from conformance.text import contains, matches_any
from conformance.verdict import Failing, LostBatch, Record, Verdict
from reference.ir.program import Operation
from reference.ops.table import OPS

FAILING = tuple(verdict.value for verdict in Verdict if verdict.fails)
"""Verdicts that an expectation can match."""

WITHOUT_RESULTS = tuple(v.value for v in Verdict if v.fails and not v.has_results)
"""Verdicts on programs without results, about which only the backend's words are known."""

WITH_RESULTS = tuple(verdict for verdict in FAILING if verdict not in WITHOUT_RESULTS)
"""Verdicts that an expectation matches if it names none."""


STATING = ("computes", "sums", "reorders")
"""Keys by which an entry states which elements it matches."""


class Counterexample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that shows a known divergence, and its inputs.

    `program` is a module of StableHLO as MLIR's text. `inputs` are the arguments of its `main`, as
    conformance/gate/counterexamples.py describes.
    """

    program: str
    inputs: tuple[str, ...] = ()


class Versions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Versions to which an entry is limited (conformance/gate/versions.py); "" for all.

    `jaxlib` and `plugin`, the backend's own version, are conditions such as ">=2.1,<3". `library`
    is the beginning of the SHA-256 of a plugin's library, or several with commas.
    """

    jaxlib: str = ""
    plugin: str = ""
    library: str = ""


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"name": "pass"}):
    """A rewriting: the pass of the compiler that makes it (key `pass`), and the change, as globs.

    conformance/localize/change.py describes the text of a change.
    """

    name: str
    change: tuple[str, ...] | str

    def matches(self, cause: str) -> bool:
        """Return whether a rewriting, as "pass: change", is this one."""
        changes = (self.change,) if isinstance(self.change, str) else self.change
        return matches_any(cause, [f"{self.name}: {change}" for change in changes])


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One known divergence: a [[known]] table of a file, whose keys are these fields.

    docs/divergences.md describes the keys. An entry matches a failure if all its conditions hold:
    patterns (names or globs) of backend, op and element type; any of `verdicts` and `kinds`; no
    error over `max_ulp`; any of `words` in the message, for a program without results in the
    backend's own words; any of `where` in the operation in MLIR's generic form; the `cause`. A
    process that ends without a message matches only if `where` is given; its words are then the
    signal, such as "SIGSEGV". An op "convolution + maximum" means these operations, wrong only as a
    group. `flaky` entries, and no others, match what does not fail every time; they are never
    stale.

    An entry with `computes` (conformance/known/template.py) or `sums` states the values instead. It
    matches only elements that differ from these by no more than `within`; one that `reorders` only
    elements that depend on the order of a window's elements. An entry with a `title` is on the page
    of findings.
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
    title: str = ""
    counterexample: Counterexample | None = None
    versions: str | Versions = ""
    max_ulp: float = float("inf")
    cause: Cause | None = None
    rare: bool = False
    backends: tuple[str, ...] = ("*",)
    isa: str = ""
    flaky: bool = False
    unpredictable: bool = False
    computes: str = ""
    within: str = ""
    flushes: bool = False
    constants: tuple[str, ...] = ()
    any_value: bool = False
    sums: str = ""
    reorders: bool = False

    @property
    def predicts(self) -> bool:
        """Whether the entry states what the backend computes, and not only classes."""
        return bool(self.stating_key)

    @property
    def stating_key(self) -> str:
        """The key by which the entry states which elements it matches; "" if there is none."""
        return next((key for key in STATING if getattr(self, key)), "")

    @property
    def hypothesis(self) -> EntryPrediction | None:
        """The prediction of a backend's results; None if the entry does not state it."""
        if not self.predicts:
            return None
        return EntryPrediction(
            self.id, self.op, self.element_types, self.computes, ulps(self.within), self.flushes,
            self.constants, self.where, self.unpredictable, self.any_value,
            self.within == ROUNDING, self.sums, self.reorders,
        )  # fmt: skip

    def applies(self, cell: CellKey) -> bool:
        """Return whether the entry is about a cell."""
        op, element_type, backend = cell
        return (
            any(matches_any(name, self.op) for name in names_of_op(op))
            and matches_any(element_type, self.element_types)
            and self.matches_backend(backend)
        )

    @property
    def needs_counterexample(self) -> bool:
        """Whether a counterexample is required.

        A flaky entry needs none. An entry that is only about ops of XlaBuilder cannot have one,
        because programs consist of operations of StableHLO.
        """
        twins = [op in OPS and bool(OPS[op].twin) for op in self.op]
        return not self.flaky and not (twins and all(twins))

    @property
    def expects_timeout(self) -> bool:
        """Whether the entry is about timeouts only."""
        return self.verdicts == (Verdict.TIMED_OUT.value,)

    def matches_backend(self, backend: str) -> bool:
        """Return whether the entry matches a backend, by the backend's name or its family's."""
        return any(matches_any(name, self.backends) for name in names_of(backend))

    def matches(self, failure: Failure | Record, cause: str = "") -> bool:
        """Return whether the entry matches a failure, explained by the rewriting `cause` if any."""
        if self.cause is not None and not self.cause.matches(cause):
            return False
        classes = classes_of(failure)
        return (
            self.matches_except_op(
                failure.verdict, failure.kind, failure.message, failure.worst_ulp, classes
            )
            and self.applies((failure.op, failure.element_type, failure.backend))
            and (not self.where or any(map(self.matches_operation, operation_texts(failure))))
        )

    def matches_operation(self, operation: str) -> bool:
        """Return whether an operation contains any text of `where`."""
        return any(describes(pattern, operation) for pattern in self.where)

    def matches_batch(self, batch: LostBatch) -> bool:
        """Return whether the entry matches a batch that failed as a whole.

        A batch is not a single operation, which `where` could describe. A batch that does not fail
        every time matches only a flaky entry.
        """
        is_steady = batch.failed == batch.runs and bool(self.words) and not self.where
        return (
            (self.flaky or is_steady)
            and self.matches_except_op(batch.verdict, batch.kind, batch.message)
            and any(self.applies((op, of, batch.backend)) for op, of, _ in batch.cases)
        )

    def matches_class(self, kind: str, classes: Sequence[str] = ()) -> bool:
        """Return whether the entry matches a class; `classes` are the classes of intermittent
        failures.

        Failures that come and go match only flaky entries, and unpredictable entries that name
        their class.
        """
        if kind != NOT_DETERMINISTIC:
            return matches_any(kind, self.kinds)
        if self.flaky:
            return any(matches_any(one, self.kinds) for one in (kind, *classes))
        return self.unpredictable and kind in self.kinds

    def matches_except_op(
        self,
        verdict: Verdict,
        kind: str,
        message: str,
        worst_ulp: float | None = None,
        classes: Sequence[str] = (),
    ) -> bool:
        """Return whether the entry matches a failure, except for its op."""
        return (
            verdict.value in self.verdicts
            and self.matches_class(kind, classes)
            and self.matches_words(verdict, message)
            and (worst_ulp or 0.0) <= self.max_ulp
        )

    def matches_words(self, verdict: Verdict, message: str) -> bool:
        """Return whether the message contains any of the words; true if the entry has no words."""
        if verdict.has_results:
            return not self.words or any(contains(message, pattern) for pattern in self.words)
        said = own_words(message)
        if not self.words:
            return not said and bool(self.where)
        if not said and self.where:
            said = ending(message)
        return any(contains(said, pattern) for pattern in self.words)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure without a `Record`, to be matched with the expectations.

    `op` may be several that are wrong only as a group. `element_type` is the name of a cell's
    column. `operation` is the failing operation, the last of several.
    """

    op: str
    element_type: str
    backend: str
    verdict: Verdict
    kind: str
    message: str = ""
    worst_ulp: float | None = None
    operation: Operation | None = None
    causes: tuple[str, ...] = ()


def classes_of(failure: Failure | Record) -> tuple[str, ...]:
    """Return the classes of a case that did not fail every time."""
    found = failure.repeats if isinstance(failure, Record) else None
    return found.classes if found else ()


def operation_texts(failure: Failure | Record) -> Iterator[str]:
    """Yield the operations that may have failed, in MLIR's generic form."""
    if isinstance(failure, Record):
        yield from operations_in(failure.detail.program) if failure.detail else ()
    elif failure.operation is not None:
        yield spell_operation(failure.operation)


def failures_of(cell: CellKey, failing: Sequence[Failing], operation: Operation) -> list[Failure]:
    """Return the failures of an operation's results, a failure for each class of wrong elements."""
    return [
        Failure(*cell, one.verdict, one.kind, one.message, one.worst_ulp, operation, one.causes)
        for one in failing
    ]


def names_of_op(op: str) -> tuple[str, ...]:
    """Return an op's name, and the name of the op that it is lowered to, whose faults it shares."""
    record = OPS.get(op)
    return (op, record.twin) if record is not None and record.twin else (op,)


def hypotheses_of(expectations: Sequence[Expectation], backend: str) -> tuple[EntryPrediction, ...]:
    """Return the hypotheses that expectations state about a backend."""
    about = (
        expectation.hypothesis
        for expectation in expectations
        if expectation.matches_backend(backend)
    )
    return tuple(found for found in about if found is not None)


def matching_entry(expectations: Sequence[Expectation], failure: Failure | Record) -> str:
    """Return the id of the first expectation that matches the failure; "" for none.

    If rewritings explain the failure, expectations are asked first that name a cause. They match if
    each of the rewritings is the cause of any.
    """
    if not failure.verdict.fails:
        return ""
    by_cause = [e for e in expectations if e.cause is not None]
    ids = [
        next((e.id for e in by_cause if e.matches(failure, cause)), "") for cause in failure.causes
    ]
    if ids and all(ids):
        return ids[0]
    return next((e.id for e in expectations if e.cause is None and e.matches(failure)), "")


def match_record(record: Record, expectations: Sequence[Expectation]) -> Record:
    """Return the record with the expectations that match; it is known if all classes are.

    It shows the worst class that no expectation matches, or the worst class if all match.
    """
    if not record.failing:
        return replace(record, known=matching_entry(expectations, record))
    failing = tuple(_match_failing(expectations, record, one) for one in record.failing)
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


def _match_failing(expectations: Sequence[Expectation], record: Record, one: Failing) -> Failing:
    shown = replace(
        record, verdict=one.verdict, kind=one.kind, message=one.message, worst_ulp=one.worst_ulp,
        failing=(one,),
    )  # fmt: skip
    id_ = matching_entry(expectations, shown)
    entry = next((e for e in expectations if e.id == id_), None)
    states_values = entry is None or (
        not (entry.any_value or entry.reorders)
        and (
            one.kind not in UNPREDICTED
            or entry.unpredictable
            or entry.flaky
            or entry.max_ulp < float("inf")
        )
    )
    return replace(one, known=id_, unpredicted=0 if states_values else one.wrong - one.predicted)


def is_crash_known(expectations: Sequence[Expectation], cell: CellKey) -> bool:
    """Return whether the cell's programs are known to crash or time out, and not only rarely."""
    return any(entry.applies(cell) for entry in crash_entries(expectations))


def is_overwriting_known(expectations: Sequence[Expectation], cell: CellKey) -> bool:
    """Return whether the cell's programs are known to write to memory that is not theirs.

    A flaky entry about crashes says so: whether the process crashes depends on chance. Programs
    that run later in the same process may have wrong results.
    """
    return any(
        e.flaky and Verdict.CRASHED.value in e.verdicts and e.applies(cell) for e in expectations
    )


def crash_entries(expectations: Sequence[Expectation]) -> tuple[Expectation, ...]:
    """Return the expectations about cells that crash or time out, without flaky entries.

    Entries about answers, such as an internal error, are left out: the process continues.
    """
    ends = {Verdict.CRASHED.value, Verdict.TIMED_OUT.value}
    return tuple(
        e
        for e in expectations
        if ends >= {*e.verdicts} and not (e.rare or e.flaky) and not ANSWERED.keys() >= {*e.kinds}
    )
