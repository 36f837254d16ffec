"""Table of the hypotheses about whole programs, by `rewrite` or `arithmetic`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from conformance.known.candidates import Candidate, candidate_programs, deadlock_class
from conformance.known.hypothesis import Arithmetic, Hypothesis, is_any
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


class _ProgramModel(Protocol):
    """A module about a class of programs; its function `concerns`, if any, selects operations."""

    @property
    def LABEL(self) -> str:  # noqa: N802 - a constant of the module
        """The class."""
        ...

    def rewrite(self, program: Program, /) -> Iterator[Sequence[Program]]:
        """Yield the programs that may be computed instead."""
        ...


def _about(
    model: _ProgramModel,
    *,
    platform: str = "",
    several: bool | None = False,
    unsteady: bool = False,
) -> Hypothesis:
    """Return the hypothesis of a module."""
    concerns = getattr(model, "concerns", is_any)
    return Hypothesis(
        model.LABEL,
        rewrite=model.rewrite,
        concerns=concerns,
        platform=platform,
        several=several,
        unsteady=unsteady,
    )


PROGRAMS = (
    _about(operands_as_parts, several=True),
    _about(gathered_first, several=True),
    Hypothesis(misread_groups.DEVICE_IDS, rewrite=misread_groups.rewrite, several=True),
    _about(process_order, several=True),
    _about(trip_counts),
    Hypothesis(
        final_counters.LABEL, rewrite=final_counters.rewrite, concerns=trip_counts.concerns
    ),
    Hypothesis(
        final_counters.ITERATED_ONCE,
        rewrite=final_counters.iterate_once, concerns=trip_counts.concerns,
    ),
    _about(folded_extrema),
    _about(lost_initial_values, platform=Hardware.TPU),
    _about(reshaped_padding),
    _about(reduced_bounds, platform=Hardware.GPU),
    _about(bounded_starts, unsteady=True),
    _about(reversed_bounds),
    _about(bounded_windows, unsteady=True),
    _about(narrow_bodies, several=None),
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
    _about(dynamic_results, platform=Hardware.GPU, unsteady=True),
    _about(six_bits, platform=Hardware.GPU),
    _about(gathered_by_sum, platform=Hardware.TPU, several=True),
    _about(bytes_as_words, platform=Hardware.TPU, several=True),
    _about(first_updates, platform=Hardware.GPU, several=None),
    _about(missing_zero, platform=Hardware.TPU, several=None),
    Hypothesis(
        other_types.BYTES, rewrite=bits_of_pairs.rewrite, concerns=bits_of_pairs.concerns,
        platform=Hardware.TPU,
    ),
    Hypothesis(
        float_pairs.LABEL, rewrite=bits_of_pairs.rewrite_inner_bitcasts,
        concerns=bits_of_pairs.has_bits, platform=Hardware.TPU,
    ),
    Hypothesis(float_pairs.LABEL, rewrite=returned_pairs.rewrite, platform=Hardware.TPU),
    _about(indices, platform=Hardware.INTERPRETER),
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
