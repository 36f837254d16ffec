"""Data movement that compilers merge: there and back, windows of pads, parts put back."""

from __future__ import annotations

import numpy as np
import pytest

from generators.chains.patterns.movement import PATTERNS
from suites.meta.support.built_cases import evaluate_chain, steps_of, write_chains

NUMBERS = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("name", ["reshape and transpose", "broadcast then slice"])
def test_movement_there_and_back(name: str) -> None:
    for chain, result in write_chains(PATTERNS, name, "f32", (3, 4)):
        np.testing.assert_array_equal(evaluate_chain(chain, result, NUMBERS), NUMBERS)


def test_a_reversal_twice_is_none_unless_something_is_added_between() -> None:
    seen: set[int] = set()
    for chain, result in write_chains(PATTERNS, "double reverse", "f32", (3, 4)):
        found = evaluate_chain(chain, result, NUMBERS)
        steps = steps_of(chain)
        if steps == ["reverse", "reverse"]:
            np.testing.assert_array_equal(found, NUMBERS)
        else:
            assert steps == ["reverse", "add", "reverse"]
            assert not np.array_equal(found, NUMBERS)
        seen.add(len(steps))
    assert seen == {2, 3}


def test_two_slices_are_joined_in_order_or_swapped() -> None:
    whole = swapped = 0
    for chain, result in write_chains(PATTERNS, "concatenate of slices", "f32", (3, 4), 40):
        found = evaluate_chain(chain, result, NUMBERS)
        whole += np.array_equal(found, NUMBERS)
        swapped += not np.array_equal(found, NUMBERS)
        np.testing.assert_array_equal(np.sort(found, axis=None), NUMBERS.reshape(-1))
    assert whole > swapped > 0


def test_permutations_are_undone_repeated_or_others() -> None:
    undone = others = 0
    for chain, _ in write_chains(PATTERNS, "double transpose", "f32", (2, 3, 4), 60):
        first, second = (
            one.attribute("permutation") for one in chain.operations if one.name == "transpose"
        )
        order = [first[d] for d in second]  # type: ignore[index,union-attr]
        undone += order == sorted(order)
        others += order != sorted(order)
    assert undone > 0
    assert others > 0


def test_padding_may_crop_but_never_more_than_there_is() -> None:
    lows = [
        number
        for chain, _ in write_chains(PATTERNS, "pad of pad", "f32", (3,), 60)
        for one in chain.operations
        if one.name == "pad"
        for number in one.attribute("edge_padding_low")  # type: ignore[union-attr]
    ]
    assert {-2, -1, 0, 1, 2} == set(lows)


def test_indices_are_in_range_at_the_edges_and_beyond() -> None:
    numbers: set[int] = set()
    for chain, _ in write_chains(PATTERNS, "slice at index", "f32", (5,), 150):
        for one in chain.operations:
            if one.name == "constant":
                numbers.add(int(one.attribute("value").array))  # type: ignore[union-attr]
    assert {0, 1, 4, 5, 6, -1, 127, 2**31 - 1, -(2**31)} <= numbers


def test_signed_types_that_cannot_count_the_dimension_are_not_indices() -> None:
    for chain, _ in write_chains(PATTERNS, "slice at index", "f32", (200,), 60):
        (cut,) = (one for one in chain.operations if one.name == "dynamic_slice")
        index = cut.operands[1].type.element  # type: ignore[union-attr]
        assert index.is_unsigned or index.max_integer > 200


def test_a_part_may_be_put_where_it_was() -> None:
    for chain, result in write_chains(PATTERNS, "write back slice", "i1", (3, 4)):
        given = NUMBERS % 2 == 0
        np.testing.assert_array_equal(evaluate_chain(chain, result, given), given)


def test_bits_are_read_in_halves_and_back() -> None:
    for chain, result in write_chains(PATTERNS, "bitcast to halves and back", "ui16", (3,)):
        given = np.array([0x1234, 0x00FF, 0], np.uint16)
        turned = given.byteswap() if "reverse" in steps_of(chain) else given
        assert evaluate_chain(chain, result, given).tolist() == turned.tolist()
