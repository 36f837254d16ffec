"""Programs in MLIR's pretty form, as people write and read StableHLO. Loads jaxlib."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from jaxlib.mlir import ir

from conformance.stablehlo.context import reading_context
from conformance.stablehlo.parse import load_quantization

_ARGUMENTS = re.compile(r"^\s*\^bb\d+\((?P<arguments>.*)\):$")
_RESULTS = re.compile(r'^\s*(?P<results>%[\w#$.-]+(?:, %[\w#$.-]+)*) = "')
_NAME = re.compile(r"%([A-Za-z_][\w$.-]*)")
_MODULE = re.compile(r"\Amodule \{\n(?P<body>.*)\}\n\s*\Z", re.DOTALL)


def print_pretty(texts: Sequence[str]) -> list[str]:
    """Convert modules from the generic form that `emit` writes to the pretty form.

    Values keep their names. A text is returned unchanged if MLIR refuses it, as for near misses, or
    cannot read its own pretty form (a dynamic_slice of a scalar has none).
    """
    with reading_context() as context:
        if any("!quant." in text for text in texts):
            load_quantization(context)
        return [_pretty_text(text) for text in texts]


def _pretty_text(text: str) -> str:
    try:
        module = ir.Module.parse(text)
        _keep_names(module, text)
        shown = str(module.operation.get_asm(use_name_loc_as_prefix=True))
        ir.Module.parse(shown)
    except ir.MLIRError:
        return text
    whole = _MODULE.match(shown)
    if whole is None:  # a module with a name or attributes of its own
        return shown
    return re.sub(r"^  ", "", whole["body"], flags=re.MULTILINE)


def _keep_names(module: ir.Module, text: str) -> None:
    """Set the values' names from the text, which MLIR drops when it reads the text.

    Names stand in the text in the order in which the module is walked.
    """
    values, names = list(_iterate_named(module.operation)), list(_printed_names(text))
    if len(values) != len(names):
        return
    for value, name in zip(values, names, strict=True):
        if not name or value is None:
            continue
        if isinstance(value, ir.BlockArgument):
            if not hasattr(value, "set_location"):  # before jaxlib 0.9
                return
            value.set_location(ir.Location.name(name))
        else:
            value.location = ir.Location.name(name)


def _iterate_named(operation: ir.Operation) -> Iterator[Any]:
    """Yield jaxlib's block arguments and operations with results, in the order of the text.

    Yield None for the arguments of a while, whose regions are both printed with the same names.
    """
    for region in operation.regions:
        for block in region.blocks:
            if operation.name == "stablehlo.while":
                yield from (None for _ in block.arguments)
            else:
                yield from block.arguments
            for view in block.operations:
                if len(view.operation.results):
                    yield view.operation
                yield from _iterate_named(view.operation)


def _printed_names(text: str) -> Iterator[str]:
    """Return the name of each argument, and the common name of each operation's results; "" for
    numbers.
    """
    for line in text.splitlines():
        arguments = _ARGUMENTS.match(line)
        if arguments:
            for name in re.findall(r"%[\w#$.-]+(?=:)", arguments["arguments"]):
                yield _plain_name(name)
            continue
        results = _RESULTS.match(line)
        if results:
            first, *others = results["results"].split(", ")
            yield _plain_name(first.rstrip("0123456789") if others else first)


def _plain_name(name: str) -> str:
    known = _NAME.fullmatch(name)
    return known[1] if known else ""
