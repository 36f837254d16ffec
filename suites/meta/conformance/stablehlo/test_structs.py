"""Attributes that MLIR groups in structs."""

from __future__ import annotations

import pytest

from conformance.stablehlo.structs import STRUCTS, Struct, group_attributes, struct_of
from reference.ops.table import OPS

DOT = {
    "lhs_batching_dimensions": (0,), "rhs_batching_dimensions": (0,),
    "lhs_contracting_dimensions": (2,), "rhs_contracting_dimensions": (1,),
}  # fmt: skip


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda one: one.view)
def test_ops_have_the_fields_under_the_names_of_the_specification(struct: Struct) -> None:
    for op in struct.ops:
        record = OPS[op]
        assert set(struct.fields) <= {*record.attributes, *record.metadata, *struct.defaults}, op
    assert set(struct.defaults) <= set(struct.fields)


def test_grouped_attributes_are_written_as_one() -> None:
    rest, texts = group_attributes("dot_general", [*DOT.items(), ("other", 1)])
    assert rest == [("other", 1)]
    (text,) = texts
    assert text == (
        "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], "
        "rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], "
        "rhs_contracting_dimensions = [1]>"
    )


def test_fields_without_a_value_have_their_default_or_are_left_out() -> None:
    _, (text,) = group_attributes("all_reduce", [("channel_id", 3)])
    assert text == "channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>"
    _, (text,) = group_attributes("gather", [("index_vector_dim", 1)])
    assert text == "dimension_numbers = #stablehlo.gather<index_vector_dim = 1>"


def test_convolutions_are_written_raw_and_chlo_in_its_dialect() -> None:
    _, (text,) = group_attributes("convolution", [("input_batch_dimension", 0)])
    assert text == "dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0>"
    _, (text,) = group_attributes("chlo.ragged_dot", [("lhs_ragged_dimensions", (1,))])
    assert text == "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_ragged_dimensions = [1]>"


def test_ops_without_structs_keep_their_attributes() -> None:
    assert group_attributes("iota", [("iota_dimension", 0)]) == ([("iota_dimension", 0)], [])
    assert group_attributes("all_reduce", []) == ([], [])


def test_struct_belongs_to_its_ops() -> None:
    found = struct_of("dot_general", "algorithm")
    assert found is not None
    assert found.view == "DotAlgorithm"
    assert struct_of("gather", "algorithm") is None
