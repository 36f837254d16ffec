"""Messages about elements of a result that differ from the expected elements."""

from __future__ import annotations

import re
from collections.abc import Mapping

from conformance.verdict import Element, Failing, Verdict

_PREDICATES = {
    Verdict.UNSPECIFIED: "different, where the result is unspecified",
    Verdict.FLUSHED: "as if subnormal {} were zero",
    Verdict.INACCURATE: "further off than is permitted",
    Verdict.DIVERGENT: "wrong",
}
"""Predicates of the message on elements with a verdict, such as "are wrong"."""

_FLUSHED = re.compile(r"subnormal [\w ]+ were zero")


def elements_message(
    verdict: Verdict,
    kind: str,
    wrong: int,
    total: int,
    first: Element,
    beside: str = "",
    detail: str = "",
) -> str:
    """Return the message on the elements of a verdict and a class, with the first in full.

    `beside` has the `other_classes` of elements with the same verdict. `detail` are the numbers
    that count as zero, if they are flushed.
    """
    predicate = _PREDICATES[verdict].format(detail or "numbers")
    if detail and verdict is not Verdict.FLUSHED:
        predicate += f", {_PREDICATES[Verdict.FLUSHED].format(detail)}"
    be = "is" if wrong == 1 else "are"
    of = f"element{'s' if total != 1 else ''}{f' of result {first.result}' if first.result else ''}"
    label = "" if kind == verdict else f"{kind}: "
    return (
        f"{label}{wrong} of {total} {of} {be} {predicate}{beside}; "
        f"at {list(first.index)} expected {first.expected}, got {first.actual}"
    )


def flushed_message(one: Failing, detail: str) -> str:
    """Return the message on a failure's elements as flushed; `detail` as in `elements_message`."""
    predicate = _PREDICATES[Verdict.FLUSHED].format(detail)
    message = one.message.removeprefix(f"{one.kind}: ")
    return message.replace(_PREDICATES[one.verdict], predicate, 1)


def common_message(message: str, other: str) -> str:
    """Return a message on flushed elements that is true of those of another message, too."""
    found = {match[0] for match in map(_FLUSHED.search, (message, other)) if match is not None}
    return _FLUSHED.sub("subnormal numbers were zero", message, 1) if len(found) > 1 else message


def other_classes(counts: Mapping[str, int]) -> str:
    """Return the part of a message on elements of other classes, given their number by class."""
    return "".join(f", {count} more as {kind}" for kind, count in counts.items())


def additional_failure_line(one: Failing) -> str:
    """Return a line on a failure that the message does not mention."""
    told = f"known by {one.known}" if one.known else "new"
    return f"beside them, {told}: {one.verdict.value}: {one.message}"


def verdict_text(verdict: str, kind: str, message: str) -> str:
    """Return a verdict with its class and message, without naming the class twice."""
    if kind in ("", verdict):
        return f"{verdict}: {message}" if message else verdict
    message = re.sub(rf"\A(@\S+: )?{re.escape(kind)}: ", r"\1", message)
    return f"{verdict} ({kind}): {message}" if message else f"{verdict} ({kind})"
