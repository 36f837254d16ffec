"""Near misses of the ops of reference/ops/host.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from generators.families.host import SELF
from generators.invalid.control_flow import TOKEN, begin_block, end_block, similar_types
from generators.invalid.misses import Miss, Misses
from generators.programs.writing import BlockWriter
from reference.ir.program import (
    Attribute,
    Dense,
    FutureType,
    Program,
    TensorType,
    TupleType,
    Value,
    ValueType,
)
from reference.ir.types import Array, element_type
from reference.ops.host import DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE

_TYPES = tuple(element_type(name) for name in ("f32", "si64", "bf16"))


def _types() -> Iterator[TensorType]:
    return (TensorType((4,), of) for of in _TYPES)


def _token(block: BlockWriter) -> Value:
    return block.add("after_all", (), TOKEN)[0]


def _return_tensors(block: BlockWriter, given: Sequence[Value], value: Value) -> Program:
    """Return the program that returns the tensors among `given`; `value` if there is none."""
    return end_block(block, [one for one in given if isinstance(one.type, TensorType)] or [value])


def _infeed(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 (no token), C1 (no result), C2 (payload), C3 (no final token)."""
    for of in _types():
        block, value = begin_block(of)
        yield "I1", _return_tensors(block, block.add(op, (value,), of, TOKEN), value)
        wrong: tuple[tuple[str, tuple[ValueType, ...]], ...] = (
            ("C1", ()),
            ("C2", (TOKEN, TOKEN)),
            ("C2", (of, TOKEN, TOKEN)),
            ("C2", (TupleType((of,)), TOKEN)),
            ("C3", (of,)),
            ("C3", (of, of)),
        )
        for id_, results in wrong:
            block, value = begin_block(of)
            yield id_, _return_tensors(block, block.add(op, (_token(block),), *results), value)


def _wrong_outputs(op: str, given: dict[str, Attribute]) -> Iterator[Miss]:
    """Yield near misses of I1 (an input is not a tensor), I2 (no token)."""
    for of in _types():
        for inputs in ((TOKEN, of), (of, TOKEN), (TOKEN,)):
            block, value = begin_block(of)
            operands = [value if one == of else _token(block) for one in inputs]
            operands.append(_token(block))
            yield "I1", _return_tensors(block, block.add(op, operands, TOKEN, given=given), value)
        for count in (1, 2):
            block, value = begin_block(of)
            operands = [value] * count
            yield "I2", _return_tensors(block, block.add(op, operands, TOKEN, given=given), value)


def _outfeed(op: str) -> Iterator[Miss]:
    """Yield near misses of I1, I2."""
    yield from _wrong_outputs(op, {})


def _pairs(pairs: Array, name: str = "si64") -> Dense:
    of = element_type(name)
    return Dense.of(pairs.astype(of.storage), TensorType(pairs.shape, of))


def _channels(input_id: str, pairs_id: str) -> Iterator[tuple[str, dict[str, Attribute]]]:
    """Yield attributes that violate one constraint on channels: `channel_type`, pairs, C1 to C5."""
    device: dict[str, Attribute] = {"channel_id": 1, "channel_type": DEVICE_TO_DEVICE}
    alone = device | {"source_target_pairs": SELF}
    for number in (0, 4, 7):
        yield input_id, alone | {"channel_type": number}
    wrong = (
        (pairs_id, _pairs(np.zeros((1, 2)), "si32")),
        (pairs_id, _pairs(np.zeros(2))),
        (pairs_id, _pairs(np.zeros((1, 2, 1)))),
        ("C1", _pairs(np.zeros((1, 3)))),
        ("C1", _pairs(np.zeros((1, 1)))),
        ("C2", _pairs(np.array([[0, 0], [0, 1]]))),
        ("C3", _pairs(np.array([[0, 0], [1, 0]]))),
        ("C4", _pairs(np.array([[-1, 0]]))),
        ("C4", _pairs(np.array([[0, -3]]))),
    )
    for id_, pairs in wrong:
        yield id_, device | {"source_target_pairs": pairs}
    yield "C5", device | {"is_host_transfer": True}


def _send(op: str) -> Iterator[Miss]:
    """Yield near misses of I1, I2, I4, I6, C1 to C5."""
    host: dict[str, Attribute] = {
        "channel_id": 1, "channel_type": DEVICE_TO_HOST, "is_host_transfer": True,
    }  # fmt: skip
    yield from _wrong_outputs(op, host)
    backwards = {"channel_id": 1, "channel_type": HOST_TO_DEVICE, "is_host_transfer": True}
    not_host = {"channel_id": 1, "channel_type": DEVICE_TO_HOST, "source_target_pairs": SELF}
    wrong = [*_channels("I4", "I6"), ("I4", backwards), ("C5", not_host)]
    for of in _types():
        for id_, given in wrong:
            block, value = begin_block(of)
            operands = (value, _token(block))
            yield id_, _return_tensors(block, block.add(op, operands, TOKEN, given=given), value)


def _recv(op: str) -> Iterator[Miss]:
    """Yield near misses of I1, I3, I5, C1 to C5."""
    host: dict[str, Attribute] = {
        "channel_id": 1, "channel_type": HOST_TO_DEVICE, "is_host_transfer": True,
    }  # fmt: skip
    not_host = {"channel_id": 1, "channel_type": HOST_TO_DEVICE, "source_target_pairs": SELF}
    for of in _types():
        block, value = begin_block(of)
        yield "I1", _return_tensors(block, block.add(op, (value,), of, TOKEN, given=host), value)
        for id_, given in (*_channels("I3", "I5"), ("C5", not_host)):
            block, value = begin_block(of)
            yield id_, _return_tensors(
                block, block.add(op, (_token(block),), of, TOKEN, given=given), value
            )  # fmt: skip


def _slice(block: BlockWriter, value: Value, stop: int) -> Value:
    assert isinstance(value.type, TensorType)
    given = {"start_indices": (0,), "limit_indices": (stop,), "strides": (1,)}
    return block.add("slice", (value,), TensorType((stop,), value.type.element_type), given=given)[
        0
    ]


Write = Callable[[BlockWriter, Value], Sequence[Value]]
"""A function write(block, argument): the results of a body."""


def _start_async(
    op: str,
    tensor_type: TensorType,
    write: Write,
    promised: tuple[ValueType, ...],
    *,
    taken: TensorType | None = None,
    count: int = 1,
) -> tuple[BlockWriter, Value, Value]:
    """Return the block, the parameter and the future of an async_start on `count` parameters."""
    block, value = begin_block(tensor_type)
    argument = block.writer.new_value(taken or tensor_type)
    inner = block.writer.block(arguments=(argument,))
    region = inner.finish_region(write(inner, argument))
    (future,) = block.add(op, [value] * count, FutureType(promised), regions=(region,))
    return block, value, future


def _add_half(block: BlockWriter, argument: Value) -> Sequence[Value]:
    return (_slice(block, argument, 2),)


def _slice_twice(block: BlockWriter, argument: Value) -> Sequence[Value]:
    return (_slice(block, _slice(block, argument, 3), 2),)


def _add_reverse(block: BlockWriter, argument: Value) -> Sequence[Value]:
    return block.add("reverse", (argument,), argument.type, given={"dimensions": (0,)})


def _add_barrier(block: BlockWriter, argument: Value) -> Sequence[Value]:
    return block.add("optimization_barrier", (argument,), argument.type)


def _async_start(op: str) -> Iterator[Miss]:
    """Yield near misses of C1 (not one operation), C2 (op), C3 (operands), C4 (future)."""
    for of in _types():
        half, longer = (TensorType((size,), of.element_type) for size in (2, 5))
        programs = [
            ("C1", _start_async(op, of, _slice_twice, (half,))),
            ("C1", _start_async(op, of, lambda _, argument: (argument,), (of,))),
            ("C2", _start_async(op, of, _add_reverse, (of,))),
            ("C2", _start_async(op, of, _add_barrier, (of,))),
            ("C3", _start_async(op, of, _add_half, (half,), count=2)),
            ("C3", _start_async(op, of, _add_half, (half,), count=0)),
            ("C3", _start_async(op, of, _add_half, (half,), taken=longer)),
            ("C4", _start_async(op, of, _add_half, (half, half))),
            *(("C4", _start_async(op, of, _add_half, (other,))) for other in similar_types(half)),
        ]
        for id_, (block, value, _) in programs:
            yield id_, end_block(block, (value,))


def _async_done(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 (no future), C1 (other results)."""
    for of in _types():
        block, value = begin_block(of)
        yield "I1", end_block(block, block.add(op, (value,), of))
        half = TensorType((2,), of.element_type)
        for results in (*((other,) for other in similar_types(half)), (half, half)):
            block, value, future = _start_async("async_start", of, _add_half, (half,))
            yield "C1", end_block(block, block.add(op, (future,), *results))


NEAR_MISSES: dict[str, Misses] = {
    "async_done": _async_done,
    "async_start": _async_start,
    "infeed": _infeed,
    "outfeed": _outfeed,
    "recv": _recv,
    "send": _send,
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {"async_start": ("I1",)}
"""Ids of constraints that are violated only with others, by op.

By C3 the operands of async_start have the types of its body's operation, and no permitted op takes
tokens or per-axis tensors.
"""
