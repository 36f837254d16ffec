"""Running programs of control flow given as text."""

from typing import Any

import numpy as np

from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array


def si32(value: Any) -> Array:
    return np.asarray(value, np.int32)


def run(text: str, *inputs: Array, **given: Any) -> list[Any]:
    return [result.tolist() for result in evaluate(parse_module(text), inputs, **given)]
