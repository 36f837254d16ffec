"""Entries with `instead_of`: the examples of the docs, further keys, and errors."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from conformance.backends.session import open_session
from conformance.campaign.tasks import Manner, Task, run_tasks
from conformance.catalog import Cell
from conformance.check.program import ProgramChecker
from conformance.frontends.modules import unit_of
from conformance.gate.expectations import Expectation, hypotheses_of, matching_entry
from conformance.gate.pairs import outermost_operation
from conformance.gate.reading import ExpectationError, load
from conformance.known.in_force import in_force
from conformance.known.rewritings.conditions import CONDITIONS
from conformance.pipeline.outcome import Outcome
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Record
from reference.ir.program import Program
from reference.ir.types import Array, element_type
from suites.meta.support.ops.constructs import CONSTRUCTS
from suites.meta.support.rewriting import kind_of
from suites.meta.support.small_programs import array

DOCS = Path(__file__).parents[4] / "docs" / "expectations.md"
EXAMPLES = {
    found[1]: example
    for example in re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    if "instead_of = " in example and (found := re.search(r'^id = "(.*)"', example, re.MULTILINE))
}
CONSTANTS_FIRST = "reference:constants_multiplied_first"

PRODUCTS = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<1.0e30> : tensor<2xf32>
  %d = stablehlo.constant dense<[1.0e20, 1.0e-20]> : tensor<2xf32>
  %0 = stablehlo.multiply %x, %c : tensor<2xf32>
  %1 = stablehlo.multiply %0, %d : tensor<2xf32>
  return %1 : tensor<2xf32>
}"""
X = array([1e-20, 1e-20])


def load_text(text: str, folder: Path) -> tuple[Expectation, ...]:
    path = folder / "ours.toml"
    path.write_text(text)
    return load(str(path), ["reference"], {})


def entry(given: str, folder: Path) -> tuple[Expectation, ...]:
    return load_text(f'[[known]]\nid = "mine"\nreason = "so it is"\n{given}', folder)


def check_program(
    program: Program, inputs: tuple[Array, ...], backend: str, known: tuple[Expectation, ...]
) -> Outcome:
    return ProgramChecker(unit_of(program), open_session(backend), known, 60.0).judge_inputs(inputs)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"instead_of": "(add (multiply x y) z)"}, "add"),
        ({"instead_of": "(compare.LT x y)"}, "compare"),
        ({"instead_of": ""}, ""),
        ({"op": "add"}, ""),
    ],
)
def test_op_is_the_outermost_operation_of_the_pattern(given: dict[str, str], found: str) -> None:
    assert outermost_operation(given) == found


@pytest.mark.parametrize("text", ["x", "(add x", "%0 = stablehlo.add %a, %b"])
def test_pattern_must_be_an_operation(text: str) -> None:
    with pytest.raises(ValueError, match="'instead_of' must be"):
        outermost_operation({"instead_of": text})


@pytest.mark.parametrize("construct", [None, *CONSTRUCTS])
def test_rewriting_entry_matches_in_every_construct(construct: str | None, tmp_path: Path) -> None:
    program, inputs = parse_module(PRODUCTS), (X,)
    if construct is not None:
        place, given = CONSTRUCTS[construct]
        program = place(program)
        if given is not None:
            inputs = (X, np.array(given, np.bool_ if isinstance(given, bool) else np.int32))
    known = load_text(EXAMPLES["constants-first"], tmp_path)
    found = check_program(program, inputs, CONSTANTS_FIRST, known)
    assert found.verdict.fails
    assert found.known == ("constants-first",)


def test_a_prediction_that_looks_flushed_is_known(tmp_path: Path) -> None:
    """The product of the constants is subnormal, and has few digits."""
    text = PRODUCTS.replace("1.0e30", "-2.863").replace("[1.0e20, 1.0e-20]", "6.0e-8")
    program = parse_module(text.replace("2xf32", "2xf16"))
    known = load_text(EXAMPLES["constants-first"], tmp_path)
    found = check_program(program, (array([64, 64], "f16"),), CONSTANTS_FIRST, known)
    assert found.verdict.fails
    assert found.known == ("constants-first",)


@pytest.mark.parametrize("backend", ["reference:off_by_one_last_element", "reference:sign_lost"])
def test_other_wrong_results_of_these_operations_are_new(backend: str, tmp_path: Path) -> None:
    known = load_text(EXAMPLES["constants-first"], tmp_path)
    program = parse_module(PRODUCTS.replace("dense<1.0e30>", "dense<-2.0>"))
    found = check_program(program, (array([1e-3, 1e-20]),), backend, known)
    assert found.verdict.fails
    assert found.known == ()


REVERSED = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.subtract %x, %y : tensor<4xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


def kind_by(known: tuple[Expectation, ...], text: str, given: list[Array], got: Array) -> str:
    with in_force(hypotheses_of(known, "reference")):
        return kind_of(text, given, got)


NARROW_PRODUCTS = """
func.func @main(%x: tensor<1xbf16>) -> tensor<1xbf16> {
  %c = stablehlo.constant dense<2.06984e+30> : tensor<1xbf16>
  %d = stablehlo.constant dense<1.18945e-30> : tensor<1xbf16>
  %0 = stablehlo.multiply %x, %c : tensor<1xbf16>
  %1 = stablehlo.multiply %0, %d : tensor<1xbf16>
  return %1 : tensor<1xbf16>
}"""


@pytest.mark.parametrize(
    ("actual", "is_predicted"), [(5.26e18, True), (5.224e18, True), (5.3e18, False)]
)
def test_narrow_numbers_may_be_computed_in_f32(
    actual: float, is_predicted: bool, tmp_path: Path
) -> None:
    """The first is rounded to bf16 after each product, the second at the end."""
    pair = """
instead_of = "(multiply (multiply x C) D)"
computes = "(multiply x (multiply C D))"
"""
    x, got = (np.array([one]).astype(element_type("bf16").storage) for one in (2.1257e18, actual))
    kind = kind_by(entry(pair, tmp_path), NARROW_PRODUCTS, [x], got)
    assert (kind == "as computed by mine") is is_predicted


def test_replacements_take_attributes_of_replaced_operations(tmp_path: Path) -> None:
    known = load_text(EXAMPLES["negation-after-reversal"], tmp_path)
    given = [array([1, 2, 3, 4]), array([5, 5, 5, 0])]
    right = (given[0] - given[1])[::-1]
    assert kind_by(known, REVERSED, given, -right) == "as computed by negation-after-reversal"
    for other in (right + 1, right[::-1], -right[::-1]):
        assert not kind_by(known, REVERSED, given, other).startswith("as computed")


SUM = """
func.func @main(%x: tensor<2x2xf32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.negate %x : tensor<2x2xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.maximum across dimensions = [1]
    : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


def test_replacements_take_regions_of_replaced_operations(tmp_path: Path) -> None:
    pair = """
    instead_of = "(reduce (negate x) y)"
    computes = "(negate (reduce x y))"
    """
    given = [array([[1, 2], [-3, 4]])]
    known = entry(pair, tmp_path)
    assert kind_by(known, SUM, given, array([-2, -4])) == "as computed by mine"
    assert kind_by(known, SUM, given, array([-2, -3])) != "as computed by mine"


@pytest.mark.parametrize(("off", "is_known"), [(0, True), (1, True), (2, True), (3, False)])
def test_results_may_be_within_so_many_ulp(off: int, is_known: bool, tmp_path: Path) -> None:
    pair = """
    instead_of = "(multiply (multiply x C) F)"
    computes = "(multiply (multiply C F) (negate x))"
    within = "2 ulp"
    """
    text = PRODUCTS.replace("1.0e30", "3.0").replace("[1.0e20, 1.0e-20]", "7.0")
    x = array([0.1, 0.2])
    got = np.float32(21) * -x
    got.view(np.int32)[1] += off
    assert (kind_by(entry(pair, tmp_path), text, [x], got) == "as computed by mine") is is_known


TINY = np.float32(1e-40)


@pytest.mark.parametrize(("flushes", "got"), [("false", 1e-10), ("true", 0.0)])
def test_pair_with_flushes_flushes_subnormals(flushes: str, got: float, tmp_path: Path) -> None:
    pair = f"""
    instead_of = "(multiply (multiply x C) F)"
    computes = "(divide x (divide 1 (multiply F C)))"
    flushes = {flushes}
    """
    text = PRODUCTS.replace("1.0e30", "0.5").replace("[1.0e20, 1.0e-20]", "2.0e30")
    x = array([1e-40, 1.0])
    exact = np.array([np.float32(1e30) * TINY, 1e30], np.float32)
    assert exact[0] > 0
    found = np.where([True, False], np.float32(0) if got == 0 else -exact, exact)
    kind = kind_by(entry(pair, tmp_path), text, [x], found)
    assert (kind == "as computed by mine") is (got == 0)


@pytest.mark.parametrize(("op", "is_known"), [("maximum", True), ("maximum!", False)])
def test_operands_are_swapped_unless_an_operation_is_ordered(
    op: str, is_known: bool, tmp_path: Path
) -> None:
    pair = f"""
    instead_of = "({op} (negate x) y)"
    computes = "(negate x)"
    """
    text = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.negate %x : tensor<2xf32>
  %1 = stablehlo.maximum %y, %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}"""
    given = [array([1, 2]), array([3, 4])]
    kind = kind_by(entry(pair, tmp_path), text, given, -given[0])
    assert (kind == "as computed by mine") is is_known


def test_each_condition_is_in_the_docs() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in CONDITIONS)


def failing_records(backend: str, op: str, of: str, known: tuple[Expectation, ...]) -> list[Record]:
    task = Task(Cell(op, element_type(of), backend), 0, 0, 6)
    (result,) = run_tasks([task], Manner(hypotheses_of(known, backend)))
    return [record for record in result.records if record.verdict.fails]


RECIPROCAL = """
instead_of = "(divide x y)"
computes = "(multiply x (divide 1 y))"
"""


@pytest.mark.parametrize(
    ("pair", "backend", "is_known"),
    [
        (RECIPROCAL, "reference:reciprocal_division", True),
        (RECIPROCAL, "reference:reversed_elements", False),
        (RECIPROCAL.replace(" y)", " C)"), "reference:sign_lost", False),
        ('instead_of = "(divide C F)"\ncomputes = "C"', "reference:reciprocal_division", False),
    ],
)
def test_a_pattern_of_one_operation_is_matched_in_runs(
    pair: str, backend: str, is_known: bool, tmp_path: Path
) -> None:
    known = entry(pair, tmp_path)
    records = failing_records(backend, "divide", "f32", known)
    assert records
    assert {matching_entry(known, record) for record in records} == {"mine" if is_known else ""}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            'instead_of = "(multply x y)"\ncomputes = "x"',
            "unknown op 'multply'",
        ),
        ('instead_of = "(abs (ads x))"\ncomputes = "x"', "unknown operation 'ads'"),
        ('instead_of = "(multiply x y"\ncomputes = "x"', "lack their closing parenthesis"),
        ('instead_of = "(abs x))"\ncomputes = "x"', "text after the end: )"),
        ('instead_of = "x"\ncomputes = "x"', "must be an operation, such as '(add x y)', not 'x'"),
        ('instead_of = "(abs x)"\ncomputes = "y"', "unknown name 'y'; known: x of 'instead_of'"),
        ('instead_of = "(abs x)"\ncomputes = "(add x)"', "add takes lhs, rhs, and is given 1"),
        ('instead_of = "(abs x y ...)"\ncomputes = "x"', "abs takes operand, and is given 2"),
        ('instead_of = "(abs (add x y))"\ncomputes = "(add x ...)"', "belongs in 'instead_of'"),
        ('instead_of = "(abs x y)"\ncomputes = "x"', "abs takes operand, and is given 2"),
        (
            'op = "add"\ninstead_of = "(abs x)"\ncomputes = "x"',
            "op is 'add', and 'instead_of' ends with abs: omit 'op'",
        ),
        ('instead_of = "(abs x)"', "'computes' is missing"),
        ('op = "abs"\ncomputes = "(negate x)"', "'instead_of' is missing"),
        ('instead_of = "(abs x)"\ncomputes = "%0 = $op(%x)"', "in place of StableHLO: '%0'"),
        ('instead_of = "(Abs x)"\ncomputes = "x"', "operations of StableHLO: write 'abs'"),
        ('instead_of = "(while x)"\ncomputes = "x"', "cannot have while"),
        ('instead_of = "(compare x y)"\ncomputes = "x"', "write compare with its direction"),
        ('instead_of = "(abs.GE x)"\ncomputes = "x"', "only compare has a direction"),
        ('instead_of = "(abs Xy)"\ncomputes = "0"', "'Xy' is neither a number nor a name"),
        ('instead_of = "(abs x:odd)"\ncomputes = "x"', "unknown condition 'odd'"),
        ('instead_of = "(abs x)"\ncomputes = "x:constant"', "belongs in 'instead_of'"),
        ('instead_of = "(abs x):odd"\ncomputes = "x"', "unknown condition 'odd'"),
        ('instead_of = "(abs x)"\ncomputes = "(negate x):reduced"', "belongs in 'instead_of'"),
        ('instead_of = "(add x y)"\ncomputes = "(add! y x)"', "belongs in 'instead_of'"),
        ('instead_of = "(abs x)"\ncomputes = "(add 1 2)"', "add of numbers only has no shape"),
        ('instead_of = "(abs x)"\ncomputes = "(abs x)"', "the same as 'instead_of'"),
        ('instead_of = "(abs x)"\ncomputes = "(reverse x)"', "reverse takes its attributes from"),
        ('instead_of = "(abs x)"\ncomputes = "(convert x)"', "convert takes its result type from"),
        ('instead_of = "(abs C)"\ncomputes = "C"\nconstants = ["*"]', "names in upper case"),
        ('instead_of = "(abs x)"\ncomputes = "x"\nunpredictable = true', "predicts all elements"),
        (
            'instead_of = "(abs x)"\ncomputes = "x"\nkinds = ["NaN"]',
            "'kinds' cannot be combined with",
        ),
        ('instead_of = "(abs x)"\ncomputes = "x"\nwithin = "2"', "such as '2 ulp', not '2'"),
        ('instead_of = ["(abs x)"]\ncomputes = "x"', "'instead_of' must be a string"),
    ],
)
def test_errors_are_one_line_that_names_the_entry(given: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ExpectationError) as caught:
        entry(given, tmp_path)
    told = str(caught.value)
    assert "'mine'" in told
    assert reason in told
    assert "\n" not in told
