"""Gathers and scatters: roles of dimensions, indices written out, bodies, updates that collide."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest

from generators.families.gathering import BUILDERS
from generators.families.indexed.roles import (
    LARGEST,
    Access,
    access,
    explicit,
    index_profiles,
    index_type,
    limit_slices,
)
from generators.families.indexed.scatter import choose_update
from generators.values.contents import materialise
from reference.ir.types import element_type
from reference.ops.indexed.scatter import group_updates, overwriting_updates, positions
from suites.meta.support.built_cases import built, pick_of

F32 = element_type("f32")
ROWS = Access((5, 3, 4), (1,), (0,), (2,), (2, 4), (1,), (1, 0), 1, (1, 2, 1))
"""A tensor of 5 x 3 x 4: slices of two along dimension 1, one index along dimension 0, and
dimension 2 paired with the second of the indices, whose vectors stand between both."""


def test_the_last_index_at_which_a_slice_fits() -> None:
    assert ROWS.limits() == [1, 4]
    inside = index_profiles(ROWS, far=False)
    assert inside == ("within:0:4", "within:0:1", "values:4", "values:0")
    assert "within:-3:7" in index_profiles(ROWS)


def test_vectors_are_written_where_the_indices_have_them() -> None:
    """The indices have shape (2, 2, 4): two components of four vectors, twice."""
    vectors = [[n, 10 + n] for n in range(8)]
    assert explicit(vectors, ROWS, implicit=False) == (
        "values:0,1,2,3,10,11,12,13,4,5,6,7,14,15,16,17"
    )
    last = replace(ROWS, vector_dim=2)
    assert explicit(vectors[:2], last, implicit=False) == "values:0,10,1,11"
    assert explicit(vectors[:2], last, implicit=True) == "values:0,1"


def test_few_elements_in_slices_of_a_body_that_is_slow() -> None:
    limited = limit_slices(ROWS)
    assert limited.shape == (5, 3, 2)
    assert max(limited.batch) <= 2
    assert all(size <= of for size, of in zip(limited.sizes, limited.shape, strict=True))


def test_dimensions_in_every_role_with_few_elements() -> None:
    seen: set[str] = set()
    for seed in range(300):
        chosen = access(pick_of(seed, {"large": "no"}), F32)
        window = prod(chosen.sizes[d] for d in chosen.kept)
        assert prod(chosen.batch) * window <= LARGEST or max(chosen.sizes, default=1) <= 1
        seen |= {name for name in ("kept", "dropped", "batching") if getattr(chosen, name)}
        seen |= {"empty"} if 0 in chosen.shape else set()
        seen |= {"no indices"} if 0 in chosen.batch else set()
        seen |= {"vector first"} if chosen.batch and chosen.vector_dim == 0 else set()
        seen |= {"stretched"} if max(chosen.shape, default=0) > 100 else set()
    assert len(seen) == 7


def test_without_batching_no_dimension_is_paired() -> None:
    assert not any(access(pick_of(seed), F32, batching=False).batching for seed in range(60))


def test_most_index_types_hold_every_index() -> None:
    large = replace(ROWS, shape=(300, 3, 4))
    types = [index_type(pick_of(seed), large) for seed in range(100)]
    narrow = [of for of in types if of.max_integer < 300]
    assert 0 < len(narrow) < 20


# --- Scatters ------------------------------------------------------------------------------------

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
