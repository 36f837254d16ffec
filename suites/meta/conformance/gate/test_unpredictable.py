"""Entries about elements that no program predicts must say so; entries that lack a prediction
without saying so are found.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.gate.classes import UNEXPLAINED
from conformance.gate.expectations import Expectation
from conformance.gate.files import SHIPPED
from conformance.gate.reading import ExpectationError, read
from conformance.gate.unpredictable import check
from conformance.judging.compare import judge
from conformance.known.entry_prediction import ROUNDING, EntryPrediction
from conformance.known.in_force import in_force
from conformance.text import matches_any
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array
from reference.ops.table import OPS
from suites.meta.support.small_programs import array, op_program, tensor_of

SHIPPED_ONES = [one for path in sorted(SHIPPED.glob("*.toml")) for one in read(path)]

ENTRY = """
[[known]]
id = "mine"
op = "sort"
reason = "memory"
{more}
"""


def read_entry(tmp_path: Path, *lines: str) -> Expectation:
    path = tmp_path / "ours.toml"
    path.write_text(ENTRY.format(more="\n".join(lines)))
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
def test_errors_are_one_line_that_names_the_entry(
    lines: tuple[str, ...], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ExpectationError) as caught:
        read_entry(tmp_path, *lines)
    told = str(caught.value)
    assert "'mine'" in told
    assert reason in told
    assert "\n" not in told


ROOT = """
%zero = stablehlo.constant dense<0.0> : $T
%root = $op(%operand)
%written = stablehlo.compare GE, %operand, %zero : ($T, $T) -> tensor<$Sxi1>
return %root, %written : $T, tensor<$Sxi1>
"""


@pytest.mark.parametrize(
    ("unpredictable", "got", "expected"),
    [
        (True, array([2, 7, 8]), [0, 0, 0]),
        (True, array([2, 7, 9]), [0, np.inf, np.inf]),  # no root
        (False, array([2, 7, 8]), [0, np.inf, 0]),
    ],
)
def test_masked_elements_may_be_anything_where_all_others_are_as_computed(
    unpredictable: bool, got: Array, expected: list[float]
) -> None:
    program, inputs = op_program("sqrt", [tensor_of(3)], tensor_of(3)), (array([4, -1, 64]),)
    rooted = EntryPrediction("mine", ("sqrt",), ("*",), ROOT, unpredictable=unpredictable)
    right = (array([2, np.nan, 8]),)
    (errors,) = rooted.hypothesis().errors(program.subject, inputs, right, (got,))
    assert errors.tolist() == expected


def test_thirteen_entries_are_unpredictable_at_most() -> None:
    apart = [entry for entry in SHIPPED_ONES if entry.unpredictable]
    assert 0 < len({re.sub("^(compile|gpu|tpu)-", "", entry.id) for entry in apart}) <= 12
    for entry in apart:
        check(entry)


def test_entries_without_prediction_or_cause_are_few() -> None:
    with_values = {Verdict.DIVERGENT.value, Verdict.INACCURATE.value}
    others = (
        e for e in SHIPPED_ONES
        if with_values & {*e.verdicts} and not e.unpredictable and e.cause is None
    )  # fmt: skip
    triggers = {
        e.id: e.backends == ("iree",)
        for e in others
        if e.any_value or any(matches_any(k, e.kinds) for k in UNEXPLAINED)
    }
    of_iree = sum(triggers.values())  # it shows no module, so no entry of it has a cause
    assert of_iree <= 30
    assert len(triggers) - of_iree <= 90


@pytest.mark.parametrize(
    "entry",
    [e for e in SHIPPED_ONES if e.within == ROUNDING and OPS[e.op[0]].lifts],
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
