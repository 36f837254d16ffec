"""Emission and parsing: MLIR reads every written program bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.backends.session import open_session
from conformance.stablehlo.emit import EmitError, emit
from conformance.stablehlo.literals import unpack_booleans
from conformance.stablehlo.parse import ParseError, parse_module
from conformance.transforms.merge import merge
from generators.cells.plan import cases
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import (
    Dense,
    Function,
    Operation,
    Program,
    QuantizedType,
    Region,
    TensorType,
    TokenType,
    TupleType,
    Value,
    attributes,
    single_op,
)
from reference.ir.types import ALL, ELEMENT_TYPES, bits_dtype, to_bits
from reference.ops.table import OPS
from reference.ops.xla.lowering import lower_program
from suites.meta.support.dialects import is_newer, waits_for_several

F32 = ELEMENT_TYPES["f32"]


def canonical_form(program: Program) -> Program:
    """Return a program as the parser gives it back: with its names of values."""
    return Program(tuple(replace(f, body=_Renamer().region(f.body)) for f in program.functions))


class _Renamer:
    def __init__(self):
        self.names, self.arguments, self.results = {}, 0, 0

    def region(self, region):
        arguments = []
        for value in region.arguments:
            self.names[value.name] = f"a{self.arguments}"
            self.arguments += 1
            arguments.append(replace(value, name=self.names[value.name]))
        return Region(tuple(arguments), tuple(map(self.operation, region.operations)))

    def operation(self, operation):
        operands = tuple(replace(v, name=self.names[v.name]) for v in operation.operands)
        regions = tuple(map(self.region, operation.regions))
        results = []
        for value in operation.results:
            self.names[value.name] = str(self.results)
            self.results += 1
            results.append(replace(value, name=self.names[value.name]))
        return replace(  # no text says which constraints an op of XlaBuilder waives
            operation, operands=operands, results=tuple(results), regions=regions, waives=()
        )


def constants(arrays):
    """Return a program that returns these arrays, embedded."""
    types = [TensorType(a.shape, next(t for t in ALL if t.storage == a.dtype)) for a in arrays]
    values = tuple(Value(str(i), t) for i, t in enumerate(types))
    body = [
        Operation("constant", (), (v,), attributes(value=Dense.of(a, v.type)))
        for v, a in zip(values, arrays, strict=True)
    ]
    body.append(Operation("return", values))
    return Program((Function("main", Region((), tuple(body)), tuple(types)),))


def codes(of):
    """Return all codes of a small type; specials, NaNs with payloads and random codes of a large
    type.
    """
    rng = np.random.default_rng(7)
    part = of.part
    if part.bits <= 8:
        return np.arange(1 << part.bits, dtype=bits_dtype(of))
    found = rng.integers(0, 2**part.bits, 512, dtype=bits_dtype(of), endpoint=False)
    if part.is_float:
        form = part.float_format
        sign, top = 1 << (part.bits - 1), ((1 << form.exponent_bits) - 1) << form.mantissa_bits
        quiet = 1 << (form.mantissa_bits - 1)
        special = [0, 1, quiet, top - 1, top, top + 1, top + quiet, top + quiet + 5]
        found[:16] = [*special, *(sign + s for s in special)]
    return found


def arrays_of(of):
    """Return arrays for every way of writing a constant: splat, nested, hexadecimal, rank
    0, empty.
    """
    data = codes(of).astype(bits_dtype(of).newbyteorder("<"))
    if of.is_complex:
        data = np.stack([data, np.roll(data, 1)], axis=-1)
    size = len(data)
    few = data[: min(size, 16)]
    stored = Dense(TensorType((size,), of), data.tobytes()).array
    return [
        stored,
        np.tile(stored, -(-200 // size)),
        Dense(TensorType((1, len(few), 1), of), few.tobytes()).array,
        *(stored[i : i + 32] for i in range(0, min(size, 256), 32)),
        np.broadcast_to(stored[size // 2], (2, 3)),
        *(np.asarray(stored[i]) for i in (0, 1, size // 2, size - 1)),
        np.zeros((2, 0, 3), of.storage),
    ]


@pytest.mark.parametrize("of", ALL, ids=str)
def test_constants_are_read_back_in_every_bit(of):
    program = constants(arrays_of(of))
    assert parse_module(emit(program)) == program


@pytest.mark.parametrize("of", [of for of in ALL if not of.name.startswith("f6")], ids=str)
def test_constants_reach_the_compiler_in_every_bit(of):
    arrays = arrays_of(of)
    program = constants(arrays)
    results = open_session("cpu").compile(program).run([])
    for got, want in zip(results, arrays, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(to_bits(got), to_bits(want))


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(OPS))
def test_generated_programs_are_read_back(op):
    types = OPS[op].element_types
    chosen = [types[0], types[len(types) // 2], types[-1]]
    made = [lower_program(case.program) for of in chosen for case in cases(op, of, 11, 4)]
    made = [one for one in made if not (waits_for_several(one) or is_newer(emit(one)))]
    if not made:
        pytest.skip("the dialect here does not have it yet")
    program = merge([one for one in made if one.process_grid == made[0].process_grid])
    parsed = parse_module(emit(program))
    assert remove_defaults(parsed, program) == canonical_form(program)
    assert parse_module(emit(parsed)) == parsed


def remove_defaults(parsed: Program, program: Program) -> Program:
    """Return the parsed program without attributes that MLIR adds as empty."""
    stated = iter([dict(operation.attributes) for operation in program.walk()])

    def operation(read):
        given = next(stated)
        kept = tuple((n, v) for n, v in read.attributes if n in given or v not in ("", (), False))
        return replace(read, attributes=kept, regions=tuple(map(region, read.regions)))

    def region(read):
        return replace(read, operations=tuple(map(operation, read.operations)))

    return Program(tuple(replace(f, body=region(f.body)) for f in parsed.functions))


REGIONS = """
func.func @main(%x: tensor<4xf32>, %i: tensor<i32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %sorted = "stablehlo.sort"(%x) ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %less = stablehlo.compare LT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4xf32>) -> tensor<4xf32>
  %case = "stablehlo.case"(%i) ({
    stablehlo.return %zero : tensor<f32>
  }, {
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  %t:2 = stablehlo.optimization_barrier %sum, %case : tensor<f32>, tensor<f32>
  return %sum, %sorted, %t#1 : tensor<f32>, tensor<4xf32>, tensor<f32>
}"""


def test_regions_captures_and_several_results():
    program = parse_module(REGIONS)
    assert canonical_form(program) == program
    text = emit(program)
    assert parse_module(text) == program
    x = np.array([3, -1, 2, -5], np.float32)
    out = open_session("cpu").compile(program, text).run([x, np.array(1, np.int32)])
    assert [array.tolist() for array in out] == [-1.0, [-5, -1, 2, 3], -1.0]


TYPES = """
func.func @main(%t: !stablehlo.token, %u: tuple<tensor<f32>, tuple<tensor<?x3xi1>>>,
    %q: tensor<2x2x!quant.uniform<i8<-3:5>:f32:1, {0.1, 0.25:3}>>,
    %p: tensor<2x!quant.uniform<u8:bf16, 1.0e-20:4>>,
    %b: tensor<?x3xf32, #stablehlo.bounds<5, ?>>) -> !stablehlo.token {
  return %t : !stablehlo.token
}"""


def test_types_beyond_plain_tensors():
    program = parse_module(TYPES)
    token, pair, per_axis, per_tensor, bounded = (value.type for value in program.main.arguments)
    assert token == TokenType()
    inner = TupleType((TensorType((None, 3), ELEMENT_TYPES["i1"]),))
    assert pair == TupleType((TensorType((), F32), inner))
    si8, ui8, bf16 = (ELEMENT_TYPES[name] for name in ("si8", "ui8", "bf16"))
    assert per_axis.element_type == QuantizedType(si8, -3, 5, F32, (0.1, 0.25), (0, 3), 1)
    assert bounded == TensorType((None, 3), F32, (5, None))
    assert per_tensor.element_type == QuantizedType(ui8, 0, 255, bf16, (1e-20,), (4,))
    assert parse_module(emit(program)) == program


def test_booleans_packed_by_older_versions_are_read():
    def constant(digits: str) -> np.ndarray:
        text = f"""func.func @main() -> tensor<3x4xi1> {{
          %0 = stablehlo.constant dense<"0x{digits}"> : tensor<3x4xi1>
          return %0 : tensor<3x4xi1>
        }}"""
        return evaluate(parse_module(unpack_booleans(text)), [])[0]

    bits = [1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0]
    assert constant("3105").reshape(-1).tolist() == bits
    assert constant("".join(f"0{bit}" for bit in bits)).reshape(-1).tolist() == bits
    assert constant("01").all()


UNKNOWN = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = chlo.erf %x : tensor<2xf32> -> tensor<2xf32>
  %1 = "stablehlo.custom_call"(%0) {call_target_name = "a\\"b\\0A\\C3\\A9", has_side_effect = true,
      api_version = 4 : i32, backend_config = {mode = 3 : i32}, called_computations = [@main],
      mhlo.backend_config = {a = 0.1 : f32, b = true, c = "d", e = dense<[1, 2]> : tensor<2xi8>},
      mhlo.frontend_attributes = {x = "y"}} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = stablehlo.exponential %1 {result_accuracy = #stablehlo.result_accuracy<ulps = 10,
      mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
  return %2 : tensor<2xf32>
}"""


def test_attributes_of_unknown_kinds_are_kept_as_written():
    program = parse_module(UNKNOWN)
    erf, call, exponential, _ = program.main.body.operations
    assert erf.name == "chlo.erf"
    assert call.attribute("call_target_name") == 'a"b\né'
    assert call.attribute("backend_config") == (("mode", 3, "i32"),)
    assert call.attribute("mhlo.backend_config") == (
        ("a", float(np.float32(0.1)), "f32"), ("b", True, "i1"), ("c", "d", "string"),
        ("e", "dense<[1, 2]> : tensor<2xi8>", ""),
    )  # fmt: skip
    assert call.attribute("called_computations") == ("main",)
    assert call.attribute("mhlo.frontend_attributes") is None
    assert "TOLERANCE" in str(exponential.attribute("result_accuracy"))
    assert parse_module(emit(program)) == program


_TWO, _THREE = TensorType((2,), F32), TensorType((3,), F32)
INVALID = emit(single_op("add", (Value("a", _TWO), Value("b", _TWO)), (_THREE,)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("func.func @f( {", "line 1, column 14: expected non-function type"),
        ("", "the module holds no function"),
        ('"foo.bar"() : () -> ()', "line 1, column 10: foo.bar is not read"),
        ("func.func @f() {\n %0 = stablehlo.frobnicate : tensor<f32> }", "line 2, column 7"),
        ("func.func private @f(tensor<f32>)", "@f is declared and not defined"),
        ("func.func @f() {\n cf.br ^a\n^a:\n return }", "branches among 2 blocks (cf.br"),
        ("func.func @f(%x: tensor<*xf32>) {return}", "values of type tensor<*xf32>"),
        ("func.func @f(%x: tensor<2xindex>) {return}", "no element type index"),
        ("func.func @f(%x: tensor<3xf32, \"sparse\">) {return}", "tensor encodings"),
        ("func.func @f(%x: memref<2xf32>) {return}", "values of type memref<2xf32>"),
        ("module { module { func.func @f() {return} } }", "only functions"),
        ("func.func @f() {return}\0", "line 1: the text holds a NUL character"),
        ("func.func @f(%x: tensor<2x!quant.uniform<i8:f32:{0:1}, {0.5, 0.25}>>) {return}", "quant"),
        (INVALID, "line 4, column 11: 'stablehlo.add' op requires"),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_quiet(text, says, capfd):
    with pytest.raises(ParseError) as caught:
        parse_module(text)
    message = str(caught.value)
    assert says in message
    assert "\n" not in message
    assert capfd.readouterr() == ("", "")


def test_attribute_without_spelling_is_refused():
    of = TensorType((2,), F32)
    with pytest.raises(EmitError, match="colour has no known kind"):
        emit(single_op("add", (Value("a", of), Value("b", of)), (of,), {"colour": 3}))
    with pytest.raises(EmitError, match="iota_dimension: 'x' is not of kind i64"):
        emit(single_op("iota", (), (of,), {"iota_dimension": "x"}))


def test_an_attribute_at_the_dialect_s_default_may_be_left_out():
    """MLIR's pretty form does not print `lower = false`."""
    text = """
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.cholesky %x : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}"""
    program = parse_module(text)
    assert check(program) == []
    (found,) = evaluate(program, [np.array([[4, 2], [9, 5]], np.float32)])
    assert found.tolist() == [[2, 1], [0, 2]]
