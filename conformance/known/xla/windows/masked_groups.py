"""Convolutions of NaN and infinity that add other products with 0 than specified.

XLA's CPU computes some convolutions by a loop that leaves out products with padding and with the
holes of dilation, though 0 * NaN and 0 * infinity are NaN. The groups are merged into one group:
kernels of batch groups are laid over each other, each multiplied by a mask of zeros and ones.
Kernels of feature groups of one feature become one kernel with zeros for the features of other
groups. So NaN and infinities of one group make NaN in the results of others.

The compiler for TPUs makes the groups of features a dimension of a window over a dilated image. It
multiplies the holes by the kernels of other groups, also in groups of several features.

The compilers for GPUs and TPUs exchange image and kernel if the kernel is larger (pass `algsimp`;
for GPUs, not in all such convolutions). Then each element of the image is multiplied with elements
of the kernel and with padding and holes around them, and the kernel with no padding. Images of
batch groups have holes between them, too.

Source: jaxlib 0.10.2 and 0.12.0, and libtpu 0.0.42 and 0.0.50, measured.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results, predict_nothing
from conformance.tolerance.bounds.convolution import convolution_sums, depth_of, geometry_of
from conformance.tolerance.bounds.products import DefaultPrecision, make_measure
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.ulp import ulps_from_prediction
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import equal_elements, flush_subnormals
from reference.numerics.arithmetic import quiet
from reference.numerics.products import (
    add_initial_zero,
    round_sums,
    to_wide_type,
    unrounded_products,
)
from reference.numerics.rounding import to_float64
from reference.ops.convolution import Geometry, convolve

PADDING = "products with padding left out"
BATCHES = "batch groups masked by products"
FEATURES = "feature groups masked by products"
EXCHANGED = "padding multiplied by the image"
LABELS = (PADDING, BATCHES, FEATURES, EXCHANGED)


@quiet
def sums_inside(lhs: Array, rhs: Array, of: Geometry) -> Array:
    """Return the sums of a convolution without products with padding and holes."""
    if not np.iscomplexobj(lhs):
        return _real_sums(lhs, rhs, of)
    (a, b), (c, d) = ((np.real(one), np.imag(one)) for one in (lhs, rhs))
    real = _real_sums(a, c, of) - _real_sums(b, d, of)
    found = np.empty(real.shape, np.result_type(real, np.complex128))
    found.real, found.imag = real, _real_sums(a, d, of) + _real_sums(b, c, of)
    return found


def _real_sums(lhs: Array, rhs: Array, of: Geometry) -> Array:
    """Return the sums, from the finite numbers and from counts of infinite and NaN products."""
    x, y = (np.where(np.isfinite(to_wide_type(one)), one, np.zeros_like(one)) for one in (lhs, rhs))
    total = convolve(x, y, of, unrounded_products)
    lhs, rhs = to_float64(lhs), to_float64(rhs)

    def has(pairs: tuple[tuple[Array, Array], ...]) -> Array:
        counts = (convolve(x * 1.0, y * 1.0, of, np.matmul) for x, y in pairs)
        return np.asarray(sum(counts) > 0)

    all_left, all_right = np.ones(lhs.shape), np.ones(rhs.shape)
    nan = has(
        (
            (np.isnan(lhs), all_right),
            (all_left, np.isnan(rhs)),
            (np.isinf(lhs), rhs == 0),
            (lhs == 0, np.isinf(rhs)),
        )
    )
    above, below = (
        has(
            (
                (lhs == np.inf, one),
                (lhs == -np.inf, other),
                (np.isfinite(lhs) & (lhs > 0), one & np.isinf(rhs)),
                (np.isfinite(lhs) & (lhs < 0), other & np.isinf(rhs)),
            )
        )
        for one, other in ((rhs > 0, rhs < 0), (rhs < 0, rhs > 0))
    )
    total = np.where(above, np.inf, np.where(below, -np.inf, total))
    return np.where(nan | (above & below), np.nan, total)


def zero_product_hypotheses(default: DefaultPrecision, platform: str) -> tuple[Hypothesis, ...]:
    """Return the hypotheses: products with padding are omitted, or groups are merged.

    Args:
        default: the precision of products.
        platform: the `Hardware`. On TPUs, holes may be multiplied by kernels of other feature
            groups. On GPUs and TPUs, image and kernel may be exchanged.
    """
    on_tpu = platform == Hardware.TPU

    def errors(
        operation: Operation,
        operands: Operands,
        expected: Results,
        actual: Results,
        *,
        label: str,
        in_ulps: bool,
    ) -> Results:
        (found,), of = predict_nothing(expected), geometry_of(operation, operands)
        if _are_finite(operands[:2]) or not _has_zero(label, operands):
            return (found,)
        depth = depth_of(operation, operands)
        summations = _SUMMATIONS.get(label, (convolution_sums, _sum_without_padding))
        for given in _flush_variants(operands):
            for changed, summation in itertools.product(
                _rewritings(label, operation, given, of, on_tpu), summations
            ):
                measure = make_measure(summation, lambda *_: depth, default)
                by = ulps_from_prediction if in_ulps else partial(_error_against, measure, changed)
                want = round_sums(
                    add_initial_zero(summation(*changed, False)), element_type_of(actual[0])
                )
                found = np.minimum(found, by(want, actual[0]))
        return (found,)

    def hypothesis(label: str) -> Hypothesis:
        in_bounds, in_ulps = (partial(errors, label=label, in_ulps=one) for one in (False, True))
        return Hypothesis(label, in_bounds, ulps=in_ulps)

    exchanges = platform in (Hardware.GPU, Hardware.TPU)
    return tuple(hypothesis(one) for one in LABELS if exchanges or one != EXCHANGED)


def _error_against(
    measure: Callable[..., Results], given: tuple[Operation, Operands], want: Array, got: Array
) -> Array:
    """Return the error of a result against sums, in units of the permitted error."""
    return np.where(equal_elements(want, got), 0.0, measure(*given, (want,), (got,))[0])


def _sum_without_padding(
    operation: Operation, operands: Operands, sizes: bool, padding: float = 0.0
) -> Array:
    """Return sums in which products with padding and holes are 0; if `sizes`, sums of
    magnitudes.
    """
    if sizes:
        return convolution_sums(operation, operands, sizes, padding)
    return sums_inside(operands[0], operands[1], geometry_of(operation, operands))


def _sum_over_images(
    operation: Operation, operands: Operands, sizes: bool, padding: float = 0.0
) -> Array:
    """Return sums in which each element of the image has a product, with 0 where the kernel has no
    element; if `sizes`, sums of magnitudes.
    """
    found = _sum_without_padding(operation, operands, sizes, padding)
    if sizes:
        return found
    of = geometry_of(operation, operands)
    infinite = 1.0 * ~np.isfinite(to_wide_type(operands[0]))
    met = convolve(infinite, np.ones(operands[1].shape), of, np.matmul)
    by_batch = infinite.sum(axis=(of.input_feature, *of.input_spatial))
    by_batch = by_batch.reshape(of.batch_groups, -1).sum(axis=0)
    shape = [1] * met.ndim
    shape[of.output_batch] = -1
    return np.where(by_batch.reshape(shape) > met, np.nan, found)


_SUMMATIONS = {PADDING: (_sum_without_padding,), EXCHANGED: (_sum_over_images,)}


def _has_zero(label: str, operands: tuple[Array, ...]) -> bool:
    """Return whether the operands' type has the zeros that a class is about."""
    return label == PADDING or element_type_of(operands[1]).float_format.has_zero


def _are_finite(operands: tuple[Array, ...]) -> bool:
    return all(bool(np.isfinite(to_wide_type(one)).all()) for one in operands)


def _flush_variants(operands: tuple[Array, ...]) -> Iterator[tuple[Array, ...]]:
    """Yield the operands, and flushed operands if there are subnormals."""
    yield operands
    factors = tuple(map(flush_subnormals, operands[:2]))
    if any(new is not old for new, old in zip(factors, operands, strict=False)):
        yield (*factors, *operands[2:])


def _rewritings(
    label: str, operation: Operation, operands: Operands, of: Geometry, on_tpu: bool
) -> Iterator[tuple[Operation, Operands]]:
    """Yield the convolutions that a class is about, without groups or with masked kernels."""
    lhs, rhs, *rest = operands
    if label == PADDING or (label == EXCHANGED and of.feature_groups == 1):
        yield operation, operands
    elif label == BATCHES and of.batch_groups > 1:
        yield operation, (lhs, _mask_kernel(rhs, of, of.batch_groups), *rest)
    elif label == FEATURES and of.feature_groups > 1:
        if rhs.shape[of.kernel_input_feature] == 1:
            whole = lhs, _expand_kernel(rhs, of), *rest
            yield operation.with_attributes(feature_group_count=1), whole
        if on_tpu:
            yield operation, (lhs, _mask_kernel(rhs, of, of.feature_groups), *rest)


def _mask_kernel(kernel: Array, of: Geometry, groups: int) -> Array:
    """Return the kernel with NaN at positions where the kernel of another group is not finite."""
    moved = np.moveaxis(kernel, of.kernel_output_feature, 0)
    by_group = moved.reshape(groups, -1, *moved.shape[1:])
    infinite = ~np.isfinite(to_wide_type(by_group))
    others = infinite.sum(axis=0) - infinite > 0
    masked = np.where(others, np.full((), np.nan).astype(kernel.dtype), by_group)
    return np.moveaxis(masked.reshape(moved.shape), 0, of.kernel_output_feature)


def _expand_kernel(kernel: Array, of: Geometry) -> Array:
    """Return the kernel of all features, zeros where feature and result are of other groups."""
    dimensions = (of.kernel_output_feature, of.kernel_input_feature)
    moved = np.moveaxis(kernel, dimensions, (0, 1))
    made, taken, *rest = moved.shape
    groups = of.feature_groups
    by_group = moved.reshape(groups, made // groups, taken, *rest)
    whole = np.zeros((groups, made // groups, groups, taken, *rest), kernel.dtype)
    for group in range(groups):
        whole[group, :, group] = by_group[group]
    return np.moveaxis(whole.reshape(made, groups * taken, *rest), (0, 1), dimensions)
