"""Cases can be keys, and be sent to another process."""

from __future__ import annotations

import pickle

from generators.case.case import Case, InputRecipe
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import element_type


def case_of(op: str, *profiles: str) -> Case:
    of = TensorType((2,), element_type("f32"))
    return Case(single_op(op, (Value("operand", of),), (of,)), (InputRecipe(profiles, 7),))


def test_equal_cases_are_one_key() -> None:
    assert len({case_of("abs", "bits"), case_of("abs", "bits"), case_of("abs", "special")}) == 2


def test_inputs_are_independent_unless_a_recipe_says_otherwise() -> None:
    assert InputRecipe(("bits",), 7) == InputRecipe(("bits",), 7, "independent")
    assert InputRecipe(("bits",), 7) != InputRecipe(("bits",), 7, "equal")


def test_a_case_in_another_process_is_equal() -> None:
    case = case_of("abs", "bits")
    assert pickle.loads(pickle.dumps(case)) == case
