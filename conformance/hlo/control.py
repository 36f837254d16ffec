"""Calls, branches, loops, tuples, copies, asynchronous pairs and transfers."""

from __future__ import annotations

from conformance.hlo.shapes import Tree, leaf_types, leaves
from conformance.hlo.site import Handler, Site
from reference.ir.program import Region, TokenType, Value


def _operand_tree(site: Site) -> Tree:
    return site.operands[0]


def _copy(site: Site) -> Tree:
    """Return the operand; a copy into another type, as in mixed precision, converts it."""
    return site.converted_operand(0) if isinstance(site.operands[0], Value) else site.operands[0]


def _tuple(site: Site) -> Tree:
    return site.operands


def _get_tuple_element(site: Site) -> Tree:
    operand = site.operands[0]
    if isinstance(operand, Value) or site.instruction.tuple_index >= len(operand):
        raise site.unreadable("its operand has no such element")
    return operand[site.instruction.tuple_index]


def _call(site: Site) -> Tree:
    return site.inline(site.operands)


def _barrier(site: Site) -> Tree:
    values = site.values
    return site.tree(
        site.building.add("optimization_barrier", values, [value.type for value in values])
    )  # fmt: skip


def _branch(site: Site, number: int) -> Region:
    """Return a branch as a region without arguments: its operand is a value of the enclosing
    region.
    """
    inner = site.building.inner()
    operand = site.operands[number + 1]
    result = site.computations.inline(site.computation_id(number), (operand,), inner)
    return inner.region((), list(leaves(result)))


def _conditional(site: Site) -> Tree:
    index = site.value(0)
    count = len(site.instruction.called_computation_ids)
    regions = [_branch(site, number) for number in range(count)]
    name = "if" if site.shapes[0].element_type == 1 else "case"
    types = list(leaf_types(site.instruction.shape))
    return site.tree(site.building.add(name, (index,), types, regions))


def _while(site: Site) -> Tree:
    """Add a loop; the computations are the body, then the condition."""
    values = site.values
    regions = (site.body(1), site.body(0))
    types = [value.type for value in values]
    return site.tree(site.building.add("while", values, types, regions))


def _copy_start(site: Site) -> Tree:
    return (site.operands[0], site.operands[0], ())


def _first_operand(site: Site) -> Tree:
    return _part(site, 0)


def _second(site: Site) -> Tree:
    return _part(site, 1)


def _part(site: Site, number: int) -> Tree:
    operand = site.operands[0]
    if isinstance(operand, Value):
        raise site.unreadable("its operand was not started")
    return operand[number]


def _async_start(site: Site) -> Tree:
    return (site.operands, site.inline(site.operands), ())


def _after_all(site: Site) -> Tree:
    return site.building.one("after_all", site.values, TokenType())


def _infeed(site: Site) -> Tree:
    types = list(leaf_types(site.instruction.shape))
    return site.tree(site.building.add("infeed", (site.value(0),), types, infeed_config=""))


def _outfeed(site: Site) -> Tree:
    return site.building.one("outfeed", site.values, TokenType(), outfeed_config="")


HANDLERS: dict[str, Handler] = {
    "add-dependency": _operand_tree,
    "after-all": _after_all,
    "async-done": _second,
    "async-start": _async_start,
    "async-update": _operand_tree,
    "call": _call,
    "conditional": _conditional,
    "copy": _copy,
    "copy-done": _first_operand,
    "copy-start": _copy_start,
    "domain": _operand_tree,
    "fusion": _call,
    "get-tuple-element": _get_tuple_element,
    "infeed": _infeed,
    "opt-barrier": _barrier,
    "outfeed": _outfeed,
    "tuple": _tuple,
    "while": _while,
}
"""The function that reads each opcode."""
