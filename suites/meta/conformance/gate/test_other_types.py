"""Shipped entries about results of other types or shapes know no value that they do not predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import conformance.gate
from conformance.catalog import rule_of
from conformance.gate.counterexamples import parse_inputs
from conformance.gate.expectations import Expectation
from conformance.gate.reading import read
from conformance.judging.compare import MALFORMED, describe_malformed, judge_operation
from conformance.known.programs import PROGRAMS
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array, element_type_of, from_bits, to_bits

SHIPPED = Path(conformance.gate.__file__).parent / "known"
ENTRIES = [
    pytest.param(entry, Hardware(path.stem.partition("-")[0]), id=entry.id)
    for path in sorted(SHIPPED.glob("*.toml"))
    for entry in read(path)
    if {*entry.kinds} & {*MALFORMED} and entry.counterexample
]


def predictions(
    entry: Expectation, platform: Hardware, program: Program, inputs: tuple[Array, ...]
) -> Iterator[tuple[Program, tuple[Array, ...]]]:
    """Yield the programs that the entry's classes predict, and their results."""
    for one in PROGRAMS:
        if one.several not in (None, program.process_count > 1) or one.platform not in (
            "",
            platform,
        ):
            continue
        if one.rewrite and one.label in entry.kinds:
            yield from ((other, evaluate(other, inputs)) for other, *_ in one.rewrite(program))


def corrupted_results(results: tuple[Array, ...]) -> Iterator[list[Array]]:
    """Yield copies of results with a few bits of one element flipped, for some elements."""
    for number, result in enumerate(results):
        for place in {0, result.size // 2, result.size - 1} if result.size else ():
            of, bits = element_type_of(result), to_bits(result).copy()
            flat = bits.reshape(result.size, -1)
            flat[place] ^= flat.dtype.type(1 if of.bits < 8 else 0x55)
            changed = [*results]
            changed[number] = from_bits(bits, of).reshape(result.shape)
            yield changed


@pytest.mark.parametrize(("entry", "platform"), ENTRIES)
def test_another_value_in_a_result_of_another_type_is_not_known(
    entry: Expectation, platform: Hardware
) -> None:
    assert entry.counterexample is not None
    program = parse_module(entry.counterexample.program)
    inputs = parse_inputs(program, entry.counterexample.inputs)
    expected = evaluate(program, inputs)

    def kinds(actual: Sequence[Array]) -> set[str]:
        found = judge_operation(program, inputs, expected, actual, platform)
        return {one.kind for one in found.failing}

    def is_wrong(other: Program, results: Sequence[Array], changed: Sequence[Array]) -> bool:
        if rule_of(other.subject) is None:
            return True
        return judge_operation(other, inputs, results, changed, platform).verdict.fails

    predicted = [
        (other, results)
        for other, results in predictions(entry, platform, program, inputs)
        if describe_malformed(expected, results)
    ]
    assert predicted or "unsigned element type" in entry.kinds
    for other, results in predicted:
        assert kinds(results) <= {*entry.kinds}
        for changed in corrupted_results(results):
            assert not is_wrong(other, results, changed) or not kinds(changed) <= {*entry.kinds}
