"""Verdicts on quantized results, and what backends are asked of quantized programs."""

import numpy as np
import pytest

from conformance.backends.base import Rejected, Unsupported
from conformance.backends.session import open_session
from conformance.catalog import CATALOG, rule_of
from conformance.judging.compare import judge
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import QuantizedType, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.ops.quantized_types import F32, quant


def verdicts(
    op: str, operands: list[tuple[QuantizedType, list[int]]], to: QuantizedType, off: list[int]
) -> list[bool]:
    """Return whether results that are so many codes off the reference's are permitted,
    one by one.
    """
    types = [TensorType((len(codes),), of) for of, codes in operands]
    values = tuple(Value(f"a{number}", of) for number, of in enumerate(types))
    program = single_op(op, values, (TensorType(types[0].shape, to),))
    given = [np.array(codes, of.storage_type.storage) for of, codes in operands]
    (right,) = evaluate(program, given)
    rule = rule_of(program.subject)
    found: list[bool] = []
    for index, step in enumerate(off):
        wrong = right.copy()
        wrong[index] += step
        verdict = judge(program, given, [right], [wrong], rule).verdict
        found.append(verdict is Verdict.PASS)
    return found


def test_exact_results_must_be_equal() -> None:
    """Numbers that are codes without any rounding, and those beyond the last code by far."""
    half, two = quant("si8", (0.5, 0)), quant("si8", (2.0, 0))
    operands = [(half, [4, -8, 0, 4]), (half, [8, 4, 4, -4])]
    assert verdicts("add", operands, two, [1, 1, -1, 1]) == [False] * 4
    operands = [(two, [127, -128, 90]), (two, [100, -3, 90])]
    assert verdicts("add", operands, half, [-1, 1, -1]) == [False] * 3


def test_rounded_results_may_be_one_code_off() -> None:
    """Arithmetic on integers may convert each operand to the result's scale first."""
    half, two = quant("si8", (0.5, 0)), quant("si8", (2.0, 0))
    operands = [(half, [1, 1, 3, 5]), (half, [1, 1, 0, 4])]
    # 1 / 2 is nearest to 0, and to 1; 1.5 / 2 and 4.5 / 2 lie between codes too
    assert verdicts("add", operands, two, [1, -1, -1, 2]) == [True, False, True, False]


def test_conversions_give_the_code_of_a_number_within_reach() -> None:
    of = quant("si8", (0.1, 0))
    given = np.array([0.25, 0.1, 0.35000002], np.float32)  # the first of which is a tie
    line = TensorType((3,), F32)
    program = single_op("uniform_quantize", (Value("a", line),), (TensorType((3,), of),))
    (right,) = evaluate(program, [given])
    rule = CATALOG["uniform_quantize"].tolerance
    for index, step, permitted in ((0, 1, True), (0, -1, False), (1, 1, False), (0, 2, False)):
        wrong = right.copy()
        wrong[index] += step
        verdict = judge(program, [given], [right], [wrong], rule).verdict
        assert (verdict is Verdict.PASS) == permitted, (index, step)


def test_two_roundings_of_a_tie_are_permitted() -> None:
    """The text has two, a quotient and a sum; a product with the reciprocal has three."""
    of, line = quant("si8", (0.1, 0)), TensorType((400,), F32)
    ties = np.repeat(np.arange(27, 127) + 0.5, 4)
    near = (ties * np.float64(np.float32(0.1))).astype(np.float32)
    given = (near.view(np.int32) + np.tile(np.arange(-1, 3, dtype=np.int32), 100)).view(np.float32)
    program = single_op("uniform_quantize", (Value("a", line),), (TensorType((400,), of),))
    (right,) = evaluate(program, [given])
    wrong = (2 * ties - right).astype(np.int8)  # the code on the other side of the tie
    quotient = given.astype(np.float64) / np.float32(0.1).astype(np.float64)
    apart = np.abs(quotient - ties) / (quotient * 2.0**-24)
    rule = CATALOG["uniform_quantize"].tolerance
    for least, most, kind in ((0.0, 2.0, ""), (2.0, 99.0, "wrong value")):
        chosen = (apart > least) & (apart < most)
        assert chosen.any()
        found = judge(program, [given], [right], [np.where(chosen, wrong, right)], rule)
        assert found.kind == kind


def test_unspecified_and_wrong_results_have_different_verdicts() -> None:
    of = quant("si8", (1.0, 0))
    line = TensorType((3,), of)
    program = single_op("divide", (Value("a", line), Value("b", line)), (line,))
    given = [np.array([0, 1, 6], np.int8), np.array([0, 0, 2], np.int8)]
    rule = rule_of(program.main.body.operations[0])
    (right,) = evaluate(program, given)
    assert right.tolist() == [0, 127, 3]
    for wrong, verdict in (
        ([5, 127, 3], Verdict.UNSPECIFIED), ([0, -128, 3], Verdict.DIVERGENT),
    ):  # fmt: skip
        judged = judge(program, given, [right], [np.array(wrong, np.int8)], rule)
        assert judged.verdict is verdict


# --- Backends ------------------------------------------------------------------------------------


def test_programs_that_xla_never_translates_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The backend refuses quantized programs itself, with a different message for each kind."""
    backend = open_session("cpu")
    of = TensorType((2,), quant("si8", (0.5, 0)))
    plain, codes = TensorType((2,), F32), TensorType((2,), ELEMENT_TYPES["si8"])
    programs = [
        single_op("add", (Value("a", of), Value("b", of)), (of,)),
        single_op("uniform_quantize", (Value("a", plain),), (of,)),
        single_op("bitcast_convert", (Value("a", codes),), (of,)),
    ]
    for program in programs:
        assert isinstance(backend.refusal(program), Unsupported)
    monkeypatch.setattr(type(backend), "refusal", lambda *_: None)
    for program in programs:
        with pytest.raises(Unsupported):
            backend.compile(program)


def test_an_invalid_program_is_rejected_before_it_is_unsupported() -> None:
    of, other = (TensorType((2,), quant(storage)) for storage in ("si8", "si16"))
    program = single_op("maximum", (Value("a", of), Value("b", other)), (of,))
    with pytest.raises(Rejected):
        open_session("cpu").compile(program)
