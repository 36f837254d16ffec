"""All data of the page: sections that a run has, and the command that replays a case."""

from __future__ import annotations

import json

from reports import view
from reports.page.data import data_of, replay_words
from suites.meta.support import synthetic_run as synthetic


def test_a_database_is_named_as_a_shell_takes_it() -> None:
    assert replay_words("") == ["hlo-conformance replay ", ""]
    assert replay_words("my runs/a.sqlite")[1] == " --db 'my runs/a.sqlite'"


def test_sections_that_a_run_does_not_have_are_empty() -> None:
    """One backend differs from none, and nothing changed without a baseline."""
    data = data_of(view.build(synthetic.run("passing")), [], dict)
    assert data["differences"] is None
    assert data["changes"] is None
    assert data["groups"] == []
    several = data_of(view.build(synthetic.run("partial")), [], dict)
    assert several["differences"] is not None


def test_data_is_json_and_programs_are_made_pretty_last() -> None:
    called: list[int] = []

    def pretty() -> dict[str, str]:
        called.append(1)
        return {}

    data = data_of(view.build(synthetic.run("passing")), [], pretty)
    assert called == [1]
    assert json.loads(json.dumps(data))["backends"] == ["cpu"]
    assert len(data["cells"]) == len(synthetic.run("passing").planned)
