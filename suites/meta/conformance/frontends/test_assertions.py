"""StableHLO's own test programs: assertions, several programs in a file, unsupported constructs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.checking.file import check_file
from conformance.checking.settings import Settings
from conformance.frontends.dialects import expand_chlo
from conformance.frontends.modules import NotChecked, Unit, read_units
from conformance.limits import Limits
from conformance.verdict import Verdict
from suites.meta.support.checking import ALONE, FAULTY, REFERENCE, TEST_PROGRAM, check_text


@pytest.mark.parametrize(
    ("assertion", "value", "holds"),
    [
        ("expect_eq", "0.2", True),
        ("expect_eq", "0.20000002", False),
        ("expect_almost_eq", "0.2009", True),
        ("expect_almost_eq", "0.2011", False),
        ("expect_close", "0.20000005", True),
        ("expect_close", "0.2000001", False),
    ],
)
@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_a_test_program_is_judged_by_its_assertions(
    assertion: str, value: str, holds: bool, backend: str, tmp_path: Path
) -> None:
    found = check_text(tmp_path, TEST_PROGRAM.format(assertion, value), Settings(backend))
    assert found.verdict is (Verdict.PASS if holds else Verdict.DIVERGENT)
    if not holds:
        assert found.kind == "expectation"
        assert found.message.startswith(
            f"check.{assertion} does not hold for 1 of 3 elements; at [2] expected 0.2"
        )


def test_an_unknown_assertion_is_not_checked(tmp_path: Path) -> None:
    found = check_text(tmp_path, TEST_PROGRAM.format("expect_more", "0.2"))
    assert (found.verdict, found.kind) == (Verdict.NOT_JUDGED, "not read")
    assert "check.expect_more" in found.message


CHECK_DIALECT = """// RUN: some-tool %s

func.func @sums() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.add %0, %0 : tensor<2xi32>
  check.expect_eq_const %1, dense<[2, 4]> : tensor<2xi32>
  %2 = stablehlo.constant dense<[[2, 4]]> : tensor<1x2xi32>
  %3 = stablehlo.reshape %2 : (tensor<1x2xi32>) -> tensor<2xi32>
  check.expect_eq %1, %3 : tensor<2xi32>
  func.return
}

// -----

func.func @roots() {
  %0 = stablehlo.constant dense<[2.0, 9.0]> : tensor<2xf64>
  %1 = stablehlo.sqrt %0 : tensor<2xf64>
  %2 = interpreter.probe %1, probe_id = "root" : tensor<2xf64>
  check.expect_almost_eq_const %1, dense<[1.41421, 3.0]> : tensor<2xf64>
  check.expect_almost_eq %2, %0, tolerance = 7.0 : tensor<2xf64>
  check.expect_almost_eq_const %1, dense<[1.5, 3.0]> : tensor<2xf64> {tolerance = 0.1 : f64}
  check.expect_close %1, %2, max_ulp_difference = 0, min_ulp_difference = 0
    : tensor<2xf64>, tensor<2xf64>
  check.expect_serialized_eq %1, probe_id = "root" : tensor<2xf64>
  func.return
}

func.func @complex() {
  %0 = stablehlo.constant dense<(3.0, 4.0)> : tensor<complex<f32>>
  %1 = stablehlo.abs %0 : (tensor<complex<f32>>) -> tensor<f32>
  %2 = stablehlo.constant dense<5.0> : tensor<f32>
  "check.expect_eq_const"(%1) {value = dense<5.0> : tensor<f32>} : (tensor<f32>) -> ()
  "check.expect_close"(%1, %2) {max_ulp_difference = 1 : ui64} : (tensor<f32>, tensor<f32>) -> ()
  check.expect_eq_const %0, dense<(3.0, 4.0)> : tensor<complex<f32>>
  func.return
}
"""


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_the_check_dialect_and_files_of_several_tests(backend: str, tmp_path: Path) -> None:
    found = check_text(tmp_path, CHECK_DIALECT, Settings(backend))
    assert (found.verdict, found.message) == (Verdict.PASS, "")
    parts = list(read_units(tmp_path / "program.mlir"))
    assert all(isinstance(part, Unit) for part in parts)
    named = {part.name: len(part.assertions) for part in parts if isinstance(part, Unit)}
    assert named == {"sums": 2, "roots": 5, "complex": 3}


@pytest.mark.parametrize(
    ("right", "wrong", "function"),
    [
        ("dense<[2, 4]> : tensor<2xi32>\n  %2", "dense<[2, 5]> : tensor<2xi32>\n  %2", "sums"),
        ("[[2, 4]]", "[[3, 4]]", "sums"),
        ("[1.41421, 3.0]", "[1.41401, 3.0]", "roots"),
        ("tolerance = 7.0", "tolerance = 5.0", "roots"),
        ("max_ulp_difference = 0, min", "max_ulp_difference = 3, min", ""),
        ("min_ulp_difference = 0", "min_ulp_difference = 1", "roots"),
        ("value = dense<5.0>", "value = dense<5.5>", "complex"),
        ("%0, dense<(3.0, 4.0)>", "%0, dense<(3.0, 4.5)>", "complex"),
    ],
)  # fmt: skip
def test_each_assertion_of_the_check_dialect_can_fail(
    right: str, wrong: str, function: str, tmp_path: Path
) -> None:
    assert right in CHECK_DIALECT
    found = check_text(tmp_path, CHECK_DIALECT.replace(right, wrong))
    assert found.verdict is (Verdict.DIVERGENT if function else Verdict.PASS)
    assert found.message.startswith(f"@{function}: check.expect" if function else "")


def test_an_expected_value_that_rounding_permits_is_no_failure(tmp_path: Path) -> None:
    """Expected values are some backend's: cancellation makes them off by more than 3 ulp."""
    text = """
func.func @main() {{
  %0 = stablehlo.constant dense<[1.1, 1.3]> : tensor<2xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<2xf32>
  %2 = stablehlo.constant dense<[1.2099, 1.6899]> : tensor<2xf32>
  %3 = stablehlo.subtract %1, %2 : tensor<2xf32>
  %4 = stablehlo.constant dense<[{}, 9.98e-5]> : tensor<2xf32>
  check.expect_almost_eq %3, %4, tolerance = {} : tensor<2xf32>
  func.return
}}"""
    near, far = "1.0006e-4", "1.01e-4"
    assert check_text(tmp_path, text.format(near, 1e-12)).verdict is Verdict.PASS
    assert check_text(tmp_path, text.format(far, 1e-12)).verdict is Verdict.DIVERGENT
    assert check_text(tmp_path, text.format(far, 1e-5)).verdict is Verdict.PASS


def test_an_unspecified_expected_value_is_no_failure(tmp_path: Path) -> None:
    text = """
func.func @main() {
  %0 = stablehlo.constant dense<[1, 6]> : tensor<2xi32>
  %1 = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
  %2 = stablehlo.divide %0, %1 : tensor<2xi32>
  check.expect_eq_const %2, dense<[77, 3]> : tensor<2xi32>
  func.return
}"""
    found = check_text(tmp_path, text)
    assert (found.verdict, found.kind) == (Verdict.UNSPECIFIED, "integer division by zero")
    assert check_text(tmp_path, text.replace("[77, 3]", "[77, 4]")).verdict is Verdict.DIVERGENT


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ALONE.format("stablehlo.custom_call @someone(%x)"), "'someone'"),
        (ALONE.format('"interpreter.run_parallel"(%x)'), "interpreter.run_parallel"),
    ],
)
def test_unchecked_program_has_reason(text: str, reason: str, tmp_path: Path) -> None:
    found = check_text(tmp_path, text)
    assert found.verdict is Verdict.NOT_JUDGED
    assert reason in found.message


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no function"),
        (b"hello", "line 1, column 1"),
        (b"\xff\xfe", "neither text nor bytecode"),
        (b"ML\xefR\x00", "bytecode"),
        (b"func.func @main() {\n  return %x\n}", "line 2"),
    ],
)
def test_invalid_file_has_reason(content: bytes, reason: str, tmp_path: Path) -> None:
    found = check_text(tmp_path, content)
    assert found.is_invalid
    assert reason in found.message


def test_chlo_operations_are_checked_as_they_are(tmp_path: Path) -> None:
    """jaxlib's own decomposition is what XLA runs, too, so it would hide what is wrong there."""
    for operation in (
        "chlo.lgamma %x : tensor<2xf32> -> tensor<2xf32>",
        "chlo.broadcast_zeta %x, %q : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>",
    ):
        text = f"""
func.func @main() -> tensor<2xf32> {{
  %x = stablehlo.constant dense<[0.999, 2.0]> : tensor<2xf32>
  %q = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %0 = {operation}
  return %0 : tensor<2xf32>
}}"""
        assert check_text(tmp_path, text, Settings("interpreter")).verdict is Verdict.DIVERGENT
        (unit,) = read_units(tmp_path / "program.mlir")
        assert isinstance(unit, Unit)
        assert operation.split()[0] in {one.name for one in unit.program.walk()}


def test_chlo_operations_without_a_reference_are_expanded_and_no_others() -> None:
    text = expand_chlo("""
func.func @main(%x: tensor<?xf32>, %z: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %0 = chlo.broadcast_add %x, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = chlo.erf %0 : tensor<?xf32> -> tensor<?xf32>
  %2 = "chlo._asin_acos_kernel"(%z) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return %2 : tensor<2xcomplex<f32>>
}""")
    assert re.findall(r"chlo\.\w+", text) == ["chlo.erf"]
    assert "stablehlo.add" in text


def test_chlo_operations_that_the_reference_has_stay(tmp_path: Path) -> None:
    """StableHLO's pass decomposes a ragged dot to operations with other results."""
    text = """
func.func @main(%x: tensor<2x2x1xf32>, %y: tensor<1x2x1x1xf32>, %g: tensor<2x1xi32>)
    -> tensor<2x2x1xf32> {
  %0 = EXPANDED
  %1 = "chlo.ragged_dot"(%0, %y, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<
    lhs_batching_dimensions = [1], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2],
    rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}>
    : (tensor<2x2x1xf32>, tensor<1x2x1x1xf32>, tensor<2x1xi32>) -> tensor<2x2x1xf32>
  return %1 : tensor<2x2x1xf32>
}"""
    one = "tensor<2x2x1xf32>"
    for first, more in (
        (f"stablehlo.abs %x : {one}", ""),
        (f"chlo.tan %x : {one} -> {one}", "chlo.tan"),
    ):
        (tmp_path / "program.mlir").write_text(text.replace("EXPANDED", first))
        (unit,) = read_units(tmp_path / "program.mlir")
        assert isinstance(unit, Unit)
        names = {operation.name for operation in unit.program.walk()}
        assert {name for name in names if name.startswith("chlo")} == {"chlo.ragged_dot", more} - {
            ""
        }
        found = check_file(str(tmp_path / "program.mlir"), Settings("interpreter"))
        assert found.verdict is Verdict.DIVERGENT
        assert "chlo.ragged_dot" in found.message
    # jax 0.12 hands a context to several texts: what that pass allowed is allowed no more.
    foreign = text.replace("EXPANDED", f"stablehlo.abs %x : {one}").replace("chlo.r", "check.r")
    (tmp_path / "program.mlir").write_text(foreign)
    (unread,) = read_units(tmp_path / "program.mlir")
    assert isinstance(unread, NotChecked)
    assert "jaxlib has no dialect check" in unread.reason


def test_test_of_invalid_program_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "tests.mlir"
    path.write_text(FAULTY + "\n// -----\n// expected-error@+1 {{no}}\nfunc.func @f() { oops }\n")
    first, second = read_units(path)
    assert isinstance(first, Unit)
    assert isinstance(second, NotChecked)
    found = check_file(str(path), REFERENCE)
    assert found.verdict is Verdict.PASS
    assert "1 of 2 programs not checked" in found.message


def test_infeed_reads_the_values_of_the_test(tmp_path: Path) -> None:
    text = """
module @m {
  func.func @read(%t: !stablehlo.token) -> (tensor<2xi64>, !stablehlo.token) {
    %0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    func.return %0#0, %0#1 : tensor<2xi64>, !stablehlo.token
  }
  func.func @queue() -> tensor<2xi64> {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    func.return %0 : tensor<2xi64>
  }
  func.func @main() {
    %t = stablehlo.after_all : !stablehlo.token
    %0:2 = "interpreter.run_parallel"(%t) {
      infeed = [@queue],
      programs = [[@read]]
    } : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    check.expect_eq_const %0#0, dense<[1, 2]> : tensor<2xi64>
    func.return
  }
}"""
    assert check_text(tmp_path, text).verdict is Verdict.PASS
    assert check_text(tmp_path, text.replace("%0#0, dense<[1", "%0#0, dense<[3")).verdict.fails
    apart = text.replace("[[@read]]", "[[@read, @read]]")
    assert "2 functions of 2 inputs" in check_text(tmp_path, apart).message


IREE = """
func.func @sums() {
  %0 = util.unfoldable_constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = arith.constant {name = "c.1"} dense<4.0> : tensor <2xf32>
  %2 = stablehlo.add %0, %1 : tensor<2xf32>
  %3 = util.optimization_barrier %2 : tensor<2xf32>
  check.expect_eq_const(%3, dense<[5.0, 6.0]> : tensor<2xf32>) : tensor<2xf32>
  check.expect_almost_eq_const(%2, dense<[5.00009,
     6.0]> : tensor<2xf32>) : tensor<2xf32>
  check.expect_almost_eq(%2, %1, atol 1.5, rtol 1.25e-01) : tensor <2xf32>
  check.expect_eq(%3, %2) : tensor<2xf32>
  %4 = stablehlo.compare LE, %2, %3 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  check.expect_all_true(%4) : tensor<2xi1>
  return
}
"""


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_tests_as_iree_writes_them(backend: str, tmp_path: Path) -> None:
    found = check_text(tmp_path, IREE, Settings(backend))
    assert (found.verdict, found.message) == (Verdict.PASS, "")
    (part,) = read_units(tmp_path / "program.mlir")
    assert isinstance(part, Unit)
    assert len(part.assertions) == 5


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("dense<[5.0, 6.0]>", "dense<[5.0, 6.5]>"),
        ("[5.00009,", "[5.00011,"),
        ("rtol 1.25e-01", "rtol 1.24e-01"),
        ("check.expect_eq(%3, %2)", "check.expect_eq(%3, %1)"),
        ("compare LE", "compare LT"),
    ],
)
def test_each_assertion_of_iree_can_fail(right: str, wrong: str, tmp_path: Path) -> None:
    assert right in IREE
    found = check_text(tmp_path, IREE.replace(right, wrong))
    assert found.verdict is Verdict.DIVERGENT
    assert found.message.startswith("@sums: check.expect")


ENDLESS = """
func.func @good() {
  %0 = stablehlo.constant dense<2> : tensor<i32>
  check.expect_eq_const %0, dense<2> : tensor<i32>
  func.return
}

func.func @endless() {
  %0 = stablehlo.constant dense<true> : tensor<i1>
  %1 = stablehlo.while(%x = %0) : tensor<i1>
    cond { stablehlo.return %x : tensor<i1> }
    do { stablehlo.return %x : tensor<i1> }
  check.expect_eq_const %1, dense<true> : tensor<i1>
  func.return
}
"""


def test_a_loop_without_end_costs_only_its_own_program(tmp_path: Path) -> None:
    found = check_text(
        tmp_path, ENDLESS, Settings("reference", limits=Limits(0.2 * Limits.EVALUATIONS))
    )
    assert found.verdict is Verdict.PASS
    told = "1 of 2 programs not checked: @endless: an evaluation by the reference takes more than "
    assert found.message.startswith(told)
