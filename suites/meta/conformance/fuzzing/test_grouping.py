"""Findings are grouped by cause; their names and signatures stay the same for equal programs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance.fuzzing import failures
from conformance.fuzzing.attribution.cause import NO_ANSWER, RIGHT, WRONG, Cause
from conformance.fuzzing.command import Options, fuzz
from conformance.fuzzing.finding import Finding, names_in, operations_of
from conformance.fuzzing.grouping import (
    attributions_agree,
    group_of,
    key_of,
    may_share_cause,
    place_of,
)
from conformance.fuzzing.keeping.journal import Journal
from conformance.fuzzing.keeping.keeping import stored_finding
from conformance.fuzzing.trial import FailingProgram
from conformance.pipeline.outcome import Outcome
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.ir.program import Dense, Function, Operation, Program, Region, Value, attributes
from suites.meta.support.small_programs import array, op_program, tensor_of


def finding(op: str, of: str, verdict: Verdict, kind: str, message: str = "", **more) -> Finding:
    """Return a finding about one operation of 0 and 1."""
    program = op_program(op, [tensor_of(2, of=of)], tensor_of(2, of=of))
    values = (array([0, 1], of),)
    return Finding(
        verdict, kind, message, culprit=f"{op} {of}", program=program, text="", inputs=values,
        expected=values, actual=(), **more,
    )  # fmt: skip


def chain(ops: Sequence[str]) -> Program:
    """Return a program of these operations, each on the result of the operation before it."""
    names = ["%a", *(f"%v{number}" for number in range(len(ops)))]
    lines = [
        f"{made} = stablehlo.{op} {taken} : tensor<2xf32>"
        for op, taken, made in zip(ops, names, names[1:], strict=False)
    ]
    end = f"return {names[-1]} : tensor<2xf32>"
    head = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {"
    return parse_module("\n".join((head, *lines, end, "}")))


def test_the_key_ignores_element_types_and_keeps_operation_verdict_and_class() -> None:
    first = key_of(finding("abs", "f32", Verdict.DIVERGENT, "NaN"))
    assert first == key_of(finding("abs", "bf16", Verdict.DIVERGENT, "NaN"))
    others = {
        key_of(finding("sine", "f32", Verdict.DIVERGENT, "NaN")),
        key_of(finding("abs", "f32", Verdict.DIVERGENT, "sign")),
        key_of(finding("abs", "f32", Verdict.INACCURATE, "NaN")),
    }
    assert len({first, *others}) == 4


TOGETHER = ("compare + xor + compare + convert + atan2 f32", "compare + convert + atan2 f16")


def test_groups_of_operations_with_common_subset_are_one_cause() -> None:
    one, other = TOGETHER
    found = replace(finding("abs", "f32", Verdict.DIVERGENT, "NaN"), culprit=one)
    key = key_of(found)
    assert key == key_of(replace(found, culprit=other, kind="wrong value"))
    assert key != key_of(replace(found, culprit="compare + convert f32"))
    assert may_share_cause(key, found, stored_finding(replace(found, culprit=other), {}))
    assert may_share_cause(key, replace(found, culprit=other), stored_finding(found, {}))
    else_ = replace(found, culprit="compare + sine + atan2 f32")
    assert not may_share_cause(key, found, stored_finding(else_, {}))
    single = finding("abs", "f32", Verdict.DIVERGENT, "NaN")
    assert may_share_cause(key_of(single), single, stored_finding(single, {}))


CBRT = "Expected element type in shape to be floating for cbrt operation; got {}."
BITCAST = "input shape={} is not {} for bitcast-convert from {} to {}"
REDUCE = "operand {} in %reduce.{} = f64[{}] reduce(%x.{}, %c), dimensions={{{}}}, to_apply=%r.{}"
SIZES = "[hlo verifier]: custom element sizes on non-sub-byte types: "
MISMATCH = "[hlo verifier]: Shape mismatch between parameter and operand 0 in "
SHAPES = "Expected shape equal to {}, actual shape is {}:"
LIMITS = "limit (-1) below start (0) in slice; starts: {{{}}}; limits: {{{}}}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no", "no"),
        (CBRT.format("C128"), CBRT.format("c64")),
        (BITCAST.format(16, 2, "pred[1,16]", "BF16"), BITCAST.format(8, 4, "s8[8]", "U4")),
        (REDUCE.format(0, 3, "2", 1, 0, 9), REDUCE.format(1, 12, "2,2", 4, "0,1", 2)),
        (LIMITS.format("0", "-1"), LIMITS.format("0, 4", "-1, 2")),
        (
            SIZES + "%dot.1.clone = bf16[1]{0:E(4)} dot(%m.2, %m.3), lhs_batch_dims={0}, operan",
            SIZES + "%convert = s32[5,4]{1,0:E(2)} convert(%Arg_1.1)",
        ),
        (
            SIZES + "%c = s8[1]{0:E(4)} convolution(%a, %b), window={size=1x1 stride=7}, "
            "dim_labels=0fb12_12oi0->2fb01, operand_precision={hi; breaks C27 of convolution",
            SIZES + "%iota = s32[1]{0:E(4)} iota(), iota_dimension=2",
        ),
        (
            MISMATCH + "%reduce.1 = f64[] reduce(%Arg_0.3, %Arg_2.1), dimensions={1,2}, "
            'to_apply=%region_0.1, metadata={source_file="-" source_line=4 source_end_',
            MISMATCH + "%rw.1 = f4e2m1fn[4,2]{1,0} reduce-window(%a.3, %b), window={size=4x7}",
        ),
        (SHAPES.format("(u16[2], s32[2])", "(u16[], s32[])"), SHAPES.format("s4[2,2]", "s4[]")),
    ],
)
def test_messages_are_compared_without_details_of_the_program(one: str, other: str) -> None:
    first, second, foreign = (
        key_of(finding(op, "f32", Verdict.REJECTED, "refused as invalid", message))
        for op, message in (("abs", one), ("sine", other), ("abs", "no floating type"))
    )
    assert first == second != foreign
    assert "%Arg" not in first


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("SIGSEGV", "SIGBUS", True),
        ("SIGSEGV", "SIGABRT: corrupted double-linked list", True),
        ("SIGSEGV", "SIGABRT: free(): invalid next size (fast)", True),
        ("SIGSEGV", "SIGABRT: array.h:3] Check failed: free() == 1", False),
        ("SIGSEGV", "SIGILL", False),
        ("SIGILL", "SIGABRT", False),
        ("SIGFPE", "SIGFPE", True),
    ],
)
def test_memory_faults_and_divisions_by_zero_are_one_class(
    one: str, other: str, is_same: bool
) -> None:
    first, second = (
        key_of(
            finding(op, "ui2", Verdict.CRASHED, "abnormal exit", f"the process ended with {end}")
        )
        for op, end in (("abs", one), ("sine", other))
    )
    assert (first == second) is is_same


@pytest.mark.parametrize(
    ("kind", "ops", "others"),
    [
        ("flushed", ("tanh", "power"), ()),
        ("reciprocal", ("divide",), ("cholesky",)),
        ("double rounding", ("sqrt",), ("convert",)),
    ],
)
def test_predicted_class_is_one_cause_across_its_operations(
    kind: str, ops: tuple[str, ...], others: tuple[str, ...]
) -> None:
    verdicts = (Verdict.DIVERGENT, Verdict.INACCURATE)

    def keys(names: tuple[str, ...]) -> set[str]:
        return {key_of(finding_of(name, verdict, kind)) for name in names for verdict in verdicts}

    def finding_of(name: str, verdict: Verdict, kind: str) -> Finding:
        return replace(finding("abs", "f32", verdict, kind), culprit=f"{name} f32")

    assert len(keys(ops)) == 1
    assert len(keys(ops[:1] + others)) == 1 + len(others)
    places = {f"{verdict} | {kind} | {name}" for name in ops for verdict in verdicts}
    assert {group_of(place) for place in places} == keys(ops)


def test_programs_that_end_without_a_word_are_one_cause_if_one_has_the_last_of_the_other() -> None:
    def crash_of(*ops: str) -> Finding:
        said = "the process ended with SIGSEGV"
        ended = finding("abs", "f32", Verdict.CRASHED, "abnormal exit", said)
        return replace(ended, program=chain(ops))

    def is_one(one: Finding, other: Finding) -> bool:
        assert key_of(one) == key_of(other)
        return may_share_cause(key_of(one), one, stored_finding(other, {}))

    behind, before = crash_of("sine", "abs"), crash_of("negate", "sine")
    assert is_one(behind, before)
    assert is_one(before, behind)
    assert is_one(crash_of("sine"), behind)
    assert not is_one(crash_of("abs"), crash_of("sine"))
    assert not is_one(crash_of("negate", "abs"), crash_of("negate", "sine"))


def test_flushed_subnormals_are_one_group_with_separate_places() -> None:
    def place(op: str, verdict: Verdict, kind: str = "flushed") -> str:
        failure = finding(op, "f32", verdict, kind)
        outcome = Outcome(verdict, failure.kind, culprit=failure.culprit)
        return place_of(FailingProgram(0, failure.program, failure.inputs, outcome))

    one, other = place("abs", Verdict.FLUSHED), place("sine", Verdict.FLUSHED)
    assert one != other
    assert group_of(one) == group_of(other)
    wrong = place("abs", Verdict.DIVERGENT, "wrong value")
    assert group_of(wrong) == wrong


FOLDING = Cause({"with constants as parameters": RIGHT, "without pass algsimp": WRONG})
ALGSIMP = Cause({"with constants as parameters": WRONG, "without pass algsimp": RIGHT})
NEVER = Cause({"with constants as parameters": WRONG, "without pass algsimp": WRONG})


def test_attributions_agree_where_the_same_change_makes_a_divergence_vanish() -> None:
    several = Cause({"without passes algsimp, fusion": RIGHT})
    fusion = Cause({"with constants as parameters": RIGHT, "without pass fusion": RIGHT})
    pairs = ((ALGSIMP, several), (several, fusion), (FOLDING, FOLDING), (NEVER, NEVER))
    assert all(
        attributions_agree(one, other) and attributions_agree(other, one) for one, other in pairs
    )
    apart = ((ALGSIMP, fusion), (FOLDING, ALGSIMP), (FOLDING, NEVER), (ALGSIMP, NEVER))
    assert not any(
        attributions_agree(one, other) or attributions_agree(other, one) for one, other in apart
    )


# --- Campaigns -----------------------------------------------------------------------------------


def campaign(out: Path, backend: str, programs: int, op: str = "divide") -> list[dict]:
    fuzz(Options(out, backend, budget="90s", programs=programs, jobs=1, ops=(op,)))
    return found_in(out)


def found_in(out: Path) -> list[dict]:
    return json.loads((out / "campaign.json").read_text())["findings"]


def finding_json(out: Path, finding: dict) -> dict:
    return json.loads((out / "findings" / finding["name"] / "finding.json").read_text())


@pytest.fixture(scope="module")
def resumed_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign that ended before any cause was known, and went on."""
    out, backend = tmp_path_factory.mktemp("resumed"), "reference:wrong_constant_folding@divide"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failures.FailureQueue, "_explain", _ends)
        with pytest.raises(KeyboardInterrupt):
            campaign(out, backend, 64)
    with Journal(out) as journal:
        assert journal.findings_without_attribution()
        assert not any(one.told["attribution"]["ways"] for one in journal.findings())
    assert campaign(out, backend, 64)
    return out


def _ends(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_fault_of_all_types_is_one_finding(resumed_campaign: Path) -> None:
    found = found_in(resumed_campaign)
    (wrong,) = (one for one in found if one["cause"] == "divergent | wrong value | divide")
    types = finding_json(resumed_campaign, wrong)["element_types"]
    assert len(types) > 4
    assert sum(finding_json(resumed_campaign, wrong)["culprits"].values()) == wrong["count"]
    issue = (resumed_campaign / "findings" / wrong["name"] / "issue.md").read_text()
    assert f"Element types: {', '.join(types)}." in issue
    assert f"{wrong['count']} programs of the campaign" in issue


@pytest.mark.slow
def test_faults_of_one_op_and_class_with_other_attributions_are_two_findings(
    tmp_path: Path,
) -> None:
    faults = "floor_division@divide+wrong_constant_folding@divide"
    found = campaign(tmp_path, f"reference:{faults}", 128)
    same = [one for one in found if one["cause"] == "divergent | wrong value | divide"]
    ways = [finding_json(tmp_path, one)["attribution"]["vanishes"] for one in same]
    assert sorted(ways) == [[], ["with constants as parameters"]]
    assert len({one["name"] for one in same}) == 2


F32 = tensor_of(2)
X, C, Y, Z = (Value(name, F32) for name in "xcyz")
ONES = Dense.of(np.ones(2, np.float32), F32)


def program_with(*operations: Operation) -> Program:
    """Return a program of these operations that returns the last operation's result."""
    body = (*operations, Operation("return", operations[-1].results))
    return Program((Function("main", Region((X,), body), (F32,)),))


CONSTANT = Operation("constant", (), (C,), attributes(value=ONES))
ADD = Operation("add", (X, C), (Y,))
SINE = Operation("xla.Sine", (Y,), (Z,))
FINDING = Finding(
    Verdict.DIVERGENT, "NaN", culprit="add f32", program=program_with(CONSTANT, ADD, SINE),
    text="", inputs=(), expected=(), actual=(),
)  # fmt: skip


def test_a_signature_has_verdict_class_culprit_and_operations_without_constants() -> None:
    assert operations_of(FINDING.program) == "add f32,f32>f32; xla.Sine f32>f32"
    assert FINDING.signature == "divergent | NaN | add f32 | add f32,f32>f32; xla.Sine f32>f32"
    assert names_in(FINDING.signature) == ["add", "xla.Sine"]


def test_the_name_is_safe_in_paths_and_differs_with_the_signature() -> None:
    assert re.fullmatch(r"add-xla_Sine-[0-9a-f]{8}", FINDING.name)
    assert replace(FINDING, message="other words").name == FINDING.name
    assert replace(FINDING, kind="infinity").name != FINDING.name
    assert replace(FINDING, number=2).name == f"{FINDING.name}-2"


def test_untried_variants_contradict_no_cause() -> None:
    assert attributions_agree(Cause(), ALGSIMP)
    some = Cause({"with constants as parameters": WRONG}, is_partial=True)
    assert attributions_agree(some, ALGSIMP)
    assert attributions_agree(ALGSIMP, some)
    assert not attributions_agree(some, FOLDING)
    assert attributions_agree(Cause({"without pass algsimp": NO_ANSWER}), NEVER)
