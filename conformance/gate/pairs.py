"""Entries with `instead_of`: a pattern of operations, and the pattern that a backend computes
instead.

docs/expectations.md describes their keys, conformance/known/rewritings/terms.py the patterns. `op`
is the outermost operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from inspect import signature
from typing import Any

from conformance.errors import describe_unknown
from conformance.gate.computes import check_values
from conformance.gate.expectations import Expectation
from conformance.known.rewritings.conditions import CONDITIONS
from conformance.known.rewritings.evaluation import BUILT
from conformance.known.rewritings.terms import (
    Node,
    Term,
    has_more_than_operands,
    parse_term,
    terms_in,
    variables_in,
)
from reference.ir.op import Op, Structure
from reference.ops.table import OPS

_WITHOUT = {
    "constants": "write constants as names in upper case, such as C",
    "unpredictable": "a pair of patterns predicts all elements",
}
_DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
_COMPARE = "compare"


def outermost_operation(given: Mapping[str, Any]) -> str:
    """Return the outermost operation of an entry's pattern; "" if it has none.

    Raises:
        ValueError: if its pattern cannot be parsed.
    """
    text = given.get("instead_of")
    return _operation("instead_of", text).mnemonic if isinstance(text, str) and text else ""


def check(found: Expectation) -> None:
    """Check that both patterns have a meaning, and fit each other and the entry.

    Raises:
        ValueError: if not; the message says how to mend the entry.
    """
    check_values(found)
    for key, instead in _WITHOUT.items():
        if getattr(found, key):
            raise ValueError(f"{key!r} cannot be combined with 'instead_of': {instead}")
    pattern = _operation("instead_of", found.instead_of)
    replacement = _read("computes", found.computes)
    wrong = [one for one in found.op if not fnmatchcase(pattern.mnemonic, one)]
    if wrong:
        raise ValueError(
            f"op is {wrong[0]!r}, and 'instead_of' ends with {pattern.mnemonic}: omit 'op'"
        )
    for key, node in (("instead_of", pattern), ("computes", replacement)):
        for term in terms_in(node):
            _check_term(key, term)
    _check_variables(pattern, replacement)
    _check_attributes(pattern, replacement)
    if pattern == replacement:
        raise ValueError("'computes' is the same as 'instead_of': it predicts nothing")


def _read(key: str, text: str) -> Node:
    try:
        return parse_term(text)
    except ValueError as error:
        hint = ", in place of StableHLO" if "%" in text else ""
        raise ValueError(f"{key!r} must be a pattern such as '(add x y)'{hint}: {error}") from None


def _operation(key: str, text: str) -> Term:
    node = _read(key, text)
    if not isinstance(node, Term):
        raise ValueError(f"{key!r} must be an operation, such as '(add x y)', not {text.strip()!r}")
    return node


def _check_term(key: str, term: Term) -> None:
    """Check that an operation exists, is written as patterns require, and has its operands."""
    if key == "computes" and term.op in BUILT:
        _check_number(key, term, tuple(signature(BUILT[term.op]).parameters))
        return
    record = OPS.get(term.mnemonic)
    if record is None:
        raise ValueError(f"{key!r}: {describe_unknown('operation', term.mnemonic, OPS)}")
    if record.twin:
        raise ValueError(f"{key!r} has operations of StableHLO: write {record.twin!r}")
    if record.structure is not Structure.COMPUTES or record.is_random:
        why = "its results are random" if record.is_random else record.structure.value
        raise ValueError(f"{key!r} cannot have {record.name}: {why}")
    if record.several and not any(name.startswith("*") for name in record.operands):
        raise ValueError(f"{key!r} cannot have {record.name}: it has several results")
    _check_direction(key, term)
    _check_number(key, term, record.operands)


def _check_number(key: str, term: Term, names: Sequence[str]) -> None:
    """Check that an operation has the right number of operands."""
    starred, given = sum(name.startswith("*") for name in names), len(term.operands)
    more = given - len(names)
    if term.is_open:
        if key == "computes":
            raise ValueError(f"'computes': ... in {term.op} belongs in 'instead_of'")
        if more <= 0 or starred:
            return
    elif more == 0 or (starred and more > 0 and more % starred == 0):
        return
    listed = ", ".join(name.replace("*", "any number of ") for name in names)
    raise ValueError(f"{key!r}: {term.op} takes {listed or 'no operands'}, and is given {given}")


def _check_direction(key: str, term: Term) -> None:
    if key == "computes" and term.ordered:
        raise ValueError(f"'computes': {term.op}! belongs in 'instead_of': it says what is matched")
    _, dot, direction = term.op.partition(".")
    if term.mnemonic == _COMPARE and direction not in _DIRECTIONS:
        known = ", ".join(f"compare.{one}" for one in _DIRECTIONS)
        raise ValueError(f"{key!r}: write {term.op} with its direction: {known}")
    if term.mnemonic != _COMPARE and dot:
        raise ValueError(f"{key!r}: only compare has a direction, and {term.op} has one")


def _check_variables(pattern: Term, replacement: Node) -> None:
    """Check conditions, and that the replacement uses only variables that the pattern binds."""
    bound = {one.name for one in variables_in(pattern)}
    for one in (*variables_in(pattern), *terms_in(pattern)):
        if one.condition and one.condition not in CONDITIONS:
            raise ValueError(
                f"'instead_of': {describe_unknown('condition', one.condition, CONDITIONS)}"
            )
    for one in (*variables_in(replacement), *terms_in(replacement)):
        if one.condition:
            raise ValueError(f"'computes': the condition {one.condition!r} belongs in 'instead_of'")
    for one in variables_in(replacement):
        if one.name not in bound:
            raise ValueError(
                f"'computes': {describe_unknown('name', one.name, sorted(bound))} of 'instead_of'"
            )
    for term in terms_in(replacement):
        if not any(True for _ in variables_in(term)):
            raise ValueError(
                f"'computes': {term.op} of numbers only has no shape: write the resulting number"
            )


def _check_attributes(pattern: Term, replacement: Node) -> None:
    """Check that the pattern has the operations from which the replacement takes attributes."""
    there = {one.op for one in terms_in(pattern)}
    for one in terms_in(replacement):
        record = OPS.get(one.mnemonic)
        if record is not None and has_more_than_operands(record) and one.op not in there:
            raise ValueError(
                f"'computes': {one.op} takes its {_stated_parts(record)} from an operation of that "
                "name in 'instead_of', and there is none"
            )


def _stated_parts(record: Op) -> str:
    if record.regions:
        return "regions"
    return "attributes" if record.attributes else "result type"
