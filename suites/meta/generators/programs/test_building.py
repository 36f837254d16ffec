"""Builders of cases: where operands come from, and recipes for their contents."""

from __future__ import annotations

import pytest

from generators.case.case import Case, InputRecipe
from generators.case.choices import ARRAY, PARAMETER, SPLAT, Pick
from generators.programs.building import (
    LARGEST_CONSTANT,
    case,
    constant,
    hide_choices,
    inputs,
    operand,
    prepend_operations,
)
from reference.ir.program import Dense, Operation, TensorType, Value
from reference.ir.types import ElementType, element_type
from suites.meta.support.built_cases import pick_of

F32 = element_type("f32")
ROWS = (("bits", "special"), ("small_integers", "bits"))


def tensor(*shape: int) -> TensorType:
    return TensorType(shape, F32)


def sum_of(pick: Pick, **given: object) -> Case:
    kind = tensor(3)
    return case(pick, "add", {"lhs": kind, "rhs": kind}, (kind,), ROWS, **given)  # type: ignore[arg-type]


def test_large_constants_repeat_one_element_unless_the_whole_array_matters() -> None:
    for of, splat, repeats in (
        (tensor(LARGEST_CONSTANT), False, False),
        (tensor(LARGEST_CONSTANT + 1), False, True),
        (tensor(8), True, True),
    ):
        assert (len(set(constant(of, "bits", 1, splat=splat).array.tolist())) == 1) is repeats
    assert constant(tensor(3), "values:1,2,3", 1, splat=True).array.tolist() == [1, 2, 3]


@pytest.mark.parametrize(("place", "kind"), [(PARAMETER, Value), (ARRAY, Dense), (SPLAT, Dense)])
def test_sources_of_an_operand(place: str, kind: type) -> None:
    pick = pick_of(0, {"lhs is": place})
    assert isinstance(operand(pick, "lhs", tensor(3), ("bits",)), kind)
    assert [choice.dimension for choice in pick.asked] == ["lhs is"]


def test_variadic_operands_share_their_source_and_unplanned_ones_have_no_dimension() -> None:
    pick = pick_of(0)
    operand(pick, "input12", tensor(3), ("bits",))
    operand(pick, "rhs", tensor(3), ("bits",), planned=False)
    assert [choice.dimension for choice in pick.asked] == ["input is"]


def test_scalars_are_no_splats() -> None:
    pick = pick_of(0)
    operand(pick, "lhs", tensor(), ("bits",))
    assert pick.asked[0].offered == (PARAMETER, ARRAY)


def test_recipes_are_for_parameters_only() -> None:
    value, fixed = Value("v", tensor(3)), constant(tensor(3), "bits", 1)
    recipes = inputs(pick_of(0, turn=0), (fixed, value), ROWS)
    assert {one.profiles for one in recipes} <= {("special",), ("bits",)}
    assert [one.seed - recipes[0].seed for one in recipes] == list(range(len(recipes)))
    assert inputs(pick_of(0), (fixed,), ROWS) == (InputRecipe((), 0),)


def test_cases_of_a_cell_begin_with_the_rows_that_each_has() -> None:
    value = Value("v", tensor(3))
    for turn in range(5):
        recipes = inputs(pick_of(turn, turn=turn), (value,), ROWS, first=(("wide",),))
        assert recipes[0].profiles == ("wide",)


def test_only_related_operands_are_correlated_or_one() -> None:
    def correlations(related: bool) -> set[str]:
        cases = [sum_of(pick_of(seed), related=related) for seed in range(60)]
        return {one.correlation for made in cases for one in made.inputs}

    assert correlations(False) == {"independent"}
    assert correlations(True) == {"independent", "equal", "negated", "one_ulp"}
    alike = sum_of(pick_of(0, {"operands are one": "yes", "lhs is": PARAMETER}), related=True)
    assert len(alike.program.main.arguments) == 1


def test_operands_with_a_fixed_source() -> None:
    for seed in range(20):
        made = sum_of(pick_of(seed), parameters=("lhs",), constants=("rhs",))
        assert [one.name for one in made.program.main.arguments] == ["lhs"]


def test_a_case_whose_results_are_all_empty() -> None:
    pick = pick_of(0)
    case(pick, "add", {"lhs": tensor(0), "rhs": tensor(0)}, (tensor(0),), ROWS)
    assert pick.has_empty_results
    sum_of(pick)
    assert not pick.has_empty_results


def test_hidden_choices_are_drawn_in_the_builder_and_recorded_after_it() -> None:
    def build(_: ElementType, pick: Pick) -> Case:
        return sum_of(pick)

    pick = pick_of(0)
    hide_choices(build, "lhs is")(F32, pick)
    assert [choice.dimension for choice in pick.asked] == ["rhs is"]
    assert pick.hidden == frozenset()


def test_operations_come_before_those_of_main() -> None:
    program = sum_of(pick_of(0), parameters=("lhs", "rhs")).program
    first = Operation("mine")
    extended = prepend_operations(program, (first,), ())
    assert [one.name for one in extended.main.body.operations] == ["mine", "add", "return"]
    assert prepend_operations(program, (), ()) is program
