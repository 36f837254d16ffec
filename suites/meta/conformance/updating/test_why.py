"""The command `expectations why`: which entry knows a recorded case, or why none does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.campaign.planning import Options
from conformance.campaign.runner import run
from conformance.cli import app, exit_code_of

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
        return code, out.splitlines(), err

    passing = next(one for one in records if not one.verdict.fails)
    assert run_command(passing.id)[:2] == (0, [f"{passing.id}: pass: it does not fail"])
    failing = next(one for one in records if one.verdict.fails)
    file = tmp_path / "known.toml"
    code, out, _ = run_command(failing.id)
    assert code == 1
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
    computed = tmp_path / "computed.toml"
    code, out, _ = run_command(failing.id, "--expectations", computed)
    assert f"  other-way ({computed}): its 'computes' does not predict these values" in out[1]
    assert out[-1].startswith("values were judged with the expectations of the run")
    run(replace(given, out=tmp_path / "again", expectations=str(computed)))
    code, out, _ = run_command(failing.id, "--db", tmp_path / "again")
    assert code == 0
    assert out[1] == "  its 'computes' predicts the values"
    code, _, err = run_command("divide-f32-cpu-0")
    assert (code, err.count("\n")) == (2, 1)
    assert "this run has no case 'divide-f32-cpu-0'" in err
