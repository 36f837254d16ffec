"""Programs of a report in MLIR's pretty form, printed in a worker: MLIR is not loaded here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from conformance.errors import NotAvailable
from conformance.executors.local import Call, LocalExecutor

SECONDS = 60.0
"""As long may all programs of a report take; 400 of them take a quarter of a second (measured)."""


def pretty_forms(programs: Iterable[str]) -> dict[str, str]:
    """The pretty form of each program that has one, by its generic form as it is stored.

    Where no worker can print them there is none: the report then shows the generic form alone.
    """
    texts = list(dict.fromkeys(filter(None, programs)))
    if not texts:
        return {}
    call = Call("pretty", _pretty, (texts,), SECONDS)
    try:
        with LocalExecutor(1, preload=("conformance.stablehlo.pretty",)) as executor:
            answer = executor.one(call)
    except NotAvailable:
        return {}
    if not isinstance(answer, list):
        return {}
    shown = cast("list[str]", answer)
    return {text: form for text, form in zip(texts, shown, strict=True) if form != text}


def _pretty(texts: list[str]) -> list[str]:
    """In a worker: see `conformance.stablehlo.pretty.pretty`."""
    from conformance.stablehlo.pretty import pretty

    return pretty(texts)
