"""The command `expectations why`: which entry matches a recorded case, or why none does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.campaign.planning import Options
from conformance.campaign.runner import run
from conformance.cli import app, exit_code_of
from conformance.results.store import FILE_NAME, Store
from conformance.updating.why import explain
from conformance.verdict import Detail, Errors, Failing, Record, Timing, Verdict

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
    passing = next(one for one in records if not one.verdict.fails)
    assert run_command(passing.id)[:2] == (0, [f"{passing.id}: pass: it does not fail"])
    failing = next(one for one in records if one.verdict.fails)
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
