"""Tables of sweeps: worst errors by op and type, failures, several sweeps of one backend."""

from __future__ import annotations

from conformance.outputs.sweep import Point, SweptFunction
from conformance.verdict import Verdict
from reports.sweeps.tables import error_matrix, failures_of, numbers_of, tables_of, tried_of
from suites.meta.reports.sweeps.made_up import function, number, point, result_class, sweep

ADD, EXP = function(op="add"), function(op="exponential")


def test_functions_that_the_backend_did_not_compute_are_left_out() -> None:
    untried = [function(state=state) for state in ("unsupported", "untested")]
    assert tried_of([ADD, *untried]) == [ADD]


def test_cells_by_op_and_type_in_the_order_of_types() -> None:
    narrow = function(op="add", element_type="bf16")
    types, rows = error_matrix([(EXP, True), (ADD, True), (narrow, True)])
    assert types == ["bf16", "f32"]
    assert [op for op, _ in rows] == ["add", "exponential"]
    cells = dict(rows)
    assert None in cells["exponential"]
    assert None not in cells["add"]


def test_a_cell_is_exhaustive_if_all_arguments_of_a_whole_sweep_were_tried() -> None:
    def exhaustive(one: SweptFunction, is_whole: bool) -> bool:
        _, ((_, (cell,)),) = error_matrix([(one, is_whole)])
        assert cell is not None
        return cell.is_exhaustive

    assert exhaustive(ADD, True)
    assert not exhaustive(ADD, False)
    assert not exhaustive(function(arguments="sample"), True)
    assert not exhaustive(function(values=99), True)


def test_functions_with_forms_or_without_ulp_have_no_cell() -> None:
    assert error_matrix([(function(form="f32 to si8"), True)]) == ([], [])
    assert error_matrix([(function(histogram=(0, 0)), True)]) == ([], [])


def test_the_hint_is_the_argument_of_the_worst_error() -> None:
    _, ((_, (cell,)),) = error_matrix([(function(worst=point("0.5")), True)])
    assert cell is not None
    assert cell.hint == "at 0.5"
    assert numbers_of(Point(arguments=(number("1"), number("2")), expected=number("0"),
                            actual=number("0"), ulp=None)) == "1, 2"  # fmt: skip


def test_new_classes_of_failures_come_first() -> None:
    known = result_class(Verdict.DIVERGENT, known="entry")
    new = result_class(Verdict.INACCURATE, example=point("2.5"))
    passed = result_class(Verdict.PASS)
    found = failures_of([function(classes=(known, passed, new))])
    assert [one.is_new for one in found] == [True, False]
    assert found[0].example == "at 2.5: 1 expected, 0 computed"
    assert found[1].example == "a message"


def test_sweeps_of_one_backend_and_version_share_tables() -> None:
    larger = function(op="add", values=100)
    smaller = function(op="add", values=10)
    first, second = sweep(smaller), sweep(larger, EXP)
    (tables,) = tables_of([first, second])
    assert (tables.functions, tables.values) == (2, 200)
    assert len(tables_of([first, sweep(ADD, version="0.12.0")])) == 2


def test_the_number_of_new_classes() -> None:
    failing = function(classes=(result_class(Verdict.DIVERGENT),))
    (tables,) = tables_of([sweep(failing)])
    assert tables.new == 1
