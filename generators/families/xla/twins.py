"""Cases of XlaBuilder's ops that equal their twin under another name: the twin's cases, renamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick
from generators.programs.building import Builder
from reference.ir.op import Op
from reference.ir.program import Operation, Program, attributes
from reference.ir.types import ElementType

Restate = Callable[[Operation], dict[str, Any]]
"""A function from an operation of StableHLO's op to the attributes of XlaBuilder's op, as far as
they differ.
"""


def restate_case(
    build: Builder, record: Op, restate: Restate | None, element_type: ElementType, pick: Pick
) -> Case:
    """Return a case of the op, made from a case of its twin in StableHLO."""
    made = build(element_type, pick)
    return Case(rename_to_op(made.program, record, restate), made.inputs)


def rename_to_op(
    program: Program, record: Op, restate: Restate | None = None, *, inferred: bool = False
) -> Program:
    """Return the program with its last twin replaced by the op.

    If `inferred`, its results have the types that its attributes imply.
    """
    main = program.main
    operations = [*main.body.operations]
    at = max(
        (n for n, operation in enumerate(operations) if operation.name == record.twin), default=None
    )
    if at is None:  # the program has no twin to replace
        return program
    operations[at] = _rename_operation(operations[at], record, restate)
    if inferred:
        operations[at] = _with_results(operations[at], record)
        operations[-1] = replace(operations[-1], operands=operations[at].results)
    types = tuple(value.type for value in operations[-1].operands)
    body = replace(main.body, operations=tuple(operations))
    changed = replace(main, body=body, result_types=types)
    functions = tuple(changed if function is main else function for function in program.functions)
    return replace(program, functions=functions)


def _rename_operation(operation: Operation, record: Op, restate: Restate | None) -> Operation:
    if restate is not None:
        return replace(operation, name=record.name, attributes=attributes(**restate(operation)))
    names = {theirs: ours for ours, theirs in record.renames}
    given: dict[str, Any] = {names.get(n, n): value for n, value in operation.attributes}
    return replace(operation, name=record.name, attributes=attributes(**given))


def _with_results(operation: Operation, record: Op) -> Operation:
    operands = (value.type for value in operation.operands)
    given: dict[str, Any] = dict(operation.attributes)
    types = record.infer(*operands, regions=operation.regions, **given)
    pairs = zip(operation.results, types if record.several else (types,), strict=True)
    return replace(operation, results=tuple(replace(value, type=of) for value, of in pairs))


def twins(
    builders: dict[str, Builder],
    records: Iterable[Op],
    restated: Mapping[str, Restate] | None = None,
) -> dict[str, Builder]:
    """Return the builders of ops that have a twin in StableHLO, given the builders of their
    twins.
    """
    ways = restated or {}
    return {
        record.name: partial(restate_case, builders[record.twin], record, ways.get(record.name))
        for record in records
    }
