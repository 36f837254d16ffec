"""Composites and custom calls: results, names and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from conformance.backends.fake.reference import ReferenceBackend
from conformance.backends.session import Session
from conformance.judging.compare import judge
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.table import DATA
from conformance.verdict import Verdict
from generators.families.control_flow import IDENTITIES
from reference.custom_calls.targets import BUILT_IN
from reference.interpreter.evaluate import EvaluationError, check, evaluate, violations
from reference.ir.program import (
    Program,
)
from reference.unspecified.table import unspecified_elements
from suites.meta.support.ops.control_flow import run, si32

ONES = np.ones(3, np.float32)


# --- Composites ----------------------------------------------------------------------------------

COMPOSITE = """
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %r:2 = stablehlo.composite "my.twice" %x {
    decomposition = @twice, version = 2 : i32,
    composite_attributes = {axis = 3 : i64, exact = true, mode = "near"}
  } : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %r#0, %r#1 : tensor<3xf32>, tensor<3xf32>
}
func.func private @twice(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %y = stablehlo.composite "my.negate" %x {decomposition = @negated}
    : (tensor<3xf32>) -> tensor<3xf32>
  %z = stablehlo.add %x, %x : tensor<3xf32>
  return %y, %z : tensor<3xf32>, tensor<3xf32>
}
func.func private @negated(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.negate %x : tensor<3xf32>
  return %y : tensor<3xf32>
}"""


def test_a_composite_is_its_decomposition() -> None:
    program = parse_module(COMPOSITE)
    assert check(program) == []
    assert program.main.body.operations[0].attribute("composite_attributes") == (
        ("axis", 3), ("exact", True), ("mode", "near"),
    )  # fmt: skip
    assert parse_module(emit(program)) == program
    assert run(COMPOSITE, ONES) == [[-1, -1, -1], [2, 2, 2]]
    ran = Session(ReferenceBackend()).compile(program).run([ONES])
    assert [result.tolist() for result in ran] == [[-1, -1, -1], [2, 2, 2]]


def test_names_in_decomposition_are_not_confused_with_main() -> None:
    """Names in a decomposition may also be names in main: the judge must not confuse them."""
    program = parse_module(COMPOSITE)
    expected = evaluate(program, [ONES])
    judged = judge(program, [ONES], expected, [expected[0], expected[1] + 1], DATA)
    assert judged.verdict is Verdict.DIVERGENT
    assert "expected 2.0, got 3.0" in judged.message
    assert judge(program, [ONES], expected, list(expected), DATA).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("changed", "message", "ids"),
    [
        (("@negated}", "@negative}"), r"no function is called negative.*composite", ("C2",)),
        (("@negated}", "@twice}"), "twice calls itself", ("C4",)),
    ],
)
def test_composites_of_no_function_or_of_themselves(
    changed: tuple[str, str], message: str, ids: tuple[str, ...]
) -> None:
    program = parse_module(COMPOSITE)
    attributes = {changed[0].strip("@}"): changed[1].strip("@}")}
    functions = [
        replace(
            f,
            body=replace(
                f.body,
                operations=tuple(
                    replace(
                        o,
                        attributes=tuple(
                            (n, attributes.get(str(v), v)) for n, v in o.attributes
                        ),
                    )
                    for o in f.body.operations
                ),
            ),
        )
        for f in program.functions
    ]  # fmt: skip
    broken = Program(tuple(functions))
    assert [found for _, found in check(broken)] == [ids]
    with pytest.raises(EvaluationError, match=message):
        evaluate(broken, [ONES])


def test_constraints_on_a_decomposition_need_the_program() -> None:
    program = parse_module(COMPOSITE)
    operation = replace(program.main.body.operations[0], results=())
    assert violations(operation) == ()
    assert violations(operation, program) == ("C4",)


# --- Custom calls --------------------------------------------------------------------------------


def custom(target: str, result: str = "tensor<3xf32>") -> str:
    return f"""func.func @main(%x: tensor<3xf32>) -> {result} {{
      %y = stablehlo.custom_call @{target}(%x) : (tensor<3xf32>) -> {result}
      return %y : {result}
    }}"""


@pytest.mark.parametrize("target", IDENTITIES)
def test_targets_that_change_no_value(target: str) -> None:
    assert target in BUILT_IN
    assert run(custom(target), ONES) == [[1, 1, 1]]
    doubled = {target: lambda x: x * np.float32(2)}
    assert run(custom(target), ONES, custom_calls=doubled) == [[2, 2, 2]]
    with pytest.raises(EvaluationError, match="shape"):
        run(custom(target, "tensor<6xf32>"), ONES)


ASSERTION = """func.func @main(%x: tensor<i32>, %y: tensor<i32>) -> tensor<i32> {
  %c = stablehlo.compare EQ, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%c, %x, %y) {
    api_version = 2 : i32, error_message = "{0} is not {1}", has_side_effect = true
  } : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
  return %x : tensor<i32>
}"""


def test_assertions_of_shapes() -> None:
    assert run(ASSERTION, si32(4), si32(4)) == [4]
    with pytest.raises(EvaluationError, match=r"^4 is not 5 \(custom_call\)$"):
        run(ASSERTION, si32(4), si32(5))
    assert check(parse_module(ASSERTION)) == []


def test_result_of_custom_call_is_implementation_defined() -> None:
    operation = parse_module(custom("Sharding")).main.body.operations[0]
    ((label, mask),) = unspecified_elements(operation, [ONES], ONES)
    assert "implementation" in label
    assert mask.all()


def test_sharding_is_ignored_on_one_process() -> None:
    text = """sdy.mesh @mesh = <["x"=1]>
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = sdy.sharding_constraint %x <@mesh, [{"x"}]> : tensor<3xf32>
      %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}]>]
          out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%y: tensor<3xf32>) {
        %2 = stablehlo.add %y, %y : tensor<3xf32>
        sdy.return %2 : tensor<3xf32>
      } : (tensor<3xf32>) -> tensor<3xf32>
      return %1 : tensor<3xf32>
    }"""
    assert run(text, ONES) == [[2, 2, 2]]
