"""Work on hits: bounded, the places that nothing is known of first, nothing forgotten."""

from __future__ import annotations

from pathlib import Path

from conformance.campaign.fuzzing import hits
from conformance.campaign.fuzzing.backlog import Backlog, Waiting
from conformance.campaign.fuzzing.command import Options, fuzz
from conformance.campaign.fuzzing.keeping.journal import Journal


def test_places_of_which_nothing_was_begun_come_first_then_classes_met_seldom() -> None:
    backlog = Backlog()
    for number, (place, group) in enumerate(
        [("a", "flushed"), ("a", "flushed"), ("b", "flushed"), ("c", "divergent")]
    ):
        backlog.add(Waiting(number, place, group))
    order = [one.number for one in iter(backlog.next_hit, None)]
    assert order == [0, 3, 2, 1]
    assert len(backlog) == 0


def test_what_weighs_more_gives_way_until_as_many_others_were_begun() -> None:
    backlog = Backlog()
    for number in range(4):
        backlog.add(Waiting(number, f"a{number}", "flushed", weight=2))
        backlog.add(Waiting(10 + number, f"b{number}", "divergent"))
    order = [one.number for one in iter(backlog.next_hit, None)]
    assert order == [0, 10, 11, 1, 12, 13, 2, 3]


def campaign(out: Path, **more) -> int:
    return fuzz(Options(out, "reference:floor_division", "60s", jobs=1, ops=("divide",), **more))


def test_what_had_no_turn_waits_in_the_journal_and_is_told(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(hits, "SHARE", -1.0)  # nothing while programs are tried
        patch.setattr(hits.Hits, "_is_over", True)  # and nothing after
        assert campaign(tmp_path, programs=48) == 0
        assert "programs that fail were not looked into" in capsys.readouterr().err
    with Journal(tmp_path) as journal:
        waiting = journal.open_count()
        assert waiting
        assert journal.findings() == []
    assert campaign(tmp_path, programs=48) == 1
    with Journal(tmp_path) as journal:
        assert journal.open_count() == 0
        assert sum(one.count for one in journal.findings()) == waiting
        assert all(one.told["attribution"]["ways"] for one in journal.findings())
