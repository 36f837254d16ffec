"""StableHLO text as a program: MLIR parses and verifies it, this module walks what MLIR read.

Source: MLIR language reference; StableHLO specification, "Programs". Both the pretty and the
generic form are read. What has no bearing on what a program computes is dropped: locations,
attributes of other dialects (sharding and the like), visibility.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from conformance.stablehlo.attributes import KINDS, AttributeKind, Verbatim
from conformance.stablehlo.configurations import CONFIGURATIONS, configuration
from conformance.stablehlo.custom_calls import from_call
from conformance.stablehlo.elements import array_of
from conformance.stablehlo.messages import foreign_name, place_of, position
from conformance.stablehlo.shardings import MANUAL, is_shared_out, manual, replica_groups
from conformance.stablehlo.structs import Struct, flat, struct_of
from reference.ir.accuracy import MODES, ResultAccuracy
from reference.ir.op import Structure
from reference.ir.program import (
    Attribute,
    Dense,
    Function,
    FutureType,
    Operation,
    Program,
    QuantizedType,
    Region,
    TensorType,
    TokenType,
    TupleType,
    Value,
    ValueType,
    attributes,
)
from reference.ir.types import ELEMENT_TYPES, ElementType, from_mlir
from reference.ops.table import OPS

_CONSTANTS = ("arith.constant", "stablehlo.constant")
_INHERENT = frozenset({"layout", "operand_layouts", "result_accuracy", "result_layouts"})
"""Attributes that ops of the dialect have and the specification does not."""

_RETURNS = ("func.return", "stablehlo.return")
_NOTHING_ASKED = re.compile(r"#(?:stablehlo|mhlo)\.result_accuracy<mode = .*<DEFAULT>>")
_QUANTIZED = re.compile(
    r"!quant\.uniform<(?P<storage>[iu]\d+)(?:<(?P<low>-?\d+):(?P<high>-?\d+)>)?"
    r":(?P<expressed>\w+)(?::(?P<axis>\d+))?, \{?(?P<steps>[^{}]*?)\}?>"
)
_FUTURE = "!stablehlo.future<"


class ParseError(ValueError):
    """A text is no valid module, or holds what programs cannot: one line, with where."""


class Unreadable(ParseError):
    """A valid module that holds what programs cannot."""


def parse_module(text: str) -> Program:
    """The program that a module's text says.

    Values are named canonically, within each function: arguments `a0`, `a1`, ..., those of regions
    included, and results `0`, `1`, ..., in program order. So programs that differ in names only
    are equal, and `parse_module(emit(parse_module(text)))` gives what `parse_module(text)` does.

    Raises:
        ParseError: with line, column and reason.
    """
    with make_ir_context() as context:
        if "!quant." in text:
            load_quantization(context)
        module = _read(text)
        functions, grid = tuple(_functions(module)), _grid(module)
        shared = is_shared_out(module)
    if not functions:
        raise ParseError("the module holds no function")
    if shared and grid is not None:
        return Program(functions, shared_among=grid[0] * grid[1])
    return Program(functions, grid)


def _grid(module: ir.Module) -> tuple[int, int] | None:
    """How many replicas and partitions a module says it has; None of one process."""
    given: Any = module.operation.attributes
    names = ("mhlo.num_replicas", "mhlo.num_partitions")
    replicas, partitions = (int(given[n].value) if n in given else 1 for n in names)
    return None if (replicas, partitions) == (1, 1) else (replicas, partitions)


def places(text: str) -> dict[tuple[str, str], str]:
    """Where each operation stands that has results: by function and first result's name.

    The names are those that `parse_module` gives; a place is a line, or what a location says.

    Raises:
        ParseError: as `parse_module`.
    """
    return {value: place_of(location) for value, location in locations(text).items()}


def locations(text: str) -> dict[tuple[str, str], str]:
    """The locations, as MLIR spells them, of operations that have results and of arguments.

    By function and name, an operation by that of its first result.

    Raises:
        ParseError: as `parse_module`.
    """
    found: dict[tuple[str, str], str] = {}
    with make_ir_context() as context:
        if "!quant." in text:
            load_quantization(context)
        for view in _read(text).body.operations:
            if view.operation.name == "func.func":
                reader = _Reader({})
                name = reader.function(view.operation).name
                found |= {(name, value): at for value, at in (reader.locations or {}).items()}
    return found


def diagnose(text: str) -> str | None:
    """What MLIR's parser or an op's verifier holds against a text; None when it is valid."""
    with make_ir_context() as context:
        if "!quant." in text:
            load_quantization(context)
        try:
            _read(text)
        except ParseError as error:
            return str(error)
    return None


def load_quantization(context: ir.Context) -> None:
    """Make the quantized types known; reading a portable artifact does, nothing public else."""
    empty = str(ir.Module.parse(""))
    artifact = stablehlo.serialize_portable_artifact_str(empty, stablehlo.get_minimum_version())
    stablehlo.deserialize_portable_artifact(context, artifact)


def _read(text: str) -> ir.Module:
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ParseError(f"line {line}: the text holds a NUL character")
    try:
        return ir.Module.parse(text)
    except ir.MLIRError as error:
        found = error.error_diagnostics
        if not found:
            raise ParseError(str(error).partition("\n")[0]) from None
        message, at = found[0].message, position(str(found[0].location))
        place = f"line {at[0]}, column {at[1]}: " if at else ""
        foreign = foreign_name(message, text, at)
        if foreign:
            raise Unreadable(f"{place}{foreign}") from None
        raise ParseError(place + message.partition("\n")[0]) from None


def _at(operation: Any, reason: str) -> Unreadable:
    place = place_of(str(operation.location))
    return Unreadable(f"{place}: {operation.name}: {reason}" if place else reason)


def _functions(module: ir.Module) -> Iterator[Function]:
    for view in module.body.operations:
        operation = view.operation
        if operation.name == "func.func":
            yield _Reader().function(operation)
        elif not operation.name.startswith("sdy."):  # meshes only say where data lies
            raise _at(operation, "only functions are read at the top of a module")


class _Reader:
    """Reads one function, naming its values as they come."""

    def __init__(self, locations: dict[str, str] | None = None) -> None:
        """`locations`, where given, is filled with those of operations and arguments."""
        self.locations = locations
        self._values: dict[Any, Value] = {}
        self._arguments = 0
        self._results = 0

    def function(self, operation: Any) -> Function:
        """A `func.func`."""
        name = str(operation.attributes["sym_name"].value)
        of = operation.attributes["function_type"].value
        if not len(operation.regions[0].blocks):
            raise _at(operation, f"function @{name} has no body")
        results = tuple(_type(result, operation) for result in of.results)
        return Function(name, self.region(operation.regions[0], operation), results)

    def region(self, region: ir.Region, owner: ir.Operation) -> Region:
        """A region, which is one block."""
        blocks = list(region.blocks)
        if len(blocks) != 1:
            raise _at(owner, f"a region of {len(blocks)} blocks is not structured control flow")
        arguments = tuple(self._argument(value, owner) for value in blocks[0].arguments)
        operations = tuple(self.operation(view.operation) for view in blocks[0].operations)
        return Region(arguments, operations)

    def operation(self, operation: ir.Operation) -> Operation:
        """Any operation: results are numbered after the operations inside it."""
        name = operation.name
        operands = tuple(self._values[value] for value in operation.operands)
        regions = tuple(self.region(region, operation) for region in operation.regions)
        results = tuple(self._result(value, operation) for value in operation.results)
        if self.locations is not None and results:
            self.locations[results[0].name] = str(operation.location)
        if name in _RETURNS:
            return Operation("return", operands)
        try:
            given = attributes(**dict(_attributes(operation)))
        except ValueError as error:
            raise _at(operation, str(error)) from None
        if name in _CONSTANTS:
            return Operation("constant", results=results, attributes=given)
        made = Operation(name.removeprefix("stablehlo."), operands, results, given, regions)
        return from_call(made, _spelled_dense)

    def _argument(self, value: Any, owner: ir.Operation) -> Value:
        named = Value(f"a{self._arguments}", _type(value.type, owner))
        self._arguments += 1
        self._values[value] = named
        if self.locations is not None:
            self.locations[named.name] = str(value.location)
        return named

    def _result(self, value: Any, owner: ir.Operation) -> Value:
        named = Value(str(self._results), _type(value.type, owner))
        self._results += 1
        self._values[value] = named
        return named


def _type(mlir_type: ir.Type, owner: ir.Operation) -> ValueType:
    spelled = str(mlir_type)
    if spelled == "!stablehlo.token":
        return TokenType()
    if spelled.startswith("tuple<"):
        parts = ir.TupleType(mlir_type)
        return TupleType(tuple(_type(parts.get_type(i), owner) for i in range(parts.num_types)))
    if spelled.startswith(_FUTURE):
        return _future(spelled, owner)
    if not isinstance(mlir_type, ir.RankedTensorType):
        raise _at(owner, f"values of type {spelled} are not read")
    sizes = (
        None if mlir_type.is_dynamic_dim(i) else mlir_type.get_dim_size(i)
        for i in range(mlir_type.rank)
    )
    element = _element(str(mlir_type.element_type), owner)
    return TensorType(tuple(sizes), element, _bounds(mlir_type, owner))


def _bounds(mlir_type: ir.RankedTensorType, owner: ir.Operation) -> tuple[int | None, ...]:
    """What the sizes of a tensor may be at most, as its encoding says; empty where it has none."""
    encoding: Any = mlir_type.encoding
    if encoding is None:
        return ()
    if not stablehlo.TypeExtensions.isinstance(encoding):
        raise _at(owner, f"tensor encodings are not read: {mlir_type}")
    return tuple(
        size if mlir_type.is_dynamic_dim(d) else None
        for d, size in enumerate(stablehlo.TypeExtensions(encoding).bounds)
    )


def _future(spelled: str, owner: ir.Operation) -> FutureType:
    """A future; jaxlib has no view of its types, which are read from the text as a function's."""
    inside = spelled.removeprefix(_FUTURE).removesuffix(">")
    of = ir.FunctionType(ir.Type.parse(f"({inside}) -> ()"))
    return FutureType(tuple(_type(one, owner) for one in of.inputs))


def _element(spelled: str, owner: ir.Operation) -> ElementType | QuantizedType:
    if spelled.startswith("!quant."):
        return _quantized(spelled, owner)
    try:
        return from_mlir(spelled)
    except KeyError:
        raise _at(owner, f"the specification has no element type {spelled}") from None


def _quantized(spelled: str, owner: ir.Operation) -> QuantizedType:
    found = _QUANTIZED.fullmatch(spelled)
    if found is None and ":{" in spelled:
        raise _at(owner, f"the specification has no sub-channel quantization: {spelled}")
    if found is None:
        raise _at(owner, f"quantized type {spelled} is not read")
    storage = from_mlir(found["storage"].replace("u", "ui"))
    steps = [step.strip().partition(":") for step in found["steps"].split(",")]
    return QuantizedType(
        storage,
        storage.min_integer if found["low"] is None else int(found["low"]),
        storage.max_integer if found["high"] is None else int(found["high"]),
        from_mlir(found["expressed"]),
        tuple(float(scale) for scale, _, _ in steps),
        tuple(int(zero or "0") for _, _, zero in steps),
        None if found["axis"] is None else int(found["axis"]),
    )


def _attributes(operation: ir.Operation) -> Iterator[tuple[str, Attribute]]:
    """The attributes of the op's own dialect, sorted out by the table of kinds."""
    if operation.name == MANUAL:
        yield from manual(operation).items()
        return
    for name in operation.attributes:
        configures = name in CONFIGURATIONS and operation.name == "stablehlo.custom_call"
        if not configures and ("." in name or _is_discardable(operation.name, name)):
            continue
        if name == "value" and operation.name in _CONSTANTS:
            yield name, _constant(operation)
            continue
        attribute = operation.attributes[name]
        struct = struct_of(operation.name.removeprefix("stablehlo."), name)
        if struct is not None:
            yield from _of_struct(struct, attribute, operation)
            continue
        spelled = str(attribute)
        groups = replica_groups(operation, spelled) if name == "replica_groups" else None
        if groups is not None:
            yield name, groups
            continue
        if name == "result_accuracy" and _NOTHING_ASKED.fullmatch(spelled):
            continue
        value = _read_as(KINDS[name], attribute, operation) if name in KINDS else None
        yield name, Verbatim(spelled) if value is None else value


def _is_discardable(op: str, attribute: str) -> bool:
    """Whether no meaning of an op of StableHLO hangs on an attribute, as it has none of that name.

    A custom call may have any.
    """
    op = "constant" if op in _CONSTANTS else op.removeprefix("stablehlo.")
    if op not in OPS or attribute in _INHERENT:
        return False
    if OPS[op].structure is Structure.CALLS_TARGET:
        return False
    return attribute not in OPS[op].attributes and struct_of(op, attribute) is None


def _of_struct(
    struct: Struct, attribute: Any, operation: ir.Operation
) -> Iterator[tuple[str, Attribute]]:
    """A struct's fields; an empty one that the op does not have in the specification is none."""
    known = OPS.get(operation.name.removeprefix("stablehlo."))
    for name, value in flat(struct, attribute):
        if known is not None and name in known.metadata:
            continue
        if value != () or known is None or name in known.attributes:
            yield name, value


def _read_as(kind: AttributeKind, attribute: Any, owner: ir.Operation) -> Attribute | None:
    """The attribute's value when it is of this kind, else None."""
    if kind.name == "dense":
        found = isinstance(attribute, ir.DenseElementsAttr)
        return _dense(attribute, _type(attribute.type, owner)) if found else None
    return _READ[kind.name](attribute, kind)


def _number(attribute: Any, kind: AttributeKind) -> int | None:
    found = isinstance(attribute, ir.IntegerAttr) and str(attribute.type) == kind.name
    return int(attribute.value) if found else None


def _float(attribute: Any, _: AttributeKind) -> float | None:
    found = isinstance(attribute, ir.FloatAttr) and str(attribute.type) == "f32"
    return float(attribute.value) if found else None


def _bool(attribute: Any, _: AttributeKind) -> bool | None:
    return bool(attribute.value) if isinstance(attribute, ir.BoolAttr) else None


def _string(attribute: Any, _: AttributeKind) -> str | None:
    return str(attribute.value) if isinstance(attribute, ir.StringAttr) else None


def _symbol(attribute: Any, _: AttributeKind) -> str | None:
    return str(attribute.value) if isinstance(attribute, ir.FlatSymbolRefAttr) else None


_ASKED = {
    "atol": re.compile(r"atol = ([^,>]+)"),
    "rtol": re.compile(r"rtol = ([^,>]+)"),
    "ulps": re.compile(r"ulps = (\d+)"),
    "mode": re.compile(r"mode = [^>]*?\b([A-Z]+)>"),
}


def _accuracy(attribute: Any, _: AttributeKind) -> ResultAccuracy | None:
    """What is not written is nothing; the attribute has no class of its own in jaxlib."""
    said = {name: found[1] for name, one in _ASKED.items() if (found := one.search(str(attribute)))}
    if said.get("mode") not in MODES:
        return None
    return ResultAccuracy(
        said["mode"], float(said.get("atol", 0)), float(said.get("rtol", 0)),
        int(said.get("ulps", 0)),
    )  # fmt: skip


def _i64_array(attribute: Any, _: AttributeKind) -> tuple[int, ...] | None:
    return tuple(attribute) if isinstance(attribute, ir.DenseI64ArrayAttr) else None


def _i32_array(attribute: Any, _: AttributeKind) -> tuple[int, ...] | None:
    return tuple(attribute) if isinstance(attribute, ir.DenseI32ArrayAttr) else None


def _bool_array(attribute: Any, _: AttributeKind) -> tuple[bool, ...] | None:
    found = isinstance(attribute, ir.DenseBoolArrayAttr)
    return tuple(bool(one) for one in attribute) if found else None


def _enum(attribute: Any, kind: AttributeKind) -> str | None:
    found = re.fullmatch(rf"#(?:stablehlo|chlo|mhlo)<{kind.keyword} (\w+)>", str(attribute))
    return found[1] if found else None


def _each(
    read: Callable[[Any, AttributeKind], Attribute | None],
) -> Callable[[Any, AttributeKind], tuple[Attribute, ...] | None]:
    def all_of(attribute: Any, kind: AttributeKind) -> tuple[Attribute, ...] | None:
        if not isinstance(attribute, ir.ArrayAttr):
            return None
        values = [read(one, kind) for one in attribute]
        kept = tuple(value for value in values if value is not None)
        return kept if len(kept) == len(values) else None

    return all_of


def _dictionary(attribute: Any, _: AttributeKind) -> tuple[Attribute, ...] | None:
    if not isinstance(attribute, ir.DictAttr):
        return None
    pairs: list[tuple[str, bool | int | str]] = []
    for entry in attribute:
        found = entry.attr
        if isinstance(found, ir.BoolAttr | ir.StringAttr):
            pairs.append((str(entry.name), found.value))
        elif isinstance(found, ir.IntegerAttr) and str(found.type) == "i64":
            pairs.append((str(entry.name), int(found.value)))
        else:
            return None
    return tuple(pairs)


_READ: dict[str, Callable[[Any, AttributeKind], Attribute | None]] = {
    "i64": _number,
    "i32": _number,
    "float": _float,
    "bool": _bool,
    "unit": lambda attribute, _: True if isinstance(attribute, ir.UnitAttr) else None,
    "string": _string,
    "symbol": _symbol,
    "symbols": _each(_symbol),
    "accuracy": _accuracy,
    "i64_array": _i64_array,
    "i32_array": _i32_array,
    "bool_array": _bool_array,
    "configuration": lambda attribute, _: configuration(attribute),
    "dictionary": _dictionary,
    "enum": _enum,
    "enums": _each(_enum),
}
"""What reads an attribute of each kind of `stablehlo.attributes`; None when it is another."""


def _constant(operation: ir.Operation) -> Dense:
    """The value of a `constant`.

    jaxlib has no class for dense attributes of complex elements: those are read from the text of
    the operation, which holds them exactly.
    """
    of = _type(operation.results[0].type, operation)
    if not isinstance(of, TensorType):
        raise _at(operation, f"constants of type {operation.results[0].type} are not read")
    if isinstance(of.element_type, QuantizedType):
        return _codes(operation, of)
    attribute: Any = None if of.element.is_complex else operation.attributes["value"]
    if attribute is None:
        spelled = str(operation.get_asm(print_generic_op_form=True))
    else:
        spelled = "" if isinstance(attribute, ir.DenseElementsAttr) else str(attribute)
    value = _dense(attribute, of, spelled)
    if value is None:
        raise _at(operation, f"constants of this kind are not read: {spelled[:40]}")
    return value


def _codes(operation: ir.Operation, tensor_type: TensorType) -> Dense:
    """The value of a `constant` of quantized type: MLIR has its codes as integers without sign."""
    attribute = operation.attributes["value"]
    integers = TensorType(tensor_type.shape, ELEMENT_TYPES[f"si{tensor_type.stored.bits}"])
    value = _dense(attribute, integers, str(attribute))
    if value is None:
        raise _at(operation, f"constants of this kind are not read: {str(attribute)[:40]}")
    return Dense(tensor_type, value.data)


def _spelled_dense(spelled: str) -> Dense | None:
    """The constant that a text spells; None of any other text."""
    try:
        attribute = ir.Attribute.parse(spelled)
    except ir.MLIRError:
        return None
    if not isinstance(attribute, ir.DenseElementsAttr):
        return None
    of = ir.RankedTensorType(attribute.type)
    return _dense(attribute, TensorType(tuple(of.shape), from_mlir(str(of.element_type))), spelled)


def _dense(attribute: Any, value_type: ValueType, spelled: str = "") -> Dense | None:
    if not isinstance(value_type, TensorType):
        return None
    array = array_of(attribute, value_type, spelled)
    return None if array is None else Dense.of(array, value_type)
