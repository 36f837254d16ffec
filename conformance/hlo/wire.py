"""Decode Protocol Buffers messages into dataclasses whose fields state their numbers.

XLA returns its modules as serialised protos, and jaxlib has no Python classes for them. Only the
fields that a message class declares are decoded, all others are skipped.

Source: Protocol Buffers documentation, "Encoding".
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, TypeVar

M = TypeVar("M")

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_KEY = "wire"
_SMALL = 128
"""Size in bytes up to which decoded messages are cached: most are shapes, which repeat."""


class WireError(ValueError):
    """Raised for bytes that are not a serialised message."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Field:
    """The decoder of a field: from its payload to a value; repeated values go into a list."""

    number: int
    decode: Callable[[Any], Any]
    repeated: bool = False
    packs: bool = False
    name: str = ""


def _declare_field(number: int, decode: Callable[[Any], Any], default: Any) -> Any:
    metadata = {_KEY: _Field(number, decode)}
    return dataclasses.field(default=default, metadata=metadata)


def _declare_repeated_field(
    number: int, decode: Callable[[Any], Any], *, packs: bool = False
) -> Any:
    metadata = {_KEY: _Field(number, decode, repeated=True, packs=packs)}
    return dataclasses.field(default_factory=list, metadata=metadata)


def _to_signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def integer(number: int) -> Any:
    """Declare an integer, an enum or a boolean; 0 if absent."""
    return _declare_field(number, _to_signed, 0)


def boolean(number: int) -> Any:
    """Declare a boolean, False if absent."""
    return _declare_field(number, bool, False)


def single(number: int) -> Any:
    """Declare a field of type `float`, 0 if absent."""
    return _declare_field(number, lambda data: struct.unpack("<f", data)[0], 0.0)


def text(number: int) -> Any:
    """Declare a field of type `string`, "" if absent."""
    return _declare_field(number, _text, "")


def data(number: int) -> Any:
    """Declare `bytes`, or packed numbers of a fixed width as the bytes that they are."""
    return _declare_field(number, lambda payload: payload, b"")


def message(number: int, of: Callable[[], type[Any]]) -> Any:
    """Declare a message, None if absent; `of` returns its type and is called during decoding."""
    return _declare_field(number, lambda payload: _nested_message(of(), payload), None)


def integers(number: int) -> Any:
    """Declare repeated integers, packed or not."""
    return _declare_repeated_field(number, _to_signed, packs=True)


def messages(number: int, of: Callable[[], type[Any]]) -> Any:
    """Declare repeated messages."""
    return _declare_repeated_field(number, lambda payload: _nested_message(of(), payload))


@cache
def _fields(of: type[Any]) -> dict[int, _Field]:
    declared = (
        dataclasses.replace(field.metadata[_KEY], name=field.name)
        for field in dataclasses.fields(of)
    )
    return {field.number: field for field in declared}


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at `at`, and where it ends."""
    value = payload[at]
    at += 1
    if value < 0x80:
        return value, at
    value, shift = value & 0x7F, 7
    while True:
        byte = payload[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7


def decode(of: type[M], payload: bytes) -> M:
    """Return the message of that class that is serialised in `payload`.

    Raises:
        WireError: when these bytes are no message.
    """
    fields, found = _fields(of), dict[str, Any]()
    end, at = len(payload), 0
    try:
        while at < end:
            key, at = _varint(payload, at)
            value, at = _value(payload, at, key & 7)
            field = fields.get(key >> 3)
            if field is not None:
                _keep(found, field, value)
    except (IndexError, struct.error) as error:
        raise WireError(f"a {of.__name__} ends in the middle of a field") from error
    return of(**found)


def _nested_message(of: type[Any], payload: bytes) -> Any:
    """Return a message that is nested in another message."""
    return _decode_small(of, payload) if len(payload) <= _SMALL else decode(of, payload)


@lru_cache(maxsize=4096)
def _decode_small(of: type[Any], payload: bytes) -> Any:
    return decode(of, payload)


def _value(payload: bytes, at: int, kind: int) -> tuple[Any, int]:
    """Return the payload of a field that begins at `at`, and where it ends."""
    if kind == _VARINT:
        return _varint(payload, at)
    if kind == _BYTES:
        size, at = _varint(payload, at)
        end = at + size
    elif kind in (_FIXED32, _FIXED64):
        end = at + (4 if kind == _FIXED32 else 8)
    else:
        raise WireError(f"wire type {kind} is not in use")
    if end > len(payload):
        raise IndexError(end)
    return payload[at:end], end


def _keep(found: dict[str, Any], field: _Field, value: Any) -> None:
    if not field.repeated:
        found[field.name] = field.decode(value)
        return
    kept = found.setdefault(field.name, [])
    if field.packs and isinstance(value, bytes):
        kept.extend(map(field.decode, _unpack_varints(value)))
    else:
        kept.append(field.decode(value))


def _unpack_varints(payload: bytes) -> list[int]:
    numbers: list[int] = []
    at = 0
    while at < len(payload):
        number, at = _varint(payload, at)
        numbers.append(number)
    return numbers
