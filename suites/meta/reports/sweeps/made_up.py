"""Sweeps that never ran."""

from __future__ import annotations

from typing import Any

from conformance.outputs.run import Backend
from conformance.outputs.sweep import Number, Point, ResultClass, Sweep, SweptFunction
from conformance.sweep.summary import WHOLE
from conformance.verdict import Verdict


def number(decimal: str) -> Number:
    return Number(decimal=decimal, hexadecimal="0x0")


def point(argument: str) -> Point:
    return Point(arguments=(number(argument),), expected=number("1"), actual=number("0"), ulp=2.0)


def result_class(verdict: Verdict, *, known: str = "", example: Point | None = None) -> ResultClass:
    return ResultClass(
        verdict=verdict, class_="saturation", count=3, known=known, message="a message",
        worst_ulp=None, example=example,
    )  # fmt: skip


def function(op: str = "add", element_type: str = "f32", **changed: Any) -> SweptFunction:
    """Return a function with 99 of 100 results correctly rounded."""
    given: dict[str, Any] = {
        "name": f"{op} {element_type}", "op": op, "element_type": element_type,
        "result_type": element_type, "form": "", "state": "pass", "arguments": "all",
        "planned": 100, "values": 100, "correctly_rounded": 99, "worst_ulp": 0.75, "worst": None,
        "budget_ulp": 2.0, "rule": "a rule", "histogram": (99, 1), "classes": (),
        "inversions": None, "asymmetries": 0,
    }  # fmt: skip
    return SweptFunction(**given | changed)


def sweep(*functions: SweptFunction, version: str = "0.10.2", **changed: Any) -> Sweep:
    given: dict[str, Any] = {
        "schema": "sweep", "schema_version": "1.0",
        "backend": Backend(
            name="cpu", platform="cpu", device="a device", versions={"jaxlib": version}
        ),
        "functions": functions, "histogram_edges": (1,), "sample": 1000, "exhaustive": True,
        "seed": 7, "shard": WHOLE, "build": "b", "versions": {"numpy": "2.4.6"},
        "instruction_sets": (), "started": "2026-11-21T09:30:00+00:00",
        "command": "hlo-conformance sweep add", "seconds": 61.0, "exit_code": 0,
    }  # fmt: skip
    return Sweep(**given | changed)
