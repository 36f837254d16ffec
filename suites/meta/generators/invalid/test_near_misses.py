"""Near misses: edges at which they break their constraint, and helpers that make them.

That each breaks exactly the constraint that it states is a test of all ops (test_contract.py).
"""

from __future__ import annotations

from typing import Any

import pytest

from generators.invalid import control_flow, reduction
from generators.invalid.gathering import NEAR_MISSES as GATHERING
from generators.invalid.misses import program, tensor
from generators.invalid.quantized import elementwise as quantized
from generators.invalid.quantized.products import Axes, Ids, mistyped_operands, quantized_type
from generators.invalid.table import INSEPARABLE, NEAR_MISSES
from generators.invalid.xla.restated import restate_misses
from reference.interpreter.evaluate import check
from reference.ir.program import Operation, QuantizedType, TensorType
from reference.ir.types import element_type
from reference.ops.table import OPS
from suites.meta.support.claims import (
    attribute,
    contradictions,
    equals,
    holds,
    includes,
    items_of,
    occurs,
    shape,
    shapes,
)

F16, F32, F64, SI32 = (element_type(name) for name in ("f16", "f32", "f64", "si32"))


def repeats(name: str, side: int) -> Any:
    """Return whether only one side of pairs repeats an id."""

    def predicate(one: Operation) -> bool:
        sides = list(zip(*attribute(name)(one), strict=True))
        return len({*sides[side]}) < len(sides[side]) and len({*sides[1 - side]}) == len(sides[0])

    return predicate


def over(one: Operation, name: str) -> int:
    """Return the largest difference between an attribute and the sizes of the operand."""
    return max(b - a for a, b in zip(shape()(one), one.attribute(name), strict=True))  # type: ignore[call-overload]


def same_bins(one: Operation) -> bool:
    """Return whether half a spectrum of the wrong length has as many elements."""
    (length,) = attribute("fft_length")(one)[-1:]
    return length // 2 + 1 == shape()(one)[-1] // 2 + 1 == shape(-1)(one)[-1]


PAIRS = "source_target_pairs"
CLAIMS = [
    # numbers of dimensions and indices, just out of range
    includes("broadcast_in_dim", "C3", "the result has three dimensions",
             items_of("broadcast_dimensions"), {3, -1}),
    occurs("transpose", "C2", "a permutation repeats a dimension",
           lambda one: len({*one.attribute("permutation")}) < len(one.attribute("permutation"))),
    occurs("slice", "C3", "a slice ends one too far", lambda one: over(one, "limit_indices") == 1),
    occurs("gather", "C21", "a slice is one too large", lambda one: over(one, "slice_sizes") == 1),
    occurs("get_tuple_element", "C1", "the index is past the last",
           lambda one: one.attribute("index") == len(one.operands[0].type.types)),
    *(includes(op, "C1", "features are no dimension of 3", attribute("feature_index"), {-1, 3})
      for op in ("batch_norm_grad", "batch_norm_inference", "batch_norm_training")),
    occurs("reduce", "C4", "a dimension is the rank",
           lambda one: one.operands[0].type.rank in one.attribute("dimensions")),
    includes("reduce", "C4", "a dimension is negative", items_of("dimensions"), {-1}),
    includes("sort", "C4", "two dimensions are -2 to 1", attribute("dimension"), {2, -3}),
    equals("sort", "C4", "a scalar has none", lambda one: one.operands[0].type.rank, {0, 2}),
    occurs("Iota", "P1", "the dimension is the rank",
           lambda one: one.attribute("iota_dimension") == len(one.attribute("shape").dimensions)),
    occurs("Collapse", "P1", "several dimensions are not consecutive",
           lambda one: len(d := one.attribute("dimensions")) > 1
           and sorted(d) != [*range(d[0], d[0] + len(d))]),
    equals("Add", "P3", "out of order, out of range, too many, too few",
           attribute("broadcast_dimensions"), {(2,), (0, 1), (-2,), (1, 0)}),
    equals("ScaledDot", "P1", "contracted dimensions are of other sizes, or there are none",
           lambda one: one.attribute("dimension_numbers").lhs_contracting_dimensions,
           {(1,), (2,)}),
    # numbers that are not positive, or too large
    includes("convolution", "C3", "a stride is 0", items_of("window_strides"), {0}),
    includes("convolution", "C21", "no groups", attribute("feature_group_count"), {0}),
    occurs("reduce_window", "C5", "a window has size 0",
           lambda one: min(one.attribute("window_dimensions")) == 0),
    *(equals(op, id_, "just outside of a row", attribute("k"), {4, -1, 1})
      for op, id_ in (("chlo.top_k", "P2"), ("TopK", "P2"))),
    equals("Pad", "P3", "interior padding is negative", attribute("padding_config"),
           {((2, 2, -1),)}),
    # shapes and sizes
    includes("broadcast_in_dim", "C5", "0 is not repeated, and no result is cut to 1",
             shapes(0, -1), {((0,), (1,))}),
    holds("dot_general", "C10", "contracted sizes differ",
          lambda one: shape()(one) != shape(1)(one)),
    includes("dynamic_broadcast_in_dim", "C7", "three sizes are needed", shape(1), {(2,), (4,)}),
    includes("dynamic_broadcast_in_dim", "I2", "sizes have one dimension", shape(1), {(), (1, 3)}),
    includes("abs", "C1", "shapes that broadcasting would accept", shape(-1),
             {(1, 3), (), (2, 3, 1)}),
    occurs("fft", "C4", "a wrong length has as many bins", same_bins),
    equals("fft", "C3", "no length and four",
           lambda one: len(attribute("fft_length")(one)), {0, 4}),
    includes("cholesky", "C3", "matrices are almost square", shape(), {(3, 4), (4, 3), (1, 3)}),
    includes("triangular_solve", "C2", "a batch is not broadcast", shapes(0, 1),
             {((3, 3), (2, 3, 4))}),
    holds("batch_norm_training", "C3", "the scale has another size than the features",
          lambda one: shape(1)(one) != shape()(one)[1:2]),
    *(occurs(op, "C1", "shapes differ", lambda one: shape()(one) != shape(-1)(one))
      for op in ("uniform_quantize", "uniform_dequantize")),
    includes("rng", "C3", "as many elements in another shape", shape(-1), {(6,)}),
    includes("Add", "P2", "an operand of lower rank needs dimensions", shapes(0, 1),
             {((2, 3), (3,)), ((3,), (2, 3))}),
    *(equals(op, "P1", "one parameter is no scalar", shapes(0, 1), {((1,), ()), ((), (1,))})
      for op in ("RngNormal", "RngUniform")),
    occurs("ReduceWindow", "P2", "inputs differ", lambda one: shape()(one) != shape(1)(one)),
    includes("ScaledDot", "P4", "sizes of a scale divide those of an operand of 2 x 6", shape(1),
             {(2, 4), (4, 3), (0, 3)}),
    # groups, pairs and channels of processes
    includes("all_gather", "C2", "one id twice", attribute("replica_groups"), {((0, 0),)}),
    includes("all_gather", "C3", "more ids than replicas", attribute("replica_groups"),
             {((0, 1, 2, 3),)}),
    includes("all_gather", "C4", "an id past the last", attribute("replica_groups"), {((0, 2),)}),
    holds("collective_permute", "C2", "only a source is repeated", repeats(PAIRS, 0)),
    holds("collective_permute", "C3", "only a target is repeated", repeats(PAIRS, 1)),
    holds("recv", "C2", "only a source is repeated", repeats(PAIRS, 0)),
    holds("recv", "C3", "only a target is repeated", repeats(PAIRS, 1)),
    # attributes with values by name, regions, numbers of operands
    includes("rng", "I4", "a distribution that is none", attribute("rng_distribution"),
             {"BERNOULLI"}),
    equals("rng", "C2", "normal integers", attribute("rng_distribution"), {"NORMAL"}),
    includes("sort", "C5", "all elements of one side come first",
             lambda one: tuple(str(value.type) for value in one.regions[0].arguments),
             {("tensor<f32>", "tensor<si32>", "tensor<f32>", "tensor<si32>")}),
    equals("sort", "C1", "nothing to sort", lambda one: one.operands, {()}),
    equals("Dot", "P3", "a preferred type excuses no operands of two types",
           attribute("preferred_element_type"), {None, "f32"}),
    includes("Conditional", "P1", "one branch", lambda one: len(one.regions), {1}),
    equals("Select (tuples)", "P2", "tuples differ in a size or in their length",
           lambda one: len(one.operands[2].type.types), {1, 2}),
]  # fmt: skip


@pytest.mark.parametrize("op", sorted({claim.op for claim in CLAIMS}))
def test_near_misses_are_at_the_edges_of_their_constraint(op: str) -> None:
    misses = list(NEAR_MISSES[op](op))

    def examples_of(id_: str) -> list[Operation]:
        made = [made for own, made in misses if own == id_]
        return [
            next(operation for operation in program.walk() if operation.name == op)
            for program in made
        ]

    assert not contradictions((claim for claim in CLAIMS if claim.op == op), examples_of)


def test_channels_of_a_type_that_there_is_not() -> None:
    sent = [operation for _, made in NEAR_MISSES["send"]("send") for operation in made.walk()]
    assert {0, 4} & {one.attribute("channel_type") for one in sent if one.name == "send"}


def test_collectives_run_in_two_replicas() -> None:
    for op, id_ in (("all_gather", "C2"), ("AllReduce", "P1")):
        grids = {made.process_grid for own, made in NEAR_MISSES[op](op) if own == id_}
        assert grids == {(2, 1)}


def test_ids_of_operands_that_must_be_alike_are_inseparable() -> None:
    assert INSEPARABLE["subtract"] == ("I1", "I2")
    assert "add" not in INSEPARABLE


# --- Helpers -------------------------------------------------------------------------------------


def test_operands_are_parameters_with_their_names() -> None:
    assert (tensor(F32).shape, tensor(F32, 2, None).shape) == ((), (2, None))
    one, two = tensor(F32, 1), tensor(F32, 2)
    made = program("mine", {"lhs": one, "rhs": two}, (two, one), dimension=3)
    assert [(value.name, value.type) for value in made.main.arguments] == [
        ("lhs", one), ("rhs", two)
    ]  # fmt: skip
    assert made.subject.operands == made.main.arguments
    assert [value.type for value in made.subject.results] == [two, one]
    assert made.subject.attribute("dimension") == 3
    assert made.main.result_types == (two, one)


def test_types_that_are_easily_confused() -> None:
    assert control_flow.similar_types(TensorType((2, 3), F32)) == (
        TensorType((2, 3), F64), TensorType((2, 4), F32), TensorType((2, 3, 1), F32)
    )  # fmt: skip
    other, *_ = control_flow.similar_types(TensorType((2,), element_type("i1")))
    assert other.element == F32


def test_a_body_adds_its_inputs_pairwise_and_bad_bodies_differ_in_one_respect() -> None:
    body = reduction.adder(F32, SI32)
    pairs = [[value.name for value in operation.operands] for operation in body.operations[:2]]
    assert pairs == [[argument.name for argument in body.arguments[n::2]] for n in range(2)]
    (returned,) = reduction.adder(F32, returned=(SI32,)).operations[-1].operands
    assert returned.type.element == SI32  # type: ignore[union-attr]
    bodies = list(reduction.bad_bodies(F32, F16, SI32))
    assert reduction.adder(F32) not in bodies
    assert reduction.adder(F16) in bodies
    assert len(set(bodies)) == len(bodies)


def test_constraints_of_the_twin_that_the_page_restates() -> None:
    restated = list(restate_misses(GATHERING["scatter"])("Scatter"))
    ours = {theirs: own for own, ids in OPS["Scatter"].restates for theirs in ids}
    twins = [ours[id_] for id_, _ in GATHERING["scatter"]("scatter") if id_ in ours]
    assert [id_ for id_, _ in restated] == twins
    assert all(made.subject.name == "Scatter" for _, made in restated)


# --- Quantized types that differ in one member ---------------------------------------------------


@pytest.mark.parametrize(
    ("op", "ids"),
    [
        ("add", {"C2", "C3", "C4", "C5", "C6", "C7"}), ("subtract", {"C1"}), ("tanh", {"I1", "C1"}),
        ("abs", {"I1", "C2"}), ("not", {"I1"}), ("convert", {"I1"}), ("clamp", {"C3", "C4"}),
    ],
)  # fmt: skip
def test_constraints_on_quantized_tensors(op: str, ids: set[str]) -> None:
    found = list(quantized.misses(op))
    assert {id_ for id_, _ in found} == ids
    for id_, made in found:
        assert [broken for _, broken in check(made)] == [(id_,)]
        if (op, id_) == ("add", "C6"):  # lhs and the result have one dimension of quantization
            lhs, result = made.subject.operands[0].type, made.subject.results[0].type
            assert lhs.element_type != result.element_type  # type: ignore[union-attr]


IDS, AXES = Ids("R", "S", "E", "G", "H"), Axes((1, 3), (2, 5), (2, 4))


def test_operands_of_products_have_one_fault() -> None:
    typed = list(mistyped_operands(IDS, AXES))
    of: dict[str, list[Any]] = {
        id_: [one for own, *one in typed if own == id_] for id_, *_ in typed
    }
    assert set(of) == {"I1", *IDS}
    for sides in of[IDS.hybrid]:  # only the right operand is quantized
        assert [isinstance(side, QuantizedType) for side in sides] == [False, True, False]
    ((lhs, *_),), ((*_, result),) = of["I1"], of[IDS.granularity]
    assert (lhs, result) == (quantized_type(axis=AXES.lhs), quantized_type(axis=AXES.result))
    sides = [side for one in of[IDS.storage] for side in one if isinstance(side, QuantizedType)]
    assert {side.storage_type.name for side in sides} == {"si8", "si16", "si4", "ui8"}
    assert all(sum(side.expressed_type != F32 for side in one) == 1 for one in of[IDS.expressed])
