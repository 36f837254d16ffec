"""Scattered elements that other treatments of indices give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging import classify
from conformance.judging.compare import judge_operation
from conformance.known.xla.indexing.out_of_bounds import BOUND, NO_INDICES, SIGNED, WINDOW
from conformance.known.xla.indexing.treatments import SCATTERED, XLA_LABELS
from conformance.stablehlo.parse import parse_module
from generators.regions.bodies import fold_of
from reference.interpreter.evaluate import apply, evaluate
from reference.ir.program import Operation, Region, TensorType, Value, single_op
from reference.ir.types import Array, element_type, element_type_of

F32 = element_type("f32")
_PAIR = (Value("a", TensorType((), F32)), Value("b", TensorType((), F32)))
REPLACE = Region(_PAIR, (Operation("return", (_PAIR[1],)),))
ADD = fold_of("add", F32).region

ELEMENTS: dict[str, Any] = {
    "update_window_dims": (),
    "inserted_window_dims": (0,),
    "scatter_dims_to_operand_dims": (0,),
    "index_vector_dim": 1,
}
WINDOWS = ELEMENTS | {"update_window_dims": (1,), "inserted_window_dims": ()}


def explained(
    label: str, size: int, indices: Array, updates: Array, given: dict[str, Any],
    got: dict[int, float], body: Region = REPLACE,
) -> list[int]:  # fmt: skip
    """Return the explained positions of a result that is zero except for what `got` says."""
    operands = np.zeros(size, np.float32), indices, updates.astype(np.float32)
    values = tuple(
        Value(f"x{n}", TensorType(one.shape, element_type_of(one)))
        for n, one in enumerate(operands)
    )
    operation = single_op("scatter", values, (values[0].type,), given, (body,)).subject
    actual = np.zeros(size, np.float32)
    for place, number in got.items():
        actual[place] = number
    (hypothesis,) = (one for one in SCATTERED if one.label == label)
    assert hypothesis.errors is not None
    assert (hypothesis.refutes, hypothesis.signs) == (True, True)
    expected = tuple(apply(operation, operands))
    with np.errstate(all="ignore"):
        (errors,) = hypothesis.errors(operation, operands, expected, (actual,))
    return np.flatnonzero(errors == 0).tolist()


@pytest.mark.parametrize(("got", "found"), [({}, [3]), ({3: 7}, []), ({3: 8}, []), ({0: 5}, [3])])
def test_window_that_is_out_of_bounds_in_part_is_dropped(
    got: dict[int, float], found: list[int]
) -> None:
    """The window 7, 8 begins at the last of four elements, where the specification writes 7."""
    window = np.array([[7, 8]])
    assert explained(WINDOW, 4, np.array([[3]], np.int32), window, WINDOWS, got) == found


def test_window_within_bounds_is_never_dropped() -> None:
    window = np.array([[7, 8]])
    for start, got in ((2, {}), (4, {})):
        assert explained(WINDOW, 4, np.array([[start]], np.int32), window, WINDOWS, got) == []


@pytest.mark.parametrize(("size", "found"), [(200, [5]), (128, [])])
def test_bound_of_more_than_seven_bits_is_negative_in_si8(size: int, found: list[int]) -> None:
    """199 is -57, below each index; 127 is the largest number of si8."""
    indices, updates = np.array([[5]], np.int8), np.array([7])
    assert explained(BOUND, size, indices, updates, ELEMENTS, {}) == found


@pytest.mark.parametrize(
    ("index", "got", "found"), [(150, {}, [150]), (150, {150: 7}, []), (100, {}, [])]
)
def test_unsigned_index_may_be_read_as_negative(
    index: int, got: dict[int, float], found: list[int]
) -> None:
    indices, updates = np.array([[index]], np.uint8), np.array([7])
    assert explained(SIGNED, 200, indices, updates, ELEMENTS, got) == found


def test_updates_without_indices_may_be_a_window_or_the_last_of_them() -> None:
    """All three updates are of the first element, where the specification adds them to 12."""
    given = ELEMENTS | {
        "inserted_window_dims": (0,),
        "scatter_dims_to_operand_dims": (),
    }
    indices, updates = np.zeros((3, 0), np.int32), np.array([3, 4, 5])
    as_window = {0: 3, 1: 4, 2: 5}
    assert explained(NO_INDICES, 4, indices, updates, given, as_window, ADD) == [0, 1, 2]
    assert explained(NO_INDICES, 4, indices, updates, given, {0: 5}, ADD) == [0]
    assert explained(NO_INDICES, 4, indices, updates, given, {0: 4}, ADD) == []
    vectors = np.zeros((3, 1), np.int32)
    assert explained(NO_INDICES, 4, vectors, updates, ELEMENTS, as_window, ADD) == []


def test_sums_are_explained_within_their_bounds() -> None:
    """The window that begins at 3 is dropped; the others add 0.1 and 0.2 to the last element."""
    indices = np.array([[2], [3], [2]], np.int32)
    windows = np.array([[9, 0.1], [5, 8], [9, 0.2]])
    total = np.float32(0.1) + np.float32(0.2)
    near = np.nextafter(total, np.float32(1))
    for got, found in ((total, [3]), (near, [3]), (np.float32(0.3001), []), (total + 5, [])):
        result = {2: 18.0, 3: float(got)}
        assert explained(WINDOW, 4, indices, windows, WINDOWS, result, ADD) == found


def test_zero_that_is_moved_keeps_its_sign() -> None:
    window = np.array([[7, 8]])
    assert explained(WINDOW, 4, np.array([[3]], np.int32), window, WINDOWS, {3: -0.0}) == []


def test_the_interpreter_has_only_the_treatment_of_signed_indices() -> None:
    assert [one.label for one in SCATTERED] == [WINDOW, BOUND, NO_INDICES, SIGNED]
    assert {one.label for one in SCATTERED} - XLA_LABELS == {SIGNED}


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (1e-40, 2, ([3], [3])),
        (0.0, 2, ([], [3])),
        (0.0, 9, ([], [])),
        (5.0, 2, ([], [])),
    ],
)
def test_a_result_that_is_flushed_leaves_the_other_to_its_class(
    first: float, second: int, found: tuple[list[int], list[int]]
) -> None:
    """A window of two inputs is dropped, as it does not fit; the last elements are 1e-40 and 2."""
    inputs = np.full(4, 1e-40, np.float32), np.full(4, 2, np.int32)
    updates = np.array([[7, 8]], np.float32), np.array([[7, 8]], np.int32)
    operands = (*inputs, np.array([[3]], np.int32), *updates)
    types = [element_type_of(one) for one in operands]
    values = tuple(
        Value(f"x{n}", TensorType(one.shape, of))
        for n, (one, of) in enumerate(zip(operands, types, strict=True))
    )
    scalars = tuple(
        Value(name, TensorType((), of)) for name, of in zip("abcd", types[:2] * 2, strict=True)
    )
    body = Region(scalars, (Operation("return", scalars[2:]),))
    results = tuple(one.type for one in values[:2])
    operation = single_op("scatter", values, results, WINDOWS, (body,)).subject
    actual = [one.copy() for one in inputs]
    actual[0][3], actual[1][3] = first, second
    (hypothesis,) = (one for one in SCATTERED if one.label == WINDOW)
    assert hypothesis.errors is not None
    with np.errstate(all="ignore"):
        errors = hypothesis.errors(operation, operands, apply(operation, operands), tuple(actual))
    assert tuple(np.flatnonzero(one == 0).tolist() for one in errors) == found


@pytest.mark.parametrize(
    ("third", "kind"),
    [(2 * 64 + 16, WINDOW), (2 * 16 + 64, WINDOW), (64 + 16, "no order of the updates")],
)
def test_updates_are_applied_window_by_window(third: int, kind: str) -> None:
    """The third window is out of bounds in part. The third element is doubled, then an update is
    added.
    """
    program = parse_module("""
func.func @main(%x: tensor<4xi32>, %u: tensor<3x3xi32>) -> tensor<4xi32> {
  %i = stablehlo.constant dense<[[0], [1], [2]]> : tensor<3x1xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %1 = stablehlo.add %p, %p : tensor<i32>
    %2 = stablehlo.add %1, %q : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  } : (tensor<4xi32>, tensor<3x1xi32>, tensor<3x3xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}""")
    inputs = np.zeros(4, np.int32), (2 ** np.arange(9, dtype=np.int32)).reshape(3, 3)
    got = np.array([1, 2 * 8 + 2, third, 128], np.int32)
    found = judge_operation(program, inputs, evaluate(program, inputs), (got,))
    assert {one.kind for one in found.failures} == {kind, WINDOW}


@pytest.mark.parametrize(
    ("second", "kinds"),
    [(0.0, {"subnormal comparison"}), (1.0, {BOUND, "wrong value"})],
)
def test_flushing_that_explains_all_elements_comes_before_dropped_updates(
    monkeypatch: pytest.MonkeyPatch, second: float, kinds: set[str]
) -> None:
    """The first update is lost by a flushed comparison, or because its index has no room. Flushed
    comparisons of many updates may explain only a part of the elements.
    """
    monkeypatch.setattr(classify, "is_order_partly_flushed", lambda _: True)
    program = parse_module("""
func.func @main(%x: tensor<130xf32>, %i: tensor<2x1xi8>, %u: tensor<2xf32>) -> tensor<130xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  } : (tensor<130xf32>, tensor<2x1xi8>, tensor<2xf32>) -> tensor<130xf32>
  return %0 : tensor<130xf32>
}""")
    x, u = np.zeros(130, np.float32), np.array([1e-40, 1e-41], np.float32)
    actual = x.copy()
    actual[1] = second
    inputs = x, np.array([[0], [1]], np.int8), u
    found = judge_operation(program, inputs, evaluate(program, inputs), (actual,))
    assert {one.kind for one in found.failures} == kinds


@pytest.mark.parametrize(
    ("of", "got", "kind"),
    [
        ("f8E4M3FNUZ", [0.0, 0.0], NO_INDICES),
        ("f8E4M3FNUZ", [0.25, 0.0], "wrong value"),
        ("f32", [0.0, 0.0], "subnormal comparison"),
    ],
)
def test_a_lost_update_is_no_flushed_comparison_in_a_type_that_is_normal_in_f32(
    of: str, got: list[float], kind: str
) -> None:
    """The second update is negative, and the first is subnormal."""
    program = parse_module(f"""
func.func @main(%x: tensor<2x{of}>, %i: tensor<2x0xi64>, %u: tensor<2x{of}>) -> tensor<2x{of}> {{
  %0 = "stablehlo.scatter"(%x, %i, %u) ({{
  ^bb0(%p: tensor<{of}>, %q: tensor<{of}>):
    %1 = stablehlo.maximum %p, %q : tensor<{of}>
    stablehlo.return %1 : tensor<{of}>
  }}) {{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], index_vector_dim = 1>
  }} : (tensor<2x{of}>, tensor<2x0xi64>, tensor<2x{of}>) -> tensor<2x{of}>
  return %0 : tensor<2x{of}>
}}""")
    element = element_type(of)
    subnormal = element.float_format.smallest_normal / 2
    numbers = [np.zeros(2), np.array([subnormal, -1.0]), np.array(got)]
    x, u, actual = (one.astype(element.storage) for one in numbers)
    inputs = x, np.zeros((2, 0), np.int64), u
    found = judge_operation(program, inputs, evaluate(program, inputs), (actual,))
    assert found.kind == kind
