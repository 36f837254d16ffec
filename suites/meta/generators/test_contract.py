"""The contract of the generators, for every op: valid cases, separate near misses, full coverage.

Every drawn case is valid, can be evaluated, written and read. Every near miss breaks exactly the
constraint that it states. Every value of every dimension is covered. A case depends on seed and
index only. Tests of the folders are about helpers, and about values that single ops must reach.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.campaign.planning import cases_of, plan_of
from conformance.catalog import CATALOG, Cell
from conformance.judging.compare import judge
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import diagnose, parse_module
from generators.case.case import Case
from generators.case.columns import INVALID
from generators.cells import plan
from generators.cells.columns import columns_of, miss_count, ordered_misses
from generators.cells.coverage_report import CoverageReport
from generators.cells.plan import case, cases
from generators.chains.strategies import STRATEGIES, strategy
from generators.families.table import BUILDERS, builder
from generators.invalid.table import INSEPARABLE, NEAR_MISSES, near_misses
from generators.quantized.columns import quantized_case, quantized_columns
from generators.values.contents import fill, materialise
from reference.interpreter.evaluate import check, evaluate, mismatch
from reference.interpreter.quantized import has_per_axis_values, has_quantized_values
from reference.ir.program import TensorType
from reference.ir.types import ALL, ELEMENT_TYPES, ElementType, to_bits
from reference.ops.contraction import PRECISIONS
from reference.ops.elementwise.types import COMPARE_TYPES, DIRECTIONS
from reference.ops.fft import FFT_TYPES
from reference.ops.linear_algebra import TRANSPOSITIONS
from reference.ops.random import RNG_ALGORITHMS, RNG_DISTRIBUTIONS
from reference.ops.table import OPS
from reference.ops.xla.windows import SAME, VALID
from suites.meta.support.built_cases import assert_valid, operations, pick_of
from suites.meta.support.dialects import is_newer, waits_for_several
from suites.meta.support.drawn_cases import F32, F64
from suites.meta.support.permitted import permitted_result

ROOT = Path(__file__).parents[3]
DRAWN, VARIED, PLANNED = 25, 80, 3
"""Cases of each op that are checked, and whose attributes vary; planned cases of each cell."""

CONSTANT = {
    **dict.fromkeys(("composite.decomposition", "Call.computation", "CompositeCall.computation"),
                    "the name of the only function"),
    **dict.fromkeys(("dynamic_gather.operand_batching_dims",
                     "dynamic_gather.start_indices_batching_dims"), "XLA refuses batching"),
}  # fmt: skip
"""Attributes that are the same in all cases, with the reason."""

ENUMERATIONS = {
    "algorithm": RNG_ALGORITHMS, "compare_type": COMPARE_TYPES,
    "comparison_direction": DIRECTIONS, "fft_type": FFT_TYPES, "padding": (SAME, VALID),
    "precision_config": PRECISIONS, "rng_algorithm": RNG_ALGORITHMS,
    "rng_distribution": RNG_DISTRIBUTIONS, "transpose_a": TRANSPOSITIONS,
}  # fmt: skip
"""Words that an attribute may have, by its name; each op with the attribute has cases of each."""

OF_TUPLES = ("get_tuple_element", "GetTupleElement")
"""Ops that a case lacks whose tuple has no tensors."""

# --- Every drawn case is valid -------------------------------------------------------------------


def test_every_op_has_cases_of_element_types_in_their_order() -> None:
    assert OPS.keys() == BUILDERS.keys() == STRATEGIES.keys()
    order = {of: index for index, of in enumerate(ALL)}
    for op, record in OPS.items():
        numbers = [order[of] for of in record.element_types if of in order]
        assert numbers == sorted({*numbers}), op
        assert len({*record.element_types}) == len(record.element_types), op


@pytest.mark.parametrize("op", BUILDERS)
def test_cases_are_valid_and_attributes_vary(op: str) -> None:
    types = OPS[op].element_types
    varied = [builder(op)(types[n % len(types)], pick_of(n)) for n in range(VARIED)]
    assert_attributes_vary(op, varied)
    made = varied[:DRAWN]
    assert_valid(made)
    present = sum(bool(operations([one], op)) for one in made)
    assert present >= (0.8 if op in OF_TUPLES else 1) * len(made)
    for index, one in enumerate(made):
        assert one.inputs
        if index % 5 == 0:
            evaluate(one.program, materialise(one.program, one.inputs[0]))
        for recipe in one.inputs if index < 6 else one.inputs[:1]:
            arrays = materialise(one.program, recipe)
            parameters = one.program.main.arguments * one.program.process_count
            for array, parameter in zip(arrays, parameters, strict=True):
                of = parameter.type
                assert isinstance(of, TensorType)
                assert isinstance(array, np.ndarray)
                assert array.shape == of.shape
                storage = getattr(of.element_type, "storage_type", of.element_type).storage
                assert array.dtype == storage


def assert_attributes_vary(op: str, made: list[Case]) -> None:
    """Assert that attributes have several values, words all, and that flags are set and not set."""
    given = [dict(operation.attributes) for operation in operations(made, op)]
    values = {name: [one.get(name) for one in given] for name in OPS[op].attributes}
    same = {f"{op}.{name}" for name, seen in values.items() if len({*map(repr, seen)}) == 1}
    assert same == {name for name in CONSTANT if name.startswith(f"{op}.")}
    for name, seen in values.items():
        parts = [part for one in seen for part in (one if isinstance(one, tuple) else (one,))]
        if any(isinstance(part, bool) for part in parts):
            assert {*map(bool, parts)} == {True, False}, name
        words = {part for part in parts if isinstance(part, str)}
        assert not words or words == {*ENUMERATIONS.get(name, words)}, name


@pytest.mark.parametrize("op", [op for op in OPS if quantized_columns(op)])
def test_quantized_cases_are_valid_and_quantized(op: str) -> None:
    for column in quantized_columns(op):
        made = [quantized_case(op, column, pick_of(seed)) for seed in range(4)]
        assert_valid(made)
        for one in made:
            assert any(map(has_quantized_values, one.program.walk()))
            if op not in ("uniform_quantize", "uniform_dequantize"):  # they change the type
                assert any(map(has_per_axis_values, one.program.walk())) == column.per_axis


@pytest.mark.slow
@pytest.mark.parametrize("op", BUILDERS)
def test_planned_cases_can_be_evaluated(op: str) -> None:
    for of in OPS[op].element_types:
        for one in cases(op, of, seed=3, count=PLANNED):
            assert check(one.program) == [], one.program
            results = evaluate(one.program, materialise(one.program, one.inputs[0]))
            assert len(results) == len(one.program.main.result_types) * one.program.process_count


STRICTER = {"collective_reduce": "not seen in replica groups"}
"""Ops with programs that the specification admits and StableHLO's verifier refuses, with the
reason."""

ONE_RESULT = "'stablehlo.async_done' op requires one result"


def assert_read_back(made: Case) -> None:
    """Assert that a program is the same program after its text was read."""
    program, text = made.program, emit(made.program)
    if is_newer(text):
        return
    if (refused := diagnose(text)) is not None:
        several = waits_for_several(program)
        assert (ONE_RESULT if several else STRICTER.get(program.subject.name, "?")) in refused, text
        return
    read = parse_module(text)
    assert parse_module(emit(read)) == read
    arrays = materialise(program, made.inputs[0])
    for ours, again in zip(evaluate(program, arrays), evaluate(read, arrays), strict=True):
        assert ours.tobytes() == again.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("op", BUILDERS)
def test_planned_cases_are_written_and_read_back(op: str) -> None:
    for of in OPS[op].element_types[::4]:
        for one in cases(op, of, seed=5, count=PLANNED):
            assert_read_back(one)


CELLS = [(op, of) for op, row in CATALOG.items() for of in row.element_types]
Drawn = tuple[tuple[str, ElementType], Case]
CASES = st.sampled_from(CELLS).flatmap(
    lambda cell: st.tuples(st.just(cell), STRATEGIES[cell[0]](cell[1]))
)


@given(CASES)
def test_a_drawn_program_survives_its_text(drawn: Drawn) -> None:
    assert_valid([drawn[1]])
    assert_read_back(drawn[1])


@given(CASES)
def test_results_have_the_stated_type_and_permitted_results_pass(drawn: Drawn) -> None:
    (op, _), made = drawn
    for recipe in made.inputs:
        inputs = materialise(made.program, recipe)
        results = evaluate(made.program, inputs)
        types = made.program.main.result_types * made.program.process_count
        for array, of in zip(results, types, strict=True):
            assert not mismatch(array, of)
        rule = CATALOG[op].tolerance
        others = [permitted_result(result, rule) for result in results]
        judged = judge(made.program, inputs, results, others, rule)
        assert not judged.verdict.fails, judged.message


def test_cells_and_ops_that_do_not_exist_are_refused() -> None:
    with pytest.raises(KeyError, match=r"no cases for op 'sinh'; known: .*\babs\b"):
        cases("sinh", F32, 0, 1)
    for take in (lambda of: cases("floor", of, 0, 1), lambda of: strategy("floor", of)):
        with pytest.raises(ValueError, match="floor takes no tensor of si32"):
            take(ELEMENT_TYPES["si32"])
    with pytest.raises(KeyError, match="no near misses for op 'sinh'"):
        near_misses("sinh")


# --- Every near miss breaks exactly the constraint that it states --------------------------------


@pytest.mark.parametrize("op", NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_states(op: str) -> None:
    """Only constraints listed as inseparable have no near miss."""
    misses = near_misses(op)
    for id_, program in misses:
        assert [ids for _, ids in check(program)] == [(id_,)], program
    stated = {*OPS[op].constraints, *OPS[op].inputs}
    inseparable = {*INSEPARABLE.get(op, ())}
    assert inseparable <= stated
    assert {id_ for id_, _ in misses} == stated - inseparable
    assert len({program.digest for _, program in misses}) == len(misses)


def test_columns_are_element_types_then_quantized_types_then_near_misses() -> None:
    for op, record in OPS.items():
        misses = (INVALID,) if op in NEAR_MISSES else ()
        assert columns_of(op) == (*record.element_types, *quantized_columns(op), *misses)
        assert op in NEAR_MISSES or not record.constraints


@pytest.mark.parametrize("op", NEAR_MISSES)
def test_each_constraint_comes_once_before_any_comes_twice(op: str) -> None:
    ordered = ordered_misses(op)
    given = {program.digest for _, program in near_misses(op)}
    assert {program.digest for _, program in ordered} == given
    assert len(ordered) == len(given)
    ids = [id_ for id_, _ in ordered]
    turns = [ids[: index + 1].count(id_) for index, id_ in enumerate(ids)]
    assert turns == sorted(turns)
    for most in range(4):
        assert miss_count(op, most) == sum(turn <= most for turn in turns)


# --- Every stated value is covered ---------------------------------------------------------------


def coverage_of(op: str, profile: str, seed: int = 0) -> CoverageReport:
    """Return a profile's coverage of an op's dimensions, in all its columns."""
    columns = plan.valid_columns(op)
    indices = {
        column.name: {n for task in plan_of(Cell(op, column, "cpu"), profile, seed)
                      for n in range(task.start, task.stop)}
        for column in columns
    }  # fmt: skip
    return plan.coverage_report(op, seed, indices)


SPECIFIED = [op for op, row in CATALOG.items() if row.dialect == "stablehlo"]
LOWERED = [op for op in CATALOG if op not in SPECIFIED]


@pytest.mark.slow
@pytest.mark.parametrize("op", SPECIFIED)
def test_standard_reaches_every_value_and_pair(op: str) -> None:
    """Every value in every column where it can be had, every pair of values somewhere."""
    whole = coverage_of(op, "standard")
    assert whole.pairs == whole.declared_pairs, whole.missing
    assert whole.declared_values - whole.values == whole.out_of_reach, whole.missing
    assert whole.out_of_reach <= 0.02 * whole.declared_values, whole.missing


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "profile"),
    [*((op, "smoke") for op in SPECIFIED), *((op, "standard") for op in LOWERED)],
)
def test_every_value_is_reached_somewhere(op: str, profile: str) -> None:
    """But for those of dimensions that have more values than an op has cases for.

    What an op of XlaBuilder shares with its twin is not tried again in every column.
    """
    count = cases_of(CATALOG[op], profile)
    columns = [column.name for column in plan.valid_columns(op)]
    plan.coverage_report(op, 0, dict.fromkeys(columns, range(count)))
    covered = plan.coverage(op, 0)
    met = {value for column in covered.columns for row in column.rows[:count] for value in row}
    offered = {v for column in covered.columns for some in column.options.values() for v in some}
    sizes = Counter(covered.names[value][0] for value in offered)
    missing = {covered.names[value] for value in offered - met
               if sizes[covered.names[value][0]] <= count * len(columns) / 3}  # fmt: skip
    assert len(missing) <= 0.05 * len(offered), missing


@pytest.mark.slow
def test_later_plans_change_no_coverage() -> None:
    """The coverage of a run depends only on its cases, not on earlier plans."""
    before = coverage_of("dynamic_broadcast_in_dim", "standard", seed=4)
    for column in plan.valid_columns("dynamic_broadcast_in_dim"):
        plan.case("dynamic_broadcast_in_dim", column, 4, 79)
    assert coverage_of("dynamic_broadcast_in_dim", "standard", seed=4) == before
    assert coverage_of("dynamic_broadcast_in_dim", "deep", seed=4) != before


# --- A case depends on seed and index only -------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("op", BUILDERS)
def test_cases_depend_only_on_the_seed(op: str) -> None:
    of = OPS[op].element_types[-1]
    first, again = cases(op, of, seed=9, count=6), cases(op, of, seed=9, count=6)
    assert [one.program.digest for one in first] == [one.program.digest for one in again]
    assert cases(op, of, seed=9, count=2, start=3) == first[3:5]


def test_a_case_depends_only_on_seed_and_index() -> None:
    whole = cases("compare", F32, seed=3, count=40)
    assert cases("compare", F32, seed=3, count=15, start=20) == whole[20:35]
    assert case("compare", F32, 3, 39) == whole[39]
    assert cases("compare", F32, seed=4, count=40) != whole
    assert cases("compare", F64, seed=3, count=1) != whole[:1]
    assert pickle.loads(pickle.dumps(whole)) == whole


@pytest.mark.slow
def test_a_case_does_not_depend_on_earlier_cases() -> None:
    late = plan.case("sort", F32, 5, 30)
    plan.coverage.cache_clear()
    assert plan.case("sort", F32, 5, 30) == late
    plan.coverage.cache_clear()
    plan.case("sort", ELEMENT_TYPES["si8"], 5, 11)
    assert plan.case("sort", F32, 5, 30) == late


_PRINT_DIGEST = """
import hashlib
from generators.cells.plan import cases
from reference.ops.elementwise.elementwise import OPS as ELEMENTWISE
from generators.values.contents import materialise
seen = hashlib.sha256()
for record in ELEMENTWISE:
    op, types = record.name, record.element_types
    for of in types[::3]:
        for case in cases(op, of, 11, 3):
            seen.update(repr(case).encode())
            for array in materialise(case.program, case.inputs[0]):
                seen.update(array.tobytes())
print(seen.hexdigest())
"""


@pytest.mark.slow
def test_the_same_cases_in_every_process() -> None:
    digests: set[str] = set()
    for hash_seed in ("0", "4711"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", _PRINT_DIGEST],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        digests.add(done.stdout)
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("name", "profile", "bits"),
    [
        ("bf16", "moderate", [0xBDE1, 0x3F5D, 0xBFB4]),
        ("f64", "trig", [0xC042106CA491006B, 0x40F76ABF71E57D9B, 0x40728E168D36554A]),
        ("si64", "wide", [0x1745, 0xFFFF88BCDF15809F, 0xFFFFFFFFFFA12EDD]),
        ("f8E4M3FNUZ", "special", [0xC4, 0xC0, 0x40]),
    ],
)
def test_values_do_not_vary_between_versions(name: str, profile: str, bits: list[int]) -> None:
    """The digests of Python 3.11 and numpy 2.4; another version may draw other cases."""
    array = fill(TensorType((3,), ELEMENT_TYPES[name]), profile, 9)
    assert to_bits(array).tolist() == bits
