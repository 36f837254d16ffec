"""The catalog: one row per op, in the specification's order."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from conformance.needs import indices, operand_needs, propagation, ranges
from conformance.needs.need import BITS, DEFINITE, DOMINANT
from conformance.needs.numbers import ANY_NUMBERS, Numbers
from conformance.tolerance import table as t
from conformance.tolerance.bounds import (
    contraction,
    convolution,
    fft,
    linear_algebra,
    mapping,
    normalization,
    quantization,
    random,
    reduction,
    scaled,
    scatter,
    sorting,
    sparse,
)
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Rule
from generators.case.columns import Column
from generators.case.quantized_types import QuantizedColumn
from reference.custom_calls.sparse import CSR
from reference.interpreter.quantized import is_quantized_operation
from reference.ir.op import FIRST_OPERAND, Dialect, Op
from reference.ir.program import Operation, QuantizedType, TensorType, ValueType
from reference.ir.types import ElementType
from reference.ops.table import OPS

ARITHMETIC = "arithmetic"
ELEMENTARY = "elementary functions"
BITWISE = "bits"
COMPARISON = "comparison and selection"
CONVERSION = "conversion"
ROUNDING = "rounding"
CREATION = "creation"
MOVEMENT = "data movement"
DYNAMISM = "dynamism"
GATHERING = "gathering and sorting"
REDUCTION = "reductions"
CONTRACTION = "contractions"
CONTROL_FLOW = "control flow"
HOST = "host and asynchrony"
DISTRIBUTION = "distribution"
NORMALIZATION = "normalization"
LINEAR_ALGEBRA = "linear algebra and transforms"
RANDOM = "random numbers"
QUANTIZATION = "quantization"
XLA_BUILDER = "XlaBuilder: "
"""Prefix of the families of XlaBuilder's ops."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the catalog: an op, its family, the rule that judges it, facts about its numbers,
    and its share of cases.

    `weight` multiplies the cases of a profile, for ops whose dimensions of variation need more
    cases, or that their twins have tested already. In the profile `standard` it gives the largest
    number of cases; a cell ends earlier if further cases cover nothing new.
    """

    name: str
    family: str
    tolerance: Rule
    numbers: Numbers
    weight: float = 1

    def cases(self, per_cell: int) -> int:
        """Return the number of cases in a cell of the op, if a profile has `per_cell` cases per
        cell.
        """
        return max(1, int(per_cell * self.weight))

    @property
    def dialect(self) -> str:
        """The document that specifies the op."""
        return OPS[self.name].dialect.value

    @property
    def element_types(self) -> tuple[ElementType, ...]:
        """The types of the op's cells: the types of its principal operand (or of its output)."""
        return OPS[self.name].element_types

    @property
    def columns(self) -> tuple[Column, ...]:
        """The op's columns in the matrix: its element types, and its near misses."""
        from generators.cells.columns import columns_of  # loads every strategy and near miss

        return columns_of(self.name)

    @property
    def constraints(self) -> tuple[str, ...]:
        """The ids of the constraints that the reference checks."""
        return OPS[self.name].constraints


def _budget(operation: Operation) -> float:
    """Return the error that an operation's rule permits on any hardware, in ulp.

    At least 1, because a correctly rounded result may also stay unrounded. It is 1 for operations
    whose rules have bounds instead of budgets: on scalars, these round once.
    """
    rule, (value, *_) = rule_of(operation), operation.results
    if rule is None or rule.ulps is None or not isinstance(value.type, TensorType):
        return 1.0
    return max(1.0, *(rule.ulps.budget(value.type.element, hardware) for hardware in Hardware))


_ROWS = (
    Row("abs", ARITHMETIC, t.MAGNITUDE,
        Numbers(ranges.abs_range, propagation=propagation.propagate_abs)),
    Row("add", ARITHMETIC, t.ROUNDED,
        Numbers(ranges.add_range, propagation=propagation.propagate_add)),
    Row("after_all", CONTROL_FLOW, t.DATA, ANY_NUMBERS),
    Row("all_gather", DISTRIBUTION, t.DATA, ANY_NUMBERS, weight=1.5),
    Row("all_reduce", DISTRIBUTION, reduction.REDUCED, ANY_NUMBERS, weight=2.25),
    Row("all_to_all", DISTRIBUTION, t.DATA, ANY_NUMBERS, weight=2.25),
    Row("and", BITWISE, t.DATA, Numbers(needs=operand_needs.bitwise_needs)),
    Row("async_done", HOST, t.DATA, ANY_NUMBERS, weight=1.25),
    Row("async_start", HOST, t.DATA, ANY_NUMBERS, weight=1.25),
    Row("atan2", ELEMENTARY, t.ATAN2, ANY_NUMBERS),
    Row("batch_norm_grad", NORMALIZATION, normalization.NORMALIZED,
        Numbers(needs=operand_needs.require_positive(3)), weight=1.5),
    Row("batch_norm_inference", NORMALIZATION, normalization.NORMALIZED,
        Numbers(needs=operand_needs.require_positive(4)), weight=1.5),
    Row("batch_norm_training", NORMALIZATION, normalization.NORMALIZED, ANY_NUMBERS, weight=1.25),
    Row("bitcast_convert", CONVERSION, t.BITS,
        Numbers(needs=operand_needs.bitcast_needs), weight=5),
    Row("broadcast", MOVEMENT, t.DATA, ANY_NUMBERS, weight=1.25),
    Row("broadcast_in_dim", MOVEMENT, t.DATA, ANY_NUMBERS, weight=1.25),
    Row("case", CONTROL_FLOW, t.DATA, Numbers(indices=indices.case_indices), weight=1.5),
    Row("cbrt", ELEMENTARY, t.CBRT, Numbers(propagation=propagation.propagate_sign)),
    Row("ceil", ROUNDING, t.ROUNDED, ANY_NUMBERS),
    Row("cholesky", LINEAR_ALGEBRA, linear_algebra.FACTORED,
        Numbers(needs=operand_needs.require_form(DEFINITE)), weight=1.25),
    Row("clamp", COMPARISON, t.DATA,
        Numbers(ranges.clamp_range, propagation=propagation.propagate_clamp), weight=2),
    Row("collective_broadcast", DISTRIBUTION, t.DATA, ANY_NUMBERS, weight=1.75),
    Row("collective_permute", DISTRIBUTION, t.DATA, ANY_NUMBERS, weight=1.5),
    Row("collective_reduce", DISTRIBUTION, reduction.REDUCED, ANY_NUMBERS, weight=2.25),
    Row("compare", COMPARISON, t.DATA, Numbers(needs=operand_needs.compare_needs), weight=3.75),
    Row("complex", CREATION, t.DATA, ANY_NUMBERS, weight=2),
    Row("composite", CONTROL_FLOW, t.DATA, ANY_NUMBERS),
    Row("concatenate", MOVEMENT, t.DATA, ANY_NUMBERS),
    Row("constant", CREATION, t.DATA, ANY_NUMBERS, weight=3),
    Row("convert", CONVERSION, t.CONVERTED, ANY_NUMBERS, weight=6),
    Row("convolution", CONTRACTION, convolution.CONVOLVED, ANY_NUMBERS, weight=3),
    Row("cosine", ELEMENTARY, t.TRIGONOMETRIC, Numbers(ranges.range_between(-1, 1))),
    Row("count_leading_zeros", BITWISE, t.DATA, Numbers(ranges.range_between(0, 64))),
    Row("create_token", CONTROL_FLOW, t.DATA, ANY_NUMBERS),
    Row("custom_call", CONTROL_FLOW, t.DATA,
        Numbers(needs=operand_needs.custom_call_needs), weight=1.5),
    Row("divide", ARITHMETIC, t.DIVIDED,
        Numbers(ranges.divide_range, needs=operand_needs.divide_needs)),
    Row("dot", CONTRACTION, contraction.CONTRACTED, ANY_NUMBERS),
    Row("dot_general", CONTRACTION, contraction.CONTRACTED,
        Numbers(ranges.dot_range, propagation=propagation.propagate_dot), weight=4),
    Row("dynamic_broadcast_in_dim", DYNAMISM, t.DATA, ANY_NUMBERS, weight=2.125),
    Row("dynamic_conv", CONTRACTION, convolution.CONVOLVED, ANY_NUMBERS, weight=3.25),
    Row("dynamic_gather", GATHERING, t.DATA, Numbers(indices=indices.gather_indices), weight=3.75),
    Row("dynamic_iota", DYNAMISM, t.DATA, ANY_NUMBERS, weight=2.25),
    Row("dynamic_pad", DYNAMISM, t.DATA, ANY_NUMBERS, weight=1.5),
    Row("dynamic_reshape", DYNAMISM, t.DATA, ANY_NUMBERS, weight=1.75),
    Row("dynamic_slice", MOVEMENT, t.DATA,
        Numbers(indices=indices.dynamic_slice_indices), weight=2.5),
    Row("dynamic_update_slice", MOVEMENT, t.DATA,
        Numbers(indices=indices.dynamic_update_slice_indices), weight=1.25),
    Row("einsum", CONTRACTION, contraction.CONTRACTED, ANY_NUMBERS, weight=1.5),
    Row("exponential", ELEMENTARY, t.EXPONENTIAL,
        Numbers(ranges.exponential_range, propagation=propagation.propagate_exponential)),
    Row("exponential_minus_one", ELEMENTARY, t.EXPM1,
        Numbers(ranges.range_between(-1, inf), propagation=propagation.propagate_sign)),
    Row("fft", LINEAR_ALGEBRA, fft.TRANSFORMED, ANY_NUMBERS, weight=2),
    Row("floor", ROUNDING, t.ROUNDED, ANY_NUMBERS),
    Row("gather", GATHERING, t.DATA, Numbers(indices=indices.gather_indices), weight=3.5),
    Row("get_dimension_size", DYNAMISM, t.DATA, ANY_NUMBERS),
    Row("get_tuple_element", CONTROL_FLOW, t.DATA, ANY_NUMBERS),
    Row("if", CONTROL_FLOW, t.DATA, ANY_NUMBERS),
    Row("imag", CREATION, t.DATA, ANY_NUMBERS),
    Row("infeed", HOST, t.DATA, ANY_NUMBERS),
    Row("iota", CREATION, t.DATA, ANY_NUMBERS),
    Row("is_finite", COMPARISON, t.DATA, ANY_NUMBERS),
    Row("log", ELEMENTARY, t.LOG, Numbers(needs=operand_needs.log_needs)),
    Row("log_plus_one", ELEMENTARY, t.LOG1P, Numbers(needs=operand_needs.log_plus_one_needs)),
    Row("logistic", ELEMENTARY, t.LOGISTIC, Numbers(ranges.range_between(ranges.LEAST, 1))),
    Row("map", REDUCTION, mapping.map_rule(_budget), ANY_NUMBERS, weight=2.75),
    Row("maximum", COMPARISON, t.DATA,
        Numbers(ranges.maximum_range, propagation=propagation.propagate_extremum)),
    Row("minimum", COMPARISON, t.DATA,
        Numbers(ranges.minimum_range, propagation=propagation.propagate_extremum)),
    Row("multiply", ARITHMETIC, t.MULTIPLIED,
        Numbers(ranges.multiply_range, propagation=propagation.propagate_multiply)),
    Row("negate", ARITHMETIC, t.DATA,
        Numbers(ranges.negate_range, propagation=propagation.propagate_negate)),
    Row("not", BITWISE, t.DATA, Numbers(needs=operand_needs.bitwise_needs)),
    Row("optimization_barrier", CONTROL_FLOW, t.DATA, ANY_NUMBERS),
    Row("or", BITWISE, t.DATA, Numbers(needs=operand_needs.bitwise_needs)),
    Row("outfeed", HOST, t.DATA, ANY_NUMBERS),
    Row("pad", MOVEMENT, t.DATA, ANY_NUMBERS, weight=1.375),
    Row("partition_id", DISTRIBUTION, t.DATA, ANY_NUMBERS, weight=1.5),
    Row("popcnt", BITWISE, t.DATA, Numbers(ranges.range_between(0, 64))),
    Row("power", ELEMENTARY, t.POWER, Numbers(ranges.power_range, needs=operand_needs.power_needs)),
    Row("real", CREATION, t.DATA, ANY_NUMBERS),
    Row("real_dynamic_slice", DYNAMISM, t.DATA, ANY_NUMBERS, weight=2.5),
    Row("recv", HOST, t.DATA, ANY_NUMBERS),
    Row("reduce", REDUCTION, reduction.REDUCED, Numbers(ranges.reduce_range), weight=3),
    Row("reduce_precision", CONVERSION, t.CONVERTED, ANY_NUMBERS, weight=10),
    Row("reduce_scatter", DISTRIBUTION, reduction.REDUCED, ANY_NUMBERS, weight=2.25),
    Row("reduce_window", REDUCTION, reduction.WINDOWED, Numbers(ranges.reduce_range), weight=5.75),
    Row("remainder", ARITHMETIC, t.ROUNDED, Numbers(needs=operand_needs.remainder_needs)),
    Row("replica_id", DISTRIBUTION, t.DATA, ANY_NUMBERS, weight=1.5),
    Row("reshape", MOVEMENT, t.DATA, ANY_NUMBERS),
    Row("reverse", MOVEMENT, t.DATA, ANY_NUMBERS),
    Row("rng", RANDOM, random.DISTRIBUTED, ANY_NUMBERS, weight=1.5),
    Row("rng_bit_generator", RANDOM, random.GENERATED,
        Numbers(needs=operand_needs.require_form(BITS))),
    Row("round_nearest_afz", ROUNDING, t.ROUNDED, ANY_NUMBERS),
    Row("round_nearest_even", ROUNDING, t.ROUNDED, ANY_NUMBERS),
    Row("rsqrt", ELEMENTARY, t.RSQRT,
        Numbers(ranges.range_between(ranges.LEAST, inf), needs=operand_needs.rsqrt_needs)),
    Row("scatter", GATHERING, scatter.SCATTERED_UPDATES,
        Numbers(propagation=propagation.propagate_scatter, indices=indices.scatter_indices),
                weight=6),
    Row("select", COMPARISON, t.DATA, Numbers(needs=operand_needs.select_needs), weight=1.25),
    Row("select_and_scatter", REDUCTION, reduction.SCATTERED, ANY_NUMBERS, weight=2),
    Row("send", HOST, t.DATA, ANY_NUMBERS),
    Row("set_dimension_size", DYNAMISM, t.DATA, ANY_NUMBERS, weight=1.875),
    Row("shift_left", BITWISE, t.DATA, Numbers(needs=operand_needs.shift_amount_needs)),
    Row("shift_right_arithmetic", BITWISE, t.DATA, Numbers(needs=operand_needs.shift_amount_needs)),
    Row("shift_right_logical", BITWISE, t.DATA, Numbers(needs=operand_needs.shift_amount_needs)),
    Row("sign", ARITHMETIC, t.SIGNED, Numbers(ranges.range_between(-1, 1))),
    Row("sine", ELEMENTARY, t.TRIGONOMETRIC,
        Numbers(ranges.range_between(-1, 1), propagation=propagation.propagate_sign)),
    Row("slice", MOVEMENT, t.DATA, ANY_NUMBERS, weight=3.625),
    Row("sort", GATHERING, sorting.SORTED, ANY_NUMBERS, weight=3.875),
    Row("sqrt", ELEMENTARY, t.SQUARE_ROOT,
        Numbers(ranges.sqrt_range, needs=operand_needs.sqrt_needs)),
    Row("subtract", ARITHMETIC, t.ROUNDED,
        Numbers(ranges.subtract_range, propagation=propagation.propagate_subtract)),
    Row("tan", ELEMENTARY, t.TANGENT, ANY_NUMBERS),
    Row("tanh", ELEMENTARY, t.TANH,
        Numbers(ranges.range_between(-1, 1), propagation=propagation.propagate_sign)),
    Row("torch_index_select", GATHERING, t.DATA,
        Numbers(indices=indices.torch_index_select_indices), weight=1.25),
    Row("transpose", MOVEMENT, t.DATA, ANY_NUMBERS, weight=1.25),
    Row("triangular_solve", LINEAR_ALGEBRA, linear_algebra.SOLVED,
        Numbers(needs=operand_needs.require_form(DOMINANT)), weight=1.5),
    Row("tuple", CONTROL_FLOW, t.DATA, ANY_NUMBERS),
    Row("unary_einsum", CONTRACTION, contraction.CONTRACTED, ANY_NUMBERS),
    Row("uniform_dequantize", QUANTIZATION, quantization.QUANTIZED, ANY_NUMBERS, weight=1.75),
    Row("uniform_quantize", QUANTIZATION, quantization.QUANTIZED, ANY_NUMBERS, weight=3.25),
    Row("while", CONTROL_FLOW, t.DATA, ANY_NUMBERS, weight=2),
    Row("xor", BITWISE, t.DATA, Numbers(needs=operand_needs.bitwise_needs)),
)  # fmt: skip

_INSTRUCTIONS = (
    Row("mhlo.cosh", ELEMENTARY, t.COSH, ANY_NUMBERS),
    Row("mhlo.erf", ELEMENTARY, t.ERF, ANY_NUMBERS),
    Row("mhlo.ragged_all_to_all", DISTRIBUTION, t.DATA, ANY_NUMBERS, weight=3),
    Row("mhlo.scan", REDUCTION, t.SCANNED, ANY_NUMBERS, weight=2),
    Row("mhlo.topk", GATHERING, t.DATA, ANY_NUMBERS, weight=4),
)
"""XLA's instructions that StableHLO lacks: they are tried as ops of XlaBuilder."""

CHLO = "CHLO: "
"""Prefix of the families of CHLO's ops."""

_OF_CHLO = (
    Row("chlo.acos", CHLO + ELEMENTARY, t.ARC, ANY_NUMBERS),
    Row("chlo.acosh", CHLO + ELEMENTARY, t.AREA, ANY_NUMBERS),
    Row("chlo.asin", CHLO + ELEMENTARY, t.ARC, ANY_NUMBERS),
    Row("chlo.asinh", CHLO + ELEMENTARY, t.AREA, ANY_NUMBERS),
    Row("chlo.atan", CHLO + ELEMENTARY, t.ATAN, ANY_NUMBERS),
    Row("chlo.atanh", CHLO + ELEMENTARY, t.ATANH, ANY_NUMBERS),
    Row("chlo.bessel_i1e", CHLO + ELEMENTARY, t.SPECIAL, ANY_NUMBERS),
    Row("chlo.conj", CHLO + ARITHMETIC, t.DATA, ANY_NUMBERS),
    Row("chlo.constant_like", CHLO + CREATION, t.DATA, ANY_NUMBERS, weight=3),
    Row("chlo.cosh", CHLO + ELEMENTARY, t.COSH, ANY_NUMBERS),
    Row("chlo.digamma", CHLO + ELEMENTARY, t.SPECIAL, ANY_NUMBERS),
    Row("chlo.erf", CHLO + ELEMENTARY, t.ERF, ANY_NUMBERS),
    Row("chlo.erf_inv", CHLO + ELEMENTARY, t.ERF_INV, ANY_NUMBERS),
    Row("chlo.erfc", CHLO + ELEMENTARY, t.ERFC, ANY_NUMBERS),
    Row("chlo.is_inf", CHLO + COMPARISON, t.DATA, ANY_NUMBERS),
    Row("chlo.is_neg_inf", CHLO + COMPARISON, t.DATA, ANY_NUMBERS),
    Row("chlo.is_pos_inf", CHLO + COMPARISON, t.DATA, ANY_NUMBERS),
    Row("chlo.lgamma", CHLO + ELEMENTARY, t.LGAMMA, ANY_NUMBERS),
    Row("chlo.mulhi", CHLO + ARITHMETIC, t.DATA, ANY_NUMBERS),
    Row("chlo.next_after", CHLO + ARITHMETIC, t.DATA, ANY_NUMBERS),
    Row("chlo.polygamma", CHLO + ELEMENTARY, t.SPECIAL, ANY_NUMBERS),
    Row("chlo.ragged_dot", CHLO + CONTRACTION, contraction.CONTRACTED, ANY_NUMBERS),
    Row("chlo.sinh", CHLO + ELEMENTARY, t.SINH, ANY_NUMBERS),
    Row("chlo.square", CHLO + ARITHMETIC, t.MULTIPLIED, ANY_NUMBERS),
    Row("chlo.tan", CHLO + ELEMENTARY, t.TANGENT, ANY_NUMBERS),
    Row("chlo.top_k", CHLO + GATHERING, t.DATA, ANY_NUMBERS, weight=2),
    Row("chlo.zeta", CHLO + ELEMENTARY, t.SPECIAL, ANY_NUMBERS),
)
"""Ops of CHLO that are not lowered to ops of StableHLO."""

_COMPOSITES = (
    Row("RngBernoulli", XLA_BUILDER + RANDOM, random.BERNOULLI, ANY_NUMBERS, weight=5),
    Row("ScaledDot", XLA_BUILDER + CONTRACTION, scaled.SCALED, ANY_NUMBERS, weight=3),
)
"""Ops of XlaBuilder that have no StableHLO counterpart, and are written as composites."""

_BY_NAME = {row.name: row for row in (*_ROWS, *_INSTRUCTIONS, *_COMPOSITES, *_OF_CHLO)}


def _row_of(record: Op, prefix: str) -> Row:
    """Return the row of an op that is lowered: judged like its twin, with fewer cases.

    An op without a twin has a row of its own.
    """
    if not record.twin:
        return _BY_NAME[record.name]
    twin = _BY_NAME[record.twin]
    weight = max(0.75 if record.dialect is Dialect.CHLO else 0.5, twin.weight / 4)
    family = twin.family.removeprefix(CHLO)
    return Row(record.name, prefix + family, twin.tolerance, ANY_NUMBERS, weight)


_XLA, _CHLO = (
    tuple(_row_of(record, prefix) for record in OPS.values() if record.dialect is dialect)
    for dialect, prefix in ((Dialect.XLA, XLA_BUILDER), (Dialect.CHLO, CHLO))
)

CATALOG: dict[str, Row] = {row.name: row for row in (*_ROWS, *_XLA, *_CHLO)}
"""Every op by its name, in the specification's order; XlaBuilder's and CHLO's ops come last."""

RULED = CATALOG | _BY_NAME
"""Every op that may occur in a judged program."""

if RULED.keys() != OPS.keys():
    apart = ", ".join(sorted(RULED.keys() ^ OPS.keys()))
    raise LookupError(f"conformance.catalog and the ops of the reference differ in {apart}")


@dataclass(frozen=True, slots=True)
class Cell:
    """One square of the report's matrix: an op, an element type (or column), a backend."""

    op: str
    element_type: Column
    backend: str

    @property
    def row(self) -> Row:
        """The catalog's row of the op."""
        return CATALOG[self.op]

    @property
    def rule(self) -> Rule:
        """The rule that judges the cell: the op's rule, for quantized tensors applied to their
        codes.
        """
        column = self.element_type
        if isinstance(column, QuantizedColumn):
            return quantization.quantized_rule(self.row.tolerance)
        return _rule(self.row, is_complex=isinstance(column, ElementType) and column.is_complex)

    @property
    def key(self) -> tuple[str, str, str]:
        """The names of op, element type and backend, as records have them."""
        return self.op, self.element_type.name, self.backend

    def __str__(self) -> str:
        return f"{self.op}[{self.element_type}]@{self.backend}"


def column_of(operation: Operation) -> str:
    """Return the name of the cell's column: the type of the principal operand, or of the output.

    "" if that is not a tensor.
    """
    record = OPS.get(operation.name)
    principal = FIRST_OPERAND if record is None else record.principal
    of_results = principal.of_results or not operation.operands
    values = operation.results if of_results else operation.operands
    names = [_name(value.type) for value in values[principal.number :]]
    quantized = sorted((name for name in names if name.startswith("q<")), key=_sort_per_axis_first)
    return next(iter((*quantized, *names)), "")


def _sort_per_axis_first(name: str) -> bool:
    return not name.endswith(":axis>")


def _name(value_type: ValueType) -> str:
    if not isinstance(value_type, TensorType):
        return ""
    element = value_type.element_type
    if not isinstance(element, QuantizedType):
        return element.name
    per_axis = element.quantization_dimension is not None
    return QuantizedColumn(element.storage_type, element.expressed_type, per_axis).name


def rule_of(operation: Operation) -> Rule | None:
    """Return the rule that judges an operation, or None if its op is not in the catalog.

    Custom calls have the rule of data movement, and products with sparse matrices their own. Calls
    of LAPACK are judged by backward errors instead (conformance/judging/lapack/).
    """
    if operation.attribute("call_target_name") == CSR:
        return sparse.STORED
    row = RULED.get(operation.name)
    if row is None:
        return None
    if is_quantized_operation(operation):
        return quantization.quantized_rule(row.tolerance)
    types = (value.type for value in operation.operands)
    is_complex = any(isinstance(kind, TensorType) and kind.stored.is_complex for kind in types)
    return _rule(row, is_complex=is_complex)


def numbers_of(operation: Operation) -> Numbers:
    """Return the facts about the numbers of an operation's op."""
    row = RULED.get(operation.name)
    return ANY_NUMBERS if row is None else row.numbers


def _rule(row: Row, *, is_complex: bool) -> Rule:
    other = row.tolerance.complex_rule if is_complex else None
    return row.tolerance if other is None else other


def match_names(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names that any of the shell-style patterns matches, in the order of `names`.

    No pattern at all means every name. complex<f32> also goes by complex_f32, which needs no quotes
    in a shell.

    Raises:
        LookupError: when a pattern matches no name; its argument is that pattern.
    """
    for pattern in patterns:
        if not any(_matches(name, pattern) for name in names):
            raise LookupError(pattern)
    return [name for name in names if not patterns or any(_matches(name, p) for p in patterns)]


def _matches(name: str, pattern: str) -> bool:
    plain = name.replace("<", "_").replace(">", "")
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(plain, pattern)


def cells(
    ops: Sequence[str] = (), element_types: Sequence[str] = (), backends: Sequence[str] = ("cpu",)
) -> list[Cell]:
    """Return the cells that the patterns of ops and element types select, on every backend given.

    Raises:
        LookupError: if a pattern matches no op or element type of the catalog.
    """
    chosen = match_names(ops, list(CATALOG))
    known = list(dict.fromkeys(of.name for row in CATALOG.values() for of in row.columns))
    types = set(match_names(element_types, known))
    return [
        Cell(op, of, backend)
        for backend in backends
        for op in chosen
        for of in CATALOG[op].columns
        if of.name in types
    ]
