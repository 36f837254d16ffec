"""Strategies shrink failures to their simplest form."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck
from hypothesis.configuration import set_hypothesis_home_dir

from generators.case.case import Case, InputRecipe
from generators.case.choices import Pick
from generators.chains.strategies import STRATEGIES
from generators.families.table import builder
from generators.values.contents import (
    fill,
    materialise,
    profiles_of,
)
from reference.interpreter.evaluate import check
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ElementType, to_bits
from suites.meta.support.drawn_cases import F32, attributes_of, constants_of, elements, operation_of

Check = Callable[[str, ElementType, Callable[[Case], bool], Callable[[Case], bool]], None]


@pytest.fixture
def check_shrinking(tmp_path: Path) -> Iterator[Check]:
    """Return a check that Hypothesis shrinks a failing case of an op to the simplest case."""
    set_hypothesis_home_dir(tmp_path)
    settings = hypothesis.settings(
        database=None, deadline=None, max_examples=500, suppress_health_check=list(HealthCheck)
    )

    def find_simple(
        op: str,
        of: ElementType,
        condition: Callable[[Case], bool],
        is_simplest: Callable[[Case], bool],
    ) -> None:
        """Search several times, at most.

        Where a search begins depends on the constants that Hypothesis gathers from the modules
        that happen to be loaded, and now and then it ends in a local minimum.
        """
        strategy = STRATEGIES[op](of)
        every: list[Case] = []
        for seed in range(9):
            random = Random(seed)
            every.append(hypothesis.find(strategy, condition, settings=settings, random=random))
            if is_simplest(every[-1]):
                return
        raise AssertionError("\n".join(map(repr, every)))

    yield find_simple
    set_hypothesis_home_dir(None)


def simplest_case(op: str, names: tuple[str, ...], profile: str = "small_integers") -> Case:
    """Return the shrunk case: scalar parameters, one input set, small integers."""
    kind = TensorType((), F32)
    program = single_op(op, tuple(Value(name, kind) for name in names), (kind,))
    return Case(program, (InputRecipe((profile,) * len(names), 0),))


def has_nan(case_: Case) -> bool:
    arrays = [a for recipe in case_.inputs for a in materialise(case_.program, recipe)]
    return any(np.isnan(array).any() for array in arrays)


def shape_of(case_: Case) -> tuple[int, ...]:
    return operation_of(case_).results[0].type.static_shape


@pytest.mark.slow
def test_shrinks_to_a_scalar_of_small_integers(check_shrinking: Check) -> None:
    for op, names in (("add", ("lhs", "rhs")), ("exponential", ("operand",))):
        check_shrinking(op, F32, lambda _: True, simplest_case(op, names).__eq__)


@pytest.mark.slow
def test_shrinks_towards_small_shapes(check_shrinking: Check) -> None:
    check_shrinking(
        "exponential", F32, lambda one: elements(one) >= 2, lambda two: shape_of(two) == (2,)
    )
    check_shrinking(
        "add", F32, lambda one: elements(one) == 0,
        lambda empty: shape_of(empty) == (0,) and constants_of(empty) == 0,
    )  # fmt: skip
    check_shrinking(
        "negate", F32, lambda one: elements(one) > 30, lambda line: shape_of(line) == (31,)
    )


@pytest.mark.slow
def test_shrinks_to_one_constant_and_one_input_set(check_shrinking: Check) -> None:
    def is_simplest(one: Case) -> bool:
        return (constants_of(one), shape_of(one), len(one.inputs)) == (1, (), 1)

    check_shrinking("add", F32, lambda case_: constants_of(case_) >= 1, is_simplest)


@pytest.mark.slow
def test_shrinks_to_the_simplest_profile_that_fails(check_shrinking: Check) -> None:
    def is_simplest(found: Case) -> bool:
        (recipe, *others) = found.inputs
        if others or constants_of(found) or recipe.profiles != ("special",):
            return False
        (array,) = materialise(found.program, recipe)
        return bool(np.isnan(array.reshape(-1)[-1])) and array.size <= 16

    check_shrinking("exponential", F32, has_nan, is_simplest)


def test_smaller_arrays_keep_their_first_elements() -> None:
    for name in profiles_of(F32):
        long, short = (to_bits(fill(TensorType((n,), F32), name, 3)) for n in (200, 7))
        assert (long[:7] == short).all(), name


def test_shrinks_attributes(check_shrinking: Check) -> None:
    attributes = {"comparison_direction": "NE", "compare_type": "FLOAT"}
    check_shrinking(
        "compare", F32, lambda one: dict(attributes_of(one))["comparison_direction"] != "EQ",
        lambda found: dict(attributes_of(found)) == attributes,
    )  # fmt: skip


def test_strategies_and_planned_cases_share_their_builders() -> None:
    fewest = builder("add")(F32, Pick(lambda _: 0))
    assert fewest == simplest_case("add", ("lhs", "rhs"))
    most = builder("add")(F32, Pick(lambda count: count - 1))
    assert check(most.program) == []
