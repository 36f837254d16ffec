"""What a program's results may be: the reference's, evaluated again and again.

Every time all intermediate results are moved within their own tolerances, in directions chosen at
random, alike, or all one way; or flushed to zero, or filled anew where the specification leaves
them open. What the results take as values then is what conformance/judging/perturbation/judge.py
judges by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conformance.judging.lapack import free_choices
from conformance.judging.perturbation.error_model import Directions, moves_by_tolerances
from conformance.judging.perturbation.flushing import at_random, everything, of_sign
from conformance.judging.perturbation.hook import Follower, Tolerances, Values
from conformance.judging.perturbation.overrides import Override
from conformance.judging.perturbation.separate_uses import separated
from conformance.known.hypothesis import Arithmetic, Hypothesis
from conformance.phases import phase
from conformance.transforms.dead_code import needed
from conformance.transforms.extract import part
from conformance.transforms.observe import observable
from conformance.transforms.unrounded import without_roundings
from conformance.transforms.values import used_by
from reference.interpreter.evaluate import evaluate, split_by_process
from reference.ir.processes import processes
from reference.ir.program import Program, TensorType
from reference.ir.types import Array
from reference.ops.structure import is_constant
from reference.ops.table import OPS

SAMPLES = 8
"""Evaluations in random directions; with those all up and all down, ten besides the unmoved one.

Eight independent directions of many small errors reach about 1.4 standard deviations of their sum,
on either side. A margin of a whole width of the hull on each side (`MARGIN` of hull.py) makes that
more than four, or seven of what roundings do that are spread evenly over their tolerance."""

EVALUATIONS = SAMPLES + 3
"""As many there are of a program on a set of inputs where rounding is all that differs."""

PARTLY_FLUSHED = 8
"""Evaluations with subnormal results of some operations, or some elements of them, as zero; half
of them with results moved as well, as what is contracted is rounded otherwise too."""

OPEN_SAMPLES = 3
"""Evaluations with other values where the specification leaves results open, the first with NaN."""


@dataclass(frozen=True, slots=True)
class _Moving:
    """What moves of a program: the operations that moves reach, on the values of the others."""

    program: Program
    inputs: tuple[Any, ...]
    apart: frozenset[str]
    unmoved: frozenset[str] = frozenset()
    """Results of the program that moves do not reach."""
    tolerances: Tolerances = field(default_factory=Tolerances)


class Permitted:
    """What a program's results may be on one set of inputs, evaluated as far as is asked for.

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
    ) -> None:
        """Evaluate the program once, as it is; `platform` chooses between figures of rules.

        Results of which there are shifts are taken as shifted, in every evaluation. Values of main
        that are `taken` stand in place of what the reference makes of them, for all that comes
        after; as results of the program they are what the reference makes.

        Raises:
            EvaluationError: when the program cannot be evaluated.
        """
        self.program, self.inputs = program, inputs
        self._infeeds, self._shifts, self._taken = infeeds, shifts, taken or {}
        self._whole, self._platform = observable(program), platform
        self._program = self._whole
        self._seed = int(program.digest, 16) % (1 << 32)
        self._count = len(program.main.result_types) * program.process_count
        self._numbers = tuple(range(self._count))
        as_it_is = not shifts and not self._taken
        self.expected: Values = self._as_it_is(program) if as_it_is else self._run(inputs)[0]
        self._forget()

    @property
    def platform(self) -> str:
        """What computes: it chooses between figures of rules."""
        return self._platform

    @property
    def is_plain(self) -> bool:
        """Whether results depend on the inputs alone."""
        return not (self._infeeds or self._shifts or self._taken)

    def _forget(self) -> None:
        self._moving: _Moving | None = None
        self._moved: list[Values] = []
        self._more: list[Values] = []
        self._unrounded: list[Values] | None = None
        self._flushed: list[Values] | None = None
        self._filled: list[Values] | None = None
        self._chosen: list[Values] | None = None
        self.reasons: tuple[str, ...] = ()
        self.choices: tuple[str, ...] = ()

    def only(self, numbers: Sequence[int]) -> None:
        """Make further evaluations give these results at least: the others may be left out."""
        if self._program.process_count > 1:
            return
        known = set(numbers) <= set(self._numbers)
        if known and (self._evaluated or len(numbers) == len(self._numbers)):
            return
        ends = self._whole.main.body.operations[-1].operands
        self._program = needed(self._whole, [ends[number] for number in numbers])
        self._numbers = tuple(numbers)
        self._forget()

    @property
    def _evaluated(self) -> bool:
        return any(
            one is not None for one in (self._moving, self._flushed, self._filled, self._chosen)
        )

    @phase("evaluation", of=EVALUATIONS)
    def _as_it_is(self, program: Program) -> Values:
        return evaluate(program, self.inputs, infeeds=self._infeeds)

    @phase("evaluation", of=EVALUATIONS)
    def _run(
        self, inputs: Iterable[Array], program: Program | None = None, **how: Any
    ) -> tuple[Values, Follower]:
        inputs, program = tuple(inputs), program or self._program
        names = [argument.name for argument in program.main.arguments]
        shares = [dict(zip(names, one, strict=True)) for one in split_by_process(program, inputs)]
        others = dict(zip(processes(program.process_grid or (1, 1)), shares, strict=True))
        follower = Follower(
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
    def moved(self, count: int = SAMPLES + 2) -> list[Values]:
        """The results with all intermediate ones moved, of so many evaluations."""
        for directions in self._ways()[len(self._moved) : count]:
            self._moved.append(self._move(directions))
        return self._moved[:count]

    def _move(self, directions: Directions) -> Values:
        """The results of one evaluation that moves them. The first tells what moves at all."""
        if self._moving is None:
            whole = separated(self._program, self._taken)
            results, follower = self._run(
                self.inputs, whole.program, directions=directions, apart=whole.apart
            )
            if self._program.process_count == 1:
                self._moving = _moving(whole.program, self.inputs, follower, whole.apart)
            return results
        moving = self._moving
        results, _ = self._run(
            moving.inputs, moving.program, directions=directions, apart=moving.apart,
            tolerances=moving.tolerances,
        )  # fmt: skip
        ends = zip(self._numbers, moving.program.main.body.operations[-1].operands, strict=True)
        still = {number for number, value in ends if value.name in moving.unmoved}
        return tuple(
            self.expected[number] if number in still else one for number, one in enumerate(results)
        )

    def _ways(self) -> list[Directions]:
        ways: list[Directions] = [_alike(1.0), _alike(-1.0)]
        for number in range(SAMPLES):
            random = np.random.default_rng((self._seed, number))
            ways.append(_each(random) if number % 4 else _whole(random))
        return ways

    @property
    def has_all_moves(self) -> bool:
        """Whether results all up and all down say it all: one operation moves them, the last."""
        if self._moving is None or len(self._moved) < 2:
            return False
        inside = self._moving.program.main.body.operations[:-1]
        working = [one for one in inside if not is_constant(one)]
        return len(working) == 1 and moves_by_tolerances(working[0])

    @phase("more")
    def more(self, count: int) -> list[Values]:
        """The results of so many further evaluations in random directions."""
        for number in range(len(self._more), count):
            random = np.random.default_rng((self._seed, number, 3))
            self._more.append(self._move(_each(random)))
        return self._more[:count]

    @phase("more")
    def unrounded(self) -> list[Values]:
        """The results moved by what is only rounded, too, and those without it; none where nothing
        is rounded so."""
        if self._unrounded is None:
            names = (one.name for one in self._program.walk())
            is_any = any(name in OPS and OPS[name].only_rounds for name in names)
            self._unrounded = [*self._ways_to_leave_out()] if is_any else []
        return self._unrounded

    def _ways_to_leave_out(self) -> Iterator[Values]:
        """The results where what is only rounded is left as it was, or may be."""
        for program in dict.fromkeys((self._program, without_roundings(self._program))):
            whole, tolerances = separated(program, self._taken), Tolerances(unrounded=True)
            for directions in self._ways():
                yield self._run(
                    self.inputs, whole.program, directions=directions, apart=whole.apart,
                    tolerances=tolerances,
                )[0]  # fmt: skip
            yield self._run(self.inputs, program)[0]

    @phase("flushed")
    def flushed(self) -> list[Values]:
        """The results with subnormal numbers as zero, moved and not; none where there are none."""
        if self._flushed is None:
            whole = everything()
            given = tuple(self.inputs)
            inputs = whole.inputs(given)
            results, follower = self._run(inputs, flush=whole)
            lossy, found = self._run(inputs, flush=everything(1.0))
            met = any(new is not old for new, old in zip(inputs, given, strict=True))
            self._flushed = []
            if met or follower.subnormal or found.subnormal:
                self._flushed = [results, lossy, *self._ways_to_flush(given, inputs)]
        return self._flushed

    def _ways_to_flush(self, given: Values, inputs: Values) -> Iterator[Values]:
        """The results with some subnormal numbers as zero; `inputs` are `given` without any."""
        for way in (1.0, -1.0):
            yield self._run(inputs, flush=everything(way), directions=_alike(way))[0]
        random = np.random.default_rng(self._seed)
        yield self._run(inputs, flush=everything(), directions=_each(random))[0]
        yield self._run(given, flush=everything())[0]
        yield self._run(inputs, flush=everything(-1.0))[0]
        for sign in (1.0, -1.0):
            flushing = of_sign(sign)
            yield self._run(flushing.inputs(given), flush=flushing)[0]
        for number in range(PARTLY_FLUSHED):
            random = np.random.default_rng((self._seed, number, 2))
            flushing = at_random(random)
            some = inputs if number % 2 else given
            directions = _each(random) if number % 4 > 1 else None
            yield self._run(some, flush=flushing, directions=directions)[0]

    def by(self, hypothesis: Hypothesis) -> list[Values]:
        """The results by the arithmetic of a hypothesis, moved and not; none where all are as by
        the program's own."""
        if hypothesis.arithmetic is Arithmetic.FLUSHED:
            return self.flushed()
        return self.unrounded()

    @phase("filled")
    def filled(self) -> list[Values]:
        """The results with other values where intermediate ones are left open."""
        if self._filled is None:
            self._filled = []
            for number in range(OPEN_SAMPLES):
                random = np.random.default_rng((self._seed, number, 1))
                results, follower = self._run(self.inputs, fill=random, nan=not number)
                if not follower.opened:
                    break
                self.reasons = tuple(follower.opened)
                self._filled.append(results)
        return self._filled

    @phase("chosen")
    def chosen(self) -> list[Values]:
        """The results with other choices, as of the signs of eigenvectors; none where none is made.

        `choices` names them.
        """
        if self._chosen is None:
            self._chosen = []
            for number in range(free_choices.VARIATIONS):
                random = np.random.default_rng((self._seed, number, 3))
                results, follower = self._run(self.inputs, fill=random, choose=number)
                if not follower.opened:
                    break
                self.choices = tuple(follower.opened)
                self._chosen.append(results)
        return self._chosen


def _moving(
    program: Program, inputs: Sequence[Array], follower: Follower, apart: frozenset[str]
) -> _Moving:
    """The part of a program that moves change, on the values of all else; the whole program where
    operations act on more than tensors."""
    whole = _Moving(program, tuple(inputs), apart)
    main = program.main
    operations = main.body.operations[:-1]
    ends = main.body.operations[-1].operands
    values = [v for one in operations for v in (*one.results, *used_by(one))]
    if not all(isinstance(value.type, TensorType) for value in (*values, *ends)):
        return whole
    kept = [
        number
        for number, one in enumerate(operations)
        if any(value.name in follower.affected for value in one.results)
    ]
    if len(kept) == len(operations):
        return whole
    less = part(program, kept, ends)
    given = tuple(follower.values[value.name] for value in less.main.arguments)
    unmoved = frozenset(value.name for value in ends if value.name not in follower.affected)
    return _Moving(less, given, apart, unmoved)


def _alike(way: float) -> Directions:
    return lambda shape: np.full(shape, way)


def _each(random: np.random.Generator) -> Directions:
    """Every element its own way."""
    return lambda shape: random.integers(0, 2, shape) * 2.0 - 1.0


def _whole(random: np.random.Generator) -> Directions:
    """All elements of a result one way, those of the next perhaps another."""
    return lambda shape: np.full(shape, random.integers(0, 2) * 2.0 - 1.0)
