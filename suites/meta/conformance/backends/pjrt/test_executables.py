"""Arguments reach XLA, and results come back, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.base import Failed, Unsupported
from conformance.backends.pjrt.backend import PjrtBackend
from conformance.backends.pjrt.executables import (
    PjrtExecutable,
    SharedExecutable,
    require_static_tensor_type,
    require_tensor_type,
)
from conformance.backends.session import open_session
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from reference.ir.program import (
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    TokenType,
    Value,
)
from reference.ir.types import ALL, bits_dtype, element_type
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


def test_only_tensors_of_static_shape_are_arguments() -> None:
    plain, dynamic = tensor_of(2), TensorType((None,), element_type("f32"))
    assert require_static_tensor_type(plain) is require_tensor_type(plain) is plain
    assert require_tensor_type(dynamic) is dynamic
    with pytest.raises(Unsupported, match=r"static shape, not tensor<\?xf32>"):
        require_static_tensor_type(dynamic)
    for take in (require_tensor_type, require_static_tensor_type):
        with pytest.raises(Unsupported, match="must be tensors, not"):
            take(TokenType())


def test_arguments_of_an_executable_are_those_of_each_process() -> None:
    program = op_program("negate", [tensor_of(2)], tensor_of(2))
    made = PjrtBackend("cpu", "cpu").compile(emit(program), program)
    assert isinstance(made, PjrtExecutable)
    ((result,),) = made.execute([[array([1.0, 2.0])]])
    assert result.tolist() == [-1, -2]
    with pytest.raises(ValueError, match="1 processes, arguments for 2"):
        made.execute([[array([1.0, 2.0])]] * 2)
    with pytest.raises(
        ValueError, match=r"argument 0 of main is .*, given float64 of shape \(2,\)"
    ):
        made.execute([[array([1.0, 2.0], "f64")]])


REPLICAS = """
module attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1]]>
      : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    %z = stablehlo.negate %y : tensor<2xf32>
    return %z : tensor<2xf32>
  }
}"""


def test_each_process_has_its_own_arguments() -> None:
    program = parse_module(REPLICAS)
    made = PjrtBackend("cpu", "cpu").compile(emit(program), program)
    results = made.execute([[array([1.0, 2.0])], [array([3.0, 4.0])]])
    assert [[one.tolist() for one in process] for process in results] == [[[0, 0]], [[-1, -2]]]


SHARED = """
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<4xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<4xf32> {
    %y = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}"""


def test_a_shared_program_takes_and_returns_whole_arrays() -> None:
    program = parse_module(SHARED)
    made = PjrtBackend("cpu", "cpu").compile(SHARED, program)
    assert isinstance(made, SharedExecutable)
    assert made.execute([[array([1, 2, 3, 4])]])[0][0].tolist() == [4, 3, 2, 1]
