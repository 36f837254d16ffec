"""Names of a program's values in the text that it was read from.

MLIR drops these names when it parses a text; it keeps the location of each operation and argument,
where the names are found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate

from conformance.frontends.arguments import Parameter
from conformance.frontends.modules import Unit, lower_text
from conformance.stablehlo.lexical import blank_strings, remove_locations
from conformance.stablehlo.messages import position
from conformance.stablehlo.parse import ParseError, locations, places
from conformance.transforms.inline import Origin
from reference.ir.program import Operation

_NAME = r"%[\w$.-]+"
_RESULTS = re.compile(rf"({_NAME})(?::\d+)?(?:\s*,\s*{_NAME}(?::\d+)?)*\s*=\s*([\w.$]*)")
_ARGUMENT = re.compile(_NAME)
_LABEL = re.compile(r'loc\("((?:[^"\\]|\\.)*)"(?:\(|\))')


def value_names(unit: Unit) -> Mapping[tuple[str, str], str]:
    """Return the names in the file of arguments and of operations' first results, without the %.

    By function and name, as `conformance.stablehlo.parse` gives them. The replacement of an
    expanded operation has the operation's name.

    Raises:
        ParseError: when the text without its locations is none.
    """
    text = remove_locations(unit.original)
    code = blank_strings(text)
    first: dict[int, str] = {}
    for found in _RESULTS.finditer(code):  # MLIR points to the operation's name, or behind it
        first |= dict.fromkeys((found.start(2), found.end()), found[1])
    lines = [0, *accumulate(len(line) + 1 for line in code.split("\n"))]
    ascii_ = code.isascii()
    names: dict[tuple[str, str], str] = {}
    for value, location in locations(lower_text(text, unit.types)).items():
        at = position(location)
        if at is None or at[0] >= len(lines):
            continue
        begin, column = lines[at[0] - 1], at[1] - 1
        if not ascii_:  # MLIR counts bytes
            line = code[begin : lines[at[0]]].encode()
            column = len(line[:column].decode(errors="replace"))
        argument = _ARGUMENT.match(code, begin + column)
        name = argument[0] if argument else first.get(begin + column)
        if name is not None:
            names[value] = name[1:]
    return names


def parameters(unit: Unit) -> tuple[Parameter, ...]:
    """Return the names of the program's parameters; `arg0` and so on if the file has none."""
    names, labels = value_names(unit), locations(unit.source)
    found: list[Parameter] = []
    for index, argument in enumerate(unit.flat.program.main.arguments):
        whole, dot, place = argument.name.partition(".")  # of a tuple, the value at this place
        value = (unit.name, whole)
        label = _LABEL.match(labels.get(value, ""))
        name = names.get(value)
        named = f"{name}{dot}{place}" if name is not None else f"arg{index}"
        found.append(Parameter(named, f"{label[1]}{dot}{place}" if label else ""))
    return tuple(found)


def input_names(unit: Unit) -> tuple[str, ...]:
    """Return a distinct name for each of the program's inputs, under which `--inputs` takes it."""
    found = parameters(unit)
    names, labels = [one.name for one in found], [one.label for one in found]
    if set(labels) == set(names) and labels != names:  # which is meant could not be told
        return tuple(f"arr_{number}" for number in range(len(found)))
    for keys in (labels, names):
        if len({*keys}) == len(keys) and not {"", *_OF_SAVEZ} & {*keys}:
            return tuple(keys)
    return tuple(f"arr_{number}" for number in range(len(found)))


_OF_SAVEZ = ("file", "allow_pickle")
"""Argument names that numpy.savez reserves."""


def describe_operation(unit: Unit, operation: Operation, within: Sequence[Operation] = ()) -> str:
    """Describe an operation by mnemonic, name and location, and enclosing loops and branches."""
    try:
        names, lines = value_names(unit), places(unit.source)
    except ParseError:
        names, lines = {}, {}
    parts = [_describe_operation(unit, one, names, lines) for one in (operation, *reversed(within))]
    return " in ".join(parts)


def _describe_operation(
    unit: Unit,
    operation: Operation,
    names: Mapping[tuple[str, str], str],
    lines: Mapping[tuple[str, str], str],
) -> str:
    if not operation.results:
        return operation.name
    value = operation.results[0].name
    origin = unit.flat.origins.get(value, Origin("", value))
    keys = ((origin.function, origin.value), (unit.name, origin.value))
    name, place = (next((of[key] for key in keys if of.get(key)), "") for of in (names, lines))
    function = "main" if origin.function == unit.name else origin.function
    where = [] if function in ("main", "") else [f"@{function}"]
    where += [place] if place else []
    named = f"{operation.name} %{name}" if name else operation.name
    return named + (f" ({', '.join(where)})" if where else "")
