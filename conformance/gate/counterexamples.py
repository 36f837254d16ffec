"""Counterexamples of expectations: their programs parsed, their inputs read and written.

An input is written as MLIR writes the elements of a constant, without `dense<>`: `1.5`, `[1, 2]`,
`[[(0.0, -0.0)]]`, nothing for a tensor without elements. Its type is the parameter's type. A single
number applies to all elements. Bits are written in hexadecimal (`0x7FC00001`). Also accepted are
`nan`, `inf` and `-inf`, and `[-1.0 x 4095, nan]`, which repeats an element.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from conformance.stablehlo.attributes import element_texts
from reference.ir.program import Dense, Program, TensorType
from reference.ir.types import Array, ElementType, element_type_of, to_bits

FEW = 3
"""Number of equal consecutive elements above which they are written as a repetition."""

_WORD = re.compile(r"-?\b(?:inf|nan)\b")
_TIMES = re.compile(r"\s+x\s+(\d+)\b")


def parse_inputs(program: Program, inputs: Sequence[str]) -> tuple[Array, ...]:
    """Return the arguments of a program's main from the texts of an expectation file.

    For a program of several processes, the arguments of each process follow in order.

    Raises:
        ValueError: if they do not fit the program.
    """
    parameters = program.main.arguments * program.process_count
    if len(parameters) != len(inputs):
        raise ValueError(f"its program takes {len(parameters)} inputs, and {len(inputs)} are given")
    return tuple(
        _array(index, text, parameter.type)
        for index, (text, parameter) in enumerate(zip(inputs, parameters, strict=True))
    )


def _array(number: int, text: str, type_: object) -> Array:
    from conformance.stablehlo.emit import spell
    from conformance.stablehlo.parse import ParseError, parse_module

    if not isinstance(type_, TensorType):
        raise ValueError(f"parameter {number} is not a tensor")
    element = type_.stored
    plain = TensorType(type_.static_shape, element)
    spelled, body = spell(plain), expand_elements(text, element)
    try:
        module = parse_module(
            f"func.func @main() -> {spelled} {{\n"
            f"%0 = stablehlo.constant dense<{body}> : {spelled}\nreturn %0 : {spelled}\n}}"
        )
    except ParseError as error:
        reason = re.sub(r"^line \d+, column \d+: ", "", str(error))
        raise ValueError(f"input {number}, {text!r}, is not a {spelled}: {reason}") from None
    constant = module.main.body.operations[0].attribute("value")
    assert isinstance(constant, Dense)
    return constant.array


def expand_elements(text: str, element: ElementType) -> str:
    """Return the elements as MLIR reads them: infinities and NaN as bits, repetitions expanded.

    Raises:
        ValueError: for an infinity or NaN that the element type does not have.
    """
    part = element.part

    def bits(found: re.Match[str]) -> str:
        number = np.array(float(found[0]) if part.is_float else 0.0)
        array = number.astype(part.storage)
        if not part.is_float or not np.array_equal(array.astype(float), number, equal_nan=True):
            raise ValueError(f"{element} has no {found[0]}")
        return f"0x{int(to_bits(array)):0{-(-part.bits // 4)}X}"

    text = _WORD.sub(bits, text)
    while found := _TIMES.search(text):
        start = _start(text, found.start())
        item = text[start : found.start()]
        text = text[:start] + ", ".join([item] * int(found[1])) + text[found.end() :]
    return text


def _start(text: str, end: int) -> int:
    """Return the start of the element or list that ends before `end`."""
    depth = 0
    for at in range(end - 1, -1, -1):
        depth += (text[at] in ")]") - (text[at] in "([")
        if depth < 0 or (depth == 0 and text[at] == ","):
            return end - len(text[at + 1 : end].lstrip())
    return 0


def input_text(array: Array) -> str:
    """Return an input as text that `parse_inputs` reads, exact in every bit."""
    element = element_type_of(array)
    texts = element_texts(array, element)
    if len(texts) > 1 and len(set(texts)) == 1:
        return texts[0]
    return _spell_nested(texts, array.shape) if texts else ""


def _spell_nested(texts: Sequence[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return texts[0]
    step = len(texts) // shape[0]
    rows = [_spell_nested(texts[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
    parts: list[str] = []
    for row, same in groupby(rows):
        count = len(list(same))
        parts += [row] * count if count <= FEW else [f"{row} x {count}"]
    return "[" + ", ".join(parts) + "]"
