"""Decode Protocol Buffers messages into dataclasses whose fields state their numbers.

XLA hands its modules over as serialised protos and jaxlib has no Python classes for them. Only the
fields that a message class declares are decoded, all others are skipped.

Source: Protocol Buffers documentation, "Encoding".
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

M = TypeVar("M")

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_KEY = "wire"


class WireError(ValueError):
    """Bytes that are no serialised message."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Field:
    """How one field is decoded: from its payload to a value; repeated values go into a list."""

    number: int
    decode: Callable[[Any], Any]
    repeated: bool = False
    packs: bool = False
    name: str = ""


def _declared(number: int, decode: Callable[[Any], Any], default: Any) -> Any:
    metadata = {_KEY: _Field(number, decode)}
    return dataclasses.field(default=default, metadata=metadata)


def _repeated(number: int, decode: Callable[[Any], Any], *, packs: bool = False) -> Any:
    metadata = {_KEY: _Field(number, decode, repeated=True, packs=packs)}
    return dataclasses.field(default_factory=list, metadata=metadata)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(data: bytes) -> str:
    return bytes(data).decode("utf-8", "backslashreplace")


def integer(number: int) -> Any:
    """Declare an integer, an enum or a boolean; 0 where it is not given."""
    return _declared(number, _signed, 0)


def boolean(number: int) -> Any:
    """Declare a truth value, False where it is not given."""
    return _declared(number, bool, False)


def single(number: int) -> Any:
    """Declare a `float`."""
    return _declared(number, lambda data: struct.unpack("<f", data)[0], 0.0)


def text(number: int) -> Any:
    """Declare a `string`."""
    return _declared(number, _text, "")


def data(number: int) -> Any:
    """Declare `bytes`, or packed numbers of a fixed width as the bytes that they are."""
    return _declared(number, bytes, b"")


def message(number: int, of: Callable[[], type[Any]]) -> Any:
    """Declare a message, None where it is not given; `of` is called when one is decoded."""
    return _declared(number, lambda payload: decode(of(), payload), None)


def integers(number: int) -> Any:
    """Declare repeated integers, packed or not."""
    return _repeated(number, _signed, packs=True)


def messages(number: int, of: Callable[[], type[Any]]) -> Any:
    """Declare repeated messages."""
    return _repeated(number, lambda payload: decode(of(), payload))


@cache
def _fields(of: type[Any]) -> dict[int, _Field]:
    declared = (
        dataclasses.replace(field.metadata[_KEY], name=field.name)
        for field in dataclasses.fields(of)
    )
    return {field.number: field for field in declared}


def _varint(payload: bytes | memoryview, at: int) -> tuple[int, int]:
    """Return the number that begins at `at`, and where it ends."""
    value = shift = 0
    while True:
        byte = payload[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7


def decode(of: type[M], payload: bytes | memoryview) -> M:
    """Return the message of that class that is serialised in `payload`.

    Raises:
        WireError: when these bytes are no message.
    """
    fields, found = _fields(of), dict[str, Any]()
    view, at = memoryview(payload), 0
    try:
        while at < len(view):
            key, at = _varint(view, at)
            value, at = _value(view, at, key & 7)
            field = fields.get(key >> 3)
            if field is not None:
                _keep(found, field, value)
    except (IndexError, struct.error) as error:
        raise WireError(f"a {of.__name__} ends in the middle of a field") from error
    return of(**found)


def _value(view: memoryview, at: int, kind: int) -> tuple[Any, int]:
    """Return the payload of a field that begins at `at`, and where it ends."""
    if kind == _VARINT:
        return _varint(view, at)
    if kind == _BYTES:
        size, at = _varint(view, at)
        end = at + size
    elif kind in (_FIXED32, _FIXED64):
        end = at + (4 if kind == _FIXED32 else 8)
    else:
        raise WireError(f"wire type {kind} is none that is in use")
    if end > len(view):
        raise IndexError(end)
    return view[at:end], end


def _keep(found: dict[str, Any], field: _Field, value: Any) -> None:
    if not field.repeated:
        found[field.name] = field.decode(value)
        return
    kept = found.setdefault(field.name, [])
    if field.packs and isinstance(value, memoryview):
        kept.extend(map(field.decode, _packed(value)))
    else:
        kept.append(field.decode(value))


def _packed(view: memoryview) -> list[int]:
    numbers: list[int] = []
    at = 0
    while at < len(view):
        number, at = _varint(view, at)
        numbers.append(number)
    return numbers
