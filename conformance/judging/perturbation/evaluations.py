"""Perturbed evaluations: a program's permitted results, by evaluating it again and again.

Each evaluation moves all intermediate results within their tolerances, in random directions, in one
direction per result, or all in one direction. Other evaluations flush subnormals to zero, or fill
unspecified elements with arbitrary values. conformance/judging/perturbation/judge.py judges by the
values that the results take.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from conformance.judging.perturbation.arbitrary_values import filling
from conformance.judging.perturbation.error_model import (
    EXCESS,
    Directions,
    has_independent_tolerances,
)
from conformance.judging.perturbation.flushing import flush_at_random, flush_everything, flush_sign
from conformance.judging.perturbation.hook import PerturbationHook, Tolerances, Values
from conformance.judging.perturbation.overrides import Override
from conformance.judging.perturbation.separate_uses import separate_uses
from conformance.judging.sets.evaluate import evaluate_sets
from conformance.judging.sets.value_set import ValueSet
from conformance.known.hypothesis import Arithmetic
from conformance.phases import phase
from conformance.transforms.dead_code import restrict_to
from conformance.transforms.extract import extract
from conformance.transforms.observe import insert_region_barriers
from conformance.transforms.unrounded import remove_roundings
from conformance.transforms.values import used_values, working_operations
from reference.interpreter.evaluate import evaluate, split_by_process
from reference.ir.op import Rounding
from reference.ir.processes import processes
from reference.ir.program import Operation, Program, TensorType
from reference.ir.types import Array
from reference.ops.table import OPS

SAMPLES = 8
"""Evaluations in random directions; all up and all down make ten with the unperturbed evaluation.

Eight independent directions of many small errors reach about 1.4 standard deviations of their sum,
on either side. A margin of one width of the hull on each side (`MARGIN` of hull.py) extends this to
more than four standard deviations, or to seven if rounding errors are uniformly distributed over
their tolerances.
"""

EVALUATIONS = SAMPLES + 3
"""Number of evaluations of a program on a set of inputs if results differ only by rounding."""

PARTLY_FLUSHED = 8
"""Evaluations that flush subnormal results of some operations or some elements; half of them
also move results, as contraction changes rounding, too."""

FILLED_SAMPLES = 3
"""Evaluations with arbitrary values in unspecified elements, the first with NaN."""


@dataclass(frozen=True, slots=True)
class _MovingPart:
    """The operations whose results change when intermediate results are moved.

    The values of all other operations stay fixed.
    """

    program: Program
    inputs: tuple[Any, ...]
    apart: frozenset[str]
    unmoved: frozenset[str] = frozenset()
    """Names of the program's results that stay the same when intermediate results are moved."""
    tolerances: Tolerances = field(default_factory=Tolerances)


class PermittedResults:
    """Permitted results of a program on one set of inputs, evaluated on demand.

    The program must be one function (see `conformance.transforms.inline`). Its results are arrays.
    """

    def __init__(
        self,
        program: Program,
        inputs: Sequence[Array],
        platform: str = "cpu",
        infeeds: Sequence[Sequence[Array]] | None = None,
        shifts: Sequence[Override] = (),
        taken: Mapping[str, Array] | None = None,
        *,
        has_sets: bool = True,
    ) -> None:
        """Evaluate the program once, unperturbed; `platform` selects the figures of rules.

        Results with `shifts` are shifted in every evaluation. Values of main in `taken` replace the
        reference's in all later operations; as results of the program they stay the reference's.
        Without sets (`has_sets`), the hull decides alone.

        Raises:

            EvaluationError: if the program cannot be evaluated.
        """
        self.program, self.inputs = program, inputs
        self._has_sets = has_sets
        self._infeeds, self._shifts, self._taken = infeeds, shifts, taken or {}
        self._whole, self._platform = insert_region_barriers(program), platform
        self._program = self._whole
        self._seed = int(program.digest, 16) % (1 << 32)
        self._count = len(program.main.result_types) * program.process_count
        self._numbers = tuple(range(self._count))
        as_it_is = not shifts and not self._taken
        self.expected: Values = (
            self._evaluate_unchanged(program) if as_it_is else self._run(inputs)[0]
        )
        self._clear_samples()

    @cached_property
    def sets(self) -> list[ValueSet] | None:
        """The sets of what the results may be; None if the program cannot be followed on sets."""
        if self._shifts or not self._has_sets:
            return None
        return evaluate_sets(self.program, self.inputs, self._platform, self._taken)

    @cached_property
    def strict_sets(self) -> list[ValueSet] | None:
        """The sets of results if each operation rounds as it stands, within its own tolerance."""
        given = self.program, self.inputs, self._platform, self._taken
        return evaluate_sets(*given, is_strict=True)

    @property
    def may_round(self) -> bool:
        """Whether an operation on floating-point numbers that leads to the results may round."""
        return any(map(_may_round, self._program.walk()))

    def _clear_samples(self) -> None:
        self._moving: _MovingPart | None = None
        self._moved: list[Values] = []
        self._more: list[Values] = []
        self._unrounded: list[Values] | None = None
        self._flushed: list[Values] | None = None
        self._filled: list[Values] | None = None
        self.reasons: tuple[str, ...] = ()

    def restrict_to(self, numbers: Sequence[int]) -> None:
        """Restrict further evaluations to these results; other results may still be returned."""
        if self._program.process_count > 1:
            return
        known = set(numbers) <= set(self._numbers)
        if known and (self._has_samples or len(numbers) == len(self._numbers)):
            return
        ends = self._whole.main.body.operations[-1].operands
        self._program = restrict_to(self._whole, [ends[number] for number in numbers])
        self._numbers = tuple(numbers)
        self._clear_samples()

    @property
    def _has_samples(self) -> bool:
        return any(one is not None for one in (self._moving, self._flushed, self._filled))

    @phase("evaluation", of=EVALUATIONS)
    def _evaluate_unchanged(self, program: Program) -> Values:
        return evaluate(program, self.inputs, infeeds=self._infeeds)

    @phase("evaluation", of=EVALUATIONS)
    def _run(
        self, inputs: Iterable[Array], program: Program | None = None, **how: Any
    ) -> tuple[Values, PerturbationHook]:
        inputs, program = tuple(inputs), program or self._program
        names = [argument.name for argument in program.main.arguments]
        shares = [dict(zip(names, one, strict=True)) for one in split_by_process(program, inputs)]
        others = dict(zip(processes(program.process_grid or (1, 1)), shares, strict=True))
        follower = PerturbationHook(
            shares[0], self._platform, program.main.body.operations,
            shifts=self._shifts, taken=self._taken, others=others, **how,
        )  # fmt: skip
        results = evaluate(program, inputs, on_result=follower, infeeds=self._infeeds)
        if len(shares) > 1:
            return results, follower
        ends = program.main.body.operations[-1].operands
        placed: list[Any] = [None] * self._count
        for number, value, result in zip(self._numbers, ends, results, strict=True):
            placed[number] = follower.found.get(value.name, result)
        return tuple(placed), follower

    @phase("moved")
    def moved_samples(self, count: int = SAMPLES + 2) -> list[Values]:
        """Return the results of `count` evaluations that move all intermediate results."""
        for directions in self._directions()[len(self._moved) : count]:
            self._moved.append(self._move(directions))
        return self._moved[:count]

    def _move(self, directions: Directions) -> Values:
        """Return the results of one evaluation that moves them; the first finds the moving part."""
        if self._moving is None:
            whole = separate_uses(self._program, self._taken)
            results, follower = self._run(
                self.inputs, whole.program, directions=directions, apart=whole.apart
            )
            if self._program.process_count == 1:
                self._moving = _find_moving_part(whole.program, self.inputs, follower, whole.apart)
            return results
        moving = self._moving
        results, _ = self._run(
            moving.inputs, moving.program, directions=directions, apart=moving.apart,
            tolerances=moving.tolerances,
        )  # fmt: skip
        ends = zip(self._numbers, moving.program.main.body.operations[-1].operands, strict=True)
        still = {number for number, value in ends if value.name in moving.unmoved}
        return tuple(
            self.expected[index] if index in still else result
            for index, result in enumerate(results)
        )

    def _directions(self) -> list[Directions]:
        ways: list[Directions] = [_uniform_directions(1.0), _uniform_directions(-1.0)]
        for number in range(SAMPLES):
            random = np.random.default_rng((self._seed, number))
            ways.append(_element_directions(random) if number % 4 else _result_directions(random))
        return ways

    @property
    def has_all_moves(self) -> bool:
        """Whether moving everything up and everything down gives the extreme results.

        It does if only the last operation moves.
        """
        if self._moving is None or len(self._moved) < 2:
            return False
        working = working_operations(self._moving.program)
        return len(working) == 1 and has_independent_tolerances(working[0])

    @phase("more")
    def additional_samples(self, count: int) -> list[Values]:
        """Return the results of `count` further evaluations in random directions."""
        for number in range(len(self._more), count):
            random = np.random.default_rng((self._seed, number, 3))
            self._more.append(self._move(_element_directions(random)))
        return self._more[:count]

    @phase("more")
    def unrounded_samples(self) -> list[Values]:
        """Return results with explicit roundings moved or left out.

        Empty without such roundings.
        """
        if self._unrounded is None:
            names = (operation.name for operation in self._program.walk())
            is_any = any(name in OPS and OPS[name].only_rounds for name in names)
            self._unrounded = [*self._unrounded_evaluations()] if is_any else []
        return self._unrounded

    def _unrounded_evaluations(self) -> Iterator[Values]:
        """Yield results with explicit roundings left out or moved."""
        for program in dict.fromkeys((self._program, remove_roundings(self._program))):
            whole, tolerances = separate_uses(program, self._taken), Tolerances(excess=EXCESS)
            for directions in self._directions():
                yield self._run(
                    self.inputs, whole.program, directions=directions, apart=whole.apart,
                    tolerances=tolerances,
                )[0]  # fmt: skip
            yield self._run(self.inputs, program)[0]

    @phase("flushed")
    def flushed_samples(self) -> list[Values]:
        """Return results with subnormals as zero, moved and not.

        Empty if there are no subnormals.
        """
        if self._flushed is None:
            whole = flush_everything()
            given = tuple(self.inputs)
            inputs = whole.flush_inputs(given)
            results, follower = self._run(inputs, flush=whole)
            lossy, found = self._run(inputs, flush=flush_everything(1.0))
            met = any(new is not old for new, old in zip(inputs, given, strict=True))
            self._flushed = []
            if met or follower.subnormal or found.subnormal:
                self._flushed = [results, lossy, *self._flushed_evaluations(given, inputs)]
        return self._flushed

    def _flushed_evaluations(self, given: Values, inputs: Values) -> Iterator[Values]:
        """Yield results with some subnormals as zero; `inputs` are `given` after flushing."""
        for way in (1.0, -1.0):
            yield self._run(
                inputs, flush=flush_everything(way), directions=_uniform_directions(way)
            )[0]
        random = np.random.default_rng(self._seed)
        yield self._run(inputs, flush=flush_everything(), directions=_element_directions(random))[0]
        yield self._run(given, flush=flush_everything())[0]
        yield self._run(inputs, flush=flush_everything(-1.0))[0]
        for sign in (1.0, -1.0):
            flushing = flush_sign(sign)
            yield self._run(flushing.flush_inputs(given), flush=flushing)[0]
        for number in range(PARTLY_FLUSHED):
            random = np.random.default_rng((self._seed, number, 2))
            flushing = flush_at_random(random)
            some = inputs if number % 2 else given
            directions = _element_directions(random) if number % 4 > 1 else None
            yield self._run(some, flush=flushing, directions=directions)[0]

    def arithmetic_samples(self, arithmetic: Arithmetic) -> list[Values]:
        """Return results of an arithmetic, moved and not.

        Empty if that arithmetic changes nothing.
        """
        if arithmetic is Arithmetic.FLUSHED:
            return self.flushed_samples()
        return self.unrounded_samples()

    @phase("filled")
    def filled_samples(self, count: int = FILLED_SAMPLES) -> list[Values]:
        """Return `count` results with arbitrary values in unspecified intermediate elements.

        Empty if all are specified. `reasons` says why they are not.
        """
        filled = self._filled or []
        if filled or self._filled is None:
            for number in range(len(filled), count):
                random = np.random.default_rng((self._seed, number, 1))
                results, follower = self._run(self.inputs, fill=random, filling=filling(number))
                if not follower.opened:
                    break
                self.reasons = tuple(follower.opened)
                filled.append(results)
        self._filled = filled
        return filled


def _find_moving_part(
    program: Program, inputs: Sequence[Array], follower: PerturbationHook, apart: frozenset[str]
) -> _MovingPart:
    """Return the part of a program whose values change when results are moved within their
    tolerances.

    This is the whole program if operations act on more than tensors.
    """
    whole = _MovingPart(program, tuple(inputs), apart)
    main = program.main
    operations = main.body.operations[:-1]
    ends = main.body.operations[-1].operands
    values = [v for operation in operations for v in (*operation.results, *used_values(operation))]
    if not all(isinstance(value.type, TensorType) for value in (*values, *ends)):
        return whole
    kept = [
        index
        for index, operation in enumerate(operations)
        if any(value.name in follower.affected for value in operation.results)
    ]
    if len(kept) == len(operations):
        return whole
    less = extract(program, kept, ends)
    given = tuple(follower.values[value.name] for value in less.main.arguments)
    unmoved = frozenset(value.name for value in ends if value.name not in follower.affected)
    return _MovingPart(less, given, apart, unmoved)


def _may_round(operation: Operation) -> bool:
    record = OPS.get(operation.name)
    if record is None or record.rounding in (Rounding.MOVES, Rounding.EXACT):
        return False
    types = [result.type for result in operation.results if isinstance(result.type, TensorType)]
    return any(one.stored.is_float or one.stored.is_complex for one in types)


def _uniform_directions(way: float) -> Directions:
    return lambda shape: np.full(shape, way)


def _element_directions(random: np.random.Generator) -> Directions:
    """Return a function that draws a direction from -1 to 1 for every element."""
    return lambda shape: random.integers(0, 2, shape) * 2.0 - 1.0


def _result_directions(random: np.random.Generator) -> Directions:
    """Return directions drawn for each result, the same for all its elements."""
    return lambda shape: np.full(shape, random.integers(0, 2) * 2.0 - 1.0)
