"""The specification's examples of cholesky and triangular_solve."""

import numpy as np

from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES

LOWER = np.array([[1, 0, 0], [2, 4, 0], [3, 5, 6]], np.float32)
TYPE = TensorType((3, 3), ELEMENT_TYPES["f32"])


def test_cholesky() -> None:
    """The text states an f64 result of an f32 operand, which breaks its own C1; f32 is meant."""
    a = np.array([[1, 2, 3], [2, 20, 26], [3, 26, 70]], np.float32)
    program = single_op("cholesky", (Value("a", TYPE),), (TYPE,), {"lower": True})
    assert not check(program)
    np.testing.assert_array_equal(evaluate(program, (a,))[0], LOWER)
    stated = TensorType((3, 3), ELEMENT_TYPES["f64"])
    printed = single_op("cholesky", (Value("a", TYPE),), (stated,), {"lower": True})
    assert [ids for _, ids in check(printed)] == [("C1",)]


def test_triangular_solve() -> None:
    program = single_op(
        "triangular_solve", (Value("a", TYPE), Value("b", TYPE)), (TYPE,),
        {
            "left_side": True, "lower": True, "unit_diagonal": False,
            "transpose_a": "NO_TRANSPOSE",
        },
    )  # fmt: skip
    assert not check(program)
    np.testing.assert_array_equal(
        evaluate(program, (LOWER, 2 * LOWER))[0], 2 * np.eye(3, dtype=np.float32)
    )
