"""Notes to a partitioner, which say where a value lies and change none."""

from __future__ import annotations

from conformance.hlo.shapes import Tree
from conformance.hlo.site import Handler, Site


def _operand_tree(site: Site) -> Tree:
    return site.operands[0]


TARGETS: dict[str, Handler] = dict.fromkeys(
    ("Sharding", "xla.sdy.FuncResultSharding", "xla.sdy.ShardingConstraint"), _operand_tree
)
"""By target."""
