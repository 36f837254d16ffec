"""The step of a compiler that goes wrong, and changes between two programs."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from conformance.backends.compiled.stages import Stage
from conformance.backends.session import open_session
from conformance.localize import culprit as stages
from conformance.localize.change import find_changes
from conformance.localize.culprit import Culprit, Step, culprit_among, find_culprit
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Program
from suites.meta.support.small_programs import array, op_program, tensor_of

NAMES = ["", "a", "b", "c", "d", "e", "f", ""]
STAGES = [Stage(name, "pipeline", Path(str(n))) for n, name in enumerate(NAMES)]


def culprit(answers: str) -> tuple[Culprit | None, int]:
    """Return the culprit among stages that are right (r), wrong (w) or not evaluated (?)."""
    asked: list[Stage] = []

    def is_right(stage: Stage) -> bool | None:
        asked.append(stage)
        return {"r": True, "w": False, "?": None}[answers[STAGES.index(stage)]]

    return culprit_among(STAGES[: len(answers)], is_right), len(asked)


@pytest.mark.parametrize(
    ("answers", "name", "others"),
    [
        ("rwwwwwww", "a", ()),
        ("rrrrwwww", "d", ()),
        ("rrrrrrwr"[:7], "f", ()),
        ("rr??wwww", "d", ("b", "c")),
        ("?r?w?www", "c", ("b",)),
    ],
)
def test_the_pass_before_the_first_wrong_stage(
    answers: str, name: str, others: tuple[str, ...]
) -> None:
    found, _ = culprit(answers)
    assert found == Culprit(Step.PASS, name, "pipeline", others)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("rrrrrrrr", Culprit(Step.CODE_GENERATION)),
        ("rwwwwwwr", Culprit(Step.CODE_GENERATION)),
        ("wwwwwwww", Culprit(Step.TRANSLATION)),
        ("?wwwwwww", None),
        ("rrrrwww?", None),
        ("", None),
    ],
)
def test_step_without_pass_is_named(answers: str, expected: Culprit | None) -> None:
    assert culprit(answers)[0] == expected


def test_results_that_no_pass_explains_are_of_code_generation() -> None:
    program = op_program("negate", [tensor_of(2)], tensor_of(2))
    inputs = (array([1.0, 2.0]),)
    session = open_session("cpu")
    wrong, right = [array([1.0, 2.0])], [array([-1.0, -2.0])]
    assert find_culprit(session, program, inputs, wrong, 5.0) == Culprit(Step.CODE_GENERATION)
    assert find_culprit(session, program, inputs, right, 5.0) is None


NEGATION = op_program("negate", [tensor_of(2)], tensor_of(2))
NUMBERS = (array([1.0, 2.0]),)
WRONG = [array([1.0, 2.0])]


def test_right_optimised_module_needs_no_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session("cpu")
    assert next(session.run(NEGATION, [NUMBERS]))
    module = session.optimised_module(NEGATION)
    monkeypatch.setattr(stages, "dumped_stages", lambda *_: pytest.fail("compiled again"))
    by_code = Culprit(Step.CODE_GENERATION)
    assert find_culprit(session, NEGATION, NUMBERS, WRONG, 5.0) == by_code
    other = open_session("cpu")
    assert find_culprit(other, NEGATION, NUMBERS, WRONG, 5.0, optimised=module) == by_code


def test_stages_are_evaluated_if_the_optimised_module_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, copy = open_session("cpu"), op_program("abs", [tensor_of(2)], tensor_of(2))
    assert next(session.run(copy, [NUMBERS]))
    module = session.optimised_module(copy)
    asked: list[object] = []
    monkeypatch.setattr(stages, "dumped_stages", lambda *given: asked.append(given) or [])
    assert find_culprit(session, NEGATION, NUMBERS, WRONG, 5.0, optimised=module) is None
    assert len(asked) == 1


GIVEN_BY_NAME = dict(
    zip("xyz", np.random.default_rng(0).uniform(1, 9, (3, 64)).astype("f"), strict=True)
)

GIVEN = tuple(GIVEN_BY_NAME.values())
C = "%c = stablehlo.constant dense<0.1> : tensor<64xf32>"


def program_of(*lines: str, result: str = "tensor<64xf32>") -> Program:
    arguments = ", ".join(f"%{name}: tensor<64xf32>" for name in GIVEN_BY_NAME)
    body = "\n".join(lines)
    return parse_module(
        f"func.func @main({arguments}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"
    )


def op(result: str, name: str, *operands: str, of: str = "tensor<64xf32>") -> str:
    return f"%{result} = stablehlo.{name} {', '.join(f'%{operand}' for operand in operands)} : {of}"


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
    assert [change.text for change in find_changes(before, after, GIVEN)] == ["sine(a) => tanh(a)"]


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
    assert [change.text for change in find_changes(before, after, given)] == [
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


def test_a_failure_of_one_operation_is_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "judge_operation", lambda *_: pytest.fail("judged again"))
    session = open_session("cpu")
    found = find_culprit(session, NEGATION, NUMBERS, WRONG, 5.0, is_failure=True)
    assert found == Culprit(Step.CODE_GENERATION)
    right = [array([-1.0, -2.0])]
    assert find_culprit(session, NEGATION, NUMBERS, right, 5.0, is_failure=True) is None
