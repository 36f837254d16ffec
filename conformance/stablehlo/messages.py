"""What MLIR's locations and messages say, as it spells them."""

from __future__ import annotations

import re

_HERE = re.compile(r'"-":(\d+):(\d+)')


def position(location: str) -> tuple[int, int] | None:
    """Line and column in the text itself, where a location says these; None of an author's own."""
    found = _HERE.search(location)
    return (int(found[1]), int(found[2])) if found else None


def place_of(location: str) -> str:
    """A line of the text, or what its author's locations say: a name, the file and line below."""
    here = position(location)
    if here is not None:
        return f"line {here[0]}"
    name = re.match(r'loc\("([^"]*)"\(', location)
    file = re.search(r'"(?:[^"]*/)?([^"/]+)":(\d+):\d+', location)
    parts = [name[1]] if name else []
    return " at ".join([*parts, f"{file[1]}:{file[2]}"] if file else parts)


def foreign_name(message: str, text: str, at: tuple[int, int] | None) -> str:
    """What of a text is of a dialect that jaxlib does not have, and that it is, else "".

    `at` is where the message points to, in lines and columns of bytes from 1.
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
