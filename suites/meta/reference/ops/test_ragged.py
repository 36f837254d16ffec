"""RaggedDot equals its definition, group by group in loops; unspecified results."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from generators.cells import plan
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, TensorType, Value, single_op
from reference.ir.types import Array, element_type, element_type_of
from reference.ops.ragged import Mode, ragged_numbers
from reference.ops.xla.lowering import lower_program
from reference.unspecified.table import unspecified_elements
from suites.meta.support.ops.contractions import DEPTH, ROWS


def evaluate_by_definition(
    operation: Operation, lhs: Array, rhs: Array, sizes: Array
) -> tuple[Any, Any]:
    """Return sums of the products whose indices are of one group, in Python integers; and how many
    groups each element of the result has taken from.
    """
    given: Any = dict(operation.attributes)
    numbers = ragged_numbers(**given)
    dot = numbers.dot
    rows = [d for d in range(lhs.ndim) if d not in (*dot.lhs_batching, *dot.lhs_contracting)]
    used = (*dot.rhs_batching, *dot.rhs_contracting, numbers.group)
    columns = [d for d in range(rhs.ndim) if d not in used]
    shape = [*(lhs.shape[d] for d in (*dot.lhs_batching, *rows)), *(rhs.shape[d] for d in columns)]
    in_depth = numbers.mode is Mode.DEPTH
    total = np.zeros((sizes.shape[-1], *shape) if in_depth else shape, object)
    takers = np.zeros(total.shape, object)
    before = numbers.outer_dimensions(lhs.ndim)
    along = [range(lhs.shape[d]) for d in (*dot.lhs_batching, *rows, *dot.lhs_contracting)]
    for place in product(*along):
        at = dict(zip((*dot.lhs_batching, *rows, *dot.lhs_contracting), place, strict=True))
        own = sizes if sizes.ndim == 1 else sizes[tuple(at[d] for d in before)]
        ends = np.cumsum(own.astype(np.int64))
        index = at[numbers.ragged]
        group = next((g for g, end in enumerate(ends) if index < end), None)
        if numbers.mode is Mode.BATCH:
            group = 0
        if group is None:
            continue
        for column in product(*(range(rhs.shape[d]) for d in columns)):
            other = dict(zip(columns, column, strict=True))
            other |= {r: at[d] for d, r in zip(dot.lhs_batching, dot.rhs_batching, strict=True)}
            pairs = zip(dot.lhs_contracting, dot.rhs_contracting, strict=True)
            other |= {r: at[d] for d, r in pairs}
            if numbers.group is not None:
                other[numbers.group] = group
            to = (*(at[d] for d in (*dot.lhs_batching, *rows)), *column)
            to = (group, *to) if in_depth else to
            left = int(lhs[tuple(at[d] for d in range(lhs.ndim))])
            total[to] += left * int(rhs[tuple(other[d] for d in range(rhs.ndim))])
            takers[to] += 1
    return total, takers


def test_every_mode_is_its_definition() -> None:
    of, met = element_type("si32"), set[Mode]()
    for case in plan.cases("RaggedDot", of, 3, 60):
        program = lower_program(case.program)
        operation = next(o for o in program.main.body.operations if o.name == "chlo.ragged_dot")
        if operation.results[0].type.element_type != of:  # type: ignore[union-attr]
            continue
        arrays = materialise(program, case.inputs[0])
        seen: list[Any] = []

        def keep(at: Operation, results: Any, seen: list[Any] = seen) -> Any:
            seen.append((at, results))
            return results

        (result,) = evaluate(program, arrays, on_result=keep)
        known = {v.name: a for at, rs in seen for v, a in zip(at.results, rs, strict=True)}
        known |= {v.name: a for v, a in zip(program.main.arguments, arrays, strict=True)}
        operands = tuple(known[v.name] for v in operation.operands)
        if operands[0].size * max(1, result.size) > 20_000:
            continue
        total, _ = evaluate_by_definition(operation, *operands)
        wrapped = (total.astype(object) + 2**31) % 2**32 - 2**31
        np.testing.assert_array_equal(result, wrapped.astype(np.int64))
        given: Any = dict(operation.attributes)
        met.add(ragged_numbers(**given).mode)
    assert met == set(Mode)


LHS = np.arange(1, 11, dtype=np.float32).reshape(5, 2)
IDENTITY, TWICE, SWAP = np.eye(2), 2 * np.eye(2), np.eye(2)[::-1]
EACH = np.stack([IDENTITY, TWICE, SWAP]).astype(np.float32)
SIZES = np.array([1, 0, 3], np.int32)


def evaluate_dot(*arrays: Array, result: tuple[int, ...], **given: Any) -> tuple[Array, list[str]]:
    """Return the result, and the labels of its unspecified elements."""
    values = tuple(
        Value(f"v{n}", TensorType(a.shape, element_type_of(a))) for n, a in enumerate(arrays)
    )
    of = TensorType(result, element_type("f32"))
    program = single_op("chlo.ragged_dot", values, (of,), given)
    (made,) = evaluate(program, arrays)
    operation = program.main.body.operations[0]
    return made, [label for label, _ in unspecified_elements(operation, arrays, made)]


def test_rows_are_multiplied_by_the_matrix_of_their_group() -> None:
    """The first row as it is, none doubled, three swapped; the last is in no group."""
    made, open_ = evaluate_dot(LHS, EACH, SIZES, result=(5, 2), **ROWS)
    np.testing.assert_array_equal(made, [[1, 2], [4, 3], [6, 5], [8, 7], [0, 0]])
    assert open_ == ["rows of no group"]


def test_products_are_added_up_by_group() -> None:
    made, open_ = evaluate_dot(LHS, LHS, SIZES, result=(3, 2, 2), **DEPTH)
    rows = LHS[1:4]
    np.testing.assert_array_equal(made, [np.outer(LHS[0], LHS[0]), np.zeros((2, 2)), rows.T @ rows])
    assert not open_


def test_groups_of_batches_make_no_difference() -> None:
    numbers = {
        "lhs_batching_dimensions": (0,), "rhs_batching_dimensions": (0,),
        "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (1,),
        "lhs_ragged_dimensions": (0,),
    }  # fmt: skip
    made, open_ = evaluate_dot(LHS, LHS, SIZES, result=(5,), **numbers)
    np.testing.assert_array_equal(made, (LHS * LHS).sum(axis=1))
    assert not open_


def test_infinities_of_other_groups_are_unspecified() -> None:
    """In the matrix of the second group, or in a row of another sum."""
    each, rows = EACH.copy(), LHS.copy()
    each[1, 0, 0], rows[0, 0] = np.inf, np.inf
    made, open_ = evaluate_dot(LHS, each, SIZES, result=(5, 2), **ROWS)
    assert np.isfinite(made).all()
    assert "no number in another group" in open_
    made, open_ = evaluate_dot(rows, LHS, SIZES, result=(3, 2, 2), **DEPTH)
    assert np.isfinite(made[1:]).all()
    assert open_ == ["no number in another group"]


def test_negative_sizes_are_unspecified() -> None:
    sizes = np.array([-1, 3, 3], np.int32)
    _, open_ = evaluate_dot(LHS, EACH, sizes, result=(5, 2), **ROWS)
    assert "negative group size" in open_
