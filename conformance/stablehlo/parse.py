"""StableHLO text as a program: MLIR parses and verifies it, and this module converts its
operations.

Source: MLIR language reference; StableHLO specification, "Programs". Both the pretty and the
generic form are read. Parts that do not affect results are dropped: locations, attributes of other
dialects (sharding and the like), visibility.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from conformance.stablehlo.context import reading_context
from conformance.stablehlo.custom_calls import from_custom_call
from conformance.stablehlo.gspmd import read_manual_computations
from conformance.stablehlo.messages import foreign_name, name_undefined_value, place_of, position
from conformance.stablehlo.reading.attributes import op_name, own_attributes, represented_op
from conformance.stablehlo.reading.constants import parse_dense
from conformance.stablehlo.reading.fatal import fatal_operations, may_be_fatal
from conformance.stablehlo.reading.refusal import ParseError, Unreadable, refusal
from conformance.stablehlo.reading.types import value_type
from conformance.stablehlo.shardings import device_count, is_annotated
from reference.ir.program import (
    Function,
    Operation,
    Program,
    Region,
    Value,
    attributes,
)
from reference.ops.xla.composites import read_composites

_SHARDING = "mhlo.sharding"
_RETURNS = ("func.return", "stablehlo.return")


def parse_module(text: str) -> Program:
    """Return the program of a module's text.

    Values are named canonically within each function, in program order: arguments, also arguments
    of regions, `a0`, `a1`, ..., and results `0`, `1`, .... So programs that differ in names only
    are equal, and `parse_module(emit(parse_module(text)))` equals `parse_module(text)`.

    Raises:
        ParseError: the text is no valid program; the error has line, column and reason.
    """
    with reading_context() as context:
        if "!quant." in text:
            load_quantization(context)
        module = _read(text)
        grid = _grid(module)
        functions = tuple(_functions(module, grid))
        devices = device_count(module)
        shared = devices > 0 or is_annotated(text)
    if not functions:
        raise ParseError("the module holds no function")
    if shared and (grid is not None or devices > 1):
        count = devices if grid is None else grid[0] * grid[1]
        return read_composites(Program(functions, shared_among=count))
    return read_composites(Program(functions, grid))


def _grid(module: ir.Module) -> tuple[int, int] | None:
    """Return the numbers of replicas and partitions of a module; None for a single process."""
    given: Any = module.operation.attributes
    names = ("mhlo.num_replicas", "mhlo.num_partitions")
    replicas, partitions = (int(given[n].value) if n in given else 1 for n in names)
    return None if (replicas, partitions) == (1, 1) else (replicas, partitions)


def places(text: str) -> dict[tuple[str, str], str]:
    """Return the position of each operation with results, by function and first result's name.

    The names are as in `parse_module`; a position is a line, or the text of a location.

    Raises:
        ParseError: as `parse_module`.
    """
    return {value: place_of(location) for value, location in locations(text).items()}


def locations(text: str) -> dict[tuple[str, str], str]:
    """Return the locations of arguments and of operations with results, as MLIR spells them.

    The keys are function and name; an operation has the name of its first result.

    Raises:
        ParseError: as `parse_module`.
    """
    found: dict[tuple[str, str], str] = {}
    with reading_context() as context:
        if "!quant." in text:
            load_quantization(context)
        for view in _read(text).body.operations:
            if view.operation.name == "func.func":
                reader = _Reader({})
                name = reader.function(view.operation).name
                found |= {(name, value): at for value, at in (reader.locations or {}).items()}
    return found


def diagnose(text: str) -> str | None:
    """Return the message of MLIR's parser or verifier about a text; None if it is valid."""
    with reading_context() as context:
        if "!quant." in text:
            load_quantization(context)
        try:
            _read(text)
        except ParseError as error:
            return str(error)
    return None


def load_quantization(context: ir.Context) -> None:
    """Register the quantized types, which only reading a portable artifact does publicly."""
    empty = str(ir.Module.parse(""))
    artifact = stablehlo.serialize_portable_artifact_str(empty, stablehlo.get_minimum_version())
    stablehlo.deserialize_portable_artifact(context, artifact)


def _read(text: str) -> ir.Module:
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ParseError(f"line {line}: the text holds a NUL character")
    try:
        if may_be_fatal(text):
            for location, reason in fatal_operations(text):
                raise ParseError(_add_position(position(location), reason))
        return ir.Module.parse(text)
    except ir.MLIRError as error:
        found = error.error_diagnostics
        if not found:
            raise ParseError(str(error).partition("\n")[0]) from None
        message, at = found[0].message, position(str(found[0].location))
        foreign = foreign_name(message, text, at)
        if foreign:
            raise Unreadable(_add_position(at, foreign)) from None
        raise ParseError(_add_position(at, name_undefined_value(message, text, at))) from None


def _add_position(at: tuple[int, int] | None, message: str) -> str:
    return f"line {at[0]}, column {at[1]}: {message}" if at else message


def _functions(module: ir.Module, grid: tuple[int, int] | None) -> Iterator[Function]:
    for view in module.body.operations:
        operation = view.operation
        if operation.name == "func.func":
            reader = _Reader()
            function = reader.function(operation)
            if grid is not None:
                body = read_manual_computations(function.body, reader.shardings, prod(grid))
                function = replace(function, body=body)
            yield function
        elif not operation.name.startswith("sdy."):  # meshes only say where data lies
            raise refusal(operation, "only functions are read at the top of a module")


class _Reader:
    """Reader of one function, which names values in the order of reading."""

    def __init__(self, locations: dict[str, str] | None = None) -> None:
        """Create a reader; `locations`, if given, is filled with the locations of operations and
        arguments.
        """
        self.locations = locations
        self.shardings: dict[str, str] = {}
        """GSPMD's annotations of operations, by the name of the first result."""
        self._values: dict[Any, Value] = {}
        self._arguments = 0
        self._results = 0

    def function(self, operation: Any) -> Function:
        """Read a `func.func`."""
        name = str(operation.attributes["sym_name"].value)
        of = operation.attributes["function_type"].value
        if not len(operation.regions[0].blocks):
            reason = f"@{name} is declared and not defined; StableHLO's functions have bodies"
            raise refusal(operation, reason)
        results = tuple(value_type(result, operation) for result in of.results)
        return Function(name, self.region(operation.regions[0], operation), results)

    def region(self, region: ir.Region, owner: ir.Operation) -> Region:
        """Read a region, which is a single block."""
        blocks = list(region.blocks)
        if len(blocks) != 1:
            raise refusal(
                owner,
                f"branches among {len(blocks)} blocks (cf.br, cf.cond_br) are not read; StableHLO "
                "has if, case and while instead",
            )
        arguments = tuple(self._argument(value, owner) for value in blocks[0].arguments)
        operations = tuple(self.operation(view.operation) for view in blocks[0].operations)
        return Region(arguments, operations)

    def operation(self, operation: ir.Operation) -> Operation:
        """Read any operation; its results are numbered after the operations in its regions."""
        name = operation.name
        operands = tuple(self._values[value] for value in operation.operands)
        regions = tuple(self.region(region, operation) for region in operation.regions)
        results = tuple(self._result(value, operation) for value in operation.results)
        if self.locations is not None and results:
            self.locations[results[0].name] = str(operation.location)
        given: Any = operation.attributes
        if results and _SHARDING in given:
            self.shardings[results[0].name] = given[_SHARDING].value
        if name in _RETURNS:
            return Operation("return", operands)
        try:
            represented = represented_op(operation)
            if represented is not None:
                op, entries = represented
                return Operation(op, operands, results, attributes(**dict(entries)))
            own = attributes(**dict(own_attributes(operation)))
        except ValueError as error:
            raise refusal(operation, str(error)) from None
        made = Operation(op_name(name), operands, results, own, regions)
        return from_custom_call(made, parse_dense)

    def _argument(self, value: Any, owner: ir.Operation) -> Value:
        named = Value(f"a{self._arguments}", value_type(value.type, owner))
        self._arguments += 1
        self._values[value] = named
        if self.locations is not None:
            self.locations[named.name] = str(value.location)
        return named

    def _result(self, value: Any, owner: ir.Operation) -> Value:
        named = Value(str(self._results), value_type(value.type, owner))
        self._results += 1
        self._values[value] = named
        return named
