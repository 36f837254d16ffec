"""Entries with `computes`: the examples of the docs, errors, and unpredictable elements."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from conformance.backends.session import open_session
from conformance.campaign.tasks import Manner, Task, run_tasks
from conformance.catalog import CATALOG, Cell
from conformance.checking.program import ProgramChecker
from conformance.frontends.modules import unit_of
from conformance.gate import computes
from conformance.gate.expectations import Expectation, hypotheses_of, matching_entry
from conformance.gate.files import SHIPPED
from conformance.gate.reading import ExpectationError, load, read
from conformance.judging.compare import judge
from conformance.known.entry_prediction import ROUNDING
from conformance.known.in_force import in_force
from conformance.pipeline.outcome import Outcome
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Record
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array, element_type
from reference.ops.table import OPS
from suites.meta.support.one_task import run_task
from suites.meta.support.small_programs import array, op_program, tensor_of

DOCS = Path(__file__).parents[4] / "docs" / "divergences.md"

EXAMPLES = [
    example
    for example in re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    if "computes = " in example and "instead_of" not in example
]

NAMES = [found[1] for found in re.finditer(r'^id = "(.*)"', "\n".join(EXAMPLES), re.MULTILINE)]

BACKENDS = [
    ("tanh-clamped", "reference:tanh_clamped", "tanh", "f64"),
    ("division-by-reciprocal", "reference:reciprocal_division", "divide", "f32"),
    ("indices-of-8-bits", "reference:indices_of_8_bits", "gather", "f32"),
    ("root-of-a-negative-number", "reference:nan_not_written", "sqrt", "f32"),
]
"""The examples, each with a backend that computes so, and an op and element type that show it."""


def example(name: str, folder: Path) -> tuple[Expectation, ...]:
    path = folder / "ours.toml"
    path.write_text(EXAMPLES[NAMES.index(name)])
    return load(str(path), ["reference"], {})


def failing_records(backend: str, op: str, of: str, known: tuple[Expectation, ...]) -> list[Record]:
    task = Task(Cell(op, element_type(of), backend), 0, 0, 6)
    (result,) = run_tasks([task], Manner(hypotheses_of(known, backend)))
    return [record for record in result.records if record.verdict.fails]


@pytest.mark.parametrize(("name", "backend", "op", "of"), BACKENDS)
def test_result_predicted_by_computes_is_known(
    name: str, backend: str, op: str, of: str, tmp_path: Path
) -> None:
    known = example(name, tmp_path)
    records = failing_records(backend, op, of, known)
    assert records
    assert {matching_entry(known, record) for record in records} == {name}


@pytest.mark.parametrize(("name", "backend", "op", "of"), BACKENDS)
def test_result_not_predicted_by_computes_is_new(
    name: str, backend: str, op: str, of: str, tmp_path: Path
) -> None:
    known = example(name, tmp_path)
    records = failing_records("reference:reversed_elements", op, of, known)
    assert records
    assert not any(matching_entry(known, record) for record in records)
    without = run_task(Task(Cell(op, element_type(of), backend), 0, 0, 6)).records
    assert not any(matching_entry(known, record) for record in without)


def check_text(
    text: str, inputs: tuple[Array, ...], backend: str, known: tuple[Expectation, ...]
) -> Outcome:
    work = ProgramChecker(unit_of(parse_module(text)), open_session(backend), known, 60.0)
    return work.judge_inputs(inputs)


IN_A_FUNCTION = """
func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = stablehlo.add %x, %x : tensor<2xf64>
  %1 = func.call @f(%0) : (tensor<2xf64>) -> tensor<2xf64>
  return %1 : tensor<2xf64>
}
func.func private @f(%x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = stablehlo.tanh %x : tensor<2xf64>
  %1 = stablehlo.negate %0 : tensor<2xf64>
  return %1 : tensor<2xf64>
}
"""


@pytest.mark.parametrize(
    ("backend", "known"),
    [("reference:tanh_clamped", ("tanh-clamped",)), ("reference:off_by_100_ulp@tanh", ())],
)
def test_computes_entry_matches_in_called_function(
    backend: str, known: tuple[str, ...], tmp_path: Path
) -> None:
    inputs = (array([0.25, 8.0], "f64"),)
    outcome = check_text(IN_A_FUNCTION, inputs, backend, example("tanh-clamped", tmp_path))
    assert outcome.verdict.fails
    assert outcome.known == known


ENTRY = """
[[known]]
id = "mine"
op = "{op}"
element_types = ["f32"]
computes = '''
{text}
'''
reason = "so it is"
{more}
"""


@pytest.mark.parametrize(
    ("op", "text", "more", "reason"),
    [
        ("tanh", "%0 = stablehlo.abs %x : $T", "", "line 1: use of undeclared SSA value name %x"),
        ("tanh", "%0 = stablehlo.absolute %operand : $T", "", "custom op 'stablehlo.absolute'"),
        ("tanh", "%0 = stablehlo.abs %operand : $Q", "", "unknown placeholder 'Q'"),
        ("tanh", "%0 = stablehlo.abs %operand : $lhs", "", "unknown placeholder 'lhs'"),
        ("tanh", "%0 = $op", "", "'$op' must be followed by operands"),
        ("tanh", "%0 = stablehlo.constant dense<1.0> : tensor<99xf32>", "", "different type"),
        (
            "tanh",
            "%0 = $op(%operand)",
            'within = "2"',
            "'2 ulp' or the like, or 'rounding', not '2'",
        ),
        ("tanh", "%0 = $op(%operand)", 'kinds = ["NaN"]', "'kinds' cannot be combined with"),
        ("tanh", "%0 = $op(%operand)", "max_ulp = 3", "'max_ulp' cannot be combined with"),
        ("tanh", "%0 = $op(%operand)", 'verdicts = ["crashed"]', "never 'crashed'"),
        ("Tanh", "%0 = $op(%operand)", "", "write op = 'tanh'"),
        ("pad + tanh", "%0 = $op(%operand)", "", "is of one operation"),
        ("all_reduce", "%0 = $op(%operand)", "", "'computes' does not support all_reduce"),
        ("while", "%0 = $op(%operand)", "", "'computes' does not support while"),
        ("tanh", "%0 = $op(%operand)", "unpredictable = true", "end with 'return %y, %mask'"),
    ],
)
def test_errors_are_one_line_that_names_the_entry(
    op: str, text: str, more: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "ours.toml"
    path.write_text(ENTRY.format(op=op, text=text, more=more))
    with pytest.raises(ExpectationError) as caught:
        load(str(path), ["reference"], {})
    told = str(caught.value)
    assert "'mine'" in told
    assert reason in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("op", "more", "reason"),
    [
        ("tanh", 'sums = "f16"', "is of an op that adds products up, and 'tanh' does not"),
        ("dot_general", 'sums = "f17"', "unknown element type 'f17'"),
        ("dot_general", 'sums = "f16"\nmax_ulp = 3', "cannot be combined with 'sums'"),
        ("dot_general", 'sums = "f16"\nverdicts = ["crashed"]', "'sums' predicts values"),
        ("dot_general", 'sums = "f16"\nwithin = "2 ulp"', "only for entries with 'computes'"),
        ("tanh", "reorders = true", "is of an op with windows, and 'tanh' has none"),
        ("reduce_window", 'reorders = true\nkinds = ["NaN"]', "cannot be combined with 'reorders'"),
    ],
)
def test_sums_and_orders_are_checked(op: str, more: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text(f'[[known]]\nid = "mine"\nop = "{op}"\nreason = "so"\n{more}\n')
    with pytest.raises(ExpectationError, match=reason):
        read(path)


SHIPPED_ONES = [
    one for path in sorted(SHIPPED.glob("*.toml")) for one in read(path) if one.computes
]


@pytest.mark.parametrize("shipped", SHIPPED_ONES, ids=lambda one: one.id)
def test_mlir_parses_shipped_computes(shipped: Expectation) -> None:
    computes.check_instances(shipped)


EVERY_ENTRY = [one for path in sorted(SHIPPED.glob("*.toml")) for one in read(path)]

UNPREDICTABLE_ENTRY = """
[[known]]
id = "mine"
op = "sort"
reason = "memory"
{more}
"""


def read_entry(tmp_path: Path, *lines: str) -> Expectation:
    path = tmp_path / "ours.toml"
    path.write_text(UNPREDICTABLE_ENTRY.format(more="\n".join(lines)))
    return read(path)[0]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (('kinds = ["not deterministic"]',), "no program predicts: write 'unpredictable = true'"),
        (("unpredictable = true",), "class '*' does not say which elements"),
        (("unpredictable = true", 'kinds = ["abnormal exit"]'), "name one of 'NaN'"),
        (
            ("unpredictable = true", 'verdicts = ["crashed"]', 'words = ["x"]'),
            "applies to results, and 'crashed' has none",
        ),
        (('unpredictable = "yes"',), "'unpredictable' must be true or false"),
    ],
)
def test_errors_of_unpredictable_entries_are_one_line(
    lines: tuple[str, ...], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ExpectationError) as caught:
        read_entry(tmp_path, *lines)
    told = str(caught.value)
    assert "'mine'" in told
    assert reason in told
    assert "\n" not in told


@pytest.mark.parametrize(
    "entry",
    [e for e in EVERY_ENTRY if e.within == ROUNDING and OPS[e.op[0]].lifts],
    ids=lambda e: e.id,
)
def test_an_entry_with_rounding_does_not_permit_everything(entry: Expectation) -> None:
    """A result that is off by a part in 64 is not explained, for ordinary operands."""
    known = entry.hypothesis
    assert known is not None
    (name,) = entry.op
    count = len(OPS[name].operands)
    of = tensor_of(64, of="complex<f64>")
    program = op_program(name, [of] * count, of)
    random = np.random.default_rng(0)
    parts = random.uniform(0.5, 2, (count, 2, 64))
    inputs = tuple(real + 1j * imaginary for real, imaginary in parts)
    (expected,) = evaluate(program, inputs)
    rule = CATALOG[name].tolerance
    with in_force([known]):
        for near, factor in ((True, 1 + 2.0**-50), (False, 1 + 2.0**-6), (False, -1)):
            judgement = judge(program, inputs, [expected], [expected * factor], rule)
            assert known.label not in judgement.kind or near
            assert near or judgement.wrong == expected.size
