"""Assertions of StableHLO's own test programs about their values, and tests whether they hold.

Two spellings are understood here: custom calls (`@check.expect_eq` and others, in the programs made
from JAX's tests) and the ops of the `check` dialect (in the interpreter's tests), which jaxlib does
not register: their assembly is rewritten to custom calls before MLIR parses it. A third one, of
another dialect with that name, is `iree_checks`'s.

Source: StableHLO, stablehlo/tests/CheckOps.td and what its translator does with custom calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from conformance.frontends.iree_checks import DENSE, TYPE, VALUE, call, constant
from conformance.frontends.iree_checks import rewrite as from_iree
from conformance.transforms.extract import replace_main, replace_results
from conformance.transforms.values import nested_operations
from reference.ir.program import Dense, Operation, Program, TensorType, Value
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import ordinal, to_float64

CALL = "custom_call"
CLOSE_ULPS = 3
"""Tolerance in ulps of a custom call of `check.expect_close` that has no attribute for it."""

CALL_TOLERANCE, OP_TOLERANCE, EQ_TOLERANCE = 1e-3, 1e-4, 1e-4
"""Absolute tolerances: of the custom call expect_almost_eq, of the op of that name, of check.eq."""

_PREFIX = "check."


@dataclass(frozen=True, slots=True)
class Assertion:
    """An assertion about two values: equal, or close in absolute terms or in ulp.

    `tolerance` is the absolute error permitted (None: not judged so), to which `relative` times
    the expected value's magnitude is added; `ulps` the smallest and largest distance in ulp (None:
    not judged so); with neither, the values must be equal.
    """

    name: str
    actual: Value
    expected: Value
    tolerance: float | None = None
    ulps: tuple[int, int] | None = None
    relative: float = 0.0

    @property
    def is_near(self) -> bool:
        """Whether the assertion has a tolerance."""
        return self.tolerance is not None or (self.ulps is not None and self.ulps[0] == 0)

    def fails(self, actual: Array, expected: Array) -> Array:
        """Return the mask of elements for which the assertion fails.

        Values are equal if `==` says so, with zeros of either sign equal; NaN equals NaN, whatever
        its bits.
        """
        element_type = element_type_of(expected)
        if not (element_type.is_float or element_type.is_complex):
            return np.asarray(actual != expected)
        if element_type.is_complex:
            real = self._fails(np.array(np.real(actual)), np.array(np.real(expected)))
            imag = self._fails(np.array(np.imag(actual)), np.array(np.imag(expected)))
            return real | imag
        return self._fails(actual, expected)

    def _fails(self, actual: Array, expected: Array) -> Array:
        with np.errstate(all="ignore"):
            got, want = to_float64(actual), to_float64(expected)
            same = (got == want) | (np.isnan(got) & np.isnan(want))
            if self.tolerance is not None:
                permitted = self.tolerance + (self.relative * np.abs(want) if self.relative else 0)
                return ~(same | (np.isfinite(want) & (np.abs(got - want) <= permitted)))
            if self.ulps is None:
                return ~same
            low, high = self.ulps
            apart = _ulps_apart(actual, expected)
            outside = [not low <= one <= high for one in apart]
            return np.asarray(outside, np.bool_).reshape(expected.shape)


MOST_ULPS = (1 << 64) - 1
"""The distance in ulp between a finite number and a number that is not finite."""


def _ulps_apart(actual: Array, expected: Array) -> list[int]:
    """Return distances in ulp as CheckOps counts them: all zeros are one number, and all NaNs
    are.
    """
    finite = np.isfinite(to_float64(actual)) & np.isfinite(to_float64(expected))
    got, want = to_float64(actual), to_float64(expected)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    left, right = ordinal(actual).reshape(-1), ordinal(expected).reshape(-1)
    return [
        0 if alike else (abs(int(a) - int(b)) if both else MOST_ULPS)
        for a, b, both, alike in zip(
            left, right, finite.reshape(-1), same.reshape(-1), strict=True
        )
    ]  # fmt: skip


# --- From a program ------------------------------------------------------------------------------


def is_assertion(operation: Operation) -> bool:
    """Return whether an operation is a custom call of the check dialect."""
    target = operation.attribute("call_target_name")
    return operation.name == CALL and str(target).startswith(_PREFIX)


def extract_assertions(program: Program) -> tuple[Program, tuple[Assertion, ...]]:
    """Return the program without the assertions in its main, and these assertions.

    Main returns the values that the assertions compare, an actual and an expected value for each,
    instead of its own results. Assertions that return whether they hold return true.

    Raises:
        ValueError: for an assertion that is not known, or is made within a region.
    """
    kept: list[Operation] = []
    found: list[Assertion] = []
    *operations, end = program.main.body.operations
    for operation in operations:
        if not is_assertion(operation):
            if any(map(is_assertion, nested_operations(operation))):
                raise ValueError(f"an assertion within the body of {operation.name}")
            kept.append(operation)
            continue
        found.append(_assertion(operation))
        if operation.results:
            kept.append(_truth(operation))
    if not found:
        return program, ()
    main = program.main
    bare = replace(main, body=replace(main.body, operations=(*kept, end)))
    shown = [value for one in found for value in (one.actual, one.expected)]
    return replace_results(replace_main(program, bare), shown), tuple(found)


def _assertion(operation: Operation) -> Assertion:
    name = str(operation.attribute("call_target_name")).removeprefix(_PREFIX)
    if len(operation.operands) != 2:
        raise ValueError(f"{_PREFIX}{name} of {len(operation.operands)} operands")
    given = dict(
        pair.split("=", 1) for pair in str(operation.attribute("backend_config", "")).split()
    )
    actual, expected = operation.operands
    if name in ("expect_eq", "expect_eq_const"):
        return Assertion(name, actual, expected)
    if name in ("expect_almost_eq", "expect_almost_eq_const"):
        tolerance = float(given.get("tolerance", CALL_TOLERANCE))
        return Assertion(
            name, actual, expected, tolerance, relative=float(given.get("relative", 0))
        )
    if name == "expect_close":
        bounds = int(given.get("min", 0)), int(given.get("max", CLOSE_ULPS))
        return Assertion(name, actual, expected, ulps=bounds)
    if name == "eq":
        return Assertion(name, actual, expected, EQ_TOLERANCE)
    raise ValueError(f"{_PREFIX}{name} is not known")


def _truth(operation: Operation) -> Operation:
    """Return a constant true that replaces the result of an assertion."""
    (result,) = operation.results
    of = result.type
    assert isinstance(of, TensorType)
    value = Dense.of(np.ones(of.static_shape, of.storage), of)
    return Operation("constant", (), operation.results, (("value", value),))


# --- From text -----------------------------------------------------------------------------------

_CONST = re.compile(
    rf"check\.(expect_eq_const|expect_almost_eq_const)\s+({VALUE})\s*,\s*"
    rf"({DENSE})\s*:\s*({TYPE})"
    rf"(?:(?:\s*,\s*|\s*\{{\s*)tolerance\s*=\s*([-\w.+]+)(?:\s*:\s*f64)?(?:\s*\}})?)?"
)
_PAIR = re.compile(
    rf"check\.(expect_eq|expect_almost_eq)\s+({VALUE})\s*,\s*({VALUE})"
    rf"(?:\s*,\s*tolerance\s*=\s*([-\w.+]+)(?:\s*:\s*f64)?)?\s*:\s*({TYPE})"
)
_CLOSE = re.compile(
    rf"check\.expect_close\s+({VALUE})\s*,\s*({VALUE})\s*,\s*max_ulp_difference\s*=\s*(\d+)"
    rf"(?:\s*:\s*ui64)?(?:\s*,\s*min_ulp_difference\s*=\s*(\d+)(?:\s*:\s*ui64)?)?"
    rf"\s*:\s*({TYPE})\s*,\s*({TYPE})"
)
_GENERIC = re.compile(
    rf"\"check\.(expect_\w+)\"\(({VALUE})(?:,\s*({VALUE}))?\)\s*"
    rf"(?:<?\{{(.*?)\}}>?)?\s*:\s*\(({TYPE})(?:,\s*({TYPE}))?\)\s*->\s*\(\)"
)
_PROBED = re.compile(
    rf"({VALUE})\s*=\s*interpreter\.probe\s+({VALUE})\s*,\s*probe_id\s*=\s*\"([^\"]*)\""
    rf"\s*:\s*({TYPE})"
)
_PRINTED = re.compile(rf"interpreter\.print\s+{VALUE}\s*:\s*{TYPE}")
_SERIALIZED = re.compile(
    rf"check\.expect_serialized_eq\s+({VALUE})\s*,\s*probe_id\s*=\s*\"([^\"]*)\""
    rf"(?:\s*,\s*iter\s*=\s*(\d+))?(?:\s*:\s*ui?32)?\s*:\s*({TYPE})"
)


def rewrite(text: str) -> str:
    """Return a module's text with the check dialect's ops as custom calls; line numbers are kept.

    An op on a constant becomes a constant and a custom call. Probes of values outside of loops
    are the values themselves; those within a loop stay, and MLIR's parser says so.
    """
    text = from_iree(text)
    if _PREFIX not in text and "interpreter." not in text:
        return text
    text = _PRINTED.sub("", text)
    names = iter(range(text.count(_PREFIX)))
    text = _remove_probes(text)
    text = _CONST.sub(lambda m: _rewrite_constant_assertion(m, f"%check__{next(names)}"), text)
    text = _PAIR.sub(lambda m: call(m[1], m[2], m[3], m[5], _tolerance(m[1], m[4])), text)
    text = _CLOSE.sub(
        lambda m: call("expect_close", m[1], m[2], m[5], f"min={m[4] or 0} max={m[3]}"), text
    )
    return _GENERIC.sub(
        lambda m: _rewrite_generic_assertion(m, f"%check__{next(names, 'x')}"), text
    )


def _tolerance(name: str, given: str | None) -> str:
    return f"tolerance={given or OP_TOLERANCE}" if "almost" in name else ""


def _rewrite_constant_assertion(match: re.Match[str], name: str) -> str:
    assertion, actual, value, of, tolerance = match.groups()
    tolerance = _tolerance(assertion, tolerance)
    return constant(name, value, of) + call(assertion, actual, name, of, tolerance)


def _rewrite_generic_assertion(found: re.Match[str], name: str) -> str:
    """Rewrite an assertion in generic form: `"check.expect_close"(%a, %b) {max_ulp_difference = 3 :
    ui64} : ...`.
    """
    assertion, actual, expected, inside, of, _ = found.groups()
    inside = inside or ""
    limits = {key: re.search(rf"\b{key}\s*=\s*([-\w.+]+)", inside) for key in _LIMITS}
    given = {key: match[1] for key, match in limits.items() if match}
    tolerance = _tolerance(assertion, given.get("tolerance"))
    if assertion == "expect_close":
        least, most = given.get("min_ulp_difference", 0), given.get("max_ulp_difference", 1)
        tolerance = f"min={least} max={most}"
    if expected is not None:
        return call(assertion, actual, expected, of, tolerance)
    value = re.search(rf"value\s*=\s*({DENSE})", inside)
    if value is None:
        return found[0]
    return constant(name, value[1], of) + call(assertion, actual, name, of, tolerance)


_LIMITS = ("tolerance", "min_ulp_difference", "max_ulp_difference")


def _remove_probes(text: str) -> str:
    """Replace probes by barriers, and assertions about probes by assertions about the values."""
    probed: dict[str, str] = {}

    def barrier(match: re.Match[str]) -> str:
        result, operand, probe, of = match.groups()
        probed.setdefault(probe, result)
        return f'{result} = "stablehlo.optimization_barrier"({operand}) : ({of}) -> {of}'

    def write_assertion(match: re.Match[str]) -> str:
        expected, probe, iteration, of = match.groups()
        if probe not in probed or iteration is not None:
            return match[0]
        return call("expect_eq", probed[probe], expected, of, "")

    return _SERIALIZED.sub(write_assertion, _PROBED.sub(barrier, text))
