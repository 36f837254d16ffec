"""Uses of a value that move by themselves: a compiler may compute a value again for each use."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.perturbation.separate_uses import VERSIONS, find_copies, separate_uses
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.ir.types import ELEMENT_TYPES, Array
from reference.ops.table import OPS

MASKED = """
func.func @main(%x: tensor<2x8xf32>, %s: tensor<f32>) -> tensor<2x8xf32> {{
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
  %m = stablehlo.multiply %x, %b : tensor<2x8xf32>
  {between}
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.reduce(%k init: %least) applies stablehlo.maximum across dimensions = [1]
    : (tensor<2x8xf32>, tensor<f32>) -> tensor<2xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<2xf32>) -> tensor<2x8xf32>
  %d = stablehlo.subtract %k, %rb : tensor<2x8xf32>
  return %d : tensor<2x8xf32>
}}"""
RESHAPED = "%k = stablehlo.reshape %m : (tensor<2x8xf32>) -> tensor<2x8xf32>"
KEPT = "%k = stablehlo.optimization_barrier %m : tensor<2x8xf32>"
X = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
S = np.array(0.35355338, np.float32)


def contracted_difference(factor: float = 1.0) -> Array:
    """Return the difference with the product within it not rounded, as one contracted operation has
    it.
    """
    rounded = (X * S).max(axis=1, keepdims=True).astype(np.float64)
    exact = X.astype(np.float64) * float(S)
    found = exact - rounded
    return np.where(np.abs(found) < 1e-6, factor * found, found).astype(np.float32)


@pytest.mark.parametrize(
    ("between", "factor", "verdict"),
    [
        (RESHAPED, 1.0, Verdict.PASS),
        (RESHAPED, 64.0, Verdict.DIVERGENT),
        (KEPT, 1.0, Verdict.DIVERGENT),  # there is one value, which was rounded
    ],
)
def test_a_value_may_be_computed_twice(between: str, factor: float, verdict: Verdict) -> None:
    program = parse_module(MASKED.format(between=between))
    permitted = PermittedResults(program, [X, S])
    assert (permitted.expected[0] != contracted_difference()).any()
    assert judge_program(permitted, [contracted_difference(factor)]).verdict is verdict


_2X8 = "tensor<2x8xf32>"
_STARTS = "%c = stablehlo.constant dense<0> : tensor<i32>"
_SIZES = "%c = stablehlo.constant dense<[2, 8]> : tensor<2xi32>"
_ZEROS = "%z = stablehlo.constant dense<0> : tensor<2xi32>"
_PADDING = "%p = stablehlo.constant dense<0.0> : tensor<f32>"
_WHOLE = "offset_dims = [0, 1], start_index_map = [0]"
MOVES = {
    "bitcast_convert": f"%k = stablehlo.bitcast_convert %m : ({_2X8}) -> {_2X8}",
    "broadcast": f"%k = stablehlo.broadcast %m, sizes = [] : ({_2X8}) -> {_2X8}",
    "broadcast_in_dim": f"%k = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({_2X8}) -> {_2X8}",
    "concatenate": f"%k = stablehlo.concatenate %m, dim = 0 : ({_2X8}) -> {_2X8}",
    "dynamic_broadcast_in_dim": f"""{_SIZES}
  %k = stablehlo.dynamic_broadcast_in_dim %m, %c, dims = [0, 1]
    : ({_2X8}, tensor<2xi32>) -> {_2X8}""",
    "dynamic_gather": f"""{_SIZES}
  %z = stablehlo.constant dense<0> : tensor<1xi32>
  %k = "stablehlo.dynamic_gather"(%m, %z, %c) {{
    dimension_numbers = #stablehlo.gather<{_WHOLE}>
  }} : ({_2X8}, tensor<1xi32>, tensor<2xi32>) -> {_2X8}""",
    "dynamic_pad": f"""{_ZEROS}
  {_PADDING}
  %k = stablehlo.dynamic_pad %m, %p, %z, %z, %z
    : ({_2X8}, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> {_2X8}""",
    "dynamic_reshape": f"""{_SIZES}
  %k = stablehlo.dynamic_reshape %m, %c : ({_2X8}, tensor<2xi32>) -> {_2X8}""",
    "dynamic_slice": f"""{_STARTS}
  %k = stablehlo.dynamic_slice %m, %c, %c, sizes = [2, 8]
    : ({_2X8}, tensor<i32>, tensor<i32>) -> {_2X8}""",
    "dynamic_update_slice": f"""{_STARTS}
  %k = stablehlo.dynamic_update_slice %x, %m, %c, %c
    : ({_2X8}, {_2X8}, tensor<i32>, tensor<i32>) -> {_2X8}""",
    "gather": f"""%z = stablehlo.constant dense<0> : tensor<1xi32>
  %k = "stablehlo.gather"(%m, %z) {{
    dimension_numbers = #stablehlo.gather<{_WHOLE}>, slice_sizes = array<i64: 2, 8>
  }} : ({_2X8}, tensor<1xi32>) -> {_2X8}""",
    "pad": f"""{_PADDING}
  %k = stablehlo.pad %m, %p, low = [0, 0], high = [0, 0], interior = [0, 0]
    : ({_2X8}, tensor<f32>) -> {_2X8}""",
    "real_dynamic_slice": f"""{_ZEROS}
  {_SIZES}
  %o = stablehlo.constant dense<1> : tensor<2xi32>
  %k = stablehlo.real_dynamic_slice %m, %z, %c, %o
    : ({_2X8}, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> {_2X8}""",
    "reshape": RESHAPED,
    "reverse": f"%k = stablehlo.reverse %m, dims = [] : {_2X8}",
    "set_dimension_size": """%c = stablehlo.constant dense<8> : tensor<i32>
  %k = stablehlo.set_dimension_size %m, %c, dim = 1
    : (tensor<2x8xf32>, tensor<i32>) -> tensor<2x8xf32>""",
    "slice": f"%k = stablehlo.slice %m [0:2, 0:8] : ({_2X8}) -> {_2X8}",
    "torch_index_select": f"""%c = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  %k = "stablehlo.torch_index_select"(%m, %c) <{{batch_dims = 0 : i64, dim = 0 : i64}}>
    : ({_2X8}, tensor<2xi32>) -> {_2X8}""",
    "transpose": f"%k = stablehlo.transpose %m, dims = [0, 1] : ({_2X8}) -> {_2X8}",
}
"""For each op that moves elements, operations that give %k the elements of %m in their places."""

KEPT_ONCE = {
    "sort": "its comparator is a region; sorting again costs more than keeping the result",
    "chlo.top_k": "it has two results",
    "mhlo.topk": "it has two results",
}
"""Ops that move elements, but are not repeated for each use, and why."""


def test_every_op_that_moves_elements_is_tried() -> None:
    moving = {one.name for one in OPS.values() if one.moves_elements and not one.twin}
    assert moving | {"bitcast_convert"} == MOVES.keys() | KEPT_ONCE.keys()


@pytest.mark.parametrize("op", MOVES)
def test_moved_value_may_be_recomputed_for_each_use(op: str) -> None:
    permitted = PermittedResults(parse_module(MASKED.format(between=MOVES[op])), [X, S])
    assert judge_program(permitted, [contracted_difference()]).verdict is Verdict.PASS
    assert judge_program(permitted, [contracted_difference(64.0)]).verdict.fails


QUOTIENT = """
func.func @main(%x: tensor<4xTYPE>, %n: tensor<SHAPExTYPE>) -> tensor<SHAPExTYPE> {
  %r = stablehlo.reshape %x : (tensor<4xTYPE>) -> tensor<SHAPExTYPE>
  %e = FUNCTION
  %init = stablehlo.constant dense<INIT> : tensor<TYPE>
  %s = stablehlo.reduce(%e init: %init) applies stablehlo.BODY across dimensions = [1]
    : (tensor<SHAPExTYPE>, tensor<TYPE>) -> tensor<ROWSxTYPE>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<ROWSxTYPE>) -> tensor<SHAPExTYPE>
  BETWEEN
  %q = stablehlo.divide %e, %k : tensor<SHAPExTYPE>
  %p = stablehlo.power %q, %n : tensor<SHAPExTYPE>
  return %p : tensor<SHAPExTYPE>
}"""
DEFAULTS = {
    "FUNCTION": "stablehlo.exponential %r : tensor<SHAPExTYPE>", "TYPE": "f32",
    "INIT": "0.0", "BODY": "add", "BETWEEN": "%k = stablehlo.reshape %b"
    " : (tensor<SHAPExTYPE>) -> tensor<SHAPExTYPE>", "SHAPE": "4x1", "ROWS": "4",
}  # fmt: skip
LEAST = "0xFF800000"
TYPES = {name: ELEMENT_TYPES[name].storage for name in ("f64", "f32", "f16", "bf16")}


def quotient(**parts: str) -> str:
    """Return a program of a power of a value over the sums of its rows, some parts replaced."""
    text = QUOTIENT
    chosen = DEFAULTS | parts
    for name in ("FUNCTION", "BETWEEN", "INIT", "BODY", "SHAPE", "ROWS", "TYPE"):
        text = text.replace(name, chosen[name])
    return text


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ({}, Verdict.DIVERGENT),
        ({"FUNCTION": "stablehlo.logistic %r : tensor<SHAPExTYPE>"}, Verdict.DIVERGENT),
        ({"BODY": "maximum", "INIT": LEAST}, Verdict.DIVERGENT),
        ({"TYPE": "f64"}, Verdict.DIVERGENT),
        # a barrier keeps its operand: that is not computed again
        ({"BETWEEN": "%k = stablehlo.optimization_barrier %b : tensor<SHAPExTYPE>"}, Verdict.PASS),
        # narrow types: both are rounded, or neither
        ({"TYPE": "f16"}, Verdict.DIVERGENT),
        ({"TYPE": "bf16"}, Verdict.DIVERGENT),
        # products are taken into what follows unrounded
        ({"FUNCTION": "stablehlo.multiply %r, %r : tensor<SHAPExTYPE>"}, Verdict.PASS),
        # no neutral elements
        ({"BODY": "maximum", "INIT": "1.0e-3"}, Verdict.PASS),
        ({"INIT": "1.0e-30"}, Verdict.PASS),
        # sums of two elements
        ({"SHAPE": "2x2", "ROWS": "2"}, Verdict.PASS),
        # elements at other positions
        (
            {"BETWEEN": "%k = stablehlo.reverse %b, dims = [0] : tensor<SHAPExTYPE>"},
            Verdict.PASS,
        ),
    ],
)  # fmt: skip
def test_one_operation_has_the_same_elements_of_a_value_once(
    parts: dict[str, str], verdict: Verdict
) -> None:
    """1 to the power of NaN is 1, of a number beside 1 it is NaN."""
    program = parse_module(quotient(**parts))
    of = TYPES[parts.get("TYPE", "f32")]
    x = np.full(4, 0.7, of)
    if "SHAPE" in parts:
        x = np.array([0.7, -200, -200, 0.7], of)  # rows of which one element is all of the sum
    n = np.full((2, 2) if "SHAPE" in parts else (4, 1), np.nan, of)
    permitted = PermittedResults(program, [x, n])
    assert (permitted.expected[0] == 1).any()
    assert judge_program(permitted, [n]).verdict is verdict


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ({}, 4),  # the value, the sum, its broadcast, and a reshape of that
        ({"BODY": "multiply", "INIT": "1.0"}, 4),
        ({"BODY": "minimum", "INIT": "0x7F800000"}, 4),
        ({"BODY": "minimum", "INIT": "1000.0"}, 1),
        ({"BODY": "maximum", "INIT": "-1000.0"}, 1),
        ({"INIT": "1.0e-30"}, 1),
        ({"BETWEEN": "%k = stablehlo.reverse %b, dims = [0] : tensor<SHAPExTYPE>"}, 3),
    ],
)
def test_copies_are_found_for_elementwise_uses(parts: dict[str, str], count: int) -> None:
    found = find_copies(parse_module(quotient(**parts)))
    (exponential, *_) = found.values()
    assert [*found.values()].count(exponential) == count


def test_every_operation_has_its_own_version_of_the_same_elements() -> None:
    more = "%q = stablehlo.divide %e, %k : tensor<4x1xf32>"
    text = quotient().replace(more, more + more.replace("%q", "%t"))
    text = text.replace("power %q, %n", "subtract %q, %t")
    permitted = PermittedResults(
        parse_module(text), [np.full(4, 0.7, np.float32), np.ones((4, 1), np.float32)]
    )
    assert all((one == 0).all() for (one,) in permitted.moved_samples())


def test_versions_are_few_and_mean_the_same() -> None:
    lines = ["%0 = stablehlo.exponential %x : tensor<2xf32>"]
    lines += [f"%{n} = stablehlo.negate %{n // 2} : tensor<2xf32>" for n in range(1, 40)]
    lines += [f"%s{n} = stablehlo.add %{n}, %{40 - n} : tensor<2xf32>" for n in range(1, 40)]
    ends = ", ".join(f"%s{n}" for n in range(1, 40))
    types = ", ".join(["tensor<2xf32>"] * 39)
    text = f"func.func @main(%x: tensor<2xf32>) -> ({types}) {{\n"
    program = parse_module(text + "\n".join(lines) + f"\nreturn {ends} : {types}\n}}")
    found = separate_uses(program)
    operations = found.program.main.body.operations
    assert found.apart == {"0"}
    assert sum(one.name == "optimization_barrier" for one in operations) == VERSIONS - 1
    assert len(operations) <= 3 * len(program.main.body.operations)
    x = np.array([0.5, -1], np.float32)
    one, other = (PermittedResults(each, [x]).expected for each in (program, found.program))
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
