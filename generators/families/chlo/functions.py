"""Cases of CHLO's elementwise ops."""

from __future__ import annotations

from functools import partial

from generators.families.elementwise import uniform_case
from generators.programs.building import Builder
from generators.values import profiles
from generators.values.profiles import Values
from reference.ops.chlo.functions import OPS as RECORDS

_GAMMA = Values(("gamma_edges", "moderate", "tiny", "positive"))
_WITHIN_ONE = Values(("unit", "near_one", "tiny"))

VALUES: dict[str, Values] = {
    **dict.fromkeys(("acos", "asin", "atanh", "erf_inv"), _WITHIN_ONE),
    **dict.fromkeys(("asinh", "atan", "bessel_i1e"), Values(("moderate", "tiny"))),
    **dict.fromkeys(("digamma", "lgamma"), _GAMMA),
    **dict.fromkeys(("cosh", "sinh"), Values(("exp_domain", "moderate", "tiny"))),
    "acosh": Values(("near_one", "positive", "upper")),
    "erf": Values(("moderate", "tiny", "unit")),
    "erfc": Values(("moderate", "tiny", "unit")),
    "polygamma": Values(
        floats=(
            ("small_integers", "gamma_edges"), ("small_integers", "moderate"),
            ("small_integers", "positive"), ("small_integers", "unit"), ("special", "moderate"),
            ("moderate", "upper"), ("positive", "positive"), ("special", "special"),
        ),
        related=False,
    ),
    "tan": Values(("trig", "moderate")),
    "zeta": Values(
        floats=(
            ("small_integers", "gamma_edges"), ("small_integers", "moderate"),
            ("moderate", "positive"), ("upper", "upper"), ("upper", "unit"),
            ("near_one", "positive"), ("upper", "special"), ("special", "special"),
        ),
        related=False,
    ),
}  # fmt: skip
"""The values of ops that need more than the general profiles."""

BUILDERS: dict[str, Builder] = {
    record.name: partial(
        uniform_case, record.name,
        values=VALUES.get(record.name.removeprefix("chlo."), profiles.ANY),
    )
    for record in RECORDS
}  # fmt: skip
"""The builder of each op's cases."""
