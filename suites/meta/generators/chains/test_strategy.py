"""Programs of several operations: valid, evaluated, the same everywhere, of all that there is."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from conformance.fuzzing.steering.coverage_counts import pairs_of
from generators.case.stream import stream
from generators.chains.chain import Chain
from generators.chains.guide import Guide
from generators.chains.links import is_link, linked_ops
from generators.chains.strategies import programs
from generators.chains.strategy import PATTERNS, program_at
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.interpreter.quantized import has_quantized_values, is_quantized_operation
from reference.interpreter.verify import check
from reference.ir.op import Dialect
from reference.ir.program import TensorType, TokenType, TupleType
from reference.ir.types import ALL, ELEMENT_TYPES
from reference.ops.structure import is_constant
from reference.ops.table import OPS
from reference.ops.xla.lowering import lower_program

SHAPES = ((), (1,), (3,), (2, 3), (0,), (4, 1, 2), (33,))


def ways_to_fail(case) -> list[str]:
    """Return the constraints that a case violates; empty if it is valid. Evaluate it."""
    broken = [f"{one.name} breaks {ids}" for one, ids in check(case.program)]
    if not broken:
        for recipe in case.inputs:
            evaluate(case.program, materialise(case.program, recipe))
    return broken


def test_every_program_is_valid_and_evaluated() -> None:
    for number in range(150):
        assert ways_to_fail(program_at(71, number)) == [], number


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_drawn_by_hypothesis_they_are_valid_too(case) -> None:
    assert ways_to_fail(case) == []


def test_the_same_number_is_the_same_program() -> None:
    assert program_at(3, 17) == program_at(3, 17)
    assert program_at(3, 17) != program_at(4, 17)


@pytest.mark.parametrize("pattern", PATTERNS, ids=[p.name for p in PATTERNS])
def test_every_pattern_is_valid_on_the_types_it_takes(pattern) -> None:
    written = 0
    for number, of in enumerate(t for t in ALL for _ in range(1)):
        for place, shape in enumerate(SHAPES):
            kind = TensorType(shape, of)
            if (number + place) % 3 or not pattern.takes(kind):
                continue
            chain = Chain(stream(1, 100 * number + place), exact=True)
            chain.data.append(chain.parameter(kind))
            result = pattern.write(chain, chain.data[0])
            assert check(chain.case([result]).program) == [], kind
            written += 1
    assert written


def test_there_are_patterns_for_every_type_and_ops_for_most() -> None:
    for of in ALL:
        assert any(pattern.takes(TensorType((3,), of)) for pattern in PATTERNS), of
    assert len(set(linked_ops(ELEMENT_TYPES["f32"]))) > 60


def test_most_programs_have_several_operations_and_cover_all_ops() -> None:
    names: Counter[str] = Counter()
    lengths: list[int] = []
    for number in range(800):
        operations = program_at(5, number).program.main.body.operations[:-1]
        working = [one.name for one in operations if not is_constant(one)]
        names.update(working)
        lengths.append(len(working))
    assert max(lengths) >= 12
    assert sum(length > 1 for length in lengths) > 640
    known = {record.name for record in OPS.values() if is_link(record)}
    assert len(known & set(names)) > 0.75 * len(known)
    assert known == {name for name in known if OPS[name].dialect is not Dialect.MHLO}


def test_ops_of_xla_builder_are_linked_to_others_and_lowered_with_them() -> None:
    pairs: Counter[tuple[Dialect, Dialect]] = Counter()
    for number in range(500):
        case = program_at(9, number)
        for one, other in pairs_of(case.program):
            if one in OPS and other in OPS:
                pairs[OPS[one].dialect, OPS[other].dialect] += 1
        if number % 5 == 0:
            plain = lower_program(case.program)
            assert all(OPS[one.name].lower is None for one in plain.walk() if one.name in OPS)
            assert check(plain) == []
            inputs = materialise(plain, case.inputs[0])
            both = zip(evaluate(case.program, inputs), evaluate(plain, inputs), strict=True)
            assert all(a.tobytes() == b.tobytes() for a, b in both), number
    for first in (Dialect.STABLEHLO, Dialect.XLA):
        for second in (Dialect.STABLEHLO, Dialect.XLA):
            assert pairs[first, second] > 8, (first, second)


def test_tokens_tuples_and_bounded_sizes_come_between_tensors() -> None:
    kinds: Counter[str] = Counter()
    ops = frozenset({"after_all", "tuple", "Select (tuples)", "SetDimensionSize", "custom_call"})
    for number in range(120):
        program = program_at(4, number, ops).program
        main = program.main
        made = [value.type for one in main.body.operations for value in one.results]
        kinds["token"] += TokenType() in made
        kinds["tuple"] += any(isinstance(of, TupleType) for of in made)
        kinds["bounded"] += any(isinstance(of, TensorType) and bool(of.bounds) for of in made)
        outer = [*(value.type for value in main.arguments), *main.result_types]
        assert all(isinstance(of, TensorType) and of.is_static for of in outer), number
        assert ways_to_fail(program_at(4, number, ops)) == [], number
    assert min(kinds[kind] for kind in ("token", "tuple", "bounded")) > 4, kinds


@pytest.mark.slow
def test_quantized_values_are_linked_if_the_backend_supports_them() -> None:
    ops: Counter[str] = Counter()
    direct = 0
    for number in range(400):
        case = program_at(2, number, guide=Guide(quantized=True))
        assert case == program_at(2, number, guide=Guide(quantized=True))
        working = [one for one in case.program.walk() if has_quantized_values(one)]
        ops.update(one.name for one in working)
        made = {
            value.name for one in working for value in one.results if is_quantized_operation(one)
        }
        direct += any(value.name in made and len(one.operands) > 1
                      for one in working for value in one.operands)  # fmt: skip
        if working:
            assert ways_to_fail(case) == [], number
        assert not any(map(has_quantized_values, program_at(2, number).program.walk()))
    assert len(ops) > 25
    assert ops["uniform_quantize"] > 15
    assert ops["uniform_dequantize"] > 15
    assert direct > 5


def test_requested_ops_are_in_most_programs() -> None:
    ops = frozenset({"sort", "cholesky"})
    met = sum(
        any(one.name in ops for one in program_at(0, n, ops).program.walk()) for n in range(40)
    )
    assert met > 25
