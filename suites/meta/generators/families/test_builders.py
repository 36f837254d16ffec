"""Helpers of builders: parts of cases with the edges of each, outside of any op."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest

from generators.case.choices import NamedChoice, Pick
from generators.case.quantized_types import QuantizedColumn
from generators.cells import plan
from generators.families import control_flow, data_movement, distribution, dynamism, host, random
from generators.families.data_movement import LARGEST
from generators.families.quantization import dequantize_case, requantize_case
from generators.families.reduction import monoid
from generators.families.xla.twins import rename_to_op, restate_case, twins
from generators.regions import forms
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import (
    Dense,
    Operation,
    Program,
    QuantizedType,
    TensorType,
    Value,
    single_op,
)
from reference.ir.types import element_type
from reference.ops.table import OPS
from reference.ops.xla.lowering import lower_program
from suites.meta.support.built_cases import built, operations, pick_of, sizes

F32, SI8 = element_type("f32"), element_type("si8")
SEEDS = range(200)


def tensors(of: Any) -> list[TensorType]:
    parts = getattr(of, "types", ())
    return (
        [of]
        if isinstance(of, TensorType)
        else [tensor for part in parts for tensor in tensors(part)]
    )


def test_leaves_of_a_tuple_are_its_tensors_and_a_similar_tuple_has_the_same_types() -> None:
    for seed in range(30):
        _, block = control_flow.writer_of(F32, pick_of(seed))
        whole = control_flow.parts(block, 2, token=seed % 2 == 0)
        found = [value.type for value in control_flow.leaves(block, whole)]
        assert found == tensors(whole.type)
        assert seed % 2 == 0 or control_flow.similar_tuple(block, whole).type == whole.type


# --- Data movement -------------------------------------------------------------------------------


def test_moved_data_are_of_a_few_profiles_combined_with_others() -> None:
    names = data_movement.contents(F32)
    assert {"special", "bits"} <= set(names)
    made = data_movement.rows(F32, ("a",), ("b",), times=2)
    assert len(made) == 2 * len(names)
    assert made[0] == (names[0], names[0], "a")


def test_permutations_and_sizes_that_are_too_large() -> None:
    assert data_movement.permutation(Pick(lambda _: 0), 4) == (0, 1, 2, 3)
    assert len({data_movement.permutation(pick_of(seed), 3) for seed in SEEDS}) == 6
    assert data_movement.limit_sizes((LARGEST, 1)) == (LARGEST, 1)
    assert data_movement.limit_sizes((LARGEST, 2)) == (3, 2)


def test_parts_from_none_to_all() -> None:
    draw_part = data_movement.draw_part
    assert {draw_part(pick_of(seed), 9) for seed in SEEDS} == set(range(10))
    for label, size, part in (("empty", 9, 0), ("all but 1", 9, 8), ("1", 0, 0)):
        assert draw_part(pick_of(0, {"part": label}), size) == part


def test_broadcasts_stretch_or_add_dimensions_in_any_order() -> None:
    drawn = [data_movement.broadcast(pick_of(seed)) for seed in SEEDS]
    assert any(one.dimensions != tuple(sorted(one.dimensions)) for one in drawn)
    assert {len(one.after) - len(one.before) for one in drawn} == {0, 1, 2, 3}


def test_windows_from_none_to_all_with_strides_of_any_size() -> None:
    drawn = [data_movement.window(pick_of(seed), (9, 1, 0)) for seed in SEEDS]
    assert {0, 1, 9} <= {one.sizes[0] for one in drawn}
    assert max(max(one.strides) for one in drawn) == 1 << 33
    assert data_movement.window(pick_of(0), ()) == ((), (), (), ())


def test_padding_adds_and_crops() -> None:
    padding = data_movement.padding
    drawn = [padding(pick_of(seed), (4, 0)) for seed in SEEDS]
    assert {-1, 0, 1} <= {min(max(one.low[0], -1), 1) for one in drawn}
    assert any(one.sizes[0] == 0 for one in drawn)
    only = [padding(pick_of(seed), (4,), negative=False) for seed in SEEDS]
    assert min(min(one.low + one.high) for one in only) == 0
    some = [padding(pick_of(seed, {"left": "some"}), (1,)) for seed in SEEDS]
    assert all(one.sizes[0] >= 1 for one in some)
    assert any(one.sizes[0] == 1 and min(one.low[0], one.high[0]) < 0 for one in some)


def test_another_shape_has_as_many_elements() -> None:
    def drawn(shape: tuple[int, ...], **planned: str) -> set[tuple[int, ...]]:
        given = {name.replace("_", " "): value for name, value in planned.items()}
        return {data_movement.other_shape(pick_of(seed, given), shape) for seed in SEEDS}

    for shape in ((2, 1, 6), (), (4, 0)):
        assert {prod(one) for one in drawn(shape)} == {prod(shape)}
        assert len(drawn(shape)) > 1
    assert drawn((2, 3, 5), made_anew="merged") == {(6, 5), (2, 15)}
    assert drawn((2, 3), made_anew="flat") == {(6,)}


# --- Processes and hosts -------------------------------------------------------------------------


def test_grids_have_at_most_8_processes() -> None:
    counts = [replicas * partitions for replicas, partitions in distribution.GRIDS]
    assert (min(counts), max(counts)) == (1, 8)


def test_bodies_of_collectives() -> None:
    """A body may return an argument; only some types have bodies of any ops."""

    def names(planned: dict[str, str]) -> set[str]:
        picks = (pick_of(seed, planned) for seed in range(20))
        return {distribution.choose_computation(F32, pick).name for pick in picks}

    def asked(of: str, seed: int) -> list[NamedChoice]:
        pick = pick_of(seed, {forms.NOT_ELEMENTWISE: "yes"})
        distribution.choose_computation(element_type(of), pick)
        return pick.asked

    assert names({"body": distribution.KEPT}) == {"the first", "the last"}
    for of, has_any in (("si32", True), ("f32", False)):
        kinds = {choice.dimension for seed in range(30) for choice in asked(of, seed)}
        assert (forms.NOT_ELEMENTWISE in kinds) is has_any


def test_each_process_sends_to_one_and_receives_from_one() -> None:
    for case in built(host.BUILDERS["send"], "f32", 60, {"is_host_transfer": "no"}):
        (sent,) = operations([case], "send")
        pairs = sent.attribute("source_target_pairs")
        assert isinstance(pairs, Dense)
        if case.program.process_grid is None:
            assert pairs == host.SELF
        sources, targets = np.asarray(pairs.array).T.tolist()
        everyone = list(range(max(case.program.process_grid or (1, 1))))
        assert sources == sorted(targets) == everyone


# --- Sizes below a bound -------------------------------------------------------------------------


def set_sizes_to_bounds(program: Program) -> Program:
    """Return the program for a backend that ignores sizes: they are set to the bound."""

    def whole(one: Operation) -> Operation:
        return replace(one, name="optimization_barrier", operands=one.operands[:1], attributes=())

    main = program.main
    body = replace(main.body, operations=tuple(
        whole(operation) if operation.name == "set_dimension_size" else operation
        for operation in main.body.operations
    ))  # fmt: skip
    return replace(program, functions=(replace(main, body=body),))


@pytest.mark.parametrize("op", ["SetDimensionSize", "DynamicReshape"])
def test_ignored_dynamic_size_is_detected(op: str) -> None:
    """Cases see the remaining elements, and not those that were cut."""
    seen = cut = 0
    for made in plan.cases(op, F32, 0, 16):
        program = lower_program(made.program)
        if not any(operation.name == "set_dimension_size" for operation in program.walk()):
            continue
        cut += 1
        inputs = materialise(program, made.inputs[0])
        expected = evaluate(program, inputs)
        try:
            wrong = evaluate(set_sizes_to_bounds(program), inputs)
        except EvaluationError:
            seen += 1
            continue
        seen += any(not np.array_equal(a, b) for a, b in zip(expected, wrong, strict=True))
    assert cut >= 3
    assert seen >= 2


def test_bounded_types_and_their_observations() -> None:
    of = dynamism.bounded_type((4, 3), (True, False), F32)
    assert (of.shape, of.bounds, dynamism.bounds_of(of)) == ((None, 3), (4, None), (4, 3))
    assert dynamism.bounds_of(TensorType((2, 5), F32)) == (2, 5)
    assert dynamism.ALL in dynamism.observations_of(F32)
    assert dynamism.ALL not in dynamism.observations_of(element_type("f6E2M3FN"))
    assert dynamism.PART in dynamism.observations_of(element_type("complex<f32>"))


# --- Quantization, random numbers, folds ---------------------------------------------------------


@pytest.mark.parametrize("make", [requantize_case, dequantize_case])
def test_operands_have_the_storage_type_of_the_column(make: Any) -> None:
    column = QuantizedColumn(SI8, F32, per_axis=True)
    results: set[str] = set()
    for seed in range(60):
        one = make(column, pick_of(seed)).program.subject
        of, to = one.operands[0].type.element_type, one.results[0].type.element_type
        assert of.storage_type == SI8
        assert 0 in sizes(one) or of.quantization_dimension is not None
        if isinstance(to, QuantizedType):
            results.add(to.storage_type.name)
    assert len(results) >= (8 if make is requantize_case else 0)


def test_samples_are_large_now_and_then_and_never_very_large() -> None:
    drawn = [random.sample_sizes(pick_of(seed)) for seed in range(300)]
    assert max(map(prod, drawn)) >= 1000
    assert all(prod(sizes) <= 4096 or len(sizes) == 1 for sizes in drawn)
    picks = [pick_of(seed, {"large sample": "yes"}) for seed in range(40)]
    assert {1000, 1001, 2048, 1} <= {prod(random.sample_sizes(pick)) for pick in picks}


@pytest.mark.parametrize(
    ("of", "kind", "negative"),
    [("f32", "NORMAL", True), ("si32", "UNIFORM", True), ("ui8", "UNIFORM", False),
     ("i1", "UNIFORM", False)],
)  # fmt: skip
def test_parameters_of_distributions(of: str, kind: str, negative: bool) -> None:
    rows = random.parameter_rows(element_type(of), kind)
    assert rows[0] == ("values:0", "values:1")
    assert any("-" in name for row in rows for name in row) is negative


def test_a_body_has_an_identity_for_each_input() -> None:
    def bodies(*, single: bool = False, **planned: str) -> list[Any]:
        picks = [pick_of(seed, planned) for seed in range(60)]
        return [monoid(element_type("bf16"), pick, single=single) for pick in picks]

    drawn = bodies()
    assert all(len(one.identity) == len(one.inputs) for one in drawn)
    assert {len(one.inputs) for one in drawn} > {1}
    assert {len(body.inputs) for body in bodies(single=True)} == {1}
    for body in bodies(body="promoted"):  # computed in a wider type
        (of,) = {value.type.element for value in body.region.operations[0].results}
        assert of.bits > 16


# --- Cases of a twin, under the names of XlaBuilder's op -----------------------------------------

X = Value("x", TensorType((2, 3), F32))
TRANSPOSE = single_op("transpose", (X,), (TensorType((3, 2), F32),), {"permutation": (1, 0)})


def test_only_the_name_changes_without_renames() -> None:
    program = rename_to_op(TRANSPOSE, OPS["Transpose"])
    assert program.subject.name == "Transpose"
    assert program.subject.attribute("permutation") == (1, 0)
    assert program.main.result_types == TRANSPOSE.main.result_types
    assert rename_to_op(TRANSPOSE, OPS["Rev"]) == TRANSPOSE  # no twin
    other = rename_to_op(
        TRANSPOSE, OPS["Transpose"], lambda _: {"permutation": (0, 1)}, inferred=True
    )
    assert other.main.result_types == (X.type,)  # which follows from the new attributes


def test_attributes_are_renamed_or_restated() -> None:
    constant = single_op("constant", (), (X.type,), {"value": 1})  # type: ignore[arg-type]
    assert rename_to_op(constant, OPS["Constant"]).subject.attributes == (("literal", 1),)

    def restate(operation: Operation) -> dict[str, Any]:
        return {"dimensions": operation.results[0].type.static_shape}  # type: ignore[union-attr]

    reshaped = rename_to_op(
        single_op("reshape", (X,), (TensorType((6,), F32),)), OPS["Reshape"], restate
    )
    assert reshaped.subject.attributes == (("dimensions", (6,)),)


def test_the_last_of_several_twins_is_the_subject() -> None:
    y, z = (Value(name, X.type) for name in "yz")
    body = (Operation("negate", (X,), (y,)), Operation("negate", (y,), (z,)))
    main = TRANSPOSE.main
    region = replace(main.body, operations=(*body, Operation("return", (z,))))
    changed = replace(TRANSPOSE, functions=(replace(main, body=region, result_types=(X.type,)),))
    names = [operation.name for operation in rename_to_op(changed, OPS["Neg"]).main.body.operations]
    assert names == ["negate", "Neg", "return"]


def test_cases_are_those_of_the_twin() -> None:
    builder = data_movement.BUILDERS["transpose"]
    builders = twins(data_movement.BUILDERS, [OPS["Transpose"]])
    ours, theirs = built(builders["Transpose"], "f32", 5), built(builder, "f32", 5)
    for own, their in zip(ours, theirs, strict=True):
        assert own.inputs == their.inputs
        assert own.program == rename_to_op(their.program, OPS["Transpose"])
    assert restate_case(builder, OPS["Transpose"], None, F32, pick_of(0)) == ours[0]
