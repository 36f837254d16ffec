"""Expectation files: matching by conditions and causes, stale entries, and errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from conformance.backends.base import Description
from conformance.catalog import CATALOG
from conformance.gate.conditions import Circumstances, first_unmet_condition, is_about
from conformance.gate.expectations import (
    Expectation,
    Failure,
    Versions,
    is_crash_known,
    is_overwriting_known,
    match_record,
    matching_entry,
)
from conformance.gate.reading import ExpectationError, load, read
from conformance.judging.messages import additional_failure_line
from conformance.verdict import Detail, Element, Failing, Record, Verdict

VERSIONS = {"jaxlib": "0.10.2"}

ENTRY = """
[[known]]
id = "zeros"
op = "atan*"
element_types = ["complex<*>", "f32"]
verdicts = ["divergent"]
kinds = ["*zero*"]
reason = "The sign of zero is lost."
link = "https://example.org"
"""

SHOWN = "[known.counterexample]\nprogram = 'module {}'\n"


def a_record(op="atan2", of="f32", verdict=Verdict.DIVERGENT, kind="signed zero", backend="cpu"):
    return Record(op, of, backend, 0, "", verdict, kind)


def write_file(tmp_path: Path, text: str, name: str = "known.toml") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (a_record(), "zeros"),
        (a_record(of="complex<f64>"), "zeros"),
        (a_record(of="f64"), ""),
        (a_record(op="tan"), ""),
        (a_record(verdict=Verdict.INACCURATE), ""),
        (a_record(kind="NaN"), ""),
        (a_record(verdict=Verdict.PASS, kind=""), ""),
        (a_record(verdict=Verdict.UNSPECIFIED), ""),
    ],
)
def test_entry_matches_its_conditions(tmp_path: Path, record: Record, known: str) -> None:
    assert matching_entry(read(write_file(tmp_path, ENTRY)), record) == known


def test_entry_without_verdicts_matches_all_failures_with_results(tmp_path: Path) -> None:
    entry = '[[known]]\nid = "a"\nop = "*"\nreason = "broken"\n'
    found = read(write_file(tmp_path, entry))
    known = {verdict for verdict in Verdict if matching_entry(found, a_record(verdict=verdict))}
    assert known == {Verdict.FLUSHED, Verdict.INACCURATE, Verdict.DIVERGENT, Verdict.ACCEPTED}


@pytest.mark.parametrize(
    ("entry", "ends"),
    [
        ("kinds = ['abnormal exit']", True),
        ("kinds = ['internal error', 'abnormal exit']", True),
        ("", True),
        ("kinds = ['internal error']", False),
        ("kinds = ['internal error', 'out of memory']", False),
        ("rare = true", False),
    ],
)
def test_processes_are_known_to_end_where_the_backend_gives_no_answer(
    tmp_path: Path, entry: str, ends: bool
) -> None:
    head = "[[known]]\nid = 'a'\nop = 'abs'\nreason = 'r'\nverdicts = ['crashed']\n"
    head += "words = ['*']\n"
    found = read(write_file(tmp_path, head + entry))
    assert is_crash_known(found, ("abs", "f32", "cpu")) is ends
    assert not is_crash_known(found, ("add", "f32", "cpu"))


@pytest.mark.parametrize("flaky", [True, False])
@pytest.mark.parametrize("verdict", ["crashed", "divergent"])
def test_flaky_crashes_are_of_programs_that_overwrite_memory(
    tmp_path: Path, flaky: bool, verdict: str
) -> None:
    text = f"[[known]]\nid = 'a'\nop = 'abs'\nreason = 'r'\nverdicts = ['{verdict}']\n"
    text += "words = ['*']\n" * (verdict == "crashed") + "flaky = true\n" * flaky
    found = read(write_file(tmp_path, text))
    cell = ("abs", "f32", "cpu")
    assert is_overwriting_known(found, cell) == (flaky and verdict == "crashed")
    assert not is_overwriting_known(found, ("add", "f32", "cpu"))


@pytest.mark.parametrize("jaxlib", ["0.10.2", "0.12.0.1"])
def test_every_op_of_f32_is_there_for_campaigns(jaxlib: str) -> None:
    """Expectations exclude the cells that are known to crash."""
    shipped = load(None, ("cpu",), {"jaxlib": jaxlib})
    left = [name for name in CATALOG if is_crash_known(shipped, (name, "f32", "cpu"))]
    assert left == []


def test_entries_of_a_backend_match_only_that_backend(tmp_path: Path) -> None:
    write_file(tmp_path, ENTRY, "cpu.toml")
    found = load(str(tmp_path), ["cpu", "gpu"], VERSIONS)
    assert matching_entry(found, a_record()) == "zeros"
    assert matching_entry(found, a_record(backend="gpu")) == ""
    assert load(str(tmp_path), ["gpu"], VERSIONS) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[known]\n", "not a TOML file"),
        ("\xff", "not a TOML file"),
        ("[[entries]]\n", "unknown key 'entries'"),
        ("known = 3", "must be tables"),
        ("known = [3]", "must be tables"),
        (ENTRY + "reasons = 'x'", "unknown key 'reasons'; did you mean reason"),
        (ENTRY + "rare = 'yes'", "'rare' must be true or false, not a string"),
        (ENTRY + "max_ulp = true", "'max_ulp' must be a number, not true or false"),
        (ENTRY + "max_ulp = -1", "'max_ulp' must be a number that is not negative"),
        (ENTRY + "counterexample = 'x'", "'counterexample' must be a table, not a string"),
        (ENTRY + "[known.counterexample]", "'program' of 'counterexample' is missing"),
        (
            ENTRY + SHOWN + "input = []",
            "unknown key 'input'; did you mean inputs? (in counterexample)",
        ),
        (ENTRY + SHOWN + "inputs = '1'", "'counterexample.inputs' must be a list of strings"),
        (ENTRY + SHOWN + "inputs = [1]", "'counterexample.inputs' must be a list of strings"),
        (ENTRY + "versions = 3", "'versions' must be a string"),
        (ENTRY + "versions = 'old'", "is not a range of versions"),
        (ENTRY.replace('["divergent"]', '"divergent"'), "must be a list"),
        (ENTRY.replace('["divergent"]', "[]"), "must be a list"),
        (ENTRY.replace("divergent", "divergnt"), "verdict 'divergnt'; did you mean divergent?"),
        (ENTRY.replace("divergent", "pass"), "unknown failing verdict 'pass'; known: flushed"),
        (ENTRY.replace("atan*", "atam*"), "unknown op 'atam*'; did you mean"),
        (ENTRY.replace('"f32"', '"f33"'), "unknown element type 'f33'; did you mean"),
        (ENTRY.replace("*zero*", "signd zero"), "class 'signd zero'; did you mean signed zero"),
        (ENTRY.replace('id = "zeros"', ""), "entry 1: 'id' is missing"),
        (ENTRY.replace('reason = "The sign of zero is lost."', ""), "'reason' is missing"),
        (ENTRY + ENTRY, "the id 'zeros' is twice in"),
        (ENTRY + "words = []", "'words' must be a list of texts, none of them empty"),
        (ENTRY + "cause = { pass = 'algsimp' }", "'change' of 'cause' is missing"),
        (ENTRY + "cause = { pas = 'algsimp', change = 'a => b' }", "unknown key 'pas'"),
        (ENTRY + "cause = 'algsimp'", "'cause' must be a table, not a string"),
        (ENTRY + "within = '2 ulp'", "is only for entries with 'computes'"),
        (ENTRY + "flushes = true", "is only for entries with 'computes'"),
        (ENTRY + "constants = ['*']", "is only for entries with 'computes'"),
        (ENTRY + "where = ['']", "'where' must be a list of texts, none of them empty"),
        (
            ENTRY.replace('"divergent"', '"divergent", "crashed"') + "words = ['oom']",
            "'divergent' is about results and 'crashed' about programs without results",
        ),
        (
            ENTRY.replace("divergent", "crashed").replace("*zero*", "abnormal exit"),
            "'words' is missing: a part of the backend's message about 'crashed', such as ",
        ),
    ],
)
def test_invalid_entry_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "known.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ExpectationError) as caught:
        load(str(path), ["cpu"], VERSIONS)
    assert said in str(caught.value)
    assert "known.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ExpectationError, match="cannot read expectations"):
        load(str(tmp_path / "nothing.toml"), ["cpu"], VERSIONS)


def failing_class(verdict: Verdict, kind: str, worst_ulp: float | None = None) -> Failing:
    element = Element(0, (1,), "1.0", "0x1", "2.0", "0x2")
    return Failing(verdict, kind, f"{kind}: 1 of 4 elements", 1, (element,), worst_ulp)


def a_case(*found: Failing) -> Record:
    first = found[0]
    detail = Detail("module {}", b"", first.wrong, 4, first.elements)
    record = a_record(verdict=first.verdict, kind=first.kind)
    return replace(record, message=first.message, detail=detail, failing=found)


ZEROS = failing_class(Verdict.DIVERGENT, "signed zero")
NAN = failing_class(Verdict.DIVERGENT, "NaN")
OFF = failing_class(Verdict.INACCURATE, "accuracy")


def test_case_is_known_if_all_its_failures_are(tmp_path: Path) -> None:
    known = read(write_file(tmp_path, ENTRY))
    assert match_record(a_case(ZEROS), known).known == "zeros"
    for others in ([NAN], [OFF], [OFF, NAN]):
        record = match_record(a_case(ZEROS, *others), known)
        assert record.is_new_failure
        assert record.expectation_ids == ("zeros",)


def test_new_failure_is_reported_before_known_failures(tmp_path: Path) -> None:
    """The worst failure is reported with its own elements, with known failures beside it."""
    other = replace(OFF, inputs=b"others", elements=(replace(ZEROS.elements[0], actual="3.0"),))
    record = match_record(a_case(ZEROS, other), read(write_file(tmp_path, ENTRY)))
    assert (record.verdict, record.kind, record.message) == (
        Verdict.INACCURATE, "accuracy", OFF.message,
    )  # fmt: skip
    assert record.detail is not None
    assert (record.detail.inputs, record.detail.elements) == (b"others", other.elements)
    assert [(failure.kind, failure.known) for failure in record.further_failures] == [
        ("signed zero", "zeros")
    ]
    assert additional_failure_line(record.further_failures[0]).startswith(
        "beside them, known by zeros: divergent: signed"
    )
    again = match_record(record, ())
    assert (again.kind, again.known) == ("signed zero", "")


UNDER = Circumstances("0.10.2", Description("plugin:mine", "mine", "d", (("runtime", "mine 2.1"),)))

ACCURACY_ENTRY = Expectation(
    "e", ("log*",), "r", ("f32",), ("inaccurate",), ("accuracy",), max_ulp=8,
    backends=("plugin:*",),
)  # fmt: skip

RECORD = Record(
    "log", "f32", "plugin:mine", 0, "", Verdict.INACCURATE, "accuracy", "4 ulp", worst_ulp=4.0
)

CRASH = Record(
    "log", "f32", "plugin:mine", 0, "", Verdict.CRASHED, "abnormal exit",
    "the process ended with SIGABRT: Check failed: rank",
    detail=Detail('%0 = "stablehlo.log"(%x) : (tensor<f32>) -> tensor<f32>', b"", 0, 0),
)  # fmt: skip

CRASHED = structs.replace(
    ACCURACY_ENTRY,
    verdicts=("crashed",),
    kinds=("abnormal exit",),
    words=("rank",),
    max_ulp=float("inf"),
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"backends": ("cpu",)}, "it applies to the backends 'cpu', not to plugin:mine"),
        ({"versions": "<0.10"}, "it applies to jaxlib <0.10, not to 0.10.2"),
        ({"versions": Versions(plugin="<2")}, "it applies to plugin <2; the backend has 2.1"),
        ({"versions": Versions(plugin=">=2")}, ""),
        ({"isa": ">=AVX2"}, "XLA's CPU compiler targets >=AVX2, which it does not"),
        (
            {"verdicts": ("divergent", "flushed")},
            "it matches 'divergent', 'flushed', not inaccurate",
        ),
        ({"kinds": ("sign*",)}, "it matches the class 'sign*', not 'accuracy'"),
        ({"kinds": ("as computed by e",), "computes": "x"}, "its 'computes' does not predict"),
        ({"words": ("5 ulp",)}, "it requires the words '5 ulp'; the message is '4 ulp'"),
        ({"max_ulp": 2.0}, "it matches errors up to 2 ulp, not 4"),
        ({"verdicts": ("flushed",), "max_ulp": 2.0}, "it matches 'flushed'"),  # the first
    ],
)
def test_the_first_unmet_condition_is_reported(changes: dict[str, object], said: str) -> None:
    entry = structs.replace(ACCURACY_ENTRY, **changes)
    assert is_about(entry, RECORD)
    told = first_unmet_condition(entry, RECORD, UNDER)
    assert said in told
    assert bool(told) == bool(said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"words": ("size",)}, "the words 'size'; the message is 'Check failed: rank'"),
        ({"where": ('"stablehlo.log"',)}, ""),
        ({"where": ("reduce",)}, "it requires an operation that contains 'reduce'"),
    ],
)
def test_words_and_operations_of_a_crash_are_conditions(
    changes: dict[str, object], said: str
) -> None:
    entry = structs.replace(CRASHED, **changes)
    assert said in first_unmet_condition(entry, CRASH, UNDER)
    assert entry.matches(CRASH) == (not said)


CAUSE_ENTRIES = """
[[known]]
id = "plain"
op = "divide"
kinds = ["accuracy"]
reason = "Divisions are inaccurate."
[[known]]
id = "by-constant"
cause = { pass = "algsimp", change = "divide(*, C) => multiply(*, C)" }
max_ulp = 2
reason = "A division by a constant is a product with its reciprocal."
[[known]]
id = "folded"
op = "log"
cause = { pass = "*", change = ["log(exponential(*)) => *", "log(C) => C"] }
reason = "The logarithm of an exponential is its argument."
"""

BY_CONSTANT = "algsimp: divide(a, C) => multiply(a, C)"
OF_EXPONENTIAL = "algsimp: log(exponential(a)) => a"


def match_causes(
    tmp_path: Path, *causes: str, op: str = "log", kind: str = "wrong value", ulp: float = 1.0
) -> str:
    path = tmp_path / "known.toml"
    path.write_text(CAUSE_ENTRIES)
    failure = Failure(op, "f32", "cpu", Verdict.DIVERGENT, kind, worst_ulp=ulp, causes=causes)
    return matching_entry(read(path), failure)


def test_an_element_that_the_rewriting_leaves_is_new_though_others_of_its_class_are_known(
    tmp_path: Path,
) -> None:
    path = tmp_path / "known.toml"
    path.write_text(CAUSE_ENTRIES)
    cell, said = ("log", "f32", "cpu"), (Verdict.DIVERGENT, "NaN", "NaN: 1 of 4 elements")
    explained = Failing(*said, wrong=1, causes=(OF_EXPONENTIAL,))
    record = Record(*cell, 0, "", *said, failing=(explained, Failing(*said, wrong=1)))
    matched = match_record(record, read(path))
    assert [one.known for one in matched.failing] == ["folded", ""]
    assert matched.known == ""


def test_cause_matches_by_pass_and_change(tmp_path: Path) -> None:
    assert match_causes(tmp_path, BY_CONSTANT) == "by-constant"
    assert match_causes(tmp_path, OF_EXPONENTIAL) == "folded"
    assert match_causes(tmp_path, "cse: divide(a, C) => multiply(a, C)") == ""
    assert match_causes(tmp_path, "algsimp: divide(a, b) => multiply(a, b)") == ""
    assert match_causes(tmp_path) == ""


def test_every_rewriting_must_be_a_known_cause_else_the_class_decides(tmp_path: Path) -> None:
    assert match_causes(tmp_path, BY_CONSTANT, OF_EXPONENTIAL) == "by-constant"
    assert match_causes(tmp_path, BY_CONSTANT, "cse: sine(a) => a") == ""
    assert match_causes(tmp_path, "cse: sine(a) => a", op="divide", kind="accuracy") == "plain"


def test_an_error_over_the_bound_is_not_excused_by_the_rewriting(tmp_path: Path) -> None:
    assert match_causes(tmp_path, BY_CONSTANT, ulp=3.0) == ""


def test_the_largest_error_is_that_of_the_class(tmp_path: Path) -> None:
    known = read(write_file(tmp_path, f"{ENTRY}max_ulp = 2\n"))
    assert match_record(a_case(replace(ZEROS, worst_ulp=2.0)), known).known == "zeros"
    assert not match_record(a_case(replace(ZEROS, worst_ulp=3.0)), known).known


def test_an_entry_for_another_op_does_not_match(tmp_path: Path) -> None:
    assert match_causes(tmp_path, OF_EXPONENTIAL, op="sine") == ""
