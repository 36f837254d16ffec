"""Digests of wrong elements: their bits and positions, any NaN alike, and no permitted elements."""

from __future__ import annotations

import numpy as np

from conformance.judging.compare import judge_sets
from conformance.judging.digests import digest_elements
from conformance.tolerance.table import DATA, EXPONENTIAL
from reference.ir.types import Array
from suites.meta.support.small_programs import op_program, tensor_of

NAN = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
RIGHT = np.float32([-1, -2, -3])


def digest_of(op: str, *results: Array, rule=DATA) -> bytes:
    """Return the digest of one result for each input set; 1, 2, 3 are the inputs."""
    program = op_program(op, [tensor_of(3)], tensor_of(3))
    inputs = (np.float32([1, 2, 3]),)
    expected = (RIGHT,) if op == "negate" else (np.exp(inputs[0]),)
    sets = [[inputs] * len(results), [expected] * len(results), [[one] for one in results]]
    return judge_sets(program, *sets, rule).whole.digest


def replaced(position: int, value: object) -> Array:
    changed = RIGHT.copy()
    changed[position] = value
    return changed


def test_digest_depends_on_bits_positions_and_input_sets() -> None:
    different = [
        digest_of("negate", *results)
        for results in (
            (replaced(0, 7), RIGHT), (replaced(0, 8), RIGHT), (replaced(1, 7), RIGHT),
            (RIGHT, replaced(0, 7)), (replaced(0, 7), replaced(0, 7)), (replaced(0, NAN[0]), RIGHT),
            (RIGHT.astype(np.float64), RIGHT), (RIGHT[:2], RIGHT),
        )
    ]  # fmt: skip
    assert len({*different, b""}) == len(different) + 1
    assert digest_of("negate", RIGHT, RIGHT) == b""


def test_all_nans_are_alike() -> None:
    first, second = (digest_of("negate", replaced(0, one)) for one in NAN)
    assert first == second
    where = np.arange(2)
    pairs = [np.array([complex(one, 2), complex(3, one)], np.complex64) for one in (*NAN, 7)]
    alike, too, other = (digest_elements(pair, where) for pair in pairs)
    assert alike == too != other


def test_permitted_elements_do_not_change_the_digest() -> None:
    right = np.exp(np.float32([1, 2, 3]))
    wrong, near = right.copy(), right.copy()
    wrong[0] = near[0] = 9
    near[1] = np.nextafter(near[1], np.float32(9))
    rule = EXPONENTIAL
    assert digest_of("exponential", wrong, rule=rule) == digest_of("exponential", near, rule=rule)
