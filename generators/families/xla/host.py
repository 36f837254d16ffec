"""Cases of XlaBuilder's transfers: the cases of their twins, renamed."""

from __future__ import annotations

from dataclasses import replace

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.families import host
from generators.families.host import TOKEN
from generators.families.xla.twins import twins
from generators.programs.building import Builder
from reference.ir.program import Operation, Value
from reference.ir.types import ElementType
from reference.ops.xla.host import OPS as RECORDS

_INFEED = "Infeed"
ARRAYS, EMPTY = "of arrays", "an empty tuple"


def _add_empty_infeed(build: Builder) -> Builder:
    """Return a builder that precedes the last Infeed of some cases by an Infeed of an empty tuple.

    That reads nothing, so the last Infeed reads the next item.
    """

    def built(element_type: ElementType, pick: Pick) -> Case:
        made = build(element_type, pick)
        if choose(pick, (ARRAYS, ARRAYS, EMPTY), "shape before it") == ARRAYS:
            return made
        main = made.program.main
        operations = [*main.body.operations]
        at = max(n for n, operation in enumerate(operations) if operation.name == _INFEED)
        last = operations[at]
        after = Value("nothing_read", TOKEN)
        operations[at : at + 1] = [
            Operation(last.name, last.operands, (after,)), replace(last, operands=(after,)),
        ]  # fmt: skip
        changed = replace(main, body=replace(main.body, operations=tuple(operations)))
        return Case(replace(made.program, functions=(changed,)), made.inputs)

    return built


_TWINS = twins(host.BUILDERS, RECORDS)

BUILDERS: dict[str, Builder] = _TWINS | {_INFEED: _add_empty_infeed(_TWINS[_INFEED])}
"""The builder of each op's cases."""
