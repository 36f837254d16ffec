"""Properties of cases for tests of the generators."""

import math
from typing import Any

import numpy as np

from generators.case.case import Case
from generators.values.contents import (
    fill,
)
from reference.ir.program import TensorType
from reference.ir.types import ELEMENT_TYPES, ElementType
from reference.ops.elementwise.elementwise import OPS as ELEMENTWISE

ELEMENT_TYPES_OF = {record.name: record.element_types for record in ELEMENTWISE}
F32, F64, F16 = (ELEMENT_TYPES[name] for name in ("f32", "f64", "f16"))


def fill_values(of: ElementType, profile: str, count: int = 600, seed: int = 5) -> Any:
    """Return elements of a profile; numbers as float64 (all parts of complex numbers), integers as
    int.
    """
    array = fill(TensorType((count,), of), profile, seed)
    with np.errstate(invalid="ignore"):  # signalling NaNs become quiet
        if of.is_complex:
            return np.stack([array.real, array.imag], axis=-1).reshape(-1).astype(np.float64)
        if of.is_float:
            return array.astype(np.float64)
    return [int(x) for x in array]


def operation_of(case_: Case) -> Any:
    return case_.program.subject


def constants_of(case_: Case) -> int:
    return len(case_.program.main.body.operations) - 2


def elements(case_: Case) -> int:
    return math.prod(operation_of(case_).results[0].type.static_shape)


def attributes_of(one: Case) -> tuple[Any, ...]:
    return operation_of(one).attributes
