"""Every op that has cases, with its builder: one table over all families."""

from __future__ import annotations

from generators.programs.building import Builder
from reference.ops.registry import assemble

BUILDERS: dict[str, Builder] = assemble("generators.families", "BUILDERS")
"""The builder of each op's cases."""


def builder(op: str) -> Builder:
    """Return the builder of an op's cases.

    Raises:
        KeyError: if the op has no cases.
    """
    if op not in BUILDERS:
        raise KeyError(f"no cases for op {op!r}; known: {', '.join(BUILDERS)}")
    return BUILDERS[op]
