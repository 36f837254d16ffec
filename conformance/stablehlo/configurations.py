"""The configuration of a custom call: a text, or a dictionary of typed options."""

from __future__ import annotations

import math
from typing import Any

from jaxlib.mlir import ir

from reference.ir.program import Attribute

CONFIGURATIONS = ("backend_config", "mhlo.backend_config")
"""The attributes that hold a configuration; frameworks write the second, with an empty text in the
first.
"""


def configuration(attribute: Any) -> str | tuple[tuple[str, Attribute, str], ...] | None:
    """Return a string, or (name, value, MLIR type) of each option; None for any other attribute.

    The type is "" if the value has no counterpart here and is kept as MLIR spells it.
    """
    if isinstance(attribute, ir.StringAttr):
        return str(attribute.value)
    if not isinstance(attribute, ir.DictAttr):
        return None
    return tuple((str(entry.name), *_option(entry.attr)) for entry in attribute)


def _option(found: Any) -> tuple[Attribute, str]:
    if isinstance(found, ir.BoolAttr):
        return bool(found.value), "i1"
    if isinstance(found, ir.IntegerAttr):
        return int(found.value), str(found.type)
    if isinstance(found, ir.FloatAttr) and math.isfinite(found.value):
        return float(found.value), str(found.type)
    if isinstance(found, ir.StringAttr):
        return str(found.value), "string"
    return str(found), ""
