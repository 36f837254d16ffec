"""Instructions that MLIR only has as custom calls, with attributes as options.

Source: XLA's conversion of StableHLO to HLO, and the output of jax: `jax.lax.ragged_all_to_all`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from conformance.stablehlo.attributes import spell_dense
from reference.ir.program import Attribute, Dense, Operation, attributes
from reference.ops.structure import calls_target

_TYPED_FFI = 4
"""The version of the interface whose options are a dictionary."""

TARGETS = {"mhlo.ragged_all_to_all": "ragged_all_to_all"}
"""The target of the custom call of each op."""

_OPS = {target: op for op, target in TARGETS.items()}


def to_custom_call(operation: Operation) -> Operation:
    """Return an instruction as the custom call that it is written as; other operations unchanged.

    The channel is always written: without a channel XLA crashes the process.
    """
    target = TARGETS.get(operation.name)
    if target is None:
        return operation
    given: dict[str, Any] = dict(operation.attributes)
    options = (
        ("channel_id", int(given.get("channel_id", 0)), "i64"),
        ("replica_groups", spell_dense(given["replica_groups"]), ""),
    )
    said: dict[str, Attribute] = {
        "api_version": _TYPED_FFI, "backend_config": options, "call_target_name": target,
    }  # fmt: skip
    return Operation("custom_call", operation.operands, operation.results, tuple(said.items()))


def from_custom_call(operation: Operation, read: Callable[[str], Attribute | None]) -> Operation:
    """Return the instruction that a custom call represents; other operations unchanged.

    `read` gives the value of an attribute, or None if it has no counterpart here.
    """
    given: dict[str, Any] = dict(operation.attributes)
    name = _OPS.get(given.get("call_target_name", "")) if calls_target(operation) else None
    options = given.get("backend_config")
    if name is None or not isinstance(options, tuple):
        return operation
    told: dict[str, Any] = {key: value for key, value, _ in options}  # pyright: ignore[reportUnknownVariableType]
    groups = read(str(told.get("replica_groups", "")))
    if not isinstance(groups, Dense):
        return operation
    said = attributes(replica_groups=groups, channel_id=int(told.get("channel_id", 0)))
    return replace(operation, name=name, attributes=said)
