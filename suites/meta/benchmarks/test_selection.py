"""Options that select the cases of a benchmark."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.selection import add_selection, run_options
from conformance.campaign.planning import FASTEST


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_selection(parser)
    return parser.parse_args(words)


def test_nothing_selected_is_every_op_in_the_fastest_profile() -> None:
    options = run_options(parse(), Path("out"))
    assert (options.ops, options.element_types) == ((), ())
    assert (options.profile, options.backends, options.jobs) == (FASTEST, ("cpu",), None)


def test_selections_are_repeated() -> None:
    words = [
        "--op",
        "a*",
        "--op",
        "dot*",
        "--element-type",
        "f32",
        "--profile",
        "deep",
        "--backend",
        "reference",
    ]
    options = run_options(parse(*words), Path("out"), 3)
    assert (options.ops, options.element_types) == (("a*", "dot*"), ("f32",))
    assert (options.profile, options.backends, options.jobs) == ("deep", ("reference",), 3)
    assert options.out == Path("out")
