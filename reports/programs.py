"""Programs of a report in MLIR's pretty form, printed in a worker that loads MLIR."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from conformance.errors import NotAvailable
from conformance.executors.local import Call, LocalExecutor

SECONDS = 60.0
"""Time limit in seconds for all programs of a report; 400 of them take a quarter of a second."""


def pretty_forms(programs: Iterable[str]) -> dict[str, str]:
    """Return the pretty form of each program by its stored generic form.

    Without a worker that can print them it is empty, and the report shows the generic forms.
    """
    texts = list(dict.fromkeys(filter(None, programs)))
    if not texts:
        return {}
    call = Call("pretty", _pretty_texts, (texts,), SECONDS)
    try:
        with LocalExecutor(1, preload=("conformance.stablehlo.pretty",)) as executor:
            answer = executor.one(call)
    except NotAvailable:
        return {}
    if not isinstance(answer, list):
        return {}
    shown = cast("list[str]", answer)
    return {text: form for text, form in zip(texts, shown, strict=True) if form != text}


def _pretty_texts(texts: list[str]) -> list[str]:
    """Return pretty forms, in a worker; see `conformance.stablehlo.pretty.print_pretty`."""
    from conformance.stablehlo.pretty import print_pretty

    return print_pretty(texts)
