"""Fourier transforms: against the sum that defines them, in many digits; the rule."""

import itertools

import mpmath
import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from generators.values.contents import fill
from generators.values.shaped_values import fill_shaped
from reference.interpreter.evaluate import evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, element_type_of
from reference.ops.fft import count_bins, fft
from reference.unspecified.table import unspecified_elements

TRANSFORMED = RULES["Fourier transform"]
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 23, 30, 37)


def complex_values(name, shape, seed=1):
    return fill(TensorType(shape, ELEMENT_TYPES[name]), "unit", seed)


def program(operand, result, kind, lengths):
    of = TensorType(operand.shape, element_type_of(operand))
    to = TensorType(result.shape, element_type_of(result))
    given = {"fft_type": kind, "fft_length": tuple(lengths)}
    return single_op("fft", (Value("operand", of),), (to,), given)


def definition(x, sign):
    """Return the sum over all dimensions, element by element, in mpmath's precision."""
    found = np.empty(x.shape, object)
    for k in np.ndindex(*x.shape):
        total = mpmath.mpc(0)
        for j in np.ndindex(*x.shape):
            turns = sum(mpmath.mpf(a * b % n) / n for a, b, n in zip(j, k, x.shape, strict=True))
            total += mpmath.mpc(complex(x[j])) * mpmath.expjpi(sign * 2 * turns)
        found[k] = total if sign < 0 else total / x.size
    return found


def norm(numbers):
    return mpmath.sqrt(sum(abs(mpmath.mpc(one)) ** 2 for one in numbers.reshape(-1)))


def assert_close(result, want):
    """Return all parts are nearest or next to it, except for losses next to larger elements."""
    element_type = element_type_of(result)
    slack = 2.0 ** (-60 if element_type.part.bits == 64 else -49) * norm(want)
    u = 0.5**element_type.float_format.precision
    for got, exact in zip(result.reshape(-1).tolist(), want.reshape(-1).tolist(), strict=True):
        off = mpmath.mpc(got) - exact
        assert abs(off.real) <= u * abs(exact.real) + slack
        assert abs(off.imag) <= u * abs(mpmath.mpc(exact).imag) + slack


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ["complex<f32>", "complex<f64>"])
def test_one_dimension(name, length) -> None:
    x = complex_values(name, (length,), length)
    real = np.real(x).copy()
    with mpmath.workprec(120):
        forward, back = definition(x, -1), definition(x, 1)
        assert_close(fft(x, fft_type="FFT", fft_length=(length,)), forward)
        assert_close(fft(x, fft_type="IFFT", fft_length=(length,)), back)
        half = fft(real, fft_type="RFFT", fft_length=(length,))
        assert half.dtype == x.dtype
        assert_close(half, definition(real, -1)[: length // 2 + 1])
        whole = fft(half, fft_type="IRFFT", fft_length=(length,))
        assert whole.dtype == real.dtype
        np.testing.assert_allclose(whole, real, atol=4e-7 if name == "complex<f32>" else 1e-15)


@pytest.mark.parametrize("shape", [(2, 3), (4, 5), (3, 1), (2, 3, 4), (1, 2, 5), (3, 2, 2)])
def test_several_dimensions(shape) -> None:
    x = complex_values("complex<f64>", shape)
    real = np.real(x).copy()
    with mpmath.workprec(120):
        assert_close(fft(x, fft_type="FFT", fft_length=shape), definition(x, -1))
        assert_close(fft(x, fft_type="IFFT", fft_length=shape), definition(x, 1))
        half = fft(real, fft_type="RFFT", fft_length=shape)
        assert_close(half, definition(real, -1)[..., : shape[-1] // 2 + 1])
    back = fft(half, fft_type="IRFFT", fft_length=shape)
    np.testing.assert_allclose(back, real, atol=1e-15)


def test_leading_dimensions_are_batches() -> None:
    x = complex_values("complex<f32>", (2, 3, 4, 5))
    for kind, count in itertools.product(("FFT", "IFFT"), (1, 2, 3)):
        whole = fft(x, fft_type=kind, fft_length=x.shape[-count:])
        for index in np.ndindex(*x.shape[:-count]):
            one = fft(x[index], fft_type=kind, fft_length=x.shape[-count:])
            np.testing.assert_array_equal(whole[index], one)


@pytest.mark.parametrize(
    ("kind", "shape", "lengths", "result"),
    [
        ("FFT", (0,), (0,), (0,)),
        ("IFFT", (3, 0), (3, 0), (3, 0)),
        ("RFFT", (0,), (0,), (0,)),
        ("RFFT", (0, 4), (4,), (0, 3)),
        ("RFFT", (0, 4), (0, 4), (0, 3)),
        ("IRFFT", (2, 0), (0,), (2, 0)),
        ("IRFFT", (0, 3), (5,), (0, 5)),
        ("IRFFT", (3, 1), (1,), (3, 1)),
    ],
)
def test_empty_transforms(kind, shape, lengths, result) -> None:
    dtype = np.float64 if kind == "RFFT" else np.complex128
    found = fft(np.zeros(shape, dtype), fft_type=kind, fft_length=lengths)
    assert found.shape == result
    assert found.dtype == (np.float64 if kind == "IRFFT" else np.complex128)


def test_bins() -> None:
    assert [count_bins(size) for size in (0, 1, 2, 3, 4, 5, None)] == [0, 1, 2, 2, 3, 3, None]


def test_only_spectra_of_real_numbers_have_an_inverse() -> None:
    """The first and last bins of an even length, the first bin of an odd length."""
    for length, bin_, is_open in ((4, 0, True), (4, 2, True), (5, 0, True), (5, 2, False)):
        operand = np.ones((2, count_bins(length)), np.complex64)
        operand[1, bin_] += 1j
        result = fft(operand, fft_type="IRFFT", fft_length=(length,))
        made = program(operand, result, "IRFFT", (length,)).main.body.operations[0]
        masks = [mask for _, mask in unspecified_elements(made, (operand,), result)]
        assert [mask[:, 0].tolist() for mask in masks] == ([[False, True]] if is_open else [])


@pytest.mark.parametrize("lengths", [(8,), (7,), (4, 6), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("name", ["complex<f32>", "complex<f64>"])
def test_profile_of_spectra(name, lengths) -> None:
    """Rounded spectra are recognised as spectra of real numbers."""
    shape = (3, *lengths[:-1], lengths[-1] // 2 + 1)
    profile = "spectrum:" + ",".join(map(str, lengths))
    operand = fill_shaped(ELEMENT_TYPES[name], shape, profile, 5)
    result = fft(operand, fft_type="IRFFT", fft_length=lengths)
    assert result.shape == (3, *lengths)
    np.testing.assert_allclose(result, np.rint(result), atol=1e-5)
    made = program(operand, result, "IRFFT", lengths).main.body.operations[0]
    assert unspecified_elements(made, (operand,), result) == []


def test_transforms_of_non_finite_numbers_are_unspecified() -> None:
    x = np.ones((3, 2, 4), np.complex64)
    x[0, 0, 1], x[1, 1, 2] = np.inf, np.float32(3e38)
    result = fft(x, fft_type="FFT", fft_length=(4,))
    made = program(x, result, "FFT", (4,)).main.body.operations[0]
    ((_, mask),) = unspecified_elements(made, (x,), result)
    assert mask.all(axis=-1).tolist() == [[True, False], [False, True], [False, False]]
    assert mask.any(axis=-1).tolist() == mask.all(axis=-1).tolist()


def judge_result(operand, kind, lengths, actual):
    expected = fft(operand, fft_type=kind, fft_length=lengths)
    made = program(operand, expected, kind, lengths)
    assert len(evaluate(made, (operand,))) == 1
    return judge(made, (operand,), (expected,), (actual,), TRANSFORMED)


@pytest.mark.parametrize("length", [2, 3, 16, 97, 128, 360, 509])
def test_transforms_in_f32_are_within_the_rule(length) -> None:
    """numpy's own in float32; with one element wrong by much they are not."""
    x = complex_values("complex<f32>", (4, length), length)
    narrow = np.fft.fft(x)
    assert narrow.dtype == np.complex64
    judgement = judge_result(x, "FFT", (length,), narrow)
    assert judgement.verdict is Verdict.PASS
    assert judgement.worst_ulp is not None
    assert judgement.worst_ulp < 0.5
    permitted = 4 * 2.0**-24 * np.log2(length) * np.linalg.norm(narrow[2])
    narrow[2, 1] += np.complex64(2j * permitted)
    assert judge_result(x, "FFT", (length,), narrow).verdict is Verdict.INACCURATE
    narrow[2, 1] = 0
    assert judge_result(x, "FFT", (length,), narrow).verdict is Verdict.DIVERGENT
    real = np.real(x).copy()
    assert judge_result(real, "RFFT", (length,), np.fft.rfft(real)).verdict is Verdict.PASS
    half = np.fft.rfft(real)
    assert (
        judge_result(half, "IRFFT", (length,), np.fft.irfft(half, length)).verdict is Verdict.PASS
    )


def test_the_norm_of_a_transforms_errors_is_bounded() -> None:
    """Each error in isolation is as large as a single error may be; all together they are too
    large.
    """
    x = complex_values("complex<f32>", (256,))
    exact = fft(x, fft_type="FFT", fft_length=(256,))
    permitted = 4 * 2.0**-24 * 8 * np.linalg.norm(exact)
    one = exact.copy()
    one[7] += np.float32(0.9 * permitted)
    assert judge_result(x, "FFT", (256,), one).verdict is Verdict.PASS
    assert (
        judge_result(x, "FFT", (256,), exact + np.float32(0.9 * permitted)).verdict
        is not Verdict.PASS
    )


def test_a_transform_of_one_element_is_exact() -> None:
    x = complex_values("complex<f32>", (3, 1))
    np.testing.assert_array_equal(fft(x, fft_type="IFFT", fft_length=(1,)), x)
    off = np.nextafter(np.real(x), np.float32(2)) + 1j * np.imag(x)
    assert judge_result(x, "FFT", (1,), off.astype(np.complex64)).verdict is Verdict.DIVERGENT


def test_underflow_is_gradual() -> None:
    """Subnormal numbers that are lost on the way are flushed, not right."""
    x = np.array([1e-36, 1e-39, 1e-36, 1e-39], np.complex64)
    lost = fft(x * (np.abs(x) > 1e-38), fft_type="FFT", fft_length=(4,))
    assert judge_result(x, "FFT", (4,), lost).verdict is Verdict.FLUSHED
