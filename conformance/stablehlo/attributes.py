"""Spelling of attributes in MLIR: one table of kinds by attribute name, and exact constants.

Source: StableHLO specification, the attributes of every op; MLIR language reference, "Attributes".
"""

from __future__ import annotations

import json
import math
import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from reference.ir.accuracy import ResultAccuracy
from reference.ir.aliases import OutputOperandAlias
from reference.ir.mesh import AxisRef, MeshGroups
from reference.ir.program import Attribute, Dense, QuantizedType, Scalar, TensorType
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, to_bits

READABLE = 32
"""A constant of at most this many elements is written element by element, for people to read."""

_PLAIN = frozenset(string.ascii_letters + string.digits + "_.$-")
_PRINTABLE = frozenset(string.printable) - frozenset('"\\\t\n\r\x0b\x0c')


class EmitError(ValueError):
    """Raised when a part of a program has no spelling, such as an attribute of the wrong kind."""


class Verbatim(NamedTuple):
    """An attribute without a counterpart here, kept as MLIR spells it (with its type)."""

    text: str


class AttributeKind(NamedTuple):
    """A kind of attribute: its name, a function that writes values, and the keyword of an enum."""

    name: str
    write: Callable[[Any], str]
    keyword: str = ""


def quote(text: str) -> str:
    """Return a string literal with hexadecimal escapes for everything but plain printable ASCII."""
    escaped = (chr(b) if chr(b) in _PRINTABLE else f"\\{b:02X}" for b in text.encode())
    return '"' + "".join(escaped) + '"'


def symbol(name: str) -> str:
    """Return a reference to the function of that name."""
    plain = name and set(name) <= _PLAIN and not name[0].isdigit() and name[0] not in ".$-"
    return f"@{name}" if plain else f"@{quote(name)}"


def spell_tensor(tensor_type: TensorType, spell_element: str) -> str:
    """Spell a tensor type, given the spelling of its element type."""
    sizes = "".join(f"{'?' if size is None else size}x" for size in tensor_type.shape)
    bounds = ", ".join("?" if size is None else str(size) for size in tensor_type.bounds)
    bounded = f", #stablehlo.bounds<{bounds}>" if bounds and not tensor_type.is_static else ""
    return f"tensor<{sizes}{spell_element}{bounded}>"


def float_literal(number: float) -> str:
    """Spell a finite float64 in decimal, such that MLIR reads the same bits back.

    MLIR wants a point in every float, and reads decimals as float64 first; the shortest decimal
    of a float64 is therefore exact in every narrower type that holds the value.
    """
    text = repr(number)
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text


def _float_texts(array: Array, element_type: ElementType) -> list[str]:
    bits = to_bits(array).ravel().tolist()
    with np.errstate(invalid="ignore"):  # signalling NaNs are meant: they go by their bits below
        numbers = array.astype(np.float64).ravel().tolist()
    digits = -(-element_type.bits // 4)
    texts: list[str] = []
    for number, code in zip(numbers, bits, strict=True):
        finite = math.isfinite(number)
        texts.append(float_literal(number) if finite else f"0x{code:0{digits}X}")
    return texts


def element_texts(array: Array, element_type: ElementType) -> list[str]:
    """Spell every element, row-major; NaNs and infinities by their bits."""
    if element_type.is_boolean:
        return ["true" if bit else "false" for bit in array.ravel().tolist()]
    if element_type.is_complex:
        real, imag = (
            _float_texts(part, element_type.part) for part in (np.real(array), np.imag(array))
        )
        return [f"({re}, {im})" for re, im in zip(real, imag, strict=True)]
    if element_type.is_float:
        return _float_texts(array, element_type)
    return [str(int(number)) for number in array.ravel().tolist()]


def spell_nested(texts: Sequence[str], shape: tuple[int, ...]) -> str:
    """Spell elements, row-major, as the nested lists of a tensor of this shape."""
    if not shape:
        return texts[0]
    step = len(texts) // shape[0]
    rows = (texts[i * step : (i + 1) * step] for i in range(shape[0]))
    return "[" + ", ".join(spell_nested(row, shape[1:]) for row in rows) + "]"


def spell_dense(constant: Dense) -> str:
    """Spell a constant as a dense literal with its type, exact in every bit.

    Small constants are readable, splats are written once, the rest is hexadecimal: little-endian,
    one byte for each element of a type under a byte. Booleans are not, as before jaxlib 0.10 MLIR
    reads a bit for each. Codes of a quantized tensor are written as
    signless integers of the storage type's width (i8, i4), as MLIR does.

    Raises:
        ValueError: for a complex number with NaN.
    """
    if isinstance(constant, Scalar):
        return _spell_scalar(constant)
    if isinstance(constant.type.element_type, QuantizedType):
        constant = to_signless_codes(constant)
    of, shape = constant.type.element, constant.type.static_shape
    size, spelled = math.prod(shape), spell_tensor(constant.type, constant.type.element.mlir)
    width = len(constant.data) // max(size, 1)
    if size == 0:
        body = ""
    elif constant.data == constant.data[:width] * size:
        one = Dense(TensorType((), constant.type.element_type), constant.data[:width])
        body = element_texts(one.array, of)[0]
    elif size <= READABLE or of.is_boolean:
        body = spell_nested(element_texts(constant.array, of), shape)
    else:
        body = f'"0x{constant.data.hex().upper()}"'
    return f"dense<{body}> : {spelled}"


def _spell_scalar(constant: Scalar) -> str:
    """Spell a number with its type.

    MLIR reads the parts of a complex number in decimal only: infinity as a number that is too
    large, NaN not at all.
    """
    of = constant.type.element
    if of.is_complex:
        parts = [float(part(constant.array)) for part in (np.real, np.imag)]
        if any(map(math.isnan, parts)):
            raise ValueError("a complex number with NaN")
        texts = [
            float_literal(part) if math.isfinite(part) else f"{math.copysign(1, part)}e400"
            for part in parts
        ]
        return f"#complex.number<:{of.part.mlir} {', '.join(texts)}> : {of.mlir}"
    (text,) = element_texts(constant.array, of)
    return text if of.is_boolean else f"{text} : {of.mlir}"


def spell_groups(constant: Dense) -> str:
    """Spell replica groups as MLIR does: a mesh with some of its axes, or a matrix of ids."""
    if not isinstance(constant, MeshGroups):
        return spell_dense(constant)
    sizes = [f"#stablehlo.mesh_axis<name = {quote(n)}, size = {size}>" for n, size in constant.mesh]
    ids = ""
    if constant.device_ids is not None:
        listed = ", ".join(map(str, constant.device_ids))
        ids = f", device_ids = dense<[{listed}]> : tensor<{len(constant.device_ids)}xi64>"
    mesh = f"#stablehlo.mesh<axes = [{', '.join(sizes)}]{ids}>"
    axes = ", ".join(map(_axis, constant.axes))
    return f"#stablehlo.replica_group_mesh_axes<mesh = {mesh}, axes = [{axes}]>"


def _axis(axis: AxisRef) -> str:
    part = "" if axis.size is None else f", sub_axis_info = ({axis.pre_size}){axis.size}"
    return f"#stablehlo.axis_ref<name = {quote(axis.name)}{part}>"


def to_signless_codes(codes: Dense) -> Dense:
    """Return the constant of a quantized type as codes of the signless integer type in which MLIR
    stores them.
    """
    storage = ELEMENT_TYPES[f"si{codes.type.stored.bits}"]
    return Dense(TensorType(codes.type.shape, storage), codes.data)


def _integer_writer(width: int) -> Callable[[int], str]:
    return lambda value: f"{int(value)} : i{width}"


def _f32(value: float) -> str:
    exact = np.float32(value)
    if np.isfinite(exact):
        return f"{float_literal(float(exact))} : f32"
    return f"0x{exact.view(np.uint32):08X} : f32"


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _array(element: str, write: Callable[[Any], str]) -> Callable[[Sequence[Any]], str]:
    def write_array(values: Sequence[Any]) -> str:
        return (
            f"array<{element}: {', '.join(map(write, values))}>" if values else f"array<{element}>"
        )

    return write_array


def _list(write: Callable[[Any], str]) -> Callable[[Sequence[Any]], str]:
    return lambda values: "[" + ", ".join(map(write, values)) + "]"


def _enum(keyword: str) -> AttributeKind:
    return AttributeKind("enum", lambda value: f"#stablehlo<{keyword} {value}>", keyword)


def _dictionary(pairs: Sequence[tuple[str, Any]]) -> str:
    """Spell a dictionary of booleans, 64-bit integers, strings, element types and lists."""
    return "{" + ", ".join(f"{_name(name)} = {_entry(value)}" for name, value in pairs) + "}"


def _entry(value: Any) -> str:
    if isinstance(value, tuple):
        return _list(_entry)(value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, ElementType):
        return value.mlir
    if isinstance(value, str):
        return quote(value)
    return _boolean(value) if isinstance(value, bool) else _integer_writer(64)(value)


def _configuration(entries: str | Sequence[tuple[str, Any, str]]) -> str:
    """Spell a string, or a dictionary of (name, value, MLIR type); the type is "" for a value that
    is kept as spelled.
    """
    if isinstance(entries, str):
        return quote(entries)
    return (
        "{" + ", ".join(f"{_name(name)} = {_spell_typed(v, of)}" for name, v, of in entries) + "}"
    )


def _spell_typed(value: Any, name: str) -> str:
    if isinstance(value, str):
        return quote(value) if name else value
    if isinstance(value, bool):
        return _boolean(value)
    return f"{float_literal(value) if isinstance(value, float) else value} : {name}"


def _accuracy(value: ResultAccuracy) -> str:
    mode = f"#stablehlo.result_accuracy_mode<{value.mode}>"
    atol, rtol = float_literal(value.atol), float_literal(value.rtol)
    return (
        f"#stablehlo.result_accuracy<atol = {atol}, rtol = {rtol}, ulps = {value.ulps}, "
        f"mode = {mode}>"
    )


def _alias(alias: OutputOperandAlias) -> str:
    fields = zip(alias._fields, map(str, map(_indices, alias)), strict=True)
    return f"#stablehlo.output_operand_alias<{', '.join(f'{n} = {v}' for n, v in fields)}>"


def _indices(value: int | tuple[int, ...]) -> int | list[int]:
    return value if isinstance(value, int) else list(value)


I64 = AttributeKind("i64", _integer_writer(64))
I32 = AttributeKind("i32", _integer_writer(32))
F32 = AttributeKind("float", _f32)
BOOL = AttributeKind("bool", _boolean)
UNIT = AttributeKind("unit", lambda _: "unit")
STRING = AttributeKind("string", quote)
SYMBOL = AttributeKind("symbol", symbol)
SYMBOLS = AttributeKind("symbols", _list(symbol))
ALIASES = AttributeKind("aliases", _list(_alias))
DENSE = AttributeKind("dense", spell_dense)
GROUPS = AttributeKind("dense", spell_groups)
ACCURACY = AttributeKind("accuracy", _accuracy)
I64_ARRAY = AttributeKind("i64_array", _array("i64", str))
I32_ARRAY = AttributeKind("i32_array", _array("i32", str))
BOOL_ARRAY = AttributeKind("bool_array", _array("i1", _boolean))
DICTIONARY = AttributeKind("dictionary", _dictionary)
CONFIGURATION = AttributeKind("configuration", _configuration)
PRECISIONS = AttributeKind("enums", _list(_enum("precision").write), "precision")

_I64S = """iota_dimension dimension all_gather_dim split_dimension concat_dimension split_count
    scatter_dimension feature_index feature_group_count batch_group_count dim batch_dims k"""
_I32S = "exponent_bits mantissa_bits index api_version version"
_BOOLS = """is_stable lower left_side unit_diagonal unique_indices indices_are_sorted
    has_side_effect is_host_transfer largest is_reverse is_associative"""
_I64_ARRAYS = """dimensions permutation broadcast_dimensions start_indices limit_indices strides
    slice_sizes edge_padding_low edge_padding_high interior_padding window_dimensions
    window_strides base_dilations window_dilations lhs_dilation rhs_dilation fft_length
    known_expanding_dimensions known_nonexpanding_dimensions broadcast_sizes"""
_STRINGS = """call_target_name infeed_config outfeed_config einsum_config name
    error_message"""
_DENSES = "value padding source_target_pairs"

KINDS: dict[str, AttributeKind] = {
    **dict.fromkeys(_I64S.split(), I64),
    **dict.fromkeys(_I32S.split(), I32),
    **dict.fromkeys(_BOOLS.split(), BOOL),
    **dict.fromkeys(_I64_ARRAYS.split(), I64_ARRAY),
    **dict.fromkeys(_STRINGS.split(), STRING),
    **dict.fromkeys(_DENSES.split(), DENSE),
    "replica_groups": GROUPS,
    "has_dynamic_root": UNIT,
    "use_global_device_ids": UNIT,
    "operandSegmentSizes": I32_ARRAY,
    "resultSegmentSizes": I32_ARRAY,
    "window_reversal": BOOL_ARRAY,
    "epsilon": F32,
    "result_accuracy": ACCURACY,
    "backend_config": CONFIGURATION,
    "mhlo.backend_config": CONFIGURATION,
    "callee": SYMBOL,
    "decomposition": SYMBOL,
    "called_computations": SYMBOLS,
    "output_operand_aliases": ALIASES,
    "composite_attributes": DICTIONARY,
    "precision_config": PRECISIONS,
    "comparison_direction": _enum("comparison_direction"),
    "compare_type": _enum("comparison_type"),
    "fft_type": _enum("fft_type"),
    "rng_distribution": _enum("rng_distribution"),
    "rng_algorithm": _enum("rng_algorithm"),
    "transpose_a": _enum("transpose"),
}
"""The kind of every attribute, by its name in the specification (which is its name in MLIR)."""


def enums_of_dialect(op: str, text: str) -> str:
    """Return an attribute's text with the enums of the op's own dialect (`mhlo.erf` has MHLO's)."""
    dialect, dot, _ = op.partition(".")
    return text.replace("#stablehlo", f"#{dialect}") if dot else text


def spell_attribute(name: str, value: Attribute) -> str:
    """Spell the attribute `name = value`; "" for a boolean that is not written.

    Raises:
        EmitError: when the name is unknown or the value is not of its kind.
    """
    if isinstance(value, Verbatim):
        return f"{_name(name)} = {value.text}"
    kind = KINDS.get(name)
    if kind is None:
        raise EmitError(f"attribute {name} has no known kind; its value is {value!r}")
    if kind is UNIT and value is False:
        return ""
    try:
        return f"{_name(name)} = {kind.write(value)}"
    except (TypeError, ValueError, AttributeError) as error:
        raise EmitError(f"attribute {name}: {value!r} is not of kind {kind.name}") from error


def _name(name: str) -> str:
    plain = name.replace("_", "a").replace(".", "a").replace("$", "a").isalnum()
    return name if plain and not name[0].isdigit() else json.dumps(name)
