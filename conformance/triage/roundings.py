"""What is only rounded, and left as it was where a compiler keeps more precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.triage.prediction import Predicted, Shown
from reference.ir.program import Operation, Program
from reference.ir.types import Array, element_type_of
from reference.ops.table import OPS


def of_rounding(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """reduce_precision(x), and convert(convert(x)) to the type that x has, as x."""
    (value,) = operation.operands
    maker = Shown(program, values).maker(value)
    places = [value]
    if maker is not None and OPS[maker.name].only_rounds:
        places += maker.operands
    for place in places:
        x = values.get(place.name)
        is_same = x is not None and place.type == operation.results[0].type
        if x is not None and is_same and not element_type_of(x).is_integer:
            yield Predicted(x, np.zeros(x.shape))
