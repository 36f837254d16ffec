"""The configuration of a custom call."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from conformance.stablehlo.configurations import configuration
from conformance.stablehlo.context import reading_context


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"any text"', "any text"),
        ("{}", ()),
        (
            '{flag = true, n = 3 : i64, s = "x", x = 1.5 : f32}',
            (("flag", True, "i1"), ("n", 3, "i64"), ("s", "x", "string"), ("x", 1.5, "f32")),
        ),
        ("{a = array<i64: 1>}", (("a", "array<i64: 1>", ""),)),
        ("{x = 0x7F800000 : f32}", (("x", "0x7F800000 : f32", ""),)),
        ("3 : i64", None),
    ],
)
def test_options_have_names_values_and_types(text: str, found: object) -> None:
    with reading_context():
        assert configuration(ir.Attribute.parse(text)) == found
