"""Programs of one op whose operands are all parameters."""

from __future__ import annotations

from generators.invalid.misses import program, tensor
from reference.ir.types import element_type

F32 = element_type("f32")


def test_a_tensor_without_sizes_is_a_scalar() -> None:
    assert tensor(F32).shape == ()
    assert tensor(F32, 2, None).shape == (2, None)


def test_operands_are_parameters_with_their_names() -> None:
    one, two = tensor(F32, 1), tensor(F32, 2)
    made = program("mine", {"lhs": one, "rhs": two}, (two, one), dimension=3)
    assert [(value.name, value.type) for value in made.main.arguments] == [
        ("lhs", one),
        ("rhs", two),
    ]
    assert made.subject.operands == made.main.arguments
    assert [value.type for value in made.subject.results] == [two, one]
    assert made.subject.attribute("dimension") == 3
    assert made.main.result_types == (two, one)
