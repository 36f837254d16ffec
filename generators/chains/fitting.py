"""Conversion of an available value to the shape that an operation requires, by data movement."""

from __future__ import annotations

from generators.case.choices import choose
from generators.chains.chain import Chain, element, shape_of, size_of
from reference.ir.program import TensorType, Value, tensor_of


def fit_shape(chain: Chain, value: Value, wanted: TensorType) -> Value:
    """Return the elements of a value in a shape, cropped, padded or repeated to fit.

    The element types must be the same.
    """
    if value.type == wanted:
        return value
    have, want = size_of(tensor_of(value)), size_of(wanted)
    if have == want:
        return chain.reshape(value, wanted.static_shape)
    if have == 1:
        scalar = value if tensor_of(value).rank == 0 else chain.reshape(value, ())
        return chain.broadcast(scalar, wanted.static_shape)
    flat = value if tensor_of(value).rank == 1 else chain.reshape(value, (have,))
    line = _cut_to_size(chain, flat, want) if have > want else _pad_to_size(chain, flat, want)
    return line if line.type == wanted else chain.reshape(line, wanted.static_shape)


def _cut_to_size(chain: Chain, flat: Value, want: int) -> Value:
    start = choose(chain.pick, (0, shape_of(flat)[0] - want))
    return chain.op(
        "slice", flat, start_indices=(start,), limit_indices=(start + want,), strides=(1,)
    )


def _pad_to_size(chain: Chain, flat: Value, want: int) -> Value:
    (have,) = shape_of(flat)
    of = element(flat)
    if chain.pick(3) == 2:
        rest = chain.number(chain.pick(2), TensorType((want - have,), of))
        return chain.op("concatenate", flat, rest, dimension=0)
    low = choose(chain.pick, (0, want - have))
    filling = chain.number(chain.pick(2), TensorType((), of))
    return chain.op(
        "pad",
        flat,
        filling,
        edge_padding_low=(low,),
        edge_padding_high=(want - have - low,),
        interior_padding=(0,),
    )
