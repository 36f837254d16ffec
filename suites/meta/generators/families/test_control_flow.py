"""Branches, loops, tuples and calls: every construct, and loops that end."""

from __future__ import annotations

import pytest

from generators.families.control_flow import (
    BUILDERS,
    IDENTITIES,
    NOT_QUANTIZED,
    leaves,
    parts,
    similar_tuple,
    writer_of,
)
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType, TokenType, TupleType
from reference.ir.types import element_type
from suites.meta.support.built_cases import assert_valid, built, operations, pick_of


@pytest.mark.parametrize("op", BUILDERS)
def test_every_case_is_valid(op: str) -> None:
    cases = built(BUILDERS[op], "f32", 20)
    assert_valid(cases)
    assert len(operations(cases, op)) >= 20


@pytest.mark.parametrize("seed", range(10))
def test_loops_end(seed: int) -> None:
    case = BUILDERS["while"](element_type("si32"), pick_of(seed))
    assert evaluate(case.program, materialise(case.program, case.inputs[0]))


def test_annotations_are_among_the_custom_calls() -> None:
    targets = {
        one.attribute("call_target_name")
        for one in operations(built(BUILDERS["custom_call"], "f32", 150), "custom_call")
    }
    assert set(IDENTITIES) <= targets


def test_ops_that_are_not_quantized_have_cases() -> None:
    assert BUILDERS.keys() >= NOT_QUANTIZED.keys()


def tuple_of(seed: int, *, token: bool) -> tuple[TupleType, TupleType, list[TensorType]]:
    """Return a tuple's type, a similar tuple's type, and the types of its leaves."""
    _, block = writer_of(element_type("f32"), pick_of(seed))
    whole = parts(block, 2, token=token)
    found = [value.type for value in leaves(block, whole)]
    similar = whole.type if token else similar_tuple(block, whole).type
    return whole.type, similar, found  # type: ignore[return-value]


def tensors(of: TupleType) -> list[TensorType]:
    found: list[TensorType] = []
    for one in of.types:
        found += tensors(one) if isinstance(one, TupleType) else [one] * isinstance(one, TensorType)  # type: ignore[list-item]
    return found


def test_leaves_of_a_tuple_are_its_tensors_in_order() -> None:
    kinds: set[type] = set()
    for seed in range(30):
        whole, _, found = tuple_of(seed, token=True)
        assert found == tensors(whole)
        kinds |= {type(one) for one in whole.types}
    assert kinds == {TensorType, TokenType, TupleType}


def test_a_similar_tuple_has_the_same_types() -> None:
    for seed in range(30):
        whole, similar, _ = tuple_of(seed, token=False)
        assert similar == whole
        assert TokenType() not in whole.types
