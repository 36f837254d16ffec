"""Windows as large as the image, whose reversal is left out."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.known.xla.windows.unreversed import LABEL
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from generators.invalid.misses import tensor
from reference.interpreter.evaluate import evaluate
from reference.ir.constants import matrix
from reference.ir.program import Attribute, Program, Value, single_op
from reference.ir.types import Array, element_type
from suites.meta.support.ops.contractions import ONE_SPATIAL

F32 = element_type("f32")
KERNEL = np.array([1, 2, 4], np.float32)


def program(sizes: int, features: int, reverse: bool, low: int = 0) -> Program:
    """Return an image of so many places and features under a window of three places."""
    values = (Value("x", tensor(F32, 1, sizes, features)), Value("k", tensor(F32, 3, features, 1)))
    given: dict[str, Attribute] = {
        **ONE_SPATIAL,
        "window_reversal": (reverse,), "padding": matrix([(low, 0)]),
    }  # fmt: skip
    return single_op("convolution", values, (tensor(F32, 1, sizes + low - 2, 1),), given, ())


def kind_of(subject: Program, actual: Array | None = None) -> str:
    """Return the class of a result, by default that of the window as it stands."""
    types = [value.type for value in subject.main.arguments]
    sizes, features = types[0].static_shape[1:]  # type: ignore[union-attr]
    image = (1 + np.arange(sizes * features, dtype=np.float32)).reshape(1, sizes, features)
    kernel = np.repeat(KERNEL.reshape(3, 1, 1), features, axis=1)
    if actual is None:
        (actual,) = evaluate(subject, (image, kernel[::-1].copy()))
    expected = evaluate(subject, (image, kernel))
    judged = judge(subject, (image, kernel), expected, (actual,), RULES["convolution"])
    return judged.kind if judged.verdict is Verdict.DIVERGENT else ""


def test_unreversed_window_has_the_class() -> None:
    assert kind_of(program(3, 1, reverse=True)) == LABEL
    assert kind_of(program(3, 1, reverse=True), np.full((1, 1, 1), 3.0, np.float32)) != LABEL


@pytest.mark.parametrize(
    "subject",
    [
        program(3, 1, reverse=False),
        program(4, 1, reverse=True),
        program(3, 2, reverse=True),
        program(2, 1, reverse=True, low=1),
    ],
    ids=["not reversed", "several places", "several features", "padded"],
)
def test_anything_else_is_just_wrong(subject: Program) -> None:
    assert kind_of(subject) == "wrong value"


@pytest.mark.parametrize(("actual", "kind"), [(-3.0, LABEL), (-1.75, ""), (-4.0, "wrong value")])
def test_operands_of_an_unreversed_window_may_be_rounded_too(actual: float, kind: str) -> None:
    """The result's type has fewer bits and more range than the operands'."""
    of, to = element_type("f8E4M3B11FNUZ"), element_type("f8E5M2")
    values = (Value("x", tensor(of, 1, 3, 1)), Value("k", tensor(of, 3, 1, 1)))
    given: dict[str, Attribute] = {**ONE_SPATIAL, "window_reversal": (True,)}
    subject = single_op("convolution", values, (tensor(to, 1, 1, 1),), given, ())
    numbers = [1.125, 1, 1.25], [2.25, -1.375, -2.75]
    x, k = (
        np.array(one).astype(of.storage).reshape(shape)
        for one, shape in zip(numbers, ((1, 3, 1), (3, 1, 1)), strict=True)
    )
    got = np.full((1, 1, 1), actual).astype(to.storage)
    judged = judge(subject, (x, k), evaluate(subject, (x, k)), (got,), RULES["convolution"])
    assert judged.kind == kind
