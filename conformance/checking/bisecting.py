"""Binary search for the releases of jaxlib that brought a divergence in, or mended it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Window:
    """Two neighbouring releases of which one fails: the last before a change, and the first after.

    `brought_in` says that the later one fails.
    """

    before: str
    after: str
    brought_in: bool

    def __str__(self) -> str:
        """Return what happened between the releases."""
        what = "brought in" if self.brought_in else "mended"
        return f"{what} between jaxlib {self.before} and {self.after}"


@dataclass(slots=True)
class Bisection:
    """A search among releases, oldest first; `fails` says of a release whether it fails.

    `fails` returns None for a release that cannot tell: it cannot be installed, or does not
    implement the program. `verdicts` has what each asked release said.
    """

    releases: Sequence[str]
    fails: Callable[[str], bool | None]
    verdicts: dict[str, bool | None] = field(default_factory=dict[str, bool | None])

    def windows(self) -> list[Window]:
        """Return the changes between the first release that tells and the last, oldest first.

        Between releases with the same verdict no other is asked, but for the one in the middle of
        the whole range: a divergence that was brought in and mended within a half may be missed.
        """
        first, last = self._first(), self._last()
        if first is None or last is None or first == last:
            return []
        middle = self._near((first + last) // 2, first, last)
        ends = [first, last] if middle is None else [first, middle, last]
        found = (self._search(*pair) for pair in pairwise(ends))
        return [one for one in found if one is not None]

    def _search(self, low: int, high: int) -> Window | None:
        """Return the change between two releases, None if both have the same verdict."""
        if self._ask(low) == self._ask(high):
            return None
        while (middle := self._near((low + high) // 2, low, high)) is not None:
            if self._ask(middle) == self._ask(low):
                low = middle
            else:
                high = middle
        return Window(self.releases[low], self.releases[high], bool(self._ask(high)))

    def _first(self) -> int | None:
        return next((n for n in range(len(self.releases)) if self._ask(n) is not None), None)

    def _last(self) -> int | None:
        numbers = reversed(range(len(self.releases)))
        return next((n for n in numbers if self._ask(n) is not None), None)

    def _near(self, middle: int, low: int, high: int) -> int | None:
        """Return the release nearest to a number that tells, between two others; None for none."""
        between = sorted(range(low + 1, high), key=lambda n: abs(n - middle))
        return next((n for n in between if self._ask(n) is not None), None)

    def _ask(self, number: int) -> bool | None:
        release = self.releases[number]
        if release not in self.verdicts:
            self.verdicts[release] = self.fails(release)
        return self.verdicts[release]
