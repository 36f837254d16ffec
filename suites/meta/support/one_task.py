"""A single task, done in this process."""

from __future__ import annotations

from conformance.campaign.tasks import Task, TaskResult, run_tasks


def run_task(task: Task) -> TaskResult:
    """Return the result of a task that is a batch of its own."""
    (result,) = run_tasks([task])
    return result
