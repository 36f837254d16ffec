"""Operations as MLIR has read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jaxlib.mlir import ir

from conformance.stablehlo.context import reading_context
from conformance.stablehlo.parse import load_quantization


@contextmanager
def read_operations(text: str) -> Iterator[list[Any]]:
    """Give the operations of a module's first function; its context is active in the block."""
    with reading_context() as context:
        load_quantization(context)
        module = ir.Module.parse(text)
        function = next(
            view.operation for view in module.body.operations if len(view.operation.regions)
        )
        yield [view.operation for view in function.regions[0].blocks[0].operations]
