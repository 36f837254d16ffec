"""Arguments reach XLA, and results come back, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.base import Failed
from conformance.backends.session import open_session
from reference.ir.program import (
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
)
from reference.ir.types import ALL, bits_dtype
from suites.meta.support.small_programs import are_same, array, execute, op_program, tensor_of


@pytest.mark.parametrize("of", [of for of in ALL if not of.name.startswith("f6")], ids=str)
def test_arguments_and_results_keep_every_bit(of):
    part = of.part.bits
    bits = np.arange(1 << min(part, 12), dtype=bits_dtype(of))
    if part >= 16:
        bits = np.random.default_rng(3).integers(0, 1 << (part - 1), 4096, dtype=bits_dtype(of)) * 2
        bits += np.arange(4096, dtype=bits_dtype(of)) % 2
    if of.is_complex:
        bits = np.stack([bits, bits[::-1]], axis=-1)
    bits = bits.astype(bits_dtype(of).newbyteorder("<"))
    flat = TensorType((len(bits),), of)
    full = Dense(flat, bits.tobytes()).array
    scalar, empty = full[1:2].reshape(()), full[:0].reshape(0, 3)
    given = [full, scalar, empty]
    values = tuple(Value(f"a{i}", TensorType(a.shape, of)) for i, a in enumerate(given))
    body = Region(values, (Operation("return", values),))
    program = Program((Function("main", body, tuple(value.type for value in values)),))
    results = execute("cpu", program, *given)
    assert are_same(results, given)
    assert all(isinstance(result, np.ndarray) for result in results)


def test_an_executable_runs_on_many_inputs_and_spoils_none():
    program = op_program("add", [tensor_of(3), tensor_of(3)], tensor_of(3))
    compiled = open_session("cpu").compile(program)
    kept = []
    for number in range(5):
        lhs, rhs = array([number, 1, 2]), array([1, 1, 1])
        kept.append(compiled.run([lhs, rhs])[0])
        assert (lhs.tolist(), rhs.tolist()) == ([number, 1, 2], [1, 1, 1])
    assert [result.tolist() for result in kept] == [[n + 1, 2, 3] for n in range(5)]


def test_strided_and_read_only_arguments_are_taken():
    program = op_program("negate", [tensor_of(2, 3)], tensor_of(2, 3))
    given = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    given.setflags(write=False)
    assert execute("cpu", program, given)[0].tolist() == (-given).tolist()


@pytest.mark.parametrize("given", [[], [array([1.0])], [array([1.0, 2.0], "f64")]], ids=str)
def test_arguments_that_main_does_not_take_are_refused(given):
    program = op_program("negate", [tensor_of(2)], tensor_of(2))
    with pytest.raises(Failed, match=r"of main|main takes 1 arguments"):
        execute("cpu", program, *given)
