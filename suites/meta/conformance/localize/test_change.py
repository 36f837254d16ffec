"""Changes between two programs are written as the expressions that differ."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.localize.change import find_changes
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Program

INPUTS = dict(zip("xyz", np.random.default_rng(0).uniform(1, 9, (3, 64)).astype("f"), strict=True))
GIVEN = tuple(INPUTS.values())
C = "%c = stablehlo.constant dense<0.1> : tensor<64xf32>"


def program_of(*lines: str, result: str = "tensor<64xf32>") -> Program:
    arguments = ", ".join(f"%{name}: tensor<64xf32>" for name in INPUTS)
    body = "\n".join(lines)
    return parse_module(
        f"func.func @main({arguments}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"
    )


def op(result: str, name: str, *operands: str, of: str = "tensor<64xf32>") -> str:
    return f"%{result} = stablehlo.{name} {', '.join(f'%{one}' for one in operands)} : {of}"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            [op("q", "divide", "x", "y"), op("r", "divide", "q", "z")],
            [op("p", "multiply", "y", "z"), op("r", "divide", "x", "p")],
            {"divide(divide(a, b), c) => divide(a, multiply(b, c))"},
        ),
        (
            [op("e", "sine", "x"), op("f", "exponential", "e"),
             "%r = stablehlo.transpose %f, dims = [0] : (tensor<64xf32>) -> tensor<64xf32>"],
            [op("e", "cosine", "x"), op("r", "exponential", "e")],
            {"sine(a) => cosine(a)"},
        ),
        ([C, op("r", "divide", "x", "c")], [C, op("r", "multiply", "x", "c")],
         {"divide(a, C) => multiply(a, C)"}),
        (
            [op("e", "sine", "z"), op("l", "tanh", "e"), op("r", "add", "l", "y")],
            [op("r", "add", "z", "y")],
            {"tanh(sine(a)) => a"},
        ),
        (
            [op("f", "sine", "x"), op("g", "cosine", "y"), op("r", "add", "f", "g")],
            [op("f", "tanh", "x"), op("g", "sqrt", "y"), op("r", "add", "f", "g")],
            {"sine(a) => tanh(a)", "cosine(a) => sqrt(a)"},
        ),
        (
            [op("f", "divide", "y", "z"), op("r", "divide", "x", "f")],
            [op("f", "multiply", "x", "z"), op("r", "divide", "f", "y")],
            {"divide(a, divide(b, c)) => divide(multiply(a, c), b)"},
        ),
        (
            [op("f", "divide", "x", "y"), op("g", "divide", "x", "z"), op("r", "divide", "f", "g")],
            [op("f", "multiply", "x", "z"), op("g", "multiply", "x", "y"),
             op("r", "divide", "f", "g")],
            {"divide(divide(a, b), divide(a, c)) => divide(multiply(a, c), multiply(a, b))"},
        ),
        (
            [op("f", "sine", "x"), op("r", "reverse", "f, dims = [0]")],
            [op("f", "tanh", "x"), op("r", "reverse", "f, dims = [0]")],
            {"sine(a) => tanh(a)"},
        ),
        (
            [op("f", "sine", "x"), op("g", "reverse", "f, dims = [0]"),
             op("r", "reverse", "g, dims = [0]")],
            [op("r", "tanh", "x")],
            {"sine(a) => tanh(a)"},
        ),
        (
            ["%b = stablehlo.convert %x : (tensor<64xf32>) -> tensor<64xbf16>",
             "%d = stablehlo.convert %b : (tensor<64xbf16>) -> tensor<64xf32>",
             op("r", "multiply", "d", "z")],
            [op("r", "multiply", "x", "z")],
            {"convert<f32>(convert<bf16>(a)) => a"},
        ),
    ],
)  # fmt: skip
def test_change_is_the_smallest_expression_that_differs(
    before: list[str], after: list[str], expected: set[str]
) -> None:
    found = find_changes(program_of(*before), program_of(*after), GIVEN)
    assert {one.text for one in found} == expected


def test_a_change_without_effect_on_the_values_is_left_out() -> None:
    before = program_of(op("f", "add", "x", "y"), op("g", "sine", "z"), op("r", "add", "f", "g"))
    after = program_of(op("f", "add", "y", "x"), op("g", "tanh", "z"), op("r", "add", "f", "g"))
    assert [one.text for one in find_changes(before, after, GIVEN)] == ["sine(a) => tanh(a)"]


def test_other_attributes_are_named() -> None:
    def compared(direction: str) -> Program:
        given = "(tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>"
        line = f"%r = stablehlo.compare {direction}, %x, %y : {given}"
        return program_of(line, result="tensor<64xi1>")

    (found,) = find_changes(compared("LT"), compared("GT"), GIVEN)
    assert found.text == "compare(a, b) with other comparison_direction"
    assert found.operation.name == "compare"


def test_values_are_compared_in_all_processes() -> None:
    def gathered(groups: str, factor: str) -> Program:
        return parse_module(f"""
        module attributes {{mhlo.num_replicas = 2 : i32}} {{
          func.func @main(%x: tensor<1xf32>) -> (tensor<2xf32>, tensor<1xf32>) {{
            %0 = "stablehlo.all_gather"(%x) {{
              all_gather_dim = 0 : i64, replica_groups = dense<{groups}> : tensor<1x2xi64>
            }} : (tensor<1xf32>) -> tensor<2xf32>
            %1 = stablehlo.{factor} %x, %x : tensor<1xf32>
            return %0, %1 : tensor<2xf32>, tensor<1xf32>
          }}
        }}""")

    given = np.array([2], np.float32), np.array([2], np.float32)
    before, after = gathered("[[0, 1]]", "add"), gathered("[[1, 0]]", "multiply")
    assert find_changes(before, after, given) == ()
    given = np.array([2], np.float32), np.array([3], np.float32)
    assert [one.text for one in find_changes(before, after, given)] == [
        "all_gather(a) with other replica_groups", "add(a, a) => multiply(a, a)",
    ]  # fmt: skip


def test_an_operation_in_a_wider_type_is_no_change_if_its_result_is_rounded() -> None:
    """Only what feeds it is computed otherwise: a sum that is not rounded."""

    def text(*lines: str) -> Program:
        body = "\n".join(lines)
        return parse_module(
            "func.func @main(%x: tensor<9xbf16>, %y: tensor<9xbf16>) -> tensor<9xbf16> {\n"
            f"{body}\nreturn %r : tensor<9xbf16>\n}}"
        )

    to = "(tensor<9xbf16>) -> tensor<9xf32>"
    back = "(tensor<9xf32>) -> tensor<9xbf16>"
    wide = "tensor<9xf32>"
    sine = (f"%e = stablehlo.sine %c : {wide}", f"%n = stablehlo.convert %e : {back}")
    before = text(
        "%s = stablehlo.add %x, %y : tensor<9xbf16>", f"%c = stablehlo.convert %s : {to}", *sine,
        "%r = stablehlo.multiply %n, %y : tensor<9xbf16>",
    )  # fmt: skip
    after = text(
        f"%a = stablehlo.convert %x : {to}", f"%b = stablehlo.convert %y : {to}",
        f"%c = stablehlo.add %a, %b : {wide}", *sine,
        f"%m = stablehlo.convert %n : {to}", f"%p = stablehlo.multiply %m, %b : {wide}",
        f"%r = stablehlo.convert %p : {back}",
    )  # fmt: skip
    inputs = np.random.default_rng(0).uniform(1, 9, (2, 9)).astype(ml_dtypes.bfloat16)
    (found,) = find_changes(before, after, tuple(inputs))
    assert found.text == "convert<f32>(add(a, b)) => add(convert<f32>(a), convert<f32>(b))"
