"""Emission of programs as StableHLO text, in MLIR's generic form: one rule for every op.

Source: MLIR language reference, "Operations"; StableHLO specification, "Programs".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from conformance.stablehlo.attributes import (
    EmitError,
    enums_of_dialect,
    float_literal,
    quote,
    spell_attribute,
    spell_tensor,
)
from conformance.stablehlo.custom_calls import to_custom_call
from conformance.stablehlo.shardings import (
    remove_constraint,
    spell_manual_attributes,
    spell_meshes,
)
from conformance.stablehlo.structs import group_attributes
from reference.ir.constraints import ConstraintViolation
from reference.ir.op import Dialect, Structure
from reference.ir.program import (
    Function,
    FutureType,
    Operation,
    Program,
    QuantizedType,
    Region,
    TokenType,
    TupleType,
    Value,
    ValueType,
)
from reference.ops.structure import CONTROL_FLOW, structure_of
from reference.ops.xla.composites import write_composites
from reference.ops.xla.lowering import lower_program

__all__ = ["EmitError", "emit", "operations_in", "spell", "spell_operation"]

_HEAD = re.compile(r'( *)(?:%[^="]* = )?"([^"]+)"\(')
_CONTAINERS = ("builtin.module", "func.func")


def spell(value_type: ValueType) -> str:
    """Return the spelling of a type in MLIR."""
    if isinstance(value_type, TokenType):
        return "!stablehlo.token"
    if isinstance(value_type, TupleType):
        return f"tuple<{', '.join(map(spell, value_type.types))}>"
    if isinstance(value_type, FutureType):
        return f"!stablehlo.future<{', '.join(map(spell, value_type.types))}>"
    element = value_type.element_type
    return spell_tensor(
        value_type, _quantized_text(element) if isinstance(element, QuantizedType) else element.mlir
    )


def _quantized_text(quantized_type: QuantizedType) -> str:
    low, high = quantized_type.storage_min, quantized_type.storage_max
    storage = quantized_type.storage_type.mlir.replace("ui", "u")
    if (low, high) != (
        quantized_type.storage_type.min_integer,
        quantized_type.storage_type.max_integer,
    ):
        storage += f"<{low}:{high}>"
    pairs = zip(quantized_type.scales, quantized_type.zero_points, strict=True)
    steps = [f"{float_literal(scale)}:{zero_point}" for scale, zero_point in pairs]
    if not steps:
        raise EmitError("MLIR has no spelling for a quantized type without scales")
    axis, step = "", steps[0]
    if quantized_type.quantization_dimension is not None:
        axis, step = f":{quantized_type.quantization_dimension}", "{" + ", ".join(steps) + "}"
    return f"!quant.uniform<{storage}:{quantized_type.expressed_type.mlir}{axis}, {step}>"


def emit(program: Program) -> str:
    """Return the program as the text of a module.

    Functions other than `main` are private; the function of a single-function program is public.
    Ops of XlaBuilder are written as their lowerings, or as composites; ops of CHLO as they are.

    Raises:
        EmitError: a part of the program has no spelling.
    """
    try:
        program = write_composites(lower_program(program, keeps=Dialect.CHLO))
    except ConstraintViolation as violation:
        raise EmitError(str(violation)) from None
    meshes, main = spell_meshes(program), program.main
    grid = (1, program.shared_among) if meshes else program.process_grid
    lines = ['"builtin.module"() ({', *(f"  {mesh}" for mesh in meshes)]
    _, partitions = program.process_grid or (1, 1)
    placed = _MANUAL if partitions > 1 else ""
    for function in program.functions:
        lines += _function(function, placed, public=function is main)
    lines.append(f"}}){_grid(grid)} : () -> ()")
    return "\n".join(lines) + "\n"


def spell_operation(operation: Operation) -> str:
    """Return an operation with its regions as MLIR's generic form, "" where it has no spelling.

    An op of XlaBuilder is spelled as `emit` writes it: as its lowering, or as a composite without
    its decomposition.
    """
    alone = Program((Function("main", Region((), (operation,)), ()),))
    try:
        written = write_composites(lower_program(alone, keeps=Dialect.CHLO)).main.body
        return "\n".join(_region(written, "", "func.return", ""))
    except (EmitError, ConstraintViolation):
        return ""


def operations_in(text: str) -> Iterator[str]:
    """Yield each operation of a text that `emit` wrote, with its regions.

    Operations within regions are yielded, too.
    """
    lines = text.splitlines()
    for index, line in enumerate(lines):
        head = _HEAD.match(line)
        if head is None or head[2] in _CONTAINERS:
            continue
        last = index
        if line.endswith("({"):
            ends = (n for n in range(index, len(lines)) if lines[n].startswith(f"{head[1]}}})"))
            last = next(ends, index)
        yield "\n".join(lines[index : last + 1])


def _grid(grid: tuple[int, int] | None) -> str:
    """Return the module attributes that give the numbers of replicas and partitions."""
    if grid is None:
        return ""
    replicas, partitions = grid
    return f" {{mhlo.num_partitions = {partitions} : i32, mhlo.num_replicas = {replicas} : i32}}"


_MANUAL = 'mhlo.sharding = "{manual}"'
"""The annotation of a value that each partition has for itself, so that no compiler shards it."""


def _function(function: Function, placed: str, *, public: bool) -> Iterator[str]:
    parameters = ", ".join(spell(a.type) for a in function.arguments)
    results = ", ".join(map(spell, function.result_types))
    given = [f"function_type = ({parameters}) -> ({results})"]
    if placed:
        given += [
            f"{name} = [{', '.join([f'{{{placed}}}'] * count)}]"
            for name, count in (
                ("arg_attrs", len(function.arguments)),
                ("res_attrs", len(function.result_types)),
            )
        ]
    given.append(f"sym_name = {quote(function.name)}")
    if not public:
        given.append('sym_visibility = "private"')
    yield f'  "func.func"() <{{{", ".join(given)}}}> ({{'
    yield from _region(function.body, "    ", "func.return", placed)
    yield "  }) : () -> ()"


def _region(region: Region, indent: str, terminator: str, placed: str) -> Iterator[str]:
    if region.arguments:
        arguments = ", ".join(f"%{a.name}: {spell(a.type)}" for a in region.arguments)
        yield f"{indent[2:]}^bb0({arguments}):"
    for operation in map(remove_constraint, map(to_custom_call, region.operations)):
        name = operation.name if "." in operation.name else f"stablehlo.{operation.name}"
        if operation.name == "return":
            yield from _operation(operation, terminator, indent, "")
        else:
            yield from _operation(operation, name, indent, placed)


def _operation(operation: Operation, qualified: str, indent: str, placed: str) -> Iterator[str]:
    head = f"{_spell_names(operation.results)} = " if operation.results else ""
    head += f'"{qualified}"({_spell_names(operation.operands)})'
    texts = list(_spell_attributes(operation))
    own_place = placed if len(operation.results) < 2 else ""  # no attribute speaks of XLA's tuples
    given = ", ".join(filter(None, [*texts, own_place]))
    tail = f" {{{given}}}" if given else ""
    tail += f" : ({_types(operation.operands)}) -> {_spell_result_types(operation.results)}"
    if not operation.regions:
        yield indent + head + tail
        return
    yield f"{indent}{head} ({{"
    for index, region in enumerate(operation.regions):
        if index:
            yield f"{indent}}}, {{"
        inside = placed if operation.name in CONTROL_FLOW else ""
        yield from _region(region, indent + "  ", "stablehlo.return", inside)
    yield f"{indent}}}){tail}"


def _spell_attributes(operation: Operation) -> Iterator[str]:
    if structure_of(operation) is Structure.SHARDS:
        yield from spell_manual_attributes(operation)
        return
    alone, structs = group_attributes(operation.name, operation.attributes)
    for name, value in alone:
        yield enums_of_dialect(operation.name, spell_attribute(name, value))
    yield from structs


def _spell_names(values: Iterable[Value]) -> str:
    return ", ".join(f"%{value.name}" for value in values)


def _types(values: Iterable[Value]) -> str:
    return ", ".join(spell(value.type) for value in values)


def _spell_result_types(results: Sequence[Value]) -> str:
    return spell(results[0].type) if len(results) == 1 else f"({_types(results)})"
