"""Budgets of rules: by type, by hardware, in ulp or in units of a bound."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Rule, Ulps
from reference.ir.types import element_type

ULPS = Ulps(f32=1, f64=2, half=3, narrow=4, complex_=5, gpu_f32=6)
RULE = Rule("sum", "", "", ulps=ULPS)


@pytest.mark.parametrize(
    ("of", "platform", "budget"),
    [
        ("f32", Hardware.CPU, 1),
        ("f32", Hardware.GPU, 6),
        ("f64", Hardware.GPU, 2),
        ("bf16", Hardware.CPU, 3),
        ("f8E4M3FN", Hardware.CPU, 4),
        ("complex<f32>", Hardware.GPU, 5),
        ("si32", Hardware.CPU, None),
    ],
)
def test_budget_by_type_and_hardware(of: str, platform: str, budget: float | None) -> None:
    assert RULE.budget(element_type(of), platform) == budget


def test_without_a_figure_for_gpus_that_of_cpus_holds() -> None:
    plain = replace(RULE, ulps=replace(ULPS, gpu_f32=None))
    assert plain.budget(element_type("f32"), Hardware.GPU) == 1


def test_errors_of_bounds_and_measures_are_at_most_one() -> None:
    bounded = Rule("b", "", "", bound=lambda *_: (None,))
    measured = Rule("m", "", "", measure=lambda *_: ())
    for rule in (bounded, measured):
        assert rule.budget(element_type("f32"), Hardware.CPU) == 1
        assert rule.unit == "of the bound"
    assert RULE.unit == "ulp"
    assert (measured.is_backward, bounded.is_backward) == (True, False)
    assert Rule("d", "", "").budget(element_type("f32"), Hardware.CPU) is None


def test_hardware_may_have_another_rule() -> None:
    on_tpu = replace(RULE, name="on a TPU")
    rule = replace(RULE, by_hardware=((Hardware.TPU, on_tpu),))
    assert rule.hardware_rule(Hardware.TPU) is on_tpu
    assert rule.hardware_rule(Hardware.CPU) is rule
