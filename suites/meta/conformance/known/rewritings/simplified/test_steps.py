"""Operations that a simplifier removes, and operations that look like them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.check.settings import Settings
from conformance.gate.reading import load
from conformance.known.rewritings.contraction.moves import CONTRACTED
from conformance.known.rewritings.simplified.simplify import simplify
from conformance.known.rewritings.simplified.steps import STEPS, values_kept_by_loop
from conformance.results.versions import versions
from conformance.stablehlo.parse import parse_module
from reference.ir.types import Array
from suites.meta.support.checking import check_text
from suites.meta.support.rewriting import kind_of

BEFORE = """
func.func @main(%x: tensor<2xf32>, %z: tensor<2xf32>, %d: tensor<2xf32>, %i: tensor<i32>)
    -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %no = stablehlo.constant dense<false> : tensor<i1>
  %first = stablehlo.constant dense<0> : tensor<1xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %p = stablehlo.multiply %x, %x : tensor<2xf32>
  %column = stablehlo.reshape %p : (tensor<2xf32>) -> tensor<2x1xf32>
"""
AFTER = """
  %sum = stablehlo.add %q, %z : tensor<2xf32>
  return %sum : tensor<2xf32>
}"""

IF = """%q = "stablehlo.if"(%{pred}) ({{
    stablehlo.return %d : tensor<2xf32>
  }}, {{
    stablehlo.return %p : tensor<2xf32>
  }}) : (tensor<i1>) -> tensor<2xf32>"""
CASE = """%q = "stablehlo.case"(%{index}) ({{
    {product}
    stablehlo.return %p : tensor<2xf32>
  }}, {{
    stablehlo.return %d : tensor<2xf32>
  }}) : (tensor<i32>) -> tensor<2xf32>"""
INNER = """%in = stablehlo.multiply %x, %x : tensor<2xf32>"""
WHILE = """%n, %w = "stablehlo.while"(%{start}, %p) ({{
  ^bb0(%k: tensor<i32>, %v: tensor<2xf32>):
    %c = stablehlo.compare LT, %k, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}, {{
  ^bb0(%k: tensor<i32>, %v: tensor<2xf32>):
    %l = stablehlo.subtract %zero, %k : tensor<i32>
    %u = stablehlo.floor %v : tensor<2xf32>
    stablehlo.return %l, %{returned} : tensor<i32>, tensor<2xf32>
  }}) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  %q = stablehlo.reshape %w : (tensor<2xf32>) -> tensor<2xf32>"""
MAP = """%q = "stablehlo.map"(%p, %d) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {body}
    stablehlo.return %{returned} : tensor<f32>
  }}) {{dimensions = array<i64: 0>}} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"""
TIMES_ONE = """%k = stablehlo.constant dense<1.0> : tensor<f32>
    %m = stablehlo.multiply %a, %k : tensor<f32>"""
UPDATE = """%q = stablehlo.dynamic_update_slice %d, %{update}, %i
    : (tensor<2xf32>, tensor<{size}xf32>, tensor<i32>) -> tensor<2xf32>"""
HALF = "%half = stablehlo.slice %p [0:1] : (tensor<2xf32>) -> tensor<1xf32>\n  "
SCATTER = """%q = "stablehlo.scatter"(%d, %{at}, %p) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0],
    scatter_dims_to_operand_dims = [0]>}} : (tensor<2xf32>, tensor<1xi32>, tensor<2xf32>)
    -> tensor<2xf32>"""
AT = "%at = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>\n  "
DOT = """%m = stablehlo.constant dense<{number}> : tensor<1xf32>
  %q = stablehlo.dot_general %column, %m, contracting_dims = [1] x [0]
    : (tensor<2x1xf32>, tensor<1xf32>) -> tensor<2xf32>"""
CLAMP = """%low = stablehlo.broadcast_in_dim %least, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %q = stablehlo.clamp {operands} : tensor<2xf32>"""
REDUCE = """%q = stablehlo.reduce(%column init: %one) applies stablehlo.{op} across dimensions = [1]
    : (tensor<2x1xf32>, tensor<f32>) -> tensor<2xf32>"""
WINDOW = """%q = "stablehlo.reduce_window"(%p, %{init})
    <{{window_dimensions = array<i64: 1>{more}}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.{op} %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }}) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>"""
SORT = """%s = "stablehlo.sort"(%column) <{{dimension = {dimension}, is_stable = true}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %m : tensor<i1>
  }}) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %q = stablehlo.reshape %s : (tensor<2x1xf32>) -> tensor<2xf32>"""

REMOVED = {
    "if on a constant": IF.format(pred="no"),
    "case on a constant": CASE.format(index="zero", product=""),
    "case with a product": CASE.format(index="zero", product=INNER).replace("%p :", "%in :"),
    "loop that never runs": WHILE.format(start="zero", returned="u"),
    "loop that returns its operand": WHILE.format(start="i", returned="v"),
    "map that returns its argument": MAP.format(body="", returned="a"),
    "map by 1": MAP.format(body=TIMES_ONE, returned="m"),
    "update of a whole array": UPDATE.format(update="p", size=2),
    "scatter to a whole array": SCATTER.format(at="first"),
    "dot with 1": DOT.format(number="1.0"),
    "clamp by itself": CLAMP.format(operands="%p, %p, %p"),
    "clamp of a bound": CLAMP.format(operands="%p, %low, %p"),
    "reduction of single elements": REDUCE.format(op="add"),
    "windows of single elements": WINDOW.format(init="least", op="maximum", more=""),
    "sort of single elements": SORT.format(dimension=1),
}
KEPT = {
    "if on a parameter": "%pred = stablehlo.compare LT, %i, %zero\n"
    "    : (tensor<i32>, tensor<i32>) -> tensor<i1>\n  " + IF.format(pred="pred"),
    "case on a parameter": CASE.format(index="i", product=""),
    "loop that may run": WHILE.format(start="i", returned="u"),
    "map of its other argument": MAP.format(body="", returned="b"),
    "update of a half": HALF + UPDATE.format(update="half", size=1),
    "scatter to a parameter": AT + SCATTER.format(at="at"),
    "clamp by another": CLAMP.format(operands="%p, %d, %p"),
    "windows with another number": WINDOW.format(init="one", op="maximum", more=""),
    "windows multiplied": WINDOW.format(init="one", op="multiply", more=""),
    "windows moved": WINDOW.format(
        init="least", op="maximum", more=", padding = dense<[[1, -1]]> : tensor<1x2xi64>"
    ),
    "sort of two elements": SORT.format(dimension=0),
}
GIVEN: list[Array] = [
    *(np.array(one, np.float32) for one in ([1, 2.5e38], [0, -np.inf], [2, 3])),
    np.zeros((), np.int32),
]


@pytest.mark.parametrize("name", REMOVED)
def test_a_product_is_contracted_through_what_a_simplifier_removes(name: str) -> None:
    text = BEFORE + REMOVED[name] + AFTER
    assert kind_of(text, GIVEN, np.array([1, -np.inf], np.float32)) == CONTRACTED


@pytest.mark.parametrize("name", KEPT)
def test_other_operations_stay(name: str) -> None:
    program = parse_module(BEFORE + KEPT[name] + AFTER)
    simple = simplify(program)
    product, last = program.main.body.operations[5], simple.program.main.body.operations[-2]
    assert last.operands[0] != product.results[0]


@pytest.mark.x86
@pytest.mark.parametrize("name", REMOVED)
def test_xla_contracts_through_what_it_removes(name: str, tmp_path: Path) -> None:
    text = BEFORE + REMOVED[name] + AFTER
    names = re.findall(r"%(\w+): ", BEFORE)
    given: dict[str, Any] = dict(zip(names, GIVEN, strict=True))
    np.savez(tmp_path / "in.npz", **given)
    shipped = load(None, ("cpu",), versions())
    settings = Settings("cpu", inputs=tmp_path / "in.npz", expectations=shipped)
    found = check_text(tmp_path, text, settings)
    assert found.known == ("contracted-product-that-overflows",)
    assert not found.is_new_failure


def test_values_that_a_loop_returns_unchanged() -> None:
    operations = parse_module(BEFORE + REMOVED["loop that returns its operand"] + AFTER)
    (loop,) = (one for one in operations.main.body.operations if one.name == "while")
    assert values_kept_by_loop(loop) == {loop.results[1]: loop.operands[1]}
    assert values_kept_by_loop(operations.main.body.operations[0]) == {}


def test_each_step_has_an_example() -> None:
    texts = " ".join(REMOVED.values())
    assert all(f"stablehlo.{name}" in texts for name in STEPS)
