"""Cases of CHLO's constants."""

from __future__ import annotations

from functools import partial

import numpy as np

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.case.shapes import shape
from generators.families import elementwise
from generators.families.xla.twins import restate_case
from generators.programs.building import Builder, case
from generators.values import profiles
from generators.values.contents import fill, profiles_of
from reference.ir.program import Scalar, TensorType
from reference.ir.types import ALL, ElementType
from reference.ops.chlo.constants import OPS as RECORDS

_CONSTANT, _LIKE = RECORDS


def _number(element_type: ElementType, profile: str, seed: int) -> Scalar:
    """Return a number of a profile; MLIR has no text for complex numbers with NaN."""
    scalar = TensorType((), element_type)
    array = np.asarray(fill(scalar, profile, seed))
    without_nan = (
        np.nan_to_num(array, posinf=np.inf, neginf=-np.inf) if element_type.is_complex else array
    )
    return Scalar.of(np.asarray(without_nan), scalar)


def _constant_like(element_type: ElementType, pick: Pick) -> Case:
    def kind(of: ElementType) -> str:
        return "same type" if of == element_type else "another type"

    size, of = shape(pick), choose(pick, (element_type, *ALL), "operand", kind)
    profile = choose(pick, profiles_of(element_type), "contents", paired=False)
    value = _number(element_type, profile, pick(1 << 32))
    types, result = {"operand": TensorType(size, of)}, TensorType(size, element_type)
    return case(pick, _LIKE.name, types, (result,), profiles.rows(of), {"value": value})


BUILDERS: dict[str, Builder] = {
    _CONSTANT.name: partial(restate_case, elementwise.BUILDERS["constant"], _CONSTANT, None),
    _LIKE.name: _constant_like,
}
"""The builder of each op's cases."""
