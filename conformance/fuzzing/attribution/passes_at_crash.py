"""The compiler passes during which a process ended, read from the passes that it prints.

XLA reads the options for printing when its process begins, so a running worker cannot be used.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

from conformance.backends.base import BackendError, Settings
from conformance.backends.passes import PRINTING, Passes, dumped_passes, unfinished_passes
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.trial import Trial

_RUN = f"from {__name__} import run_given; run_given()"


def observe_passes(
    trial: Trial, finding: Finding, seconds: float
) -> tuple[tuple[str, ...], Passes]:
    """Return the passes in which a program's process ended, the innermost first, and the passes
    before. Both are empty if the backend prints none.
    """
    with tempfile.TemporaryDirectory(prefix="hlo-conformance-") as folder:
        given = pickle.dumps((trial.backend, folder, finding.program, finding.inputs))
        try:
            done = subprocess.run(
                [sys.executable, "-c", _RUN],
                input=given,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=seconds,
                env=os.environ | PRINTING,
                check=False,
            )
            printed = done.stderr
        except subprocess.TimeoutExpired as expired:
            printed = expired.stderr or b""
        lines = printed.decode("utf-8", "replace").splitlines()
        return unfinished_passes(lines), dumped_passes(Path(folder))


def run_given() -> None:
    """Compile and run the programs that arrive; this runs in a separate process that may crash."""
    from conformance.backends.session import open_session

    spelling, folder, program, inputs = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - ours
    session = open_session(spelling).configured(Settings(dump=folder))
    try:
        next(session.run(program, [inputs]))
    except BackendError as error:
        sys.stderr.write(f"{error}\n")
