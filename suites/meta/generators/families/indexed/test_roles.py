"""The roles of dimensions in a gather or a scatter, and indices written out."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from generators.families.indexed.roles import (
    LARGEST,
    Access,
    access,
    explicit,
    index_profiles,
    index_type,
    limit_slices,
)
from reference.ir.types import element_type
from suites.meta.support.built_cases import pick_of

F32 = element_type("f32")
ROWS = Access((5, 3, 4), (1,), (0,), (2,), (2, 4), (1,), (1, 0), 1, (1, 2, 1))
"""A tensor of 5 x 3 x 4: slices of two along dimension 1, one index along dimension 0, and
dimension 2 paired with the second of the indices, whose vectors stand between both."""


def test_shapes_of_indices_with_vectors_and_without() -> None:
    assert ROWS.indices_shape(implicit=False) == (2, 2, 4)
    assert ROWS.paired_dims(implicit=False) == (2,)
    scalars = replace(ROWS, mapped=(0,), vector_dim=2)
    assert scalars.implicit
    assert scalars.indices_shape(implicit=True) == (2, 4)
    assert scalars.paired_dims(implicit=True) == (1,)
    assert not ROWS.implicit


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


def test_each_dimension_has_one_role() -> None:
    seen: set[str] = set()
    for seed in range(300):
        chosen = access(pick_of(seed, {"large": "no"}), F32)
        every = sorted((*chosen.kept, *chosen.dropped, *chosen.batching))
        assert every == list(range(len(chosen.shape)))
        assert not set(chosen.mapped) & set(chosen.batching)
        assert all(
            chosen.sizes[d] == 1 for d in (*chosen.dropped, *chosen.batching) if chosen.shape[d]
        )
        assert not any(chosen.shape[d] == 0 for d in chosen.dropped)
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
