"""A single task, done in this process, and a recorder of the messages of a run."""

from __future__ import annotations

from conformance.campaign.progress import Watcher
from conformance.campaign.tasks import Task, TaskResult, run_tasks


def run_task(task: Task) -> TaskResult:
    """Return the result of a task that is a batch of its own."""
    (result,) = run_tasks([task])
    return result


class Hearing(Watcher):
    """A recorder of messages."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, line: str) -> None:
        self.said.append(line)
