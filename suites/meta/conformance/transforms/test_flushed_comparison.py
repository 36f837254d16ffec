"""Comparisons that take subnormal numbers for zeros: such results are `flushed`, no others are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from conformance.campaign.tasks import Task
from conformance.catalog import CATALOG, Cell
from conformance.judging.compare import judge
from conformance.transforms.flushed_comparison import (
    flush_comparisons,
)
from conformance.verdict import Verdict
from generators.invalid.misses import program, tensor
from generators.regions.bodies import BodyBuilder, fold_of, multi_op_bodies, selector
from reference.interpreter.evaluate import body_of, evaluate
from reference.ir.program import Program, Region, TensorType
from reference.ir.types import Array, ElementType, element_type
from suites.meta.support.one_task import run_task

F32, BF16, C64, SI32, I1 = (
    element_type(name) for name in ("f32", "bf16", "complex<f32>", "si32", "i1")
)

T, U, V = 1e-40, 2e-40, 3e-40
"""Numbers that are subnormal in f32 and bf16."""
NAN = float("nan")
POINTS: dict[str, Any] = {
    "update_window_dims": (), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,),
    "index_vector_dim": 1,
}  # fmt: skip


def program_of(op: str, *of: ElementType, to: ElementType, size: int = 1, **given: Any) -> Program:
    """Return an op of operands of that many elements."""
    operands = {f"x{index}": tensor(one, size) for index, one in enumerate(of)}
    return program(op, operands, (tensor(to, size),), **given)


def reduction_of(region: Region, of: tuple[ElementType, ...], size: int) -> Program:
    named = {f"x{n}": tensor(one, size) for n, one in enumerate(of)}
    named |= {f"init{n}": tensor(one) for n, one in enumerate(of)}
    return program("reduce", named, tuple(map(tensor, of)), (region,), dimensions=(0,))


def windows(region: Region, of: ElementType, size: int, window: int) -> Program:
    named = {"x": tensor(of, size), "init": tensor(of)}
    to = (tensor(of, size - window + 1),)
    return program("reduce_window", named, to, (region,), window_dimensions=(window,))


def scatter_of(region: Region, of: ElementType, size: int, count: int) -> Program:
    named = {"x": tensor(of, size), "at": tensor(SI32, count, 1), "updates": tensor(of, count)}
    return program("scatter", named, (tensor(of, size),), (region,), **POINTS)


def pooling_of(direction: str, of: ElementType) -> Program:
    """Return each window of two elements adds its source to the element that the
    direction selects.
    """
    named = {"x": tensor(of, 4), "source": tensor(of, 2), "init": tensor(of)}
    regions = (selector(of, direction), fold_of("add", of).region)
    given: dict[str, Any] = {"window_dimensions": (2,), "window_strides": (2,)}
    return program("select_and_scatter", named, (tensor(of, 4),), regions, **given)


def sort_of(of: ElementType, size: int, *, stable: bool) -> Program:
    block = BodyBuilder.of(of, of, SI32, SI32)
    region = block.finish_region(block.compare(block.arguments[0], block.arguments[1], "LT"))
    types = (tensor(of, size), tensor(SI32, size))
    named = {"x": types[0], "place": types[1]}
    return program("sort", named, types, (region,), dimension=0, is_stable=stable)


def larger_body(of: ElementType) -> Region:
    """Return the larger of two arguments, by a comparison and a choice."""
    block = BodyBuilder.of(of, of)
    lhs, rhs = block.arguments
    return block.finish_region(block.op("select", block.compare(lhs, rhs, "GE"), lhs, rhs))


def mapping(region: Region, of: ElementType) -> Program:
    named = {"x": tensor(of, 1), "y": tensor(of, 1)}
    return program("map", named, (tensor(of, 1),), (region,), dimensions=(0,))


PLACE = next(body for body in multi_op_bodies(F32) if body.name == "place of the largest")


@dataclass(frozen=True)
class Chosen:
    """A program and its inputs; results that coarse comparisons may give, and results that
    nothing gives."""

    name: str
    program: Program
    inputs: tuple[Any, ...]
    coarse: tuple[Any, ...]
    wrong: tuple[Any, ...]
    kind: str = "flushed"

    def __str__(self) -> str:
        return self.name


MAX, MIN = fold_of("maximum", F32).region, fold_of("minimum", F32).region
KEYS = ([T, 0.0, -T, 1.0], [0, 1, 2, 3])

CHOSEN = [
    Chosen("maximum", program_of("maximum", F32, F32, to=F32), ([T], [-T]), (([-T],),),
           (([U],), ([-U],), ([1.0],))),
    Chosen("maximum of unlike ones", program_of("maximum", F32, F32, to=F32), ([T], [1.0]), (),
           (([T],), ([NAN],))),
    Chosen("minimum", program_of("minimum", F32, F32, to=F32), ([T], [0.0]), (([T],),),
           (([-T],), ([1.0],))),
    Chosen("maximum of bf16", program_of("maximum", BF16, BF16, to=BF16), ([T], [-T]), (([-T],),),
           (([U],),)),
    Chosen("clamp", program_of("clamp", F32, F32, F32, to=F32), ([-T], [-U], [1.0]), (([-U],),),
           (([T],), ([1.0],))),
    Chosen("clamp from above", program_of("clamp", F32, F32, F32, to=F32), ([-1.0], [U], [T]),
           (([U],),), (([V],), ([-1.0],))),
    Chosen("compare", program_of("compare", F32, F32, to=I1, comparison_direction="GT"),
           ([T], [-T]), (([False],),), (), "flushed"),
    Chosen("compare of normal numbers",
           program_of("compare", F32, F32, to=I1, comparison_direction="GT"), ([1.0], [T]), (),
           (([False],),)),
    Chosen("reduce", reduction_of(MAX, (F32,), 3), ([T, -U, U], -1.0), ((T,), (-U,)),
           ((V,), (-T,), (-1.0,))),
    Chosen("reduce with a normal number", reduction_of(MAX, (F32,), 3), ([T, 1.0, U], -1.0), (),
           ((T,), (U,))),
    Chosen("reduce by a choice", reduction_of(larger_body(F32), (F32,), 2), ([T, U], -1.0), ((T,),),
           ((V,),)),
    Chosen("place of the largest", reduction_of(PLACE.region, (F32, SI32), 3),
           ([T, 0.0, U], [0, 1, 2], -1.0, 99), ((T, 0),), ((V, 0), (U, 1), (U, 99))),
    Chosen("reduce_window", windows(MIN, F32, 3, 2), ([T, -T, 1.0], 1.0), (([T, -T],),),
           (([U, -T],), ([-T, 1.0],))),
    Chosen("scatter", scatter_of(MAX, F32, 2, 2), ([-1.0, 3.0], [[0], [0]], [T, U]),
           (([T, 3.0],),), (([V, 3.0],), ([-1.0, 3.0],), ([U, 1.0],))),
    Chosen("scatter by a choice", scatter_of(larger_body(F32), F32, 2, 2),
           ([-1.0, 3.0], [[0], [0]], [T, U]), (([T, 3.0],),), (([V, 3.0],), ([-1.0, 3.0],))),
    Chosen("select_and_scatter", pooling_of("GE", F32), ([T, U, 1.0, 2.0], [5.0, 7.0], 0.0),
           (([5.0, 0, 0, 7.0],),), (([0, 5.0, 7.0, 0],), ([0, 5.0, 0, 8.0],))),
    Chosen("stable sort", sort_of(F32, 4, stable=True), KEYS, (KEYS,),
           (([-T, T, 0.0, 1.0], [2, 0, 1, 3]), ([U, 0.0, -T, 1.0], [0, 1, 2, 3]),
            ([T, 0.0, 1.0, -T], [0, 1, 3, 2]))),
    Chosen("sort", sort_of(F32, 4, stable=False), KEYS,
           (KEYS, ([T, -T, 0.0, 1.0], [0, 2, 1, 3])),
           (([T, 0.0, -T, 1.0], [0, 2, 1, 3]), ([T, 0.0, 1.0, -T], [0, 1, 3, 2]))),
    Chosen("map", mapping(larger_body(F32), F32), ([T], [U]), (([T],),), (([V],),)),
]  # fmt: skip


def arrays(made: Program, values: Any, *, results: bool) -> list[Array]:
    types = (
        made.main.result_types if results else [argument.type for argument in made.main.arguments]
    )
    values = values if isinstance(values, tuple) else (values,)
    found: list[Array] = []
    for value, of in zip(values, types, strict=True):
        assert isinstance(of, TensorType)
        found.append(np.asarray(value).astype(of.storage))
    return found


@pytest.mark.parametrize("case", CHOSEN, ids=str)
def test_only_choices_by_flushed_comparisons_are_flushed(case: Chosen) -> None:
    name = case.program.subject.name
    inputs = arrays(case.program, case.inputs, results=False)
    expected = evaluate(case.program, inputs)
    for verdict, outcomes in ((Verdict.FLUSHED, case.coarse), (Verdict.DIVERGENT, case.wrong)):
        for outcome in outcomes:
            actual = arrays(case.program, outcome, results=True)
            found = judge(case.program, inputs, expected, actual, CATALOG[name].tolerance)
            assert found.verdict is verdict, (outcome, found.message)
            assert verdict is Verdict.DIVERGENT or found.kind == case.kind


OPS_THAT_COMPARE = (
    "clamp", "compare", "map", "maximum", "minimum", "reduce", "reduce_window", "scatter",
    "select_and_scatter", "sort",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS_THAT_COMPARE)
@pytest.mark.parametrize("name", ["f32", "bf16", "f8E5M2", "complex<f32>"])
def test_a_backend_that_compares_so_is_flushed(op: str, name: str) -> None:
    cell = Cell(op, element_type(name), "reference:compare_denormals_as_zero")
    failing = [r for r in run_task(Task(cell, 5, 0, 24)).records if r.verdict.fails]
    assert {r.verdict for r in failing} <= {Verdict.FLUSHED}, [r.message for r in failing]


def test_comparators_of_other_types_are_not_flushed() -> None:
    for region in (larger_body(SI32), fold_of("add", F32).region):
        assert flush_comparisons(region) == ()


def test_parts_of_complex_numbers_are_compared_coarsely() -> None:
    block = BodyBuilder.of(C64, C64)
    region = block.finish_region(block.compare(block.arguments[0], block.arguments[1], "EQ"))
    (coarse,) = flush_comparisons(region)
    x, y = np.array([1 + T * 1j, 1 + 1j], np.complex64), np.array([1, 1], np.complex64)
    assert body_of(region).lanes(x, y)[0].tolist() == [False, False]
    assert body_of(coarse).lanes(x, y)[0].tolist() == [True, False]
