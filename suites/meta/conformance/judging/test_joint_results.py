"""All results of a program, and the answers of its rule about them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.judging.joint_results import JointResults, RuleAnswers, operand_tracer
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.rule import Rule
from suites.meta.support.small_programs import array, op_program, tensor_of

RULE = Rule("none", "", "")
ONE, TWO = array([1.0, 2.0]), array([5.0])


def results_of(rule: Rule) -> JointResults:
    operation = op_program("add", [tensor_of(2), tensor_of(2)], tensor_of(2)).subject
    return JointResults(rule, lambda: (operation, (ONE, ONE)), (ONE, TWO), (ONE, TWO))


def test_rule_without_functions_has_no_answers() -> None:
    assert results_of(RULE).rule_answers(0) == RuleAnswers(excluded=())


def test_each_function_is_asked_once_for_all_results() -> None:
    calls: list[int] = []

    def bound(*given):
        expected = given[-1]
        calls.append(len(expected))
        return tuple(np.full(one.shape, 0.5) for one in expected)

    found = results_of(replace(RULE, bound=bound))
    assert found.rule_answers(0).bound.tolist() == [0.5, 0.5]
    assert found.rule_answers(1).bound.tolist() == [0.5]
    assert calls == [2]


def test_measure_sees_expected_and_actual_results() -> None:
    def measure(*given):
        expected, actual = given[-2:]
        return tuple(got - want for want, got in zip(expected, actual, strict=True))

    found = replace(results_of(RULE), actual=(ONE + 1, TWO + 3))
    assert found.measured_errors(measure, 1).tolist() == [3.0]
    assert found.measured_errors(measure, 0).tolist() == [1.0, 1.0]


def test_operands_of_the_last_operation_are_traced() -> None:
    program = parse_module("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<2xf32>
  %0 = stablehlo.add %x, %c : tensor<2xf32>
  %1 = stablehlo.multiply %0, %c : tensor<2xf32>
  return %1 : tensor<2xf32>
}""")
    trace = operand_tracer(program, (ONE,))
    operation, (left, right) = trace()
    assert operation.name == "multiply"
    assert (left.tolist(), right.tolist()) == ([4.0, 5.0], [3.0, 3.0])
    assert trace() is trace()
