"""Results that are not the reference's own, and yet permitted by a rule."""

from __future__ import annotations

import numpy as np

from conformance.backends.fake.wrong_operations import each_part, move_by_ulps, negate_nans, select
from conformance.tolerance.rule import Rule
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64


def permitted_result(expected: Array, rule: Rule) -> Array:
    """Return the expected result, off by as many ulp as the rule permits and with other NaNs.

    Results at a limit of the rule's range stay. So do results whose sign would change, and complex
    results, because their parts are measured by the larger part.
    """
    element_type = element_type_of(expected)
    with np.errstate(invalid="ignore"):
        changed = expected if rule.nan_bits else each_part(negate_nans, expected)
        budget = (
            0
            if rule.ulps is None or not element_type.is_float
            else rule.budget(element_type, "cpu") or 0
        )
        if not budget:
            return changed
        result = move_by_ulps(changed, int(budget))
        stays = np.signbit(to_float64(result)) != np.signbit(to_float64(changed))
        if rule.range is not None:
            stays |= to_float64(result) > rule.range[1]
        return select(stays, changed, result)
