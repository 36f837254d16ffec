"""Cases of XlaBuilder's collectives: the cases of their twins, restated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick
from generators.families import distribution
from generators.families.collectives.ragged_exchange import ragged_all_to_all
from generators.families.xla.twins import Restate, rename_to_op, twins
from generators.programs.building import Builder
from generators.programs.constructs import enclose
from reference.ir.program import Dense, Operation, TensorType
from reference.ir.types import ElementType
from reference.ops.distribution.groups import is_empty
from reference.ops.table import OPS
from reference.ops.xla.distribution import OPS as RECORDS

_SHARED = ("replica_groups", "channel_id", "use_global_device_ids")


def _shared_attributes(operation: Operation) -> dict[str, Any]:
    return {name: value for name, value in operation.attributes if name in _SHARED}


def _size(value: Any, dimension: int) -> int:
    assert isinstance(value.type, TensorType)
    return value.type.static_shape[dimension]


def _all_gather(operation: Operation) -> dict[str, Any]:
    given: Mapping[str, Any] = dict(operation.attributes)
    dimension = given["all_gather_dim"]
    grown = _size(operation.results[0], dimension) // _size(operation.operands[0], dimension)
    return _shared_attributes(operation) | {"all_gather_dimension": dimension, "shard_count": grown}


def _reduce_scatter(operation: Operation) -> dict[str, Any]:
    given: Mapping[str, Any] = dict(operation.attributes)
    dimension = given["scatter_dimension"]
    parts = _size(operation.operands[0], dimension) // _size(operation.results[0], dimension)
    return _shared_attributes(operation) | {"scatter_dimension": dimension, "shard_count": parts}


def _omit_empty_groups(build: Builder) -> Builder:
    """Return a builder that omits the empty groups of some cases."""

    def built(element_type: ElementType, pick: Pick) -> Case:
        made = build(element_type, pick)
        main = made.program.main
        *before, subject, end = main.body.operations
        groups = subject.attribute("replica_groups")
        if not isinstance(groups, Dense) or not is_empty(groups) or pick(2):
            return made
        given = tuple((name, value) for name, value in subject.attributes if value is not groups)
        body = replace(main.body, operations=(*before, replace(subject, attributes=given), end))
        changed = replace(main, body=body)
        functions = tuple(
            changed if function is main else function for function in made.program.functions
        )
        return Case(replace(made.program, functions=functions), made.inputs)

    return built


def _cross_replica_sum(element_type: ElementType, pick: Pick) -> Case:
    """Return a sum among replicas, separate for each partition."""
    return distribution.replica_sum_case("CrossReplicaSum", element_type, pick)


_PAGE_ORDER = (0, 2, 3, 1, 4, 5)
"""The order of the custom call's operands in XLA's operation semantics."""


def _ragged_all_to_all(element_type: ElementType, pick: Pick) -> Case:
    made = ragged_all_to_all(element_type, pick)
    program = rename_to_op(made.program, OPS["RaggedAllToAll"])
    main = program.main
    *before, subject, end = main.body.operations
    operands = tuple(subject.operands[at] for at in _PAGE_ORDER)
    body = replace(main.body, operations=(*before, replace(subject, operands=operands), end))
    return Case(replace(program, functions=(replace(main, body=body),)), made.inputs)


_OWN: dict[str, Builder] = {
    "CrossReplicaSum": _cross_replica_sum, "RaggedAllToAll": _ragged_all_to_all,
}  # fmt: skip

_STANDING = ("RaggedAllToAll",)
"""Ops that only occur in main, as their counterparts do."""

RESTATED: dict[str, Restate] = {"AllGather": _all_gather, "ReduceScatter": _reduce_scatter}

_IN_MAIN: dict[str, Builder] = {
    **twins(
        distribution.RESTATABLE,
        (record for record in RECORDS if record.name not in _OWN),
        RESTATED,
    ),
    **_OWN,
}

BUILDERS: dict[str, Builder] = {
    name: build if name in _STANDING else enclose(_omit_empty_groups(build), paired=False)
    for name, build in _IN_MAIN.items()
}
"""The builder of each op's cases; XlaBuilder has no asynchronous ops, so that no case has any."""
