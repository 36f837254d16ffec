"""The first condition of an entry that a failure does not satisfy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from conformance.backends import isa
from conformance.backends.base import Description
from conformance.backends.registry import release_of
from conformance.executors.lost import ending, own_words
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.gate.expectations import Expectation, Failure, classes_of, operation_texts
from conformance.gate.files import EVERY
from conformance.gate.versions import (
    applicable_entries,
    conditions,
    holds_for_jaxlib,
    own_versions,
    versions_text,
)
from conformance.verdict import Record


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The version of jaxlib, and the description of the backend, on which entries depend."""

    jaxlib: str
    described: Description | None


def is_about(entry: Expectation, failure: Failure | Record) -> bool:
    """Return whether an entry is about the op and element type of a failure, on any backend."""
    anywhere = structs.replace(entry, backends=EVERY)
    return anywhere.applies((failure.op, failure.element_type, failure.backend))


def first_unmet_condition(
    entry: Expectation, failure: Failure | Record, under: Circumstances
) -> str:
    """Return the first condition of an entry that a failure does not satisfy; "" if it matches.

    The op and element type of the failure must be the entry's.
    """
    checks = (
        _backend_mismatch,
        _version_mismatch,
        _isa_mismatch,
        _verdict_mismatch,
        _class_mismatch,
        _cause_mismatch,
        _message_mismatch,
        _size_mismatch,
        _operation_mismatch,
    )
    return next((told for check in checks if (told := check(entry, failure, under))), "")


def _backend_mismatch(entry: Expectation, failure: Failure | Record, under: Circumstances) -> str:
    del under
    if entry.matches_backend(failure.backend):
        return ""
    return f"it applies to the backends {_quote_all(entry.backends)}, not to {failure.backend}"


def _version_mismatch(entry: Expectation, failure: Failure | Record, under: Circumstances) -> str:
    wanted = versions_text(entry.versions)
    jaxlib = release_of(failure.backend) or under.jaxlib
    if not holds_for_jaxlib(entry, jaxlib):
        return f"it applies to jaxlib {conditions(entry.versions).jaxlib}, not to {jaxlib}"
    if under.described is None or applicable_entries([entry], [under.described]):
        return ""
    own = own_versions(under.described)
    found = ", ".join(filter(None, (own.number, own.library and f"library {own.library}")))
    return f"it applies to {wanted}; the backend has {found or 'no known version'}"


def _isa_mismatch(entry: Expectation, failure: Failure | Record, under: Circumstances) -> str:
    del under
    if not entry.isa or isa.satisfies(isa.backend_sets(failure.backend), entry.isa):
        return ""
    return f"it applies if XLA's CPU compiler targets {entry.isa}, which it does not"


def _verdict_mismatch(entry: Expectation, failure: Failure | Record, under: Circumstances) -> str:
    del under
    if failure.verdict.value in entry.verdicts:
        return ""
    return f"it matches {_quote_all(entry.verdicts)}, not {failure.verdict.value}"


def _class_mismatch(entry: Expectation, failure: Failure | Record, under: Circumstances) -> str:
    del under
    classes = classes_of(failure)
    if entry.matches_class(failure.kind, classes):
        return ""
    if failure.kind == NOT_DETERMINISTIC and not entry.flaky:
        return "it lacks flaky = true, and the case does not fail every time"
    if entry.predicts:
        key = entry.stating_key
        return f"its {key!r} does not predict these values, of class {failure.kind!r}"
    found = _quote_all(classes) if classes else repr(failure.kind)
    return f"it matches the class {_quote_all(entry.kinds)}, not {found}"


def _cause_mismatch(entry: Expectation, failure: Failure | Record, under: Circumstances) -> str:
    del under
    cause = entry.cause
    if cause is None or any(map(cause.matches, failure.causes)):
        return ""
    found = f"not by {_quote_all(failure.causes)}" if failure.causes else "which none explains"
    return f"it matches failures explained by a rewriting of {cause.name!r}, {found}"


def _message_mismatch(entry: Expectation, failure: Failure | Record, under: Circumstances) -> str:
    del under
    if entry.matches_words(failure.verdict, failure.message):
        return ""
    said = failure.message
    if not failure.verdict.has_results:
        said = own_words(said) or ending(said)
    return f"it requires the words {_quote_all(entry.words)}; the message is {said!r}"


def _size_mismatch(entry: Expectation, failure: Failure | Record, under: Circumstances) -> str:
    del under
    if (failure.worst_ulp or 0.0) <= entry.max_ulp:
        return ""
    return f"it matches errors up to {entry.max_ulp:g} ulp, not {failure.worst_ulp:g}"


def _operation_mismatch(entry: Expectation, failure: Failure | Record, under: Circumstances) -> str:
    del under
    if not entry.where or any(map(entry.matches_operation, operation_texts(failure))):
        return ""
    return f"it requires an operation that contains {_quote_all(entry.where)}"


def _quote_all(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts)) or "none"
