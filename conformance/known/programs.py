"""Table of the hypotheses about whole programs, by `rewrite` or `arithmetic`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.known.candidates import Candidate, candidate_programs, deadlock_class
from conformance.known.hypothesis import Arithmetic, Hypothesis
from conformance.known.interpreter import indices
from conformance.known.rewritings.identities import LEFT_OUT
from conformance.known.xla import missing_zero
from conformance.known.xla.indexing import (
    bounded_starts,
    bounded_windows,
    reduced_bounds,
    reshaped_padding,
    reversed_bounds,
)
from conformance.known.xla.loops import (
    final_counters,
    folded_extrema,
    lost_initial_values,
    trip_counts,
)
from conformance.known.xla.pairs import bits_of_pairs, float_pairs, returned_pairs
from conformance.known.xla.processes import (
    bytes_as_words,
    first_updates,
    gathered_by_sum,
    gathered_first,
    misread_groups,
    operands_as_parts,
    process_order,
)
from conformance.known.xla.result_types import narrow_bodies, other_types
from conformance.known.xla.sub_byte import dynamic_results, folded_bitcasts, six_bits
from conformance.tolerance.hardware import Hardware
from reference.ir.program import Operation, Program
from reference.ir.types import Array

PROGRAMS = (
    Hypothesis(operands_as_parts.LABEL, rewrite=operands_as_parts.rewrite, several=True),
    Hypothesis(gathered_first.LABEL, rewrite=gathered_first.rewrite, several=True),
    Hypothesis(misread_groups.DEVICE_IDS, rewrite=misread_groups.rewrite, several=True),
    Hypothesis(process_order.LABEL, rewrite=process_order.rewrite, several=True),
    Hypothesis(
        trip_counts.LABEL, rewrite=trip_counts.rewrite, concerns=trip_counts.concerns
    ),
    Hypothesis(
        final_counters.LABEL, rewrite=final_counters.rewrite, concerns=trip_counts.concerns
    ),
    Hypothesis(
        folded_extrema.LABEL, rewrite=folded_extrema.rewrite, concerns=folded_extrema.concerns
    ),
    Hypothesis(
        lost_initial_values.LABEL, platform=Hardware.TPU,
        rewrite=lost_initial_values.rewrite, concerns=lost_initial_values.concerns,
    ),
    Hypothesis(
        reshaped_padding.LABEL,
        rewrite=reshaped_padding.rewrite, concerns=reshaped_padding.concerns,
    ),
    Hypothesis(
        reduced_bounds.LABEL,
        rewrite=reduced_bounds.rewrite, concerns=reduced_bounds.concerns, platform=Hardware.GPU,
    ),
    Hypothesis(
        bounded_starts.LABEL, unsteady=True,
        rewrite=bounded_starts.rewrite, concerns=bounded_starts.concerns,
    ),
    Hypothesis(
        reversed_bounds.LABEL,
        rewrite=reversed_bounds.rewrite, concerns=reversed_bounds.concerns,
    ),
    Hypothesis(
        bounded_windows.LABEL, unsteady=True,
        rewrite=bounded_windows.rewrite, concerns=bounded_windows.concerns,
    ),
    *(
        Hypothesis(
            narrow_bodies.LABEL, rewrite=narrow_bodies.rewrite, several=several,
            concerns=narrow_bodies.concerns,
        )
        for several in (True, False)
    ),
    Hypothesis(
        narrow_bodies.LABEL, rewrite=narrow_bodies.rewrite_updates,
        concerns=narrow_bodies.concerns, platform=Hardware.CPU,
    ),
    Hypothesis(
        other_types.BYTES,
        rewrite=other_types.bitcast_all_by_bytes, concerns=other_types.concerns,
    ),
    Hypothesis(
        folded_bitcasts.BY_BYTES, unsteady=True,
        rewrite=folded_bitcasts.read_elements_as_bytes, concerns=folded_bitcasts.concerns,
    ),
    Hypothesis(
        folded_bitcasts.SIGN_ABOVE,
        rewrite=folded_bitcasts.extend_sign, concerns=folded_bitcasts.concerns,
    ),
    Hypothesis(
        dynamic_results.LABEL, unsteady=True, rewrite=dynamic_results.rewrite,
        concerns=dynamic_results.concerns, platform=Hardware.GPU,
    ),
    Hypothesis(
        six_bits.LABEL,
        rewrite=six_bits.rewrite, concerns=six_bits.concerns, platform=Hardware.GPU,
    ),
    Hypothesis(
        gathered_by_sum.LABEL, rewrite=gathered_by_sum.rewrite, several=True,
        platform=Hardware.TPU,
    ),
    Hypothesis(
        bytes_as_words.LABEL, rewrite=bytes_as_words.rewrite, several=True, platform=Hardware.TPU
    ),
    *(
        Hypothesis(
            first_updates.LABEL, rewrite=first_updates.rewrite, several=several,
            concerns=first_updates.concerns, platform=Hardware.GPU,
        )
        for several in (True, False)
    ),
    *(
        Hypothesis(
            missing_zero.LABEL, rewrite=missing_zero.rewrite, several=several,
            platform=Hardware.TPU,
        )
        for several in (True, False)
    ),
    Hypothesis(
        other_types.BYTES, rewrite=bits_of_pairs.rewrite, concerns=bits_of_pairs.concerns,
        platform=Hardware.TPU,
    ),
    Hypothesis(
        float_pairs.LABEL, rewrite=bits_of_pairs.rewrite_inner_bitcasts,
        concerns=bits_of_pairs.has_bits, platform=Hardware.TPU,
    ),
    Hypothesis(float_pairs.LABEL, rewrite=returned_pairs.rewrite, platform=Hardware.TPU),
    Hypothesis(
        indices.LABEL, rewrite=indices.rewrite, concerns=indices.concerns,
        platform=Hardware.INTERPRETER,
    ),
)  # fmt: skip
"""Hypotheses about programs in the order of trial; the first that explains all results gives the
class.
"""

SUBNORMAL = "subnormal intermediate"
"""Class of programs whose results are explained by flushed intermediate numbers."""

ARITHMETIC_HYPOTHESES = (
    Hypothesis(SUBNORMAL, flushes=True, arithmetic=Arithmetic.FLUSHED),
    Hypothesis(LEFT_OUT, arithmetic=Arithmetic.UNROUNDED),
)
"""Hypotheses about arithmetic in the order of trial, for each element of a program's results."""

PROGRAM_LABELS = frozenset(one.label for one in PROGRAMS)
"""Classes of hypotheses about programs; such a class explains all results of a program."""


def candidates_for(
    program: Program, inputs: Sequence[Array], actual: Sequence[Array], platform: str
) -> Iterator[Candidate]:
    """Yield the candidates for a program on `platform`."""
    return candidate_programs(PROGRAMS, program, inputs, actual, platform)


def predicted_deadlock(program: Program, inputs: Sequence[Array], platform: str) -> str:
    """Return the class that predicts that a program gives no answer on `platform`, "" for none."""
    return deadlock_class(PROGRAMS, program, inputs, platform) if program.process_count > 1 else ""


def operations_of_class(label: str, program: Program) -> list[Operation]:
    """Return the operations of main that the hypotheses of a class are about."""
    hypotheses = [one for one in PROGRAMS if one.label == label]
    operations = program.main.body.operations[:-1]
    return [one for one in operations if any(each.concerns(one) for each in hypotheses)]
