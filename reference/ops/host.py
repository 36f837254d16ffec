"""Transfers to and from the host and other processes by queues, and asynchronous operations.

Inputs and attributes have the specification's names. A program does not state the source of infeed
and channel data: evaluation receives it as `Queues`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from reference.ir.constraints import require
from reference.ir.errors import EvaluationError, mismatch
from reference.ir.notation import is_quantized, quantized_element
from reference.ir.op import (
    FIRST_OPERAND,
    FIRST_RESULT,
    Dialect,
    Op,
    QuantizedUse,
    Rounding,
    Structure,
)
from reference.ir.processes import Process, ProcessId
from reference.ir.program import Dense, FutureType, Region, TensorType, TokenType, ValueType
from reference.ir.regions import Body, argument_types, output_types
from reference.ir.tokens import Future, Token
from reference.ir.types import ALL, Array
from reference.ops.control_flow import join_types, same_types
from reference.ops.distribution.groups import cross_partition, cross_replica

DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE = 1, 2, 3
"""Values of `channel_type` in StableHLO's numbering (0 is invalid)."""

COLLECTIVES = frozenset({
    "all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute",
    "reduce_scatter",
})  # fmt: skip
SLICES = frozenset({"dynamic_slice", "dynamic_update_slice", "slice"})
"""The ops that may be started asynchronously, together with the collectives."""


Channel = deque[tuple[Array, ...]]
"""The queue of a channel: sent on the right, received from the left."""


Route = tuple[int, ProcessId, ProcessId]
"""A channel from one process to another."""


def _no_routes() -> MutableMapping[Route, Channel]:
    return {}


def _no_channels() -> MutableMapping[int, Channel]:
    return {}


@dataclass(slots=True)
class Queues:
    """The queues between an evaluation, the host and other processes.

    By default the host is an echo: the infeed returns the arrays written to the outfeed, and a
    channel returns the arrays sent on it.
    """

    infeeds: Iterator[Sequence[Array]] | Mapping[ProcessId, Iterator[Sequence[Array]]] | None = None
    outfeed: (
        MutableSequence[tuple[Array, ...]]
        | MutableMapping[ProcessId, MutableSequence[tuple[Array, ...]]]
        | None
    ) = None
    channels: MutableMapping[int, Channel] = field(default_factory=_no_channels)
    routes: MutableMapping[Route, Channel] = field(default_factory=_no_routes)
    echo: deque[tuple[Array, ...]] = field(default_factory=deque[tuple[Array, ...]])
    taken: int = 0

    def process_queues(self, process: ProcessId) -> Queues:
        """Return the queues of one process among several: its own feeds, and the shared channels.

        Feeds given by process belong to that process, others are shared.
        """
        infeeds, outfeed = self.infeeds, self.outfeed
        if isinstance(infeeds, Mapping):
            infeeds = infeeds.get(process, iter(()))
        if isinstance(outfeed, Mapping):
            outfeed = outfeed.setdefault(process, [])
        return Queues(infeeds, outfeed, self.channels, self.routes)

    def infeed(self) -> tuple[Array, ...]:
        """Return the next arrays from the infeed.

        Raises:
            EvaluationError: if there are no more.
        """
        try:
            assert not isinstance(self.infeeds, Mapping)  # see `process_queues`
            given = self.echo.popleft() if self.infeeds is None else next(self.infeeds)
        except (IndexError, StopIteration):
            raise EvaluationError(f"the infeed is empty after {self.taken} values") from None
        self.taken += 1
        return tuple(given)

    def write_outfeed(self, given: tuple[Array, ...]) -> None:
        """Write arrays to the outfeed."""
        if self.outfeed is not None:
            assert not isinstance(self.outfeed, Mapping)  # see `process_queues`
            self.outfeed.append(given)
        if self.infeeds is None:
            self.echo.append(given)

    def route(self, route: Route) -> Channel:
        """Return the queue from one process to another, creating it if needed."""
        return self.routes.setdefault(route, deque())

    def channel(self, number: int) -> Channel:
        """Return the queue of a channel, creating it if needed."""
        return self.channels.setdefault(number, deque())


def infeed_type(
    token: ValueType,
    *,
    results: tuple[ValueType, ...],
    infeed_config: str = "",
) -> tuple[ValueType, ...]:
    """Return the result types of `infeed`, which the program states: payload, then a token.

    Raises:
        ConstraintViolation: I1 (no token), C1 (no result), C2 (payload is not a tensor), C3
            (the last
            result is no token).
    """
    del infeed_config  # its meaning is implementation-defined
    require("I1", isinstance(token, TokenType), token)
    if require("C1", len(results) > 0, "no result"):
        _payload_and_token(results)
    return results


def _payload_and_token(results: tuple[ValueType, ...]) -> None:
    tensors = all(isinstance(of, TensorType) for of in results[:-1])
    require("C2", tensors, join_types(*results))  # C2 of infeed
    require("C3", isinstance(results[-1], TokenType), join_types(*results))  # C3 of infeed


def infeed(
    token: Token,
    *,
    results: tuple[ValueType, ...],
    queues: Queues,
    process: Process,
    infeed_config: str = "",
) -> tuple[Any, ...]:
    """Evaluate `infeed`: return the host's next values and a token.

    Raises:
        EvaluationError: if the infeed is empty, or holds values of other types.
    """
    del infeed_config, process
    return _receive(queues.infeed(), results, "the infeed", token)


def _receive(
    given: tuple[Any, ...], results: tuple[ValueType, ...], where: str, token: Token
) -> tuple[Any, ...]:
    payload = results[:-1]
    if len(given) != len(payload):
        raise EvaluationError(f"{where} holds {len(given)} arrays, {len(payload)} are expected")
    for index, (array, of) in enumerate(zip(given, payload, strict=True)):
        problem = mismatch(array, of)
        if problem:
            raise EvaluationError(f"{where}, array {index}: {problem}")
    return (*given, token)


def outfeed_type(
    inputs: tuple[ValueType, ...],
    token: ValueType,
    *,
    result: ValueType | None = None,
    outfeed_config: str = "",
) -> ValueType:
    """Return the result type of `outfeed`: a token.

    Raises:
        ConstraintViolation: I1 (an input is not a tensor), I2 (no token).
    """
    del outfeed_config  # its meaning is implementation-defined
    require("I1", all(isinstance(of, TensorType) for of in inputs), join_types(*inputs))
    require("I2", isinstance(token, TokenType), token)
    return result or TokenType()


def outfeed(
    inputs: tuple[Array, ...],
    token: Token,
    *,
    queues: Queues,
    process: Process,
    outfeed_config: str = "",
) -> Token:
    """Evaluate `outfeed`: pass the inputs to the host."""
    del outfeed_config, process
    queues.write_outfeed(inputs)
    return token


def send_type(
    inputs: tuple[ValueType, ...],
    token: ValueType,
    *,
    channel_id: int,
    channel_type: int,
    is_host_transfer: bool = False,
    source_target_pairs: Dense | None = None,
    result: ValueType | None = None,
) -> ValueType:
    """Return the result type of `send`: a token.

    Raises:
        ConstraintViolation: I1 (an input is not a tensor), I2 (no token), I4 (channel_type), I6
            (source_target_pairs is no matrix of si64), C1 to C4 (its shape and entries), C5
            (channel_type does not fit `is_host_transfer`).
    """
    del channel_id
    require("I1", all(isinstance(of, TensorType) for of in inputs), join_types(*inputs))
    require("I2", isinstance(token, TokenType), token)
    known = require("I4", channel_type in (DEVICE_TO_DEVICE, DEVICE_TO_HOST), channel_type)
    if source_target_pairs is not None:
        _pairs(source_target_pairs, "I6")
    wanted = DEVICE_TO_HOST if is_host_transfer else DEVICE_TO_DEVICE
    require("C5", not known or channel_type == wanted, channel_type)
    return result or TokenType()


def _pairs(given: Dense, input_id: str) -> None:
    """Check constraints on `source_target_pairs`; the grid's bound in C4 is checked at
    execution."""
    of = given.type
    if not require(input_id, of.rank == 2 and str(of.element_type) == "si64", of):
        return
    if require("C1", of.shape[1] == 2, of):
        pairs = given.array
        for id_, column in (("C2", pairs[:, 0]), ("C3", pairs[:, 1])):
            require(id_, len(set(column.tolist())) == len(column), column.tolist())  # C2, C3
        require("C4", not (pairs < 0).any(), pairs.tolist())


def send(
    inputs: tuple[Array, ...],
    token: Token,
    *,
    queues: Queues,
    process: Process,
    channel_id: int,
    channel_type: int,
    is_host_transfer: bool = False,
    source_target_pairs: Dense | None = None,
) -> Token:
    """Evaluate `send`: append the inputs to the queue of the channel or of the process's target.

    Raises:
        EvaluationError: if the transfer is between devices and does not state them.
    """
    del channel_type
    if is_host_transfer:
        queues.channel(channel_id).append(inputs)
        return token
    for source, target in _routes(source_target_pairs, process):
        if source == process.id:
            queues.route((channel_id, source, target)).append(inputs)
    return token


def _routes(pairs: Dense | None, process: Process) -> list[list[ProcessId]]:
    """Return the pairs of source and target processes of a transfer between devices.

    Spec, "send", does not define the ids: here they are partition ids if there are several
    partitions, else replica ids.
    """
    if pairs is None or not pairs.array.size:
        raise EvaluationError("a transfer between devices without source_target_pairs is undefined")
    replicas, partitions = process.grid
    strategy, count = (cross_partition, partitions) if partitions > 1 else (cross_replica, replicas)
    given: list[list[int]] = pairs.array.tolist()
    if any(not 0 <= number < count for pair in given for number in pair):
        raise EvaluationError(f"{given}: there are {count} processes to send to")
    return strategy(given, process.grid)


def recv_type(
    token: ValueType,
    *,
    channel_id: int,
    channel_type: int,
    is_host_transfer: bool = False,
    source_target_pairs: Dense | None = None,
    results: tuple[ValueType, ...],
) -> tuple[ValueType, ...]:
    """Return the result types of `recv`, which the program states: payload, then a token.

    In C5 the specification requires DEVICE_TO_HOST even for data from the host; its own example and
    StableHLO's verifier use HOST_TO_DEVICE. Both are accepted.

    Raises:
        ConstraintViolation: I1 (no token), I3 (channel_type), I5 (source_target_pairs is no matrix
            of si64), C1 to C4 (its shape and entries), C5 (channel_type does not fit
            `is_host_transfer`); "result" if the results are not payload and token.
    """
    del channel_id
    require("I1", isinstance(token, TokenType), token)
    types = (DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE)
    known = require("I3", channel_type in types, channel_type)
    if source_target_pairs is not None:
        _pairs(source_target_pairs, "I5")
    wanted = (DEVICE_TO_HOST, HOST_TO_DEVICE) if is_host_transfer else (DEVICE_TO_DEVICE,)
    require("C5", not known or channel_type in wanted, channel_type)
    tensors = all(isinstance(of, TensorType) for of in results[:-1])
    last = isinstance(results[-1], TokenType) if results else False
    require("result", tensors and last, join_types(*results))
    return results


def recv(
    token: Token,
    *,
    results: tuple[ValueType, ...],
    queues: Queues,
    process: Process,
    channel_id: int,
    channel_type: int,
    is_host_transfer: bool = False,
    source_target_pairs: Dense | None = None,
) -> tuple[Any, ...]:
    """Evaluate `recv`: remove the next values from the channel's queue, waiting for the sender.

    Raises:
        EvaluationError: if nothing arrives or it has other types, or if the transfer is between
            devices and states none, or none that sends to this process.
    """
    del channel_type
    where = f"channel {channel_id}"
    if is_host_transfer:
        queue = queues.channel(channel_id)
    else:
        routes = _routes(source_target_pairs, process)
        sources = [source for source, target in routes if target == process.id]
        if not sources:
            raise EvaluationError(f"{where}: no process sends to {process.id}")
        queue = queues.route((channel_id, sources[0], process.id))
    process.wait(lambda: bool(queue))
    if not queue:
        raise EvaluationError(f"{where} is empty")
    return _receive(queue.popleft(), results, where, token)


def async_start_type(
    operands: tuple[ValueType, ...], *, body: Region, result: ValueType | None = None
) -> ValueType:
    """Return the result type of `async_start`: a future of the results of its body's operation.

    Raises:
        ConstraintViolation: I1 (operand no tensor, or quantized per axis), C1 (not a single
            operation in the body), C2 (an op that is not permitted), C3 (its operands are not those
            given), C4 (the future's type).
    """
    tensors = all(
        isinstance(of, TensorType)
        and (not is_quantized(of) or _dimension(of) is None)
        for of in operands
    )  # fmt: skip
    require("I1", tensors, join_types(*operands))
    inferred = FutureType(output_types(body))
    single = [o.name for o in body.operations[1:]] == ["return"]
    if require("C1", single, [o.name for o in body.operations]):
        operation = body.operations[0]
        require("C2", operation.name in COLLECTIVES | SLICES, operation.name)
        given = tuple(value.type for value in operation.operands)
        agree = same_types(operands, argument_types(body)) and same_types(operands, given)
        require("C3", agree, join_types(*operands, *given))
    if result is not None:
        require("C4", same_types((result,), (inferred,)), result)
    return result or inferred


def _dimension(value_type: ValueType) -> int | None:
    element = quantized_element(value_type)
    return None if element is None else element.quantization_dimension


def async_start(operands: tuple[Any, ...], *, body: Body) -> Future:
    """Evaluate `async_start`: run the body at once, as any backend may."""
    return Future(body(*operands))


def async_done_type(
    operand: ValueType, *, results: tuple[ValueType, ...] | None = None
) -> tuple[ValueType, ...]:
    """Return the result types of `async_done`, which the future holds.

    Raises:
        ConstraintViolation: I1 (no future), C1 (other types).
    """
    if not require("I1", isinstance(operand, FutureType), operand):
        return results or ()
    assert isinstance(operand, FutureType)
    if results is not None:
        require("C1", same_types(results, operand.types), join_types(*results))
    return results or operand.types


def async_done(operand: Future) -> tuple[Any, ...]:
    """Evaluate `async_done`: return the results of the future."""
    return operand.values


_CHANNEL = ("channel_id", "channel_type", "is_host_transfer", "source_target_pairs")
_CHANNEL_OPTIONAL = ("is_host_transfer", "source_target_pairs")
_CHANNEL_IDS = ("C1", "C2", "C3", "C4", "C5")

_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, element_types=ALL, principal=FIRST_OPERAND,
    quantized=QuantizedUse.PASSES, rounding=Rounding.MOVES, lifts=False, values=True,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="async_done", type_function=async_done_type, evaluate=async_done,
        operands=("operand",), attributes=(), constraints=("C1",), inputs=("I1",),
        principal=FIRST_RESULT, structure=Structure.AWAITS, needs_result=False, several=True,
    ),
    _op(
        name="async_start", type_function=async_start_type, evaluate=async_start,
        operands=("*operands",), attributes=(), regions=("body",),
        constraints=("C1", "C2", "C3", "C4"), inputs=("I1",), structure=Structure.STARTS,
        needs_result=False,
    ),
    _op(
        name="infeed", type_function=infeed_type, evaluate=infeed, operands=("token",),
        metadata=frozenset({"layout"}),
        attributes=("infeed_config",), optional=("infeed_config",), constraints=("C1", "C2", "C3"),
        inputs=("I1",), principal=FIRST_RESULT, structure=Structure.TRANSFERS, needs_result=True,
        several=True,
    ),
    _op(
        name="outfeed", type_function=outfeed_type, evaluate=outfeed,
        operands=("*inputs", "token"), attributes=("outfeed_config",),
        optional=("outfeed_config",), constraints=(), inputs=("I1", "I2"),
        structure=Structure.TRANSFERS, needs_result=False,
    ),
    _op(
        name="recv", type_function=recv_type, evaluate=recv, operands=("token",),
        attributes=_CHANNEL, optional=_CHANNEL_OPTIONAL, constraints=_CHANNEL_IDS,
        inputs=("I1", "I3", "I5"), principal=FIRST_RESULT, structure=Structure.TRANSFERS,
        needs_result=True, several=True,
    ),
    _op(
        name="send", type_function=send_type, evaluate=send, operands=("*inputs", "token"),
        attributes=_CHANNEL, optional=_CHANNEL_OPTIONAL, constraints=_CHANNEL_IDS,
        inputs=("I1", "I2", "I4", "I6"), structure=Structure.TRANSFERS, needs_result=False,
    ),
)  # fmt: skip
"""The ops of this family."""
