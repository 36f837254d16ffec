"""Attributes that MLIR groups in structs and the specification names individually.

Programs only have the specification's names: `offset_dims`, `lhs_contracting_dimensions`,
`channel_id`. A table lists, per op, the names that MLIR groups under an attribute.

Source: StableHLO's StablehloAttrs (gather, scatter, dot, dot_algorithm, conv, channel_handle).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from reference.ir.program import Attribute


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct attribute of MLIR: the ops that have it, its name, its keyword and its fields.

    `fields` gives MLIR's field for each name of the specification; a field without a value is
    written as its entry in `defaults`, or left out. `view` names jaxlib's
    class for reading it, in the module of the `dialect`.
    """

    ops: tuple[str, ...]
    attribute: str
    keyword: str
    view: str
    fields: dict[str, str]
    defaults: dict[str, int | bool] = field(default_factory=dict[str, "int | bool"])
    dialect: str = "stablehlo"


def _same_names(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_GATHER = _same_names(
    "offset_dims", "collapsed_slice_dims", "operand_batching_dims",
    "start_indices_batching_dims", "start_index_map", "index_vector_dim",
)  # fmt: skip
_SCATTER = _same_names(
    "update_window_dims", "inserted_window_dims", "input_batching_dims",
    "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim",
) | {"scatter_dims_to_operand_dims": "scattered_dims_to_operand_dims"}  # fmt: skip
_DOT = _same_names(
    "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
    "rhs_contracting_dimensions",
)  # fmt: skip
_ALGORITHM = _same_names(
    "lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
    "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation",
)  # fmt: skip
_CONVOLUTION = _same_names(
    "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions",
    "kernel_input_feature_dimension", "kernel_output_feature_dimension",
    "kernel_spatial_dimensions", "output_batch_dimension", "output_feature_dimension",
    "output_spatial_dimensions",
)  # fmt: skip
_CHANNEL_OPS = (
    "send", "recv", "all_gather", "all_reduce", "all_to_all", "collective_broadcast",
    "collective_permute", "collective_reduce", "reduce_scatter",
)  # fmt: skip

STRUCTS: tuple[Struct, ...] = (
    Struct(
        ("gather", "dynamic_gather"), "dimension_numbers", "gather",
        "GatherDimensionNumbers", _GATHER,
    ),
    Struct(
        ("scatter",), "scatter_dimension_numbers", "scatter",
        "ScatterDimensionNumbers", _SCATTER,
    ),
    Struct(
        ("dot_general",), "dot_dimension_numbers", "dot", "DotDimensionNumbers", _DOT
    ),
    Struct(
        ("chlo.ragged_dot",), "ragged_dot_dimension_numbers", "ragged_dot",
        "RaggedDotDimensionNumbers",
        _DOT | _same_names("lhs_ragged_dimensions", "rhs_group_dimensions"), dialect="chlo",
    ),
    Struct(("dot_general",), "algorithm", "dot_algorithm", "DotAlgorithm", _ALGORITHM),
    Struct(
        ("convolution", "dynamic_conv"), "dimension_numbers", "conv",
        "ConvDimensionNumbers", _CONVOLUTION,
    ),
    Struct(
        _CHANNEL_OPS, "channel_handle", "channel_handle", "ChannelHandle",
        {"channel_id": "handle", "channel_type": "channel_type"}, {"channel_type": 0},
    ),
)  # fmt: skip
"""Every struct. Reading goes by the names of jaxlib's properties, writing by `_SPELLED`."""

_SPELLED = {
    "scattered_dims_to_operand_dims": "scatter_dims_to_operand_dims",
    "channel_type": "type",
}
"""Fields whose name in the text differs from the name of jaxlib's property."""


def group_attributes(
    op: str, given: Sequence[tuple[str, Attribute]]
) -> tuple[list[tuple[str, Attribute]], list[str]]:
    """Return the ungrouped attributes of an op, and the texts of its struct attributes."""
    structs = [struct for struct in STRUCTS if op in struct.ops]
    if not structs:
        return list(given), []
    known = dict(given)
    texts: list[str] = []
    for struct in structs:
        if any(name in known for name in struct.fields):
            texts.append(f"{struct.attribute} = {_text(struct, known)}")
    inside = {name for struct in structs for name in struct.fields}
    return [(name, value) for name, value in given if name not in inside], texts


def _text(struct: Struct, known: dict[str, Attribute]) -> str:
    values = {f: known.get(name, struct.defaults.get(name)) for name, f in struct.fields.items()}
    if struct.keyword == "conv":
        return f"#stablehlo.conv<raw {_fields(values)}>"
    return f"#{struct.dialect}.{struct.keyword}<{_fields(values)}>"


def _fields(values: dict[str, Any]) -> str:
    written = ((_SPELLED.get(name, name), value) for name, value in values.items())
    return ", ".join(
        f"{name} = {_spell_value(value)}" for name, value in written if value is not None
    )


def _spell_value(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(str(int(one)) for one in value) + "]"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return str(value).lower() if isinstance(value, bool) else str(value)


def struct_of(op: str, attribute: str) -> Struct | None:
    """Return the struct that an op keeps under this MLIR attribute, or None."""
    return next((s for s in STRUCTS if op in s.ops and s.attribute == attribute), None)


def flatten_struct(struct: Struct, attribute: Any) -> Iterator[tuple[str, Attribute]]:
    """Yield the values of a struct attribute under the specification's names."""
    # who only writes programs need not load it
    dialect = import_module(f"jaxlib.mlir.dialects.{struct.dialect}")
    view = getattr(dialect, struct.view)(attribute)
    for name, field_name in struct.fields.items():
        yield name, _plain_value(getattr(view, field_name))


def _plain_value(value: Any) -> Attribute:
    if isinstance(value, bool | int):
        return value
    if isinstance(value, list):
        return tuple(int(one) for one in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return str(value)  # a type, such as tf32
