"""Convolutions and normalisations by cuDNN.

All calls state the dimension numbers and the window of the forward convolution. In a backward call
the result takes the role of that convolution's input or filter.

Source: xla/service/gpu/backend_configs.proto (CudnnConvBackendConfig, CudnnNormBackendConfig).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.hlo.building import Building, Sizes
from conformance.hlo.custom_calls.activations import (
    Activation,
    constant_like,
    elu,
    identity,
    leaky_relu,
    relu,
    relu6,
    sigmoid,
    tanh,
)
from conformance.hlo.custom_calls.configuration import configuration
from conformance.hlo.custom_calls.cublas import scratch
from conformance.hlo.folding import window_of
from conformance.hlo.products import convolution_attributes
from conformance.hlo.shapes import Tree, array_type_of
from conformance.hlo.site import Handler, Site
from reference.ir.program import Dense, TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES

_ACTIVATIONS: dict[str, Activation] = {
    "kNone": identity, "kRelu": relu, "kRelu6": relu6, "kElu": elu, "kLeakyRelu": leaky_relu,
    "kSigmoid": sigmoid, "kTanh": tanh,
}  # fmt: skip


def _append_scratch(site: Site, value: Value) -> Tree:
    """Return a result, followed by the library's scratch memory as zeros."""
    shapes = site.instruction.shape.tuple_shapes
    return (value, *(scratch(site.building, shape) for shape in shapes[1:])) if shapes else value


def _result(site: Site) -> TensorType:
    shape = site.instruction.shape
    return array_type_of(shape.tuple_shapes[0] if shape.tuple_shapes else shape)


def _padding(pairs: list[tuple[int, int]]) -> Dense:
    array = np.array(pairs, np.int64).reshape(-1, 2)
    return Dense.of(array, TensorType(array.shape, ELEMENT_TYPES["si64"]))


def _multiply_by(building: Building, value: Value, factor: float) -> Value:
    return value if factor == 1 else building.binary(
        "multiply", value, constant_like(building, factor, value)
    )  # fmt: skip


def _forward(site: Site) -> Tree:
    """Add a convolution, with a bias, a side input and an activation if it has them."""
    building, config = site.building, configuration(site, "cudnn_conv_backend_config")
    if config.get("reordered_int8_nchw_vect"):
        raise site.unreadable("its filter is in an unknown order")
    result = _result(site)
    given = convolution_attributes(site)
    mode = str(config.get("activation_mode", "kNone"))
    if mode not in _ACTIVATIONS:
        raise site.unreadable(f"its activation {mode} is unknown")
    extra = [site.value(number) for number in range(2, len(site.operands))]
    plain = not extra and mode == "kNone" and config.get("conv_result_scale", 1) == 1
    to = result.element if plain else ELEMENT_TYPES["f32"]
    if result.element.bits > to.bits:
        to = result.element
    pair = (site.value(0), site.value(1))
    value = building.one("convolution", pair, TensorType(result.shape, to), **given)
    value = _multiply_by(building, value, float(config.get("conv_result_scale", 1)))
    if len(extra) > 1:
        side = building.convert(extra[1], to)
        side = _multiply_by(building, side, float(config.get("side_input_scale", 0)))
        value = building.binary("add", value, side)
    if extra:
        along = (given["output_feature_dimension"],)
        bias = building.broadcast(building.convert(extra[0], to), result.static_shape, along)
        value = building.binary("add", value, bias)
    value = _ACTIVATIONS[mode](building, value, float(config.get("leakyrelu_alpha", 0)))
    return _append_scratch(site, building.convert(value, result.element))


def _check_plain(site: Site) -> None:
    """Check that a backward convolution has neither scale nor bias.

    Raises:
        Unreadable: if it has.
    """
    config = configuration(site, "cudnn_conv_backend_config")
    if config.get("conv_result_scale", 1) != 1 or len(site.operands) != 2:
        raise site.unreadable("it is a backward convolution with a scale or a bias")


def _backward_input(site: Site) -> Tree:
    """Add the convolution that gives the gradient of a convolution's input."""
    _check_plain(site)
    building, forward, result = site.building, convolution_attributes(site), _result(site)
    groups: int = forward["feature_group_count"]
    gradient, kernel = site.value(0), site.value(1)
    kernel = _swap_kernel_groups(building, kernel, forward, groups)
    pads: list[tuple[int, int]] = []
    spatial = zip(
        window_of(site), forward["input_spatial_dimensions"],
        forward["output_spatial_dimensions"], strict=True,
    )  # fmt: skip
    for window, inside, outside in spatial:
        extent = (window.size - 1) * (window.window_dilation or 1) + 1
        spread = (tensor_of(gradient).static_shape[outside] - 1) * (window.stride or 1) + 1
        low = extent - 1 - window.padding_low
        pads.append((low, result.static_shape[inside] - spread - low + extent - 1))
    value = building.one(
        "convolution", (gradient, kernel), result,
        window_strides=(1,) * len(pads), padding=_padding(pads),
        lhs_dilation=forward["window_strides"], rhs_dilation=forward["rhs_dilation"],
        window_reversal=tuple(not one for one in forward["window_reversal"]),
        input_batch_dimension=forward["output_batch_dimension"],
        input_feature_dimension=forward["output_feature_dimension"],
        input_spatial_dimensions=forward["output_spatial_dimensions"],
        kernel_input_feature_dimension=forward["kernel_output_feature_dimension"],
        kernel_output_feature_dimension=forward["kernel_input_feature_dimension"],
        kernel_spatial_dimensions=forward["kernel_spatial_dimensions"],
        output_batch_dimension=forward["input_batch_dimension"],
        output_feature_dimension=forward["input_feature_dimension"],
        output_spatial_dimensions=forward["input_spatial_dimensions"],
        feature_group_count=groups, batch_group_count=1,
    )  # fmt: skip
    return _append_scratch(site, value)


def _swap_kernel_groups(
    building: Building, kernel: Value, given: dict[str, Any], groups: int
) -> Value:
    """Return a kernel whose groups are along its input features, not along its output features."""
    if groups == 1:
        return kernel
    inside: int = given["kernel_input_feature_dimension"]
    outside: int = given["kernel_output_feature_dimension"]
    sizes = list(tensor_of(kernel).static_shape)
    split = [*sizes[:outside], groups, sizes[outside] // groups, *sizes[outside + 1 :]]
    kernel = building.reshape(kernel, tuple(split))
    at = inside + (inside > outside)
    order = [d for d in range(len(split)) if d != outside]
    order.insert(order.index(at), outside)
    kernel = building.transpose(kernel, tuple(order))
    merged: Sizes = tuple(
        size * groups if d == inside else size // groups if d == outside else size
        for d, size in enumerate(sizes)
    )
    return building.reshape(kernel, merged)


def _backward_filter(site: Site) -> Tree:
    """Add the convolution that gives the gradient of a convolution's filter."""
    _check_plain(site)
    building, forward, result = site.building, convolution_attributes(site), _result(site)
    operand, gradient = site.value(0), site.value(1)
    pads: list[tuple[int, int]] = []
    spatial = zip(
        window_of(site), forward["input_spatial_dimensions"],
        forward["output_spatial_dimensions"], strict=True,
    )  # fmt: skip
    for window, inside, outside in spatial:
        extent = (tensor_of(gradient).static_shape[outside] - 1) * (window.stride or 1) + 1
        wanted = (window.size - 1) * (window.window_dilation or 1) + extent
        low = window.padding_low
        pads.append((low, wanted - tensor_of(operand).static_shape[inside] - low))
    value = building.one(
        "convolution", (operand, gradient), result,
        window_strides=forward["rhs_dilation"], padding=_padding(pads),
        lhs_dilation=forward["lhs_dilation"], rhs_dilation=forward["window_strides"],
        window_reversal=(False,) * len(pads),
        input_batch_dimension=forward["input_feature_dimension"],
        input_feature_dimension=forward["input_batch_dimension"],
        input_spatial_dimensions=forward["input_spatial_dimensions"],
        kernel_input_feature_dimension=forward["output_batch_dimension"],
        kernel_output_feature_dimension=forward["output_feature_dimension"],
        kernel_spatial_dimensions=forward["output_spatial_dimensions"],
        output_batch_dimension=forward["kernel_input_feature_dimension"],
        output_feature_dimension=forward["kernel_output_feature_dimension"],
        output_spatial_dimensions=forward["kernel_spatial_dimensions"],
        feature_group_count=1, batch_group_count=forward["feature_group_count"],
    )  # fmt: skip
    reversed_ = tuple(
        d
        for d, turned in zip(
            forward["kernel_spatial_dimensions"], forward["window_reversal"], strict=True
        )
        if turned
    )
    if reversed_:
        value = building.one("reverse", (value,), result, dimensions=reversed_)
    return _append_scratch(site, value)


TARGETS: dict[str, Handler] = {
    "__cudnn$convBackwardFilter": _backward_filter,
    "__cudnn$convBackwardInput": _backward_input,
    "__cudnn$convBiasActivationForward": _forward,
    "__cudnn$convForward": _forward,
}
"""The function that reads the calls of each target."""
