"""Spelling of attributes in MLIR."""

from __future__ import annotations

import math

import numpy as np
import pytest
from jaxlib.mlir import ir

from conformance.stablehlo.attributes import (
    READABLE,
    EmitError,
    Verbatim,
    element_texts,
    enums_of_dialect,
    float_literal,
    quote,
    spell_attribute,
    spell_dense,
    spell_tensor,
    symbol,
)
from conformance.stablehlo.context import reading_context
from reference.ir.accuracy import ResultAccuracy
from reference.ir.program import Dense, TensorType
from reference.ir.types import element_type
from suites.meta.support.small_programs import array, tensor_of


@pytest.mark.parametrize("text", ["plain", 'a "b"', "\\", "é\n\t", ""])
def test_any_text_is_read_back(text: str) -> None:
    with reading_context():
        assert ir.StringAttr(ir.Attribute.parse(quote(text))).value == text


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("main", "@main"),
        ("f.1", "@f.1"),
        ("1f", '@"1f"'),
        (".f", '@".f"'),
        ("a b", '@"a b"'),
        ("", '@""'),
    ],
)
def test_symbols_are_quoted_where_they_must_be(name: str, spelled: str) -> None:
    assert symbol(name) == spelled


@pytest.mark.parametrize("number", [1e30, 1.5, -0.0, 5e-324, 1e-5, 123456789.0, 1e22])
def test_floats_have_a_point_and_keep_their_bits(number: float) -> None:
    text = float_literal(number)
    assert "." in text
    assert math.copysign(1, float(text)) == math.copysign(1, number)
    assert float(text) == number


def test_types_have_unknown_sizes_and_bounds() -> None:
    assert spell_tensor(tensor_of(2, 3), "f32") == "tensor<2x3xf32>"
    bounded = TensorType((None, 3), element_type("f32"), (4, None))
    assert spell_tensor(bounded, "f32") == "tensor<?x3xf32, #stablehlo.bounds<4, ?>>"


def test_numbers_that_are_not_finite_are_spelled_by_their_bits() -> None:
    assert element_texts(array([1.0, np.inf]), element_type("f32")) == ["1.0", "0x7F800000"]
    nan = array([np.nan], "bf16")
    assert element_texts(nan, element_type("bf16")) == ["0x7FC0"]
    assert element_texts(array([True, False], "i1"), element_type("i1")) == ["true", "false"]
    assert element_texts(array([1 + 2j], "complex<f32>"), element_type("complex<f32>")) == [
        "(1.0, 2.0)"
    ]


@pytest.mark.parametrize(
    ("values", "body"),
    [
        ([[1, 2], [3, 4]], "[[1, 2], [3, 4]]"),
        ([[7, 7], [7, 7]], "7"),
        (5, "5"),
        ([], ""),
    ],
)
def test_small_constants_are_readable_and_splats_written_once(values, body: str) -> None:
    elements = array(values, "si32")
    text = spell_dense(Dense.of(elements, tensor_of(*elements.shape, of="si32")))
    assert text.startswith(f"dense<{body}> : tensor<")


@pytest.mark.parametrize(("count", "hexadecimal"), [(READABLE, False), (READABLE + 1, True)])
def test_large_constants_are_hexadecimal(count: int, hexadecimal: bool) -> None:
    elements = array(range(count), "si8")
    text = spell_dense(Dense.of(elements, tensor_of(count, of="si8")))
    assert text.startswith('dense<"0x000102') is hexadecimal


def test_large_constants_of_booleans_are_lists() -> None:
    """A bit or a byte for each, hexadecimal booleans mean one thing or the other to a jaxlib."""
    values = np.arange(40).reshape(20, 2) % 3 == 0
    assert spell_dense(Dense.of(values, tensor_of(20, 2, of="i1"))).startswith(
        "dense<[[true, false"
    )


@pytest.mark.parametrize(
    ("name", "value", "spelled"),
    [
        ("iota_dimension", 1, "iota_dimension = 1 : i64"),
        ("index", 1, "index = 1 : i32"),
        ("is_stable", True, "is_stable = true"),
        ("dimensions", (0, 2), "dimensions = array<i64: 0, 2>"),
        ("dimensions", (), "dimensions = array<i64>"),
        ("window_reversal", (True,), "window_reversal = array<i1: true>"),
        ("epsilon", 0.1, "epsilon = 0.10000000149011612 : f32"),
        ("epsilon", math.inf, "epsilon = 0x7F800000 : f32"),
        ("fft_type", "RFFT", "fft_type = #stablehlo<fft_type RFFT>"),
        ("callee", "f", "callee = @f"),
        ("called_computations", ("f", "g"), "called_computations = [@f, @g]"),
        ("use_global_device_ids", True, "use_global_device_ids = unit"),
        ("use_global_device_ids", False, ""),
        ("precision_config", ("HIGH",), "precision_config = [#stablehlo<precision HIGH>]"),
        ("backend_config", "x", 'backend_config = "x"'),
        (
            "backend_config",
            (("a", 1, "i64"), ("b", "?", "")),
            "backend_config = {a = 1 : i64, b = ?}",
        ),
        (
            "composite_attributes",
            (("a", True), ("b", "s")),
            'composite_attributes = {a = true, b = "s"}',
        ),
        ("any.name", Verbatim("3 : i8"), "any.name = 3 : i8"),
        ("1st", Verbatim("unit"), '"1st" = unit'),
    ],
)
def test_attributes_are_spelled_by_their_kind(name: str, value, spelled: str) -> None:
    assert spell_attribute(name, value) == spelled


def test_accuracy_has_all_its_fields() -> None:
    text = spell_attribute("result_accuracy", ResultAccuracy("TOLERANCE", 0.5, 0.0, 3))
    assert "atol = 0.5, rtol = 0.0, ulps = 3" in text
    assert "result_accuracy_mode<TOLERANCE>" in text


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [("no_such_name", 1, "no known kind"), ("iota_dimension", "x", "not of kind i64")],
)
def test_attribute_without_a_spelling_is_an_error(name: str, value, reason: str) -> None:
    with pytest.raises(EmitError, match=reason):
        spell_attribute(name, value)


def test_enums_belong_to_the_dialect_of_the_op() -> None:
    text = "#stablehlo<precision HIGH>"
    assert enums_of_dialect("mhlo.topk", text) == "#mhlo<precision HIGH>"
    assert enums_of_dialect("dot", text) == text
