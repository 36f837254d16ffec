"""Products, convolutions, transforms, factorisations, normalisation and random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.hlo.convolved_products import product, product_parts
from conformance.hlo.folding import padding_of, window_of
from conformance.hlo.protos import DotDimensions
from conformance.hlo.shapes import Tree
from conformance.hlo.site import Handler, Site
from reference.ir.program import Dense, TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES
from reference.ops.xla.contraction import DotDimensionNumbers

_TRUTH = ELEMENT_TYPES["i1"]
_FFT_TYPES = ("FFT", "IFFT", "RFFT", "IRFFT")
_TRANSPOSES = {1: "NO_TRANSPOSE", 2: "TRANSPOSE", 3: "ADJOINT"}
_DISTRIBUTIONS = {1: "UNIFORM", 2: "NORMAL"}
_ALGORITHMS = ("DEFAULT", "THREE_FRY", "PHILOX")


def batching_of(numbers: DotDimensions) -> dict[str, Any]:
    """Return the dimension numbers of a product as attributes."""
    return {
        "lhs_batching_dimensions": tuple(numbers.lhs_batch_dimensions),
        "rhs_batching_dimensions": tuple(numbers.rhs_batch_dimensions),
        "lhs_contracting_dimensions": tuple(numbers.lhs_contracting_dimensions),
        "rhs_contracting_dimensions": tuple(numbers.rhs_contracting_dimensions),
    }


def _factors(site: Site) -> tuple[Value, Value]:
    """Return the operands of a product; i1 operands become 0 and 1 of the other operand's type."""
    lhs, rhs = site.value(0), site.value(1)
    types = [tensor_of(one).element for one in (lhs, rhs)]
    if _TRUTH not in types:
        return lhs, rhs
    other = next((one for one in types if one != _TRUTH), site.type.element)
    return site.building.convert(lhs, other), site.building.convert(rhs, other)


def _dot(site: Site) -> Tree:
    """Add a product, which is exact here: the judge decides about precision."""
    numbers = site.instruction.dot_dimension_numbers or DotDimensions()
    return site.building.one("dot_general", _factors(site), site.type, **batching_of(numbers))


def _ragged_dot(site: Site) -> Tree:
    numbers = site.instruction.ragged_dot_dimension_numbers
    if numbers is None or numbers.dot_dimension_numbers is None:
        raise site.unreadable("it has no dimension numbers")
    return site.building.one(
        "chlo.ragged_dot", site.values, site.type, **batching_of(numbers.dot_dimension_numbers),
        lhs_ragged_dimensions=tuple(numbers.lhs_ragged_dimensions),
        rhs_group_dimensions=tuple(numbers.rhs_group_dimensions),
    )  # fmt: skip


def _scaled_dot(site: Site) -> Tree:
    numbers = site.instruction.dot_dimension_numbers or DotDimensions()
    lhs, rhs, lhs_scale, rhs_scale = (site.value(number) for number in range(4))
    dimensions = DotDimensionNumbers(
        lhs_contracting_dimensions=tuple(numbers.lhs_contracting_dimensions),
        rhs_contracting_dimensions=tuple(numbers.rhs_contracting_dimensions),
        lhs_batch_dimensions=tuple(numbers.lhs_batch_dimensions),
        rhs_batch_dimensions=tuple(numbers.rhs_batch_dimensions),
    )
    return site.building.one(
        "ScaledDot", (lhs, lhs_scale, rhs, rhs_scale), site.type, dimension_numbers=dimensions,
        preferred_element_type=site.type.element.name,
    )  # fmt: skip


def convolution_attributes(site: Site) -> dict[str, Any]:
    """Return the attributes of a convolution."""
    one, numbers = site.instruction, site.instruction.convolution_dimension_numbers
    if numbers is None:
        raise site.unreadable("it has no dimension numbers")
    window = window_of(site)
    return {
        "window_strides": tuple(d.stride or 1 for d in window),
        "padding": padding_of(window),
        "lhs_dilation": tuple(d.base_dilation or 1 for d in window),
        "rhs_dilation": tuple(d.window_dilation or 1 for d in window),
        "window_reversal": tuple(d.window_reversal for d in window),
        "input_batch_dimension": numbers.input_batch_dimension,
        "input_feature_dimension": numbers.input_feature_dimension,
        "input_spatial_dimensions": tuple(numbers.input_spatial_dimensions),
        "kernel_input_feature_dimension": numbers.kernel_input_feature_dimension,
        "kernel_output_feature_dimension": numbers.kernel_output_feature_dimension,
        "kernel_spatial_dimensions": tuple(numbers.kernel_spatial_dimensions),
        "output_batch_dimension": numbers.output_batch_dimension,
        "output_feature_dimension": numbers.output_feature_dimension,
        "output_spatial_dimensions": tuple(numbers.output_spatial_dimensions),
        "feature_group_count": one.feature_group_count or 1,
        "batch_group_count": one.batch_group_count or 1,
    }


def _convolution(site: Site) -> Tree:
    one, operands = site.instruction, _factors(site)
    numbers = one.convolution_dimension_numbers
    if numbers is not None and (one.feature_group_count or 1) == (one.batch_group_count or 1) == 1:
        lhs, rhs = map(tensor_of, operands)
        parts = product_parts(lhs, rhs, site.type, numbers, window_of(site))
        if parts is not None:
            return product(site.building, operands, site.type, numbers, parts)
    return site.building.one("convolution", operands, site.type, **convolution_attributes(site))


def _fft(site: Site) -> Tree:
    one = site.instruction
    return site.building.one(
        "fft", (site.value(0),), site.type, fft_type=_FFT_TYPES[one.fft_type],
        fft_length=tuple(one.fft_length),
    )  # fmt: skip


def _cholesky(site: Site) -> Tree:
    options = site.instruction.cholesky_options
    lower = options is not None and options.lower
    return site.building.one("cholesky", (site.value(0),), site.type, lower=lower)


def _triangular_solve(site: Site) -> Tree:
    options = site.instruction.triangular_solve_options
    if options is None:
        raise site.unreadable("it has no options")
    return site.building.one(
        "triangular_solve", (site.value(0), site.value(1)), site.type,
        left_side=options.left_side, lower=options.lower, unit_diagonal=options.unit_diagonal,
        transpose_a=_TRANSPOSES.get(options.transpose_a, "NO_TRANSPOSE"),
    )  # fmt: skip


def _batch_norm(name: str) -> Handler:
    def handler(site: Site) -> Tree:
        one = site.instruction
        return site.tree(site.building.add(
            name, site.values, site.types, epsilon=one.epsilon, feature_index=one.feature_index
        ))  # fmt: skip

    return handler


def _rng(site: Site) -> Tree:
    sizes = np.array(site.type.static_shape, np.int64)
    shape = Dense.of(sizes, TensorType(sizes.shape, ELEMENT_TYPES["si64"]))
    distribution = _DISTRIBUTIONS.get(site.instruction.distribution)
    if distribution is None:
        raise site.unreadable("its distribution is unknown")
    operands = (site.value(0), site.value(1), site.building.constant(shape))
    return site.building.one("rng", operands, site.type, rng_distribution=distribution)


def _rng_bit_generator(site: Site) -> Tree:
    algorithm = _ALGORITHMS[site.instruction.rng_algorithm]
    state, given = site.value(0), site.types
    types = given if len(given) > 1 else (tensor_of(state), *given)  # or the numbers alone
    results = site.building.add("rng_bit_generator", (state,), types, rng_algorithm=algorithm)
    return site.tree(results[-len(given) :])


def _rng_state(site: Site) -> Tree:
    """Add the state of the device's generator as zeros; any state would do."""
    return site.building.full(0, site.type)


HANDLERS: dict[str, Handler] = {
    "batch-norm-grad": _batch_norm("batch_norm_grad"),
    "batch-norm-inference": _batch_norm("batch_norm_inference"),
    "batch-norm-training": _batch_norm("batch_norm_training"),
    "cholesky": _cholesky,
    "convolution": _convolution,
    "dot": _dot,
    "fft": _fft,
    "ragged-dot": _ragged_dot,
    "rng": _rng,
    "rng-bit-generator": _rng_bit_generator,
    "rng-get-and-update-state": _rng_state,
    "scaled-dot": _scaled_dot,
    "triangular-solve": _triangular_solve,
}
"""The function that reads each opcode."""
