"""The key by which findings of one cause are grouped.

docs/fuzz.md states what the key means, and why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from conformance.backends.base import ends_process
from conformance.executors.lost import ending
from conformance.fuzzing.attribution.cause import RIGHT, WRONG, Cause
from conformance.fuzzing.finding import Finding, names_in
from conformance.fuzzing.keeping.journal import StoredFinding
from conformance.fuzzing.trial import FailingProgram
from conformance.gate.classes import FLUSHED, OF_ONE_OPERATION, UNEXPLAINED
from conformance.text import one_line
from conformance.transforms.values import working_operations
from conformance.verdict import Verdict
from generators.case.columns import column
from reference.numerics.alike import has_subnormals
from reference.ops.table import FAMILIES

WITHOUT_RESULTS = (Verdict.REJECTED, Verdict.CRASHED)
"""Verdicts on programs for which the backend gives a message instead of results."""

DIVISION_BY_ZERO = "SIGFPE"
"""The signal that ends a process because it divides an integer by zero."""

MEMORY_FAULTS = ("SIGSEGV", "SIGBUS")
"""Signals that end a process because it accesses foreign memory. The first is their key."""

SILENT = "without a word"
"""The key of a program that ends a backend's process without a message."""

JOINT_FAILURE = "wrong only together"
"""The key of several operations whose verdict and class explain nothing."""

ANY_OPERATION = "any operation"
"""The culprit in the key of a cause that does not depend on the operation."""

_OURS = re.compile(r"; breaks [A-Z]\d+ of .*")
_INSTRUCTION = re.compile(
    r"%[\w.-]+ = (\([^()]*\)|\w+\[[^\]]*\]?(\{[^{}]*\}?)?)"  # a name, and a type with its layout
    r"( [\w-]+(\([^()]*\)?)?)?"  # an operation and its operands
    r"(, [\w-]+=(\{[^{}]*(\}|$)|[^,\s{}]+))*(, \w*$)?"  # attributes, cut somewhere
    r"|%[\w.-]+"
)
_SHAPE = re.compile(r"\[[\d,<= ]*\](\{[^{}]*\})?")
_TYPE = re.compile(r"\b(pred|b?f\d+\w*|[suc]i?\d+|i\d+)\b", re.IGNORECASE)
_TUPLE = re.compile(r"\(T\[\](, T\[\])*\)")
_NUMBER = re.compile(r"\d+")
_LIST = re.compile(r"-?N(, ?-?N)*")
_REPLACED = (
    (_OURS, ""), (_INSTRUCTION, "%"), (_SHAPE, "[]"), (_TYPE, "T"),
    (_TUPLE, "T[]"), (_NUMBER, "N"), (_LIST, "N"),
)  # fmt: skip
"""Patterns of the parts of messages that differ among programs, each with its replacement."""

_MEMORY = re.compile(
    r"corrupted|double free|stack smashing|unaligned tcache"
    r"|(free|malloc|realloc|munmap_chunk)\(\): "
)
"""Matches messages of the C library about corrupted memory."""

_LEFT_OUT = re.compile(r"(?:without pass(?:es)?|before pass) (.*)")

_SEPARATOR, _AND = " | ", " + "


def place_of(failure: FailingProgram) -> str:
    """Return the place of a failure: an estimate of its cause before it is minimised.

    It consists of verdict, class and culprit operations, without element types. If the program has
    no results, it has the message instead: the culprit among several operations is unknown then.
    """
    outcome = failure.outcome
    verdict, kind = outcome.fault or (outcome.verdict, outcome.kind)
    words = _words(outcome.verdict, outcome.kind, outcome.message)
    kind = ending(outcome.message) or kind
    culprit = _names_in(outcome.culprit)
    if not (words or culprit):
        culprit = " ".join(operation.name for operation in working_operations(failure.program))
    return _join_parts(verdict.value, kind, words, culprit, ",".join(outcome.known))


def key_of(finding: Finding) -> str:
    """Return the key of a finding's cause that can be derived without an attribution.

    The key has the verdict, class and name of the first wrong operation. If the class says what was
    computed instead, the key omits the verdict, which depends only on the numbers, and has the op's
    family, or nothing if the class is a single cause in all operations. Flushed subnormals are one
    cause, whether they are inputs, results or intermediate values, because a processor flushes them
    in all operations.

    If the program has no results: see `_key_without_results`. If the culprit is unknown, the key
    has verdict, class and all operations.
    """
    verdict, kind = finding.fault or (finding.verdict, finding.kind)
    if verdict in WITHOUT_RESULTS:
        return _key_without_results(finding, verdict, kind)
    if has_global_cause(finding):
        return _class_key(verdict.value, kind)
    if culprit := _names_in(finding.culprit):
        return _key_of_results(verdict.value, kind, culprit)
    names = _AND.join(
        dict.fromkeys(operation.name for operation in working_operations(finding.program))
    )
    return _join_parts(verdict.value, kind, names)


def _key_without_results(finding: Finding, verdict: Verdict, kind: str) -> str:
    """Return the key of a program that the backend refuses or crashes on.

    The message, without instructions, numbers, shapes and element types. A write to a wrong address
    crashes a process with various messages: these are one class. Programs that crash without a
    message have one key; see `may_share_cause`. An arithmetic exception is a division by zero.
    """
    signal = ending(finding.message)
    if signal == DIVISION_BY_ZERO:
        return _class_key(verdict.value, signal)
    if signal in MEMORY_FAULTS or _MEMORY.search(finding.message):
        return _join_parts(verdict.value, MEMORY_FAULTS[0], SILENT)
    words = _words(finding.verdict, finding.kind, finding.message)
    return _join_parts(verdict.value, signal or kind, words or SILENT)


def may_be_same_crash(verdict: Verdict, kind: str, one: str, other: str) -> bool:
    """Return whether two messages of this verdict and class may be of one crash.

    A crash after a write to a wrong address may have any message, or none.
    """
    words = _words(verdict, kind, one), _words(verdict, kind, other)
    if not all(words) or _MEMORY.search(one) or _MEMORY.search(other):
        return True
    return words[0] == words[1]


def _key_of_results(verdict: str, kind: str, culprit: str) -> str:
    """Return the key of wrong results of a class that may have several causes.

    Operations that go wrong only together are wrongly rewritten: verdict and class then depend on
    the numbers. They share a key with findings that end in the same operation (`may_share_cause`).
    """
    last = culprit.rpartition(_AND)[2]
    if kind in UNEXPLAINED and last != culprit:
        return _join_parts(JOINT_FAILURE, last)
    if kind in UNEXPLAINED or verdict == Verdict.FLUSHED.value:
        return _join_parts(verdict, kind, culprit)
    return _join_parts(kind, culprit if kind in OF_ONE_OPERATION else _family(last))


def _family(name: str) -> str:
    """Return the family of an op, or its name if it is in none."""
    return next((of for of, ops in FAMILIES.items() if name in {op.name for op in ops}), name)


def may_share_cause(key: str, finding: Finding, other: StoredFinding) -> bool:
    """Return whether a finding may have the same cause as another finding of the same key.

    If operations fail only together, the culprit of one must contain all operations of the other.
    If the backend ends without a message, the last operation of one program must be in the other:
    that operation may be the cause.
    """
    if key.startswith(JOINT_FAILURE):
        ours = set(_names_in(finding.culprit).split(_AND))
        theirs = [set(_names_in(one).split(_AND)) for one in (other.culprit, *other.culprits)]
        return any(ours <= them or them <= ours for them in theirs)
    if key.endswith(SILENT):
        ours = [operation.name for operation in working_operations(finding.program)]
        theirs = [names_in(signature) for signature in (other.signature, *other.signatures)]
        return any(_ends_in(ours, them) for them in theirs)
    return True


def _ends_in(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether the last operation of one program occurs in the other."""
    return bool({*ours[-1:]} & {*theirs} or {*theirs[-1:]} & {*ours})


def has_global_cause(finding: Finding) -> bool:
    """Return whether a finding has a cause that affects every operation, such as a processor that
    flushes subnormals.

    Neither a pass nor the form of a program causes that, so attributions say nothing.
    """
    verdict, kind = finding.fault or (finding.verdict, finding.kind)
    return kind == FLUSHED and (verdict is not Verdict.FLUSHED or _has_subnormals(finding))


def attributions_agree(one: Cause, other: Cause) -> bool:
    """Return whether the attributions of two findings permit a common cause.

    The result is right without the same pass in both. If no pass makes the divergence of either
    disappear, the other variants must agree. If there was no time to try all variants, only
    contradicting outcomes count.
    """
    if not one.ways or not other.ways or one.is_partial or other.is_partial:
        return not any(
            {answer, other.ways.get(way)} == {RIGHT, WRONG} for way, answer in one.ways.items()
        )
    for of_passes in (True, False):
        ones, others = _passing_variants(one, of_passes), _passing_variants(other, of_passes)
        if ones or others:
            return bool(ones & others)
    return True


def _passing_variants(cause: Cause, of_passes: bool) -> set[str]:
    """Return the passes without which a divergence disappears, or the other variants in which it
    does.

    If several passes are left out at once, each of them counts.
    """
    found = {name: _LEFT_OUT.fullmatch(name) for name in cause.passing_variants}
    if of_passes:
        return {name for one in found.values() if one is not None for name in one[1].split(", ")}
    return {name for name, one in found.items() if one is None}


def operations_in(culprit: str) -> str:
    """Return the operations of a culprit, without their element type."""
    return culprit.removesuffix(f" {of}") if (of := element_type_in(culprit)) else culprit


def element_type_in(culprit: str) -> str:
    """Return the element type at the end of a culprit such as `multiply + reduce f32`, or ""."""
    name = culprit.rpartition(" ")[2]
    try:
        column(name)
    except KeyError:
        return ""
    return name


def element_types(culprits: Iterable[str]) -> list[str]:
    """Return the element types of culprits, each once, by name."""
    return sorted(set(filter(None, map(element_type_in, culprits))))


def operations(culprits: Iterable[str]) -> list[str]:
    """Return the operations of culprits, each once, in order."""
    return list(dict.fromkeys(filter(None, map(operations_in, culprits))))


def _words(verdict: Verdict, kind: str, message: str) -> str:
    """Return the message on a program without results, stripped of program details."""
    if verdict not in WITHOUT_RESULTS:
        return ""
    if ends_process(verdict, kind):  # what comes before is ours
        message = message.partition(": ")[2]
    for pattern, letter in _REPLACED:
        message = pattern.sub(letter, message)
    return one_line(message)


def _has_subnormals(finding: Finding) -> bool:
    """Return whether inputs or expected results have subnormal numbers of their element type.

    If not, what is flushed is a number of another format, as `reduce_precision` makes them.
    """
    return any(map(has_subnormals, (*finding.inputs, *finding.expected)))


def _names_in(culprit: str) -> str:
    """Return the operations of a culprit, each once, in order."""
    return _AND.join(dict.fromkeys(operations_in(culprit).split(_AND)))


def _join_parts(*parts: str) -> str:
    return _SEPARATOR.join(filter(None, parts))


def group_of(place: str) -> str:
    """Return the group of places that probably have the same cause."""
    verdict, _, rest = place.partition(_SEPARATOR)
    kind, _, culprit = rest.partition(_SEPARATOR)
    if verdict in {result.value for result in WITHOUT_RESULTS}:
        return place
    if kind == FLUSHED:
        return _class_key(verdict, kind)
    key = _key_of_results(verdict, kind, culprit)
    return place if key.startswith(JOINT_FAILURE) else key


def _class_key(verdict: str, kind: str) -> str:
    """Return the key of a class that is one cause in all operations.

    What is flushed is one cause, whatever the verdict. Processes that end may have the class for
    other reasons.
    """
    return _join_parts("" if kind == FLUSHED else verdict, kind, ANY_OPERATION)
