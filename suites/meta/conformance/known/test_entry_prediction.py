"""The `computes` of an entry: instantiated, evaluated, and in force or not."""

from __future__ import annotations

import numpy as np
import pytest
from ml_dtypes import bfloat16

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.judging.judgement import Judgement
from conformance.known.entry_prediction import EntryPrediction, instantiate, ulps
from conformance.known.in_force import in_force
from conformance.known.template import TemplateError, check_names, module_text
from conformance.known.writing import OperationWriter
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import (
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
)
from reference.ir.program import (
    tensor_of as program_tensor_of,
)
from reference.ir.types import Array, element_type
from reference.ops.table import OPS
from suites.meta.support.small_programs import array, op_program, tensor_of

SQUARE = "%0 = stablehlo.multiply %operand, %operand : $T"


def a_tanh(*shape: int, of: str = "f32") -> Program:
    return op_program("tanh", [tensor_of(*shape, of=of)], tensor_of(*shape, of=of))


def a_gather() -> Program:
    return op_program(
        "torch_index_select",
        [tensor_of(4, 2), tensor_of(3, of="si32")],
        tensor_of(3, 2),
        dim=0,
        batch_dims=0,
    )


def compute_text(program: Program, text: str, *inputs: Array) -> Array:
    return evaluate(instantiate(text, program.subject), inputs)[0]


@pytest.mark.parametrize("shape", [(), (2,), (2, 0, 3)])
def test_placeholders_have_types_of_the_operation(shape: tuple[int, ...]) -> None:
    text = """
    %w = stablehlo.convert %operand : ($operand) -> tensor<$Sxf64>
    %n = stablehlo.convert %w : (tensor<$operand.Sxf64>) -> tensor<$Sx$E>
    """
    x = np.full(shape, 0.25, np.float32)
    assert np.array_equal(compute_text(a_tanh(*shape), text, x), x)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_dimensions_are_written_by_number(shape: tuple[int, ...]) -> None:
    text = """
    %zero = stablehlo.constant dense<0.0> : tensor<$E>
    %sum = stablehlo.reduce(%operand init: %zero) applies stablehlo.add across dimensions = [$D] :
      ($operand, tensor<$E>) -> tensor<$E>
    %r = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<$E>) -> $T
    """
    x = np.ones(shape, np.float32)
    assert np.array_equal(compute_text(a_tanh(*shape), text, x), np.full(shape, x.size, np.float32))


def test_the_op_itself_takes_other_operands_and_keeps_its_attributes() -> None:
    text = """
    %i = stablehlo.negate %index : $index
    %0 = $op(%operand, %i)
    """
    operand, index = array([[1, 2], [3, 4], [5, 6], [7, 8]]), array([0, -1, -3], "si32")
    assert compute_text(a_gather(), text, operand, index).tolist() == [[1, 2], [3, 4], [7, 8]]
    assert "axes = [0]" in module_text("%0 = f axes = [$dim]", a_gather().subject)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("%0 = stablehlo.tanh %x : $T", "line 1: use of undeclared SSA value name %x"),
        ("\n%0 = stablehlo.tanhh %operand : $T", "line 2: custom op 'stablehlo.tanhh' is unknown"),
        ("%0 = stablehlo.constant dense<1.0> : tensor<7xf32>", "expects different type"),
        ("// nothing", "no operation computes a value"),
        ("%0 = $op(%operand, %operand)", "tanh takes 1 operands, and $op is given 2"),
        ("%0 = $op(operand)", "operands are values, such as %lhs"),
        ("%0 = stablehlo.iota dim = $dim : $T", "this tanh has no attribute 'dim'"),
        ("%0 = $op(%operand: i65)", "'i65' is no element type"),
    ],
)
def test_invalid_computes_is_one_line(text: str, reason: str) -> None:
    with pytest.raises(TemplateError) as caught:
        instantiate(text, a_tanh(2).subject)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def a_concatenate(*sizes: int) -> Program:
    return op_program(
        "concatenate", [tensor_of(size) for size in sizes], tensor_of(sum(sizes)), dimension=0
    )


def test_each_of_several_operands_has_a_type_of_its_own() -> None:
    text = """
    %a = stablehlo.negate %inputs.0 : $inputs.0
    %w = stablehlo.convert %inputs.1 : ($inputs.1) -> tensor<$inputs.1.Sxf64>
    %b = stablehlo.convert %w : (tensor<$inputs.1.Sxf64>) -> tensor<$inputs.1.Sx$inputs.1.E>
    %0 = $op(%a, %b)
    """
    found = compute_text(a_concatenate(1, 2), text, array([1.0]), array([2.0, 3.0]))
    assert found.tolist() == [-1.0, 2.0, 3.0]
    with pytest.raises(TemplateError, match=r"this concatenate has no operand 'inputs\.1'"):
        module_text(
            text.replace("%inputs.0 : $inputs.0", "%inputs : $inputs"), a_concatenate(3).subject
        )
    # a point after the value of an attribute is the text's own
    assert "dense<0.0>" in module_text("%0 = f dense<$dimension.0>", a_concatenate(3).subject)
    with pytest.raises(TemplateError, match=r"tanh takes one 'operand': write \$operand"):
        check_names("%0 = stablehlo.abs %operand : $operand.0", OPS["tanh"])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_lines_with_a_star_are_repeated_for_each_operand(count: int) -> None:
    text = """
    %double.* = stablehlo.add %inputs.*, %inputs.* : $inputs.*
    %0 = $op(%double.*)
    """
    check_names(text, OPS["concatenate"])
    given = [array([n]) for n in range(count)]
    found = compute_text(a_concatenate(*[1] * count), text, *given)
    assert found.tolist() == [2 * n for n in range(count)]


def judge_result(
    program: Program, inputs: list[Array], actual: Array, *known: EntryPrediction
) -> Judgement:
    rule = CATALOG[program.subject.name].tolerance
    with in_force(known):
        return judge(program, inputs, evaluate(program, inputs), [actual], rule)


def entry(text: str = SQUARE, **given) -> EntryPrediction:
    return EntryPrediction("mine", ("tanh", "add"), given.pop("of", ("f*",)), text, **given)


X = array([0.5, 1.5, 3.0])


def test_elements_as_predicted_have_the_class_of_the_entry() -> None:
    found = judge_result(a_tanh(3), [X], X * X, entry())
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "as computed by mine")
    assert judge_result(a_tanh(3), [X], X * X).kind == "wrong value"


@pytest.mark.parametrize("ulp", [0, 2, 3, 64])
def test_result_beyond_within_is_not_predicted(ulp: int) -> None:
    actual = (X * X).view(np.int32)
    actual[1] += ulp
    found = judge_result(a_tanh(3), [X], actual.view(np.float32), entry(within=2.0))
    kinds = {kind for _, kind in found.findings} if ulp > 2 else {found.kind}
    assert ("as computed by mine" in kinds, len(kinds)) == (True, 2 if ulp > 2 else 1)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -0.0, -1e-45])
def test_special_values_are_predicted_as_they_are(wrong: float) -> None:
    text = "%0 = stablehlo.add %operand, %operand : $T"
    x = array([0.5, 1.5, 0.0])
    actual = x + x
    actual[2] = wrong
    found = judge_result(a_tanh(3), [x], actual, entry(text, within=2.0))
    assert {kind for _, kind in found.findings} > {"as computed by mine"}


def test_a_mask_says_which_elements_are_predicted() -> None:
    text = """
    %0 = stablehlo.multiply %operand, %operand : $T
    %one = stablehlo.constant dense<1.0> : $T
    %large = stablehlo.compare GT, %operand, %one : ($T, $T) -> tensor<$Sxi1>
    return %0, %large : $T, tensor<$Sxi1>
    """
    found = judge_result(a_tanh(3), [X], X * X, entry(text))
    assert found.wrong == 3
    assert len(found.findings) == 2
    assert (
        judge_result(a_tanh(2), [X[1:]], X[1:] * X[1:], entry(text)).kind == "as computed by mine"
    )


@pytest.mark.parametrize(
    "known",
    [
        entry(of=("f64",)),
        EntryPrediction("mine", ("sine",), ("f32",), SQUARE),
        entry(constants=("*",)),
    ],
)
def test_an_entry_says_nothing_outside_of_its_scope(known: EntryPrediction) -> None:
    assert judge_result(a_tanh(3), [X], X * X, known).kind == "wrong value"


def test_masked_elements_may_have_any_value_whatever_the_others_are() -> None:
    text = """
    %0 = stablehlo.tanh %operand : $T
    %mask = stablehlo.compare GE, %operand, %0 : ($T, $T) -> tensor<$Sxi1>
    return %0, %mask : $T, tensor<$Sxi1>
    """
    known = entry(text, any_value=True)
    inputs, got = (array([1.0, 1.0, -1.0]),), array([np.tanh(1), 7.0, 7.0])
    program = a_tanh(3)
    (errors,) = known.hypothesis().errors(
        program.subject, inputs, evaluate(program, inputs), (got.astype(np.float32),)
    )
    assert (errors <= 1).tolist() == [True, False, True]


def test_an_entry_of_any_constant_asks_for_one() -> None:
    operation = a_gather().subject
    known = EntryPrediction("mine", ("*",), ("*",), "%0 = $op(...)", constants=("any",))
    assert known.applies(operation, (False, True))
    assert not known.applies(operation, (False, False))


@pytest.mark.parametrize(("where", "applies"), [("dim = 0", True), ("dim = 1", False)])
def test_an_entry_with_where_is_about_these_operations(where: str, applies: bool) -> None:
    known = EntryPrediction("mine", ("*",), ("*",), "%0 = $op(...)", where=(where,))
    assert known.applies(a_gather().subject) is applies


def test_an_entry_of_constants_is_about_constants() -> None:
    program = op_program("tanh", [Dense.of(X, tensor_of(3))], tensor_of(3))
    assert judge_result(program, [], X * X, entry(constants=("*",))).kind == "as computed by mine"


@pytest.mark.parametrize("flushes", [False, True])
def test_entry_with_flushes_flushes_intermediates(flushes: bool) -> None:
    text = """
    %huge = stablehlo.constant dense<1.0e30> : $T
    %0 = stablehlo.multiply %lhs, %huge : $T
    %1 = stablehlo.multiply %rhs, %huge : $T
    %2 = stablehlo.subtract %0, %1 : $T
    """
    x, y, huge = array([1e-40, 2.0]), array([2e-40, 1.0]), np.float32(1e30)
    program = op_program("add", [tensor_of(2), tensor_of(2)], tensor_of(2))
    kept, flushed = x * huge - y * huge, array([0.0, 1e30])
    actual = flushed if flushes else kept
    assert judge_result(program, [x, y], actual, entry(text, flushes=flushes)).wrong == 2
    kinds = {
        kind
        for _, kind in judge_result(program, [x, y], actual, entry(text, flushes=flushes)).findings
    }
    assert kinds == {"as computed by mine"}
    other = judge_result(program, [x, y], actual, entry(text, flushes=not flushes))
    assert {kind for _, kind in other.findings} != {"as computed by mine"}


SINH = """
%half = stablehlo.constant dense<0.5> : $T
%up = stablehlo.exponential %operand : $T
%minus = stablehlo.negate %operand : $T
%down = stablehlo.exponential %minus : $T
%twice = stablehlo.subtract %up, %down : $T
%0 = stablehlo.multiply %half, %twice : $T
"""


@pytest.mark.parametrize(
    ("got", "explained"),
    [
        (0.0, True),
        (1e-3, True),
        (0.99995e-3, True),
        (0.9998e-3, False),
        (1.001e-3, False),
        (-1e-3, False),
        (np.nan, False),
    ],
)
def test_an_entry_with_rounding_is_a_program_whose_steps_round(got: float, explained: bool) -> None:
    x = array([1e-9 if got == 0 else 1e-3, 1.0])
    actual = array([got, np.sinh(1.0)])
    found = judge_result(a_tanh(2), [x], actual, entry(SINH, rounds=True))
    kinds = {kind for _, kind in found.findings} or {found.kind}
    assert (kinds == {"as computed by mine"}) is explained


@pytest.mark.parametrize(
    ("text", "number"), [("", 0), ("2 ulp", 2), ("1 ulps", 1), ("0.5 ulp", 0.5), ("rounding", 0)]
)
def test_distances_are_in_ulp(text: str, number: float) -> None:
    assert ulps(text) == number


def test_a_distance_without_its_unit_is_an_error() -> None:
    with pytest.raises(
        ValueError, match="'within' must be '2 ulp' or the like, or 'rounding', not '2'"
    ):
        ulps("2")


@pytest.mark.parametrize(("sums", "got", "is_known"), [
    ("bf16", 256.0, True), ("bf16", 200.0, False), ("$E", 256.0, True), ("f64", 256.0, False),
])  # fmt: skip
def test_sums_in_another_type_are_within_their_own_bound(
    sums: str, got: float, is_known: bool
) -> None:
    lhs, rhs = (np.ones(4, bfloat16) for _ in range(2))
    lhs[0] = 256
    known = EntryPrediction("mine", ("dot_general",), ("bf16",), "", sums=sums)
    numbers = tensor_of(4, of="bf16")
    program = op_program(
        "dot_general", [numbers, numbers], tensor_of(of="bf16"),
        lhs_contracting_dimensions=(0,), rhs_contracting_dimensions=(0,),
    )  # fmt: skip
    found = judge_result(program, [lhs, rhs], np.asarray(got, bfloat16), known)
    assert (found.kind == "as computed by mine") is is_known
    assert found.verdict.fails


ROOM = """
%room = stablehlo.constant dense<$room> : tensor<$scatter_indices.Sxi64>
%last = stablehlo.convert %room : (tensor<$scatter_indices.Sxi64>) -> $scatter_indices
%far = stablehlo.constant dense<1000> : tensor<$scatter_indices.Sxi64>
%wide = stablehlo.convert %scatter_indices :
  ($scatter_indices) -> tensor<$scatter_indices.Sxi64>
%inside = stablehlo.compare LE, %scatter_indices, %last :
  ($scatter_indices, $scatter_indices) -> tensor<$scatter_indices.Sxi1>
%indices = stablehlo.select %inside, %wide, %far :
  tensor<$scatter_indices.Sxi1>, tensor<$scatter_indices.Sxi64>
%result = $op(%inputs.*, %indices: i64, %updates.*)
"""

OVERWRITE_TWO = """
func.func @main(%x: tensor<4xf32>, %i: tensor<3x1xi8>, %u: tensor<3x2xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = "stablehlo.scatter"(%x, %x, %i, %u, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    stablehlo.return %c, %d : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} :
    (tensor<4xf32>, tensor<4xf32>, tensor<3x1xi8>, tensor<3x2xf32>, tensor<3x2xf32>)
    -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
"""


def test_windows_outside_of_a_scatter_are_told_by_their_room() -> None:
    operation = parse_module(OVERWRITE_TWO).main.body.operations[0]
    x, updates = array([0, 0, 0, 0]), array([[1, 2], [3, 4], [5, 6]])
    indices = np.array([[0], [2], [3]], np.int8)
    found = evaluate(instantiate(ROOM, operation), [x, x, indices, updates, updates])
    assert [one.tolist() for one in found] == 2 * [[1, 2, 3, 4]]  # not the 5 of positions 3 and 4


OF_F32 = element_type("f32")


def test_a_slice_has_adjacent_elements() -> None:
    writer, x = OperationWriter("x"), Value("x", TensorType((2, 3), OF_F32))
    assert program_tensor_of(writer.slice(x, (1, 0), (2, 2))).shape == (1, 2)
    (operation,) = writer.operations
    assert operation.attribute("limit_indices") == (2, 2)
    assert operation.attribute("strides") == (1, 1)


def test_a_number_fills_dynamic_sizes() -> None:
    x = Value("x", TensorType((None, 2), OF_F32, bounds=(5, None)))
    writer = OperationWriter("y")
    filled = writer.fill_like(x, 7, OF_F32)
    assert program_tensor_of(filled).shape == (None, 2)
    body = Region((x,), (*writer.operations, Operation("return", (filled,))))
    program = Program((Function("main", body, (filled.type,)),))
    (found,) = evaluate(program, [np.ones((3, 2), np.float32)])
    assert found.tolist() == [[7, 7]] * 3


TWO_INDICES = """
func.func @main(%x: tensor<3x4xi32>, %i: tensor<i8>, %j: tensor<i8>) -> tensor<1x1xi32> {
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 1] :
    (tensor<3x4xi32>, tensor<i8>, tensor<i8>) -> tensor<1x1xi32>
  return %0 : tensor<1x1xi32>
}
"""

UNSIGNED = """
%unsigned.* = stablehlo.bitcast_convert %start_indices.* : ($start_indices.*) -> tensor<ui8>
%wide.* = stablehlo.convert %unsigned.* : (tensor<ui8>) -> tensor<i64>
%result = $op(%operand, %wide.*: i64)
"""


def test_stated_element_type_is_that_of_each_operand_of_several() -> None:
    numbers = np.arange(12, dtype=np.int32).reshape(3, 4)
    known = EntryPrediction("mine", ("dynamic_slice",), ("si32",), UNSIGNED)
    inputs = [numbers, np.asarray(-1, np.int8), np.asarray(-1, np.int8)]
    found = judge_result(parse_module(TWO_INDICES), inputs, numbers[2:, 3:], known)
    assert found.kind == "as computed by mine"
