"""Table of the hypotheses about results of each op, for XLA and the interpreter.

programs.py has the hypotheses about programs, rewritings/ those about several operations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conformance.catalog import unquantized_rule
from conformance.known import e8m0_nans
from conformance.known.hypothesis import Hypothesis
from conformance.known.interpreter.indices import SOME_UNSIGNED
from conformance.known.interpreter.orders import COMPARED
from conformance.known.interpreter.table import INTERPRETER
from conformance.known.xla import (
    canonical_nans,
    extrema,
    orders,
    paired_transforms,
    partial_transform,
    simplified,
)
from conformance.known.xla.complex_numbers.table import COMPLEX
from conformance.known.xla.decompositions import linear_algebra
from conformance.known.xla.indexing import (
    narrow_bounds,
    out_of_bounds,
    selected_by_products,
    treatments,
    truncated,
    whole_offsets,
)
from conformance.known.xla.indexing.shared_buffers import SHARED
from conformance.known.xla.indexing.unsigned_bounds import SIGNED_LIMITS
from conformance.known.xla.loops import small_loops
from conformance.known.xla.pairs import float_pairs, positive_zeros
from conformance.known.xla.quantized import quantized_hypotheses
from conformance.known.xla.remainders import REMAINDERS
from conformance.known.xla.sorting import misread_orders, selected_pairs
from conformance.known.xla.sorting.nan_in_sorts import NAN_LARGEST
from conformance.known.xla.sorting.sorts import UNSORTED
from conformance.known.xla.sub_byte import byte_copies, packed_elements, signed_constants
from conformance.known.xla.sub_byte.two_bits import SORTED, TWO_BIT_OPS
from conformance.known.xla.subnormals import subnormal_operands
from conformance.known.xla.subnormals.flushed_sums import flushing_class
from conformance.known.xla.sums_of_products.products import (
    contraction_hypotheses,
    convolution_hypotheses,
)
from conformance.known.xla.sums_of_products.scaled import SCALED
from conformance.known.xla.windows.undilated import UNDILATED
from conformance.tolerance.bounds import reduction, scatter
from conformance.tolerance.hardware import Hardware
from reference.interpreter.quantized import is_quantized_operation
from reference.ir.program import Operation, TensorType
from reference.ops.table import OPS

_CONSTANT_NAN = tuple(
    replace(e8m0_nans.POWERS_OF_INFINITY, constants=(name,)) for name in ("operand", "lhs", "rhs")
)
"""Functions whose narrow constant operands LLVM converts."""

_FLUSHED = flushing_class(reduction.REDUCED)
_REDUCED = (*orders.REDUCED, _FLUSHED, *extrema.WRONG_REDUCTIONS)

XLA: dict[str, tuple[Hypothesis, ...]] = {
    **dict.fromkeys(("add", "subtract"), (simplified.ZERO_LEFT_OUT,)),
    **dict.fromkeys(("all_reduce", "collective_reduce", "reduce", "reduce_scatter"), _REDUCED),
    "atan2": (subnormal_operands.ANGLE, *_CONSTANT_NAN),
    **dict.fromkeys(("case", "if", "while"), (small_loops.ROUNDED_LOOPS,)),
    "bitcast_convert": (canonical_nans.REPEATED,),
    "cbrt": (subnormal_operands.CUBE_ROOT, *_CONSTANT_NAN),
    "cholesky": linear_algebra.FACTORED,
    "clamp": TWO_BIT_OPS["clamp"],
    "compare": (
        replace(COMPARED, constants=("*",)),
        misread_orders.COMPARED,
        *TWO_BIT_OPS["compare"],
    ),
    "convert": (replace(e8m0_nans.CONVERTED, constants=("*",)),),
    **dict.fromkeys(
        (
            "cosine", "exponential", "exponential_minus_one", "log_plus_one", "logistic",
            "mhlo.erf", "rsqrt", "sine", "sqrt", "tan", "tanh",
        ),
        _CONSTANT_NAN,
    ),
    **dict.fromkeys(("dynamic_gather", "gather"), out_of_bounds.GATHERED),
    "dynamic_slice": (SOME_UNSIGNED,),
    "dynamic_update_slice": (
        SOME_UNSIGNED,
        narrow_bounds.CUT,
        *TWO_BIT_OPS["dynamic_update_slice"],
    ),
    "fft": (partial_transform.FLUSHED, partial_transform.LEADING_PART),
    "log": (subnormal_operands.LOGARITHM, *_CONSTANT_NAN),
    "power": (
        simplified.ROUNDED_PRODUCT,
        simplified.LOW_BITS,
        simplified.BASE_ITSELF,
        subnormal_operands.POWER,
        *_CONSTANT_NAN,
    ),
    "real_dynamic_slice": (SIGNED_LIMITS,),
    "reduce_window": (*orders.WINDOWED, _FLUSHED, *extrema.WRONG_REDUCTIONS, UNDILATED),
    "remainder": TWO_BIT_OPS["remainder"],
    "rng": (REMAINDERS,),
    "scatter": (
        SHARED,
        *treatments.SCATTERED,
        *TWO_BIT_OPS["scatter"],
        flushing_class(scatter.SCATTERED_UPDATES),
        out_of_bounds.READ_ELSEWHERE,
    ),
    "ScaledDot": SCALED,
    "select_and_scatter": (*orders.SCATTERED, _FLUSHED, *TWO_BIT_OPS["select_and_scatter"]),
    "shift_right_logical": TWO_BIT_OPS["shift_right_logical"],
    "sign": (subnormal_operands.COMPLEX_SIGN,),
    "maximum": TWO_BIT_OPS["maximum"],
    "mhlo.scan": (small_loops.ROUNDED_LOOPS, simplified.ZERO_LEFT_OUT_OF_BODY),
    "mhlo.topk": misread_orders.SELECTIONS,
    "sort": (SORTED, NAN_LARGEST, UNSORTED, *misread_orders.SORTS),
    "triangular_solve": linear_algebra.SOLVED,
}  # fmt: skip
"""Divergences of XLA's compilers, and of backends built on them."""

XLA_BY_HARDWARE: dict[str, Callable[[str], tuple[Hypothesis, ...]]] = {
    **dict.fromkeys(
        ("chlo.ragged_dot", "dot", "dot_general", "einsum", "unary_einsum"), contraction_hypotheses
    ),
    **dict.fromkeys(("convolution", "dynamic_conv"), convolution_hypotheses),
}
"""Hypotheses for XLA by `Hardware`, where the precision of results differs."""

TPU_OPS: dict[str, tuple[Hypothesis, ...]] = {
    "mhlo.topk": (selected_pairs.SELECTED,),
    **dict.fromkeys(
        ("dynamic_gather", "gather", "torch_index_select"), (selected_by_products.SELECTED,)
    ),
    "batch_norm_grad": float_pairs.CONSTANT_GRADIENT_OPERANDS,
    "batch_norm_inference": (float_pairs.CONSTANT_OFFSETS,),
    "batch_norm_training": (float_pairs.CONSTANT_DATA,),
    "cholesky": (float_pairs.CONSTANT_MATRICES,),
    **dict.fromkeys(
        ("reduce", "reduce_window"), (*extrema.PAIR_EXTREMA, positive_zeros.POSITIVE_ZEROS)
    ),
    **dict.fromkeys(("scatter", "select_and_scatter"), (positive_zeros.POSITIVE_ZEROS,)),
    "subtract": (float_pairs.CONSTANT_MINUENDS,),
}
"""Divergences of the TPU's compiler only, by op."""

TPU_ANY_OP = (
    truncated.TRUNCATED, float_pairs.PAIRS, float_pairs.SINGLE_ELEMENTS,
    float_pairs.CONSTANT_SPLATS, float_pairs.BROADCAST_NUMBERS,
)  # fmt: skip
"""Divergences of the TPU's compiler, which splits 64-bit types, for any op."""

GPU_OPS = {
    "and": (packed_elements.NOT_WRITTEN,),
    "compare": signed_constants.COMPARISONS,
    "concatenate": (packed_elements.STORED_PAIRS,),
    "dynamic_update_slice": (whole_offsets.MOVED, byte_copies.COPIED),
    "fft": (
        partial_transform.SUBARRAY_PART, partial_transform.BEYOND_THE_OPERAND,
        paired_transforms.PAIRED,
    ),
    "or": (packed_elements.NOT_WRITTEN,),
    "scatter": (whole_offsets.WRITTEN_BACK, byte_copies.SCATTERED),
    "set_dimension_size": (packed_elements.OVERWRITTEN,),
}  # fmt: skip
"""Divergences of the GPU's compiler only, by op, besides convolutions."""

FIRST_ON_GPUS = {"sort": (packed_elements.UNSORTED_ROWS,)}
"""Divergences of the GPU's compiler that predict more than all others of the op."""


def known_of(operation: Operation, platform: str) -> tuple[Hypothesis, ...]:
    """Return the hypotheses about an operation's results on a `Hardware`, in the order of trial."""
    of_codes: tuple[Hypothesis, ...] = ()
    if is_quantized_operation(operation):
        rule = unquantized_rule(operation)
        of_codes = () if rule is None else quantized_hypotheses(rule)
        if platform != Hardware.INTERPRETER:
            return of_codes
    of_numbers = hypotheses_of_op(operation.name, platform, is_complex=_takes_complex(operation))
    of_tpus = (*TPU_OPS.get(operation.name, ()), *TPU_ANY_OP)  # first: they explain more of f64
    of_words = of_tpus if platform == Hardware.TPU else ()
    of_numbers = (*of_words, *of_numbers, *of_codes)
    if platform != Hardware.GPU:
        return of_numbers
    first, last = (of.get(operation.name, ()) for of in (FIRST_ON_GPUS, GPU_OPS))
    return (*first, *of_numbers, *last, packed_elements.PAIRS)


def hypotheses_of_op(op: str, platform: str, *, is_complex: bool) -> tuple[Hypothesis, ...]:
    """Return the hypotheses about an op's results, real or complex, on a `Hardware`.

    Hypotheses that refute results apply to any hardware, except those specific to XLA: unspecified
    results depend on them.
    """
    record = OPS.get(op)
    name = op if record is None else record.twin or op
    if platform == Hardware.INTERPRETER:
        of_xla = {*treatments.XLA_LABELS, SORTED.label}
        refuting = (one for one in XLA.get(name, ()) if one.refutes and one.label not in of_xla)
        return (*INTERPRETER.get(name, ()), *refuting)
    if name in XLA_BY_HARDWARE:
        return XLA_BY_HARDWARE[name](platform)
    return (*XLA.get(name, ()), *(COMPLEX.get(name, ()) if is_complex else ()))


def _takes_complex(operation: Operation) -> bool:
    types = (value.type for value in operation.operands)
    return any(isinstance(kind, TensorType) and kind.stored.is_complex for kind in types)


EVERY = tuple(
    hypothesis
    for hypotheses in (
        *XLA.values(),
        *COMPLEX.values(),
        *(of(on) for of in XLA_BY_HARDWARE.values() for on in (Hardware.CPU, Hardware.GPU)),
        *GPU_OPS.values(),
        *FIRST_ON_GPUS.values(),
        (packed_elements.PAIRS,),
        *TPU_OPS.values(),
        *INTERPRETER.values(),
        TPU_ANY_OP,
    )
    for hypothesis in hypotheses
)
"""All hypotheses of the tables, some more than once."""
