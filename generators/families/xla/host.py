"""Cases of XlaBuilder's transfers: those of their twins, renamed."""

from __future__ import annotations

from generators.families import host
from generators.families.xla.twins import twins
from generators.programs.building import Builder
from reference.ops.xla.host import OPS as RECORDS

BUILDERS: dict[str, Builder] = twins(host.BUILDERS, RECORDS)
"""What builds the cases of each op."""
