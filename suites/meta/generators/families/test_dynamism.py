"""Sizes below a bound: cases see the remaining elements, and not those that were cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from generators.cells import plan
from generators.families.dynamism import ALL, PART, bounded_type, bounds_of, observations_of
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program, TensorType
from reference.ir.types import element_type
from reference.ops.xla.lowering import lower_program

F32 = element_type("f32")


def set_sizes_to_bounds(program: Program) -> Program:
    """Return the program for a backend that ignores sizes: they are set to the bound."""

    def whole(one: Operation) -> Operation:
        return replace(one, name="optimization_barrier", operands=one.operands[:1], attributes=())

    main = program.main
    operations = tuple(
        whole(one) if one.name == "set_dimension_size" else one for one in main.body.operations
    )
    body = replace(main.body, operations=operations)
    return replace(program, functions=(replace(main, body=body),))


@pytest.mark.parametrize("op", ["SetDimensionSize", "DynamicReshape"])
def test_ignored_dynamic_size_is_detected(op: str) -> None:
    seen = cut = 0
    for made in plan.cases(op, F32, 0, 16):
        program = lower_program(made.program)
        if not any(one.name == "set_dimension_size" for one in program.walk()):
            continue
        cut += 1
        inputs = materialise(program, made.inputs[0])
        expected = evaluate(program, inputs)
        try:
            wrong = evaluate(set_sizes_to_bounds(program), inputs)
        except EvaluationError:
            seen += 1
            continue
        seen += any(not np.array_equal(a, b) for a, b in zip(expected, wrong, strict=True))
    assert cut >= 3
    assert seen >= 2


def test_a_type_of_bounded_sizes_has_its_bounds() -> None:
    of = bounded_type((4, 3), (True, False), F32)
    assert (of.shape, of.bounds, bounds_of(of)) == ((None, 3), (4, None), (4, 3))
    assert bounds_of(TensorType((2, 5), F32)) == (2, 5)


def test_bits_are_added_up_where_there_are_integers_of_as_many() -> None:
    assert ALL in observations_of(F32)
    assert ALL not in observations_of(element_type("f6E2M3FN"))
    assert PART in observations_of(element_type("complex<f32>"))
