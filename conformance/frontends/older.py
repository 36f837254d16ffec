"""Text of older versions rewritten in the current spelling; MHLO converted to StableHLO.

Attributes that are lists of integers were dense tensors until 2024 (StableHLO 0.17), and enums were
quoted until 2022. Portable artifacts need none of this: jaxlib upgrades them as it reads them.

Source: StableHLO, the changes of its operations' definitions (openxla/stablehlo#1658, #1872, #1887,
#1952); jaxlib's conversion from MHLO.
"""

from __future__ import annotations

import re
from math import prod

import jaxlib._jax as private
import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

from conformance.frontends.dialects import print_module
from conformance.stablehlo.attributes import BOOL_ARRAY, I64_ARRAY, KINDS
from conformance.stablehlo.lexical import blank_strings, extract_strings, restore_strings
from conformance.stablehlo.reading.fatal import fatal_operations, may_be_fatal
from reference.ops.table import OPS

NOTE = "text of an older StableHLO, read in today's spelling"
ADVICE = (
    "this is text of an older StableHLO; the version that wrote it can also write a portable "
    "artifact, which later versions read"
)

_LISTS = {name: kind for name, kind in KINDS.items() if kind in (I64_ARRAY, BOOL_ARRAY)}
_DENSE_LIST = re.compile(
    rf"\b({'|'.join(_LISTS)})(\s*=\s*)dense<(\"\0\d+\"|[^<>\"]*)>\s*:\s*tensor<((?:\d+x)+)i(64|1)>"
)
_QUOTED_ENUM = re.compile(r"#(stablehlo|mhlo|chlo)<\"\0(\d+)\">")
_MHLO = re.compile(r'(?:^|=)[ \t]*"?(mhlo\.\w+)"?(?!\s*=|\w)', re.MULTILINE)
_KNOWN = {name for name in OPS if name.startswith("mhlo.")}
"""Instructions that StableHLO lacks: they keep their MHLO names."""
_OBSOLETE = re.compile(
    r'"stablehlo\.trace"|#(?:stablehlo|mhlo)\.type_extensions'
    r"|\b(?:comparison_direction|compare_type|fft_type|rng_distribution|precision_config)\s*=\s*"
    r'(?:"|\[")'
    r"|\bdot_dimension_numbers\s*=\s*\{|\bdimension_numbers\s*=\s*\{"
)
"""Pattern of obsolete spellings that this module does not rewrite."""


def update_spellings(text: str) -> str:
    """Return the text with older spellings of attributes updated; other text unchanged."""
    if not ("dense<" in text or '<"' in text):
        return text
    code, strings = extract_strings(text)
    code = _DENSE_LIST.sub(lambda found: _list(found, strings), code)
    code = _QUOTED_ENUM.sub(lambda found: f"#{found[1]}<{strings[int(found[2])][1:-1]}>", code)
    return restore_strings(code, strings)


def is_obsolete(text: str) -> bool:
    """Return whether a text has an obsolete spelling that cannot be read."""
    return _OBSOLETE.search(blank_strings(text)) is not None


def _list(match: re.Match[str], strings: list[str]) -> str:
    """Return `array<i64: 1, 2>` for `dense<[1, 2]> : tensor<2xi64>`, and any other text
    unchanged.
    """
    name, equals, body, sizes, bits = match.groups()
    element = "i64" if _LISTS[name] is I64_ARRAY else "i1"
    if element != f"i{bits}":
        return match[0]
    count = prod(int(size) for size in sizes[:-1].split("x"))
    if body.startswith('"'):
        raw = bytes.fromhex(strings[int(body[2:-1])][3:-1])
        values = [str(one) for one in np.frombuffer(raw, "<i8" if element == "i64" else "?")]
        values = [value.lower() for value in values]
    else:
        values = re.findall(r"-?\d+|true|false", body)
    values = values * count if len(values) == 1 else values
    return f"{name}{equals}array<{element}{': ' if values else ''}{', '.join(values)}>"


def convert_mhlo(text: str) -> str:
    """Return the module with MHLO's operations converted to StableHLO's; other text unchanged."""
    if "mhlo." not in text or not set(_MHLO.findall(blank_strings(text))) - _KNOWN:
        return text
    with make_ir_context():
        try:
            if may_be_fatal(text) and fatal_operations(text):
                return text
            module = ir.Module.parse(text)
            converted = private.mlir.mhlo_to_stablehlo(print_module(module).encode())
            return print_module(ir.Module.parse(converted))
        except (ir.MLIRError, ValueError, RuntimeError):
            return text  # who parses it says what is wrong with it
