"""Messages about the elements of a result that are not as they should be."""

from __future__ import annotations

import re

from conformance.verdict import Element, Failing, Verdict

_PREDICATES = {
    Verdict.UNSPECIFIED: "different, where the specification leaves the result open",
    Verdict.FLUSHED: "as if subnormal numbers were zero",
    Verdict.INACCURATE: "further off than is permitted",
    Verdict.DIVERGENT: "wrong",
}
"""What elements of a verdict are."""


def of_elements(
    verdict: Verdict, kind: str, wrong: int, total: int, first: Element, beside: str = ""
) -> str:
    """Return the message on the elements of a verdict and a class, with one of them in full.

    `beside` says of what classes others of the same verdict are.
    """
    be = "is" if wrong == 1 else "are"
    of = f"element{'s' if total != 1 else ''}{f' of result {first.result}' if first.result else ''}"
    return (
        f"{kind}: {wrong} of {total} {of} {be} {_PREDICATES[verdict]}{beside}; "
        f"at {list(first.index)} expected {first.expected}, got {first.actual}"
    )


def beside(one: Failing) -> str:
    """Return a line on elements that fail beside those that are shown."""
    told = f"known by {one.known}" if one.known else "new"
    return f"beside them, {told}: {one.verdict.value}: {one.message}"


def with_class(verdict: str, kind: str, message: str) -> str:
    """Return a verdict with its class and message, which need not begin with the class again."""
    if not kind:
        return f"{verdict}: {message}" if message else verdict
    message = re.sub(rf"\A(@\S+: )?{re.escape(kind)}: ", r"\1", message)
    return f"{verdict} ({kind}): {message}" if message else f"{verdict} ({kind})"
