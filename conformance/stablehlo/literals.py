"""Literals of older MLIR: hexadecimal booleans packed eight to a byte.

Until 2025 MLIR wrote the bits of `dense<"0x..."> : tensor<...xi1>` packed, lowest bit first; since
then it writes a byte for each boolean, and refuses the older form.

Source: LLVM, mlir/lib/AsmParser/AttributeParser.cpp, before and after the change; StableHLO's test
programs, which have been written in both forms.
"""

from __future__ import annotations

import re
from math import prod

import numpy as np

from conformance.stablehlo.attributes import element_texts, spell_nested
from reference.ir.types import BOOLEAN

_BOOLEANS = re.compile(r'dense<"0x([0-9A-Fa-f]+)">(\s*:\s*tensor<((?:\d+x)+)i1>)')


def unpack_booleans(text: str) -> str:
    """Return the text with packed booleans as lists; any other text unchanged."""
    return _BOOLEANS.sub(_unpack_literal, text) if 'dense<"0x' in text and "i1>" in text else text


def _unpack_literal(match: re.Match[str]) -> str:
    digits, of, sizes = match.groups()
    count = prod(int(size) for size in sizes[:-1].split("x"))
    packed = len(digits) == 2 * ((count + 7) // 8)
    if count <= 8 or not packed:  # one byte is what all elements are
        return match[0]
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(digits), np.uint8), bitorder="little")
    shape = tuple(map(int, sizes[:-1].split("x")))
    return f"dense<{spell_nested(element_texts(bits[:count], BOOLEAN[0]), shape)}>{of}"
