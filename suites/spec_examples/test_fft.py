"""The specification's example of fft."""

import numpy as np

from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES


def test_fft() -> None:
    of = TensorType((4,), ELEMENT_TYPES["complex<f32>"])
    given = {"fft_type": "FFT", "fft_length": (4,)}
    program = single_op("fft", (Value("operand", of),), (of,), given)
    assert not check(program)
    result = evaluate(program, (np.array([1, 0, 0, 0], np.complex64),))[0]
    np.testing.assert_array_equal(result, np.ones(4, np.complex64))
