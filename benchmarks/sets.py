"""Share of results whose set is known: `python -m benchmarks.sets [--programs 300] [--seed 0]`, or
`--folder DIR` for the programs that `benchmarks.third_party export DIR` made.

A result of a program must lie in the set of what the program may give. The set says nothing where
it has all values, for example after an operation that no enclosure follows. Generates the programs
of a campaign and evaluates them on sets; no backend is involved. Prints the share of the elements
with a set that has not all values, the programs that were not followed at all, and the operations
that gave all values though their operands were known. Elements that change with unspecified results
may have any value, and are not counted.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from conformance.frontends.archives import read_inputs
from conformance.frontends.modules import Unit, read_units
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.sets import evaluate as evaluation
from conformance.judging.sets.enclosures import Enclosures
from conformance.judging.sets.value_set import ValueSet
from conformance.transforms.inline import inline
from generators.chains.strategy import program_at
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics.alike import equal_elements
from reference.ops.xla.lowering import lower_program

MOST_SHOWN = 15
"""Operations that are printed."""

AIM = 0.95
"""The target for the share of elements."""


def all_values(one: ValueSet) -> Array:
    """Return a mask of the elements that may have every number of their type."""
    every = ValueSet.everything(one.shape, one.element_type).intervals[0]
    if one.element_type.is_boolean or one.is_point:
        return np.zeros(one.shape, np.bool_)
    masks = [(low == every[0]) & (high == every[1]) for low, high in one.rounded.intervals]
    return np.any(masks, axis=0)


class CountedEnclosures(Enclosures):
    """Enclosures that count results that may be anything, of operands that may not."""

    lost: ClassVar[Counter[str]] = Counter()

    def of(self, operation: Operation, operands: Any) -> tuple[ValueSet, ...]:
        """Return the sets of an operation's results, and count them."""
        found = super().of(operation, operands)
        if not any(all_values(operand).any() for operand in operands):
            self.lost[operation.name] += sum(int(all_values(one).sum()) for one in found)
        return found


def specified_elements(permitted: PermittedResults) -> list[Array]:
    """Return a mask for each result of the elements that no unspecified result changes."""
    others = permitted.filled_samples()
    return [
        np.all([equal_elements(expected, one[index]) for one in others], axis=0)
        if others
        else np.ones(expected.shape, np.bool_)
        for index, expected in enumerate(permitted.expected)
    ]


def programs_with_inputs(seed: int) -> Iterator[tuple[Program, Sequence[Array]]]:
    """Yield programs of a campaign, each as one function, with inputs of its first execution."""
    number = 0
    while True:
        case = program_at(seed, number, frozenset(), None)
        lowered = lower_program(case.program)
        yield inline(lowered).program, materialise(lowered, case.inputs[0])
        number += 1


def programs_of_folder(folder: Path) -> Iterator[tuple[Program, Sequence[Array]]]:
    """Yield the exported programs of a folder, each as one function, with its own inputs."""
    for path in sorted(folder.glob("*.mlir")):
        for unit in read_units(path):
            if isinstance(unit, Unit):
                yield unit.flat.program, read_inputs(unit, path.with_suffix(".npz")).arrays


def main() -> None:
    """Evaluate programs on sets, and print the shares."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--programs", type=int, default=300)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--folder", type=Path, help="exported programs, in place of a campaign's")
    given = asked.parse_args()
    if given.folder is not None and not any(given.folder.glob("*.mlir")):
        asked.error(
            f"{given.folder} has no programs: `benchmarks.third_party export DIR` makes them"
        )
    evaluation.Enclosures = CountedEnclosures
    tried = unfollowed = elements = open_elements = 0
    programs = (
        programs_of_folder(given.folder) if given.folder else programs_with_inputs(given.seed)
    )
    for program, inputs in islice(programs, given.programs):
        with np.errstate(all="ignore"):
            try:
                permitted = PermittedResults(program, inputs)
                specified = specified_elements(permitted)
            except EvaluationError:
                continue
            sets = permitted.sets
        tried += 1
        elements += sum(int(mask.sum()) for mask in specified)
        unfollowed += sets is None
        for index, mask in enumerate(specified):
            open_elements += int((mask if sets is None else mask & all_values(sets[index])).sum())
    share = 1 - open_elements / max(elements, 1)
    print(f"{tried} programs, {elements} elements: {share:.1%} have a set ({AIM:.0%} is the aim)")
    print(f"{unfollowed} programs cannot be followed")
    for name, count in CountedEnclosures.lost.most_common(MOST_SHOWN):
        if count:
            print(f"{count:8} elements of {name} may be anything")


if __name__ == "__main__":
    main()
