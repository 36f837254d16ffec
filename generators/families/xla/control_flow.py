"""Cases of XlaBuilder's branches, loops, calls and tuples."""

from __future__ import annotations

from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import shape
from generators.families import control_flow
from generators.families.xla.twins import Restate, twins
from generators.programs.building import Builder, case, hide_choices
from generators.regions.bodies import BodyBuilder
from generators.values import profiles
from reference.ir.program import Operation, Region, TensorType, Value
from reference.ir.types import ElementType
from reference.ops.xla.control_flow import INDEX, PREDICATE
from reference.ops.xla.control_flow import OPS as RECORDS

_SAME, _REVERSED, _TWICE = "its argument", "reversed", "reversed twice"


def branch(of: TensorType, kind: str) -> Region:
    """Return a computation that returns its argument, unchanged or with its elements reversed."""
    block = BodyBuilder((Value("x", of),), prefix="y")
    (value,) = block.arguments
    for _ in range((_SAME, _REVERSED, _TWICE).index(kind)):
        value = block.op("reverse", value, dimensions=tuple(range(of.rank)))
    return block.finish_region(value)


def _conditional(element_type: ElementType, pick: Pick) -> Case:
    of = TensorType(shape(pick), element_type)
    form = choose(pick, ("predicate", "index", "index"), "form")
    count = 2 if form == "predicate" else choose(pick, (1, 2, 3, 4), "branches")
    kinds = [choose(pick, (_SAME, _REVERSED, _TWICE), "branch") for _ in range(count)]
    types = {"branch_index": PREDICATE if form == "predicate" else INDEX}
    types |= {f"operand{n}": of for n in range(count)}
    row = profiles.rows(element_type)
    index = ("bits",) if form == "predicate" else (f"within:-1:{count}", "within:-1:1", "special")
    rows = tuple(
        (index[n % len(index)], *(row[(n + k) % len(row)][0] for k in range(count)))
        for n in range(max(len(row), len(index)))
    )
    regions = tuple(branch(of, kind) for kind in kinds)
    return case(pick, "Conditional", types, (of,), rows, regions=regions)


def _select_tuples(element_type: ElementType, pick: Pick) -> Case:
    writer, block = control_flow.writer_of(element_type, pick)
    block.write_steps(2)
    pred = writer.parameter(PREDICATE, "bits")
    on_true = control_flow.parts(block, depth=1, token=False)
    same = seldom(pick, 6, "one tuple")
    on_false = on_true if same else control_flow.similar_tuple(block, on_true)
    (whole,) = block.add("Select (tuples)", (pred, on_true, on_false), on_true.type)
    return writer.case(block, control_flow.leaves(block, whole))


def _called_computation(operation: Operation) -> dict[str, Any]:
    return {"computation": dict(operation.attributes)["decomposition"]}


_OWN: dict[str, Builder] = {"Conditional": _conditional, "Select (tuples)": _select_tuples}

RESTATED: dict[str, Restate] = {"Call": _called_computation}

BUILDERS: dict[str, Builder] = (
    twins(
        control_flow.BUILDERS, (record for record in RECORDS if record.name not in _OWN), RESTATED
    )
    | _OWN
)
BUILDERS["Call"] = hide_choices(
    BUILDERS["Call"], "name", "version given", "composite_attributes given"
)
"""The builder of each op's cases."""
