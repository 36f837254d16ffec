"""Custom calls whose targets mean the same in every implementation, and those without a meaning."""

from __future__ import annotations

import numpy as np
import pytest

from reference.custom_calls.targets import BUILT_IN, MEMORY_PLACEMENTS, call_built_in
from reference.ir.errors import EvaluationError


@pytest.mark.parametrize("target", [*sorted(MEMORY_PLACEMENTS), "Sharding"])
def test_annotations_return_their_operands(target: str) -> None:
    assert call_built_in(target, (1, 2), {}) == (1, 2)


def test_a_group_of_shardings_has_no_results() -> None:
    assert call_built_in("xla.sdy.ShardingGroup", (1,), {}) == ()


def test_an_assertion_that_holds() -> None:
    assert call_built_in("shape_assertion", (np.True_, 7), {"error_message": "no"}) == ()


def test_an_assertion_that_does_not_hold_says_its_numbers() -> None:
    given = {"error_message": "{0} is not over {1}"}
    with pytest.raises(EvaluationError, match=r"^7 is not over 9$"):
        call_built_in("shape_assertion", (np.False_, 7, 9), given)
    with pytest.raises(EvaluationError, match="shape assertion failed"):
        call_built_in("shape_assertion", (np.False_,), {})


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("mine", "'mine'$"),
        ("xla_python_cpu_callback", "a function of the Python process"),
        ("xla_ffi_python_gpu_callback", "a function of the Python process"),
    ],
)
def test_a_target_without_a_meaning(target: str, why: str) -> None:
    with pytest.raises(EvaluationError, match=why):
        call_built_in(target, (), {})


def test_a_routine_in_the_form_of_older_versions() -> None:
    newer = next(name for name in BUILT_IN if name.endswith("_ffi"))
    with pytest.raises(EvaluationError, match=r"before 0\.4\.32"):
        call_built_in(newer.removesuffix("_ffi"), (), {})
