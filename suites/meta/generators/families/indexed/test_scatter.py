"""Scatters: bodies of every kind, and updates that collide or do not."""

from __future__ import annotations

import numpy as np
import pytest

from generators.families.gathering import BUILDERS
from generators.families.indexed.scatter import choose_update
from generators.values.contents import materialise
from reference.ir.types import element_type
from reference.ops.indexed.scatter import group_updates, overwriting_updates, positions
from suites.meta.support.built_cases import assert_valid, built, pick_of, subjects

SCATTER = BUILDERS["scatter"]
DIMS = (
    "update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims",
    "index_vector_dim", "input_batching_dims", "scatter_indices_batching_dims",
)  # fmt: skip


@pytest.mark.parametrize(
    ("body", "overwrites"),
    [("overwrite", (0,)), ("keep", None), ("overwrite both", (0, 1)), ("fold", None)],
)
def test_bodies_by_name(body: str, overwrites: tuple[int, ...] | None) -> None:
    update = choose_update(element_type("si32"), pick_of(1, {"body": body}))
    assert overwriting_updates(update.region) == overwrites
    assert len(update.inputs) == len(update.results)
    assert all(len(row) == len(update.inputs) for row in update.rows)


def test_a_difference_needs_a_zero() -> None:
    def bodies(of: str) -> set[str]:
        pick = pick_of(0)
        choose_update(element_type(of), pick)
        (offered,) = (one.offered for one in pick.asked if one.dimension == "body")
        return set(offered)

    assert "subtract" in bodies("f32")
    assert "subtract" not in bodies("i1") | bodies("f8E8M0FNU")


@pytest.mark.parametrize(
    ("kind", "collisions"), [("distinct", 0), ("unique", 0), ("some twice", 1)]
)
def test_updates_of_places(kind: str, collisions: int) -> None:
    """Listed indices collide in their first two vectors, or not at all."""
    listed = 0
    for case in built(
        SCATTER, "f32", 80, {"places": kind, "body": "overwrite", "indices_are_sorted": "no"}
    ):
        recipe = next((r for r in case.inputs if any("values:" in p for p in r.profiles)), None)
        operation = case.program.subject
        if recipe is None or any(one.name == "constant" for one in case.program.walk()):
            continue
        inputs = materialise(case.program, recipe)
        given = dict(operation.attributes)
        writes = positions(
            inputs[0].shape, inputs[1], inputs[2].shape, **{name: given[name] for name in DIMS}
        ).reshape(-1)
        most = group_updates(writes[writes >= 0]).max_updates
        if kind == "unique" and given["unique_indices"]:
            assert most <= 1
            listed += 1
        elif kind != "unique" and ",".join(map(str, np.ravel(inputs[1])[:3].tolist())) in str(
            recipe.profiles
        ):
            listed += most == 1 + collisions
    assert listed > 3


def test_cases_are_valid_with_bodies_that_call_functions() -> None:
    cases = built(SCATTER, "f32", 60)
    assert_valid(cases)
    called = built(SCATTER, "f32", 10, {"body": "fold in functions"})
    assert_valid(called)
    assert all(len(case.program.functions) > 1 for case in called)


def test_a_promise_of_unique_indices_is_made() -> None:
    cases = built(SCATTER, "f32", 60, {"places": "unique"})
    assert {one.attribute("unique_indices") for one in subjects(cases)} == {True, False}
    plain = built(SCATTER, "f32", 30, {"places": "any"})
    assert {one.attribute("unique_indices") for one in subjects(plain)} == {False}
