"""The protocol between the harness and a compiler in a process of its own.

docs/backends.md describes it for authors of such compilers. A message is a line of words, followed
by as many bytes as the line says. Arrays are little-endian bytes in row-major order, one byte for
each element of a narrower type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import IO

import numpy as np

from conformance.backends.base import BackendError, Failed, Rejected, Unsupported
from reference.ir.types import Array, ElementType, element_type_of, from_mlir

VERSION = 1
"""The version of the protocol that this module speaks."""

LONGEST_LINE = 4096
"""Largest length of a line in bytes."""

LONGEST_TEXT = 1 << 20
"""Largest length in bytes of a message or a description; programs and arrays may be longer."""

_TENSOR = re.compile(r"tensor<((?:\d+x)*)(complex<f\d+>|[a-z]\w*)>")


ANSWERS: dict[str, type[BackendError]] = {
    "unsupported": Unsupported, "rejected": Rejected, "failed": Failed,
}  # fmt: skip
"""The answers that are not results, by their words."""


class ProtocolError(Exception):
    """Raised for a message that is not as docs/backends.md says, with the reason in one line."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A pair of streams, to read messages from and to write them to."""

    source: IO[bytes]
    target: IO[bytes]

    def send(self, *words: object, blocks: Sequence[bytes] = ()) -> None:
        """Write a line of words, and blocks of bytes."""
        self.target.write(" ".join(map(str, words)).encode() + b"\n" + b"".join(blocks))
        self.target.flush()

    def send_text(self, *words: object, text: str) -> None:
        """Write a line that ends with the length of a text, and the text."""
        data = text.encode()
        self.send(*words, len(data), blocks=[data])

    def line(self) -> list[str]:
        """Return the words of the next line, at least one.

        Raises:
            EOFError: if the stream ends before.
            ProtocolError: if the line is empty or too long.
        """
        data = self.source.readline(LONGEST_LINE + 1)
        if len(data) > LONGEST_LINE:
            raise ProtocolError(f"a line is longer than {LONGEST_LINE} bytes")
        if not data.endswith(b"\n"):
            raise EOFError
        words = data.decode("utf-8", "replace").split()
        if not words:
            raise ProtocolError("a line is empty")
        return words

    def block(self, length: int) -> bytes:
        """Return the next bytes.

        Raises:
            EOFError: if the stream ends before.
        """
        data = self.source.read(length)
        if len(data) < length:
            raise EOFError
        return data

    def text(self, word: str) -> str:
        """Return the text whose length in bytes is a word.

        Raises:
            EOFError: if the stream ends before.
            ProtocolError: if it is too long.
        """
        return self.block(number(word, LONGEST_TEXT)).decode("utf-8", "replace")

    def send_arrays(self, *words: object, arrays: Sequence[Array]) -> None:
        """Write a line that ends with the number of arrays, and the arrays."""
        blocks: list[bytes] = []
        for array in map(_as_written, arrays):
            data = np.ascontiguousarray(array).tobytes()
            blocks += [f"{spell(array)} {len(data)}\n".encode(), data]
        self.send(*words, len(arrays), blocks=blocks)

    def array(self, permits: Callable[[int], bool]) -> Array:
        """Return the next array; `permits` says whether it may have so many bytes.

        Raises:
            EOFError: if the stream ends before.
            ProtocolError: if it is not written as stated, or larger than permitted.
        """
        words = self.line()
        if len(words) != 2:
            raise ProtocolError(f"{quote(words)} is not the type of an array and its length")
        shape, element = read_type(words[0])
        length = prod(shape) * element.storage.itemsize
        if words[1] != str(length):
            raise ProtocolError(f"{words[0]} has {length} bytes, not {words[1][:40]}")
        if not permits(length):
            raise ProtocolError(f"{words[0]} is much larger than any result of the program")
        data = self.block(length)
        if element.is_boolean and set(data) - {0, 1}:
            raise ProtocolError("an element of i1 is neither 0 nor 1")
        return np.frombuffer(data, element.storage).reshape(shape).copy()


def _as_written(array: Array) -> Array:
    """Return an array of i1 that has other bytes than 0 and 1, as some compilers make them, as one
    of ui8, and any other array as it is.
    """
    if array.dtype == np.bool_ and (array.view(np.uint8) > 1).any():
        return array.view(np.uint8)
    return array


def number(word: str, most: int) -> int:
    """Return the number that a word is.

    Raises:
        ProtocolError: if it is none, or larger than `most`.
    """
    if not (word.isascii() and word.isdecimal()) or int(word) > most:
        raise ProtocolError(f"{word[:40]!r} is not a number up to {most}")
    return int(word)


def quote(words: Sequence[str]) -> str:
    """Return a line as messages quote it."""
    line = " ".join(words)
    return repr(line if len(line) <= 80 else f"{line[:80]}...")


def spell(array: Array) -> str:
    """Return the type of an array as MLIR spells it, such as `tensor<2x3xf32>`."""
    sizes = "".join(f"{size}x" for size in array.shape)
    return f"tensor<{sizes}{element_type_of(array).mlir}>"


def read_type(spelling: str) -> tuple[tuple[int, ...], ElementType]:
    """Return the sizes and the element type of a tensor type.

    Raises:
        ProtocolError: if it is none.
    """
    found = _TENSOR.fullmatch(spelling)
    if found is not None:
        with suppress(KeyError):
            return tuple(int(size) for size in found[1].split("x")[:-1]), from_mlir(found[2])
    raise ProtocolError(f"{spelling[:80]!r} is not a tensor type")


def portable_artifact(text: str, version: str) -> bytes:
    """Return a module as a portable artifact for a version of StableHLO.

    Later versions can read it, too (StableHLO's document on compatibility).

    Raises:
        Unsupported: if that version cannot express it.
    """
    from jaxlib.mlir.dialects import stablehlo

    own = stablehlo.get_current_version()
    target = stablehlo.get_smaller_version(own, version)
    try:
        return stablehlo.serialize_portable_artifact_str(text, target)
    except Exception as error:  # jaxlib raises errors of several kinds
        reason = " ".join(str(error).split())
        raise Unsupported(f"StableHLO {target} cannot express it: {reason}") from error
