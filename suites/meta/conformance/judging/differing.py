"""Differing elements of one operation's result, built without a judge."""

from __future__ import annotations

import numpy as np

from conformance.catalog import CATALOG
from conformance.judging.differences import DifferingElements
from conformance.judging.joint_results import RuleAnswers
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import apply
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import different_bits
from suites.meta.support.small_programs import array, op_program, tensor_of


def differing_elements(
    op: str, operands: list, got: list, of: str = "f32", platform: str = Hardware.CPU, **given
) -> DifferingElements:
    """Return the elements in which the given results differ from the reference's."""
    arrays = tuple(array(one, of) for one in operands)
    types = [tensor_of(*one.shape, of=of) for one in arrays]
    actual = array(got, of)
    operation = op_program(op, types, tensor_of(*actual.shape, of=of), **given).subject
    expected = apply(operation, arrays)[0]
    return differing_from(expected, actual, operation, arrays, platform)


def differing_from(
    expected: Array, actual: Array, operation, operands: tuple[Array, ...], platform: str
) -> DifferingElements:
    rule = CATALOG[operation.name].tolerance.hardware_rule(Hardware(platform))
    where = np.flatnonzero(different_bits(expected, actual))
    budget = rule.budget(element_type_of(expected), platform)
    return DifferingElements(
        operation, operands, expected, actual, where, rule, budget, platform, 0, RuleAnswers(),
        (actual,), (), lambda measure: measure(operation, operands, (expected,), (actual,))[0],
    )  # fmt: skip
