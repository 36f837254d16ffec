"""The records of ops of XlaBuilder and CHLO that are lowered to others, and the lowering.

A row of XLA's pages with a twin in StableHLO is defined by the twin, preceded by operations that
convert its operands to the twin's form. The record's conditions first check the page's requirements
on a call.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from reference.ir.constraints import ConstraintViolation, collect_violations, require, restate_ids
from reference.ir.errors import EvaluationError
from reference.ir.notation import join_with_commas
from reference.ir.op import Dialect, Lower, Op, QuantizedUse
from reference.ir.program import (
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    ValueType,
    attributes,
)
from reference.ops import mhlo, ragged, stablehlo
from reference.ops.chlo import functions
from reference.ops.distribution import ragged as ragged_exchange

LOWER = stablehlo.OPS | {
    record.name: record for record in (*mhlo.OPS, *ragged.OPS, *ragged_exchange.OPS, *functions.OPS)
}
"""Ops to which the ops of XlaBuilder and CHLO are lowered, by mnemonic."""

Conditions = Callable[..., object]
"""A function conditions(*operand types, **attributes, **regions): requires P1, P2, ... of the page.

Stated result types are passed as `result`, or as the tuple `results` for an op of several.
"""


@dataclass(slots=True)
class Building:
    """A sequence of operations under construction; each may use the values before it.

    `results` are the types that the call states for its results, if any. If `checks`, operations
    that violate constraints of their own op raise ConstraintViolation; violations of the op `twin`
    are reported under the ids of `restated` (see `reference.ir.constraints.restate_ids`). `scope`
    is the enclosing program, if known.
    """

    prefix: str
    results: tuple[ValueType, ...] = ()
    checks: bool = False
    scope: Program | None = None
    twin: str = ""
    restated: Mapping[str, str] = field(default_factory=dict[str, str])
    operations: list[Operation] = field(default_factory=list[Operation])

    def op(
        self,
        name: str,
        /,
        *operands: Value,
        result: TensorType | None = None,
        regions: tuple[Region, ...] = (),
        **given: Any,
    ) -> Value:
        """Add an operation of one result; `result` is its type if operands do not imply it."""
        (value,) = self.ops(name, *operands, result=result, regions=regions, **given)
        return value

    def ops(
        self,
        name: str,
        /,
        *operands: Value,
        result: ValueType | None = None,
        results: tuple[ValueType, ...] | None = None,
        regions: tuple[Region, ...] = (),
        **given: Any,
    ) -> tuple[Value, ...]:
        """Add an operation of any number of results."""
        types = results or (() if result is None else (result,))
        if not types or (self.checks and name in LOWER):
            reported = restate_ids(self.restated if name == self.twin else {})
            # a near miss is written unchanged
            with nullcontext() if self.checks else collect_violations(), reported:
                types = _infer(name, operands, regions, given, types, self.scope)
        number = len(self.operations)
        values = tuple(Value(f"{self.prefix}.{number}.{n}", of) for n, of in enumerate(types))
        operation = Operation(name, operands, values, attributes(**given), regions)
        self.operations.append(operation)
        return values


def _infer(
    name: str, operands: tuple[Value, ...], regions: tuple[Region, ...], given: dict[str, Any],
    stated: tuple[ValueType, ...], scope: Program | None,
) -> tuple[ValueType, ...]:  # fmt: skip
    record = LOWER[name]
    said: dict[str, Any] = {key: v for key, v in given.items() if key != "result_accuracy"}
    if stated:
        said |= {"results": stated} if record.several else {"result": stated[0]}
    types = record.infer(*(value.type for value in operands), regions=regions, scope=scope, **said)
    return types if record.several else (types,)


def lower_operands(lower: Lower, building: Building, /, *operands: Any, **given: Any) -> Any:
    """Return the values that an op is lowered to.

    Raises:
        ConstraintViolation: if its operands and attributes cannot be lowered.
    """
    with _report_unfit():
        return lower(building, *operands, **given)


@contextmanager
def _report_unfit() -> Generator[None]:
    """Report attributes that the lowering cannot compute with as a violation of "lowering"."""
    try:
        yield
    except ConstraintViolation:
        raise
    except (IndexError, KeyError, ValueError, ZeroDivisionError) as error:  # only for a near miss
        require("lowering", False, error)
        raise ConstraintViolation(
            "?", "lowering", str(error)
        ) from None  # within `collect_violations`


def _types(
    lower: Lower,
    conditions: Conditions | None,
    several: bool,
    twin: str,
    restated: Mapping[str, str],
    /,
    *operands: ValueType | tuple[ValueType, ...],
    **given: Any,
) -> Any:
    """Return the result types of an op that is lowered.

    For an op that is `scoped`, its conditions and its twin receive the enclosing program.
    """
    results: Any = given.pop("results", None) or (given.pop("result", None),)
    stated = () if results[0] is None else results
    if conditions is not None:
        said = {"results": stated} if several else {"result": stated[0]} if stated else {}
        with collect_violations() as found, _report_unfit():
            conditions(*operands, **said, **given)
        if found.ids:
            conditions(*operands, **said, **given)  # outside of collecting, or within another's
            return results if several else results[0]
    scope: Program | None = given.pop("scope", None)
    values = [_placeholder(f"o{n}", of) for n, of in enumerate(operands)]
    building = Building("r", stated, checks=True, scope=scope, twin=twin, restated=restated)
    made = lower_operands(lower, building, *values, **given)
    types = tuple(value.type for value in (made if several else (made,)))
    require("result", not stated or types == tuple(stated), join_with_commas(*types))
    return types if several else types[0]


def _placeholder(name: str, of: ValueType | tuple[ValueType, ...]) -> Any:
    if isinstance(of, tuple):
        return tuple(Value(f"{name}.{n}", one) for n, one in enumerate(of))
    return Value(name, of)


def _refuse_evaluation(*_: Any, **__: Any) -> Any:
    raise EvaluationError("an op of XlaBuilder cannot be evaluated: lower the program first")


def lowered_op(
    name: str,
    twin: str,
    lower: Lower,
    *,
    operands: tuple[str, ...],
    attributes: tuple[str, ...] = (),
    conditions: Conditions | None = None,
    constraints: tuple[str, ...] = (),
    renames: dict[str, str] | None = None,
    restates: dict[str, tuple[str, ...]] | None = None,
    waives: tuple[str, ...] = (),
    dialect: Dialect = Dialect.XLA,
    **facts: Any,
) -> Op:
    """Return the record of an op that is lowered; facts that are not given are its twin's.

    `conditions` requires the ids `constraints`, except those that `restates` maps to equivalent
    constraints of the twin: the twin's type function requires these.
    """
    of, known = LOWER[twin], restates or {}
    several = facts.get("several", of.several)
    restated = {theirs: ours for ours, ids in known.items() for theirs in ids}
    restated |= dict.fromkeys(waives, "")
    given: dict[str, Any] = {
        "evaluate": _refuse_evaluation, "quantized": QuantizedUse.REFUSES, "specified": False,
        "unrounded": None, "is_exact": None, "body_types": (), "rescales": False,
        "size_operands": (), "optional": (), "inputs": (), "check_values": None,
        "metadata": frozenset[str](),
        "type_function": partial(_types, lower, conditions, several, twin, restated),
        "wraps": False,
    }  # fmt: skip
    return replace(
        of, name=name, dialect=dialect, twin=twin, lower=lower, operands=operands,
        attributes=attributes, constraints=constraints,
        renames=tuple((renames or {}).items()), restates=tuple(known.items()), waives=waives,
        **given | facts,
    )  # fmt: skip


def renamed_op(name: str, twin: str, *, renames: dict[str, str] | None = None, **facts: Any) -> Op:
    """Return the record of an op that is its twin under another name, with its attributes.

    `renames` maps the page's names of attributes and regions to the twin's.
    """
    of, back = LOWER[twin], dict(renames or {})
    forth = {theirs: ours for ours, theirs in back.items()}

    def lower(building: Building, *operands: Any, **given: Any) -> Any:
        flat = [
            v
            for operand in operands
            for v in (operand if isinstance(operand, tuple) else (operand,))
        ]
        theirs = {back.get(ours, ours): value for ours, value in given.items()}
        names = [region.removeprefix("*") for region in of.regions]
        taken = [theirs.pop(region) for region in names]
        regions = tuple(r for one in taken for r in (one if isinstance(one, tuple) else (one,)))
        stated = building.results if facts.get("needs_result", of.needs_result) else None
        values = building.ops(twin, *flat, results=stated, regions=regions, **theirs)
        return values if of.several else values[0]

    def own_names(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            "*" * n.startswith("*") + forth.get(n.removeprefix("*"), n.removeprefix("*"))
            for n in names
        )

    given: dict[str, Any] = {
        "operands": of.operands, "attributes": own_names(of.attributes),
        "regions": own_names(of.regions), "optional": own_names(of.optional),
    }  # fmt: skip
    return lowered_op(name, twin, lower, renames=renames, **given | facts)
