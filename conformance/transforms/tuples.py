"""Removal of tuples: each element of a tuple becomes a value of its own.

Only tensors are judged, read and shown. So tuple parameters and results become several values, and
a custom call that returns a tuple has several results, as in compilers. A token parameter, whose
type has a single value, is made at the start of the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.transforms.extract import replace_main
from conformance.transforms.inline import InlinedProgram, Origin
from conformance.transforms.values import defined_values
from reference.ir.program import (
    Function,
    Operation,
    Region,
    TensorType,
    TokenType,
    TupleType,
    Value,
)
from reference.ops.structure import RETURNS, calls_target

Tree = Value | tuple["Tree", ...]
"""A value, or the trees of the elements of a tuple."""


class _KeptTupleError(Exception):
    """A tuple that cannot be flattened."""


def remove_tuples(flat: InlinedProgram) -> InlinedProgram:
    """Return the program without tuples and token parameters.

    The elements of a tuple `x` become `x.0`, `x.1` and so on (`v2.0` for `2`, as a name in MLIR
    that begins with a digit is a number). A program with tuples in operations other than custom
    calls is returned unchanged.
    """
    main = flat.program.main
    types = [value.type for value in defined_values(main.body)]
    plain = all(isinstance(argument.type, TensorType) for argument in main.arguments)
    if plain and not any(isinstance(of, TupleType) for of in types):
        return flat
    work = _Flattener(dict(flat.origins))
    try:
        function = work.function(main)
    except _KeptTupleError:
        return flat
    return InlinedProgram(replace_main(flat.program, function), work.origins)


def _parts(value: Value) -> Tree:
    """Return the tree of values into which a value is flattened."""
    if not isinstance(value.type, TupleType):
        return value
    stem = f"v{value.name}" if value.name[0].isdigit() else value.name
    parts = (Value(f"{stem}.{i}", of) for i, of in enumerate(value.type.types))
    return tuple(map(_parts, parts))


def _leaves(tree: Tree) -> Iterator[Value]:
    if isinstance(tree, Value):
        yield tree
        return
    for part in tree:
        yield from _leaves(part)


class _Flattener:
    def __init__(self, origins: dict[str, Origin]) -> None:
        self.origins = origins

    def function(self, main: Function) -> Function:
        """Return the function with flattened parameters: tensors first, then tokens made, then its
        operations.
        """
        trees = {argument.name: _parts(argument) for argument in main.arguments}
        given = [leaf for tree in trees.values() for leaf in _leaves(tree)]
        tokens = [leaf for leaf in given if isinstance(leaf.type, TokenType)]
        made = [Operation("after_all", (), (token,)) for token in tokens]
        body = self.region(replace(main.body, arguments=()), trees)
        arguments = tuple(leaf for leaf in given if leaf not in tokens)
        operations = (*made, *body.operations)
        returned = tuple(value.type for value in operations[-1].operands)
        return replace(main, body=Region(arguments, operations), result_types=returned)

    def region(self, region: Region, around: dict[str, Tree]) -> Region:
        """Return a flattened region, given the trees of the values around it."""
        if any(isinstance(argument.type, TupleType) for argument in region.arguments):
            raise _KeptTupleError
        trees = {**around, **{argument.name: argument for argument in region.arguments}}
        kept: list[Operation] = []
        for operation in region.operations:
            taken = [trees[value.name] for value in operation.operands]
            if operation.name == "tuple":
                trees[operation.results[0].name] = tuple(taken)
            elif operation.name == "get_tuple_element":
                trees[operation.results[0].name] = self._element(operation, taken[0])
            else:
                kept.append(self._operation(operation, taken, trees))
        return replace(region, operations=tuple(kept))

    def _element(self, operation: Operation, tree: Tree) -> Tree:
        index = operation.attribute("index")
        if isinstance(tree, Value) or not isinstance(index, int) or index >= len(tree):
            raise _KeptTupleError
        return tree[index]

    def _operation(
        self, operation: Operation, taken: list[Tree], trees: dict[str, Tree]
    ) -> Operation:
        """Return an operation on flattened operands; add its results' trees to `trees`."""
        involved = [*taken, *(_parts(value) for value in operation.results)]
        several = any(not isinstance(tree, Value) for tree in involved)
        if several and not calls_target(operation) and operation.name not in RETURNS:
            raise _KeptTupleError
        for value in operation.results:
            trees[value.name] = _parts(value)
            for leaf in _leaves(trees[value.name]):
                self.origins[leaf.name] = self.origins.get(value.name, Origin("main", value.name))
        return replace(
            operation,
            operands=tuple(leaf for tree in taken for leaf in _leaves(tree)),
            results=tuple(leaf for v in operation.results for leaf in _leaves(trees[v.name])),
            regions=tuple(self.region(inner, trees) for inner in operation.regions),
        )
