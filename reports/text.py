"""Numbers and foreign text as the reports show them: short, exact and escaped."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from conformance.gate.baselines.comparison import Kind
from conformance.text import one_line
from conformance.text import plural as plural  # for pages, with the others

MINUS = "−"

MESSAGE_LIMIT, PROGRAM_LIMIT, EXPANDED_LIMIT = 600, 3_000, 6_000
"""Numbers of characters of a message and of a program that are shown at once, and on demand."""


def count(number: int) -> str:
    """Return an integer with separated thousands: 12,345."""
    return f"{number:,}"


def ulp(error: float | None) -> str:
    """Return an error in ulp in few digits; "–" for none."""
    if error is None:
        return "–"
    if math.isnan(error):
        return "NaN"
    if math.isinf(error):
        return "∞" if error > 0 else f"{MINUS}∞"
    size = abs(error)
    if size >= 1e5:
        mantissa, exponent = f"{error:.0e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    digits = 0 if size >= 100 or error == int(error) else 1 if size >= 1 else 2
    return f"{error:.{digits}f}".replace("-", MINUS)


def duration(seconds: float) -> str:
    """Return a time span for people: 0.8 s, 94 s, 12 min 30 s, 3 h 05 min."""
    if not math.isfinite(seconds) or seconds < 0:
        return "–"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def changes(counts: Mapping[Kind, int], kinds: Iterable[Kind]) -> str:
    """Return the numbers of changed cases in words: 1 new, 40 lost."""
    return ", ".join(f"{count(counts[kind])} {kind.value}" for kind in kinds)


def sentence(line: str) -> str:
    """Return a line as a sentence, with its capital and full stop."""
    return f"{line[:1].upper()}{line[1:]}."


_KEPT = frozenset("\n\t")
_PLAIN = re.compile(r"[\n\t -~]*")


def escape_controls(text: str) -> str:
    """Return text in which each control character is replaced by its code.

    These are the characters that XML forbids (C0 controls, lone surrogates, U+FFFE, U+FFFF) and
    marks that reorder the displayed text (bidirectional overrides).
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(c if c in _KEPT or not _is_hidden(c) else f"\\u{ord(c):04x}" for c in text)


def _is_hidden(character: str) -> bool:
    if character.isascii():
        return character < " " or character == "\x7f"
    code = ord(character)
    return (
        unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") or code & 0xFFFE == 0xFFFE
    )


def clip_lines(text: str, limit: int) -> tuple[str, int]:
    """Return the first `limit` characters, cut at a line's end if a line ends nearby, and the
    number of the others.
    """
    if len(text) <= limit:
        return text, 0
    end = text.rfind("\n", limit * 3 // 4, limit)
    end = limit if end < 0 else end
    return text[:end], len(text) - end


def clip_line(text: str, limit: int = 200) -> str:
    """Return the text on one line, ended by an ellipsis if it is longer than `limit`."""
    flat = one_line(escape_controls(text))
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def slug(text: str) -> str:
    """Return the text as a part of an HTML id or URL fragment: letters, digits, dot, dash,
    underscore."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("_") or "x"


def distinct_names(names: Iterable[str]) -> list[str]:
    """Return the names, repeated names numbered, so that all differ."""
    seen: dict[str, int] = {}
    result: list[str] = []
    for name in names:
        candidate = name
        while candidate in seen:
            seen[name] += 1
            candidate = f"{name}.{seen[name]}"
        seen[candidate] = 1
        result.append(candidate)
    return result


def web_link(link: str) -> str:
    """Return the link if it is an http or https address with a host, otherwise ""."""
    if any(_is_hidden(c) or c.isspace() for c in link):
        return ""
    try:
        parts = urlsplit(link)
        return link if parts.scheme in ("http", "https") and parts.hostname else ""
    except ValueError:
        return ""


def shell_word(value: str) -> str:
    """Return a word of a command line, quoted if a shell would change it."""
    plain = escape_controls(value).replace("\n", "\\n").replace("\t", "\\t")
    if plain and re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", plain):
        return plain
    return "'" + plain.replace("'", "'\\''") + "'"


def fragment(**state: str) -> str:
    """Return the address within the page of a state: #matrix=cpu&is=new."""
    return "#" + urlencode({name: escape_controls(value) for name, value in state.items() if value})


@dataclass(frozen=True, slots=True)
class Clipped:
    """Text in three parts: shown, shown on demand, and the number of omitted characters."""

    head: str
    rest: str
    omitted: int


def split_text(given: str, limit: int) -> Clipped:
    """Return a text cut after `limit` characters, and again after EXPANDED_LIMIT more."""
    plain = escape_controls(given)
    head, left = clip_lines(plain, limit)
    rest, omitted = clip_lines(plain[len(plain) - left :] if left else "", EXPANDED_LIMIT)
    return Clipped(head, rest, omitted)


def worst_error(ulp: float | None) -> str:
    """Return the worst error in ulp; None where every result is correctly rounded."""
    if ulp is None:
        return "≤ 0.5"
    shown = f"{ulp:.3f}" if ulp < 100 else f"{ulp:.3g}"
    return "> 0.5" if shown == "0.500" else shown
