"""Folds with any body: one init value, then pairs of neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from generators.regions.bodies import BodyBuilder, fold_of
from reference.interpreter.evaluate import body_of
from reference.ir.program import Region
from reference.ir.regions import components
from reference.ir.types import Array, element_type
from reference.numerics.contributions import Slices
from reference.ops.folds import folding

F32, BF16, SI32 = (element_type(name) for name in ("f32", "bf16", "si32"))


def difference() -> Region:
    block = BodyBuilder.of(SI32, SI32)
    return block.finish_region(block.op("subtract", *block.arguments))


def pairs_lanes(*arrays: Array) -> tuple[Array, ...]:
    """Return (a b), as text: a body that shows the tree."""
    left, right = arrays
    return ("(" + left + right + ")",)


def leaves(count: int) -> tuple[Array, ...]:
    return (np.array([[chr(ord("a") + n)] for n in range(count)], object),)


@pytest.mark.parametrize(
    ("count", "offset", "shape"),
    [
        (1, 0, "a"),
        (2, 0, "(ab)"),
        (3, 0, "((ab)c)"),
        (4, 0, "((ab)(cd))"),
        (5, 0, "(((ab)(cd))e)"),
        (2, 1, "(ab)"),
        (3, 1, "(a(bc))"),
        (4, 1, "(a((bc)d))"),
    ],
)
def test_a_tree_folds_pairs_of_neighbours(count: int, offset: int, shape: str) -> None:
    (found,) = folding.tree(pairs_lanes, leaves(count), offset)
    assert found.tolist() == [shape]


def test_one_init_value_precedes_the_tree() -> None:
    inits = (np.array("i", object),)
    assert folding.init_then_tree(pairs_lanes, leaves(3), inits)[0].tolist() == ["(i((ab)c))"]
    none = (np.empty((0, 2), object),)
    assert folding.init_then_tree(pairs_lanes, none, inits)[0].tolist() == ["i", "i"]


def test_arrays_are_converted_to_the_types_of_the_body() -> None:
    region = fold_of("add", F32).region
    assert folding.argument_elements(region) == (F32, F32)
    given = np.ones(2).astype(BF16.storage), np.ones(2, np.float32)
    converted = folding.convert_arrays(given, (F32, F32))
    assert [one.dtype for one in converted] == [np.float32, np.float32]
    assert converted[1] is given[1]


def test_a_result_made_by_one_op_of_its_own_arguments_is_a_monoid() -> None:
    (monoid,) = components(fold_of("maximum", SI32).region)
    assert monoid is not None
    assert monoid.name == "maximum"
    assert components(difference()) == (None,)


def test_results_of_several_inputs_are_looked_at_one_by_one() -> None:
    """The first result is a sum of its own arguments, the second a sum of the first's."""
    block = BodyBuilder.of(SI32, SI32, SI32, SI32)
    a, b, c, _ = block.arguments
    region = block.finish_region(block.op("add", a, c), block.op("add", a, b))
    first, second = components(region)
    assert first is not None
    assert second is None


def test_a_monoid_is_folded_exactly_and_another_body_by_its_tree() -> None:
    numbers = np.array([[1, 2, 4]], np.int32)
    init = np.array(10, np.int32)
    along = Slices((1, 3), (1,))
    assert folding.fold(body_of(fold_of("add", SI32).region), [numbers], [init], along)[0] == [17]
    assert folding.fold(body_of(difference()), [numbers], [init], along)[0] == [10 - ((1 - 2) - 4)]


def test_results_without_leaves_are_the_init_value() -> None:
    empty, init = np.zeros((2, 0), np.int32), np.array(10, np.int32)
    (found,) = folding.fold(body_of(difference()), [empty], [init], Slices((2, 0), (1,)))
    assert found.tolist() == [10, 10]
