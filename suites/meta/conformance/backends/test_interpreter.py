"""StableHLO's interpreter as a backend: it takes every element type, and no program crashes it."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.base import Rejected, Unsupported
from conformance.backends.interpreter.backend import InterpreterBackend
from conformance.backends.interpreter.limits import refusal_of
from conformance.backends.session import Session
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from generators.cells import plan
from generators.invalid.table import near_misses
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES, Array, bits_dtype, from_bits, to_bits
from reference.ops.xla.lowering import lower_program


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(InterpreterBackend())


def run(session: Session, text: str, *inputs: Array) -> list[Array]:
    program = parse_module(text)
    return session.compile(program, emit(program)).run(inputs)


def any_bits(name: str, shape: tuple[int, ...]) -> Array:
    element_type = ELEMENT_TYPES[name]
    parts = (*shape, 2) if element_type.is_complex else shape
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << element_type.part.bits, parts, dtype=np.uint64)
    return from_bits(bits.astype(bits_dtype(element_type)), element_type)


# Values in and out


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (200,)])
@pytest.mark.parametrize("name", list(ELEMENT_TYPES))
def test_every_element_goes_in_and_out(session: Session, name: str, shape: tuple[int, ...]) -> None:
    array = any_bits(name, shape)
    sizes = "".join(f"{size}x" for size in shape)
    spelled = f"tensor<{sizes}{ELEMENT_TYPES[name].mlir}>"
    dimensions = ", ".join(map(str, range(len(shape))))
    (result,) = run(
        session,
        f"""func.func @main(%x: {spelled}) -> {spelled} {{
          %0 = stablehlo.transpose %x, dims = [{dimensions}] : ({spelled}) -> {spelled}
          return %0 : {spelled}
        }}""",
        array,
    )
    assert result.dtype == array.dtype
    assert result.shape == array.shape
    assert to_bits(result).tobytes() == to_bits(array).tobytes()


# What would end the process


@pytest.mark.parametrize("op", ["divide", "remainder"])
@pytest.mark.parametrize("name", ["si32", "ui8", "si4"])
def test_integers_are_divided_by_zero(session: Session, op: str, name: str) -> None:
    element_type = ELEMENT_TYPES[name]
    x, y = (np.array(numbers).astype(element_type.storage) for numbers in ([7, 5, 3], [2, 0, 3]))
    text = f"""func.func @main(%x: tensor<3x{element_type.mlir}>, %y: tensor<3x{element_type.mlir}>)
        -> tensor<3x{element_type.mlir}> {{
      %0 = stablehlo.{op} %x, %y : tensor<3x{element_type.mlir}>
      return %0 : tensor<3x{element_type.mlir}>
    }}"""
    (result,) = run(session, text, x, y)
    (want,) = evaluate(parse_module(text), [x, y])
    np.testing.assert_array_equal(result[[0, 2]], want[[0, 2]])


def test_a_division_in_a_body_is_guarded_too(session: Session) -> None:
    (result,) = run(
        session,
        """func.func @main(%x: tensor<3xi32>, %i: tensor<i32>) -> tensor<i32> {
          %0 = "stablehlo.reduce"(%x, %i) ({
          ^bb0(%a: tensor<i32>, %b: tensor<i32>):
            %1 = stablehlo.divide %a, %b : tensor<i32>
            stablehlo.return %1 : tensor<i32>
          }) {dimensions = array<i64: 0>} : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
          return %0 : tensor<i32>
        }""",
        np.array([2, 0, 3], np.int32),
        np.array(60, np.int32),
    )
    assert result.shape == ()


CONVOLUTION = """func.func @main(%x: tensor<3x1x1xf32>, %k: tensor<2x1x5xf32>)
    -> tensor<3x0x5xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {pad = [[-1, -1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<3x1x1xf32>, tensor<2x1x5xf32>) -> tensor<3x0x5xf32>
  return %0 : tensor<3x0x5xf32>
}"""
DYNAMIC = """func.func @main(%x: tensor<3x4x1xf32>, %k: tensor<2x1x5xf32>, %p: tensor<1x2xi4>)
    -> tensor<3xNx5xf32> {
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) {batch_group_count = 1 : i64,
    dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>,
    feature_group_count = 1 : i64}
    : (tensor<3x4x1xf32>, tensor<2x1x5xf32>, tensor<1x2xi4>) -> tensor<3xNx5xf32>
  return %0 : tensor<3xNx5xf32>
}"""


def test_padding_may_take_away_more_than_there_is(session: Session) -> None:
    x, k = np.ones((3, 1, 1), np.float32), np.ones((2, 1, 5), np.float32)
    assert run(session, CONVOLUTION, x, k)[0].shape == (3, 0, 5)


@pytest.mark.parametrize(("padding", "windows"), [((-3, -8), 0), ((-1, 2), 4), ((1, -2), 2)])
def test_padding_that_is_an_operand_is_the_same(
    session: Session, padding: tuple[int, int], windows: int
) -> None:
    text = DYNAMIC.replace("N", str(windows))
    rng = np.random.default_rng(0)
    x, k = (rng.integers(-8, 8, shape).astype(np.float32) for shape in ((3, 4, 1), (2, 1, 5)))
    inputs = (x, k, np.array([padding]).astype(ELEMENT_TYPES["si4"].storage))
    (result,), (want,) = run(session, text, *inputs), evaluate(parse_module(text), inputs)
    np.testing.assert_array_equal(result, want)


REFUSED = {
    "stablehlo.rng_bit_generator": """func.func @main(%s: tensor<2xui64>)
        -> (tensor<2xui64>, tensor<4xui32>) {
      %0, %1 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT
        : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
      return %0, %1 : tensor<2xui64>, tensor<4xui32>
    }""",
    "stablehlo.custom_call": """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.custom_call @Sharding(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }""",
    "complex numbers have no order": """func.func @main(%x: tensor<2xcomplex<f32>>)
        -> tensor<2xi1> {
      %0 = stablehlo.compare LT, %x, %x
        : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
      return %0 : tensor<2xi1>
    }""",
    "not implemented for complex numbers": """func.func @main(%x: tensor<2xcomplex<f32>>)
        -> tensor<2xcomplex<f32>> {
      %0 = stablehlo.remainder %x, %x : tensor<2xcomplex<f32>>
      return %0 : tensor<2xcomplex<f32>>
    }""",
    "an f64 zero": """func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
      %0 = stablehlo.fft %x, type = FFT, length = [4]
        : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
      return %0 : tensor<4xcomplex<f32>>
    }""",
    "the adjoint of a real matrix": """func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = "stablehlo.triangular_solve"(%a, %a) {left_side = true, lower = true,
        unit_diagonal = true, transpose_a = #stablehlo<transpose ADJOINT>}
        : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }""",
    "a batch of matrices": """func.func @main(%a: tensor<3x2x2xf32>) -> tensor<3x2x2xf32> {
      %0 = "stablehlo.triangular_solve"(%a, %a) {left_side = true, lower = true,
        unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}
        : (tensor<3x2x2xf32>, tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
      return %0 : tensor<3x2x2xf32>
    }""",
    "another element type": """func.func @main(%x: tensor<3xf16>, %i: tensor<f16>) -> tensor<f32> {
      %0 = "stablehlo.reduce"(%x, %i) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) {dimensions = array<i64: 0>} : (tensor<3xf16>, tensor<f16>) -> tensor<f32>
      return %0 : tensor<f32>
    }""",
    "known only at run time": """func.func @main(%x: tensor<4xf32>, %s: tensor<1xi32>)
        -> tensor<?xf32> {
      %0 = stablehlo.dynamic_reshape %x, %s : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }""",
    "feature dimension before": """func.func @main(%x: tensor<3x4x1xf32>, %k: tensor<2x1x5xf32>)
        -> tensor<5x3x3xf32> {
      %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[f, 0, b],
        window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<3x4x1xf32>, tensor<2x1x5xf32>) -> tensor<5x3x3xf32>
      return %0 : tensor<5x3x3xf32>
    }""",
    "too long": """func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %0 = stablehlo.dot %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      return %0 : tensor<64x64xf32>
    }""",
    "comparisons take": """func.func @main(%x: tensor<4096xi32>) -> tensor<4096xi32> {
      %0 = "stablehlo.sort"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %1 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) {dimension = 0 : i64} : (tensor<4096xi32>) -> tensor<4096xi32>
      return %0 : tensor<4096xi32>
    }""",
    "sums without terms": """func.func @main(%x: tensor<2x0xf32>) -> tensor<2x2xf32> {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1]
        : (tensor<2x0xf32>, tensor<2x0xf32>) -> tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }""",
    "unconverted codes": """func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>)
        -> tensor<3x!quant.uniform<i8:f32, 0.25>> {
      %c = stablehlo.constant() <{value = dense<0> : tensor<i8>}>
        : () -> tensor<!quant.uniform<i8:f32, 0.5>>
      %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2>}> ({
      ^bb0(%a: tensor<!quant.uniform<i8:f32, 0.25>>, %b: tensor<!quant.uniform<i8:f32, 0.25>>):
        %1 = stablehlo.add %a, %b : tensor<!quant.uniform<i8:f32, 0.25>>
        stablehlo.return %1 : tensor<!quant.uniform<i8:f32, 0.25>>
      }) : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<!quant.uniform<i8:f32, 0.5>>)
        -> tensor<3x!quant.uniform<i8:f32, 0.25>>
      return %0 : tensor<3x!quant.uniform<i8:f32, 0.25>>
    }""",
    "quantized bodies that call": """func.func private @body(
        %a: tensor<!quant.uniform<i8:f32, 0.5>>, %b: tensor<!quant.uniform<i8:f32, 0.5>>)
        -> tensor<!quant.uniform<i8:f32, 0.5>> {
      %0 = stablehlo.add %a, %b : tensor<!quant.uniform<i8:f32, 0.5>>
      return %0 : tensor<!quant.uniform<i8:f32, 0.5>>
    }
    func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>)
        -> tensor<3x!quant.uniform<i8:f32, 0.5>> {
      %c = stablehlo.constant() <{value = dense<0> : tensor<i8>}>
        : () -> tensor<!quant.uniform<i8:f32, 0.5>>
      %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2>}> ({
      ^bb0(%a: tensor<!quant.uniform<i8:f32, 0.5>>, %b: tensor<!quant.uniform<i8:f32, 0.5>>):
        %1 = func.call @body(%a, %b)
          : (tensor<!quant.uniform<i8:f32, 0.5>>, tensor<!quant.uniform<i8:f32, 0.5>>)
          -> tensor<!quant.uniform<i8:f32, 0.5>>
        stablehlo.return %1 : tensor<!quant.uniform<i8:f32, 0.5>>
      }) : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<!quant.uniform<i8:f32, 0.5>>)
        -> tensor<3x!quant.uniform<i8:f32, 0.5>>
      return %0 : tensor<3x!quant.uniform<i8:f32, 0.5>>
    }""",
    "an empty slice": """func.func @main(%x: tensor<1xf32>, %i: tensor<1xi32>)
        -> tensor<1xf32> {
      %0 = "stablehlo.gather"(%x, %i) {slice_sizes = array<i64: 0>, dimension_numbers =
        #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0],
        index_vector_dim = 1>} : (tensor<1xf32>, tensor<1xi32>) -> tensor<1xf32>
      return %0 : tensor<1xf32>
    }""",
    "unsigned storage": """func.func @main(%x: tensor<2x!quant.uniform<u8:f32, 0.5:3>>)
        -> tensor<2x!quant.uniform<u8:f32, 0.5:3>> {
      %0 = stablehlo.negate %x : tensor<2x!quant.uniform<u8:f32, 0.5:3>>
      return %0 : tensor<2x!quant.uniform<u8:f32, 0.5:3>>
    }""",
}


@pytest.mark.parametrize("said", list(REFUSED))
def test_crashing_program_is_refused_before_it_runs(session: Session, said: str) -> None:
    program = parse_module(REFUSED[said])
    reason = refusal_of(program)
    assert reason is not None
    assert said.removeprefix("stablehlo.") in reason
    assert "\n" not in reason
    with pytest.raises(Unsupported):
        session.compile(program, emit(program))


def test_a_composite_is_limited_by_its_decomposition() -> None:
    (drawn,) = plan.cases("RngBernoulli", ELEMENT_TYPES["ui32"], 0, 1)
    assert refusal_of(drawn.program) == "rng: the interpreter does not generate random numbers"
    made = [case.program for case in plan.cases("ScaledDot", ELEMENT_TYPES["bf16"], 0, 60)]
    reasons = {refusal_of(program) for program in made}
    assert None in reasons
    assert "dot_general: sums without terms crash the process" in reasons


def test_results_that_only_xlas_page_defines_are_unsupported() -> None:
    """Check a convolution whose result has another element type than its operands, which C27
    forbids.
    """
    made = [case.program for case in plan.cases("Conv", ELEMENT_TYPES["bf16"], 0, 6)]
    wider = [p for p in made if p.subject.attribute("preferred_element_type")]
    assert wider
    reasons = {refusal_of(lower_program(program)) for program in wider}
    assert reasons == {"convolution: StableHLO does not define what XlaBuilder permits here (C27)"}


def test_a_reduction_without_inputs_does_not_reach_the_verifier(session: Session) -> None:
    (program,) = (p for id_, p in near_misses("reduce") if id_ == "C3" and not p.subject.operands)
    with pytest.raises(Unsupported, match="reduction without inputs"):
        session.compile(program)


def test_program_refused_by_verifier_is_rejected(session: Session) -> None:
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {
      %0 = stablehlo.reverse %x, dims = [0] : tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    program = parse_module(text.replace("-> tensor<3xf32>", "-> tensor<2xf32>"))
    with pytest.raises(Rejected):
        session.compile(program, text)


def test_a_scatter_does_not_change_its_input(session: Session) -> None:
    x, at, update = (np.array(one, np.int32) for one in ([3, 4], [1], [9]))
    text = """
    func.func @main(%x: tensor<2xi32>, %at: tensor<1xi32>, %u: tensor<1xi32>)
        -> (tensor<2xi32>, tensor<2xi32>) {
      %0 = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        stablehlo.return %b : tensor<i32>
      }) : (tensor<2xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %1 = stablehlo.negate %x : tensor<2xi32>
      return %0, %1 : tensor<2xi32>, tensor<2xi32>
    }"""
    scattered, negated = run(session, text, x, at, update)
    assert scattered.tolist() == [3, 9]
    assert negated.tolist() == [-3, -4]
