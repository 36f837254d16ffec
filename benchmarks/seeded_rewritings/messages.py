"""Serialised protos as editable trees that keep unknown fields.

Source: Protocol Buffers documentation, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Payload = int | bytes


@dataclass(slots=True)
class Message:
    """The fields of a message in order: number, wire type, payload."""

    fields: list[tuple[int, int, Payload]] = field(default_factory=list[tuple[int, int, Payload]])

    @classmethod
    def parse(cls, data: bytes) -> Message:
        """Return the message that is serialised in `data`."""
        fields: list[tuple[int, int, Payload]] = []
        at = 0
        while at < len(data):
            key, at = _varint(data, at)
            number, kind = key >> 3, key & 7
            if kind == _VARINT:
                value, at = _varint(data, at)
                fields.append((number, kind, value))
                continue
            size = {_FIXED64: 8, _FIXED32: 4}.get(kind, 0)
            if kind == _BYTES:
                size, at = _varint(data, at)
            fields.append((number, kind, data[at : at + size]))
            at += size
        return cls(fields)

    def serialise(self) -> bytes:
        """Return the message as bytes."""
        made = bytearray()
        for number, kind, payload in self.fields:
            made += _encode_varint(number << 3 | kind)
            if isinstance(payload, int):
                made += _encode_varint(payload)
                continue
            if kind == _BYTES:
                made += _encode_varint(len(payload))
            made += payload
        return bytes(made)

    def data(self, number: int) -> bytes:
        """Return the payload of field `number`, of bytes or text; b"" where it is absent."""
        found = [one for n, _, one in self.fields if n == number and isinstance(one, bytes)]
        return found[-1] if found else b""

    def put_data(self, number: int, payload: bytes) -> None:
        """Replace the payload of field `number`, of bytes or text."""
        self._put(number, [(number, _BYTES, payload)])

    def integer(self, number: int) -> int:
        """Return the signed integer in field `number`, 0 where it is absent."""
        found = [one for n, _, one in self.fields if n == number and isinstance(one, int)]
        return _to_signed(found[-1]) if found else 0

    def put_integer(self, number: int, value: int) -> None:
        """Replace the integer in field `number`."""
        self._put(number, [(number, _VARINT, value & (1 << 64) - 1)])

    def integers(self, number: int) -> list[int]:
        """Return the integers in the repeated field `number`, packed or not."""
        found: list[int] = []
        for n, _, one in self.fields:
            if n == number:
                found += [_to_signed(one)] if isinstance(one, int) else list(_unpack_varints(one))
        return found

    def put_integers(self, number: int, values: list[int]) -> None:
        """Replace the integers in the repeated field `number`."""
        packed = b"".join(_encode_varint(value & (1 << 64) - 1) for value in values)
        self._put(number, [(number, _BYTES, packed)])

    def messages(self, number: int) -> list[Message]:
        """Return copies of the messages in the repeated field `number`; `put_messages` writes them
        back.
        """
        return [
            Message.parse(one)
            for n, _, one in self.fields
            if n == number and not isinstance(one, int)
        ]

    def put_messages(self, number: int, messages: list[Message]) -> None:
        """Replace the messages in the repeated field `number`."""
        self._put(number, [(number, _BYTES, message.serialise()) for message in messages])

    def _put(self, number: int, fields: list[tuple[int, int, Payload]]) -> None:
        """Put fields at the position of the first field with that number, or at the end."""
        at = next((n for n, one in enumerate(self.fields) if one[0] == number), len(self.fields))
        kept = [one for one in self.fields if one[0] != number]
        self.fields = [*kept[:at], *fields, *kept[at:]]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _encode_varint(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _unpack_varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield _to_signed(value)


def _to_signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
