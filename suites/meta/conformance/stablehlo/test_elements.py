"""The elements of dense attributes, exact in every bit."""

from __future__ import annotations

import numpy as np
import pytest
from jaxlib.mlir import ir

from conformance.stablehlo.attributes import spell_dense
from conformance.stablehlo.context import reading_context
from conformance.stablehlo.elements import array_of, attribute_of
from reference.ir.program import Dense
from reference.ir.types import ELEMENT_TYPES, Array, element_type, to_bits
from suites.meta.support.one_op import samples
from suites.meta.support.small_programs import array, tensor_of


def read(text: str, of) -> Array | None:
    """Return the elements; jaxlib has no class for attributes with complex elements."""
    if of.element.is_complex:
        return array_of(None, of, text)
    with reading_context():
        return array_of(ir.Attribute.parse(text), of)


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_every_element_comes_back_bit_for_bit(name: str) -> None:
    elements = samples(element_type(name))
    of = tensor_of(len(elements), of=name)
    found = read(spell_dense(Dense.of(elements, of)), of)
    assert found is not None
    assert (found.dtype, found.shape) == (elements.dtype, elements.shape)
    assert np.array_equal(to_bits(found), to_bits(elements))


@pytest.mark.parametrize(
    ("text", "of", "found"),
    [
        ("dense<3> : tensor<2x2xi32>", tensor_of(2, 2, of="si32"), [[3, 3], [3, 3]]),
        ("dense<[-1, 1]> : tensor<2xi4>", tensor_of(2, of="si4"), [-1, 1]),
        ("dense<true> : tensor<1xi1>", tensor_of(1, of="i1"), [True]),
        ("dense<> : tensor<0xf32>", tensor_of(0), []),
        ("dense<0x7FC00001> : tensor<1xf32>", tensor_of(1), None),
    ],
)
def test_literals_are_read_as_elements(text: str, of, found: list | None) -> None:
    elements = read(text, of)
    assert elements is not None
    if found is None:
        assert to_bits(elements).tolist() == [0x7FC00001]
    else:
        assert (
            elements.astype(np.int64 if of.element.is_integer else elements.dtype).tolist() == found
        )


def test_complex_elements_are_read_from_the_text() -> None:
    text = "dense<[(1.0, -0.0), (0x7F800000, 2.0)]> : tensor<2xcomplex<f32>>"
    found = read(text, tensor_of(2, of="complex<f32>"))
    assert found is not None
    assert np.signbit(found[0].imag)
    assert found[1] == complex(np.inf, 2)


def test_another_attribute_has_no_elements() -> None:
    assert read("3 : i64", tensor_of(1)) is None


def test_attribute_of_an_array_has_its_type() -> None:
    with reading_context(), ir.Location.unknown():
        assert str(attribute_of(array([1, 2], "si32"))) == "dense<[1, 2]> : tensor<2xi32>"
        with pytest.raises(KeyError):
            attribute_of(np.array(["a"]))
