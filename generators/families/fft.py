"""Cases of the ops of reference/ops/fft.py."""

from __future__ import annotations

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import sizes_label
from generators.programs.building import Builder, case
from generators.values.profiles import ProfileRow
from reference.ir.program import Attribute, TensorType
from reference.ir.types import ElementType
from reference.ops.elementwise.types import COMPLEX_OF
from reference.ops.fft import count_bins

_ALONE = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 21, 25, 27, 30, 31, 32, 33, 49, 60, 63,
    64, 65, 97, 100, 121, 127, 128, 129, 211, 243, 255, 256, 257, 360, 500, 509, 512, 513, 1024,
    2187, 3000, 4096, 0,
)  # fmt: skip
"""Lengths of one-dimensional transforms: powers of small primes, primes, products, and 0."""

_TOGETHER = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 0)
_SMALL = (1, 2, 3, 4, 5, 6, 7)
_BATCHES = ((),) * 5 + ((2,), (3,), (2, 3), (1,), (0,))

_ROWS: tuple[ProfileRow, ...] = (
    ("small_integers",), ("unit",), ("moderate",), ("small_integers",), ("unit",), ("tiny",),
    ("near_one",), ("wide",), ("mixed",), ("special",), ("large",), ("subnormal",), ("unit",),
    ("values:1",), ("moderate",),
)  # fmt: skip


def _lengths(pick: Pick) -> tuple[int, ...]:
    rank = choose(pick, (1, 1, 1, 2, 2, 3), "transform rank")
    if rank == 1:
        return (choose(pick, _ALONE, "length", _length_label),)
    options = _TOGETHER if rank == 2 else _SMALL
    return tuple(choose(pick, options, "length", _length_label) for _ in range(rank))


def _length_label(length: int) -> str:
    """Return the property that selects the algorithm: a power of 2, even, prime, large."""
    if length < 2:
        return "1" if length else "empty"
    if length > 1000:
        return "large"
    if length & (length - 1) == 0:
        return "power of 2"
    if length % 2 == 0:
        return "even"
    return "odd" if any(length % n == 0 for n in range(3, length, 2)) else "prime"


def _fft(element_type: ElementType, pick: Pick) -> Case:
    kind = "RFFT"
    if element_type.is_complex:
        kind = choose(pick, ("FFT", "IFFT", "IRFFT", "IRFFT"), "fft_type")
    lengths = _lengths(pick)
    batch = choose(pick, _BATCHES, "batch", sizes_label)
    if max(lengths) > 1000:
        batch = batch[:1]
    full = (*batch, *lengths)
    half = (*full[:-1], count_bins(full[-1]))
    operand, result, rows = TensorType(full, element_type), TensorType(full, element_type), _ROWS
    if kind == "RFFT":
        result = TensorType(half, COMPLEX_OF[element_type.name])
    if kind == "IRFFT":
        operand, result = TensorType(half, element_type), TensorType(full, element_type.part)
        # Other operands have no inverse.
        spectrum = "spectrum:" + ",".join(map(str, lengths))
        rows = ((spectrum,),) * 12 + rows[:4] + (("mixed",),)
    if kind in ("FFT", "IFFT") and seldom(pick, 12, "fft_length differs", paired=False):
        # Constraints restrict the number of lengths here, not their sizes.
        lengths = tuple(max(size // 2, 1) for size in lengths)
    given: dict[str, Attribute] = {"fft_type": kind, "fft_length": lengths}
    return case(pick, "fft", {"operand": operand}, (result,), rows, given)


BUILDERS: dict[str, Builder] = {"fft": _fft}
"""The builder of each op's cases."""
