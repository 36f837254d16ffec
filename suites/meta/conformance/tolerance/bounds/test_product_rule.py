"""The rule of sums of products, and the rules of hardware that rounds operands first."""

from __future__ import annotations

import numpy as np

from conformance.catalog import CATALOG
from conformance.tolerance.bounds.product_rule import sum_of_products_rule
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from suites.meta.support.small_programs import array, op_program, tensor_of


def made_rule():
    return sum_of_products_rule("sums", lambda *_: np.zeros(1), lambda *_: 1)


def test_hardware_with_coarser_operands_has_a_rule_of_its_own() -> None:
    rule = made_rule()
    assert rule.name == "sums"
    assert rule.rounds_operands
    assert [hardware for hardware, _ in rule.by_hardware] == [Hardware.GPU, Hardware.TPU]
    on_gpu, on_tpu = (rule.hardware_rule(one) for one in (Hardware.GPU, Hardware.TPU))
    assert (on_gpu.name, on_tpu.name) == ("sums on a GPU", "sums on a TPU")
    assert "TF32" in on_gpu.text
    assert "bf16" in on_tpu.text
    assert rule.hardware_rule(Hardware.CPU) is rule


def test_bounds_grow_with_the_rounding_of_operands() -> None:
    """TF32 has 11 digits, bf16 8, f32 24."""
    rule, of = CATALOG["dot"].tolerance, tensor_of(4)
    operation = op_program("dot", [of, of], tensor_of()).subject
    x = array([1.1, 1.2, 1.3, 1.4])
    program = op_program("dot", [of, of], tensor_of())
    expected = tuple(evaluate(program, (x, x)))
    bounds = []
    for hardware in (Hardware.CPU, Hardware.GPU, Hardware.TPU):
        bound = rule.hardware_rule(hardware).bound
        assert bound is not None
        (found,) = bound(operation, (x, x), expected)
        assert found is not None
        bounds.append(float(found))
    assert bounds[0] < bounds[1] / 100 < bounds[1] < bounds[2]
