"""Values that the cases of an op of XlaBuilder must reach, and what holds for all of its cases.

Rows are as in test_cases.py.
"""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from generators.case.case import Case
from generators.families.dynamism import UNOBSERVED
from generators.families.xla.elementwise import ALIKE, MAPPED, ONES, SCALAR
from generators.families.xla.host import ARRAYS, EMPTY
from generators.families.xla.scaled import BLOCKS, EACH, ONE, ROWS, TILES
from reference.ir.accuracy import ResultAccuracy
from reference.ir.program import Dense, Operation
from reference.ops.xla.windows import SAME, VALID, padding_along
from suites.meta.support.built_cases import operations, sizes
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
    occurs,
    planned,
    profiles,
    varies,
)


def numbers(name: str) -> Any:
    """Return a function that reads a tuple of numbers; () if it is left out."""
    return lambda one: attribute(name)(one) or ()


CONTRACTION = [
    *(claim for op, of, count in (("DotGeneral", "bf16", 80), ("ScaledDot", "f8E4M3FN", 120))
      for claim in (
          holds(op, planned(of, count), "a preferred type is stated only if it is another",
                lambda one, of=of: one.attribute("preferred_element_type")
                == (None if element(-1)(one) == of else element(-1)(one))),
          includes(op, planned(of, count), "results of the same type, and of another",
                   lambda one, of=of: element(-1)(one) == of, {True, False}))),
    includes("DotGeneral", planned("bf16", 80), "wider results", element(-1), {"f32"}),
]  # fmt: skip


def has_form(form: str) -> Any:
    """Return whether the scale of lhs has that form."""

    def predicate(one: Operation) -> bool:
        contracted = one.attribute("dimension_numbers").lhs_contracting_dimensions
        for d, (whole, part) in enumerate(zip(sizes(one), sizes(one, 1), strict=True)):
            free = form in (EACH, BLOCKS) and d not in contracted
            stated = {EACH: whole, ONE: 1, ROWS: 1 if d in contracted else whole}
            if part != (whole if free else stated.get(form, part)):
                return False
            if not (part == whole == 0 or whole % part == 0):
                return False
        return True

    return predicate


SCALED = [
    *(holds("ScaledDot", planned("f8E4M3FN", 40, {"lhs_scale": form, "large": "no"}),
            f"a scale for {form}", has_form(form)) for form in (BLOCKS, ROWS, TILES, EACH, ONE)),
    holds_mostly("ScaledDot", planned("f8E4M3FN", 40, {"lhs_scale": BLOCKS, "large": "no"}),
                 "blocks are larger than one and smaller than all",
                 lambda one: any(1 < p < w for w, p in zip(sizes(one), sizes(one, 1), strict=True))
                 or max(sizes(one), default=0) < 4),
    equals("ScaledDot", planned("f8E4M3FN", 120), "types of scales", element(1),
           {"f8E8M0FNU", "bf16", "f8E4M3FN"}),
    includes("ScaledDot", planned("f8E4M3FN", 120), "types of rhs", element(2),
             {"f8E4M3FN", "f8E5M2", "bf16"}),
]  # fmt: skip

BY_INDEX = planned(count=40, values={"form": "index", "branches": "2"}, of_cases=True)
CONTROL_FLOW = [
    equals("Conditional", planned(count=80), "branches by predicate and by index",
           lambda one: (element()(one), len(one.regions)),
           {("i1", 2), ("si32", 1), ("si32", 2), ("si32", 3), ("si32", 4)}),
    includes("Conditional", BY_INDEX, "an index out of range", profiles,
             {"within:-1:2", "special"}),
    equals("Conditional", planned(count=80), "branches that reverse their argument",
           lambda one: Items(sum(step.name == "reverse" for step in region.operations)
                             for region in one.regions), {0, 1, 2}),
    varies("Select (tuples)", planned(), "one tuple, or two",
           lambda one: one.operands[1] == one.operands[2]),
]  # fmt: skip


def has_shapes(kind: str) -> Any:
    """Return whether the operands have shapes of that kind."""

    def predicate(one: Operation) -> bool:
        lhs, rhs = sizes(one), sizes(one, 1)
        mapped: Any = one.attribute("broadcast_dimensions")
        return {
            ALIKE: lhs == rhs,
            SCALAR: () in (lhs, rhs) and mapped in (None, ()),
            ONES: len(lhs) == len(rhs),
            MAPPED: len(lhs) != len(rhs) and len(mapped or ()) == min(len(lhs), len(rhs)),
        }[kind]

    return predicate


REPEATED = planned(values={"shapes": ONES})
ACCURATE = ResultAccuracy("TOLERANCE", ulps=4)
ELEMENTWISE = [
    *(holds("Sub", planned(count=40, values={"shapes": kind}), f"shapes: {kind}", has_shapes(kind))
      for kind in (ALIKE, SCALAR, ONES, MAPPED)),
    *(holds("Add", planned(count=20, values={"shapes": MAPPED, "broadcast": side}),
            f"{side} is broadcast",
            lambda one, larger=larger: len(sizes(one, larger)) > len(sizes(one, 1 - larger)))
      for side, larger in (("lhs", 1), ("rhs", 0))),
    occurs("Add", REPEATED, "both have a size of one that is repeated",
           lambda one: 1 in sizes(one) and 1 in sizes(one, 1) and sizes(one) != sizes(one, 1)),
    *(equals("Exp", planned(count=5, values={"result_accuracy": kind}), f"accuracy: {kind}",
             attribute("result_accuracy"), {accuracy})
      for kind, accuracy in (("ulps", ACCURATE), ("nothing", None))),
    equals("Abs", planned(), "no accuracy", attribute("result_accuracy"), {None}),
]  # fmt: skip


def ratio(whole: int, dimension: str) -> Any:
    """Return whether the shard count is the ratio of sizes; `whole` is the side that is whole."""

    def predicate(one: Operation) -> bool:
        at, count = one.attribute(dimension), one.attribute("shard_count")
        return sizes(one, whole)[at] == sizes(one, -1 - whole)[at] * count  # type: ignore[index,operator]

    return predicate


DISTRIBUTION = [
    holds("AllGather", planned(count=20), "shard count", ratio(-1, "all_gather_dimension")),
    holds("ReduceScatter", planned(count=20), "shard count", ratio(0, "scatter_dimension")),
    includes("AllReduce", planned(count=150), "groups are left out", attribute("replica_groups"),
             {None}),
    occurs("AllReduce", planned(count=150), "groups are empty",
           lambda one: isinstance(given := one.attribute("replica_groups"), Dense)
           and 0 in given.type.static_shape),
]  # fmt: skip


def new_shape(kind: str, before: tuple[int, ...]) -> tuple[int, ...]:
    return {
        "another order": before[::-1], "in one": (prod(before),), "as it is": before,
        "with ones": (1, *before, 1),
    }[kind]  # fmt: skip


def is_consecutive(given: Any) -> bool:
    return [*given] == [*range(given[0], given[0] + len(given))] if given else True


ORDERED = "Reshape (ordered)"
MOVEMENT = [
    includes("Collapse", planned(count=80), "nothing is merged", attribute("dimensions"), {()}),
    occurs("Collapse", planned(count=80), "several dimensions are merged",
           lambda one: len(one.attribute("dimensions")) > 1),
    holds("Collapse", planned(count=80), "merged dimensions are consecutive",
          lambda one: is_consecutive(one.attribute("dimensions"))),
    *(holds(op, planned(count=15, values={"new shape": kind, "observation": UNOBSERVED}),
            f"new shape: {kind}",
            lambda one, kind=kind: sizes(one, -1) == new_shape(kind, sizes(one)))
      for op in (ORDERED, "DynamicReshape")
      for kind in ("another order", "in one", "as it is", "with ones")),
    includes(ORDERED, planned(count=120), "no order", attribute("dimensions"), {None}),
    occurs(ORDERED, planned(count=120), "the reverse order",
           lambda one: len(given := one.attribute("dimensions") or ()) > 1
           and [*given] == [*range(len(given))][::-1]),
    varies("DynamicReshape", planned(count=120, of_cases=True), "sizes below their bound",
           lambda case: bool(operations([case], "set_dimension_size"))),
    holds("DynamicReshape", planned(count=120, of_cases=True), "a size that is set is dynamic",
          lambda case: not operations([case], "set_dimension_size")
          or any(operations([case], "DynamicReshape")[0].attribute("dims_are_dynamic"))),
]  # fmt: skip

NORMAL = {"mu is": "a parameter", "sigma is": "a parameter"}
NUMERICAL = [
    *(equals("RngBernoulli",
             planned("ui32", 30, {"mean": kind, "mean is": "a parameter"}, of_cases=True),
             f"mean: {kind}", profiles, names)
      for kind, names in (("between", {"shares"}), ("1", {"values:1"}),
                          ("near an end", {"tiny", "near_one"}))),
    includes("RngNormal", planned(values=NORMAL, of_cases=True), "the standard distribution",
             lambda case: Items(recipe.profiles for recipe in case.inputs),
             {("values:0", "values:1")}),
    holds("RngNormal", planned(values=NORMAL, of_cases=True), "no deviation is negative",
          lambda case: not any(recipe.profiles[1].startswith(("values:-", "within:-"))
                               for recipe in case.inputs)),
]  # fmt: skip


def has_odd_padding(one: Operation) -> bool:
    windows = numbers("window_dimensions")(one)
    dilations = numbers("window_dilations")(one) or (1,) * len(windows)
    holes = ((n - 1) * d + 1 for n, d in zip(windows, dilations, strict=True))
    return any(low != high for low, high in (padding_along(SAME, size) for size in holes))


ODD = planned(count=40, values={"padding": "SAME, longer at the end"})
XLA_REDUCTION = [
    *(equals(op, planned(count=12, values={"padding": name}), "named padding",
             attribute("padding"), {name})
      for op in ("ReduceWindow", "SelectAndScatter") for name in (SAME, VALID)),
    equals("ReduceWindow", ODD, "longer padding", attribute("padding"), {SAME}),
    holds_mostly("ReduceWindow", ODD, "an odd element of padding", has_odd_padding),
]  # fmt: skip


def last_two(case: Case) -> list[Operation]:
    return operations([case], "Infeed")[-2:]


EMPTY_BEFORE = planned(count=10, values={"shape before it": EMPTY}, of_cases=True)
XLA_OTHERS = [
    *(equals("Scan", planned("si32", 10, {"is_associative": kind}), f"associative: {kind}",
             attribute("is_associative"), {said})
      for kind, said in (("left out", None), ("yes", True), ("no", False))),
    includes("Scan", planned("si32", 40), "carries", attribute("num_carries"), {1, 2}),
    holds("Infeed", EMPTY_BEFORE, "an empty tuple is read before the last item",
          lambda case: len((pair := last_two(case))[0].results) == 1
          and pair[1].operands == pair[0].results and len(pair[1].results) > 1),
    holds("Infeed", planned(count=10, values={"shape before it": ARRAYS}), "or it is not",
          lambda one: len(one.results) > 1),
]  # fmt: skip

CLAIMS: list[Claim] = [
    *CONTRACTION, *SCALED, *CONTROL_FLOW, *ELEMENTWISE, *DISTRIBUTION, *MOVEMENT, *NUMERICAL,
    *XLA_REDUCTION, *XLA_OTHERS,
]  # fmt: skip


@pytest.mark.parametrize("op", sorted({claim.op for claim in CLAIMS}))
def test_cases_are_as_claimed(op: str) -> None:
    assert not drawn_contradictions(op, CLAIMS)
