"""Entries with `computes`: they state, as StableHLO, what a backend computes instead of an op.

docs/divergences.md describes their keys, conformance/known/template.py the text. The entry matches
the elements that are as predicted, and no others: it has no `kinds`, `words` or `max_ulp`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import escape
from typing import Any

from msgspec import structs

from conformance.catalog import RULED
from conformance.errors import describe_unknown
from conformance.gate.expectations import STATING, WITH_RESULTS, Expectation
from conformance.known.entry_prediction import RESULT_TYPE, instantiate, label, ulps
from conformance.known.template import ANY, TemplateError, check_names
from conformance.known.window_order import OPS_WITH_WINDOWS
from conformance.text import matches_any
from conformance.verdict import Verdict
from generators.case.quantized_types import QuantizedColumn
from reference.ir.op import Op, Structure
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, ElementType
from reference.ops.table import OPS
from reference.ops.xla.lowering import lower_program

VERDICTS = (Verdict.DIVERGENT.value, Verdict.INACCURATE.value)
"""Verdicts on elements that an entry with `computes` predicts."""

_OTHERS = ("within", "flushes", "constants", "any_value")
_WITHOUT = ("kinds", "words", "max_ulp", "rare")
_JOINED = " + "
_TRIED = 8
"""The largest number of cases of an op and element type for which `computes` is parsed."""


def add_prediction_class(found: Expectation, given: Mapping[str, Any]) -> Expectation:
    """Return an entry as read from a file, with the class of its prediction.

    Raises:
        ValueError: if its keys contradict one another.
    """
    if not found.computes:
        for key in _OTHERS:
            if key in given:
                raise ValueError(f"{key!r} is only for entries with 'computes'")
        if not (found.sums or found.reorders):
            return found
    stated = found.stating_key
    for key in (*_WITHOUT, *STATING):
        if key in given and key != stated:
            raise ValueError(
                f"{key!r} cannot be combined with {stated!r}, which predicts the values"
            )
    if found.verdicts == WITH_RESULTS:
        found = structs.replace(found, verdicts=VERDICTS)
    return structs.replace(found, kinds=(escape(label(found.id)),))


def check(found: Expectation) -> None:
    """Check `sums`, `reorders`, and what of `computes` needs no parsing as StableHLO.

    Raises:
        ValueError: if any is wrong; the message says how to mend the entry.
    """
    ulps(found.within)
    stated = found.stating_key
    wrong = [verdict for verdict in found.verdicts if verdict not in VERDICTS]
    if wrong:
        raise ValueError(f"{stated!r} predicts values, which are never {wrong[0]!r}")
    if found.sums:
        _check_sums(found)
        return
    if found.reorders:
        others = [pattern for pattern in found.op if pattern not in OPS_WITH_WINDOWS]
        if others:
            raise ValueError(f"'reorders' is of an op with windows, and {others[0]!r} has none")
        return
    for pattern in found.op:
        if _JOINED in pattern:
            raise ValueError(
                f"'computes' is of one operation, and {pattern!r} is several: write 'cause'"
            )
    for name in _ops(found):
        _check_op(found, OPS[name])


def _check_sums(found: Expectation) -> None:
    if found.sums != RESULT_TYPE and found.sums not in ELEMENT_TYPES:
        known = (RESULT_TYPE, *ELEMENT_TYPES)
        raise ValueError(f"'sums': {describe_unknown('element type', found.sums, known)}")
    for pattern in found.op:
        if pattern not in RULED or RULED[pattern].tolerance.measure_in is None:
            raise ValueError(f"'sums' is of an op that adds products up, and {pattern!r} does not")


def _check_op(found: Expectation, record: Op) -> None:
    if record.twin:
        raise ValueError(f"'computes' is of StableHLO's op: write op = {record.twin!r}")
    if record.structure is not Structure.COMPUTES:
        raise ValueError(f"'computes' does not support {record.name}: {record.structure.value}")
    try:
        check_names(found.computes, record)
        _check_constants(found, record)
    except TemplateError as error:
        raise ValueError(f"'computes': {error}") from None


def _check_constants(found: Expectation, record: Op) -> None:
    operands = [name.removeprefix("*") for name in record.operands]
    for pattern in found.constants if found.constants != ANY else ():
        if not any(fnmatchcase(name, pattern) for name in operands):
            raise TemplateError(f"'constants': {describe_unknown('operand', pattern, operands)}")


def check_instances(found: Expectation) -> None:
    """Parse `computes` with MLIR for operations of each op and element type of the entry.

    Operations of an op may differ in more than their types, so it is enough if any operation
    parses.

    Raises:
        ValueError: with the first op and element type for which no operation parses, and the
        reason.
    """
    if not found.computes:
        return
    for name in _ops(found):
        for of in _columns(found, name):
            problem = _problem(found, name, of)
            if problem is not None:
                raise ValueError(f"'computes', for {name} of {of.name}: {problem}")


def _ops(found: Expectation) -> Sequence[str]:
    """Return the ops that an entry matches; a glob matches only ops of StableHLO."""
    return [
        name
        for name, record in OPS.items()
        for pattern in found.op
        if name == pattern or (fnmatchcase(name, pattern) and not record.twin)
    ]


def _columns(found: Expectation, name: str) -> list[ElementType | QuantizedColumn]:
    """Return the element types of an op that an entry matches."""
    from generators.cells.plan import valid_columns  # loads every strategy

    patterns = found.element_types
    return [of for of in valid_columns(name) if matches_any(of.name, patterns)]


def _problem(found: Expectation, name: str, of: ElementType | QuantizedColumn) -> str | None:
    """Return why `computes` has no meaning for any of some operations, or None."""
    first: str | None = None
    for operation in _samples(name, of):
        try:
            program = instantiate(found.computes, operation)
        except TemplateError as error:
            first = first or str(error)
        else:
            masked = len(program.main.result_types) > len(operation.results)
            if not masked and (found.unpredictable or found.any_value):
                key = "unpredictable" if found.unpredictable else "any_value"
                return f"{key!r} elements are those of a mask: end with 'return %y, %mask'"
            return None
    return first


def _samples(name: str, of: ElementType | QuantizedColumn) -> Iterator[Operation]:
    """Yield some operations of an op and element type."""
    from generators.cells.plan import case

    for index in range(_TRIED):
        for operation in lower_program(case(name, of, 0, index).program).walk():
            if operation.name == name:
                yield operation
