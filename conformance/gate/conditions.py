"""The first condition of an entry that a failure does not satisfy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

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
    unmet = chain(_unmet_by_backend(entry, failure.backend, under), _unmet(entry, failure))
    return next(unmet, "")


def _unmet_by_backend(entry: Expectation, backend: str, under: Circumstances) -> Iterator[str]:
    """Yield the conditions of an entry that a backend does not satisfy."""
    if not entry.matches_backend(backend):
        yield f"it applies to the backends {_quote_all(entry.backends)}, not to {backend}"
    jaxlib = release_of(backend) or under.jaxlib
    if not holds_for_jaxlib(entry, jaxlib):
        yield f"it applies to jaxlib {conditions(entry.versions).jaxlib}, not to {jaxlib}"
    elif under.described is not None and not applicable_entries([entry], [under.described]):
        own = own_versions(under.described)
        found = ", ".join(filter(None, (own.number, own.library and f"library {own.library}")))
        wanted = versions_text(entry.versions)
        yield f"it applies to {wanted}; the backend has {found or 'no known version'}"
    if entry.isa and not isa.satisfies(isa.backend_sets(backend), entry.isa):
        yield f"it applies if XLA's CPU compiler targets {entry.isa}, which it does not"


def _unmet(entry: Expectation, failure: Failure | Record) -> Iterator[str]:
    """Yield the conditions of an entry that a failure does not satisfy, whatever its backend."""
    verdict, kind, classes = failure.verdict, failure.kind, classes_of(failure)
    if verdict.value not in entry.verdicts:
        yield f"it matches {_quote_all(entry.verdicts)}, not {verdict.value}"
    if not entry.matches_class(kind, classes):
        if kind == NOT_DETERMINISTIC and not entry.flaky:
            yield "it lacks flaky = true, and the case does not fail every time"
        elif entry.predicts:
            yield f"its {entry.stating_key!r} does not predict these values, of class {kind!r}"
        else:
            found = _quote_all(classes or (kind,))
            yield f"it matches the class {_quote_all(entry.kinds)}, not {found}"
    cause, causes = entry.cause, failure.causes
    if cause is not None and not any(map(cause.matches, causes)):
        found = f"not by {_quote_all(causes)}" if causes else "which none explains"
        yield f"it matches failures explained by a rewriting of {cause.name!r}, {found}"
    if not entry.matches_words(verdict, failure.message):
        said = failure.message
        if not verdict.has_results:
            said = own_words(said) or ending(said)
        yield f"it requires the words {_quote_all(entry.words)}; the message is {said!r}"
    if (failure.worst_ulp or 0.0) > entry.max_ulp:
        yield f"it matches errors up to {entry.max_ulp:g} ulp, not {failure.worst_ulp:g}"
    if entry.where and not any(map(entry.matches_operation, operation_texts(failure))):
        yield f"it requires an operation that contains {_quote_all(entry.where)}"


def _quote_all(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts)) or "none"
