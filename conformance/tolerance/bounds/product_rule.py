"""Tolerance rule of sums of products, for any op that computes them."""

from __future__ import annotations

from dataclasses import replace

from conformance.tolerance.bounds.products import (
    DefaultPrecision,
    Depth,
    default_precision,
    make_bound,
    make_flush_loss,
    make_measure,
)
from conformance.tolerance.bounds.zeros import make_either_zero
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Rule, Summation

_TEXT = (
    "exact data bit for bit; otherwise within u_out |e| + (2 u_in + gamma(n)(u_acc)) S of the "
    "exact sum e of n products whose magnitudes add up to S, with less than n for many products; "
    "0 where S is 0; integers modulo 2^bits"
)
_SOURCE = (
    "TOSA conformance, DOT_PRODUCT; Higham, Accuracy and Stability, sections 3.1 and 3.5; Higham "
    "and Mary 2019"
)
_BY_DEFAULT = {
    Hardware.GPU: "DEFAULT and HIGH round operands of f32 to TF32",
    Hardware.TPU: "DEFAULT rounds operands of f32 to bf16, HIGH to sums of two bf16",
}


def sum_of_products_rule(name: str, summation: Summation, depth: Depth) -> Rule:
    """Return the rule of an op's sums of products, with rules for hardware that rounds operands."""

    def rule(default: DefaultPrecision, on: str = "", text: str = "", source: str = "") -> Rule:
        of = summation, depth, default
        return Rule(
            name + on,
            _TEXT + text,
            _SOURCE + source,
            bound=make_bound(*of),
            measure=make_measure(*of),
            flush_loss=make_flush_loss(*of),
            either_zero=make_either_zero(*of),
            summation=summation,
            measure_in=lambda sums: make_measure(
                summation, depth, replace(default, sums=sums), flushes=True
            ),
        )

    by_hardware = tuple(
        (
            hardware,
            rule(
                default_precision(hardware),
                f" on a {hardware.name}",
                f"; {text}",
                f"; jax.lax.Precision on a {hardware.name}",
            ),
        )
        for hardware, text in _BY_DEFAULT.items()
    )
    return replace(rule(DefaultPrecision()), rounds_operands=True, by_hardware=by_hardware)
