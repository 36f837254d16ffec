"""Readers for each kind of attribute."""

from __future__ import annotations

from typing import Any

import pytest
from jaxlib.mlir import ir

from conformance.stablehlo.attributes import KINDS, spell_attribute
from conformance.stablehlo.reading.kinds import read_as
from reference.ir.accuracy import ResultAccuracy
from reference.ir.aliases import OutputOperandAlias
from reference.ir.constants import matrix
from reference.ir.types import element_type
from suites.meta.conformance.stablehlo.mlir import read_operations

EMPTY = "func.func @main() {\n  return\n}"
VALUES: dict[str, Any] = {
    "iota_dimension": 3, "index": -1, "epsilon": 0.5, "is_stable": True, "has_dynamic_root": True,
    "call_target_name": 'a"b', "callee": "f", "called_computations": ("f", "g"),
    "result_accuracy": ResultAccuracy("TOLERANCE", 0.5, 0.25, 7), "dimensions": (0, 2),
    "operandSegmentSizes": (1, 0), "window_reversal": (True, False), "fft_type": "IRFFT",
    "backend_config": (("n", 3, "i64"), ("s", "x", "string")),
    "precision_config": ("HIGH", "DEFAULT"),
    "output_operand_aliases": (OutputOperandAlias((0,), 1, ()),),
    "composite_attributes": (("a", 3), ("b", (True, "s")), ("t", element_type("bf16"))),
    "source_target_pairs": matrix([[0, 1]]),
}  # fmt: skip
"""A value of each kind of attribute."""


def read(name: str, text: str) -> Any:
    with read_operations(EMPTY) as (end,):
        return read_as(KINDS[name], ir.Attribute.parse(text), end)


@pytest.mark.parametrize("name", VALUES)
def test_value_that_is_written_is_read_back(name: str) -> None:
    spelled = spell_attribute(name, VALUES[name]).partition(" = ")[2]
    assert read(name, spelled) == VALUES[name]


def test_every_kind_has_a_value_here() -> None:
    assert {KINDS[name].name for name in VALUES} == {kind.name for kind in KINDS.values()}


@pytest.mark.parametrize("name", VALUES)
def test_attribute_of_another_kind_has_no_value(name: str) -> None:
    assert read(name, "array<i16: 1>") is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("iota_dimension", "3 : i32"),
        ("epsilon", "0.5 : f64"),
        ("called_computations", "[@f, 3 : i64]"),
        ("composite_attributes", "{a = 3 : i32}"),
        ("composite_attributes", "{a = [3 : i64, 1.0 : f32]}"),
        ("result_accuracy", "unit"),
    ],
)
def test_value_of_another_width_or_with_a_foreign_part_is_none(name: str, text: str) -> None:
    assert read(name, text) is None
