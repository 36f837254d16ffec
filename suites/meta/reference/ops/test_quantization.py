"""Quantized tensors: codes and numbers against exact arithmetic, ops, bodies, types, columns."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from conformance.catalog import CATALOG, Cell, cells
from conformance.judging.compare import judge
from conformance.stablehlo.emit import EmitError, emit
from conformance.stablehlo.parse import ParseError, diagnose, parse_module
from conformance.verdict import Verdict
from generators.case.columns import column
from generators.case.quantized_types import PER_AXIS, PER_TENSOR, QUANTIZED_COLUMNS
from generators.cells.columns import columns_of
from generators.cells.plan import cases
from generators.quantized.columns import quantized_columns
from generators.values.contents import fill, materialise
from reference.interpreter import quantized
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import (
    Attribute,
    Dense,
    Function,
    Operation,
    Program,
    QuantizedType,
    Region,
    TensorType,
    Value,
    ValueType,
    attributes,
    single_op,
)
from reference.ir.types import ELEMENT_TYPES, Array, ElementType
from reference.numerics.rounding import round_to
from reference.ops.quantization import dequantize, quantize, requantize, violated_type_constraints
from reference.ops.table import OPS
from reference.unspecified.table import unspecified_elements
from suites.meta.support.ops.exact import exact_value, nearest_number, numbers
from suites.meta.support.ops.quantized_types import F32, quant

F16, BF16, F8 = (ELEMENT_TYPES[name] for name in ("f16", "bf16", "f8E4M3FN"))


def every_code(of: QuantizedType) -> Array:
    return np.arange(of.storage_min, of.storage_max + 1).astype(of.storage_type.storage)


def round_fraction(value: Fraction, to: ElementType) -> Fraction:
    found = nearest_number(value, to.float_format)[0]
    assert isinstance(found, (Fraction, float))
    return Fraction(found)


# --- Codes and numbers ---------------------------------------------------------------------------

TYPES = [
    quant("si8", (0.1, -30)),
    quant("ui8", (1 / 255, 128)),
    quant("si4", (0.7, 7)),
    quant("ui4", (3.0, 15), bounds=(1, 15)),
    quant("si8", (0.1, -128), expressed=F16),
    quant("si8", (0.0078125, 127), expressed=BF16),
    quant("si4", (0.5, -3), expressed=F8),
    quant("si2", (1e-3, 1)),
]


@pytest.mark.parametrize("of", TYPES, ids=str)
def test_codes_stand_for_the_rounded_product(of: QuantizedType) -> None:
    """(code - zero point) does not wrap around in the storage type, and is rounded to the
    expressed type before it is multiplied by the scale."""
    to = of.expressed_type
    scale = round_fraction(Fraction(of.scales[0]), to)
    found = numbers(dequantize(every_code(of), of), to)
    for code, number in zip(every_code(of).astype(int).tolist(), found, strict=True):
        difference = round_fraction(Fraction(code - of.zero_points[0]), to)
        want = nearest_number(difference * scale, to.float_format)[0]
        assert exact_value(number) == exact_value(want), code  # type: ignore[arg-type]


@pytest.mark.parametrize("of", TYPES, ids=str)
def test_numbers_go_to_the_nearest_code_step_by_step(of: QuantizedType) -> None:
    to = of.expressed_type
    scale, zero = round_fraction(Fraction(of.scales[0]), to), Fraction(of.zero_points[0])
    low, high = Fraction(of.storage_min), Fraction(of.storage_max)
    given = fill(TensorType((200,), to), "small_integers", 1)
    given = np.concatenate([given, fill(TensorType((200,), to), "unit", 2)])
    seen = 0
    for number, code in zip(numbers(given, to), quantize(given, of).astype(int), strict=True):
        value = exact_value(number)
        assert value is not None
        quotient = nearest_number(value / scale, to.float_format)[0]
        if not isinstance(quotient, (Fraction, float)):  # out of the expressed type's range
            continue
        total = nearest_number(Fraction(quotient) + round_fraction(zero, to), to.float_format)[0]
        if isinstance(total, (Fraction, float)):
            assert round(min(max(Fraction(total), low), high)) == code, number
            seen += 1
    assert seen > 200


@pytest.mark.parametrize("of", [one for one in TYPES if one.expressed_type is F32], ids=str)
def test_requantizing_keeps_every_code(of: QuantizedType) -> None:
    codes = every_code(of)
    assert (quantize(dequantize(codes, of), of) == codes).all()
    assert requantize(codes, of, of) is codes


def test_ties_round_to_even_and_values_beyond_saturate() -> None:
    of = quant("si8", (0.5, 1), bounds=(-100, 100))
    given = np.array([0.25, 0.75, -0.25, -0.75, 1e9, -1e9, np.inf, -np.inf, 49.75], np.float32)
    assert quantize(given, of).tolist() == [2, 2, 0, 0, 100, -100, 100, -100, 100]


def test_numbers_without_a_code_are_unspecified() -> None:
    of = quant("si32", (1.0, 0))
    given = np.array([np.nan, np.inf, 2.0**31, 2.0**31 - 128, -(2.0**31), 1e20], np.float32)
    operand, result = TensorType((6,), F32), TensorType((6,), of)
    program = single_op("uniform_quantize", (Value("a", operand),), (result,))
    (codes,) = evaluate(program, [given])
    top = 2**31 - 1
    assert codes.tolist() == [0, top, top, 2**31 - 128, -(2**31), top]
    found = dict(unspecified_elements(program.main.body.operations[0], [given], codes))
    assert found["NaN has no code"].tolist() == [True, *[False] * 5]
    beyond = found["out of the range of the storage type"]
    assert beyond.tolist() == [False, True, True, False, False, True]


def test_per_axis_each_slice_has_its_step() -> None:
    of = quant("si8", (0.5, 1), (2.0, -3), (0.25, 0), axis=1)
    codes = np.array([[3, 1, 8], [-1, -3, 0]], np.int8)
    want = np.array([[1.0, 8.0, 2.0], [-1.0, 0.0, 0.0]], np.float32)
    assert dequantize(codes, of).tolist() == want.tolist()
    assert quantize(want, of).tolist() == codes.tolist()


# --- Types ---------------------------------------------------------------------------------------

GOOD = quant("si8", (0.5, 3))


@pytest.mark.parametrize(
    ("id_", "wrong"),
    [
        ("C3", replace(GOOD, storage_min=-129)),
        ("C3", replace(GOOD, storage_max=128)),
        ("C3", replace(GOOD, storage_min=3, storage_max=3)),
        ("C4", replace(GOOD, expressed_type=ELEMENT_TYPES["si32"])),
        ("C4", replace(GOOD, scales=(1e-50,))),
        ("C4", replace(GOOD, scales=(1e6,), expressed_type=F16)),
        ("C5", replace(GOOD, scales=(0.0,))),
        ("C5", replace(GOOD, scales=(-1.0,))),
        ("C6", replace(GOOD, scales=(float("inf"),))),
        ("C7", replace(GOOD, zero_points=(128,))),
        ("C7", replace(GOOD, storage_min=4)),
        ("C9", replace(GOOD, zero_points=(3, 3))),
        ("C10", replace(GOOD, scales=(0.5, 0.5), zero_points=(3, 3))),
        ("C11", quant("si8", (0.5, 3), (0.5, 3), axis=-1)),
        ("C12", quant("si8", (0.5, 3), (0.5, 3), axis=2)),
        ("C13", quant("si8", (0.5, 3), (0.5, 3), axis=1)),
    ],
)  # fmt: skip
def test_each_constraint_on_types_is_checked(id_: str, wrong: QuantizedType) -> None:
    of = TensorType((2, 3), wrong)
    assert violated_type_constraints(of) == (id_,)
    program = single_op("reverse", (Value("a", of),), (of,), {"dimensions": (0,)})
    assert (f"quantized type {id_}",) in [ids for _, ids in check(program)]


def test_types_in_order_break_nothing() -> None:
    for of in (*TYPES, quant("si8", (0.5, 3), (0.25, 1), axis=0)):
        assert violated_type_constraints(TensorType((2, 3), of)) == ()
    assert (
        violated_type_constraints(TensorType((None, 3), quant("si8", *[(0.5, 3)] * 9, axis=0)))
        == ()
    )
    assert violated_type_constraints(TensorType((2,), F32)) == ()


# --- Ops -----------------------------------------------------------------------------------------


def composed_program(operation: Operation) -> Program:
    """Return the operation as dequantize, op, quantize: three operations of the dialect."""
    body: list[Operation] = []

    def add(name: str, operand: Value, of: ValueType) -> Value:
        body.append(Operation(name, (operand,), (Value(f"x{len(body)}", of),)))
        return body[-1].results[0]

    inner = quantized.plain_operation(operation)
    operands = tuple(
        add("uniform_dequantize", given, plain.type) if given.type != plain.type else given
        for given, plain in zip(operation.operands, inner.operands, strict=True)
    )
    results = tuple(Value(f"n{i}", v.type) for i, v in enumerate(inner.results))
    body.append(replace(inner, operands=operands, results=results))
    outputs = tuple(
        add("uniform_quantize", result, want.type) if result.type != want.type else result
        for result, want in zip(results, operation.results, strict=True)
    )
    body.append(Operation("return", outputs))
    arguments = tuple(dict.fromkeys(operation.operands))
    main = Function("main", Region(arguments, tuple(body)), tuple(v.type for v in outputs))
    return Program((main,))


COMPUTING = [
    op for op, record in OPS.items() if record.quantized.on_numbers and quantized_columns(op)
]


@pytest.mark.parametrize("op", COMPUTING)
def test_ops_compute_on_the_numbers(op: str) -> None:
    for of in quantized_columns(op):
        for case in cases(op, of, seed=2, count=2):
            operation = case.program.subject
            arrays = dict(zip(case.program.main.arguments, _inputs(case), strict=True))
            for constant in case.program.main.body.operations[:-2]:
                arrays[constant.results[0]] = constant.attribute("value").array  # type: ignore[union-attr]
            program = composed_program(operation)
            given = [arrays[value] for value in program.main.arguments]
            whole = evaluate(case.program, _inputs(case))
            for result, again in zip(whole, evaluate(program, given), strict=True):
                assert result.tobytes() == again.tobytes()


def _inputs(one: Any) -> tuple[Array, ...]:
    return materialise(one.program, one.inputs[0])


@pytest.mark.parametrize("op", ["reshape", "slice", "transpose", "pad", "concatenate", "reverse"])
def test_ops_that_move_elements_move_codes(op: str) -> None:
    for case in cases(op, PER_TENSOR[1], seed=4, count=4):
        plain = Program(
            tuple(replace(f, body=_storage_region(f.body), result_types=tuple(
                _storage(of) for of in f.result_types)) for f in case.program.functions)
        )  # fmt: skip
        given = _inputs(case)
        assert evaluate(case.program, given)[0].tobytes() == evaluate(plain, given)[0].tobytes()


def _storage(of: Any) -> Any:
    return TensorType(of.shape, of.stored) if isinstance(of, TensorType) else of


def _storage_region(region: Region) -> Region:
    def value(given: Value) -> Value:
        return Value(given.name, _storage(given.type))

    def attribute(given: Any) -> Any:
        return Dense(_storage(given.type), given.data) if isinstance(given, Dense) else given

    operations = (
        replace(
            operation,
            operands=tuple(map(value, operation.operands)),
            results=tuple(map(value, operation.results)),
            attributes=tuple((name, attribute(given)) for name, given in operation.attributes),
        )
        for operation in region.operations
    )
    return Region(tuple(map(value, region.arguments)), tuple(operations))


DOT: dict[str, Attribute] = {
    "lhs_batching_dimensions": (), "rhs_batching_dimensions": (),
    "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,),
}  # fmt: skip


def dot(lhs: TensorType, rhs: TensorType, result: TensorType) -> Program:
    return single_op("dot_general", (Value("a", lhs), Value("b", rhs)), (result,), DOT)


def test_dot_per_axis_and_hybrid() -> None:
    of, kernel = quant("si8", (0.5, 3)), quant("si8", (0.25, 0), (2.0, 0), axis=1)
    wide = quant("si32", (0.125, 0), (1.0, 0), axis=1)
    lhs, rhs = np.array([[5, 1, -7]], np.int8), np.array([[4, 1], [2, -2], [8, 3]], np.int8)
    left, right = TensorType((1, 3), of), TensorType((3, 2), kernel)
    numbers_ = (lhs - 3.0) * 0.5 @ (rhs * np.array([0.25, 2.0]))
    program = dot(left, right, TensorType((1, 2), wide))
    assert check(program) == []
    assert evaluate(program, [lhs, rhs])[0].tolist() == (numbers_ / [0.125, 1.0]).tolist()
    hybrid = dot(TensorType((1, 3), F32), right, TensorType((1, 2), F32))
    assert check(hybrid) == []
    plain = np.array([[1.0, -2.0, 0.5]], np.float32)
    want = plain @ (rhs * np.array([0.25, 2.0], np.float32))
    assert evaluate(hybrid, [plain, rhs])[0].tolist() == want.tolist()


def reduction(of: QuantizedType, accumulator: QuantizedType, op: str = "add") -> Program:
    scalar = TensorType((), accumulator)
    x, y, z = (Value(name, scalar) for name in "xyz")
    body = Region((x, y), (Operation(op, (x, y), (z,)), Operation("return", (z,))))
    operands = (Value("a", TensorType((5, 2), of)), Value("i", TensorType((), of)))
    result = TensorType((2,), accumulator)
    return single_op("reduce", operands, (result,), {"dimensions": (0,)}, (body,))


def test_a_body_rounds_to_a_code_at_every_step() -> None:
    of = quant("si8", (0.5, 3), bounds=(-100, 100))
    codes = np.array([[90, 1], [80, 2], [-60, 3], [3, 4], [4, 50]], np.int8)
    program = reduction(of, of)
    assert check(program) == []
    (found,) = evaluate(program, [codes, np.array(3, np.int8)])
    # 0 + 43.5 + 38.5 = 82 saturates at 48.5; then - 31.5, 0 and + 0.5 make 17.5, code 38
    assert found.tolist() == [38, 48]


def test_a_body_may_accumulate_in_another_type() -> None:
    of, wide = quant("si8", (0.5, 3)), quant("si32", (0.25, -1))
    codes = np.array([[90, 1], [80, 2], [-60, 3], [3, 4], [4, 50]], np.int8)
    (found,) = evaluate(reduction(of, wide), [codes, np.array(5, np.int8)])
    sums = ((codes - 3.0) * 0.5).sum(axis=0) + 1.0
    assert found.tolist() == (sums / 0.25 - 1).tolist()


def test_comparators_compare_numbers() -> None:
    of = quant("si8", (0.5, 3))
    scalar, boolean = TensorType((), of), TensorType((), ELEMENT_TYPES["i1"])
    x, y, z = Value("x", scalar), Value("y", scalar), Value("z", boolean)
    less = Operation("compare", (x, y), (z,), attributes(comparison_direction="GT"))
    body = Region((x, y), (less, Operation("return", (z,))))
    line = TensorType((4,), of)
    given: dict[str, Attribute] = {"dimension": 0, "is_stable": True}
    program = single_op("sort", (Value("a", line),), (line,), given, (body,))
    (found,) = evaluate(program, [np.array([3, -9, 100, 5], np.int8)])
    assert found.tolist() == [100, 5, 3, -9]


# --- Text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "codes"),
    [
        (quant("ui8", (0.1, 3)), [0, 200, 255]),
        (quant("ui4", (0.1, 3)), [0, 15, 7]),
        (quant("si4", (0.0039188104517319626, 0), bounds=(-7, 7)), [-7, 7, 0]),
        (quant("ui16", (3.0e-5, 9), expressed=BF16), [40000, 65535, 0]),
        (quant("si32", (1.0e-20, 0)), [-(2**31), 2**31 - 1, 0]),
        (quant("si8", (0.1, 3), (0.2, 0), (1e-30, -128), axis=0), [-128, 5, 127]),
    ],
)
def test_constants_are_written_and_read_back(of: QuantizedType, codes: list[int]) -> None:
    for array in (np.array(codes), np.repeat(codes[:1], 3)):
        held = TensorType((3,), of)
        value = Dense.of(array.astype(of.storage_type.storage), held)
        program = single_op("constant", (), (held,), {"value": value})
        assert check(program) == []
        read = parse_module(emit(program))
        assert read.main.result_types == (held,)
        assert evaluate(read, [])[0].astype(int).tolist() == array.tolist()


def test_types_without_a_spelling_or_a_meaning_are_refused() -> None:
    sub = "!quant.uniform<i8:f32:{0:1, 1:2}, {{0.1:3},{0.2:4}}>"
    held = f"tensor<2x2x{sub}>"
    text = f"func.func @f(%a: {held}) -> {held} {{return %a : {held}}}"
    with pytest.raises(ParseError, match="no sub-channel"):
        parse_module(text)
    empty = TensorType((0,), replace(quant(), scales=(), zero_points=(), quantization_dimension=0))
    with pytest.raises(EmitError, match="without scales"):
        emit(single_op("reverse", (Value("a", empty),), (empty,), {"dimensions": (0,)}))


# --- Columns and their cases ---------------------------------------------------------------------

REFUSED_BY_VERIFIER = {"triangular_solve": PER_TENSOR, "dynamic_conv": (PER_AXIS,)}
"""Ops for which the specification admits quantized tensors, and StableHLO's verifier does not."""


def test_columns_have_names() -> None:
    assert list(QUANTIZED_COLUMNS) == ["q<si4:f32>", "q<si8:f32>", "q<ui8:f32>", "q<si8:f32:axis>"]
    assert all(column(name) is of for name, of in QUANTIZED_COLUMNS.items())
    assert PER_AXIS not in columns_of("abs")
    assert set(columns_of("add")) >= {*PER_TENSOR, PER_AXIS}
    assert not quantized_columns("and")
    chosen = cells(["abs"], ["q_*"])
    assert [str(cell) for cell in chosen] == [f"abs[{of}]@cpu" for of in PER_TENSOR]


@pytest.mark.parametrize("op", [op for op in OPS if quantized_columns(op)])
def test_quantized_cases_are_valid_and_evaluated(op: str) -> None:
    rule = CATALOG[op].tolerance
    for of in quantized_columns(op):
        for case in cases(op, of, seed=6, count=2):
            assert check(case.program) == []
            refused = diagnose(emit(case.program)) or ""
            assert ("quant" in refused) == (of in REFUSED_BY_VERIFIER.get(op, ())), refused
            kinds = [quantized.element_types(o) for o in case.program.walk()]
            per_axis = any(q and q.quantization_dimension is not None
                           for pair in kinds for side in pair for q in side)  # fmt: skip
            assert per_axis == of.per_axis or not of.per_axis
            inputs = _inputs(case)
            results = evaluate(case.program, inputs)
            judged = judge(case.program, inputs, results, results, rule)
            assert judged.verdict is Verdict.PASS


def test_cells_of_quantized_tensors_are_judged_by_codes() -> None:
    cell = Cell("exponential", column("q<si8:f32>"), "cpu")
    assert cell.rule.name == "quantized"
    assert replace(cell, element_type=F32).rule.name == CATALOG["exponential"].tolerance.name


def test_the_scales_are_numbers_of_the_expressed_type() -> None:
    of = quant("si8", (0.1, 0), expressed=F16)
    tenth = round_to(np.array([0.1]), F16)
    assert dequantize(np.array([1], np.int8), of).tobytes() == tenth.tobytes()
