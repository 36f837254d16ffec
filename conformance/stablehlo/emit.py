"""Programs as StableHLO text, in MLIR's generic form: one rule for every op.

Source: MLIR language reference, "Operations"; StableHLO specification, "Programs".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from conformance.stablehlo.attributes import EmitError, float_literal, quote, tensor, write
from conformance.stablehlo.structs import grouped
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

__all__ = ["EmitError", "emit", "spell"]


def spell(of: ValueType) -> str:
    """A type as MLIR spells it."""
    if isinstance(of, TokenType):
        return "!stablehlo.token"
    if isinstance(of, TupleType):
        return f"tuple<{', '.join(map(spell, of.types))}>"
    if isinstance(of, FutureType):
        return f"!stablehlo.future<{', '.join(map(spell, of.types))}>"
    element = of.element_type
    return tensor(of, _quantized(element) if isinstance(element, QuantizedType) else element.mlir)


def _quantized(of: QuantizedType) -> str:
    low, high = of.storage_min, of.storage_max
    storage = of.storage_type.mlir.replace("ui", "u")
    if (low, high) != (of.storage_type.min_integer, of.storage_type.max_integer):
        storage += f"<{low}:{high}>"
    pairs = zip(of.scales, of.zero_points, strict=True)
    steps = [f"{float_literal(scale)}:{zero_point}" for scale, zero_point in pairs]
    if not steps:
        raise EmitError("MLIR has no spelling for a quantized type without scales")
    axis, step = "", steps[0]
    if of.quantization_dimension is not None:
        axis, step = f":{of.quantization_dimension}", "{" + ", ".join(steps) + "}"
    return f"!quant.uniform<{storage}:{of.expressed_type.mlir}{axis}, {step}>"


def emit(program: Program) -> str:
    """The program as the text of one module.

    Functions other than `main` are private; a program with one function has it public.

    Raises:
        EmitError: when something in it has no spelling.
    """
    lines = ['"builtin.module"() ({']
    main = program.main
    for function in program.functions:
        lines += _function(function, public=function is main)
    lines.append("}) : () -> ()")
    return "\n".join(lines) + "\n"


def _function(function: Function, *, public: bool) -> Iterator[str]:
    parameters = ", ".join(spell(a.type) for a in function.arguments)
    results = ", ".join(map(spell, function.result_types))
    private = "" if public else ', sym_visibility = "private"'
    kind = f"function_type = ({parameters}) -> ({results})"
    yield f'  "func.func"() <{{{kind}, sym_name = {quote(function.name)}{private}}}> ({{'
    yield from _region(function.body, "    ", "func.return")
    yield "  }) : () -> ()"


def _region(region: Region, indent: str, terminator: str) -> Iterator[str]:
    if region.arguments:
        arguments = ", ".join(f"%{a.name}: {spell(a.type)}" for a in region.arguments)
        yield f"{indent[2:]}^bb0({arguments}):"
    for operation in region.operations:
        name = operation.name if "." in operation.name else f"stablehlo.{operation.name}"
        yield from _operation(operation, terminator if operation.name == "return" else name, indent)


def _operation(operation: Operation, qualified: str, indent: str) -> Iterator[str]:
    head = f"{_names(operation.results)} = " if operation.results else ""
    head += f'"{qualified}"({_names(operation.operands)})'
    alone, structs = grouped(operation.name, operation.attributes)
    given = ", ".join([*(write(name, value) for name, value in alone), *structs])
    tail = f" {{{given}}}" if given else ""
    tail += f" : ({_types(operation.operands)}) -> {_returned(operation.results)}"
    if not operation.regions:
        yield indent + head + tail
        return
    yield f"{indent}{head} ({{"
    for number, region in enumerate(operation.regions):
        if number:
            yield f"{indent}}}, {{"
        yield from _region(region, indent + "  ", "stablehlo.return")
    yield f"{indent}}}){tail}"


def _names(values: Iterable[Value]) -> str:
    return ", ".join(f"%{value.name}" for value in values)


def _types(values: Iterable[Value]) -> str:
    return ", ".join(spell(value.type) for value in values)


def _returned(results: Sequence[Value]) -> str:
    return spell(results[0].type) if len(results) == 1 else f"({_types(results)})"
