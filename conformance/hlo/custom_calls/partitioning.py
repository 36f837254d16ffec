"""Custom calls that tell a partitioner where a value lies, and change no value."""

from __future__ import annotations

from conformance.hlo.shapes import Tree
from conformance.hlo.site import Handler, Site


def _operand_tree(site: Site) -> Tree:
    return site.operands[0]


TARGETS: dict[str, Handler] = dict.fromkeys(
    ("Sharding", "xla.sdy.FuncResultSharding", "xla.sdy.ShardingConstraint"), _operand_tree
)
"""The function that reads the calls of each target."""
