"""Complex numbers that need certified arithmetic: the fast step cannot decide them, and `standard`
has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.campaign.planning import cases_of
from conformance.catalog import CATALOG
from generators.cells import plan
from generators.values.contents import fill, materialise
from generators.values.undecided import UNDECIDED
from reference.ir.program import Dense, TensorType
from reference.ir.types import ELEMENT_TYPES, Array, to_bits
from reference.numerics.elementary import complex_functions
from reference.numerics.rounding import HAS_EXTENDED

C64 = ELEMENT_TYPES["complex<f32>"]


def operands(op: str) -> tuple[Array, ...]:
    kind = TensorType((len(UNDECIDED[op]),), C64)
    base = fill(kind, f"undecided_{op}", 3)
    return (base, fill(kind, "values:-2", 3)) if op == "power" else (base,)


@pytest.mark.skipif(not HAS_EXTENDED, reason="they are undecided in extended precision")
@pytest.mark.parametrize("op", UNDECIDED)
def test_each_number_is_settled_by_balls(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settled: list[float] = []
    certified = complex_functions.round_certified

    def note_and_certify(function: Any, rows: list[Array], to: Any) -> Array:
        settled.extend(rows[0].tolist())
        return certified(function, rows, to)

    monkeypatch.setattr(complex_functions, "round_certified", note_and_certify)
    given = operands(op)
    complex_functions.evaluate_complex(op, given)
    assert set(settled) == set(np.real(given[0]).astype(np.float64).tolist())


@pytest.mark.skipif(not HAS_EXTENDED, reason="they are undecided in extended precision")
def test_without_balls_some_results_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounded lower ends of the fast step's bounds differ from the results."""

    def lower(op: str) -> Array:
        return complex_functions.evaluate_complex(op, operands(op))

    right = {op: lower(op) for op in UNDECIDED}
    fast = dict(complex_functions.FAST)
    for op, function in fast.items():

        def certain_values(*parts: Array, function: Any = function) -> Any:
            return tuple((value - error, error * 0) for value, error in function(*parts))

        monkeypatch.setitem(complex_functions.FAST, op, certain_values)
    wrong = [op for op in UNDECIDED if not np.array_equal(to_bits(lower(op)), to_bits(right[op]))]
    assert len(wrong) >= len(UNDECIDED) - 2, wrong


@pytest.mark.parametrize("op", UNDECIDED)
def test_standard_has_undecided_values(op: str) -> None:
    made = plan.cases(op, C64, 0, cases_of(CATALOG[op], "standard"))
    arrays = [array for one in made for recipe in one.inputs
              for array in materialise(one.program, recipe)]  # fmt: skip
    constants = [value for one in made for inner in one.program.walk()
                 if isinstance(value := inner.attribute("value"), Dense)]  # fmt: skip
    met = {number for array in (*arrays, *(value.array for value in constants))
           for number in np.ravel(array).tolist()}  # fmt: skip
    assert met & set(operands(op)[0].tolist())
