"""The errors of hypotheses: 0 where an element is predicted, else infinite."""

from __future__ import annotations

import numpy as np

from conformance.known.hypothesis import (
    Arithmetic,
    predict_nothing,
    predict_where,
    value_hypothesis,
)


def test_errors_are_0_for_predicted_elements_only() -> None:
    (errors,) = predict_where(np.array([True, False]))
    assert errors.tolist() == [0.0, np.inf]
    first, second = predict_nothing((np.zeros(2), np.zeros((1, 1), np.int8)))
    assert first.tolist() == [np.inf, np.inf]
    assert second.tolist() == [[np.inf]]


def test_value_hypothesis_has_its_errors_as_distances() -> None:
    def errors(*given: object) -> tuple[np.ndarray, ...]:
        del given
        return predict_where(np.array([True]))

    found = value_hypothesis("nine", errors)
    assert found.errors is found.ulps
    assert not found.stated


def test_one_arithmetic_flushes() -> None:
    assert [one for one in Arithmetic if one.flushes] == [Arithmetic.FLUSHED]
