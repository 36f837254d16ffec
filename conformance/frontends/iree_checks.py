"""IREE's test programs, rewritten to the custom calls that `assertions` reads.

IREE's tests of StableHLO are functions without arguments. Their values come from
`util.unfoldable_constant`, which no compiler may fold. Assertions are ops of a dialect that is
called `check` too, but has parentheses and a relative tolerance beside the absolute tolerance.
jaxlib registers neither dialect, so the assembly is rewritten before MLIR parses it. The number of
lines stays.

Source: IREE, compiler/src/iree/compiler/Modules/Check/IR/CheckOps.td (defaults included).
"""

from __future__ import annotations

import re

TYPE = r"tensor\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>"
VALUE = r"%[\w$.#-]+"
DENSE = r"dense<(?:\"[^\"]*\"|[^>\"])*>"

ABSOLUTE, RELATIVE = "1e-4", "0"
"""The default tolerances of `check.expect_almost_eq`."""

_MARKS = ("util.", "check.expect")
_CONSTANT = re.compile(
    rf"({VALUE})\s*=\s*util\.unfoldable_constant\s*(?:\{{[^{{}}]*\}}\s*)?({DENSE})\s*:\s*({TYPE})"
)
_BARRIER = re.compile(rf"({VALUE})\s*=\s*util\.optimization_barrier\s+({VALUE})\s*:\s*({TYPE})")
_ASSERTED = re.compile(
    rf"check\.(expect_eq|expect_almost_eq)(_const)?\(\s*({VALUE})\s*,\s*"
    rf"(?:({VALUE})|({DENSE})\s*:\s*{TYPE})\s*"
    rf"(?:,\s*atol\s+([-\w.+]+)\s*)?(?:,\s*rtol\s+([-\w.+]+)\s*)?\)\s*:\s*({TYPE})"
)
_ALL_TRUE = re.compile(rf"check\.expect_all_true\(\s*({VALUE})\s*\)\s*:\s*({TYPE})")


def rewrite(text: str) -> str:
    """Return the text with IREE's constants and assertions as StableHLO's; other text unchanged."""
    if not any(mark in text for mark in _MARKS):
        return text
    text = _BARRIER.sub(r'\1 = "stablehlo.optimization_barrier"(\2) : (\3) -> \3', text)
    text = _CONSTANT.sub(_constant, text)
    names = (f"%iree__{number}" for number in range(text.count("check.expect")))
    text = _ALL_TRUE.sub(lambda m: _all_true(m, next(names)), text)
    return _ASSERTED.sub(lambda m: _write_assertion(m, next(names)), text)


def call(name: str, actual: str, expected: str, text_: str, config: str) -> str:
    """Return the custom call that asserts a relation of two values of the same type."""
    given = f'backend_config = "{config}", ' if config else ""
    attributes = f'{{call_target_name = "check.{name}", {given}has_side_effect = true}}'
    return f'"stablehlo.custom_call"({actual}, {expected}) {attributes} : ({text_}, {text_}) -> ()'


def constant(name: str, value: str, text_: str) -> str:
    """Return the constant of that name, to be followed by its use."""
    return f'{name} = "stablehlo.constant"() {{value = {value} : {text_}}} : () -> {text_} '


def _constant(match: re.Match[str]) -> str:
    name, value, of = match.groups()
    folded = f"%folded__{name[1:]}"
    barrier = f'{name} = "stablehlo.optimization_barrier"({folded}) : ({of}) -> {of}'
    return constant(folded, value, of) + barrier


def _write_assertion(match: re.Match[str], name: str) -> str:
    assertion, const, actual, expected, value, absolute, relative, of = match.groups()
    config = ""
    if "almost" in assertion:
        config = f"tolerance={absolute or ABSOLUTE} relative={relative or RELATIVE}"
    if expected is not None:
        return call(assertion, actual, expected, of, config)
    return constant(name, value, of) + call(assertion + const, actual, name, of, config)


def _all_true(match: re.Match[str], name: str) -> str:
    actual, of = match.groups()
    element_type = of.removesuffix(">").rpartition("x")[2].removeprefix("tensor<")
    if element_type != "i1":
        return match[0]
    return constant(name, "dense<true>", of) + call("expect_eq", actual, name, of, "")
