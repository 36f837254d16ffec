"""The example workflows as lists of commands, with the variables of their systems filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from docs.tools.pages import ROOT

EXAMPLES = ROOT / "examples"
PARTS = 3
_EXPRESSION = re.compile(r"\$\{\{ *matrix\.part *\}\}")


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a job, with the variables that it is run with."""

    job: str
    command: str
    variables: dict[str, str]


def content(path: Path) -> dict[str, Any]:
    """Return the content of a workflow."""
    return YAML(typ="safe").load(path)


def github() -> Iterator[Step]:
    """Yield the commands of the workflow for GitHub Actions, job by job and part by part."""
    workflow = content(EXAMPLES / "ci" / "github.yml")
    for name, job in workflow["jobs"].items():
        parts = job.get("strategy", {}).get("matrix", {}).get("part", [0])
        assert len(parts) == (PARTS if name == "part" else 1)
        for part in parts:
            for step in job["steps"]:
                if "run" in step:
                    command = _EXPRESSION.sub(str(part), step["run"])
                    assert "${{" not in command
                    yield Step(name, command, workflow["env"])


def gitlab() -> Iterator[Step]:
    """Yield the commands of the workflow for GitLab, job by job and part by part."""
    workflow = content(EXAMPLES / "ci" / "gitlab.yml")
    for name in ("part", "report", "night"):
        job = workflow[name]
        parts = job.get("parallel", 1)
        assert parts == (PARTS if name == "part" else 1)
        for part in range(1, parts + 1):
            own = {"CI_NODE_INDEX": str(part), "CI_NODE_TOTAL": str(parts)}
            for command in job["script"]:
                yield Step(name, command, workflow["variables"] | own)
