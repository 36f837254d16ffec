"""Every op that has cases: what builds them, as one table over all families."""

from __future__ import annotations

from generators.programs.building import Builder
from reference.ops.registry import assemble

BUILDERS: dict[str, Builder] = assemble("generators.families", "BUILDERS")
"""What builds the cases of each op."""


def builder(op: str) -> Builder:
    """The function that builds an op's cases.

    Raises:
        KeyError: when the op has no cases.
    """
    if op not in BUILDERS:
        raise KeyError(f"no cases for op {op!r}; known: {', '.join(BUILDERS)}")
    return BUILDERS[op]
