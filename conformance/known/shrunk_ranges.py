"""Ranges of a window's positions, as XLA's loop for convolutions on GPUs simplifies them.

The loop reads an element of the image for each place of the window and each position in it. XLA
limits both to those that meet the image. A range of one number becomes a constant, and the loop
over it is left out of the image's indices, but not of the kernel's. If that happens to positions of
a window of several, generated code reads an index that is not there, and the compiler crashes.

Source: `ComputeOutputToInputConvolutionOpIndexing`, the simplification of indexing maps, and
`ConvOperandSwapper` in XLA; jaxlib 0.10.2, measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

_PLACE, _POSITION = "place", "position"


@dataclass(frozen=True, slots=True)
class WindowDimension:
    """One dimension of a convolution: sizes of image, window and result, and the window's terms.

    `low` is the padding before the image; `holes` is its dilation, `steps` the window's.
    """

    image: int
    window: int
    result: int
    stride: int
    low: int
    high: int
    holes: int
    steps: int

    @property
    def is_group_or_contraction(self) -> bool:
        """Whether a dimension that is not reversed is a group, or is contracted as a whole."""
        if self.low or self.high or self.steps != 1:
            return False
        is_group = self.holes == self.window and self.stride == self.window - 1
        return is_group or (self.window == self.image and self.holes == self.stride == 1)

    @property
    def exchanged_size(self) -> int:
        """The number of products of each element if the image is moved over the window."""
        is_full = self.low == self.high == self.window - 1
        is_one = self.image == self.stride == self.steps == 1
        return self.window if is_one and is_full else self.image

    @property
    def positions(self) -> range:
        """The positions that are left."""
        return _Ranges(self).simplified()


def are_shrunk(window: Sequence[WindowDimension]) -> bool:
    """Return whether a window has several positions in a dimension where at most one is left.

    If no position is left in some dimension, none is left in the others.
    """
    left = [len(one.positions) for one in window]
    several = [one.window > 1 for one in window]
    if not all(left):
        return any(several)
    return any(count < 2 for count, of_several in zip(left, several, strict=True) if of_several)


def are_exchanged(window: Sequence[WindowDimension], is_reversed: Sequence[int]) -> bool:
    """Return whether XLA exchanges image and window, as it makes fewer products, and both of two
    dimensions are reversed then. cuDNN takes such a window, and XLA exchanges no others.
    """
    pairs = zip(window, is_reversed, strict=True)
    if len(window) != 2 or any(o.is_group_or_contraction and not back for o, back in pairs):
        return False
    return prod(one.window for one in window) > prod(one.exchanged_size for one in window)


class _Ranges:
    """Ranges of the window's places and of the positions in it.

    A place times the stride and a position times the steps add up to a number in the padded image.
    """

    def __init__(self, of: WindowDimension) -> None:
        self.of = of
        self.ranges = {_PLACE: range(of.result), _POSITION: range(of.window)}
        self.factors = {_PLACE: of.stride, _POSITION: of.steps}

    def simplified(self) -> range:
        """Return the positions that are left."""
        before = None
        while before != self.ranges and all(self.ranges.values()):
            before = dict(self.ranges)
            self._limit_to_image()
            if self.of.holes > 1 and all(self.ranges.values()):
                self._limit_to_elements()
        return self.ranges[_POSITION] if all(self.ranges.values()) else range(0)

    def _limit_to_image(self) -> None:
        """Limit the sum to the image, from its first to its last element."""
        of = self.of
        last = of.image + of.low + (of.image - 1) * (of.holes - 1) - 1
        size = last + 1 + of.high
        first, last = max(0, of.low), min(size - 1, last)
        free, known = self._terms()
        least, most = self._sums(free, known)
        if most < first or least > last:
            self.ranges[_POSITION] = range(0)
        elif len(free) == 1:
            self._limit(free[0], first - known, last - known)
        elif free and first == known:
            self._limit_multiple(last - known)

    def _limit_multiple(self, most: int) -> None:
        """Limit the term with the larger factor, if the other term is too small to matter.

        The sum of both is at least 0 and at most `most`.
        """
        common = gcd(*self.factors.values())
        factors = {name: factor // common for name, factor in self.factors.items()}
        small, large = sorted(factors, key=lambda name: factors[name])
        if factors[small] != 1 or factors[large] == 1:
            return
        numbers = self.ranges[small]
        limits = {(most // common - n) // factors[large] for n in (numbers[0], numbers[-1])}
        if len(limits) == 1:
            self._limit(large, 0, limits.pop() * self.factors[large])

    def _limit_to_elements(self) -> None:
        """Limit the sum to a multiple of the holes, if all sums lie between two of them.

        Terms that are multiples of the holes are left out.
        """
        holes = self.of.holes
        free, known = self._terms()
        known -= self.of.low
        free = [name for name in free if self.factors[name] % holes]
        least, most = self._sums(free, known)
        multiple = least // holes * holes
        if most >= multiple + holes:
            return
        if least > multiple:
            self.ranges[_POSITION] = range(0)
        elif len(free) == 1:
            self._limit(free[0], multiple - known, multiple - known)

    def _terms(self) -> tuple[list[str], int]:
        """Return the names of the ranges of several numbers, and the sum of the other terms."""
        free = [name for name, numbers in self.ranges.items() if len(numbers) > 1]
        known = sum(
            numbers[0] * self.factors[name]
            for name, numbers in self.ranges.items()
            if name not in free
        )
        return free, known

    def _sums(self, free: list[str], known: int) -> tuple[int, int]:
        """Return the least and the largest sum of these terms and the sum of the others."""
        ends = [(self.ranges[name][0], self.ranges[name][-1], self.factors[name]) for name in free]
        least = known + sum(low * factor for low, _, factor in ends)
        return least, known + sum(high * factor for _, high, factor in ends)

    def _limit(self, name: str, least: int, most: int) -> None:
        """Limit a range to numbers whose product with their factor lies between two numbers."""
        factor, numbers = self.factors[name], self.ranges[name]
        low, high = max(numbers[0], -(-least // factor)), min(numbers[-1], most // factor)
        self.ranges[name] = range(low, max(low, high + 1))
