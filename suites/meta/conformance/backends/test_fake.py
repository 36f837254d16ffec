"""The fake backend has the requested fault, and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.backends.base import Rejected, Unsupported
from conformance.backends.fake import wrong_operations as wrong
from conformance.backends.fake.computation import Computation
from conformance.backends.fake.faults import FAULTS
from conformance.backends.fake.wrong_programs import constants_multiplied_first
from conformance.backends.session import open_session
from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.stablehlo.parse import parse_module
from conformance.transforms.merge import merge
from conformance.verdict import Verdict
from generators.cells.plan import cases
from generators.regions.bodies import BodyBuilder
from generators.values.contents import materialise
from reference.interpreter.evaluate import apply, evaluate
from reference.ir.program import Dense, Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, Array, element_type, element_type_of
from reference.ops.table import OPS
from suites.meta.support.small_programs import are_same, array, execute, op_program, tensor_of


def specials(of: str) -> Array:
    """Return zeros, a subnormal, normal numbers, infinity, NaN and a tie, if the type has them."""
    kind = ELEMENT_TYPES[of]
    if kind.is_integer:
        return array([0, 1, kind.max_integer - 1, kind.min_integer + 3, 77, 5], of)
    form = kind.float_format
    values = [0.0, -0.0, form.smallest, -form.smallest_normal * 3, 1.5, form.max_finite]
    values += [np.inf] if form.has_infinity else [2.0]
    values += [np.nan] if form.has_nan else [3.0]
    return array(values, of)


def binary_op(op: str, of: str, rhs: Array | None = None, result: str | None = None, **given):
    """Return a program of a binary op, with special values and their reverse as inputs."""
    lhs = specials(of)
    rhs = lhs[::-1].copy() if rhs is None else rhs
    types = [TensorType(a.shape, element_type_of(a)) for a in (lhs, rhs)]
    return op_program(op, types, tensor_of(*lhs.shape, of=result or of), **given), (lhs, rhs)


def unary_op(op: str, values: Array, result: str | None = None, **given):
    """Return a program of a unary op, with these values as inputs."""
    of = element_type_of(values)
    return op_program(
        op, [TensorType(values.shape, of)], tensor_of(*values.shape, of=result or of.name), **given
    ), (values,)


FOLDED = op_program("add", [tensor_of(3), Dense.of(array([1, 2, 3]), tensor_of(3))], tensor_of(3))


GATHERED = op_program(
    "gather", [tensor_of(300), tensor_of(1, of="si32")], tensor_of(1), offset_dims=(0,),
    collapsed_slice_dims=(), operand_batching_dims=(), start_indices_batching_dims=(),
    start_index_map=(0,), index_vector_dim=0, slice_sizes=(1,), indices_are_sorted=False,
)  # fmt: skip


EQUAL = {"comparison_direction": "EQ", "compare_type": "FLOAT"}


TWICE = array([1 + 2**-8 + 2**-40], "f64")


SEEN: dict[str, tuple[tuple[Program, tuple[Array, ...]], Verdict]] = {
    "wrong_zero_sign": (unary_op("floor", specials("f32")), Verdict.DIVERGENT),
    "flush_to_zero": (binary_op("multiply", "f32", np.ones(8, np.float32)), Verdict.FLUSHED),
    "denormal_inputs_zero": (binary_op("multiply", "f32", np.ones(8, np.float32)), Verdict.FLUSHED),
    "compare_denormals_as_zero": (
        binary_op("maximum", "f32", np.full(8, -1e-45, np.float32)), Verdict.FLUSHED,
    ),
    "tanh_clamped": (unary_op("tanh", array([0.5, 12, -3], "f64")), Verdict.DIVERGENT),
    "reciprocal_division": (
        binary_op("divide", "f32", np.full(8, 49, np.float32)), Verdict.INACCURATE,
    ),
    "indices_of_8_bits": (
        (GATHERED, (np.arange(300, dtype=np.float32), array([257], "si32"))),
        Verdict.DIVERGENT,
    ),
    "off_by_three_ulp": (binary_op("add", "f32", np.ones(8, np.float32)), Verdict.INACCURATE),
    "off_by_100_ulp": (unary_op("exponential", array([0.5, 1, -3])), Verdict.INACCURATE),
    "low_precision": (binary_op("multiply", "f32", array([1.2345] * 8)), Verdict.INACCURATE),
    "nan_dropped": (unary_op("sqrt", specials("f16")), Verdict.DIVERGENT),
    "infinity_dropped": (unary_op("sqrt", specials("f16")), Verdict.DIVERGENT),
    "sign_lost": (unary_op("floor", array([-2.5, 2.5])), Verdict.DIVERGENT),
    "nan_equal": (
        binary_op("compare", "f32", specials("f32"), "i1", **EQUAL), Verdict.DIVERGENT,
    ),
    "saturating_arithmetic": (binary_op("add", "si8", specials("si8")), Verdict.DIVERGENT),
    "saturating_conversion": (unary_op("convert", array([1e6, -1e6]), "f16"), Verdict.DIVERGENT),
    "wrong_tie_rounding": (
        unary_op("round_nearest_even", array([0.5, 2.5, -4.5])), Verdict.DIVERGENT,
    ),
    "double_rounding": (unary_op("convert", TWICE, "bf16"), Verdict.INACCURATE),
    "transposed_operands": (binary_op("subtract", "si32"), Verdict.DIVERGENT),
    "wrong_constant_folding": ((FOLDED, (array([3, 4, 5]),)), Verdict.DIVERGENT),
    "integer_truncated_to_32_bits": (unary_op("negate", specials("si64")), Verdict.DIVERGENT),
    "unsigned_as_signed": (binary_op("maximum", "ui8", array([200] * 6, "ui8")), Verdict.DIVERGENT),
    "shift_arithmetic": (
        binary_op("shift_right_logical", "si32", array([1] * 6, "si32")), Verdict.DIVERGENT,
    ),
    "floor_division": (binary_op("divide", "si32", array([2] * 6, "si32")), Verdict.DIVERGENT),
    "complex_parts_swapped": (
        unary_op("negate", array([1 + 2j, 3 - 4j], "complex<f32>")), Verdict.DIVERGENT,
    ),
    "one_wrong_element": (
        unary_op("negate", np.arange(10**6, dtype=np.float32)), Verdict.DIVERGENT,
    ),
    "off_by_one_last_element": (unary_op("negate", specials("si32")), Verdict.DIVERGENT),
    "reversed_elements": (unary_op("negate", specials("si32")), Verdict.DIVERGENT),
    "tail_not_written": (unary_op("negate", np.arange(2000, dtype=np.int32)), Verdict.DIVERGENT),
    "nan_not_written": (unary_op("sqrt", specials("f32")), Verdict.DIVERGENT),
    "booleans_inverted": (unary_op("is_finite", specials("f32"), "i1"), Verdict.DIVERGENT),
    "wrong_shape": (unary_op("negate", specials("f32")), Verdict.DIVERGENT),
    "wrong_type": (unary_op("negate", specials("si32")), Verdict.DIVERGENT),
    "missing_result": (unary_op("negate", specials("si32")), Verdict.DIVERGENT),
    "extra_result": (unary_op("negate", specials("si32")), Verdict.DIVERGENT),
    "shift_masked": (binary_op("shift_left", "si32", array([33] * 6, "si32")), Verdict.UNSPECIFIED),
    "other_nans": (unary_op("sqrt", specials("f32")), Verdict.PASS),
}  # fmt: skip
"""Programs that show each fault, with the verdict."""


def _verdict_on(fault: str, program: Program, inputs: tuple[Array, ...]) -> Verdict:
    rule = CATALOG[program.subject.name].tolerance
    right = execute("reference", program, *inputs)
    return judge(
        program, inputs, right, execute(f"reference:{fault}", program, *inputs), rule
    ).verdict


@pytest.mark.parametrize("fault", sorted(SEEN))
def test_a_fault_shows_and_gets_its_verdict(fault):
    (program, inputs), verdict = SEEN[fault]
    assert not are_same(
        execute("reference", program, *inputs), execute(f"reference:{fault}", program, *inputs)
    )
    assert _verdict_on(fault, program, inputs) is verdict


def test_ties_go_away_from_zero_in_every_rounding():
    tie, reduced = 1 + 2**-11, {"exponent_bits": 8, "mantissa_bits": 2}
    cases_of_ties = [
        (unary_op("convert", array([tie, -tie, 0.5]), "f16"), [1 + 2**-10, -1 - 2**-10, 0.5]),
        (unary_op("convert", array([2049, 2051, -2049], "si32"), "f16"), [2050, 2052, -2050]),
        (
            unary_op("reduce_precision", array([1.125, 1.25, -1.375]), **reduced),
            [1.25, 1.25, -1.5],
        ),
    ]
    for (program, inputs), want in cases_of_ties:
        assert execute("reference:wrong_tie_rounding", program, *inputs)[0].tolist() == want
    total = op_program("add", [tensor_of(1, of="f16")] * 2, tensor_of(1, of="f16"))
    terms = array([1], "f16"), array([2**-11], "f16")
    assert execute("reference:wrong_tie_rounding", total, *terms)[0].tolist() == [1 + 2**-10]


def test_faults_of_batches_and_of_repetition():
    program, inputs = unary_op("negate", specials("si32"))
    right = execute("reference", program, *inputs)
    batch = merge([program, program])
    assert are_same(execute("reference:batch_only", program, *inputs), right)
    assert not are_same(execute("reference:batch_only", batch, *inputs, *inputs), right * 2)
    for fault, other in [("flaky", inputs), ("stale_result", (inputs[0] + 1,))]:
        compiled = open_session(f"reference:{fault}").compile(program)
        assert are_same(compiled.run(inputs), right)
        assert not are_same(compiled.run(other), execute("reference", program, *other))


def test_invalid_programs_are_rejected_except_by_a_fault():
    invalid = op_program("add", [tensor_of(2), tensor_of(2)], tensor_of(3))
    with pytest.raises(Rejected, match="add breaks"):
        open_session("reference").compile(invalid)
    open_session("reference:accepts_invalid").compile(invalid)
    with pytest.raises(Unsupported, match="does not implement frobnicate"):
        open_session("reference").compile(op_program("frobnicate", [tensor_of(2)], tensor_of(2)))


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(op for op in CATALOG if OPS[op].lower is None))
def test_harmless_backends_are_never_accused(op):
    types = OPS[op].element_types
    harmless = [name for name, fault in FAULTS.items() if fault.harmless and name != "noisy"]
    for of in (types[0], types[len(types) // 2], types[-1]):
        for case in cases(op, of, 5, 2):
            inputs = materialise(case.program, case.inputs[0])
            for fault in harmless:
                assert not _verdict_on(fault, case.program, inputs).fails


F32 = element_type("f32")


def computation(op: str, *operands: Array, to: str = "f32", of: str = "", **given: Any):
    """Return a right computation; `of` is the operands' element type, `to` by default."""
    types = [tensor_of(*operand.shape, of=of or to) for operand in operands]
    program = op_program(op, types, tensor_of(*operands[0].shape, of=to), **given)
    results = apply(program.subject, operands)
    return Computation(program, program.subject, operands, results, {})


# --- Elements ------------------------------------------------------------------------------------


# --- Subnormal numbers ---------------------------------------------------------------------------


# --- Integers ------------------------------------------------------------------------------------


# --- Rounding and NaN ----------------------------------------------------------------------------


# --- Constants and bodies ------------------------------------------------------------------------


@pytest.mark.parametrize(("last", "result"), [("abs", 7), ("reshape", 0)])
def test_bodies_with_ops_that_are_not_elementwise_return_their_first_arguments(
    last: str, result: float
) -> None:
    """The sum of 1, 2 and 4 or, of first arguments only, the init value."""
    body = BodyBuilder.of(F32, F32)
    total = body.op("add", *body.arguments, to=F32)
    region = body.finish_region(body.op(last, total, to=F32))
    values = Value("x", tensor_of(3)), Value("i", tensor_of())
    program = single_op("reduce", values, (tensor_of(),), {"dimensions": (0,)}, (region,))
    given = array([1.0, 2.0, 4.0]), array(0.0)
    right = apply(program.subject, given)
    assert right[0].item() == 7
    made = Computation(program, program.subject, given, right, {})
    (found,) = wrong.drop_bodies(made, given)
    assert found.item() == result


PRODUCTS = """
func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {{
  %c = {first}
  %d = {second}
  %0 = stablehlo.multiply %x, %c : tensor<1xf32>
  %1 = stablehlo.multiply %0, %d : tensor<1xf32>
  return %1 : tensor<1xf32>
}}"""
CONSTANT = "stablehlo.constant dense<{}> : tensor<1xf32>"


def two_products(first: str, second: str) -> Program:
    return parse_module(PRODUCTS.format(first=first, second=second))


def test_constants_are_multiplied_with_each_other_first() -> None:
    """1e-20 (1e30 1e20) overflows, (1e-20 1e30) 1e20 does not."""
    program = two_products(CONSTANT.format("1.0e30"), CONSTANT.format("1.0e20"))
    x = array([1e-20])
    assert evaluate(program, [x])[0] < 1e31
    assert evaluate(constants_multiplied_first(program), [x])[0] > 1e38


def test_a_product_with_a_number_that_is_computed_stays() -> None:
    constant, computed = CONSTANT.format(2.0), "stablehlo.negate %x : tensor<1xf32>"
    for program in (two_products(constant, computed), two_products(computed, constant)):
        assert constants_multiplied_first(program) == program


def test_unsigned_operands_are_read_as_signed_where_that_matters() -> None:
    x, y = array([200], "ui8"), array([2], "ui8")
    assert faulty(wrong.unsigned_as_signed, "divide", x, y, to="ui8") == [228]  # -56 / 2
    assert faulty(wrong.unsigned_as_signed, "add", x, y, to="ui8") == [202]
    assert faulty(wrong.unsigned_as_signed, "convert", x, of="ui8") == [-56]
    assert faulty(
        wrong.unsigned_as_signed, "compare", x, y, of="ui8", to="i1",
        comparison_direction="LT", compare_type="UNSIGNED",
    ) == [True]  # fmt: skip


def faulty(fault: wrong.Wrong, op: str, *operands: Array, **given: Any) -> list[Any]:
    (result,) = fault(computation(op, *operands, **given), operands)
    return result.tolist()
