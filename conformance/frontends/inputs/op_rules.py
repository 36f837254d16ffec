"""Rules by op: the range of its results, and the needs of its operands."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from conformance.frontends.inputs import indices, needs_arising, needs_passed, range_rules
from conformance.frontends.inputs.need_rules import Rule
from conformance.frontends.inputs.needs import BITS, DEFINITE, DOMINANT
from conformance.frontends.inputs.range_rules import LEAST, RangeRule
from reference.ir.program import Operation
from reference.ops.elementwise.elementwise import SHIFTS


@dataclass(frozen=True, slots=True)
class OpRules:
    """The rules of one op, None where it has no rule.

    `range` gives bounds of the results. `arising` gives the needs of operands that do not depend on
    the results, `passed` those that satisfy the needs of results, `indices` the bounds of operands
    that are indices.
    """

    range: RangeRule | None = None
    arising: Rule | None = None
    passed: Rule | None = None
    indices: Rule | None = None


RULES: dict[str, OpRules] = {
    **dict.fromkeys(SHIFTS, OpRules(arising=needs_arising.of_shift)),
    "abs": OpRules(range=range_rules.of_abs, passed=needs_passed.of_abs),
    "add": OpRules(range=range_rules.of_add, passed=needs_passed.of_add),
    "and": OpRules(arising=needs_arising.of_bitwise),
    "batch_norm_grad": OpRules(arising=needs_arising.of_variance(3)),
    "batch_norm_inference": OpRules(arising=needs_arising.of_variance(4)),
    "bitcast_convert": OpRules(arising=needs_arising.of_bitcast),
    "case": OpRules(indices=indices.of_case),
    "cbrt": OpRules(passed=needs_passed.of_sign_of),
    "cholesky": OpRules(arising=needs_arising.of_form(DEFINITE)),
    "clamp": OpRules(range=range_rules.of_clamp, passed=needs_passed.of_clamp),
    "compare": OpRules(arising=needs_arising.of_compare),
    "cosine": OpRules(range=range_rules.between(-1, 1)),
    "count_leading_zeros": OpRules(range=range_rules.between(0, 64)),
    "custom_call": OpRules(arising=needs_arising.of_custom_call),
    "divide": OpRules(range=range_rules.of_divide, arising=needs_arising.of_divide),
    "dot_general": OpRules(range=range_rules.of_dot, passed=needs_passed.of_dot),
    "dynamic_gather": OpRules(indices=indices.of_gather),
    "dynamic_slice": OpRules(indices=indices.of_dynamic_slice),
    "dynamic_update_slice": OpRules(indices=indices.of_dynamic_update_slice),
    "exponential": OpRules(range=range_rules.of_exponential, passed=needs_passed.of_exponential),
    "exponential_minus_one": OpRules(
        range=range_rules.between(-1, inf), passed=needs_passed.of_sign_of
    ),
    "gather": OpRules(indices=indices.of_gather),
    "log": OpRules(arising=needs_arising.of_log),
    "log_plus_one": OpRules(arising=needs_arising.of_log_plus_one),
    "logistic": OpRules(range=range_rules.between(LEAST, 1)),
    "maximum": OpRules(range=range_rules.of_maximum, passed=needs_passed.of_extreme),
    "minimum": OpRules(range=range_rules.of_minimum, passed=needs_passed.of_extreme),
    "multiply": OpRules(range=range_rules.of_multiply, passed=needs_passed.of_multiply),
    "negate": OpRules(range=range_rules.of_negate, passed=needs_passed.of_negate),
    "not": OpRules(arising=needs_arising.of_bitwise),
    "or": OpRules(arising=needs_arising.of_bitwise),
    "popcnt": OpRules(range=range_rules.between(0, 64)),
    "power": OpRules(range=range_rules.of_power, arising=needs_arising.of_power),
    "reduce": OpRules(range=range_rules.of_reduce),
    "reduce_window": OpRules(range=range_rules.of_reduce),
    "remainder": OpRules(arising=needs_arising.of_remainder),
    "rng_bit_generator": OpRules(arising=needs_arising.of_form(BITS)),
    "rsqrt": OpRules(range=range_rules.between(LEAST, inf), arising=needs_arising.of_rsqrt),
    "scatter": OpRules(passed=needs_passed.of_scatter, indices=indices.of_scatter),
    "select": OpRules(arising=needs_arising.of_select),
    "sign": OpRules(range=range_rules.between(-1, 1)),
    "sine": OpRules(range=range_rules.between(-1, 1), passed=needs_passed.of_sign_of),
    "sqrt": OpRules(range=range_rules.of_sqrt, arising=needs_arising.of_sqrt),
    "subtract": OpRules(range=range_rules.of_subtract, passed=needs_passed.of_subtract),
    "tanh": OpRules(range=range_rules.between(-1, 1), passed=needs_passed.of_sign_of),
    "torch_index_select": OpRules(indices=indices.of_torch_index_select),
    "triangular_solve": OpRules(arising=needs_arising.of_form(DOMINANT)),
    "xor": OpRules(arising=needs_arising.of_bitwise),
}


def rules_of(operation: Operation) -> list[Rule]:
    """Return the rules that give the needs of an operation's operands."""
    rules = RULES.get(operation.name, OpRules())
    return [rule for rule in (rules.arising, rules.passed, rules.indices) if rule is not None]
