"""Collectives: grids of processes, shapes of parts, bodies of folds."""

from __future__ import annotations

import pytest

from generators.case.choices import NamedChoice
from generators.families.distribution import (
    BUILDERS,
    GRIDS,
    KEPT,
    choose_computation,
    exchanged_shape,
    grid_label,
    place,
    replica_sum_case,
)
from generators.regions import forms
from reference.ir.types import element_type
from suites.meta.support.built_cases import assert_valid, built, pick_of


@pytest.mark.parametrize("op", BUILDERS)
def test_every_case_is_valid(op: str) -> None:
    of = "ui32" if op.endswith("_id") else "f32"
    cases = built(BUILDERS[op], of, 25)
    assert_valid(cases)
    assert all(case.program.process_grid in GRIDS for case in cases)


def test_at_most_8_processes() -> None:
    assert max(replicas * partitions for replicas, partitions in GRIDS) == 8
    assert min(replicas * partitions for replicas, partitions in GRIDS) == 1
    assert grid_label((2, 4)) == "2 x 4"


def test_the_first_dimension_is_a_place_of_its_own() -> None:
    assert [place(0), place(1), place(2)] == ["the first", "another", "another"]


def test_an_exchange_divides_one_dimension_and_multiplies_another() -> None:
    assert exchanged_shape((6, 5), 0, 1, 3) == (2, 15)
    assert exchanged_shape((6, 5), 0, 0, 3) == (6, 5)


def test_a_body_may_return_an_argument() -> None:
    names = {
        choose_computation(element_type("f32"), pick_of(seed, {"body": KEPT})).name
        for seed in range(20)
    }
    assert names == {"the first", "the last"}


def test_only_some_types_have_bodies_of_any_ops() -> None:
    planned = {forms.NOT_ELEMENTWISE: "yes"}
    kinds = {
        name: {choice.dimension for seed in range(30) for choice in asked(name, seed, planned)}
        for name in ("si32", "f32")
    }
    assert forms.NOT_ELEMENTWISE in kinds["si32"]
    assert forms.NOT_ELEMENTWISE not in kinds["f32"]


def asked(of: str, seed: int, planned: dict[str, str]) -> list[NamedChoice]:
    pick = pick_of(seed, planned)
    choose_computation(element_type(of), pick)
    return pick.asked


def test_folds_among_replicas_are_valid() -> None:
    cases = [
        replica_sum_case("CrossReplicaSum", element_type("f32"), pick_of(seed))
        for seed in range(20)
    ]
    assert_valid(cases)
