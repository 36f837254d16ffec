"""Cases of XlaBuilder's reductions, windows and mappings, with named padding if accepted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.families import reduction
from generators.families.xla.twins import rename_to_op, twins
from generators.programs.building import Builder, hide_choices
from reference.ir.program import Operation
from reference.ir.types import ElementType
from reference.ops.table import OPS
from reference.ops.xla.reduction import OPS as RECORDS
from reference.ops.xla.windows import SAME, VALID, padding_along

_NAMED = ("ReduceWindow", "SelectAndScatter")


_LONGER = "SAME, longer at the end"
"""Windows for which the padding SAME adds an odd number of elements, the odd element at the end."""


def _request_odd_padding(given: dict[str, Any]) -> dict[str, Any]:
    """Return attributes with a window whose padding has an odd number of elements."""
    windows = list(given["window_dimensions"])
    dilations = given.get("window_dilations") or (1,) * len(windows)
    uneven = next((at for at, dilation in enumerate(dilations) if dilation % 2), None)
    if uneven is not None:
        windows[uneven] += windows[uneven] % 2
    return given | {"window_dimensions": tuple(windows)}


def _window_attributes(name: str, operation: Operation) -> dict[str, Any]:
    """Return the attributes of a ReduceWindow whose padding has a name."""
    given = _restate_window(VALID if name == VALID else SAME, operation)
    return _request_odd_padding(given) if name == _LONGER else given


def _restate_window(name: str, operation: Operation) -> dict[str, Any]:
    given: dict[str, Any] = dict(operation.attributes)
    ones = (1,) * len(given["window_dimensions"])
    return {"window_strides": ones} | given | {"padding": name}


def _reduce_window(element_type: ElementType, pick: Pick) -> Case:
    """Return a case of the twin with a named padding in place of its own."""
    name = choose(pick, (SAME, VALID, _LONGER), "padding")
    made = reduction.BUILDERS["reduce_window"](element_type, pick)
    restate = partial(_window_attributes, name)
    program = rename_to_op(made.program, OPS["ReduceWindow"], restate, inferred=True)
    pick.has_empty_results = any(0 in of.shape for of in program.main.result_types)  # type: ignore[union-attr]
    return replace(made, program=program)


def _select_and_scatter(element_type: ElementType, pick: Pick) -> Case:
    name = choose(pick, (SAME, VALID), "padding")
    made = reduction.select_and_scatter(
        "select_and_scatter", element_type, pick, partial(padding_along, name)
    )
    restate = partial(_restate_window, name)
    return replace(made, program=rename_to_op(made.program, OPS["SelectAndScatter"], restate))


BUILDERS: dict[str, Builder] = twins(
    reduction.BUILDERS, (record for record in RECORDS if record.name not in _NAMED)
) | {
    "ReduceWindow": hide_choices(_reduce_window, "low", "high", "running from", "defaults written"),
    "SelectAndScatter": hide_choices(_select_and_scatter, "low", "high", "defaults written"),
}
"""The builder of each op's cases."""
