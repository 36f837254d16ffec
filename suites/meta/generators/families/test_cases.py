"""Values that the cases of an op must reach, and what holds for all of its cases.

A row states values of attributes, shapes or profiles, in cases whose other choices are drawn. That
cases are valid, and that every value of a named dimension is covered, are tests of all ops
(test_contract.py).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from generators.case.case import Case
from generators.families import ragged
from generators.families.control_flow import IDENTITIES
from reference.ir.program import Operation, QuantizedType, TensorType, TokenType, TupleType
from reference.ir.types import element_type
from reference.ops.ragged import Mode, ragged_numbers
from suites.meta.support.built_cases import sizes
from suites.meta.support.claims import (
    Claim,
    Items,
    attribute,
    drawn_contradictions,
    element,
    equals,
    holds,
    holds_mostly,
    includes,
    items_of,
    occurs,
    planned,
    profiles,
    varies,
)

F32 = element_type("f32")
F32_CASES = planned(of_cases=True)


def numbers(name: str) -> Any:
    """Return a function that reads a tuple of numbers; () if it is left out."""
    return lambda one: attribute(name)(one) or ()


def length(one: Operation) -> int:
    return sizes(one)[one.attribute("dimension")]  # type: ignore[index]


def first_profiles(case: Case) -> list[str]:
    return [recipe.profiles[0] for recipe in case.inputs if recipe.profiles]


def last_of_two(case: Case) -> list[str]:
    return [recipe.profiles[-1] for recipe in case.inputs if len(recipe.profiles) == 2]


def parameter_names(case: Case) -> set[str]:
    return {value.name for value in case.program.main.arguments}


def quantized_type(one: Operation, side: int) -> QuantizedType:
    """Return the element type of the operand (0) or the result (1)."""
    of = (one.operands, one.results)[side][0].type
    assert isinstance(of, TensorType)
    assert isinstance(of.element_type, QuantizedType)
    return of.element_type


# --- StableHLO -----------------------------------------------------------------------------------

CONVOLUTIONS = planned(count=300)
LARGE_IMAGE = (2, 16, 15, 8)


def fills_image(is_reversed: bool) -> Any:
    def predicate(one: Operation) -> bool:
        given: Any = dict(one.attributes)
        image = [sizes(one)[d] for d in given["input_spatial_dimensions"]]
        window = [sizes(one, 1)[d] for d in given["kernel_spatial_dimensions"]]
        reversal = given.get("window_reversal", (False, False))
        padded = any(items_of("padding")(one))
        return image == window and not padded and reversal == (is_reversed, is_reversed)

    return predicate


CONVOLUTION = [
    *(claim for name in ("window_strides", "lhs_dilation", "rhs_dilation") for claim in (
        includes("convolution", CONVOLUTIONS, f"{name} are left out", attribute(name), {None}),
        occurs("convolution", CONVOLUTIONS, f"{name} are large",
               lambda one, name=name: max(numbers(name)(one), default=0) > 1),
    )),
    *(includes("convolution", CONVOLUTIONS, name, attribute(name), {1, 2, 3})
      for name in ("feature_group_count", "batch_group_count")),
    includes("convolution", CONVOLUTIONS, "padding of either sign",
             lambda one: Items(np.sign(items_of("padding")(one))), {-1, 1}),
    *(includes("convolution", CONVOLUTIONS, name, attribute(name), {0, 1, 2})
      for name in ("input_batch_dimension", "kernel_output_feature_dimension")),
    holds("convolution", planned(count=100), "cheap, but for the large case",
          lambda one: sizes(one) == LARGE_IMAGE or (
              prod(sizes(one, -1)) <= 2048 and max(prod(sizes(one)), prod(sizes(one, 1))) <= 4096)),
    *(holds("convolution",
            planned(count=20, values={"windows": fit, "spatial dimensions": "2", "large": "no"}),
            "a window as large as the image", fills_image(is_reversed))
      for fit, is_reversed in (("whole image", False), ("whole image, reversed", True))),
    occurs("convolution", planned(values={"windows": "empty", "data": "some"}),
           "an image lacks room for any window", lambda one: 0 in sizes(one, -1)),
    holds("convolution",
          planned(values={"windows": "some", "data": "some", "long image": "no"}),
          "there is a window in each dimension", lambda one: 0 not in sizes(one, -1)),
    includes("dynamic_conv", planned(), "types of padding", element(2), {"si4", "si64"}),
    includes("dynamic_conv", F32_CASES, "padding is known, or comes late",
             lambda case: len(case.program.main.arguments), {2, 3}),
]  # fmt: skip

SPECTRA = planned("complex<f32>", 60, {"fft_type": "IRFFT"}, of_cases=True)
FFT = [
    *(includes("fft", planned("complex<f32>", 200, {"transform rank": "1", "length": kind}),
               f"lengths: {kind}", lambda one: sizes(one, -1)[-1], lengths)
      for kind, lengths in (
          ("power of 2", {8, 16, 512}), ("prime", {7, 127, 509}), ("odd", {9, 25}),
          ("even", {6, 360}), ("large", {1024, 3000, 4096}), ("1", {1}), ("empty", {0}))),
    holds_mostly("fft", SPECTRA, "inverses have spectra of real numbers",
                 lambda case: Items(p.startswith("spectrum:") for p in first_profiles(case))),
    occurs("fft", planned("complex<f32>", 40, {"fft_type": "FFT", "fft_length differs": "yes"}),
           "an operand is cut", lambda one: one.attribute("fft_length")[-1] < sizes(one)[-1]),
    equals("fft", planned("complex<f32>", 120), "ranks of transforms",
           lambda one: len(one.attribute("fft_length")), {1, 2, 3}),
    includes("fft", planned("complex<f32>", 120), "batches",
             lambda one: sizes(one)[: -len(one.attribute("fft_length"))], {(), (2, 3), (0,)}),
]  # fmt: skip

GATHERS = planned(count=150)
SORTED_INDICES = planned(count=100, values={"indices_are_sorted": "yes"}, of_cases=True)
GATHERING = [
    *(varies("gather", GATHERS, f"{name} are left out and given", attribute(name))
      for name in ("offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                   "start_index_map")),
    occurs("gather", GATHERS, "components of indices in another order",
           lambda one: [*(given := one.attribute("start_index_map"))] != sorted(given)),
    includes("gather", GATHERS, "vectors of indices are last, and are left out",
             lambda one: len(sizes(one, 1)) - one.attribute("index_vector_dim"), {0, 1}),
    holds_mostly("gather", SORTED_INDICES, "sorted indices are listed",
                 lambda case: Items(p.startswith("values:") for p in last_of_two(case))),
    occurs("gather", SORTED_INDICES, "the promise is broken now and then",
           lambda case: any(not p.startswith("values:") for p in last_of_two(case))),
    occurs("gather", SORTED_INDICES, "sorted indices may be out of range",
           lambda case: any("-1" in p.split(":")[-1].split(",") for p in last_of_two(case))),
    varies("dynamic_gather", planned(count=100, of_cases=True), "sizes are known or not",
           lambda case: "slice_sizes" in parameter_names(case)),
    includes("torch_index_select", planned(count=100), "batches", attribute("batch_dims"), {0, 1}),
    holds("scatter", planned(count=10, values={"body": "fold in functions"}, of_cases=True),
          "bodies call functions", lambda case: len(case.program.functions) > 1),
    equals("scatter", planned(count=30, values={"places": "any"}), "no promise is made",
           attribute("unique_indices"), {False}),
]  # fmt: skip

UNIT = planned(values={"unit_diagonal": "yes"}, of_cases=True)
LINEAR_ALGEBRA = [
    holds_mostly("triangular_solve", UNIT, "a unit diagonal is one of ones",
                 lambda case: Items(p == "unit_diagonal" for p in first_profiles(case))),
    *(claim for of, largest in (("f16", 65), ("f8E5M2", 4), ("f8E8M0FNU", 1)) for claim in (
        includes("cholesky", planned(of, 200), "the largest matrix of a narrow type",
                 lambda one: sizes(one)[-1], {largest}),
        holds("cholesky", planned(of, 200), "no larger matrix",
              lambda one, largest=largest: sizes(one)[-1] <= largest),
    )),
    holds_mostly("cholesky", F32_CASES, "matrices are positive definite",
                 lambda case: Items(p in ("definite", "gram", "graded", "hilbert")
                                    for p in first_profiles(case))),
]  # fmt: skip

VARIANCES = ("values:", "positive", "within:", "unit", "mixed")
PARAMETERS = {
    f"{name} is": "a parameter"
    for name in ("operand", "scale", "offset", "mean", "variance", "grad_output")
}
NORMALIZATION = [
    *(includes(op, planned(count=40), "features", attribute("feature_index"), {0, 1, 2})
      for op in ("batch_norm_grad", "batch_norm_inference", "batch_norm_training")),
    *(holds(op, planned(count=40, values=PARAMETERS, of_cases=True), "no variance is negative",
            lambda case, index=index: all(
                len(row.profiles) == 5 and row.profiles[index].startswith(VARIANCES)
                for row in case.inputs))
      for op, index in (("batch_norm_grad", 3), ("batch_norm_inference", 4))),
    holds("batch_norm_training", planned("f4E2M1FN"), "at most 6 elements, the largest number",
          lambda one: prod(sizes(one)) <= max(6, 2 ** len(sizes(one)))),
    occurs("batch_norm_training", planned(count=200), "many elements",
           lambda one: prod(sizes(one)) > 500),
    holds("batch_norm_training", planned(count=200), "not too many elements",
          lambda one: prod(sizes(one)) <= 2048),
    includes("batch_norm_grad", planned(count=100), "epsilons", attribute("epsilon"), {0.0, 1.0}),
    holds("batch_norm_grad", planned(count=100), "epsilons are numbers of f32",
          lambda one: float(np.float32(one.attribute("epsilon"))) == one.attribute("epsilon")),
    holds("batch_norm_training", planned(count=5, values={"sizes": "with 0"}), "empty operands",
          lambda one: 0 in sizes(one)),
]  # fmt: skip

STORAGES = {f"{sign}i{bits}" for sign in "su" for bits in (2, 4, 8, 16, 32)}
QUANTIZATION = [
    claim
    for op, side in (("uniform_quantize", 1), ("uniform_dequantize", 0))
    for claim in (
        equals(op, planned(count=150), "storage types",
               lambda one, side=side: quantized_type(one, side).storage_type.name, STORAGES),
        equals(op, planned(count=150), "the type of the column",
               lambda one, side=side: quantized_type(one, side).expressed_type, {F32}),
        varies(op, planned(count=150), "per axis and per tensor",
               lambda one, side=side: quantized_type(one, side).quantization_dimension is None),
    )
]  # fmt: skip


def ragged_size(case: Case) -> int:
    """Return the size of the ragged dimension."""
    given: Any = dict(case.program.subject.attributes)
    return sizes(case.program.subject)[ragged_numbers(**given).ragged]


def groups(case: Case) -> list[list[int]]:
    """Return the sizes of groups for the first index of the dimensions before, if there is one."""
    count = sizes(case.program.subject, 2)[-1]
    listed = case.inputs[0].profiles[-1].removeprefix("values:").split(",")
    given = [int(number) for number in listed if number]
    return [given[:count]] if given else []


RAGGED = "chlo.ragged_dot"
RAGGED_DOT = [
    *(equals(RAGGED, planned(
        count=40, turn=0, of_cases=True,
        values={"group sizes are for": kind, "group_sizes is": "a parameter"}),
        f"group sizes are for {kind}",
        lambda case, is_so=is_so: Items(is_so(given, ragged_size(case)) for given in groups(case)),
        {True})
      for kind, is_so in (
          (ragged.ALL, lambda given, size: sum(given) == size),
          (ragged.FEWER, lambda given, size: sum(given) < size or size == 0),
          (ragged.MORE, lambda given, size: sum(given) > size),
          (ragged.EMPTY,
           lambda given, size: sum(given) == size and (0 in given or len(given) == 1)),
          (ragged.ONE, lambda given, size: sorted(given) == [0] * (len(given) - 1) + [size]),
          (ragged.NONE, lambda given, _: not any(given)))),
    *(equals(RAGGED, planned(count=25, values={"mode": mode.name.lower()}), "modes",
             lambda one: ragged_numbers(**dict(one.attributes)).mode, {mode}) for mode in Mode),
    includes(RAGGED, planned(count=80), "group sizes are shared, or given for each index before",
             lambda one: len(sizes(one, 2)), {1, 2}),
    holds(RAGGED, F32_CASES, "the type of group sizes holds all of them",
          lambda case: case.program.subject.operands[2].type.element.max_integer
          >= ragged_size(case) + 3),
]  # fmt: skip

RANDOM = [
    *(equals("rng", planned(of, 40), "distributions", attribute("rng_distribution"), names)
      for of, names in (
          ("f32", {"UNIFORM", "NORMAL"}), ("si32", {"UNIFORM"}), ("i1", {"UNIFORM"}))),
    holds("rng", planned(count=20, of_cases=True), "the shape is a constant",
          lambda case: "shape" not in parameter_names(case)),
    equals("rng_bit_generator", planned("ui32", 100), "algorithms and states",
           lambda one: (one.attribute("rng_algorithm"), *sizes(one)),
           {("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3), ("DEFAULT", 2), ("DEFAULT", 3)}),
]  # fmt: skip

WINDOWS = planned(count=150)
REDUCTION = [
    includes("reduce", WINDOWS, "dimensions from none to all",
             lambda one: (len(one.attribute("dimensions")), one.operands[0].type.rank),
             {(0, 1), (1, 1), (1, 2), (2, 2), (3, 3)}),
    *(varies("reduce_window", WINDOWS, f"{name} of 1 and larger",
             lambda one, name=name: max(numbers(name)(one), default=1) > 1)
      for name in ("window_strides", "base_dilations", "window_dilations")),
    includes("reduce_window", WINDOWS, "padding of either sign",
             lambda one: Items(np.sign(items_of("padding")(one))), {-1, 1}),
]  # fmt: skip

SORTING = [
    includes("sort", planned("si32", 300, {"length chosen": "yes"}), "lengths at thresholds",
             length, {2, 16, 17, 32, 33, 128, 257, 1025}),
    includes("sort", planned(count=300), "dimensions from either end",
             lambda one: np.sign(one.attribute("dimension")), {-1, 1}),
    holds("sort", planned("si32", 300), "few elements in the other dimensions",
          lambda one: prod(sizes(one)) <= max(5000, length(one) * 2 ** (len(sizes(one)) - 1))),
    occurs("sort", planned(count=300), "one value as several operands",
           lambda one: len({*one.operands}) < len(one.operands)),
    holds("sort", planned(count=300), "the first operand is the one that is repeated",
          lambda one: len({*one.operands}) == len(one.operands)
          or one.operands[0] == one.operands[1]),
]  # fmt: skip

SAME_PRECISION = (("f8E4M3", "f8E4M3FNUZ"), ("f8E5M2", "f8E5M2FNUZ"))
OTHERS = [
    *(includes(op, planned(own, 100), "results of the same precision", element(-1), pair)
      for op in ("dot_general", RAGGED) for pair in SAME_PRECISION for own in pair),
    *(includes(op, planned(), "tensors, tokens and tuples in a tuple",
               lambda one: Items(type(value.type) for value in one.operands),
               {TensorType, TokenType, TupleType}) for op in ("tuple", "Tuple")),
    includes("custom_call", planned(count=150), "annotations", attribute("call_target_name"),
             IDENTITIES),
    includes("async_start", planned(count=80), "slices and collectives",
             lambda one: Items(inner.operations[0].name for inner in one.regions),
             {"slice", "dynamic_slice", "dynamic_update_slice", "all_reduce"}),
]  # fmt: skip

# --- CHLO and MHLO -------------------------------------------------------------------------------

NUMPY_RANKS = planned(count=30, values={"ranks": "as in numpy"})
LIKE = planned(count=60)
SCANS = planned(values={"is_associative": "yes"})


def returned(one: Operation) -> tuple[set[Any], set[Any]]:
    """Return the outputs of a scan's body, and its carries."""
    count, _ = one.attribute("resultSegmentSizes")  # type: ignore[misc]
    values = one.regions[0].operations[-1].operands
    return {*values[:count]}, {*values[count:]}


def carries_each_input(one: Operation) -> bool:
    inputs, carries = one.attribute("operandSegmentSizes")  # type: ignore[misc]
    outputs, next_carries = returned(one)
    names = {step.name for step in one.regions[0].operations[:-1]}
    return inputs == carries and outputs <= next_carries and names <= {"maximum", "minimum"}


DIALECTS = [
    holds("chlo.broadcast_add", NUMPY_RANKS, "an operand of lower rank has the last dimensions",
          lambda one: len(short := min(sizes(one), sizes(one, 1), key=len))
          < len(long := max(sizes(one), sizes(one, 1), key=len))
          and long[len(long) - len(short) :] == short),
    occurs("chlo.constant_like", LIKE, "NaN", lambda one: np.isnan(one.attribute("value").array)),
    occurs("chlo.constant_like", LIKE, "large numbers",
           lambda one: 1e30 < abs(one.attribute("value").array) < np.inf),
    includes("chlo.constant_like", LIKE, "operands of any type", element(), {"f32", "i1"}),
    *(includes(op, planned(count=40, of_cases=True), "poles and zeros", profiles, {"gamma_edges"})
      for op in ("chlo.digamma", "chlo.lgamma")),
    *(holds("mhlo.topk", planned(count=30, values={"k": kind}), f"k: {kind}",
            lambda one, is_so=is_so: is_so(one.attribute("k"), sizes(one)[-1]))
      for kind, is_so in (
          ("all", lambda k, width: k == width), ("one", lambda k, _: k == 1),
          ("some", lambda k, width: 1 <= k <= width), ("empty", lambda k, _: k == 0))),
    includes("mhlo.topk", planned(count=100), "rows with room for every special value",
             lambda one: sizes(one)[-1], {1, 129, 1000}),
    holds("mhlo.scan", SCANS, "an associative scan returns what it carries", carries_each_input),
    equals("mhlo.scan", planned("si32", 100, {"is_associative": "no"}), "others return any value",
           lambda one: Items(value.name.rstrip("0123456789")
                             for value in one.regions[0].operations[-1].operands),
           {"next", "carried", "slice"}),
    equals("mhlo.scan", planned("si32"), "the promise is left out now and then",
           attribute("is_associative"), {None, True, False}),
]  # fmt: skip

CLAIMS: list[Claim] = [
    *CONVOLUTION, *FFT, *GATHERING, *LINEAR_ALGEBRA, *NORMALIZATION, *QUANTIZATION, *RAGGED_DOT,
    *RANDOM, *REDUCTION, *SORTING, *OTHERS, *DIALECTS,
]  # fmt: skip


@pytest.mark.parametrize("op", sorted({claim.op for claim in CLAIMS}))
def test_cases_are_as_claimed(op: str) -> None:
    assert not drawn_contradictions(op, CLAIMS)
