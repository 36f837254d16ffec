"""The commands expectations update and why: entries for new failures, and what they match."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.campaign import runner
from conformance.campaign.planning import Options
from conformance.campaign.runner import run
from conformance.checking.counterexample import replay
from conformance.cli import app, exit_code_of
from conformance.errors import UsageError
from conformance.gate.expectations import Counterexample, Expectation
from conformance.gate.reading import ExpectationError, read
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import RunData
from conformance.updating import command
from conformance.updating.files import Reasons
from conformance.updating.programs import unminimised_counterexample
from conformance.updating.why import explain
from conformance.verdict import Detail, Errors, Failing, Record, Timing, Verdict

HAND_WRITTEN = """# ours, by hand

[[known]]   # since spring
id = "subtract-operands-swapped"
op = "abs"
reason = "unlike what is new"  # so said
"""


REFUSED = """func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.add"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""


def options(out: Path, fault: str, **given) -> Options:
    chosen = Options(out, (f"reference:{fault}",), ("subtract",), ("f32",), "smoke", jobs=1)
    return replace(chosen, **given)


def run_command(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    given = ["expectations", *map(str, arguments)]
    code = exit_code_of(lambda: app(given, standalone_mode=False))
    return code, *capfd.readouterr()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "of", "verdict", "kind", "words", "where"),
    [
        ("transposed_operands", "f32", "divergent", "operands swapped", (), ()),
        ("reject", "f32", "rejected", "refused as invalid", ("refused",), ()),
        ("internal_error", "f32", "crashed", "internal error", ("INTERNAL: broken",), ()),
        ("abort", "si32", "crashed", "abnormal exit", ("SIGABRT",), ('"stablehlo.subtract"',)),
        ("wrong_shape", "f32", "divergent", "wrong type", (), ()),
    ],
)
def test_a_written_entry_makes_the_run_green_and_is_shown_by_its_counterexample(
    tmp_path: Path, capfd: pytest.CaptureFixture[str],
    fault: str, of: str, verdict: str, kind: str, words: tuple[str, ...], where: tuple[str, ...],
) -> None:  # fmt: skip
    given = options(tmp_path / "run", fault, element_types=(of,))
    assert run(given).exit_code == 1
    file = tmp_path / "mine.toml"
    code, out, _ = run_command(capfd, "update", given.out, "--out", file, "--seconds", "5")
    assert code == 0, out
    assert f"{file}: with --expectations {file} the run has no new divergence" in out
    (entry,) = read(file)
    assert (entry.verdicts, entry.kinds) == ((verdict,), (kind,))
    assert (entry.words, entry.where) == (words, where)
    assert (entry.op, entry.element_types) == (("subtract",), (of,))
    assert entry.backends == given.backends
    shown = entry.counterexample
    assert shown is not None
    assert shown.program.count("stablehlo.") == 1
    assert all(text in ("[]", "") or text.count(",") < 2 for text in shown.inputs)  # minimised
    again = run(replace(given, expectations=str(file)))
    assert (again.exit_code, again.stale) == (0, ())
    code, out, _ = run_command(
        capfd, "check", "--expectations", file, "--backend", given.backends[0]
    )
    assert (code, f"{entry.id}: reproduces" in out) == (0, True)
    with pytest.raises(ExpectationError, match="is still TODO"):
        run(replace(given, expectations=str(file), strict=True))
    code, out, _ = run_command(capfd, "fmt", file, "--check")
    assert (code, out) == (0, "")  # written as `fmt` would write it


def test_entries_are_added_to_handwritten_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = options(tmp_path / "run", "transposed_operands", element_types=("f32", "si32"))
    run(given)
    file = tmp_path / "mine.toml"
    file.write_text(HAND_WRITTEN)
    assert run_command(capfd, "update", given.out, "--out", file)[0] == 0
    text = file.read_text()
    assert text.startswith(HAND_WRITTEN)
    _, entry = read(file)
    assert entry.id == "subtract-operands-swapped-2"
    assert set(entry.element_types) == {"f32", "si32"}
    code, out, _ = run_command(capfd, "update", given.out, "--out", file)
    assert (code, file.read_text()) == (0, text)
    assert out == f"nothing is new in {given.out}: {file} is left as it is\n"


@pytest.mark.slow
def test_a_new_file_includes_the_files_of_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "files").mkdir()
    beside = tmp_path / "files" / "beside.toml"
    beside.write_text(
        '[[known]]\nid = "s"\nop = "subtract"\nelement_types = ["si32"]\nreason = "r"\n'
    )
    types = ("f32", "si32")
    given = options(tmp_path / "run", "transposed_operands", element_types=types)
    run(replace(given, expectations=("interpreter", str(beside))))
    file = tmp_path / "mine.toml"
    assert run_command(capfd, "update", given.out, "--out", file)[0] == 0
    assert file.read_text().startswith('include = ["interpreter", "files/beside.toml"]\n')
    assert run(replace(given, expectations=str(file))).exit_code == 0
    (entry,) = read(file)
    assert entry.element_types == ("f32",)
    other = tmp_path / "other.toml"
    other.write_text(HAND_WRITTEN)
    code, _, err = run_command(capfd, "update", given.out, "--out", other)
    assert code == 2  # the run is stored with mine.toml, which has an entry of that id
    assert "the id 'subtract-operands-swapped' is in" in err
    run(replace(given, expectations=str(beside)))
    code, out, _ = run_command(capfd, "update", given.out, "--out", other)
    assert f"with --expectations {beside} --expectations {other} the run has no new" in out


def test_batches_that_fail_as_a_whole_are_known_by_flaky_entries(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = options(tmp_path / "run", "error_together", ops=("abs", "subtract"))
    assert run(given).exit_code == 1
    file = tmp_path / "mine.toml"
    code, out, _ = run_command(capfd, "update", given.out, "--out", file)
    assert code == 0, out
    assert "lost-batch-crashed-internal-error: from " in out
    (entry,) = read(file)
    assert entry.flaky
    assert entry.words == ("INTERNAL: too many functions",)
    assert run(replace(given, expectations=str(file))).exit_code == 0
    code, out, _ = run_command(capfd, "update", given.out, "--out", file)
    assert out == f"nothing is new in {given.out}: {file} is left as it is\n"


def test_written_entries_stay_when_command_is_stopped(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command continues where it was stopped."""
    given = options(tmp_path / "run", "wrong_shape", ops=("subtract", "add"))
    run(given)
    file, search = tmp_path / "mine.toml", command.counterexample

    def stop_once_written(*asked):
        if file.exists():
            raise KeyboardInterrupt
        return search(*asked)

    with monkeypatch.context() as patch:
        patch.setattr(command, "counterexample", stop_once_written)
        assert run_command(capfd, "update", given.out, "--out", file)[0] == 130
    assert len(read(file)) == 1
    code, out, _ = run_command(capfd, "update", given.out, "--out", file)
    assert (code, len(read(file))) == (0, 2)
    assert out.startswith("1/1 ")


def test_impossible_update_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    given = options(tmp_path / "run", "transposed_operands")
    run(given)
    broken = tmp_path / "broken.toml"
    broken.write_text("[[known]]\n")
    for arguments, said in (
        ((tmp_path / "none", "--out", tmp_path / "a.toml"), "there is no"),
        ((given.out, "--out", tmp_path), "is a folder: name a file in it"),
        ((given.out, "--out", broken), "broken.toml: entry 1: 'id' is missing"),
        ((given.out, "--out", given.out / "results.sqlite" / "a.toml"), "cannot write"),
        ((given.out, "--out", tmp_path / "a.toml", "--backend", "cpu"), "unknown backend 'cpu'"),
    ):
        code, _, err = run_command(capfd, "update", *arguments)
        assert code == 2, said
        assert said in err
        assert err.count("\n") == 1
    assert broken.read_text() == "[[known]]\n"


def test_runs_that_differ_get_flaky_entries_and_classes_reasons(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of two runs is right by chance: what the first one has is flaky."""
    given = options(tmp_path / "run", "transposed_operands")
    then, file = run(given), tmp_path / "mine.toml"

    def be_right(asked: Options, _: object) -> RunData:
        assert (asked.out, asked.fresh) == (given.out / "run-2", True)
        assert replace(asked, out=given.out, fresh=False, jobs=1) == replace(
            given, expectations=asked.expectations
        )
        right = [replace(record, verdict=Verdict.PASS, failing=()) for record in then.records]
        return replace(then, records=right)

    monkeypatch.setattr(runner, "run", be_right)
    update = ("update", given.out, "--out", file)
    code, out, _ = run_command(capfd, *update, "--runs", "2", "--reason", "divergent=By chance.")
    assert code == 0, out
    assert out.startswith("run 2 of 2\nsubtract-flaky: f32: not in all of 2 runs\n")
    (entry,) = read(file)
    assert (entry.flaky, entry.reason) == (True, "By chance.")
    assert run(replace(given, expectations=str(file))).exit_code == 0


def test_reasons_are_of_classes_and_verdicts(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = options(tmp_path / "run", "internal_error")
    run(given)
    file = tmp_path / "mine.toml"
    update = ("update", given.out, "--out", file, "--seconds", "1")
    assert run_command(capfd, *update, "--reason", "flushed=Ours.")[0] == 0
    assert read(file)[0].reason == "TODO"
    before = file.read_text()
    code, out, _ = run_command(capfd, *update, "--reason", 'internal *=A "bug" = 7.')
    assert (code, read(file)[0].reason) == (0, 'A "bug" = 7.')
    assert f"{file}: 1 reason written" in out
    assert file.read_text() == before.replace('"TODO"', "'A \"bug\" = 7.'")
    for wrong, said in (("Ours.", "takes CLASS=TEXT"), ("flushd=x", "did you mean flushed")):
        with pytest.raises(UsageError, match=said):
            Reasons.parse([wrong])


def test_a_program_that_the_verifier_refuses_is_its_own_counterexample() -> None:
    text = REFUSED
    assert unminimised_counterexample(text, b"") == Counterexample(text)
    entry = Expectation(
        "x", ("add",), "r", verdicts=("rejected",), words=("line *",),
        counterexample=Counterexample(text),
    )  # fmt: skip
    assert replay(entry, "reference").reproduces


KNOWN = """
[[known]]
id = "infinite"
op = "divide"
kinds = ["infinity"]
reason = "Divides the other way round."
[[known]]
id = "others"
op = "d*"
element_types = ["f32", "si32"]
verdicts = ["flushed"]
reason = "Subnormal numbers."
"""
COMPUTED = """
[[known]]
id = "other-way"
op = "divide"
element_types = ["f32"]
computes = '''
%0 = stablehlo.divide %rhs, %lhs : $T
'''
reason = "The operands are swapped."
"""


def test_a_case_is_explained_by_entry_and_by_condition(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("known", KNOWN), ("computed", COMPUTED)):
        (tmp_path / f"{name}.toml").write_text(text)
    backend = "reference:transposed_operands"
    given = Options(
        tmp_path / "run", (backend,), ("divide",), ("f32",), "smoke", jobs=1,
        expectations=(str(tmp_path / "known.toml"),),
    )  # fmt: skip
    records = run(given).records

    def run_command(case: str, *arguments: object) -> tuple[int, list[str], str]:
        line = ["expectations", "why", case, "--db", str(given.out), *map(str, arguments)]
        code = exit_code_of(lambda: app(line, standalone_mode=False))
        out, err = capfd.readouterr()
        *lines, command = out.splitlines() or [""]
        following.append(command)
        return code, lines if command.startswith("next: ") else [*lines, command], err

    following: list[str] = []
    passing = next(record for record in records if not record.verdict.fails)
    assert run_command(passing.id)[:2] == (0, [f"{passing.id}: pass: it does not fail"])
    failing = next(record for record in records if record.verdict.fails)
    file = tmp_path / "known.toml"
    code, out, _ = run_command(failing.id)
    assert code == 1
    update = f"next: hlo-conformance expectations update {given.out} --out"
    assert following[-1] == f"{update} {file}"
    assert out[0] == (
        f"divergent (infinity): known by infinite ({file}): Divides the other way round."
    )
    assert out[1] == "  by the class 'infinity'"
    assert out[2].endswith("elements are predicted within 2 ulp")
    assert out[3].startswith("divergent (operands swapped): new: operands swapped: ")
    assert out[4:] == [
        f"  infinite ({file}): it matches the class 'infinity', not 'operands swapped'",
        f"  others ({file}): it matches 'flushed', not divergent",
    ]
    code, out, _ = run_command(failing.id, "--expectations", "none")
    assert (code, out[1]) == (1, "  no entry applies to divide of f32")
    assert following[-1] == f"{update} expectations.toml"
    computed = tmp_path / "computed.toml"
    code, out, _ = run_command(failing.id, "--expectations", computed)
    assert f"  other-way ({computed}): its 'computes' does not predict these values" in out[1]
    assert out[-1].startswith("values were judged with the expectations of the run")
    run(replace(given, out=tmp_path / "again", expectations=str(computed)))
    code, out, _ = run_command(failing.id, "--db", tmp_path / "again")
    assert code == 0
    assert out[1] == "  its 'computes' predicts the values"
    assert following[-1].startswith("next: hlo-conformance replay divide-f32-")
    computed.write_text(COMPUTED.replace("The operands are swapped.", "TODO"))
    run_command(failing.id, "--db", tmp_path / "again")
    kind = "as computed by other-way"
    assert following[-1].endswith(f"again --out {computed} --reason '{kind}=...'")
    code, _, err = run_command("divide-f32-cpu-0")
    assert (code, err.count("\n")) == (2, 1)
    assert "this run has no case 'divide-f32-cpu-0'" in err


# --- A stored record of several failures ---------------------------------------------------------

CELL = ("divide", "f32", "cpu")
MESSAGES = """
[[known]]
id = "aborts"
op = "divide"
verdicts = ["crashed"]
words = ["INTERNAL: broken"]
reason = "The compiler aborts."

[[known]]
id = "later"
op = "*"
verdicts = ["crashed"]
words = ["broken"]
reason = "Any op."
"""


def store_run(tmp_path: Path, *failing: Failing) -> Path:
    """Return the folder of a run with a failing case, number 0, and a passing case, number 1."""
    worst = failing[0]
    record = Record(
        *CELL, 0, "0", worst.verdict, worst.kind, worst.message,
        detail=Detail("module {}", b"", 0, 4), failing=failing,
    )  # fmt: skip
    with Store(tmp_path / FILE_NAME) as store:
        passing = Record(*CELL, 1, "1", Verdict.PASS)
        store.add_task("a", CELL, [record, passing], Errors(), Timing(), modules=1, peak_rss_mb=1.0)
        store.set_meta({"seed": 0, "profile": "smoke", "versions": {"jaxlib": "0.10.2"}})
    return tmp_path


def test_a_single_new_failure_of_a_case_is_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "known.toml"
    file.write_text(MESSAGES)
    known = Failing(Verdict.CRASHED, "internal error", "INTERNAL: broken", 0)
    db = store_run(
        tmp_path, Failing(Verdict.CRASHED, "internal error", "INTERNAL:\nother", 0), known
    )
    assert explain("divide-f32-cpu-0", db, str(file)) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "crashed (internal error): new: INTERNAL: other"
    assert lines[1].startswith(f"  aborts ({file}): ")
    assert lines[2].startswith(f"  later ({file}): ")
    assert lines[3].startswith("crashed (internal error): known by aborts ")
