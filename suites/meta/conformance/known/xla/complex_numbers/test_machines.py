"""Complex numbers as compilers compute with them: results that their formulas explain, and others.

The results are those of XLA's CPU, measured on jaxlib 0.10.2, except for corrupted results.
"""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG, rule_of
from conformance.judging.compare import judge, judge_operation
from conformance.judging.judgement import Judgement
from conformance.known.table import hypotheses_of_op
from conformance.known.xla.complex_numbers import functions, orders
from conformance.known.xla.complex_numbers.machines import Machine
from conformance.known.xla.complex_numbers.table import COMPLEX
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, Array
from suites.meta.support.small_programs import embed_inputs

INF, NAN = float("inf"), float("nan")

MEASURED = [
    ("sine", "f32", (-2.1546739e-15 + 1.0073553e-20j,), -2.1546739e-15, "digits cancelled"),
    ("cosine", "f64", (1.5707963267948966 + 1e-09j,),
     6.123233995736766e-17 - 1.000000082740371e-09j, "digits cancelled"),
    ("tanh", "f32", (0.001 + 1.5707j,), 990.8089599609375 + 95.39244079589844j,
     "digits cancelled"),
    ("exponential_minus_one", "f64", (-0.28405645677828284 - 0.0662939827811535j,),
     -0.2489293178977 - 0.04986453803437459j, "digits cancelled"),
    ("power", "f32", (-1 + 6.165713243029195e-44j, 38340493574144 + 0.6645078659057617j),
     -0.06339382380247116 - 0.10655016452074051j, "digits cancelled"),
    ("atan2", "f32", (-151.3466339111328j, 0.036614175885915756 + 1.628746044616148e26j),
     complex(NAN, INF), "overflow or underflow on the way"),
    ("atan2", "f64", (-1.664248731580919e146 - 1.2842128665889584e207j,
     1.1256771654481979e192 - 8.942338681704789e173j),
     complex(NAN, INF), "overflow or underflow on the way"),  # a product taken in unrounded
    ("atan2", "f32", (2.6621525e-20 + 1.4167199e-19j, 2.6621525e-20 + 1.4167199e-19j),
     0.59965444 - 0.03532458j, "overflow or underflow on the way"),
    ("atan2", "f32", (9.084206e-25 + 1.729528e-22j, 9.084206e-25 + 1.729528e-22j),
     0.78014576 - 0.008194162j, "overflow or underflow on the way"),  # of an NVIDIA H200
    ("divide", "f32", (3.4028234663852886e38 + 2.0194605784826862e36j,
     2.0194605784826862e36 - 3.4028234663852886e38j), complex(0, NAN),
     "overflow or underflow on the way"),
    ("divide", "f64", (-7.877545275911665e-67 - 4.7400727771839325e41j,
     8.988465674311579e307 + 9007199254740991j), complex(-0.0, 0), "reciprocal"),
    ("log", "f64", (0.768175071389422 + 2.3514162203180917e-254j,),
     -0.26373761427452136 + 3.061042082588039e-254j, "logarithm of few digits"),
    ("log", "f64", (-1 + 1.3000883057046e-311j,), complex(0, -np.pi), "subnormal taken for -0"),
    ("sqrt", "f32", (1.44e-43 + 2.1e-44j,), 3.8175259e-22 + 2.7530236e-23j,
     "overflow or underflow on the way"),  # as jaxlib 0.12 expands it for the TPU
    ("rsqrt", "f64", (-0.0016183047412777823 + 1.16837e-318j,),
     1.5221263449883215e-15 + 24.858209665808708j, "subnormal taken for -0"),
]  # fmt: skip


def judge_result(
    op: str, part: str, operands: tuple[complex, ...], actual: complex, *, folded: bool = False
) -> Judgement:
    """Return the judgement of a result of an op of complex numbers with such parts, constants or
    not.
    """
    of = ELEMENT_TYPES[f"complex<{part}>"]
    kind = TensorType((1,), of)
    values = tuple(Value(f"x{number}", kind) for number in range(len(operands)))
    program = single_op(op, values, (kind,))
    inputs = tuple(np.array([one], of.storage) for one in operands)
    if folded:
        program, inputs = embed_inputs(program, inputs), ()
    expected = evaluate(program, inputs)
    return judge_operation(program, inputs, expected, (np.array([actual], of.storage),))


@pytest.mark.parametrize(("op", "part", "operands", "actual", "label"), MEASURED)
def test_result_of_formula_has_its_class(
    op: str, part: str, operands: tuple[complex, ...], actual: complex, label: str
) -> None:
    of_constants = label == "reciprocal"
    found = judge_result(op, part, operands, actual, folded=of_constants)
    assert found.kind == label
    assert found.verdict in (Verdict.DIVERGENT, Verdict.INACCURATE)
    if of_constants:
        assert judge_result(op, part, operands, actual).kind == "wrong value"


@pytest.mark.parametrize(("op", "part", "operands", "actual", "label"), MEASURED)
def test_another_number_is_a_wrong_value(
    op: str, part: str, operands: tuple[complex, ...], actual: complex, label: str
) -> None:
    """The same operands do not make anything known."""
    del actual, label
    for wrong in (1.25 + 0.75j, -3.0 - 7.0j):
        assert judge_result(op, part, operands, wrong).kind == "wrong value"
    assert judge_result(op, part, operands, complex(INF, 3)).kind in ("infinity", "NaN")


def test_errors_without_cancellation_have_another_class() -> None:
    """A spoilt digit is no loss by cancellation where the terms are no larger than the result."""
    rng = np.random.default_rng(5)
    for op in ("exponential", "log", "sine", "cosine", "tanh", "sqrt", "rsqrt", "tan"):
        for part, spoilt in (("f32", 2.0**-17), ("f64", 2.0**-46)):
            z = complex(*rng.uniform(0.8, 1.2, 2))
            of = ELEMENT_TYPES[f"complex<{part}>"]
            kind = TensorType((1,), of)
            inputs = (np.array([z], of.storage),)
            (right,) = evaluate(single_op(op, (Value("x", kind),), (kind,)), inputs)
            found = judge_result(
                op, part, (complex(inputs[0][0]),), complex(right[0]) * (1 + spoilt)
            )
            assert found.kind == "accuracy", (op, part)


@pytest.mark.parametrize(
    ("part", "base", "exponent", "actual", "label"),
    [
        ("f32", (17576, -1.265625), -5, 5.9620815e-22 + 2.1466089e-25j, functions.CANCELLATION),
        # the sine of an angle of 1e-567 underflows
        ("f64", (1.5435591384693873e292, 1.3949620271120083e-275), -0.5481684478635342,
         6.783763732589316e-161 + 0j, functions.RANGE),
        ("f64", (1.5435591384693873e292, 1.3949620271120083e-275), -0.5481684478635342,
         6.783763732589316e-160 + 0j, "wrong value"),
    ],
)  # fmt: skip
def test_a_power_of_constants_may_be_the_exponential_of_a_product(
    part: str, base: tuple[float, float], exponent: float, actual: complex, label: str
) -> None:
    """XLA's results of powers of constants, which are 50 and 322 ulp off."""
    assert judge_result("power", part, (complex(*base), complex(exponent)), actual).kind in (
        "accuracy", "wrong value",
    )  # fmt: skip
    of = f"tensor<complex<{part}>>"
    program = parse_module(f"""
func.func @main() -> {of} {{
  %x = stablehlo.constant dense<({float(base[0])}, {float(base[1])})> : {of}
  %y = stablehlo.constant dense<({float(exponent)}, 0.0)> : {of}
  %0 = stablehlo.power %x, %y : {of}
  return %0 : {of}
}}""")
    got = (np.array(actual, ELEMENT_TYPES[f"complex<{part}>"].storage),)
    rule = rule_of(program.subject)
    assert rule is not None
    assert judge(program, (), evaluate(program, ()), got, rule).kind == label


def test_cancellation_is_bounded_by_size_of_terms() -> None:
    """sinh(b) as half a difference of exponentials is off by some units, not by thousands."""
    z = 0.0001 + 0.001j
    right = complex(np.sin(np.complex128(z)))
    for units, label in ((4, "digits cancelled"), (1000, "wrong value")):
        actual = complex(right.real, right.imag + units * 2.0**-24)
        assert judge_result("sine", "f32", (z,), actual).kind == label


def test_underflow_of_exact_operands_is_predicted_to_its_rounding() -> None:
    """The square of the operand is 21 times the smallest subnormal number, and has no error."""
    z = 9.084206e-25 + 1.729528e-22j
    for off, label in ((0, functions.RANGE), (1e-4, "wrong value"), (-1e-4j, "wrong value")):
        actual = 0.78014576 - 0.008194162j + off
        assert judge_result("atan2", "f32", (z, z), actual).kind == label


def test_compiled_formulas_explain_nothing_on_the_interpreter() -> None:
    for op, hypotheses in COMPLEX.items():
        assert {*hypotheses} <= {*hypotheses_of_op(op, Hardware.CPU, is_complex=True)}
        assert not {*hypotheses} & {*hypotheses_of_op(op, Hardware.CPU, is_complex=False)}
        assert not {*hypotheses} & {*hypotheses_of_op(op, Hardware.INTERPRETER, is_complex=True)}, (
            op
        )


def test_steps_bound_their_errors() -> None:
    machine = Machine(ELEMENT_TYPES["f32"])
    one, tiny = (machine.exactly(np.array([x])) for x in (1.0, 2.0**-30))
    assert (one - one).error == 0  # exact numbers have exact differences
    moved = one + tiny
    assert moved.value == 1
    assert 2.0**-30 < (moved - one).error < 2.0**-20
    with np.errstate(divide="ignore", invalid="ignore"):
        assert np.isinf((one / (moved - one)).error)
    square = machine.exactly(np.array([1e-30])) * machine.exactly(np.array([1e-30]))
    assert square.value == 0
    assert square.error > 0


ORDERED = [
    ("maximum", (1 + 2j, 1 + 3j), 1 + 2j, orders.LABEL),
    ("maximum", (1 + 2j, 1 + 3j), 1 + 4j, "wrong value"),
    ("maximum", (1 + 2j, 2 + 3j), 1 + 2j, "wrong value"),
    ("minimum", (1 + 3j, 1 + 2j), 1 + 3j, orders.LABEL),
    ("minimum", (1 + 3j, 2 + 2j), 2 + 2j, "wrong value"),
    ("clamp", (2j, 2j, 0j), 2j, orders.LABEL),
    ("clamp", (1 + 1j, -1 + 1j, 1 - 1j), 1 + 1j, orders.LABEL),
    ("clamp", (2j, 2j, 0j), 1j, "wrong value"),
    ("clamp", (1 + 1j, -1 + 1j, 1 - 1j), -1 + 1j, "wrong value"),
]


@pytest.mark.parametrize(("op", "operands", "actual", "label"), ORDERED)
def test_extrema_by_the_real_part_are_named(
    op: str, operands: tuple[complex, ...], actual: complex, label: str
) -> None:
    found = judge_result(op, "f32", operands, actual)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, label)


def test_extrema_of_scalars_are_named() -> None:
    kind = TensorType((), ELEMENT_TYPES["complex<f32>"])
    program = single_op("minimum", (Value("x", kind), Value("y", kind)), (kind,))
    inputs = (np.array(1 + 3j, np.complex64), np.array(1 + 2j, np.complex64))
    rule = rule_of(program.subject)
    assert rule is not None
    found = judge(program, inputs, evaluate(program, inputs), inputs[:1], rule)
    assert found.kind == orders.LABEL


@pytest.mark.parametrize(
    ("direction", "actual", "label"),
    [
        ("LT", [False, True], orders.LABEL),
        ("GE", [True, False], orders.LABEL),
        ("LE", [True, True], ""),
        ("LT", [True, False], "wrong value"),
        ("GE", [False, True], "wrong value"),
        ("LE", [False, True], "wrong value"),
        ("EQ", [True, False], "wrong value"),
        ("NE", [False, True], "wrong value"),
    ],
)
def test_comparisons_by_the_real_part_are_named(
    direction: str, actual: list[bool], label: str
) -> None:
    program = parse_module(
        "func.func @main(%x: tensor<2xcomplex<f32>>, %y: tensor<2xcomplex<f32>>) -> tensor<2xi1> {"
        f" %0 = stablehlo.compare {direction}, %x, %y, FLOAT"
        " : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>"
        " return %0 : tensor<2xi1> }"
    )
    inputs = (np.array([1 + 2j, 1 + 2j], np.complex64), np.array([1 + 3j, 2 + 1j], np.complex64))
    rule = rule_of(program.subject)
    assert rule is not None
    found = judge(program, inputs, evaluate(program, inputs), (np.array(actual),), rule)
    assert found.kind == label


def judge_transform(x: Array, kind: str, lengths: list[int], actual: Array) -> Judgement:
    """Return the judgement of a Fourier transform."""
    spelled = "x".join(map(str, x.shape)) + "xcomplex<f32>"
    program = parse_module(
        f"func.func @main(%x: tensor<{spelled}>) -> tensor<{spelled}> {{"
        f" %0 = stablehlo.fft %x, type = {kind}, length = {lengths}"
        f" : (tensor<{spelled}>) -> tensor<{spelled}>"
        f" return %0 : tensor<{spelled}> }}"
    )
    rule = CATALOG["fft"].tolerance
    return judge(program, (x,), evaluate(program, (x,)), (actual,), rule)


@pytest.mark.parametrize("kind", ["FFT", "IFFT"])
def test_a_transform_of_a_part_is_named(kind: str) -> None:
    """The leading corner of each of two images, one behind the other, and then memory."""
    rng = np.random.default_rng(1)
    x = (rng.normal(size=(2, 3, 4)) + 1j * rng.normal(size=(2, 3, 4))).astype(np.complex64)
    by = np.fft.fftn if kind == "FFT" else np.fft.ifftn
    begun = by(x[:, :2, :3], axes=(1, 2)).astype(np.complex64)
    actual = np.full(24, complex(NAN, 1e30), np.complex64)
    actual[:12] = begun.reshape(-1)
    found = judge_transform(x, kind, [2, 3], actual.reshape(x.shape))
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "transform of a part")
    actual[0] += 0.1
    assert judge_transform(x, kind, [2, 3], actual.reshape(x.shape)).kind != "transform of a part"


def test_a_wrong_transform_of_the_whole_is_not_of_a_part() -> None:
    x = np.arange(1, 9).astype(np.complex64)
    right = np.fft.fft(x).astype(np.complex64)
    for wrong in (right[::-1], np.concatenate([np.fft.fft(x[:4]), x[:4]]).astype(np.complex64)):
        assert judge_transform(x, "FFT", [8], wrong).kind == "wrong value"
    assert judge_transform(x, "FFT", [4], right).verdict is Verdict.PASS


def test_every_class_is_one_of_a_compiled_formula() -> None:
    labels = {one.label for found in COMPLEX.values() for one in found}
    assert labels == {*functions.CLASSES, orders.LABEL}
