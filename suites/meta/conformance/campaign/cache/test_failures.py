"""Cases that failed before: known failures come from the cache, new failures are run again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from conformance.backends import session as backend_sessions
from conformance.backends.fake.faults import FAULTS
from conformance.backends.session import Compiled, Session
from conformance.campaign import session, stale_entries, task_runner
from conformance.campaign.planning import Options
from conformance.campaign.runner import run
from conformance.campaign.task_runner import TaskRunner
from conformance.campaign.tasks import Task, TaskBatch, TaskResult, run_tasks
from conformance.limits import Limits
from conformance.pipeline import confirmation
from conformance.pipeline.splitting import BatchCall
from conformance.results.lines import lines_of
from conformance.verdict import Verdict
from reference.ir.program import Program

FAULT = "off_by_100_ulp"
ENTRY = """
[[known]]
id = "up"
op = "add"
element_types = ["f32"]
reason = "r"
"""


def options(tmp_path: Path, out: str, fault: str = FAULT, **given) -> Options:
    made = Options(
        tmp_path / out, (f"reference:{fault}",), ("add", "tanh"), ("f32",), "standard", jobs=1,
        cache=tmp_path / "cache",
    )  # fmt: skip
    return replace(made, **given)


@dataclass(slots=True)
class Work:
    """Work on cases in this process, in place of workers."""

    judged: int = 0
    compiled: list[int] = field(default_factory=list)

    def clear(self) -> None:
        self.judged = 0
        self.compiled.clear()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Do tasks in this process, where faults can be exchanged, and count compilations and
    judgements.
    """
    seen = Work()
    judge, compiled = confirmation.judge_sets, Session.compile

    def run_in_process(
        self: TaskRunner, _: object, bundles: Iterable[TaskBatch]
    ) -> Iterator[tuple[Task, TaskResult]]:
        backend_sessions._opened.clear()
        for batch in bundles:
            yield from zip(batch, run_tasks(batch, self.manner), strict=True)

    def count_and_judge(*given, **named):
        seen.judged += 1
        return judge(*given, **named)

    def note_and_compile(self: Session, program: Program, text: str = "") -> Compiled:
        seen.compiled.append(len(program.main.result_types))
        return compiled(self, program, text)

    monkeypatch.setattr(TaskRunner, "run", run_in_process)
    monkeypatch.setattr(confirmation, "judge_sets", count_and_judge)
    monkeypatch.setattr(Session, "compile", note_and_compile)
    return seen


def write_entries(tmp_path: Path, text: str = ENTRY) -> str:
    """Write entries about the fault, and return the file."""
    file = tmp_path / "known.toml"
    file.write_text(text)
    return str(file)


def test_a_failure_that_is_known_comes_from_the_cache(tmp_path: Path, work: Work) -> None:
    given = {"ops": ("add",), "expectations": write_entries(tmp_path)}
    first = run(options(tmp_path, "first", **given))
    failed = sum(record.verdict.fails for record in first.records)
    assert 4 < failed < len(first.records)
    assert work.compiled.count(1) >= failed  # each in isolation
    assert first.exit_code == 0
    work.clear()
    second = run(options(tmp_path, "second", **given))
    assert (second.records, second.errors) == (first.records, first.errors)
    assert (work.judged, work.compiled, second.exit_code) == (0, [], 0)
    assert second.from_cache == len(first.records)
    assert "which did not fail before, or failed as known" in " ".join(lines_of(second, "{}"))


@pytest.mark.slow
def test_a_new_failure_is_run_again(tmp_path: Path, work: Work) -> None:
    first = run(options(tmp_path, "first"))
    failed = sum(record.verdict.fails for record in first.records)
    work.clear()
    second = run(options(tmp_path, "second"))
    assert (second.records, second.errors) == (first.records, first.errors)
    assert second.exit_code == first.exit_code == 1
    assert second.from_cache == len(first.records) - failed
    assert work.compiled.count(1) >= failed


UNPREDICTABLE = (
    ENTRY
    + """unpredictable = true
computes = '''
%z = $op(%lhs, %rhs)
%no = stablehlo.constant dense<false> : tensor<$Sxi1>
return %z, %no : $T, tensor<$Sxi1>
'''
"""
)


@pytest.mark.parametrize("text", [ENTRY + "flaky = true\n", UNPREDICTABLE])
def test_a_failure_that_varies_by_its_entry_is_run_again(
    tmp_path: Path, work: Work, text: str
) -> None:
    del work
    given = {"ops": ("add",), "expectations": write_entries(tmp_path, text)}
    first = run(options(tmp_path, "first", **given))
    failed = sum(record.verdict.fails for record in first.records)
    assert failed
    assert first.exit_code == 0
    second = run(options(tmp_path, "second", **given))
    assert second.from_cache == len(first.records) - failed


@pytest.mark.slow
@pytest.mark.parametrize("other", ["off_by_three_ulp", "sign_lost", "internal_error", "right"])
def test_a_case_with_another_result_never_comes_from_the_cache_again(
    tmp_path: Path, work: Work, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """The backend changes, but nothing that the cache identifies it by."""
    del work
    first = run(options(tmp_path, "first"))
    failed = {record.id for record in first.records if record.verdict.fails}
    with monkeypatch.context() as patch:
        patch.setitem(FAULTS, FAULT, FAULTS[other])
        changed = run(options(tmp_path, "changed"))
        bare = run(options(tmp_path, "bare", cache=None))
    now = {record.id: record for record in bare.records if record.id in failed}
    assert {r.id: r for r in changed.records if r.id in failed} == now
    assert any(now[record.id] != record for record in first.records if record.id in failed)
    entries = "".join(
        ENTRY.replace('"add"', f'"{op}"').replace('"up"', f'"{op}"') for op in ("add", "tanh")
    )
    again = run(options(tmp_path, "again", expectations=write_entries(tmp_path, entries)))
    differing = sum(now[r.id] != r for r in first.records if r.id in failed)
    assert again.exit_code == 0
    assert again.from_cache == len(first.records) - differing


@pytest.mark.slow
def test_a_failure_depends_on_how_it_is_judged(
    tmp_path: Path, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    del work
    given = {"ops": ("add",), "expectations": write_entries(tmp_path)}
    first = run(options(tmp_path, "first", **given))
    passed = sum(not record.verdict.fails for record in first.records)
    write_entries(tmp_path, ENTRY + "max_ulp = 50.0\n")  # which entries match is asked in each run
    bounded = run(options(tmp_path, "bounded", **given))
    assert bounded.records == run(options(tmp_path, "bare", cache=None, **given)).records
    assert bounded.exit_code == 1
    write_entries(tmp_path, ENTRY + 'computes = """\n%z = stablehlo.add %rhs, %lhs : $T\n"""\n')
    assert run(options(tmp_path, "computes", **given)).from_cache == passed
    write_entries(tmp_path)
    for name, more in {"repeats": {"repeats": 2}, "timeout": {"limits": Limits(50.0)}}.items():
        assert run(options(tmp_path, name, **given, **more)).from_cache == passed
    with monkeypatch.context() as patch:
        patch.setattr(session, "whole_digest", lambda: "other")
        assert run(options(tmp_path, "sources", **given)).from_cache == passed
    assert run(options(tmp_path, "last", **given)).from_cache == len(first.records)


def test_a_near_miss_that_is_known_comes_from_the_cache(tmp_path: Path, work: Work) -> None:
    text = '[[known]]\nid = "n"\nop = "add"\nelement_types = ["invalid"]\nreason = "r"\n'
    text += 'verdicts = ["accepted"]\nkinds = ["*"]\n'
    given = {
        "ops": ("add",),
        "element_types": ("invalid",),
        "expectations": write_entries(tmp_path, text),
    }
    first = run(options(tmp_path, "first", "accepts_invalid", **given))
    assert any(record.verdict is Verdict.ACCEPTED for record in first.records)
    work.clear()
    second = run(options(tmp_path, "second", "accepts_invalid", **given))
    assert second.records == first.records
    assert (work.compiled, second.from_cache) == ([], len(first.records))


@pytest.mark.slow
def test_a_case_that_always_ended_its_process_does_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[BatchCall] = []

    def note_call(*given, **named) -> BatchCall:
        calls.append(BatchCall(*given, **named))
        return calls[-1]

    monkeypatch.setattr(task_runner, "BatchCall", note_call)
    text = ENTRY.replace('"add"', '"tanh"') + 'verdicts = ["crashed"]\nwords = ["*"]\n'
    given = {"ops": ("tanh",), "expectations": write_entries(tmp_path, text)}
    first = run(options(tmp_path, "first", "abort_on_nan", **given))
    failed = sum(record.verdict is Verdict.CRASHED for record in first.records)
    assert failed
    assert len(calls) > failed
    calls.clear()
    second = run(options(tmp_path, "second", "abort_on_nan", **given))
    assert second.records == first.records
    assert second.incidents == first.incidents == ()
    assert (calls, second.from_cache) == ([], len(first.records))
    with monkeypatch.context() as patch:
        patch.setattr(session, "whole_digest", lambda: "other")
        changed = run(options(tmp_path, "changed", "abort_on_nan", **given))
    assert changed.records == first.records
    assert changed.from_cache == len(first.records) - failed
    assert len(calls) == failed  # each once, as its entry knows it


@pytest.mark.slow
def test_counterexamples_are_not_replayed_where_nothing_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    replayed = stale_entries.replay_counterexamples

    def note_and_replay(executor, entries, backend):
        asked.extend(one.id for one in entries)
        return replayed(executor, entries, backend)

    monkeypatch.setattr(stale_entries, "replay_counterexamples", note_and_replay)
    program = """
[known.counterexample]
program = '''
func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.subtract %x, %y : tensor<f32>
  return %0 : tensor<f32>
}
'''
inputs = ["1.0", "2.0"]
"""
    entry = ENTRY.replace('"add"', '"subtract"').replace('["f32"]', '["f32", "si8"]')
    file = tmp_path / "known.toml"
    given = {"ops": ("subtract",), "element_types": ("si8",), "expectations": str(file)}
    bounded = entry + "max_ulp = 1000.0\n"
    texts = [(entry, ["up"]), (entry, []), (bounded, ["up"]), (bounded.replace('"r"', '"s"'), [])]
    for number, (text, wanted) in enumerate(texts):
        file.write_text(text + program)
        asked.clear()
        done = run(options(tmp_path, str(number), "off_by_100_ulp", **given))
        assert (asked, done.stale) == (wanted, ())
    file.write_text(entry + 'kinds = ["not deterministic"]\nunpredictable = true\n' + program)
    for number in range(2):  # whether it does not reproduce is never kept
        asked.clear()
        done = run(options(tmp_path, f"right{number}", "right", **given))
        assert "up" in asked
        assert done.stale == ("up",)
