"""Groups of new failures of a run with the same cause; each becomes an entry.

A cause is a class that predicts values, or the backend's message: in all ops and element types. Any
flushing of subnormal numbers is one cause. Other classes, and crashes without a message, may have
another cause in each op.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from conformance.executors.lost import (
    ABNORMAL_EXIT,
    BROKEN_HEAP,
    OVERWRITTEN,
    ending,
    own_words,
)
from conformance.gate.classes import CLASSES, NOT_DETERMINISTIC, OF_ONE_OPERATION, UNEXPLAINED
from conformance.gate.expectations import Expectation, classes_of
from conformance.gate.remarks import TODO
from conformance.known.entry_prediction import label
from conformance.stablehlo.emit import operations_in
from conformance.text import contains, one_line
from conformance.verdict import Detail, Failing, LostBatch, Record, Verdict
from reference.ops.table import OPS

_VARYING = re.compile(
    r"tensor<[^>]*>+"
    r"|\b(?:pred|bf16|[suc]\d+|f\d+\w*|token)\[[^\]]*\](?:\{[^}]*\})?"  # as HLO spells types
    r"|%[\w.-]+(?: = .*)?"  # names of HLO, and instructions to their ends
    r"|0x[0-9a-fA-F]+|\d+"
)
"""Parts of a message that depend on the program rather than the failure: types, names, addresses,
numbers.
"""

_OF_VALUES = (Verdict.DIVERGENT, Verdict.INACCURATE)

_LONGEST = 160
"""Number of characters of the backend's words that an entry requires."""

_NAME = re.compile(r'"(stablehlo|chlo|mhlo)\.([\w.]+)"')
_UNSAFE = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class NewFailure:
    """A failure of a recorded case that no entry matches, with the archive that shows it."""

    record: Record
    failing: Failing

    @property
    def size(self) -> tuple[int, int]:
        """Size of the program and its inputs, by which small programs come first."""
        detail = self.record.detail
        return (detail.program.count("\n"), len(self.failing.inputs)) if detail else (0, 0)


@dataclass(slots=True)
class FailureGroup:
    """New failures with the same cause on one backend, for one entry.

    Predicted values are `divergent` or `inaccurate` only by their size: such failures are one
    group. Crashes by overwritten memory are one group, too, whatever the signal.
    """

    backend: str
    words: str
    failures: list[NewFailure] = field(default_factory=list[NewFailure])
    is_varying: bool = False
    """Whether not all runs of the cases have these failures."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of the first failure."""
        return self.failures[0].failing.verdict

    @property
    def kind(self) -> str:
        """The class of the first failure."""
        return self.failures[0].failing.kind

    @property
    def ops(self) -> tuple[str, ...]:
        """The ops that the entry matches, in the order of the records."""
        return tuple(dict.fromkeys(_op_of(failure) for failure in self.failures))

    @property
    def element_types(self) -> tuple[str, ...]:
        """The element types, in the order of the records."""
        return tuple(dict.fromkeys(failure.record.element_type for failure in self.failures))

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts, in the order of the records."""
        return tuple(dict.fromkeys(failure.failing.verdict.value for failure in self.failures))

    @property
    def cases(self) -> list[str]:
        """The ids of the cases."""
        return list(dict.fromkeys(failure.record.id for failure in self.failures))

    @property
    def has_broken_heap(self) -> bool:
        """Whether the allocator reported damage, or programs end by either signal that follows from
        it. Then the program may end differently in another run.
        """
        signals = {ending(failure.failing.message) for failure in self.failures}
        return any(map(_is_allocator_abort, self.failures)) or signals >= {*OVERWRITTEN}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The classes that the entry should match, as patterns."""
        return tuple(
            dict.fromkeys(failure.failing.kind for failure in self.failures if failure.failing.kind)
        ) or ("*",)


def new_failures(record: Record) -> list[NewFailure]:
    """Return the failures of a record that no entry matches."""
    detail = record.detail or Detail("", b"", 0, 0)
    if not record.failing:
        if not record.is_new_failure:
            return []
        said = (record.verdict, record.kind, record.message)
        shown = Failing(*said, 0, worst_ulp=record.worst_ulp, inputs=detail.inputs)
        return [NewFailure(record, shown)]
    return [
        NewFailure(record, replace(one, inputs=one.inputs or detail.inputs))
        for one in record.failing
        if not one.known
    ]


def group_failures(records: Iterable[Record]) -> list[FailureGroup]:
    """Return the groups of all new failures in records, in their order."""
    found: dict[tuple[str, ...], FailureGroup] = {}
    for record in records:
        for failure in new_failures(record):
            words = "" if _is_allocator_abort(failure) else _words(failure)
            key = (record.backend, *_cause(failure, words))
            group = found.setdefault(key, FailureGroup(record.backend, words))
            group.failures.append(failure)
    return list(found.values())


def _cause(failure: NewFailure, words: str) -> tuple[str, ...]:
    """Return a key of the cause of a failure: failures with equal keys are one group."""
    one, op = failure.failing, _op_of(failure)
    if one.verdict is Verdict.FLUSHED:
        return (one.verdict.value,)
    if one.verdict in _OF_VALUES and one.kind not in UNEXPLAINED:
        return (one.kind, op if one.kind in OF_ONE_OPERATION else "")
    kind = _HEAP if not words and _may_be_overwritten(failure) else ending(one.message) or one.kind
    return (one.verdict.value, kind, words or op)


def group_varying(runs: Sequence[Sequence[Record]]) -> list[FailureGroup]:
    """Return groups of new failures that not all runs of a case have: a group for each op, for
    failures with results, and for failures without.
    """
    cases: dict[tuple[str, str, str, int], list[list[NewFailure]]] = {}
    for record in (record for records in runs for record in records):
        key = (record.backend, record.op, record.element_type, record.index)
        cases.setdefault(key, []).append(new_failures(record))
    found: dict[tuple[str, str, bool], FailureGroup] = {}
    for ends in cases.values():
        ways = Counter(way for failures in ends for way in {*map(_way_of, failures)})
        for failure in (failure for failures in ends for failure in failures):
            is_steady = ways[_way_of(failure)] == len(ends)
            if is_steady:
                continue
            backend, has_results = failure.record.backend, failure.failing.verdict.has_results
            key = (backend, _op_of(failure), has_results)
            group = found.setdefault(key, FailureGroup(backend, "", is_varying=True))
            group.failures.append(failure)
    return list(found.values())


def _way_of(failure: NewFailure) -> tuple[Verdict, str]:
    return failure.failing.verdict, failure.failing.kind


def _op_of(failure: NewFailure) -> str:
    """Return the op that an entry about a failure matches."""
    op = failure.record.op
    return op if failure.failing.verdict is Verdict.ACCEPTED else lowered_op(op)


_HEAP = "overwritten memory"
"""The class in groups of processes that end without a message of the backend."""


def _words(failure: NewFailure) -> str:
    return (
        ""
        if failure.failing.verdict.has_results
        else generalise_message(own_words(failure.failing.message))
    )


def _signal(failure: NewFailure) -> str:
    """Return the signal that ended a process without a message of the backend."""
    message = failure.failing.message
    return "" if own_words(message) else ending(message)


def _is_allocator_abort(failure: NewFailure) -> bool:
    """Return whether a process ended with the allocator's message, not the backend's."""
    said = own_words(failure.failing.message)
    return failure.failing.verdict is Verdict.CRASHED and any(
        contains(said, one) for one in BROKEN_HEAP
    )


def _may_be_overwritten(failure: NewFailure) -> bool:
    one = failure.failing
    return one.verdict is Verdict.CRASHED and ending(one.message) in OVERWRITTEN


def lowered_op(op: str) -> str:
    """Return the op of StableHLO to which an op of XlaBuilder is lowered, whose entries match its
    failures.
    """
    record = OPS.get(op)
    return record.twin if record is not None and record.twin else op


def generalise_message(message: str) -> str:
    """Return the part of a message that similar failures share, with `*` for program details.

    It is the first meaningful line, truncated if it is long.
    """
    lines = (one_line(line) for line in message.splitlines())
    first = next((line for line in lines if re.search(r"[A-Za-z]", line)), "")
    if first not in message:  # spaces were more than one: no part of the message any more
        first = next(line for line in message.splitlines() if one_line(line) == first)
    text = re.sub(r"\*[\s*]*\*", "*", _VARYING.sub("*", first.strip()))
    if len(text) > _LONGEST:
        text = text[:_LONGEST].rpartition(" ")[0] or text[:_LONGEST]
    return text.strip("* ") and text


def entry_of(group: FailureGroup, records: Sequence[Record], taken: Collection[str]) -> Expectation:
    """Return the entry of a group, without a counterexample; its id differs from all ids in
    `taken`.

    `records` are all of the run.
    """
    flaky = group.is_varying or group.kind == NOT_DETERMINISTIC
    results, words = group.verdict.has_results, (group.words,) if group.words else ()
    where: tuple[str, ...] = ()
    if group.has_broken_heap and not group.is_varying:
        words, where = (*BROKEN_HEAP, *OVERWRITTEN), (_operation(group),)
    elif group.is_varying and not results:
        words = tuple(
            dict.fromkeys(_words(failure) or _signal(failure) for failure in group.failures)
        )
        where = () if all(map(_words, group.failures)) else (_operation(group),)
    elif not results and not words:
        signals = tuple(dict.fromkeys(map(_signal, group.failures)))
        words, where = (signals, (_operation(group),)) if all(signals) else (("*",), ())
    return Expectation(
        id=free_id(f"{group.ops[0]} flaky", taken) if group.is_varying else _id(group, taken),
        op=group.ops,
        reason=TODO,
        element_types=group.element_types,
        verdicts=group.verdicts,
        kinds=_kinds(group),
        words=words,
        where=where,
        max_ulp=_largest_error(group),
        rare=not flaky and group.verdict is Verdict.CRASHED and _is_rare(group, records),
        backends=(group.backend,),
        flaky=flaky,
        unpredictable=results and group.kind == NOT_DETERMINISTIC and not flaky,
    )


def _kinds(group: FailureGroup) -> tuple[str, ...]:
    """Return the classes of an entry; for intermittent failures also the classes of single
    failures.
    """
    if group.kind != NOT_DETERMINISTIC and not group.is_varying:
        return group.kinds
    own = (failure.failing.kind for failure in group.failures if failure.failing.kind)
    found = (*own, *(kind for failure in group.failures for kind in classes_of(failure.record)))
    named = (kind for kind in found if kind in CLASSES and kind != NOT_DETERMINISTIC)
    return (NOT_DETERMINISTIC, *dict.fromkeys(named))


def is_predicted_otherwise(group: FailureGroup) -> bool:
    """Return whether an entry's `computes` predicts the values but does not match; no other entry
    may have its class.
    """
    return group.kind.startswith(label(""))


def comments_of(group: FailureGroup) -> list[str]:
    """Return the comment above an entry: its cases, and the share that is predicted."""
    cases = group.cases
    count = f"{len(cases)} programs" if len(cases) > 1 else "1 program"
    lines = [f"from {count}, such as {cases[0]}"]
    wrong = sum(failure.failing.wrong for failure in group.failures)
    if group.verdict in _OF_VALUES and wrong:
        predicted = sum(failure.failing.predicted for failure in group.failures)
        lines.append(f"{predicted} of {wrong} elements are as the class predicts")
        if group.kind in UNEXPLAINED:
            lines[-1] = "the class predicts no values: if you can, predict them with 'computes'"
    return lines


def _id(group: FailureGroup, taken: Collection[str]) -> str:
    kind = _HEAP if group.has_broken_heap else group.kind
    if kind == ABNORMAL_EXIT:
        kind = ending(group.failures[0].failing.message)
    what = kind if group.verdict.has_results else f"{group.verdict} {kind}"
    what = what or group.verdict.value
    first, *others = group.ops
    if not others:
        return free_id(f"{first} {what}", taken)
    return free_id(group.verdict.value if group.verdict is Verdict.FLUSHED else what, taken)


def free_id(text: str, taken: Collection[str]) -> str:
    """Return an id derived from a text, with a number appended if the id exists."""
    stem = _UNSAFE.sub("-", text.lower()).strip("-")
    names = (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _largest_error(group: FailureGroup) -> float:
    """Return the largest error of inaccurate results, rounded up to two digits; None if values are
    predicted or an error is not finite.
    """
    errors = [failure.failing.worst_ulp for failure in group.failures]
    is_measured = group.verdict is Verdict.INACCURATE and group.kind in UNEXPLAINED
    if not is_measured or group.is_varying:
        return math.inf
    known = [error for error in errors if error is not None and math.isfinite(error)]
    if len(known) < len(errors) or not known or max(known) <= 0:
        return math.inf
    step = 10.0 ** (math.floor(math.log10(max(known))) - 1)
    return float(f"{math.ceil(max(known) / step) * step:.6g}")


def _is_rare(group: FailureGroup, records: Sequence[Record]) -> bool:
    """Return whether few cases of the entry's cells fail in this way."""
    cells = {*product(group.ops, group.element_types)}
    beside = sum(
        (lowered_op(r.op), r.element_type) in cells for r in records if r.backend == group.backend
    )
    return 2 * len(group.cases) < beside


def _operation(group: FailureGroup) -> str:
    """Return the beginning of the operation in MLIR's generic form that all programs of a group
    contain.
    """
    common: list[set[str]] = []
    for failure in group.failures:
        text = failure.record.detail.program if failure.record.detail else ""
        common.append({found[0] for op in operations_in(text) for found in _NAME.finditer(op)})
    shared = sorted(set.intersection(*common)) if common else []
    own = f'"stablehlo.{group.ops[0]}"'
    return own if own in shared else shared[0] if shared else "*"


def entries_of_batches(
    batches: Iterable[LostBatch], taken: Collection[str]
) -> Iterator[tuple[Expectation, str]]:
    """Yield a flaky entry, with a comment, for batches with the same class and words of failure.

    Such entries have no counterexample, as no program shows the failure by itself. `taken` are ids
    of other entries.
    """
    alike: dict[tuple[str, str, str, str], list[LostBatch]] = {}
    for batch in batches:
        words = generalise_message(own_words(batch.message))
        key = (batch.backend, batch.verdict.value, batch.kind, words or ending(batch.message))
        alike.setdefault(key, []).append(batch)
    ids = {*taken}
    for (backend, verdict, kind, words), found in alike.items():
        cases = [case for one in found for case in one.cases]
        ops = tuple(dict.fromkeys(lowered_op(op) for op, _, _ in cases))
        is_said = bool(generalise_message(own_words(found[0].message)))
        entry = Expectation(
            id=free_id(f"lost batch {verdict} {kind}", ids),
            op=ops,
            reason=TODO,
            element_types=tuple(dict.fromkeys(of for _, of, _ in cases)),
            verdicts=(verdict,),
            kinds=(kind,) if kind else ("*",),
            words=(words,) if words else (),
            where=() if is_said else tuple(f'"stablehlo.{op}"' for op in ops),
            backends=(backend,),
            flaky=True,
        )
        ids.add(entry.id)
        count = f"{len(found)} batches" if len(found) > 1 else "1 batch"
        yield entry, f"from {count}, such as {found[0].name}: none of the cases fails in isolation"
