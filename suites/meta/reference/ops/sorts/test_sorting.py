"""Sort: against a sort that calls the comparator pair by pair, and the rule by its properties."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from conformance.stablehlo.parse import parse_module
from conformance.transforms.inline import inline_subject_bodies
from conformance.verdict import Verdict
from generators.case.choices import Pick
from generators.cells.plan import cases
from generators.invalid.misses import tensor
from generators.regions.bodies import BodyBuilder
from generators.regions.comparators import comparators
from generators.values.contents import materialise
from reference.interpreter.evaluate import body_of, evaluate
from reference.ir.program import Region
from reference.ir.regions import Body
from reference.ir.types import ALL, ELEMENT_TYPES, Array, to_bits
from reference.ops.sorts import sorting
from reference.ops.sorts.comparators import order_of
from reference.unspecified.sorting import unspecified_slices
from suites.meta.support.counting import calls_of
from suites.meta.support.ops.sorting import (
    C64,
    F32,
    SI32,
    UI8,
    compare_first,
    judge_result,
    sort_of,
)

NAN, INF = float("nan"), float("inf")


def one_by_one(rows: tuple[Array, ...], body: Body) -> list[int]:
    """Return the stable order of one slice, by Python's sort and single calls of the comparator."""

    def is_before(i: int, j: int) -> bool:
        pairs = ((np.asarray(array[i]), np.asarray(array[j])) for array in rows)
        return bool(body(*(side for pair in pairs for side in pair))[0])

    def compare_positions(i: int, j: int) -> int:
        return -1 if is_before(i, j) else int(is_before(j, i))

    return sorted(range(len(rows[0])), key=cmp_to_key(compare_positions))


@pytest.mark.slow
@pytest.mark.parametrize("of", ALL[::2], ids=str)
def test_sort_is_a_stable_sort_by_the_comparator(of: Any) -> None:
    seen = 0
    for case in cases("sort", of, seed=4, count=60):
        operation = inline_subject_bodies(case.program).subject
        if len(case.program.main.arguments) < len(operation.operands):
            continue
        inputs = materialise(case.program, case.inputs[0])
        if inputs[0].size > 70 or any(m.any() for _, m in unspecified_slices(operation, inputs)):
            continue
        a: dict[str, Any] = dict(operation.attributes)
        body, results = body_of(operation.regions[0]), evaluate(case.program, inputs)
        rows = tuple(np.moveaxis(x, a["dimension"], -1) for x in inputs)
        sorted_rows = tuple(np.moveaxis(x, a["dimension"], -1) for x in results)
        for at in np.ndindex(*rows[0].shape[:-1]):
            order = one_by_one(tuple(x[at] for x in rows), body)
            for x, y in zip(rows, sorted_rows, strict=True):
                assert np.array_equal(to_bits(x[at][order]), to_bits(y[at])), operation
        seen += 1
    assert seen >= 3


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 33, 100])
@pytest.mark.parametrize("way", ["LT", "GT"])
def test_merging_equals_sorting_by_keys(size: int, way: str) -> None:
    body = body_of(compare_first(F32, way=way))
    rng = np.random.default_rng(size)
    rows = (rng.integers(-3, 4, (3, 2, size)).astype(np.float32),)
    codes = sorting.keys_of(rows, body)
    assert codes is not None
    merged = sorting.sort_by_comparator(rows, body)
    assert np.array_equal(merged, sorting.sort_by_codes(codes, rows[0].shape))


def test_merging_gives_a_permutation_with_any_comparator() -> None:
    block = BodyBuilder.of(SI32, SI32)
    lhs, rhs = block.arguments
    odd = block.op(
        "and", block.op("multiply", lhs, block.op("add", lhs, rhs)), block.constant(1, SI32)
    )
    body = body_of(block.finish_region(block.compare(odd, block.constant(0, SI32), "NE")))
    rng = np.random.default_rng(1)
    rows = (rng.integers(0, 100, (20, 37)).astype(np.int32),)
    order = sorting.sort_by_comparator(rows, body)
    assert (np.sort(order, axis=-1) == np.arange(37)).all()


@pytest.mark.parametrize(
    ("name", "kind"), [("f32", "TOTALORDER"), ("f64", "FLOAT"), ("si32", None)]
)
def test_a_million_elements_are_not_compared_pair_by_pair(name: str, kind: str | None) -> None:
    element_type, count = ELEMENT_TYPES[name], 1 << 20
    x = (np.random.default_rng(0).normal(size=count) * 1e6).astype(element_type.storage)
    made = sort_of(
        compare_first(element_type, SI32, kind=kind),
        tensor(element_type, count),
        tensor(SI32, count),
    )
    given = [x, np.arange(count, dtype=np.int32)]
    result, order = evaluate(made, given)
    assert calls_of(lambda: evaluate(made, given)) < 200
    assert np.array_equal(result, np.sort(x))
    assert np.array_equal(x[order], result)


JAX: dict[str, Any] = {
    "sort": lambda x: jnp.sort(x),
    "argsort": lambda x: jnp.argsort(x),
    "descending": lambda x: jnp.argsort(x, descending=True),
    "two keys": lambda x: lax.sort((jnp.round(x), -x, x), num_keys=2),
    "axis": lambda x: jnp.sort(x.reshape(-1, 4), axis=0),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in JAX
        for dtype in ("float32", "bfloat16", "uint32", "complex64", "bool")
        if name != "two keys" or dtype in ("float32", "bfloat16")
    ],
)
def test_sorts_that_jax_exports(name: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    wide = rng.choice([0.0, -0.0, 1.5, -2.5, 1e3, NAN, -INF, INF, 3.25], 64)
    if dtype in ("int8", "uint32", "bool"):
        wide = rng.integers(0, 99, 64)
    x = jnp.asarray(wide).astype(dtype)
    if dtype == "complex64":
        x = x + 1j * x[::-1]
    text = jax.jit(JAX[name]).lower(x).as_text()
    made = parse_module(text)
    regions = [o.regions[0] for o in made.walk() if o.name == "sort"]
    assert all(order_of(region) is not None for region in regions)
    results = evaluate(made, [np.asarray(x)])
    for got, want in zip(results, jax.tree.leaves(jax.jit(JAX[name])(x)), strict=True):
        assert np.array_equal(
            got.astype(np.complex128), np.asarray(want).astype(np.complex128), equal_nan=True
        )


def comparator_of(of: Any, **planned: str) -> Region:
    """Return a comparator whose choices are planned, the others the first."""
    return comparators(of, Pick(lambda _: 0, planned)).region


@pytest.mark.parametrize("of", [F32, SI32, UI8, C64], ids=str)
@pytest.mark.parametrize("way", ["LT", "GT"])
def test_elements_of_different_operands_are_compared(of: Any, way: str) -> None:
    """On equal operands, as such cases have them, it is the order of one operand."""
    region = comparator_of(of, comparator="key across operands", direction=way)
    assert order_of(region) is None
    types = (tensor(of, 7), tensor(of, 7), tensor(SI32, 7))
    made = sort_of(region, *types)
    x = np.array([2, 0, 1, 2, 0, 3, 1]).astype(of.storage)
    inputs = [x, x, np.arange(7, dtype=np.int32)]
    results = evaluate(made, inputs)
    plain = evaluate(sort_of(compare_first(of, of, SI32, way=way), *types), inputs)
    for result, other in zip(results, plain, strict=True):
        assert np.array_equal(to_bits(result), to_bits(other))
    assert judge_result(made, inputs, list(results)) == (Verdict.PASS, "")
    wrong = [array[::-1] for array in results]
    assert judge_result(made, inputs, wrong)[0] is Verdict.DIVERGENT


def test_the_second_operand_decides_first() -> None:
    """A backend that compares by the first operand first is caught."""
    planned = {"comparator": "two keys", "second operand decides first": "yes"}
    region = comparator_of(SI32, **planned)
    inputs = [np.array(row, np.int32) for row in ([3, 1, 2, 0], [1, 1, 0, 0])]
    made = sort_of(region, *(tensor(SI32, 4),) * 2)
    first, second = evaluate(made, inputs)
    assert (first.tolist(), second.tolist()) == ([0, 2, 1, 3], [0, 0, 1, 1])
    order = np.lexsort(inputs[::-1])
    assert judge_result(made, inputs, [x[order] for x in inputs])[0] is Verdict.DIVERGENT


def test_standard_has_comparators_of_several_operands() -> None:
    regions = [case.program.subject.regions[0] for case in cases("sort", SI32, seed=0, count=32)]
    compared = [
        (
            region.arguments.index(operation.operands[0]),
            region.arguments.index(operation.operands[1]),
        )
        for region in regions
        for operation in region.operations
        if operation.name == "compare" and set(operation.operands) <= set(region.arguments)
    ]
    assert any(lhs // 2 != rhs // 2 for lhs, rhs in compared)
    assert any(min(pair) >= 2 for pair in compared)
