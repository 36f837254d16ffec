"""Errors for texts that cannot be read."""

from __future__ import annotations

from conformance.stablehlo.reading.refusal import ParseError, Unreadable, refusal
from suites.meta.conformance.stablehlo.mlir import read_operations


def test_error_names_the_operation_and_its_place() -> None:
    with read_operations("\nfunc.func @main() {\n  return\n}") as (end,):
        error = refusal(end, "why")
    assert isinstance(error, Unreadable)
    assert isinstance(error, ParseError)
    assert str(error).endswith(": func.return: why")
    assert "3" in str(error).partition(": ")[0]


def test_without_a_place_the_reason_is_all() -> None:
    class Nowhere:
        location, name = "loc(unknown)", "x"

    assert str(refusal(Nowhere(), "why")) == "why"
