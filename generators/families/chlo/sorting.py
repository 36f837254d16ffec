"""Cases of CHLO's largest elements."""

from __future__ import annotations

from functools import partial

from generators.families.mhlo import top_k
from generators.programs.building import Builder

BUILDERS: dict[str, Builder] = {"chlo.top_k": partial(top_k, "chlo.top_k", "is_stable")}
"""The builder of each op's cases."""
