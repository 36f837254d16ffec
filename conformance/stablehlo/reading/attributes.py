"""The attributes of an operation, as MLIR has read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from jaxlib.mlir import ir

from conformance.stablehlo.attributes import KINDS, Verbatim
from conformance.stablehlo.configurations import CONFIGURATIONS
from conformance.stablehlo.reading.constants import constant
from conformance.stablehlo.reading.groups import replica_groups
from conformance.stablehlo.reading.kinds import read_as
from conformance.stablehlo.shardings import manual_attributes
from conformance.stablehlo.structs import Struct, flatten_struct, struct_of
from reference.ir.op import Structure
from reference.ir.program import Attribute
from reference.ops.structure import MANUAL
from reference.ops.table import OPS

_INHERENT = frozenset({"layout", "operand_layouts", "result_accuracy", "result_layouts"})
"""Attributes that ops of the dialect have and the specification lacks."""

_ENTRIES = "mhlo.attributes"
"""The attribute of a custom call that holds the attributes of the instruction that it represents.
"""

_NOTHING_ASKED = re.compile(r"#(?:stablehlo|mhlo)\.result_accuracy<mode = .*<DEFAULT>>")


def op_name(name: str) -> str:
    """Return the mnemonic of an operation that has this name in the text."""
    return "constant" if name == "arith.constant" else name.removeprefix("stablehlo.")


def own_attributes(operation: ir.Operation) -> Iterator[tuple[str, Attribute]]:
    """Return the attributes of the op's own dialect, sorted by the table of kinds."""
    if operation.name == MANUAL:
        yield from manual_attributes(operation).items()
        return
    for key in operation.attributes:
        name = getattr(key, "name", key)  # before jaxlib 0.8 a NamedAttribute
        configures = name in CONFIGURATIONS and operation.name == "stablehlo.custom_call"
        if not configures and ("." in name or _is_discardable(operation.name, name)):
            continue
        if name == "value" and _is_constant(operation):
            yield name, constant(operation)
            continue
        yield from _read(name, operation.attributes[name], operation)


def represented_op(operation: ir.Operation) -> tuple[str, tuple[tuple[str, Attribute], ...]] | None:
    """Return name and attributes of the op that a custom call represents, or None.

    StableHLO writes an instruction of MHLO that it lacks as a call of that name. The same op is a
    record as an instruction of MHLO, as an op of CHLO, or as one that StableHLO has by now.
    """
    given: Any = operation.attributes
    if operation.name != "stablehlo.custom_call" or _ENTRIES not in given:
        return None
    dialect, _, op = str(given["call_target_name"].value).partition(".")
    names = (prefix + op for prefix in ("mhlo.", "chlo.", "") if prefix + op in OPS)
    name = next(names, None) if dialect == "mhlo" else None
    if name is None or OPS[name].regions:
        return None
    entries = (_read(one.name, one.attr, operation) for one in given[_ENTRIES])
    return name, tuple(chain.from_iterable(entries))


def _read(name: str, attribute: Any, operation: ir.Operation) -> Iterator[tuple[str, Attribute]]:
    """Return an attribute of an operation, or the fields of a struct."""
    struct = struct_of(op_name(operation.name), name)
    if struct is not None:
        yield from _read_struct(struct, attribute, operation)
        return
    spelled = str(attribute)
    groups = replica_groups(operation, attribute) if name == "replica_groups" else None
    if groups is not None:
        yield name, groups
        return
    if name == "result_accuracy" and _NOTHING_ASKED.fullmatch(spelled):
        return
    value = read_as(KINDS[name], attribute, operation) if name in KINDS else None
    yield name, Verbatim(spelled) if value is None else value


def _is_constant(operation: ir.Operation) -> bool:
    record = OPS.get(op_name(operation.name))
    return record is not None and record.structure is Structure.CONSTANT


def _is_discardable(op: str, attribute: str) -> bool:
    """Return whether an op of StableHLO defines no attribute of that name, so that it has no
    meaning.

    A custom call may have any attribute.
    """
    op = op_name(op)
    if op not in OPS or attribute in _INHERENT:
        return False
    if OPS[op].structure is Structure.CALLS_TARGET:
        return False
    return attribute not in OPS[op].attributes and struct_of(op, attribute) is None


def _read_struct(
    struct: Struct, attribute: Any, operation: ir.Operation
) -> Iterator[tuple[str, Attribute]]:
    """Return a struct's fields; an empty struct counts as absent if the specification's op lacks
    it.
    """
    known = OPS.get(op_name(operation.name))
    for name, value in flatten_struct(struct, attribute):
        if known is not None and name in known.metadata:
            continue
        if value != () or known is None or name in known.attributes:
            yield name, value
