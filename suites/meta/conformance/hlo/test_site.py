"""One instruction in its computation."""

from __future__ import annotations

import pytest

from conformance.hlo.protos import Shape
from conformance.hlo.shapes import TOKEN
from conformance.hlo.site import Site
from conformance.hlo.unreadable import Unreadable
from reference.ir.program import Value
from suites.meta.conformance.hlo.instructions import instruction, shape, site_of, tuple_shape
from suites.meta.support.small_programs import tensor_of

X, Y = Value("x", tensor_of(2, of="bf16")), Value("y", tensor_of(2))


def test_operands_are_values_or_trees() -> None:
    site: Site = site_of(instruction("add", shape("f32", 2)), [X, (Y, (X,))])
    assert site.value(0) is X
    assert site.values == (X, Y, X)
    for number in (1, 2):
        with pytest.raises(Unreadable, match=f"operand {number} is not an array"):
            site.value(number)


def test_operand_is_converted_to_the_type_of_the_result() -> None:
    site = site_of(instruction("add", shape("f32", 2)), [X, Y])
    assert site.converted_operand(0).type == tensor_of(2)
    assert site.converted_operand(1) is Y


def test_results_are_arrays_in_the_form_of_the_shape() -> None:
    site = site_of(instruction("sort", tuple_shape(shape("f32", 2), shape("si32", 2))))
    assert site.types == (tensor_of(2), tensor_of(2, of="si32"))
    assert site.tree([X, Y]) == (X, Y)
    assert site_of(instruction("add", shape("f32", 2))).tree([X]) is X
    with pytest.raises(Unreadable, match="a result is a token"):
        site_of(instruction("infeed", tuple_shape(Shape(TOKEN)))).types  # noqa: B018


def test_computation_must_be_there() -> None:
    one = instruction("call", shape("f32"), called_computation_ids=[7])
    assert site_of(one).computation_id() == 7
    with pytest.raises(Unreadable, match="it refers to 1 computations, too few"):
        site_of(one).computation_id(1)


def test_reports_name_the_target_of_a_custom_call() -> None:
    call = instruction("custom-call", shape("f32"), custom_call_target="foo")
    assert site_of(call).construct == "custom call foo"
    assert str(site_of(instruction("bar", shape("f32"))).unreadable("why")) == "opcode bar: why"
