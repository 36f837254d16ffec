"""Convolutions that read memory behind the image as its padding."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.session import open_session
from conformance.catalog import Cell
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.judging.compare import judge
from conformance.known.xla.windows.image_overrun import LABEL
from conformance.known.xla.windows.masked_groups import PADDING
from conformance.pipeline.batch import Batcher
from conformance.pipeline.confirmation import conclude
from conformance.pipeline.items import CellItem, ItemAnswer
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from generators.invalid.misses import tensor
from reference.interpreter.evaluate import evaluate
from reference.ir.constants import matrix
from reference.ir.program import Attribute, Program, Value, single_op
from reference.ir.types import Array, element_type
from suites.meta.support.ops.contractions import ONE_SPATIAL

F32 = element_type("f32")


def program(low: int, high: int) -> Program:
    """Return two images of 3 places and 2 features, cut or padded, under a window of one place."""
    values = (Value("x", tensor(F32, 2, 3, 2)), Value("k", tensor(F32, 1, 2, 1)))
    given: dict[str, Attribute] = {**ONE_SPATIAL, "padding": matrix([(low, high)])}
    return single_op("convolution", values, (tensor(F32, 2, 3 + low + high, 1),), given, ())


IMAGE = (1 + np.arange(12, dtype=np.float32)).reshape(2, 3, 2)
KERNEL = np.ones((1, 2, 1), np.float32)


def kind_of(
    low: int, high: int, *changes: tuple[tuple[int, int], float], kernel: Array = KERNEL
) -> str:
    """Return the class of a result in which some places of the images have other values."""
    subject = program(low, high)
    expected = evaluate(subject, (IMAGE, kernel))
    actual: Array = expected[0].copy()
    for (image, place), value in changes:
        actual[image, place, 0] = value
    judged = judge(subject, (IMAGE, kernel), expected, (actual,), RULES["convolution"])
    return judged.kind if judged.verdict is Verdict.DIVERGENT else ""


def test_padding_replaced_by_next_row_has_the_class() -> None:
    assert kind_of(-2, 1, ((0, 1), 7 + 8)) == LABEL


@pytest.mark.parametrize("value", [1e9, -1.0])
def test_behind_the_last_row_lies_anything(value: float) -> None:
    assert kind_of(-2, 1, ((0, 1), 7 + 8), ((1, 1), value)) == LABEL


def test_single_feature_reads_the_next_row() -> None:
    assert kind_of(-2, 1, ((0, 1), 7)) == LABEL


def test_anything_else_is_just_wrong() -> None:
    assert kind_of(-2, 1, ((0, 1), 7 + 9)) == "wrong value"
    assert kind_of(-2, 1, ((0, 1), -1)) == "wrong value"
    assert kind_of(-2, 1, ((0, 0), 7 + 8)) == "wrong value"
    assert kind_of(1, 1, ((0, 4), 7 + 8)) == "wrong value"  # nothing is cut off


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_kernel_that_padding_is_not_multiplied_with_is_another_matter(value: float) -> None:
    """0 * NaN is NaN: products with the padding are left out where it is 0."""
    kernel = np.full_like(KERNEL, value)
    assert kind_of(-2, 1, ((0, 1), 0), ((1, 1), 0), kernel=kernel) == PADDING


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_kernel_times_overrun_is_infinite(value: float) -> None:
    """Padding makes NaN of an infinite kernel, numbers that are read instead do not."""
    kernel = np.full_like(KERNEL, np.inf)
    assert kind_of(-2, 1, ((0, 1), value), kernel=kernel) == LABEL
    assert kind_of(-2, 1, ((0, 1), value), kernel=np.full_like(KERNEL, np.nan)) == "NaN"


@pytest.mark.parametrize(
    ("behind", "kind"),
    [((0.0, 5.0), LABEL), ((0.0, 5.0, -3.0), LABEL), ((5.0, 7.0), LABEL), ((0.0, 0.0), "")],
)
def test_memory_that_happens_to_be_right_now_and_then(
    behind: tuple[float, ...], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers behind the last row differ every time, and may be the expected numbers."""
    subject = program(-2, 1)
    (expected,) = evaluate(subject, (IMAGE, KERNEL))
    rounds: list[list[list[Array]]] = []
    for value in behind:
        actual: Array = expected.copy()
        actual[1, 1, 0] += value
        rounds.append([[actual]])
    monkeypatch.setattr(Batcher, "run_in_isolation", lambda *_: rounds)
    cell = Cell("convolution", F32, "reference")
    prepared = CellItem(0, subject, [(IMAGE, KERNEL)], [(expected,)], cell)
    answered = ItemAnswer(rounds[-1], [prepared])
    record, *_ = conclude(prepared, answered, Batcher(open_session("reference")))
    assert record.kind == kind


def test_unexplained_changing_result_is_not_deterministic(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = program(-2, 1)
    (expected,) = evaluate(subject, (IMAGE, KERNEL))
    other: Array = expected.copy()
    other[0, 0, 0] += 1
    monkeypatch.setattr(Batcher, "run_in_isolation", lambda *_: [[[expected]], [[other]]])
    cell = Cell("convolution", F32, "reference")
    prepared = CellItem(0, subject, [(IMAGE, KERNEL)], [(expected,)], cell)
    answered = ItemAnswer([[other]], [prepared])
    record, *_ = conclude(prepared, answered, Batcher(open_session("reference")))
    assert record.kind == NOT_DETERMINISTIC
    assert record.message.endswith("again: wrong in 2 of 3 runs")
