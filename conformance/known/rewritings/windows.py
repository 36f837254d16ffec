"""Windows over a padded value: compilers add the value's padding to the windows'.

Where the value's padding is negative, windows see the cropped elements where they should see their
own padding (https://github.com/openxla/xla/issues/48715). Where the value has one element in
each dimension that is padded, compilers assume that every window contains it.

Source: jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from conformance.known.rewritings.values import ObservedProgram, Predictions, ValuePrediction
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.constants import matrix
from reference.ir.program import Dense, Operation, TensorType
from reference.ir.types import Array

CUT_ELEMENTS_RETURNED = "what a pad cut off under windows"
ONE_FOR_ALL = "one padded element for every window"


def merged_paddings(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield reduce_window(pad(x)) and convolution(pad(x)) as windows over x with added paddings."""
    pad = shown.maker(operation.operands[0])
    if pad is None:
        return
    edges: dict[str, Any] = dict(pad.attributes)
    low, high = (edges.get(f"edge_padding_{end}") for end in ("low", "high"))
    if low is None or high is None or min(*low, *high) >= 0:
        return
    operands = (pad.operands[0], *operation.operands[1:])
    known = shown.known_values(operands)
    other = _absorb_pad(operation, low, high, edges["interior_padding"])
    if known is None or other is None:
        return
    other = replace(other, operands=operands)
    try:
        (result,) = apply(other, known)
    except EvaluationError:
        return
    of = operation.results[0].type
    if not isinstance(of, TensorType) or result.shape != of.static_shape:
        return
    yield ValuePrediction(result)


def element_for_all_windows(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield x as the result of windows over pad(x), repeated along its dimensions of one element.

    Compilers check that every window contains one element of x, but not for the windows' padding.
    """
    pad = shown.maker(operation.operands[0])
    if pad is None or pad.attribute("interior_padding") is None or len(operation.operands) > 2:
        return
    x = shown.known_value(pad.operands[0])
    of = operation.results[0].type
    if x is None or not isinstance(of, TensorType) or of.storage != x.dtype:
        return
    sizes = zip(x.shape, of.static_shape, strict=True)
    if all(size in (1, wide) for size, wide in sizes) and _take_single_elements(operation, pad, x):
        yield ValuePrediction(np.broadcast_to(x, of.static_shape))


def _take_single_elements(operation: Operation, pad: Operation, x: Array) -> bool:
    """Return whether windows without padding of their own would each contain one element of x."""
    windows, edges = dict[str, Any](operation.attributes), dict[str, Any](pad.attributes)
    steps = ("window_strides", "base_dilations", "window_dilations")
    if any(set(windows.get(name) or ()) - {1} for name in steps):
        return False
    ends = (edges[name] for name in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    rows = zip(x.shape, windows["window_dimensions"], *ends, strict=True)
    return all(
        low == high and (low < window if size == 1 else (window, low, interior) == (1, 0, 0))
        for size, window, low, high, interior in rows
    )


def _absorb_pad(
    operation: Operation, low: tuple[int, ...], high: tuple[int, ...], interior: tuple[int, ...]
) -> Operation | None:
    """Return the operation whose windows include a pad's padding and dilation; None if they have a
    dilation already.
    """
    given: dict[str, Any] = dict(operation.attributes)
    spatial = given.get("input_spatial_dimensions", tuple(range(len(low))))
    dilation = "base_dilations" if "window_dimensions" in given else "lhs_dilation"
    own = given.get("padding")
    pairs = own.array.tolist() if isinstance(own, Dense) else [(0, 0)] * len(spatial)
    if set(given.get(dilation, ())) - {1}:
        return None
    rows = [(a + low[d], b + high[d]) for (a, b), d in zip(pairs, spatial, strict=True)]
    more = tuple(1 + interior[d] for d in spatial)
    return operation.with_attributes(padding=matrix(rows), **{dilation: more})
