"""An all_to_all of parts whose different sizes the processes send.

Source: XLA operation semantics, "RaggedAllToAll". XLA has it as an instruction, which MLIR writes
as a custom call of that name (conformance/stablehlo/custom_calls.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from reference.ir.constraints import require
from reference.ir.errors import EvaluationError
from reference.ir.notation import is_unique, join_with_commas
from reference.ir.op import FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.processes import Process
from reference.ir.program import Dense, Program, TensorType
from reference.ir.types import ALL, Array
from reference.ops.distribution.groups import group_of, ids_of, listed_ids, strategy_by_channel
from reference.ops.distribution.types import grid_of

Arrays = tuple[Array, ...]
Types = tuple[TensorType, ...]


class RaggedOperands(NamedTuple):
    """The operands, in the order of the custom call (the page's order differs)."""

    input: Array
    output: Array
    input_offsets: Array
    send_sizes: Array
    output_offsets: Array
    recv_sizes: Array

    def updates(self, number: int, count: int) -> Iterator[tuple[int, int, int]]:
        """Yield (from, size, to) of each update for a process of the group."""
        said = self.input_offsets, self.send_sizes, self.output_offsets
        mine = (one.reshape(count, -1)[number].tolist() for one in said)
        return zip(*mine, strict=True)


def check_shapes(given: Types, ids: tuple[str, str]) -> bool:
    """Check the shapes of offsets and sizes, and of input and output, each under its id.

    Raises:
        ConstraintViolation: with the violated id.
    """
    of_input, output, *places = given
    alike = len({of.shape for of in places}) == 1
    ragged = of_input.rank > 0 and output.rank > 0 and of_input.shape[1:] == output.shape[1:]
    ragged = ragged and of_input.element_type == output.element_type
    return require(ids[0], alike, join_with_commas(*places)) & require(
        ids[1], ragged, join_with_commas(of_input, output)
    )


def ragged_all_to_all_type(
    operands: Types, *, replica_groups: Dense, channel_id: int = 0,
    result: TensorType | None = None, scope: Program | None = None,
) -> TensorType:  # fmt: skip
    """Return the result type of `mhlo.ragged_all_to_all`: the output's.

    Raises:
        ConstraintViolation: "operands" (their number, shapes and types), "attributes" (ids of
            groups), "result".
    """
    if not require("operands", len(operands) == len(RaggedOperands._fields), len(operands)):
        return operands[0]
    integers = all(of.element.is_integer for of in operands[2:])
    require("operands", integers, join_with_commas(*operands[2:]))
    check_shapes(operands, ("operands", "operands"))
    groups = listed_ids(replica_groups)
    named, grid = [number for group in groups for number in group], grid_of(scope)
    count = len(named) if grid is None else ids_of(strategy_by_channel(channel_id), grid)
    every = is_unique(named) and sorted(named) == list(range(count))
    if require("attributes", every, groups):
        places = operands[2].static_shape
        fits = bool(places) and places[0] % max(1, *map(len, groups)) == 0
        require("operands", fits and len({*map(len, groups)}) == 1, join_with_commas(operands[2]))
    require("result", result in (None, operands[1]), result)
    return operands[1]


def ragged_all_to_all(
    operands: Arrays, *, process: Process, replica_groups: Dense, channel_id: int = 0
) -> Array:
    """Evaluate `mhlo.ragged_all_to_all`: return the output with the updates of the group.

    Raises:
        EvaluationError: if the process is in no group, rows are outside of input or output, two
            updates overlap, or a size is not the expected size: the page does not define the
            result.
    """
    groups = strategy_by_channel(channel_id)(listed_ids(replica_groups), process.grid)
    group = group_of(groups, process.id)
    if group is None:
        raise EvaluationError(
            f"process {process.id} is in no group of {listed_ids(replica_groups)}"
        )
    shares = [RaggedOperands(*one) for one in process.exchange(group, operands)]
    own = RaggedOperands(*operands)
    awaited = own.recv_sizes.reshape(len(group), -1).tolist()
    result, written = own.output.copy(), np.zeros(own.output.shape[0], np.int64)
    for sender, sizes in zip(shares, awaited, strict=True):
        updates = [*sender.updates(group.index(process.id), len(group))]
        if [size for _, size, _ in updates] != sizes:
            sent = [size for _, size, _ in updates]
            raise EvaluationError(f"recv_sizes are {sizes}, but {sent} rows are sent")
        for at, size, to in updates:
            _check_rows(at, size, len(sender.input), "input")
            _check_rows(to, size, len(result), "output")
            result[to : to + size] = sender.input[at : at + size]
            written[to : to + size] += 1
    if (written > 1).any():
        raise EvaluationError(
            f"row {int(np.argmax(written > 1))} of output is updated several times"
        )
    return result


def _check_rows(at: int, size: int, count: int, what: str) -> None:
    if not 0 <= at <= at + size <= count:
        raise EvaluationError(f"rows {at} to {at + size} of {what}, which has {count}")


OPS: Sequence[Op] = (
    Op(
        name="mhlo.ragged_all_to_all", dialect=Dialect.MHLO, specified=False,
        type_function=ragged_all_to_all_type, evaluate=ragged_all_to_all, operands=("*operands",),
        attributes=("replica_groups", "channel_id"), optional=("channel_id",), constraints=(),
        element_types=ALL, principal=FIRST_OPERAND, quantized=QuantizedUse.REFUSES,
        rounding=Rounding.MOVES, structure=Structure.COMMUNICATES, lifts=False,
        needs_result=False, scoped=True, carries=(0, 1),
    ),
)  # fmt: skip
"""The op of this file."""
