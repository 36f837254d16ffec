"""Known divergences of a backend, and the text of a failure."""

from __future__ import annotations

from functools import cache

from conformance.gate.expectations import Expectation
from conformance.gate.reading import load
from conformance.results.versions import versions
from conformance.verdict import Record

TIMEOUT = 60.0
"""Seconds for a module."""


@cache
def expectations_of(backend: str) -> tuple[Expectation, ...]:
    """Return the shipped expectations for the backend and the installed versions."""
    return load(None, [backend], versions())


def failure_text(record: Record) -> str:
    """Return the failure as text: operation, index, expected and actual value, distance."""
    lines = [f"{record.id}: {record.verdict.value}: {record.message}"]
    for element in record.detail.elements if record.detail else ():
        ulp = "" if element.ulp is None else f" ({element.ulp:g} ulp)"
        inputs = ", ".join(f"{name}={value}" for name, value, _ in element.inputs)
        lines.append(
            f"  {record.op}({inputs}) at {list(element.index)}: expected {element.expected} "
            f"{element.expected_hex}, got {element.actual} {element.actual_hex}{ulp}"
        )
    if record.detail:
        lines.append(record.detail.program)
    return "\n".join(lines)
