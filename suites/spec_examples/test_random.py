"""The specification's examples of rng and rng_bit_generator."""

import numpy as np

from conformance.judging.compare import judge
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import Dense, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES


def test_rng() -> None:
    """The numbers that the text prints are as good as any others in range."""
    element_type, sizes = ELEMENT_TYPES["si32"], TensorType((2,), ELEMENT_TYPES["si64"])
    result = TensorType((3, 3), element_type)
    scalar = TensorType((), element_type)
    shape = Dense.of(np.array([3, 3], np.int64), sizes)
    operands = (Value("a", scalar), Value("b", scalar), shape)
    program = single_op("rng", operands, (result,), {"rng_distribution": "UNIFORM"})
    assert not check(program)
    inputs = (np.array(0, np.int32), np.array(2, np.int32))
    expected = evaluate(program, inputs)
    printed = (np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0]], np.int32),)
    rule = RULES["distribution"]
    assert judge(program, inputs, expected, printed, rule).verdict is Verdict.PASS
    outside = (np.full((3, 3), 2, np.int32),)
    assert judge(program, inputs, expected, outside, rule).verdict is Verdict.DIVERGENT


def test_rng_bit_generator() -> None:
    state = TensorType((2,), ELEMENT_TYPES["ui64"])
    output = TensorType((2, 2), ELEMENT_TYPES["ui64"])
    program = single_op(
        "rng_bit_generator", (Value("initial_state", state),), (state, output),
        {"rng_algorithm": "THREE_FRY"},
    )  # fmt: skip
    assert not check(program)
    after, numbers = evaluate(program, (np.array([1, 2], np.uint64),))
    assert after.tolist() == [1, 6]
    assert numbers.tolist() == [
        [9236835810183407956, 16087790271692313299],
        [18212823393184779219, 2658481902456610144],
    ]
