"""Values without data: the token, and futures."""

from __future__ import annotations

import copy
import pickle

from reference.ir.tokens import TOKEN, Future


def test_there_is_one_token_in_every_process() -> None:
    assert copy.deepcopy(TOKEN) is TOKEN
    assert pickle.loads(pickle.dumps(TOKEN)) is TOKEN


def test_futures_of_equal_values_are_different_futures() -> None:
    future = Future((1,))
    assert future == future
    assert future != Future((1,))
    assert len({future, Future((1,))}) == 2
