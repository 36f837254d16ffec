"""Outcomes of slips: each module with a slip is read back, evaluated and judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from benchmarks.seeded_rewritings.sites import close_site, opcode_of, open_site, sites_in
from benchmarks.seeded_rewritings.slips import SLIPS
from conformance.backends.base import NotReadBack
from conformance.backends.compiled.modules import read_back
from conformance.executors.limit import TooSlow, limit_evaluation
from conformance.judging.compare import judge_operation
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import is_single, judge_program
from conformance.tolerance.hardware import Hardware
from conformance.transforms.inline import inline
from reference.ir.program import Program, TensorType
from reference.ir.types import Array
from reference.numerics.alike import equal_results

SECONDS = 1.0
"""The limit on one evaluation: a slip in a condition makes a loop without end."""


Failures = dict[str, tuple[int, int]]
"""The numbers of wrong elements and of predicted elements, by class."""


class Ending(Enum):
    """The outcome of a slip."""

    FLAGGED = "flagged"
    EQUIVALENT = "equivalent: no bit of a result changes"
    PERMITTED = "within the tolerance"
    NO_PROGRAM = "no valid module: refused"


@dataclass(frozen=True, slots=True)
class SeededModule:
    """A slip in a module.

    Attributes:
        module: the name of the module.
        slip: the kind of slip.
        opcode: the opcode of the changed instruction.
        ending: the outcome.
        kind: the class of the divergence, "" where it is not flagged.
    """

    module: str
    slip: str
    opcode: str
    ending: Ending
    kind: str = ""


@dataclass(frozen=True, slots=True)
class OptimisedProgram:
    """A program, and the module that a compiler made of it."""

    name: str
    program: Program
    module: bytes
    hardware: Hardware = Hardware.CPU


class _Judge:
    """Judge of a program's results on some sets of inputs."""

    def __init__(self, optimised: OptimisedProgram, sets: Sequence[Sequence[Array]]) -> None:
        self._program = inline(optimised.program).program
        self._hardware, self._sets = optimised.hardware, sets
        self._permitted = [PermittedResults(self._program, one, self._hardware) for one in sets]

    def failures(self, number: int, results: Sequence[Array]) -> Failures:
        """Return the classes of divergences on a set of inputs, with their wrong elements."""
        permitted = self._permitted[number]
        if is_single(self._program):
            judgement = judge_operation(
                self._program, self._sets[number], permitted.expected, results, self._hardware
            )
        else:
            judgement = judge_program(permitted, results)
        return {
            one.kind or one.verdict.value: (one.wrong, one.predicted) for one in judgement.failing
        }


def seed_slips(
    optimised: OptimisedProgram, sets: Sequence[Sequence[Array]], most: int = 0
) -> Iterator[SeededModule]:
    """Yield the module with each slip (a wrong rewriting) that is possible in it, judged on sets of
    inputs. A slip is flagged if the changed module fails and the unchanged module does not fail
    in the same way. `most` is the number of places in which each kind of slip is tried, 0 for
    all.

    Raises:
        NotReadBack: when the module itself cannot be read.
    """
    judge = _Judge(optimised, sets)
    right = read_back(optimised.module, optimised.program)
    results = [right.evaluate(one) for one in sets]
    own = [judge.failures(index, result) for index, result in enumerate(results)]
    counts: Counter[str] = Counter()
    for number, position in sites_in(optimised.module):
        for name, slip in SLIPS.items():
            if most and counts[name] >= most:
                continue
            site, module = open_site(optimised.module, number, position)
            opcode = opcode_of(site.instruction)
            if not slip(site):
                continue
            counts[name] += 1
            changed = close_site(site, module, number)
            ending, kind = _outcome_of_slip(changed, optimised.program, sets, results, own, judge)
            yield SeededModule(optimised.name, name, opcode, ending, kind)


def _outcome_of_slip(
    module: bytes,
    program: Program,
    sets: Sequence[Sequence[Array]],
    results: Sequence[Sequence[Array]],
    own: Sequence[Failures],
    judge: _Judge,
) -> tuple[Ending, str]:
    ending = Ending.EQUIVALENT
    try:
        read = read_back(module, program)
        for index, inputs in enumerate(sets):
            with limit_evaluation(SECONDS):
                found = read.evaluate(inputs)
            failures = judge.failures(index, found)
            if failures != own[index]:
                new = {*failures} - {*own[index]} or {*failures} or {*own[index]}
                return Ending.FLAGGED, min(new)
            if not equal_results(found, results[index]):
                ending = Ending.PERMITTED
    except NotReadBack:
        return Ending.NO_PROGRAM, ""
    except TooSlow:
        return Ending.FLAGGED, "no answer"
    return ending, ""


def draw_inputs(program: Program, count: int, seed: int = 0) -> list[list[Array]]:
    """Return sets of inputs, whose values are spread over small numbers of both signs."""
    source = np.random.default_rng(seed)
    return [
        [_draw_array(argument.type, source) for argument in program.main.arguments]
        for _ in range(count)
    ]


def _draw_array(of: object, source: np.random.Generator) -> Array:
    assert isinstance(of, TensorType)
    element, sizes = of.element, of.static_shape
    if element.is_boolean:
        return source.integers(0, 2, sizes).astype(np.bool_)
    if element.is_integer:
        low = -5 if element.is_signed else 0
        return source.integers(low, 6, sizes).astype(of.storage)
    drawn = source.normal(0, 2, sizes)
    if element.is_complex:
        drawn = drawn + 1j * source.normal(0, 2, sizes)
    return np.asarray(drawn).astype(of.storage)
