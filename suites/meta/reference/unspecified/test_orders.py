"""Orders of elements and of updates, matrices without a decomposition, and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from generators.regions import forms
from generators.regions.bodies import BodyBuilder, fold_of
from reference.interpreter.evaluate import body_of
from reference.ir.program import Operation, Region, TensorType, Value, attributes, single_op
from reference.ir.types import Array, element_type
from reference.unspecified import sorting
from reference.unspecified.bodies import unspecified_in_lanes
from reference.unspecified.sorting import NO_ORDER, unspecified_slices
from reference.unspecified.table import unspecified_elements
from suites.meta.support.ops.sorting import F32, SI32, compare_first
from suites.meta.support.ops.unspecified import Found, array, unspecified_by

SORTED, UNIQUE = "indices said to be sorted", "indices said to be unique"

GATHER: dict[str, Any] = {
    "offset_dims": (), "collapsed_slice_dims": (0, 1), "operand_batching_dims": (),
    "start_indices_batching_dims": (), "start_index_map": (0, 1), "index_vector_dim": 1,
    "slice_sizes": (1, 1),
}  # fmt: skip

SCATTER: dict[str, Any] = {
    "update_window_dims": (), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,),
    "index_vector_dim": 1, "input_batching_dims": (), "scatter_indices_batching_dims": (),
}  # fmt: skip


def unspecified_gather(indices: list[list[int]], *, is_sorted: bool = True, **given: Any) -> Found:
    operands = np.zeros((4, 4), np.float32), array("si32", indices)
    return unspecified_by(
        "gather", *operands, **{**GATHER, "indices_are_sorted": is_sorted, **given}
    )


def test_index_vectors_are_sorted_lexicographically() -> None:
    assert unspecified_gather([[0, 3], [1, 0], [1, 1]]) == {}
    assert unspecified_gather([[1, 0], [0, 3]]) == {SORTED: [True, True]}
    assert unspecified_gather([[1, 1], [1, 0]]) == {SORTED: [True, True]}
    assert unspecified_gather([[1, 1], [1, 1]]) == {}
    assert unspecified_gather([[1, 0], [0, 3]], is_sorted=False) == {}


def test_sizes_of_dynamic_slices_are_values() -> None:
    given = {name: value for name, value in GATHER.items() if name != "slice_sizes"}
    operands = np.zeros((4, 4), np.float32), array("si32", [[1, 0], [0, 3]]), array("si32", [1, 1])
    to = TensorType((2,), F32)
    found = unspecified_by("dynamic_gather", *operands, to=to, indices_are_sorted=True, **given)
    assert found == {SORTED: [True, True]}


def unspecified_scatter(
    body: Region, indices: list[int], updates: list[float], **given: Any
) -> Found:
    operands = array("f32", [0, 0, 0]), array("si32", indices)[:, None], array("f32", updates)
    return unspecified_by("scatter", *operands, regions=(body,), **SCATTER, **given)


ADD, MULTIPLY = fold_of("add", F32).region, fold_of("multiply", F32).region


def replacing() -> Region:
    block = BodyBuilder.of(F32, F32)
    return block.finish_region(block.arguments[1])


def test_promises_about_the_indices_of_updates() -> None:
    for promise, label in (("indices_are_sorted", SORTED), ("unique_indices", UNIQUE)):
        assert unspecified_scatter(ADD, [0, 1], [1, 1], **{promise: True}) == {}
        wrong = [1, 0] if label == SORTED else [1, 1]
        assert unspecified_scatter(ADD, wrong, [1, 1], **{promise: True}) == {label: [True] * 3}
        assert unspecified_scatter(ADD, wrong, [1, 1]) == {}


@pytest.mark.parametrize(
    ("indices", "updates", "mask"),
    [
        ([1, 1], [1, 2], [False, True, False]),
        ([1, 1], [2, 2], None),  # the order makes no difference
        ([0, 1], [1, 2], None),
        ([1] * 5, [1, 2, 3, 4, 5], [False, True, False]),  # too many orders to try
    ],
)
def test_the_last_update_decides(
    indices: list[int], updates: list[float], mask: list[bool] | None
) -> None:
    found = unspecified_scatter(replacing(), indices, updates)
    assert found == ({} if mask is None else {"order of the updates": mask})


def test_sums_depend_on_the_order_only_by_overflow() -> None:
    assert unspecified_scatter(ADD, [1, 1], [0.1, 0.3]) == {}
    big = unspecified_scatter(ADD, [1, 1, 1], [2e38, 2e38, -2e38])
    assert big == {"order of the updates": [False, True, False]}
    assert unspecified_scatter(MULTIPLY, [1, 1, 1], [1e30, 1e30, 1e30]) != {}  # times zero


def test_results_of_the_computation_may_be_unspecified_themselves() -> None:
    """An integer quotient, of the element and the update."""
    of = element_type("si32")
    block = BodyBuilder.of(of, of)
    body = block.finish_region(block.op("divide", *block.arguments))
    operands = array("si32", [4, 4]), array("si32", [[1]]), array("si32", [0])
    found = unspecified_by("scatter", *operands, regions=(body,), **SCATTER)
    assert found == {"integer division by zero": [False, True]}


def test_indices_of_torch_in_batches() -> None:
    operands = array("f32", np.zeros((2, 3, 2))), array("si32", [[0, 2], [0, 3]])
    found = unspecified_by("torch_index_select", *operands, dim=1, batch_dims=1,
        to=TensorType((2, 2, 2), F32),
    )  # fmt: skip
    assert found == {"index out of range": [False] * 6 + [True] * 2}


NAN = np.nan


def slices(
    numbers: object, *, way: str, of: str = "f32", dimension: int = -1
) -> dict[str, list[bool]]:
    """Return the masks of slices of a sort by one comparison, by their reasons."""
    operand: Array = array(of, numbers)
    element = {"f32": F32, "si32": SI32}[of]
    kind = TensorType(operand.shape, element)
    given = {"dimension": dimension % operand.ndim, "is_stable": True}
    program = single_op(
        "sort", (Value("v", kind),), (kind,), given, (compare_first(element, way=way),)
    )
    found = unspecified_slices(program.subject, [operand])
    return {label: mask.tolist() for label, mask in found if mask.any()}


def test_numbers_and_nan_have_no_order_by_less_than() -> None:
    assert slices([[1, NAN, 0], [1, 2, 0], [NAN, NAN, NAN]], way="LT") == {
        NO_ORDER: [True, False, False]
    }


def test_the_slices_are_those_along_the_dimension() -> None:
    """Of two elements, NaN and a number are equal: neither precedes the other."""
    rows = [[1, 2], [NAN, 3], [0, 4]]
    assert slices(rows, way="LT", dimension=0) == {NO_ORDER: [True, False]}
    assert slices(rows, way="LT", dimension=1) == {}


def test_in_long_slices_neighbours_of_equal_elements_are_still_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sorting, "_MAX_PAIRS", 0)
    assert slices([[1, 2, 3, 4, 4]], way="LE", of="si32") == {NO_ORDER: [True]}
    assert slices([[5, 2, 3, 4, 1]], way="LE", of="si32") == {NO_ORDER: [True]}  # x <= x
    assert slices([[5, 2, 3, 4, 4]], way="LT", of="si32") == {}


def largest(of: str, *rows: list[float]) -> Found:
    return unspecified_by("mhlo.topk", array(of, rows), k=1)


def test_a_row_with_zeros_of_both_signs() -> None:
    rows = [0.0, -0.0], [0.0, 0.0], [-0.0, -0.0], [-1.0, 0.0]
    assert largest("f32", *rows) == {"order of zeros": [True, False, False, False]}


@pytest.mark.parametrize("is_stable", [True, False])
def test_places_of_equal_elements(is_stable: bool) -> None:
    row = array("si32", [5, 7, 5, 1])
    largest_values, places = (
        unspecified_by("chlo.top_k", row, number=number, k=2, is_stable=is_stable)
        for number in range(2)
    )
    assert not largest_values
    assert places == ({} if is_stable else {"order of equal elements": [False, True]})


ALL = [True] * 4
UPPER, LOWER = [False, True, False, False], [False, False, True, False]


def cholesky(a: Any, *, lower: bool = True, of: str = "f32") -> Found:
    return unspecified_by("cholesky", array(of, a), lower=lower)


def test_the_other_triangle_of_a_factor() -> None:
    assert cholesky([[4, 2], [2, 5]]) == {"the other triangle": UPPER}
    assert cholesky([[4, 2], [2, 5]], lower=False) == {"the other triangle": LOWER}


@pytest.mark.parametrize(
    "a",
    [
        [[4, 2], [1, 5]],
        [[1, 2], [2, 1]],
        [[0, 0], [0, 1]],
        [[1, 1j], [1j, 5]],
        [[np.nan, 0], [0, 1]],
    ],
)
def test_factors_of_matrices_that_are_not_positive_definite(a: Any) -> None:
    of = "complex<f32>" if np.iscomplexobj(a) else "f32"
    assert cholesky(a, of=of)["not Hermitian positive definite"] == ALL


def unspecified_solve(a: Any, b: Any, of: str = "f32", **given: Any) -> Found:
    attributes: dict[str, Any] = {
        "left_side": True, "lower": True, "unit_diagonal": False, "transpose_a": "NO_TRANSPOSE"
    }  # fmt: skip
    return unspecified_by("triangular_solve", array(of, a), array(of, b), **attributes | given)


def test_a_diagonal_said_to_be_of_ones() -> None:
    label = "diagonal not of ones"
    assert unspecified_solve([[2, 0], [1, 1]], [[2], [5]], unit_diagonal=True) == {
        label: [True, True]
    }
    assert unspecified_solve([[1, 0], [1, 1]], [[2], [5]], unit_diagonal=True) == {}


def test_a_singular_matrix() -> None:
    assert unspecified_solve([[2, 0], [1, 0]], [[2], [5]])["singular matrix"] == [True, True]
    assert unspecified_solve([[2, 9], [1, 4]], [[2], [5]]) == {}  # the upper triangle is not read


def test_numbers_that_are_not_finite_affect_their_own_column() -> None:
    label = "numbers that are not finite"
    assert unspecified_solve([[2, 0], [np.inf, 4]], [[2, 1], [5, 1]]) == {label: ALL}
    found = unspecified_solve([[2, 0], [1, 4]], [[np.nan, 1], [5, 1]])
    assert found == {label: [True, False, True, False]}
    found = unspecified_solve([[2, 0], [1, 4]], [[np.nan, 1], [5, 1]], left_side=False)
    assert found == {label: [True, True, False, False]}


def test_steps_beyond_the_largest_number_of_a_format() -> None:
    """The largest number is 6, and represents everything beyond it."""
    of, label = "f4E2M1FN", "steps beyond the largest number"
    assert unspecified_solve([[1, 0], [4, 1]], [[4], [2]], of) == {label: [False, True]}
    assert unspecified_solve([[1, 0], [1, 1]], [[4], [2]], of) == {}
    assert unspecified_solve([[0.5, 0], [1, 1]], [[4], [0]], of) == {label: [False, True]}
    assert unspecified_solve([[1, 4], [0, 1]], [[2], [4]], of, lower=False) == {
        label: [True, False]
    }
    rows = unspecified_solve([[1, 0], [4, 1]], [[2, 4]], of, left_side=False)
    assert rows == {label: [True, False]}
    assert unspecified_solve([[1, 0], [4, 1]], [[4], [2]], "f32") == {}


def test_the_other_triangle_of_a_triangular_solution() -> None:
    a = [[2, 0], [1, 4]]
    assert unspecified_solve(a, [[1, 0], [3, 4]]) == {"the other triangle": UPPER}
    assert unspecified_solve(a, [[1, 5], [3, 4]]) == {}
    assert unspecified_solve(a, [[1, 0], [3, 4]], transpose_a="TRANSPOSE") == {}
    assert unspecified_solve(np.transpose(a), [[1, 3], [0, 4]], lower=False) == {
        "the other triangle": LOWER
    }


@pytest.mark.parametrize(
    ("distribution", "a", "b", "undefined"),
    [
        ("UNIFORM", 0, 1, False),
        ("UNIFORM", 1, 1, True),
        ("UNIFORM", 2, 1, True),
        ("UNIFORM", -np.inf, 1, True),
        ("NORMAL", 5, 0, False),
        ("NORMAL", 5, -1, True),
        ("NORMAL", 5, np.nan, True),
        ("NORMAL", np.nan, 1, True),
    ],
)
def test_parameters_of_a_distribution(
    distribution: str, a: float, b: float, undefined: bool
) -> None:
    operation = Operation("rng", attributes=attributes(rng_distribution=distribution))
    operands = np.array(a, np.float32), np.array(b, np.float32)
    assert bool(unspecified_elements(operation, operands, np.zeros(3))) is undefined


@pytest.mark.parametrize(
    ("mean", "invalid"), [(0, False), (1, False), (-0.1, True), (1.1, True), (np.nan, True)]
)
def test_means_of_zeros_and_ones(mean: float, invalid: bool) -> None:
    operation = Operation("RngBernoulli")
    assert bool(unspecified_elements(operation, (np.array(mean),), np.zeros(3))) is invalid


@pytest.mark.parametrize(
    ("algorithm", "label"), [("DEFAULT", "algorithm"), ("PHILOX", "variant of PHILOX")]
)
def test_every_bit_of_every_algorithm(algorithm: str, label: str) -> None:
    operation = Operation("rng_bit_generator", attributes=attributes(rng_algorithm=algorithm))
    ((found, mask),) = unspecified_elements(operation, (), np.zeros(3))
    assert (found, mask.tolist()) == (label, [True] * 3)


I1, OF = element_type("i1"), element_type("f8E4M3FNUZ")
"""A type whose only NaN has no sign, so that its place in total order is undefined."""

LEFT = np.array([1.0, np.nan, np.nan, 3.0]).astype(OF.storage)
RIGHT = np.array([2.0, 1.0, np.nan, np.nan]).astype(OF.storage)


def compare_total(block: BodyBuilder, a: Value, b: Value) -> Value:
    given = {"comparison_direction": "LT", "compare_type": "TOTALORDER"}
    return block.op("compare", a, b, to=I1, **given)


def unspecified_lanes(region: Region) -> list[bool]:
    found = np.zeros(LEFT.shape, np.bool_)
    for _, mask in unspecified_in_lanes(body_of(region), (LEFT, RIGHT)):
        found |= mask
    return found.tolist()


@pytest.mark.parametrize("form", [lambda region: region, *forms.FORMS.values()])
def test_a_comparison_is_unspecified_alike_in_all_forms(form: Callable[[Region], Region]) -> None:
    block = BodyBuilder.of(OF, OF)
    region = block.finish_region(compare_total(block, *block.arguments))
    assert unspecified_lanes(form(region)) == [False, True, False, True]
