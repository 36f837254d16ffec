"""Convolutions of NaN and infinities in groups: some products with 0 are left out, and products
with zeros of other groups are added.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from conformance.judging.compare import judge, judge_operation
from conformance.known.xla.windows.masked_groups import BATCHES, EXCHANGED, FEATURES, PADDING
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from generators.invalid.misses import tensor
from reference.interpreter.evaluate import evaluate
from reference.ir.constants import matrix
from reference.ir.program import Attribute, Program, Value, single_op
from reference.ir.types import Array, element_type
from suites.meta.support.ops.contractions import ONE_SPATIAL

F32 = element_type("f32")
NAN, INF = np.nan, np.inf


def program(
    image: Array, kernel: Array, low: int = 0, dilation: int = 1, batch: int = 1, feature: int = 1
) -> Program:
    """Return a convolution of an image (batch, places, features) padded before, with a kernel."""
    of = element_type("complex<f32>") if np.iscomplexobj(image) else F32
    values = Value("x", tensor(of, *image.shape)), Value("k", tensor(of, *kernel.shape))
    places = low + (image.shape[1] - 1) * dilation + 1 - kernel.shape[0] + 1
    given: dict[str, Attribute] = {
        **ONE_SPATIAL, "feature_group_count": feature, "batch_group_count": batch,
        "lhs_dilation": (dilation,), "padding": matrix([(low, 0)]),
    }  # fmt: skip
    result = tensor(of, image.shape[0] // batch, places, kernel.shape[2])
    return single_op("convolution", values, (result,), given, ())


def kinds_of(subject: Program, image: Array, kernel: Array, actual: Sequence[complex]) -> set[str]:
    """Return the classes of the elements of such a result that are wrong."""
    (expected,) = evaluate(subject, (image, kernel))
    got = np.array(actual, expected.dtype).reshape(expected.shape)
    judged = judge(subject, (image, kernel), (expected,), (got,), RULES["convolution"])
    return {kind for verdict, kind in judged.findings if verdict is Verdict.DIVERGENT}


def image_of(*numbers: float) -> Array:
    return np.array(numbers, np.float32).reshape(1, -1, 1)


def kernel_of(*numbers: float) -> Array:
    return np.array(numbers, np.float32).reshape(-1, 1, 1)


@pytest.mark.parametrize(
    ("image", "kernel", "given", "actual", "kinds"),
    [
        ((1, 2), (NAN, 1), {"low": 1}, (1, NAN), {PADDING}),
        ((1, 2), (NAN, 1), {"low": 1}, (2, NAN), {"NaN"}),
        ((1, 2), (INF, 1), {"low": 1}, (1, INF), {PADDING}),
        ((1, 2), (INF, 1), {"low": 1}, (1, -INF), {PADDING, "sign"}),
        ((1, 2), (3, 1), {"low": 1}, (NAN, 5), {"NaN"}),
        ((1, INF), (-1, 1), {"low": 1}, (1, NAN), {"NaN"}),
        ((1, 2), (2, INF), {"dilation": 2}, (2, INF), {PADDING}),
        ((1, 2), (2, INF), {"dilation": 2}, (3, NAN), {"NaN"}),
        ((-1, 0), (INF,), {}, (-INF, 0), {"NaN"}),
    ],
)
def test_padding(
    image: tuple[float, ...],
    kernel: tuple[float, ...],
    given: dict[str, int],
    actual: tuple[float, ...],
    kinds: set[str],
) -> None:
    x, k = image_of(*image), kernel_of(*kernel)
    assert kinds_of(program(x, k, **given), x, k, actual) == kinds


@pytest.mark.parametrize("of", [np.float32, np.complex64])
@pytest.mark.parametrize(
    ("first", "kinds"),
    [(NAN, {FEATURES}), (5, set[str]()), (INF, {"infinity"}), (6, {"wrong value"})],
)
def test_features_of_other_groups(first: float, kinds: set[str], of: type) -> None:
    image, kernel = np.array([[[1, INF]]], of), np.array([[[5, 1]]], of)
    actual = complex(first, first) if of is np.complex64 and np.isnan(first) else first
    assert kinds_of(program(image, kernel, feature=2), image, kernel, (actual, INF)) == kinds


def test_groups_of_several_features_stay_groups() -> None:
    image, kernel = np.array([[[1, 2, 4, INF]]], np.float32), np.ones((1, 2, 2), np.float32)
    assert kinds_of(program(image, kernel, feature=2), image, kernel, (NAN, INF)) == {"NaN"}


@pytest.mark.parametrize(
    ("platform", "actual", "kinds"),
    [
        (Hardware.TPU, (NAN, INF), {FEATURES}),
        (Hardware.TPU, (NAN, NAN), {FEATURES, "NaN"}),
        (Hardware.CPU, (NAN, INF), {"NaN"}),
    ],
)
def test_tpus_multiply_holes_by_kernels_of_other_feature_groups(
    platform: str, actual: tuple[float, ...], kinds: set[str]
) -> None:
    """The kernel of the second group is infinite, and its images are finite."""
    image = np.array([[[1, 2, 4, 8]]], np.float32)
    kernel = np.array([[[1, INF], [1, 1]]], np.float32)
    subject = program(image, kernel, feature=2)
    (expected,) = evaluate(subject, (image, kernel))
    got = np.array(actual, expected.dtype).reshape(expected.shape)
    found = judge_operation(subject, [image, kernel], [expected], [got], platform)
    assert {one.kind for one in found.failing} == kinds


@pytest.mark.parametrize(
    ("actual", "kinds"),
    [
        ((NAN, 4, INF, 10, NAN, 6), {BATCHES}),
        ((NAN, 4, INF, 10, NAN, NAN), {BATCHES, "NaN"}),
        ((3, 4, NAN, 10, 9, 6), {"NaN"}),
        ((3, 4, INF, 11, 9, 6), {"wrong value"}),
        ((3, 4, INF, 10, 9, 6), set[str]()),
    ],
)
def test_kernels_of_other_batch_groups(actual: tuple[float, ...], kinds: set[str]) -> None:
    image = np.array([1, 2, 3], np.float32).reshape(3, 1, 1)
    kernel = np.array([3, 4, INF, 5, 3, 2], np.float32).reshape(1, 1, 6)
    assert kinds_of(program(image, kernel, batch=3), image, kernel, actual) == kinds


def kinds_on(platform: str, subject: Program, inputs: Sequence[Array], actual: Array) -> set[str]:
    """Return the classes of the failing elements on a platform."""
    (expected,) = evaluate(subject, inputs)
    got = actual.astype(expected.dtype).reshape(expected.shape)
    judged = judge_operation(subject, list(inputs), [expected], [got], platform)
    return {one.kind for one in judged.failing}


@pytest.mark.parametrize(
    ("image", "kernel", "actual", "kinds"),
    [
        ((NAN,), (1, 2), (NAN, NAN), {EXCHANGED}),
        ((INF,), (1, 2), (NAN, INF), {EXCHANGED}),
        ((-INF, 2), (1, 2, 3), (NAN, -INF, -INF), {EXCHANGED}),
        ((NAN,), (1, 2), (1, NAN), {"wrong value"}),
        ((INF,), (1, 2), (NAN, NAN), {EXCHANGED, "NaN"}),
        ((3,), (1, 2), (NAN, 6), {"NaN"}),
        ((3,), (INF, 2), (0, 6), {PADDING}),
    ],
)
def test_padding_is_multiplied_by_the_image_if_it_is_exchanged_with_the_kernel(
    image: tuple[float, ...],
    kernel: tuple[float, ...],
    actual: tuple[float, ...],
    kinds: set[str],
) -> None:
    """The first element of the result is the sum of products with padding alone."""
    x, k = image_of(*image), kernel_of(*kernel)
    subject = program(x, k, low=len(kernel))
    for platform in (Hardware.GPU, Hardware.TPU):
        assert kinds_on(platform, subject, (x, k), np.array(actual)) == kinds
    assert EXCHANGED not in kinds_on(Hardware.CPU, subject, (x, k), np.array(actual))


def test_holes_between_batch_groups_are_multiplied_by_images_of_other_groups() -> None:
    image = np.array([NAN, 1, 2, 3], np.float32).reshape(4, 1, 1)
    kernel = np.ones((1, 1, 2), np.float32)
    subject = program(image, kernel, low=1, batch=2)
    want = [[[0, 0], [NAN, 2]], [[0, 0], [1, 3]]]
    assert np.array_equal(evaluate(subject, (image, kernel))[0], want, equal_nan=True)
    all_nan = np.array([[[NAN, NAN], [NAN, NAN]], [[0, 0], [1, 3]]])
    assert kinds_on(Hardware.TPU, subject, (image, kernel), all_nan) == {EXCHANGED}
