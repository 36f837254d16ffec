"""Divergences of the interpreter: models predict them to the last bit, and explain no more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from conformance.backends.interpreter.backend import InterpreterBackend
from conformance.backends.session import Session
from conformance.catalog import rule_of
from conformance.judging.compare import judge
from conformance.judging.judgement import Judgement
from conformance.known import e8m0_nans
from conformance.known.interpreter import indices, libm, orders
from conformance.known.interpreter.table import INTERPRETER
from conformance.known.table import hypotheses_of_op
from conformance.known.xla.sums_of_products.products import NOT_KEPT
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array, element_type, from_bits


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(InterpreterBackend())


def judge_both(session: Session, text: str, inputs: Sequence[Array]) -> tuple[Judgement, Judgement]:
    """Return the judgements of the interpreter's results, and of these with one element changed."""
    program = parse_module(text)
    expected = evaluate(program, inputs)
    actual = session.compile(program).run(inputs)
    rule = rule_of(program.subject)
    assert rule is not None

    def judge_result(results: Sequence[Array]) -> Judgement:
        return judge(program, inputs, expected, results, rule, platform=Hardware.INTERPRETER)

    spoilt = np.array(actual[0])
    largest = np.argmax(np.abs(np.nan_to_num(spoilt.astype(np.complex128))))
    spoilt.reshape(-1)[largest] = -spoilt.reshape(-1)[largest]
    return judge_result(actual), judge_result([spoilt, *actual[1:]])


def values(name: str, shape: tuple[int, ...], seed: int = 1, spread: float = 3) -> Array:
    of = element_type(name)
    numbers = np.random.default_rng(seed).normal(0, spread, shape)
    return numbers.astype(of.storage)


PRODUCTS = {
    "dot_general": (
        """func.func @main(%x: tensor<3x40xT>, %y: tensor<40x5xT>) -> tensor<3x5xT> {
          %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
            : (tensor<3x40xT>, tensor<40x5xT>) -> tensor<3x5xT>
          return %0 : tensor<3x5xT>
        }""",
        ((3, 40), (40, 5)),
    ),
    "a batch, two dimensions contracted": (
        """func.func @main(%x: tensor<6x2x3x8xT>, %y: tensor<8x2x5x6xT>) -> tensor<2x3x5xT> {
          %0 = stablehlo.dot_general %x, %y, batching_dims = [1] x [1],
            contracting_dims = [3, 0] x [0, 3]
            : (tensor<6x2x3x8xT>, tensor<8x2x5x6xT>) -> tensor<2x3x5xT>
          return %0 : tensor<2x3x5xT>
        }""",
        ((6, 2, 3, 8), (8, 2, 5, 6)),
    ),
    "a convolution of reversed windows": (
        """func.func @main(%x: tensor<2x9x8x4xT>, %y: tensor<3x4x4x6xT>) -> tensor<2x4x6x6xT> {
          %0 = stablehlo.convolution(%x, %y)
            dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
            window = {stride = [2, 1], pad = [[1, 0], [0, 1]], reverse = [1, 0]}
            {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
            : (tensor<2x9x8x4xT>, tensor<3x4x4x6xT>) -> tensor<2x4x6x6xT>
          return %0 : tensor<2x4x6x6xT>
        }""",
        ((2, 9, 8, 4), (3, 4, 4, 6)),
    ),
    "a convolution in groups": (
        """func.func @main(%x: tensor<2x9x8xT>, %y: tensor<5x4x6xT>) -> tensor<2x5x6xT> {
          %0 = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
            window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
            : (tensor<2x9x8xT>, tensor<5x4x6xT>) -> tensor<2x5x6xT>
          return %0 : tensor<2x5x6xT>
        }""",
        ((2, 9, 8), (5, 4, 6)),
    ),
}


@pytest.mark.parametrize("name", ["bf16", "f8E4M3FN", "f6E3M2FN"])
@pytest.mark.parametrize("which", list(PRODUCTS))
def test_products_are_added_one_by_one(session: Session, which: str, name: str) -> None:
    text, shapes = PRODUCTS[which]
    # sums beyond the largest number of a type without infinity are open
    inputs = [values(name, shape, seed, spread=1) for seed, shape in enumerate(shapes)]
    found, spoilt = judge_both(session, text.replace("xT>", f"x{name}>"), inputs)
    assert found.verdict.fails
    assert {kind for _, kind in found.findings} == {"products added one by one"}
    assert {kind for _, kind in spoilt.findings} != {"products added one by one"}


RAGGED = {
    "rows": ((2, 4, 5, 6), (4, 4, 6), "[2]", "[0]", "[0]"),
    "depth": ((4, 5, 6), (2, 4, 4, 6), "[1]", "[2]", "[]"),
}
"""Shapes of rhs and of the result, and the contracting, ragged and group dimensions."""


@pytest.mark.parametrize(("name", "dtype"), [("f32", np.float32), ("i32", np.int32)])
@pytest.mark.parametrize("which", list(RAGGED))
def test_group_sizes_are_misread_along_the_first_dimensions(
    session: Session, which: str, name: str, dtype: type
) -> None:
    rhs, result, contracting, ragged, group = RAGGED[which]
    batching = "[0]" if which == "depth" else "[1]"
    y, to = (f"tensor<{'x'.join(map(str, shape))}x{name}>" for shape in (rhs, result))
    text = f"""func.func @main(%x: tensor<4x4x5x{name}>, %y: {y}, %g: tensor<4x2xi32>) -> {to} {{
      %0 = "chlo.ragged_dot"(%x, %y, %g) <{{ragged_dot_dimension_numbers = #chlo.ragged_dot<
        lhs_batching_dimensions = [1], rhs_batching_dimensions = {batching},
        lhs_contracting_dimensions = [2], rhs_contracting_dimensions = {contracting},
        lhs_ragged_dimensions = {ragged}, rhs_group_dimensions = {group}>}}>
        : (tensor<4x4x5x{name}>, {y}, tensor<4x2xi32>) -> {to}
      return %0 : {to}
    }}"""
    generator = np.random.default_rng(1)
    inputs = [generator.integers(-8, 8, shape).astype(dtype) for shape in ((4, 4, 5), rhs)]
    sizes = np.array([[1, 3], [2, 0], [0, 4], [3, 2]], np.int32)
    found, spoilt = judge_both(session, text, [*inputs, sizes])
    assert {kind for _, kind in found.findings} == {"group sizes of the first dimensions"}
    assert {kind for _, kind in spoilt.findings} != {"group sizes of the first dimensions"}


ELEMENTWISE = {
    "constant over the largest number": [
        ("ceil", "f8E3M4"),
        ("floor", "f6E2M3FN"),
        ("round_nearest_even", "f8E3M4"),
        ("round_nearest_afz", "f6E2M3FN"),
    ],
    "bits of another format": [
        ("reduce_precision", "f8E5M2FNUZ"),
        ("reduce_precision", "f8E4M3FNUZ"),
        ("reduce_precision", "f8E4M3B11FNUZ"),
        ("reduce_precision", "f8E8M0FNU"),
    ],
    "textbook formula": [
        ("logistic", "f8E3M4"),
        ("logistic", "f8E4M3B11FNUZ"),
        ("logistic", "f8E5M2FNUZ"),
    ],
}

FORMS = {
    "logistic": (
        " {result_accuracy = #stablehlo.result_accuracy<ulps = 1, "
        "mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}"
    ),
    "reduce_precision": ", format = e3m1",
}
"""Attributes that follow the operand."""


@pytest.mark.parametrize(
    ("kind", "op", "name"), [(kind, *one) for kind, cases in ELEMENTWISE.items() for one in cases]
)
def test_every_number_of_a_type_is_predicted(
    session: Session, kind: str, op: str, name: str
) -> None:
    of = element_type(name)
    numbers = from_bits(np.arange(1 << of.bits, dtype=np.uint8), of)
    spelled = f"tensor<{len(numbers)}x{name}>"
    text = f"""func.func @main(%x: {spelled}) -> {spelled} {{
      %0 = stablehlo.{op} %x{FORMS.get(op, "")} : {spelled}
      return %0 : {spelled}
    }}"""
    found, _ = judge_both(session, text, [numbers])
    assert found.verdict.fails
    assert {said for _, said in found.findings} == {kind}


SLICES = {
    "dynamic_slice": """func.func @main(%x: tensor<200x3xf32>, %i: tensor<ui8>, %j: tensor<ui8>)
        -> tensor<2x2xf32> {
      %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 2]
        : (tensor<200x3xf32>, tensor<ui8>, tensor<ui8>) -> tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }""",
    "dynamic_update_slice": """func.func @main(%x: tensor<200x3xf32>, %i: tensor<ui8>,
        %j: tensor<ui8>) -> tensor<200x3xf32> {
      %u = stablehlo.constant dense<7.0> : tensor<2x2xf32>
      %0 = stablehlo.dynamic_update_slice %x, %u, %i, %j
        : (tensor<200x3xf32>, tensor<2x2xf32>, tensor<ui8>, tensor<ui8>) -> tensor<200x3xf32>
      return %0 : tensor<200x3xf32>
    }""",
}


@pytest.mark.parametrize("op", list(SLICES))
def test_unsigned_indices_are_misread_as_signed(session: Session, op: str) -> None:
    x = np.arange(600, dtype=np.float32).reshape(200, 3)
    found, spoilt = judge_both(
        session, SLICES[op], [x, np.array(150, np.uint8), np.array(1, np.uint8)]
    )
    assert found.findings == ((Verdict.DIVERGENT, "unsigned index taken for signed"),)
    assert "unsigned index taken for signed" not in {kind for _, kind in spoilt.findings}
    found, _ = judge_both(session, SLICES[op], [x, np.array(100, np.uint8), np.array(1, np.uint8)])
    assert found.verdict is Verdict.PASS


def test_unsigned_scatter_indices_are_misread_as_signed(session: Session) -> None:
    text = """func.func @main(%x: tensor<200xi32>, %i: tensor<2x1xui8>, %u: tensor<2xi32>)
        -> tensor<200xi32> {
      %0 = "stablehlo.scatter"(%x, %i, %u) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        stablehlo.return %b : tensor<i32>
      }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
          scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
        : (tensor<200xi32>, tensor<2x1xui8>, tensor<2xi32>) -> tensor<200xi32>
      return %0 : tensor<200xi32>
    }"""
    inputs = [np.zeros(200, np.int32), np.array([[150], [3]], np.uint8), np.array([5, 6], np.int32)]
    found, spoilt = judge_both(session, text, inputs)
    assert found.findings == ((Verdict.DIVERGENT, "unsigned index taken for signed"),)
    assert len(spoilt.findings) > 1


@pytest.mark.parametrize("dimension", [1, -1])
@pytest.mark.parametrize("stable", ["true", "false"])
def test_total_order_sort_puts_nans_anywhere(session: Session, stable: str, dimension: int) -> None:
    text = f"""func.func @main(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {{
      %0 = "stablehlo.sort"(%x) ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }}) {{dimension = {dimension} : i64, is_stable = {stable}}}
        : (tensor<2x6xf32>) -> tensor<2x6xf32>
      return %0 : tensor<2x6xf32>
    }}"""
    rows = [[3.0, np.nan, 1.0, 2.0, np.nan, 0.0], [5.0, 0.0, -0.0, 1.0, 2.0, -1.0]]
    found, spoilt = judge_both(session, text, [np.array(rows, np.float32)])
    assert found.findings == ((Verdict.DIVERGENT, "total order not kept"),)
    assert (Verdict.DIVERGENT, "no permutation of the elements") in spoilt.findings


def test_transforms_are_sums_of_terms_whose_angles_are_rounded(session: Session) -> None:
    text = """func.func @main(%x: tensor<100xcomplex<f64>>) -> tensor<100xcomplex<f64>> {
      %0 = stablehlo.fft %x, type = FFT, length = [100]
        : (tensor<100xcomplex<f64>>) -> tensor<100xcomplex<f64>>
      return %0 : tensor<100xcomplex<f64>>
    }"""
    found, spoilt = judge_both(session, text, [np.ones(100, np.complex128)])
    assert {kind for _, kind in found.findings} == {"direct sum of a transform"}
    assert len({kind for _, kind in spoilt.findings}) > 1


FORMULAS = {
    "atan2": [(1e200 + 1j, 1e200 + 2j), (1e-30 + 1e-20j, 1 + 1e-5j)],
    "cbrt": [(1e200 + 1j,), (-1e-200 + 1e-190j,)],
    "divide": [
        (4.687729675114607 + 2.8461807001963795j, -9.541938364555943e307 - 9.740473366768577e307j),
        (4.819145963e-315 + 1.49825e-319j, 4.81914596e-315 + 1.4983e-319j),
    ],
    "exponential_minus_one": [(1e-12 + 1e-12j,)],
    "log_plus_one": [(complex(-2.5, -0.0),)],
    "multiply": [(5.525745785011976e153 - 1.388554818843407e154j,) * 2],
    "power": [(1j, 34100958211.5 + 107.5j)],
}


@pytest.mark.parametrize("op", list(FORMULAS))
def test_complex_functions_by_their_formulas(session: Session, op: str) -> None:
    for numbers in FORMULAS[op]:
        of = "tensor<1xcomplex<f64>>"
        names = [f"%x{number}" for number in range(len(numbers))]
        taken = ", ".join(f"{name}: {of}" for name in names)
        text = f"""func.func @main({taken}) -> {of} {{
          %0 = stablehlo.{op} {", ".join(names)} : {of}
          return %0 : {of}
        }}"""
        inputs = [np.array([number], np.complex128) for number in numbers]
        found, _ = judge_both(session, text, inputs)
        assert {kind for _, kind in found.findings} == {"textbook formula"}


LIBRARY = {
    "cbrt": ("f64", np.array([0.024752615475083655, -0.0, 8.0])),
    "tan": ("complex<f64>", np.array([-2.408598486139618 + 3.292999666498945j, 1 + 0j])),
    "tanh": ("complex<f64>", np.array([-3.292999666498945 - 2.408598486139618j, 1j])),
}
"""By function, its element type and numbers. At the first number the C library exceeds the
permitted error.
"""


@pytest.mark.parametrize("op", list(LIBRARY))
def test_functions_of_the_library_are_predicted_to_the_last_bit(session: Session, op: str) -> None:
    of, numbers = LIBRARY[op]
    spelled = f"tensor<{len(numbers)}x{of}>"
    text = f"""func.func @main(%x: {spelled}) -> {spelled} {{
      %0 = stablehlo.{op} %x : {spelled}
      return %0 : {spelled}
    }}"""
    program = parse_module(text)
    operation, expected = program.subject, evaluate(program, [numbers])
    actual = session.compile(program).run([numbers])
    (hypothesis,) = (one for one in INTERPRETER[op] if one.label == libm.BY_LIBRARY.label)
    (errors,) = hypothesis.errors(operation, (numbers,), tuple(expected), tuple(actual))
    assert not errors.any()
    off = np.nextafter(actual[0].view(np.float64), np.inf).view(actual[0].dtype)
    (errors,) = hypothesis.errors(operation, (numbers,), tuple(expected), (off,))
    assert np.isinf(errors).all()
    found, spoilt = judge_both(session, text, [numbers])
    assert found.findings == ((Verdict.INACCURATE, "function of the C library"),)
    assert len(spoilt.findings) > 1


def test_models_apply_to_the_interpreter_only() -> None:
    shared = {e8m0_nans.LABEL, indices.LABEL, NOT_KEPT, orders.LABEL}  # XLA does so, too
    for op, models in INTERPRETER.items():
        labels = {one.label for one in models} - shared
        assert not labels & {
            one.label for one in hypotheses_of_op(op, Hardware.CPU, is_complex=True)
        }


def test_nan_of_powers_of_two_in_regions() -> None:
    text = """func.func @main(%x: tensor<3xf8E8M0FNU>) -> tensor<3xf32> {
      %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f8E8M0FNU>):
        %1 = stablehlo.CALLED %a : tensor<f8E8M0FNU>
        %2 = stablehlo.convert %1 : (tensor<f8E8M0FNU>) -> tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<3xf8E8M0FNU>) -> tensor<3xf32>
      return %0 : tensor<3xf32>
    }"""
    inputs = (np.array([np.nan, 1, 4]).astype(element_type("f8E8M0FNU").storage),)
    for called, number in (("sqrt", np.inf), ("logistic", 1.0), ("rsqrt", 2.0**-127)):
        program = parse_module(text.replace("CALLED", called))
        (right,) = evaluate(program, inputs)
        rule = rule_of(program.subject)
        assert rule is not None
        for wrong, kind in ((number, e8m0_nans.LABEL), (3.0, "NaN")):
            actual = np.where(np.isnan(right), np.float32(wrong), right)
            found = judge(program, inputs, [right], [actual], rule, platform=Hardware.INTERPRETER)
            assert found.kind == kind, called
