"""Parsing of MLIR's locations and messages."""

from __future__ import annotations

import re

_FRAME = re.compile(r'"([^"]+)":(\d+):\d+')
"""A pattern of a file with line and column; the first match in a call stack is the innermost frame.
"""

_LIBRARY = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|tensorflow/python|tf_keras/src|keras/src|jax/_src"
    r"|lib/python3\.\d+)/"
)
"""Parts of paths that mark files of libraries and of Python, not the user's code."""

_HERE = re.compile(r'"-":(\d+):(\d+)')


def position(location: str) -> tuple[int, int] | None:
    """Return line and column in the text itself, if a location states them; None for the author's
    own locations.
    """
    found = _HERE.search(location)
    return (int(found[1]), int(found[2])) if found else None


def place_of(location: str) -> str:
    """Return a line number of the text, or the author's location: a name, and the innermost frame
    outside of libraries.
    """
    here = position(location)
    if here is not None:
        return f"line {here[0]}"
    name = re.match(r'loc\("([^"]*)"\(', location)
    parts = [name[1]] if name else []
    frames = [(found[1], found[2]) for found in _FRAME.finditer(location)]
    own = [frame for frame in frames if not _LIBRARY.search(frame[0])]
    if own or not parts:  # where the frames are all of libraries, the name says more
        parts += [f"{path.rpartition('/')[2]}:{line}" for path, line in (own or frames)[:1]]
    return " at ".join(parts)


def name_undefined_value(message: str, text: str, at: tuple[int, int] | None) -> str:
    """Return the first line of a message; a value that is not defined is named.

    `at` is the position of the message: line and column in bytes, from 1.
    """
    first = message.partition("\n")[0]
    if at is None or not first.startswith("use of undeclared SSA value"):
        return first
    after = text.encode().split(b"\n")[at[0] - 1][at[1] - 1 :].decode(errors="replace")
    name = re.match(r"%[\w.$#-]+", after)
    return f"{first} {name[0]}" if name else first


def foreign_name(message: str, text: str, at: tuple[int, int] | None) -> str:
    """Return the name at a message's position if it belongs to a dialect that jaxlib lacks, else
    "".

    `at` is the position of the message: line and column in bytes, from 1.
    """
    pretty = re.match(r"Dialect `\w+' not found for custom op '([^']+)'", message)
    name = pretty[1] if pretty else ""
    if at and "operation being parsed with an unregistered dialect" in message:
        before = text.encode().split(b"\n")[at[0] - 1][: at[1] - 1].decode(errors="replace")
        name = (re.findall(r'"([^"]+)"', before) or [""])[-1]
    type_ = re.match(r"`?([!#])\"([^\"]+)\"<\"([\w.]*)", message)
    if type_ and "created with unregistered dialect" in message:
        name = f"{type_[1]}{type_[2]}.{type_[3]}"
    dialect = name.lstrip("!#").partition(".")[0]
    return f"{name} is not read: jaxlib has no dialect {dialect}" if name else ""
