"""Language of rewritings: a pattern of operations, and its replacement.

`(multiply (multiply x C) D)` is a pattern, `(multiply x (multiply C D))` a replacement. Both are an
operation's mnemonic and its operands, in parentheses:

- a lower-case name is any value; its occurrences are the same value;
- an upper-case name is a compile-time constant; its occurrences have equal elements;
- a number is a constant whose elements all equal that number;
- a name or an operation may have a condition after a colon: `C:power_of_two`, `(abs x):reduced`
  (CONDITIONS in conditions.py);
- `...` after the last operand is any further operands, only in a pattern: `(concatenate x ...)`;
- a comparison has its direction after a dot: `compare.GE`.

Commutative operations match both orders of operands; `(maximum! x y)` matches only this order. An
operation of a replacement that has attributes or regions takes them from the operation of that name
in the pattern: `(reverse x)`, `(reduce x y)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from reference.ir.op import Op
from reference.ir.program import Operation, Value
from reference.ops.table import OPS

_WORDS = re.compile(r"[()]|[^\s()]+")
_MADE_BY, _FURTHER = "(", "..."


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in a pattern or a replacement, with an optional condition in a pattern."""

    name: str
    condition: str = ""

    @property
    def is_constant(self) -> bool:
        """Whether the name matches only values that are constants to a compiler."""
        return self.name.isupper()


@dataclass(frozen=True, slots=True)
class Term:
    """An operation on values, on numbers, and on other terms; `maker` is the operation of the
    program, if there is one. In a pattern it may have a condition, is `ordered` if its operands are
    not to be swapped, and `is_open` if further operands may follow.
    """

    op: str
    operands: tuple[Node, ...]
    maker: Operation | None = None
    condition: str = ""
    ordered: bool = False
    is_open: bool = False

    @property
    def mnemonic(self) -> str:
        """The operation's name, without the direction of a comparison."""
        return self.op if self.op in OPS else self.op.partition(".")[0]

    @property
    def moves(self) -> bool:
        """Whether the term only rearranges the elements of its operand."""
        return self.maker is not None and self.op in OPS and OPS[self.op].rearranges


Node = Term | Variable | Value | float
"""Node of a pattern, of a replacement, or of a matched program."""

Bindings = Mapping[str, Node]
"""The values of a pattern's names.

Under the key `(op`, the first operation with the mnemonic `op`.
"""


@cache
def parse_term(text: str) -> Node:
    """Return the pattern that a text describes.

    Raises:
        ValueError: if the text is no pattern.
    """
    words = _WORDS.findall(text)
    node = _parse_words(words)
    if words:
        raise ValueError(f"unexpected text after the end: {' '.join(words)}")
    return node


def _parse_words(words: list[str]) -> Node:
    if not words:
        raise ValueError("it is incomplete")
    word = words.pop(0)
    if word == ")":
        raise ValueError("it has a closing parenthesis without an opening one")
    if word != "(":
        return _leaf(word)
    op, operands = (words.pop(0) if words else ""), list[Node]()
    op, ordered = op.removesuffix("!"), op.endswith("!")
    if not op.partition(".")[0].isidentifier():
        raise ValueError(f"an operation's mnemonic is missing before {op or 'the end'}")
    while words and words[0] not in (")", _FURTHER):
        operands.append(_parse_words(words))
    is_open = bool(words) and words[0] == _FURTHER
    if is_open:
        words.pop(0)
        if words and words[0] != ")":
            raise ValueError(f"the operands of {op} end with {_FURTHER}")
    if not words:
        raise ValueError(f"the operands of {op} lack their closing parenthesis")
    words.pop(0)
    condition = words.pop(0)[1:] if words and words[0].startswith(":") else ""
    return Term(op, tuple(operands), condition=condition, ordered=ordered, is_open=is_open)


def _leaf(word: str) -> Node:
    name, colon, condition = word.partition(":")
    if (
        name.isidentifier()
        and (name.isupper() or name.islower())
        and bool(colon) <= bool(condition)
    ):
        return Variable(name, condition)
    try:
        return float(word)
    except ValueError:
        raise ValueError(
            f"{word!r} is neither a number nor a name in lower or in upper case"
        ) from None


def terms_in(node: Node) -> Iterator[Term]:
    """Yield the operations of a pattern, outermost first."""
    if isinstance(node, Term):
        yield node
        for one in node.operands:
            yield from terms_in(one)


def variables_in(node: Node) -> Iterator[Variable]:
    """Yield the names of a pattern with repetitions."""
    if isinstance(node, Variable):
        yield node
    elif isinstance(node, Term):
        for one in node.operands:
            yield from variables_in(one)


def binding_key(op: str) -> str:
    """Return the key under which bindings have the first operation of that name."""
    return _MADE_BY + op


def substitute(node: Node, bindings: Bindings) -> Node:
    """Return a replacement with its names bound, and attributes as in the pattern."""
    if isinstance(node, Variable):
        return bindings[node.name]
    if not isinstance(node, Term):
        return node
    operands = tuple(substitute(one, bindings) for one in node.operands)
    like = bindings.get(binding_key(node.op)) if has_more_than_operands(OPS.get(node.op)) else None
    return replace(node, operands=operands, maker=like.maker if isinstance(like, Term) else None)


def has_more_than_operands(record: Op | None) -> bool:
    """Return whether an operation has attributes, regions or a result type besides its operands.

    Comparisons have not, because the direction is part of their name here.
    """
    if record is None or record.name == "compare":
        return False
    return bool(record.attributes or record.regions or record.needs_result)


def as_term(operation: Operation) -> Term:
    """Return an operation of a program as a term, a comparison with its direction."""
    direction = operation.attribute("comparison_direction")
    name = f"{operation.name}.{direction}" if operation.name == "compare" else operation.name
    return Term(name, operation.operands, operation)


def operand_orders(term: Term, pattern: Term) -> Iterator[tuple[Node, ...]]:
    """Yield the operands of a term; in both orders for a commutative operation with an unordered
    pattern.
    """
    yield term.operands
    record = None if pattern.ordered else OPS.get(term.op)
    if record is not None and record.monoid is not None and len(term.operands) == PAIR:
        yield term.operands[::-1]


PAIR = 2
