"""Special values, and numbers that need certified arithmetic: the cases of ops contain them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from conformance.campaign.planning import cases_of
from conformance.catalog import CATALOG
from generators.cells.plan import cases
from generators.values.codes import Words
from generators.values.contents import fill, materialise
from generators.values.undecided import UNDECIDED
from reference.ir.program import Dense, TensorType
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type, to_bits
from reference.numerics.elementary import complex_functions
from reference.numerics.rounding import HAS_EXTENDED, to_float64
from reference.ops.elementwise.elementwise import OPS as RECORDS

RECORD = {record.name: record for record in RECORDS if record.name not in ("constant", "iota")}


def test_each_option_is_drawn_before_any_repeats() -> None:
    options = np.array([3, 1, 4, 1 << 40, 5])
    drawn = Words(1).each(23, options)
    assert {tuple(sorted(drawn[i : i + 5])) for i in (0, 5, 10, 15)} == {tuple(sorted(options))}
    assert len({tuple(drawn[i : i + 5]) for i in (0, 5, 10, 15)}) > 1
    assert (Words(1).each(4, options) == drawn[:4]).all()
    assert Words(1).each(0, options).size == 0


def classes(array: Array, of: ElementType) -> Iterator[str]:
    """Return the kinds of special values in an array."""
    parts = [array.real, array.imag] if of.is_complex else [array]
    numbers = np.concatenate([to_float64(np.ascontiguousarray(part)).ravel() for part in parts])
    sizes, form = np.abs(numbers), of.float_format
    zero, negative = numbers == 0, np.signbit(numbers)
    held = {
        "0": zero & ~negative,
        "-0": zero & negative,
        "1": numbers == 1,
        "NaN": np.isnan(numbers),
        "infinity": numbers == np.inf,
        "-infinity": numbers == -np.inf,
        "largest": sizes == form.max_finite,
        "subnormal": (sizes > 0) & (sizes < form.smallest_normal),
    }
    yield from (name for name, where in held.items() if where.any())


@pytest.mark.parametrize("name", ["f32", "f8E4M3FN", "f8E5M2FNUZ", "f8E8M0FNU", "complex<f64>"])
def test_profile_has_all_special_values_of_the_type(name: str) -> None:
    of = element_type(name)
    form = of.float_format
    array = fill(TensorType((40,), of), "each_special", 1)
    wanted = {"1", "largest"}
    wanted |= {"0"} if form.has_zero else set()
    wanted |= {"-0"} if form.has_negative_zero else set()
    wanted |= {"NaN"} if form.has_nan else set()
    wanted |= {"infinity", "-infinity"} if form.has_infinity else set()
    wanted |= {"subnormal"} if form.smallest < form.smallest_normal else set()
    assert set(classes(array, of)) == wanted
    integers = fill(TensorType((12,), ELEMENT_TYPES["si8"]), "each_special", 1)
    assert set(integers.tolist()) == {0, 1, -1, -128, -127, 127}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f32", "f64", "bf16", "complex<f32>"])
def test_standard_cells_cover_the_special_values(name: str) -> None:
    of = element_type(name)
    everything = set(classes(fill(TensorType((40,), of), "each_special", 1), of))
    ops = [op for op in RECORD if of in RECORD[op].element_types]
    missed = {(op, kind) for op in ops for kind in everything - set(_met(op, of))}
    assert len(missed) <= len(ops) * len(everything) // 25, missed


def _met(op: str, of: ElementType) -> Iterator[str]:
    """Yield the kinds that the operands of that type have in a cell's cases, constants
    left aside.
    """
    for case in cases(op, of, 0, cases_of(CATALOG[op], "standard")):
        for recipe in case.inputs:
            arrays = materialise(case.program, recipe)
            for value, array in zip(case.program.main.arguments, arrays, strict=True):
                if isinstance(value.type, TensorType) and value.type.element_type is of:
                    yield from classes(array, of)


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", "f8E5M2"])
def test_topk_rows_contain_infinities_and_nan_together(name: str) -> None:
    together = 0
    for case in cases("TopK", element_type(name), 0, cases_of(CATALOG["TopK"], "standard")):
        value = case.program.subject.results[0].type
        assert isinstance(value, TensorType)
        for recipe in case.inputs if value.static_shape[-1] > 1 else ():
            for array in materialise(case.program, recipe):
                rows = to_float64(np.ascontiguousarray(array))
                together += bool((np.isnan(rows).any(-1) & np.isinf(rows).any(-1)).any())
    assert together


# --- Complex numbers that the fast step cannot decide --------------------------------------------

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
    made = cases(op, C64, 0, cases_of(CATALOG[op], "standard"))
    arrays = [array for one in made for recipe in one.inputs
              for array in materialise(one.program, recipe)]  # fmt: skip
    constants = [value for one in made for inner in one.program.walk()
                 if isinstance(value := inner.attribute("value"), Dense)]  # fmt: skip
    met = {number for array in (*arrays, *(value.array for value in constants))
           for number in np.ravel(array).tolist()}  # fmt: skip
    assert met & set(operands(op)[0].tolist())
