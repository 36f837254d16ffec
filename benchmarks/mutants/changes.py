"""Small changes of Python source, of the kinds that mutation testing uses.

A change replaces one node of a module's syntax tree. The statement and the function around it must
be executed for the change to have an effect.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

Function = ast.FunctionDef | ast.Lambda

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip

_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Add,), ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,),
    ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,), ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,), ast.BitXor: (ast.BitOr,),
}  # fmt: skip

_PAIRS = (
    ("min", "max"), ("minimum", "maximum"), ("any", "all"), ("floor", "ceil"), ("zeros", "ones"),
    ("argmin", "argmax"), ("logical_and", "logical_or"), ("next_up", "next_down"),
    ("sum", "prod"), ("cumsum", "cumprod"), ("zeros_like", "ones_like"), ("isnan", "isinf"),
    ("real", "imag"), ("add", "subtract"), ("multiply", "divide"), ("less", "less_equal"),
    ("rint", "trunc"), ("bitwise_and", "bitwise_or"), ("bitwise_xor", "bitwise_or"),
)  # fmt: skip

_CHECKS = ("strict",)
"""Keywords of statements that only report errors: their changes cannot be detected."""

_TWINS = {name: other for pair in _PAIRS for name, other in (pair, pair[::-1])}
"""Functions that a mutant may replace, each with its replacement."""


@dataclass(frozen=True, slots=True)
class Change:
    """One replaced node, in the list or field of the node above it.

    `lines` are the lines of its statement; of a compound statement only the head. `function` is the
    innermost function around it.
    """

    kind: str
    parent: ast.AST
    field: str
    index: int | None
    new: Any
    statement: ast.stmt
    functions: tuple[Function, ...]
    lines: tuple[int, int]

    @property
    def line(self) -> int:
        """The number of the changed line."""
        return getattr(self._old, "lineno", self.lines[0])

    @property
    def _old(self) -> Any:
        held = getattr(self.parent, self.field)
        return held if self.index is None else held[self.index]

    @contextmanager
    def made(self) -> Generator[None]:
        """Apply the change to the tree within the block."""
        old = self._old
        self._put(self.new)
        try:
            yield
        finally:
            self._put(old)

    def _put(self, node: Any) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node

    def shown(self) -> tuple[str, str]:
        """Return the statement before and after the change, each as a line."""
        before = head(self.statement)
        if isinstance(self.new, ast.Pass):
            return before, "pass"
        with self.made():
            return before, head(self.statement)


def head(statement: ast.stmt) -> str:
    """Return a statement as one line, without its body."""
    bare = copy(statement)
    for name in ("body", "orelse", "finalbody", "handlers"):
        if hasattr(bare, name):
            setattr(bare, name, [ast.Pass()] if name == "body" else [])
    return ast.unparse(ast.fix_missing_locations(bare)).partition("\n")[0]


def changes(tree: ast.Module) -> list[Change]:
    """Return all changes of the functions of a module, in the order of the source."""
    return list(_Finder().block_changes(tree.body, tree, "body"))


@dataclass(frozen=True, slots=True)
class _Finder:
    """The position in the tree: surrounding functions and statement, and assigned names."""

    functions: tuple[Function, ...] = ()
    statement: ast.stmt | None = None

    def block_changes(self, block: list[ast.stmt], parent: ast.AST, field: str) -> Iterator[Change]:
        """Yield the changes of the statements of a block."""
        for index, statement in enumerate(block):
            here = _Finder(self.functions, statement)
            if self.functions and here._may_go(statement):
                yield here._change("statement deleted", parent, field, index, ast.Pass())
            yield from here._change_statement(statement)

    def _change_statement(self, statement: ast.stmt) -> Iterator[Change]:
        if isinstance(statement, ast.FunctionDef):
            inner = _Finder((*self.functions, statement))
            yield from inner.block_changes(statement.body, statement, "body")
            return
        if isinstance(statement, ast.Raise | ast.Import | ast.ImportFrom | ast.Assert):
            return  # what errors say is nobody's result
        if self.functions and isinstance(statement, ast.If | ast.While):
            yield from self._change_test(statement)
        if self.functions and isinstance(statement, ast.AugAssign):
            for other in _ARITHMETIC.get(type(statement.op), ()):
                yield self._change("arithmetic", statement, "op", None, other())
        for field, held in ast.iter_fields(statement):
            if isinstance(held, ast.expr) and field not in ("annotation", "returns"):
                yield from self._change_expression(held, statement, field, None)
            elif isinstance(held, list):
                yield from self._change_list(held, statement, field)

    def _change_list(self, held: list[Any], parent: ast.AST, field: str) -> Iterator[Change]:
        if held and isinstance(held[0], ast.stmt):
            yield from self.block_changes(held, parent, field)
            return
        for index, node in enumerate(held):
            if isinstance(node, ast.expr) and field not in ("decorator_list", "bases", "targets"):
                yield from self._change_expression(node, parent, field, index)
            elif isinstance(node, ast.withitem):
                yield from self._change_expression(node.context_expr, node, "context_expr", None)
            elif isinstance(node, ast.match_case | ast.ExceptHandler):
                yield from self.block_changes(node.body, node, "body")

    def _change_test(self, statement: ast.If | ast.While | ast.IfExp) -> Iterator[Change]:
        for value in (True, False):
            yield self._change("condition", statement, "test", None, ast.Constant(value))
        negated = ast.UnaryOp(ast.Not(), statement.test)
        yield self._change("condition", statement, "test", None, negated)

    def _change_expression(
        self, node: ast.expr, parent: ast.AST, field: str, index: int | None
    ) -> Iterator[Change]:
        if isinstance(node, ast.JoinedStr):
            return
        if isinstance(node, ast.Lambda):
            inner = _Finder((*self.functions, node), self.statement)
            yield from inner._change_expression(node.body, node, "body", None)
            return
        if self.functions:
            for kind, new in replacements(node):
                placed = new if hasattr(new, "lineno") else ast.copy_location(new, node)
                yield self._change(kind, parent, field, index, placed)
            if isinstance(node, ast.IfExp):
                yield from self._change_test(node)
        for name, place, inner in _expression_parts(node):
            holder, attribute, number = (
                (inner, "value", None) if isinstance(inner, ast.keyword) else (node, name, place)
            )
            expression = inner.value if isinstance(inner, ast.keyword) else inner
            if isinstance(inner, ast.keyword) and inner.arg in _CHECKS:
                continue
            if isinstance(inner, ast.comprehension):
                yield from self._change_comprehension(inner)
            elif isinstance(expression, ast.expr):
                yield from self._change_expression(expression, holder, attribute, number)

    def _change_comprehension(self, node: ast.comprehension) -> Iterator[Change]:
        yield from self._change_expression(node.iter, node, "iter", None)
        for index, test in enumerate(node.ifs):
            if self.functions:
                yield self._change("condition", node, "ifs", index, ast.Constant(value=True))
            yield from self._change_expression(test, node, "ifs", index)

    def _may_go(self, statement: ast.stmt) -> bool:
        """Return whether a program may still work without a statement."""
        if isinstance(statement, ast.Expr):
            return not isinstance(statement.value, ast.Constant | ast.Yield)
        if isinstance(statement, ast.Assign):
            (target, *_) = statement.targets
            if isinstance(target, ast.Name):
                return _is_bound_before(self.functions[-1], target.id, statement)
            return isinstance(target, ast.Subscript | ast.Attribute)
        return isinstance(statement, ast.AugAssign | ast.Continue | ast.Break | ast.Raise)

    def _change(
        self, kind: str, parent: ast.AST, field: str, index: int | None, new: ast.AST
    ) -> Change:
        assert self.statement is not None
        statement = self.statement
        inside = getattr(statement, "body", None)
        end = statement.end_lineno or statement.lineno
        if isinstance(inside, list) and inside:
            end = max(statement.lineno, inside[0].lineno - 1)
        lines = (statement.lineno, end)
        return Change(kind, parent, field, index, new, statement, self.functions, lines)


def _expression_parts(node: ast.expr) -> Iterator[tuple[str, int | None, Any]]:
    """Return the parts of an expression, each with its field and position."""
    for field, held in ast.iter_fields(node):
        if isinstance(held, list):
            for place, inner in enumerate(held):
                if not (_name_of(node) == "require" and field == "args" and place != 1):
                    yield field, place, inner  # of `require`, ids and messages do nothing
        elif isinstance(held, ast.AST):
            yield field, None, held


def _is_bound_before(function: Function, name: str, statement: ast.stmt) -> bool:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if any(argument.arg == name for argument in every):
        return True
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        and node.lineno < statement.lineno
        for node in ast.walk(function)
    )


Replaced = tuple[str, ast.expr]


def replacements(node: ast.expr) -> Iterator[Replaced]:
    """Return the replacements of an expression, each with the kind of change."""
    change = _OF.get(type(node))
    if change is not None:
        yield from change(node)


def _compare(node: ast.Compare) -> Iterator[Replaced]:
    for place, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
            yield "comparison", ast.Compare(node.left, ops, node.comparators)


def _binary(node: ast.BinOp) -> Iterator[Replaced]:
    for other in _ARITHMETIC.get(type(node.op), ()):
        yield "arithmetic", ast.BinOp(node.left, other(), node.right)
    if isinstance(node.op, ast.MatMult):
        yield "arguments swapped", ast.BinOp(node.right, node.op, node.left)


def _boolean(node: ast.BoolOp) -> Iterator[Replaced]:
    yield "and/or", ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)


def _unary_changes(node: ast.UnaryOp) -> Iterator[Replaced]:
    yield "sign or negation dropped", node.operand


def _constant(node: ast.Constant) -> Iterator[Replaced]:
    if isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield "constant", ast.Constant(node.value + 1)
        yield "constant", ast.Constant(node.value - 1)


def _condition(node: ast.IfExp) -> Iterator[Replaced]:
    yield "branches swapped", ast.IfExp(node.test, node.orelse, node.body)


def _name_of(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _call(node: ast.Call) -> Iterator[Replaced]:
    name, plain = _name_of(node), not any(isinstance(arg, ast.Starred) for arg in node.args)
    if name == "require":
        return
    if plain and len(node.args) >= 2:
        swapped = [node.args[1], node.args[0], *node.args[2:]]
        yield "arguments swapped", ast.Call(node.func, swapped, node.keywords)
    if plain and len(node.args) == 1 and not node.keywords:
        yield "call dropped", node.args[0]
    if name == "range":
        yield (
            "range",
            ast.Call(node.func, [*node.args[:-1], _shift_expression(node.args[-1], -1)], []),
        )
    for place, keyword in enumerate(node.keywords):
        others = node.keywords[:place], node.keywords[place + 1 :]
        if keyword.arg not in (None, *_CHECKS):
            yield "keyword dropped", ast.Call(node.func, node.args, [*others[0], *others[1]])
        if keyword.arg == "axis" and not isinstance(keyword.value, ast.Constant):
            for step in (1, -1):
                moved = ast.keyword(keyword.arg, _shift_expression(keyword.value, step))
                yield "axis", ast.Call(node.func, node.args, [*others[0], moved, *others[1]])


def _name(node: ast.Name) -> Iterator[Replaced]:
    if node.id in _TWINS and node.id in ("min", "max", "any", "all"):
        yield "function", ast.Name(_TWINS[node.id], node.ctx)


def _attribute(node: ast.Attribute) -> Iterator[Replaced]:
    if node.attr in _TWINS:
        yield "function", ast.Attribute(node.value, _TWINS[node.attr], node.ctx)


def _subscript(node: ast.Subscript) -> Iterator[Replaced]:
    if not isinstance(node.slice, ast.Slice):
        return
    bounds = node.slice
    lower = ast.Constant(1) if bounds.lower is None else _shift_expression(bounds.lower, 1)
    upper = ast.Constant(-1) if bounds.upper is None else _shift_expression(bounds.upper, -1)
    for shifted in (
        ast.Slice(lower, bounds.upper, bounds.step),
        ast.Slice(bounds.lower, upper, bounds.step),
    ):
        yield "slice", ast.Subscript(node.value, shifted, node.ctx)
    if bounds.step is not None:
        stepless = ast.Slice(bounds.lower, bounds.upper, None)
        yield "slice", ast.Subscript(node.value, stepless, node.ctx)


def _dictionary(node: ast.Dict) -> Iterator[Replaced]:
    for place in range(len(node.values) - 1):
        values = list(node.values)
        values[place], values[place + 1] = values[place + 1], values[place]
        yield "entries swapped", ast.Dict(node.keys, values)


def _sequence(node: ast.Tuple | ast.List) -> Iterator[Replaced]:
    if len(node.elts) >= 2 and isinstance(node.ctx, ast.Load):
        swapped = [node.elts[1], node.elts[0], *node.elts[2:]]
        yield "elements swapped", type(node)(swapped, node.ctx)


def _shift_expression(node: ast.expr, step: int) -> ast.expr:
    return ast.BinOp(node, ast.Add() if step > 0 else ast.Sub(), ast.Constant(abs(step)))


_OF: dict[type[ast.expr], Callable[[Any], Iterator[Replaced]]] = {
    ast.Compare: _compare, ast.BinOp: _binary, ast.BoolOp: _boolean, ast.UnaryOp: _unary_changes,
    ast.Constant: _constant, ast.IfExp: _condition, ast.Call: _call, ast.Name: _name,
    ast.Attribute: _attribute, ast.Subscript: _subscript, ast.Dict: _dictionary,
    ast.Tuple: _sequence, ast.List: _sequence,
}  # fmt: skip
