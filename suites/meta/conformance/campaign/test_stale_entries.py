"""Entries whose counterexamples no longer fail: reported in each run; failures if `strict`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.campaign import stale_entries
from conformance.campaign.planning import Options
from conformance.campaign.runner import run
from conformance.checking.counterexamples import replay_counterexamples
from conformance.errors import UsageError
from conformance.gate.reading import ExpectationError
from conformance.results.lines import lines_of
from suites.meta.support.one_task import Hearing

KINDS = 'kinds = ["operands swapped"]'
BARE = f"""
[[known]]
id = "swapped"
op = "subtract"
{KINDS}
reason = "lhs and rhs are swapped."
"""
PROGRAM = """
[known.counterexample]
program = '''
func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.subtract %x, %y : tensor<f32>
  return %0 : tensor<f32>
}
'''
inputs = ["1.0", "2.0"]
"""
SHOWN = BARE + PROGRAM
MENDED = """
[[known]]
id = "mended"
op = "subtract"
kinds = ["NaN"]
reason = "Nothing shows it."
[known.counterexample]
program = '''
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.subtract %x, %x : tensor<f32>
  return %0 : tensor<f32>
}
'''
inputs = ["1.0"]
"""


def options(out: Path, fault: str, ops: tuple[str, ...]) -> Options:
    return Options(out, (f"reference:{fault}",), ops, ("f32",), "smoke", jobs=1)


@pytest.mark.slow
def test_fixed_counterexample_is_reported_and_fails_strict_run(
    tmp_path: Path,
) -> None:
    file = tmp_path / "known.toml"
    given = options(tmp_path / "out", "transposed_operands", ops=("subtract",))
    given = replace(given, expectations=str(file))
    for text, ids in ((SHOWN, ()), (SHOWN + MENDED, ("mended",))):
        file.write_text(text)
        for strict in (False, True):
            known = run(replace(given, strict=strict))
            assert (known.stale, known.fixed) == (ids, ids)
            assert known.exit_code == (1 if strict and ids else 0)
        shown = [line for line in lines_of(known, "") if line.startswith("fixed")]
        assert len(shown) == len(ids)
    assert shown[0].endswith(": mended")
    assert known.summary["fixed_expectations"] == ["mended"]


@pytest.mark.slow
def test_a_counterexample_that_fails_otherwise_is_stale_and_not_fixed(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(SHOWN.replace(KINDS, 'kinds = ["NaN"]'))
    given = options(tmp_path / "out", "transposed_operands", ops=("subtract",))
    known = run(replace(given, expectations=str(file)))
    assert (known.stale, known.fixed) == (("swapped",), ())


def test_entry_about_timeouts_is_never_replayed_in_a_run(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(
        SHOWN + MENDED.replace("kinds", 'verdicts = ["timed_out"]\nwords = ["no answer"]\nkinds')
    )
    given = options(tmp_path / "out", "transposed_operands", ops=("subtract",))
    known = run(replace(given, expectations=str(file), strict=True))
    assert (known.stale, known.exit_code) == ((), 0)


@pytest.mark.slow
def test_counterexample_is_replayed_once_for_resumed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "known.toml"
    file.write_text(SHOWN + MENDED)
    given = options(tmp_path / "out", "transposed_operands", ops=("subtract",))
    given = replace(given, expectations=str(file))
    run(given)
    asked: list[str] = []

    def note_and_replay(*arguments: Any) -> Any:
        asked.extend(one.id for one in arguments[1])
        return replay_counterexamples(*arguments)

    monkeypatch.setattr(stale_entries, "replay_counterexamples", note_and_replay)
    monkeypatch.setattr(stale_entries, "MANY", 1)
    assert run(given).fixed == ("mended",)
    file.write_text(SHOWN + MENDED.replace('"1.0"', '"2.0"'))
    assert asked == []
    heard = Hearing()
    assert run(given, heard).fixed == ("mended",)
    assert asked == ["mended"]
    assert heard.said == ["replaying the counterexamples of 1 entries that matched nothing"]


@pytest.mark.slow
def test_unreadable_counterexample_is_reported_and_refused_by_strict(
    tmp_path: Path,
) -> None:
    file = tmp_path / "known.toml"
    file.write_text(SHOWN + MENDED.replace('["1.0"]', '["1.0", "2.0"]'))
    given = options(tmp_path / "out", "right", ops=("subtract",))
    given = replace(given, expectations=str(file))
    heard = Hearing()
    assert run(given, heard).fixed == ()
    said = "the counterexample of expectation 'mended': its program takes 1 inputs, and 2 are given"
    assert said in heard.said
    with pytest.raises(UsageError, match="its program takes 1 inputs"):
        run(replace(given, strict=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("BARE", "--strict: no counterexample in entry 'swapped' .*known.toml"),
        ("TODO", "--strict: the reason of entry 'swapped' .*known.toml.* is still TODO"),
    ],
)
def test_unfinished_entry_is_refused_by_strict_before_the_run(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "known.toml"
    file.write_text(BARE if text == "BARE" else SHOWN.replace("lhs and rhs are", "todo: are they"))
    given = options(tmp_path / "out", "right", ops=("subtract",))
    with pytest.raises(ExpectationError, match=said):
        run(replace(given, expectations=str(file), strict=True))
    assert not (tmp_path / "out").exists()
