"""The messages of an HLO module, with the fields that affect what it computes.

Names and numbers of fields come from XLA (xla/service/hlo.proto, xla/xla_data.proto), which keeps
them for files of older versions. Fields about schedules, buffers and profiles are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from conformance.hlo.wire import (
    boolean,
    data,
    integer,
    integers,
    message,
    messages,
    single,
    text,
)


@dataclass(frozen=True, slots=True)
class Tile:
    """The sizes of a tile of a layout, major to minor."""

    dimensions: list[int] = integers(1)


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of an array in memory."""

    minor_to_major: list[int] = integers(1)
    tiles: list[Tile] = messages(6, lambda: Tile)
    element_size_in_bits: int = integer(7)
    tail_padding_alignment_in_elements: int = integer(16)


@dataclass(frozen=True, slots=True)
class Shape:
    """An array type, a tuple of types, or a token."""

    element_type: int = integer(2)
    dimensions: list[int] = integers(3)
    tuple_shapes: list[Shape] = messages(4, lambda: Shape)
    layout: Layout | None = message(5, lambda: Layout)
    is_dynamic_dimension: list[int] = integers(6)


@dataclass(frozen=True, slots=True)
class ProgramShape:
    """The types of a computation's parameters and of its result."""

    parameters: list[Shape] = messages(1, lambda: Shape)
    result: Shape | None = message(2, lambda: Shape)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: its elements are in the field of their type, as bytes if their width is fixed."""

    shape: Shape | None = message(1, lambda: Shape)
    preds: list[int] = integers(2)
    u8s: bytes = data(3)
    s32s: list[int] = integers(4)
    s64s: list[int] = integers(5)
    u32s: list[int] = integers(6)
    u64s: list[int] = integers(7)
    f32s: bytes = data(8)
    f64s: bytes = data(9)
    tuple_literals: list[Literal] = messages(10, lambda: Literal)
    f16s: bytes = data(11)
    c64s: bytes = data(12)
    bf16s: bytes = data(13)
    s8s: bytes = data(15)
    u16s: bytes = data(16)
    s16s: bytes = data(17)
    c128s: bytes = data(18)
    f8e5m2s: bytes = data(19)
    f8e4m3fns: bytes = data(20)
    s4s: bytes = data(21)
    u4s: bytes = data(22)
    f8e4m3b11fnuzs: bytes = data(23)
    f8e5m2fnuzs: bytes = data(24)
    f8e4m3fnuzs: bytes = data(25)
    s2s: bytes = data(26)
    u2s: bytes = data(27)
    f8e4m3s: bytes = data(28)
    f8e3m4s: bytes = data(29)
    f4e2m1fns: bytes = data(32)
    f8e8m0fnus: bytes = data(33)
    f6e3m2fns: bytes = data(35)
    f6e2m3fns: bytes = data(36)


@dataclass(frozen=True, slots=True)
class SliceDimension:
    """Start, limit and stride of a slice along a dimension."""

    start: int = integer(1)
    limit: int = integer(2)
    stride: int = integer(3)


@dataclass(frozen=True, slots=True)
class PaddingDimension:
    """Padding along a dimension."""

    edge_padding_low: int = integer(1)
    edge_padding_high: int = integer(2)
    interior_padding: int = integer(3)


@dataclass(frozen=True, slots=True)
class PaddingConfig:
    """Padding along every dimension."""

    dimensions: list[PaddingDimension] = messages(1, lambda: PaddingDimension)


@dataclass(frozen=True, slots=True)
class WindowDimension:
    """A window along a dimension."""

    size: int = integer(1)
    stride: int = integer(2)
    padding_low: int = integer(3)
    padding_high: int = integer(4)
    window_dilation: int = integer(5)
    base_dilation: int = integer(6)
    window_reversal: bool = boolean(7)


@dataclass(frozen=True, slots=True)
class Window:
    """A window over all dimensions, or over the spatial dimensions."""

    dimensions: list[WindowDimension] = messages(1, lambda: WindowDimension)


@dataclass(frozen=True, slots=True)
class ConvolutionDimensions:
    """The meaning of the dimensions of a convolution's input, kernel and output."""

    kernel_input_feature_dimension: int = integer(3)
    kernel_output_feature_dimension: int = integer(4)
    kernel_spatial_dimensions: list[int] = integers(6)
    input_batch_dimension: int = integer(7)
    input_feature_dimension: int = integer(8)
    output_batch_dimension: int = integer(9)
    output_feature_dimension: int = integer(10)
    input_spatial_dimensions: list[int] = integers(11)
    output_spatial_dimensions: list[int] = integers(12)


@dataclass(frozen=True, slots=True)
class DotDimensions:
    """The contracting and the batch dimensions of a product's operands."""

    lhs_contracting_dimensions: list[int] = integers(1)
    rhs_contracting_dimensions: list[int] = integers(2)
    lhs_batch_dimensions: list[int] = integers(3)
    rhs_batch_dimensions: list[int] = integers(4)


@dataclass(frozen=True, slots=True)
class RaggedDotDimensions:
    """The dimensions of a dot product, and the ragged dimensions."""

    dot_dimension_numbers: DotDimensions | None = message(1, lambda: DotDimensions)
    lhs_ragged_dimensions: list[int] = integers(2)
    rhs_group_dimensions: list[int] = integers(3)


@dataclass(frozen=True, slots=True)
class GatherDimensions:
    """Dimension numbers of a gather."""

    offset_dims: list[int] = integers(1)
    collapsed_slice_dims: list[int] = integers(2)
    start_index_map: list[int] = integers(3)
    index_vector_dim: int = integer(4)
    operand_batching_dims: list[int] = integers(5)
    start_indices_batching_dims: list[int] = integers(6)


@dataclass(frozen=True, slots=True)
class ScatterDimensions:
    """Dimension numbers of a scatter."""

    update_window_dims: list[int] = integers(1)
    inserted_window_dims: list[int] = integers(2)
    scatter_dims_to_operand_dims: list[int] = integers(3)
    index_vector_dim: int = integer(4)
    input_batching_dims: list[int] = integers(5)
    scatter_indices_batching_dims: list[int] = integers(6)


@dataclass(frozen=True, slots=True)
class PrecisionConfig:
    """Precision of operands, and an algorithm."""

    operand_precision: list[int] = integers(1)
    algorithm: int = integer(2)


@dataclass(frozen=True, slots=True)
class TriangularSolveOptions:
    """Options of a triangular solve."""

    left_side: bool = boolean(1)
    lower: bool = boolean(2)
    unit_diagonal: bool = boolean(3)
    transpose_a: int = integer(4)


@dataclass(frozen=True, slots=True)
class CholeskyOptions:
    """The triangle of the operand that is used."""

    lower: bool = boolean(1)


@dataclass(frozen=True, slots=True)
class ReplicaGroup:
    """The processes of one group."""

    replica_ids: list[int] = integers(1)


@dataclass(frozen=True, slots=True)
class IotaGroups:
    """Groups as a reshaped and transposed iota."""

    num_replica_groups: int = integer(1)
    num_devices_per_group: int = integer(2)
    iota_reshape_dims: list[int] = integers(3)
    iota_transpose_perm: list[int] = integers(4)


@dataclass(frozen=True, slots=True)
class DeviceList:
    """Groups, listed or as an iota."""

    replica_groups: list[ReplicaGroup] = messages(1, lambda: ReplicaGroup)
    iota_replica_group_list: IotaGroups | None = message(2, lambda: IotaGroups)


@dataclass(frozen=True, slots=True)
class MeshAxis:
    """An axis of a mesh of devices."""

    name: str = text(1)
    size: int = integer(2)


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh of devices."""

    axes: list[MeshAxis] = messages(1, lambda: MeshAxis)
    device_ids: list[int] = integers(2)


@dataclass(frozen=True, slots=True)
class SubAxis:
    """A part of an axis."""

    pre_size: int = integer(1)
    size: int = integer(2)


@dataclass(frozen=True, slots=True)
class AxisRef:
    """An axis of a mesh by its number, or a part of an axis."""

    mesh_axis_index: int = integer(1)
    sub_axis_info: SubAxis | None = message(2, lambda: SubAxis)


@dataclass(frozen=True, slots=True)
class MeshGroups:
    """Groups of the devices that differ along some axes of a mesh."""

    mesh: Mesh | None = message(1, lambda: Mesh)
    axes: list[AxisRef] = messages(2, lambda: AxisRef)


@dataclass(frozen=True, slots=True)
class SourceTarget:
    """A pair of processes: source and target of a transfer."""

    source: int = integer(1)
    target: int = integer(2)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a computation."""

    name: str = text(1)
    opcode: str = text(2)
    shape: Shape = message(3, lambda: Shape)
    literal: Literal | None = message(8, lambda: Literal)
    parameter_number: int = integer(9)
    tuple_index: int = integer(13)
    dimensions: list[int] = integers(14)
    window: Window | None = message(15, lambda: Window)
    convolution_dimension_numbers: ConvolutionDimensions | None = message(
        16, lambda: ConvolutionDimensions
    )
    slice_dimensions: list[SliceDimension] = messages(17, lambda: SliceDimension)
    exponent_bits: int = integer(18)
    mantissa_bits: int = integer(19)
    dynamic_slice_sizes: list[int] = integers(20)
    padding_config: PaddingConfig | None = message(21, lambda: PaddingConfig)
    distribution: int = integer(23)
    epsilon: float = single(24)
    feature_index: int = integer(25)
    channel_id: int = integer(26)
    custom_call_target: str = text(28)
    dot_dimension_numbers: DotDimensions | None = message(30, lambda: DotDimensions)
    fft_type: int = integer(31)
    fft_length: list[int] = integers(32)
    gather_dimension_numbers: GatherDimensions | None = message(33, lambda: GatherDimensions)
    gather_slice_sizes: list[int] = integers(34)
    id: int = integer(35)
    operand_ids: list[int] = integers(36)
    called_computation_ids: list[int] = integers(38)
    backend_config: bytes = data(43)
    is_host_transfer: bool = boolean(47)
    scatter_dimension_numbers: ScatterDimensions | None = message(48, lambda: ScatterDimensions)
    replica_groups: list[ReplicaGroup] = messages(49, lambda: ReplicaGroup)
    feature_group_count: int = integer(50)
    precision_config: PrecisionConfig | None = message(51, lambda: PrecisionConfig)
    source_target_pairs: list[SourceTarget] = messages(52, lambda: SourceTarget)
    batch_group_count: int = integer(58)
    triangular_solve_options: TriangularSolveOptions | None = message(
        59, lambda: TriangularSolveOptions
    )
    is_stable: bool = boolean(60)
    cholesky_options: CholeskyOptions | None = message(62, lambda: CholeskyOptions)
    comparison_direction: str = text(63)
    delta: int = integer(66)
    indices_are_sorted: bool = boolean(67)
    unique_indices: bool = boolean(69)
    rng_algorithm: int = integer(70)
    use_global_device_ids: bool = boolean(71)
    comparison_type: str = text(72)
    k: int = integer(81)
    largest: bool = boolean(85)
    collective_device_list: DeviceList | None = message(87, lambda: DeviceList)
    ragged_dot_dimension_numbers: RaggedDotDimensions | None = message(
        90, lambda: RaggedDotDimensions
    )
    is_reverse: bool = boolean(94)
    num_carries: int = integer(95)
    comparison_order: str = text(102)
    mesh_axes_replica_group_list: MeshGroups | None = message(93, lambda: MeshGroups)


@dataclass(frozen=True, slots=True)
class Computation:
    """A function: instructions, each after those that it uses."""

    name: str = text(1)
    instructions: list[Instruction] = messages(2, lambda: Instruction)
    id: int = integer(5)
    root_id: int = integer(6)


@dataclass(frozen=True, slots=True)
class DeviceAssignment:
    """The numbers of replicas and partitions that run a module."""

    replica_count: int = integer(1)
    computation_count: int = integer(2)


@dataclass(frozen=True, slots=True)
class Module:
    """A module: its computations, and the id of the entry computation."""

    name: str = text(1)
    computations: list[Computation] = messages(3, lambda: Computation)
    host_program_shape: ProgramShape | None = message(4, lambda: ProgramShape)
    entry_computation_id: int = integer(6)
    device_assignment: DeviceAssignment | None = message(15, lambda: DeviceAssignment)


@dataclass(frozen=True, slots=True)
class DimensionSharding:
    """The axes of a mesh along which a dimension is split, major to minor."""

    axes: list[AxisRef] = messages(1, lambda: AxisRef)


@dataclass(frozen=True, slots=True)
class NamedSharding:
    """The sharding of an array over a mesh of devices (NamedShardingProto)."""

    mesh: Mesh | None = message(2, lambda: Mesh)
    dimensions: list[DimensionSharding] = messages(3, lambda: DimensionSharding)
    unreduced_axes: list[AxisRef] = messages(5, lambda: AxisRef)
    manual_axes: list[AxisRef] = messages(6, lambda: AxisRef)


@dataclass(frozen=True, slots=True)
class Sharding:
    """The sharding of an array, or of each part of a tuple, over devices (OpSharding)."""

    kind: int = integer(1)
    tile_assignment_dimensions: list[int] = integers(3)
    tile_assignment_devices: list[int] = integers(4)
    tuple_shardings: list[Sharding] = messages(5, lambda: Sharding)
    replicate_on_last_tile_dim: bool = boolean(6)
    last_tile_dims: list[int] = integers(8)
    iota_reshape_dims: list[int] = integers(9)
    iota_transpose_perm: list[int] = integers(10)
    named_sharding: NamedSharding | None = message(14, lambda: NamedSharding)


@dataclass(frozen=True, slots=True)
class PartitionedModule:
    """The shardings of a module (HloModuleProto), as a partitioner leaves them."""

    results: Sharding | None = message(12, lambda: Sharding)
    parameters: list[Sharding] = messages(14, lambda: Sharding)
