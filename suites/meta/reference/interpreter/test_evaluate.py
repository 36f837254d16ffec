"""Programs: values, calls, hooks, regions, errors; and the cost of an operation."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from generators.regions.bodies import BodyBuilder
from reference.interpreter import evaluate as module
from reference.interpreter.evaluate import EvaluationError, check, evaluate
from reference.ir.program import (
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    attributes,
    single_op,
)
from reference.ir.regions import Body
from reference.ir.types import ALL, ELEMENT_TYPES, Array, from_bits
from reference.ops.table import OPS
from suites.meta.support.counting import calls_of

F32 = ELEMENT_TYPES["f32"]
VECTOR = TensorType((3,), F32)
A, B, C = (Value(name, VECTOR) for name in "abc")
ONES, TWOS = np.ones(3, np.float32), np.full(3, 2, np.float32)


def function(
    name: str, arguments: tuple[Value, ...], operations: tuple[Operation, ...], result: Value
) -> Function:
    body = (*operations, Operation("return", (result,)))
    return Function(name, Region(arguments, body), (result.type,))


def add(lhs: Value, rhs: Value, result: Value) -> Operation:
    return Operation("add", (lhs, rhs), (result,))


DOUBLE = function("double", (A,), (add(A, A, B),), B)


def calling_program(callee: str) -> Program:
    call = Operation("func.call", (A,), (B,), attributes(callee=callee))
    return Program((DOUBLE, function("main", (A,), (call, add(A, B, C)), C)))


def test_single_op_with_embedded_constant() -> None:
    program = single_op("subtract", (A, Dense.of(ONES, VECTOR)), (VECTOR,))
    (result,) = evaluate(program, [TWOS])
    assert result.tolist() == [1, 1, 1]


def test_a_value_used_twice_and_a_parameter_returned() -> None:
    body = (add(A, A, B), Operation("func.return", (B, A, B)))
    program = Program((Function("f", Region((A,), body), (VECTOR,) * 3),))
    results = evaluate(program, [TWOS])
    assert [r[0] for r in results] == [4, 2, 4]


def test_calls() -> None:
    (result,) = evaluate(calling_program("double"), [TWOS])
    assert result.tolist() == [6, 6, 6]


def test_custom_call() -> None:
    call = Operation(
        "custom_call", (A,), (B, C), attributes(call_target_name="both", backend_config="")
    )
    body = (call, Operation("return", (C, B)))
    program = Program((Function("main", Region((A,), body), (VECTOR, VECTOR)),))
    handlers = {"both": lambda x: [x + 1, x * 4]}
    results = evaluate(program, [TWOS], custom_calls=handlers)
    assert [r[0] for r in results] == [8, 3]
    with pytest.raises(EvaluationError, match=r"no handler for the custom call 'both'"):
        evaluate(program, [TWOS])
    with pytest.raises(EvaluationError, match=r"handler of 'both': elements of float64"):
        evaluate(program, [TWOS], custom_calls={"both": lambda x: [x.astype(np.float64), x]})
    with pytest.raises(EvaluationError, match=r"gives 1 results.*custom_call"):
        evaluate(program, [TWOS], custom_calls={"both": lambda x: x})


def test_on_result_sees_and_replaces_every_result() -> None:
    seen: list[str] = []

    def hook(operation: Operation, results: tuple[Array, ...]) -> tuple[Array, ...]:
        seen.append(operation.name)
        return tuple(result + 1 for result in results)

    (result,) = evaluate(calling_program("double"), [TWOS], on_result=hook)
    assert seen == ["add", "func.call", "add"]
    assert result.tolist() == [9, 9, 9]  # 2 + ((2 + 2 + 1) + 1) + 1


@pytest.mark.parametrize("of", ALL, ids=str)
def test_scalars_stay_arrays(of: object) -> None:
    assert isinstance(of, type(F32))
    bits = np.zeros((2,) if of.is_complex else (), np.uint64).astype(f"uint{max(8, of.part.bits)}")
    one = from_bits(bits, of)
    rank_0 = TensorType((), of)
    seen = 0
    for name, op in OPS.items():
        if op.attributes or op.needs_result or op.values or name in ("clamp", "select", "complex"):
            continue
        operands = [rank_0] * len(op.operands)
        values = tuple(Value(f"v{number}", rank_0) for number in range(len(operands)))
        try:
            result_type = op.infer(*operands)
        except ValueError:
            continue
        (result,) = evaluate(single_op(name, values, (result_type,)), [one] * len(operands))
        assert isinstance(result, np.ndarray), name
        assert result.shape == ()
        seen += 1
    assert seen >= 6


def test_regions_use_outer_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """An op with a region gets it as a function of arrays."""

    def apply_twice(operand: Array, *, body: Body) -> tuple[Array, ...]:
        return body(*body(operand))

    semantics = replace(
        OPS["map"], name="twice", type_function=lambda operand: operand, evaluate=apply_twice,
        operands=("operand",), attributes=(), constraints=(), regions=("body",), several=True,
    )  # fmt: skip
    monkeypatch.setitem(OPS, "twice", semantics)
    inner = Value("x", VECTOR), Value("y", VECTOR)
    region = Region((inner[0],), (add(inner[0], A, inner[1]), Operation("return", (inner[1],))))
    body = Operation("twice", (B,), (C,), regions=(region,))
    program = Program((function("main", (A, B), (body,), C),))
    assert evaluate(program, [ONES, TWOS])[0].tolist() == [4, 4, 4]


def test_attributes_of_other_dialects_are_ignored() -> None:
    given = attributes(**{"mhlo.frontend": "x", "result_accuracy": ("DEFAULT",)})
    operation = replace(add(A, A, B), attributes=given)
    assert evaluate(Program((function("main", (A,), (operation,), B),)), [ONES])[0][0] == 2
    assert check(Program((function("main", (A,), (operation,), B),))) == []


@pytest.mark.parametrize(
    ("program", "inputs", "message"),
    [
        (calling_program("double"), [], r"main takes 1 inputs, not 0"),
        (calling_program("double"), [ONES, ONES], r"main takes 1 inputs, not 2"),
        (calling_program("double"), [np.ones(3)],
         r"input 0 of main \(%a\): elements of float64 given"),
        (calling_program("double"), [np.ones(4, np.float32)],
         r"shape \(4,\) given for tensor<3xf32>"),
        (calling_program("double"), [[1.0, 1.0, 1.0]], r"list given for tensor<3xf32>"),
        (calling_program("nobody"), [ONES], r"no function is called nobody.*func\.call"),
        (Program(()), [], r"no function is called main"),
        (
            Program((function("main", (A,), (Operation("fly", (A,), (B,)),), B),)),
            [ONES],
            r"the reference does not implement fly \(%b = fly\(%a\)\)",
        ),
        (
            Program((function("main", (A,), (add(A, C, B),), B),)),
            [ONES],
            r"no value %c .*add\(%a, %c\)",
        ),
        (Program((Function("main", Region((A,), ()), ()),)), [ONES], r"does not end with return"),
        (
            single_op("add", (A,), (VECTOR,)), [ONES], r"breaks operands \(%r0 = add\(%a\)",
        ),
        (
            single_op("add", (A, A), (TensorType((3,), ELEMENT_TYPES["f64"]),)),
            [ONES],
            r"breaks C1 \(%r0 = add\(%a, %a\)",
        ),
        (
            single_op("compare", (A, A), (VECTOR,), {"comparison_direction": "WORSE"}),
            [ONES],
            r"breaks I3 .*compare\(%a, %a\)",
        ),
        (
            single_op("add", (A, Value("b", TensorType((2,), F32))), (VECTOR,)),
            [ONES, np.ones(2, np.float32)],
            r"breaks C1 .*add\(%a, %b\)",
        ),
    ],
)  # fmt: skip
def test_errors_name_the_operation(program: Program, inputs: list[Array], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate(program, inputs)


def test_recursion_is_an_error() -> None:
    call = Operation("func.call", (A,), (B,), attributes(callee="main"))
    with pytest.raises(EvaluationError, match="main calls itself"):
        evaluate(Program((function("main", (A,), (call,), B),)), [ONES])


def test_process_grid() -> None:
    everywhere = evaluate(replace(calling_program("double"), process_grid=(4, 2)), [ONES] * 8)
    assert [result[0] for result in everywhere] == [3] * 8
    with pytest.raises(EvaluationError, match="process_grid"):
        evaluate(replace(calling_program("double"), process_grid=(0, 1)), [])
    with pytest.raises(EvaluationError, match="3 values for 2 processes"):
        evaluate(replace(calling_program("double"), process_grid=(2, 1)), [ONES] * 3)


def test_unknown_sizes_take_any() -> None:
    unknown = TensorType((None,), F32)
    program = single_op("negate", (Value("a", unknown),), (unknown,))
    assert evaluate(program, [TWOS])[0].tolist() == [-2, -2, -2]
    with pytest.raises(EvaluationError, match="shape"):
        evaluate(program, [np.ones((3, 1), np.float32)])


def test_inputs_are_never_written() -> None:
    given = np.array([1.0, -2.0, np.nan], np.float32)
    given.setflags(write=False)
    seen = 0
    for name, op in OPS.items():
        if op.operands == ("operand",) and not op.attributes and not op.needs_result:
            try:
                result_type = op.infer(VECTOR)
            except ValueError:
                continue
            (result,) = evaluate(single_op(name, (A,), (result_type,)), [given])
            assert not np.shares_memory(result, given), name
            seen += 1
    assert seen >= 6


def test_an_operation_costs_little() -> None:
    """The interpreter's own part, without numpy's: a chain of operations that do nothing."""
    values = [Value(f"v{number}", VECTOR) for number in range(2001)]
    chain = tuple(
        Operation("custom_call", (x,), (y,), attributes(call_target_name="same"))
        for x, y in pairwise(values)
    )
    program = Program((function("main", (values[0],), chain, values[-1]),))
    handlers = {"same": lambda x: x}
    evaluate(program, [ONES], custom_calls=handlers)  # compiled once
    assert calls_of(lambda: evaluate(program, [ONES], custom_calls=handlers)) / len(chain) <= 8


def test_described_operations() -> None:
    assert module.describe_operation(add(A, B, C)) == "%c = add(%a, %b)"
    assert module.describe_operation(Operation("return", (A,))) == "return"


def test_error_about_many_values_starts_with_the_reason() -> None:
    values = tuple(Value(f"v{number}", VECTOR) for number in range(40))
    call = Operation(
        "custom_call", values, values, attributes(call_target_name="xla_ffi_python_cpu_callback")
    )
    body = Region(values, (call, Operation("return", values)))
    program = Program((Function("main", body, (VECTOR,) * 40),))
    with pytest.raises(EvaluationError) as raised:
        evaluate(program, [ONES] * 40)
    assert str(raised.value) == (
        "no handler for the custom call 'xla_ffi_python_cpu_callback': it is a function of the "
        "Python process that made the program "
        "(%v0, %v1, %v2, 37 more = custom_call(%v0, %v1, %v2, 37 more))"
    )
    assert raised.value.operation == call


def test_of_lanes_with_the_same_arguments_one_is_evaluated() -> None:
    """A body with a region is not lifted: it is evaluated for each pair of arguments there is."""
    block = BodyBuilder.of(F32, F32)
    a, b = block.arguments
    inner = BodyBuilder((), prefix="i")
    branch = inner.finish_region(inner.op("add", a, b))
    (chosen,) = block.ops("if", (block.compare(a, b, "LT"),), (a.type,), regions=(branch, branch))
    many = TensorType((50, 40), F32)
    values = (Value("x", many), Value("y", many))
    made = single_op("map", values, (many,), {"dimensions": (0, 1)}, (block.finish_region(chosen),))
    random = np.random.default_rng(0)
    few = [random.integers(0, 3, (50, 40)).astype(np.float32) for _ in range(2)]
    other = [random.normal(size=(50, 40)).astype(np.float32) for _ in range(2)]
    for inputs in (few, other):
        assert np.array_equal(evaluate(made, inputs)[0], inputs[0] + inputs[1])
    assert 50 * calls_of(lambda: evaluate(made, few)) < calls_of(lambda: evaluate(made, other))


def test_bodies_that_read_bits_of_scalars_are_applied_to_arrays() -> None:
    """Compilers write conversions of narrow types by their bits."""
    block = BodyBuilder.of(F32)
    bits = block.op("bitcast_convert", block.arguments[0], to=ELEMENT_TYPES["ui32"])
    body = block.finish_region(block.op("bitcast_convert", bits, to=F32))
    many = TensorType((500,), F32)
    made = single_op("map", (Value("x", many),), (many,), {"dimensions": (0,)}, (body,))
    numbers = np.random.default_rng(0).normal(size=500).astype(np.float32)
    assert np.array_equal(evaluate(made, [numbers])[0], numbers)
    assert calls_of(lambda: evaluate(made, [numbers])) < 500
