"""Programs of several operations: valid, evaluated, the same everywhere, of all that there is."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from conformance.fuzzing.steering.coverage_counts import pairs_of
from generators.chains.chain import Chain
from generators.chains.fitting import fit_shape
from generators.chains.guide import Guide
from generators.chains.links import is_link, linked_ops
from generators.chains.quantized import quantized_link, quantized_ops
from generators.chains.strategies import programs
from generators.chains.strategy import PATTERNS, program_at
from generators.quantized.columns import quantized_columns
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.interpreter.quantized import has_quantized_values, is_quantized_operation
from reference.interpreter.verify import check
from reference.ir.op import Dialect
from reference.ir.program import QuantizedType, TensorType, TokenType, TupleType
from reference.ir.types import ALL, element_type
from reference.ops.structure import is_constant
from reference.ops.table import OPS
from reference.ops.xla.lowering import lower_program
from suites.meta.support.built_cases import assert_valid, evaluate_chain, pick_of, steps_of

F32 = element_type("f32")


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


def test_there_are_patterns_for_every_type_and_ops_for_most() -> None:
    for of in ALL:
        assert any(pattern.takes(TensorType((3,), of)) for pattern in PATTERNS), of
    assert len(set(linked_ops(F32))) > 60


def test_most_programs_have_several_operations_and_cover_all_ops() -> None:
    names: Counter[str] = Counter()
    lengths: list[int] = []
    for number in range(800):
        operations = program_at(5, number).program.main.body.operations[:-1]
        working = [operation.name for operation in operations if not is_constant(operation)]
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
            assert all(
                OPS[operation.name].lower is None
                for operation in plain.walk()
                if operation.name in OPS
            )
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
        made = [value.type for operation in main.body.operations for value in operation.results]
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
        working = [
            operation for operation in case.program.walk() if has_quantized_values(operation)
        ]
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
        any(operation.name in ops for operation in program_at(0, n, ops).program.walk())
        for n in range(40)
    )
    assert met > 25


# --- A value in another shape: as it is, reshaped, repeated, cut, or filled up -------------------


def fit(shape: tuple[int, ...], wanted: tuple[int, ...], seed: int) -> tuple[list[str], np.ndarray]:
    chain = Chain(pick_of(seed))
    chain.data.append(chain.parameter(TensorType(shape, F32)))
    result = fit_shape(chain, chain.data[0], TensorType(wanted, F32))
    assert result.type == TensorType(wanted, F32)
    numbers = np.arange(5, 5 + np.prod(shape), dtype=np.float32).reshape(shape)
    return steps_of(chain), evaluate_chain(chain, result, numbers).reshape(-1)


@pytest.mark.parametrize(
    ("shape", "wanted", "steps"),
    [
        ((2, 3), (2, 3), []),
        ((2, 3), (3, 2), ["reshape"]),
        ((), (2, 2), ["broadcast_in_dim"]),
        ((1, 1), (2, 2), ["reshape", "broadcast_in_dim"]),
        ((6,), (4,), ["slice"]),
        ((2, 3), (2, 2), ["reshape", "slice", "reshape"]),
        ((2, 3), (), ["reshape", "slice", "reshape"]),
    ],
)
def test_steps_to_a_shape(
    shape: tuple[int, ...], wanted: tuple[int, ...], steps: list[str]
) -> None:
    assert fit(shape, wanted, 0)[0] == steps


def test_elements_are_cut_at_either_end() -> None:
    assert {tuple(fit((4,), (3,), seed)[1].tolist()) for seed in range(20)} == {
        (5, 6, 7), (6, 7, 8)
    }  # fmt: skip


def test_missing_elements_are_filled_at_either_end_with_zeros_or_ones() -> None:
    found = {tuple(fit((2,), (3,), seed)[1].tolist()) for seed in range(60)}
    assert found == {(5, 6, 0), (5, 6, 1), (0, 5, 6), (1, 5, 6)}
    assert {fit((2,), (3,), seed)[0][0] for seed in range(30)} == {"pad", "concatenate"}


# --- Quantized links: ops that have quantized cases, and codes that are used again ---------------


def chain_of(seed: int, of: str = "f32") -> Chain:
    chain = Chain(pick_of(seed))
    chain.data.append(chain.parameter(TensorType((2, 3), element_type(of))))
    return chain


def test_only_ops_with_quantized_cases() -> None:
    names = quantized_ops()
    assert {"add", "dot_general", "reshape"} <= set(names)
    assert "fft" not in names
    assert all(quantized_columns(name) for name in names)
    assert quantized_ops(frozenset({"add", "fft"})) == ("add",)
    assert quantized_ops(frozenset({"fft"})) == ()


def test_only_values_of_f32_are_quantized() -> None:
    assert not quantized_link(chain_of(0, "f16"), chain_of(0, "f16").data[0])
    chain = chain_of(0)
    assert not quantized_link(chain, chain.data[0], frozenset({"fft"}))
    assert chain.operations == []


def test_a_link_adds_numbers_to_the_values_and_codes_to_the_codes() -> None:
    added = 0
    for seed in range(20):
        chain = chain_of(seed)
        if not quantized_link(chain, chain.data[0], frozenset({"add"})):
            continue
        added += 1
        assert len(chain.data) == 2
        assert steps_of(chain)[-1] == "uniform_dequantize"
        assert all(isinstance(value.type.element_type, QuantizedType) for value in chain.codes)  # type: ignore[union-attr]
        assert chain.guide.steps == [("add", element_type("f32"))]
        assert_valid([chain.case(chain.data[-1:])])
    assert added > 10


def test_codes_are_used_again() -> None:
    again = 0
    for seed in range(30):
        chain = chain_of(seed)
        for _ in range(3):
            quantized_link(chain, chain.data[0], frozenset({"add"}))
        assert_valid([chain.case(chain.data[-1:])])
        dequantized = {
            operation.operands[0]
            for operation in chain.operations
            if operation.name == "uniform_dequantize"
        }
        others = [
            operation for operation in chain.operations if operation.name != "uniform_dequantize"
        ]
        again += any(value in dequantized for one in others for value in one.operands)
    assert again > 3
