"""Element types of quantized products, each with one fault."""

from __future__ import annotations

from generators.invalid.quantized.products import Axes, Ids, mistyped_operands, quantized_type
from reference.ir.program import QuantizedType
from reference.ir.types import element_type

IDS, AXES = Ids("R", "S", "E", "G", "H"), Axes((1, 3), (2, 5), (2, 4))
TYPED = list(mistyped_operands(IDS, AXES))


def test_a_type_has_the_whole_range_of_its_storage() -> None:
    of = quantized_type("ui8", point=3)
    assert (of.storage_min, of.storage_max, of.zero_points) == (0, 255, (3,))
    per_axis = quantized_type(axis=(1, 3))
    assert (per_axis.quantization_dimension, len(per_axis.scales)) == (1, 3)


def test_each_constraint_is_missed() -> None:
    assert {id_ for id_, *_ in TYPED} == {"I1", *IDS}


def test_only_the_right_operand_of_a_hybrid_product_is_quantized() -> None:
    for id_, lhs, rhs, result in TYPED:
        if id_ == IDS.hybrid:
            assert isinstance(rhs, QuantizedType)
            assert not isinstance(lhs, QuantizedType)
            assert not isinstance(result, QuantizedType)


def test_the_left_operand_and_the_result_are_per_axis_at_their_dimensions() -> None:
    (lhs,) = (lhs for id_, lhs, *_ in TYPED if id_ == "I1")
    (result,) = (result for id_, *_, result in TYPED if id_ == IDS.granularity)
    assert lhs == quantized_type(axis=AXES.lhs)
    assert result == quantized_type(axis=AXES.result)


def test_storage_and_expressed_types_of_one_side_differ() -> None:
    names = {
        side.storage_type.name
        for id_, *sides in TYPED
        if id_ == IDS.storage
        for side in sides
        if isinstance(side, QuantizedType)
    }
    assert {"si8", "si16", "si4", "ui8"} == names
    expressed = [sides for id_, *sides in TYPED if id_ == IDS.expressed]
    assert all(sum(s.expressed_type != element_type("f32") for s in one) == 1 for one in expressed)  # type: ignore[union-attr]
