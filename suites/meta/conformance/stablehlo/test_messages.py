"""Locations: the place of an operation is the nearest frame of the user's own code."""

from __future__ import annotations

import pytest

from conformance.stablehlo.messages import place_of

OPS = '"/usr/lib/python3/dist-packages/tensorflow/python/framework/ops.py":1221:0'
KERAS = '"/home/me/env/lib/python3.11/site-packages/keras/src/layers/layer.py":30:0'
STANDARD = '"/usr/lib/python3.11/contextlib.py":81:0'
OWN = '"/home/me/work/train.py":33:2'
CALLER = '"/home/me/work/main.py":3:1'


def stack(*frames: str) -> str:
    """Return a call stack as MLIR spells it, from the innermost frame."""
    *inner, last = frames
    return "".join(f"callsite({frame} at " for frame in inner) + last + ")" * len(inner)


@pytest.mark.parametrize(
    ("location", "place"),
    [
        (
            f'loc("dense/Sub"({stack(OPS, KERAS, STANDARD, OWN, CALLER)}))',
            "dense/Sub at train.py:33",
        ),
        (f"loc({stack(OPS, OWN, CALLER)})", "train.py:33"),
        (f'loc("jit(f)/sub"({OWN}))', "jit(f)/sub at train.py:33"),
        (f'loc("dense/Sub"({stack(OPS, KERAS)}))', "dense/Sub"),
        (f"loc({stack(OPS, KERAS)})", "ops.py:1221"),
        ('loc("train.py":7:1)', "train.py:7"),
        ('loc("-":7:1)', "line 7"),
        ("loc(unknown)", ""),
    ],
)
def test_location_is_nearest_frame_of_user_code(location: str, place: str) -> None:
    assert place_of(location) == place
