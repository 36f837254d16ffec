"""Instruction sets of x86 that XLA's CPU compiler may use, by the names that XLA gives them.

XLA generates code for the features of the machine, up to a maximum that it reads from the
environment (`XLA_FLAGS=--xla_cpu_max_isa=AVX2`) once per process. What it computes depends on them:
with AVX512_FP16 a conversion from f64 to f16 is one instruction that rounds once, with F16C it is
two, which round twice (jaxlib 0.10.2 and 0.12.0, measured).

Functions that XLA links in, such as those of oneDNN and Eigen, choose by the machine alone.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from functools import cache
from pathlib import Path

INSTRUCTION_SETS = {
    "SSE4_2": "sse4.2", "AVX": "avx", "F16C": "f16c", "AVX2": "avx2", "FMA": "fma",
    "AVX512": "avx512f", "AVX512_VNNI": "avx512vnni", "AVX512_BF16": "avx512bf16",
    "AVX512_FP16": "avx512fp16", "AMX": "amx-tile", "AMX_FP16": "amx-fp16",
}  # fmt: skip
"""Instruction sets by XLA's names, each with LLVM's name of its first feature."""

_EXCLUDED_BY = {
    "SSE4_2": ("AVX", "F16C"), "AVX": ("AVX2", "FMA"), "AVX2": ("AVX512", "AVX512_FP16"),
    "AVX512": ("AVX512_VNNI",), "AVX512_VNNI": ("AVX512_BF16",), "AVX512_BF16": ("AMX",),
    "AMX": ("AMX_FP16",), "AMX_FP16": (),
}  # fmt: skip
"""Instruction sets that each maximum excludes, besides those that later maxima exclude, as XLA
reports its target. No maximum lies between AVX512 and AVX512_FP16."""

_IMPLIED = {
    "AVX": ("SSE4_2",), "AVX2": ("SSE4_2", "AVX"),
    "AVX512": ("SSE4_2", "AVX", "F16C", "AVX2", "FMA"),
}  # fmt: skip
"""Instruction sets that a processor has whenever it has the key."""

MAXIMA = tuple(_EXCLUDED_BY)
"""The maxima that XLA understands, from the oldest. XLA silently ignores other names."""

ENVIRONMENT, FLAG = "XLA_FLAGS", "--xla_cpu_max_isa"
_GIVEN = re.compile(rf"{FLAG}(?:=|\s+)(\S*)")
_CPUINFO = Path("/proc/cpuinfo")
_CONDITION = re.compile(r"(<|>=)([A-Z0-9_]+)")
_FEATURES = re.compile(rb"[+-][a-z0-9][a-z0-9.-]*(?:,[+-][a-z0-9][a-z0-9.-]*)+")


@cache
def host_sets() -> frozenset[str]:
    """Return the instruction sets of this machine; none if it is not x86 or does not report them.

    Source: the flags in Linux's /proc/cpuinfo, spelt as LLVM's features except for `_` and `.`.
    """
    if platform.machine() not in ("x86_64", "AMD64") or not _CPUINFO.exists():
        return frozenset()
    found = re.search(r"^flags\s*:(.*)$", _CPUINFO.read_text("utf-8"), re.MULTILINE)
    flags = {re.sub(r"[._-]", "", flag) for flag in found[1].split()} if found else set[str]()
    return frozenset(
        name for name, feature in INSTRUCTION_SETS.items() if re.sub(r"[._-]", "", feature) in flags
    )


def requested_maximum() -> str:
    """Return the maximum that the environment asks XLA for, "" if it is absent or unknown."""
    found = _GIVEN.findall(os.environ.get(ENVIRONMENT, ""))
    name = found[-1].upper() if found else ""
    return name if name in MAXIMA else ""


def request(maximum: str) -> None:
    """Set the maximum that XLA reads from the environment.

    It has an effect only in processes in which XLA has made no client yet.
    """
    others = _GIVEN.sub("", os.environ.get(ENVIRONMENT, "")).strip()
    os.environ[ENVIRONMENT] = f"{others} {FLAG}={maximum}".strip()


@contextmanager
def temporary_maximum(maximum: str) -> Generator[None]:
    """Set the maximum, and restore the previous maximum if the block raises."""
    before = os.environ.get(ENVIRONMENT)
    request(maximum)
    try:
        yield
    except BaseException:
        os.environ.pop(ENVIRONMENT, None)
        if before is not None:
            os.environ[ENVIRONMENT] = before
        raise


def target_sets(maximum: str = "") -> frozenset[str]:
    """Return the instruction sets that XLA targets on this machine under a maximum.

    Without a maximum, the environment's applies, if any.
    """
    return host_sets() - excluded_sets(maximum or requested_maximum())


def backend_sets(backend: str) -> frozenset[str]:
    """Return the instruction sets that XLA targets for a backend such as `cpu:AVX2`.

    Empty for a backend that is not XLA's for CPU.
    """
    maximum = backend.partition(":")[2]
    return target_sets(maximum if maximum in MAXIMA else "") if _is_cpu(backend) else frozenset()


def is_stated(backend: str) -> bool:
    """Return whether only the open backend can say which instruction sets it targets."""
    return backend.partition(":")[0] == "command"


def stated_sets(text: str) -> frozenset[str]:
    """Return the instruction sets that `instruction_sets_text` has written, with those that they
    imply.
    """
    found = {name for name in text.split(", ") if name in INSTRUCTION_SETS}
    return frozenset(found.union(*(_IMPLIED.get(name, ()) for name in found)))


def _is_cpu(backend: str) -> bool:
    return backend.partition(":")[0] in ("cpu", "cpu-compile", "jaxlib")


def identity(backends: Iterable[str]) -> dict[str, str]:
    """Return the properties by name that identify a run on these backends, in addition to
    versions.
    """
    cpus = [name for name in backends if _is_cpu(name)]
    return {
        f"instruction sets of {name}": instruction_sets_text(backend_sets(name)) for name in cpus
    }


def excluded_sets(maximum: str) -> frozenset[str]:
    """Return the instruction sets that XLA does not target with this maximum; "" excludes none."""
    if not maximum:
        return frozenset()
    later = MAXIMA[MAXIMA.index(maximum) :]
    return frozenset(name for one in later for name in _EXCLUDED_BY[one])


def sets_of_executable(executable: bytes) -> frozenset[str] | None:
    """Return the instruction sets that a serialized executable of XLA states as its target.

    None if it states no features, as XLA's executables for other devices do.
    """
    lists = _FEATURES.findall(executable)
    if not lists:
        return None
    features = set(max(lists, key=len).decode().split(","))
    return frozenset(name for name, of in INSTRUCTION_SETS.items() if f"+{of}" in features)


def instruction_sets_text(sets: Collection[str]) -> str:
    """Return instruction sets as text for people, without those that others imply."""
    implied = {older for name in sets for older in _IMPLIED.get(name, ())}
    return ", ".join(n for n in INSTRUCTION_SETS if n in sets and n not in implied) or "not x86"


def check_condition(condition: str) -> None:
    """Raise ValueError, with the permitted forms, if a text is no condition on instruction sets."""
    for part in filter(None, condition.split(",")):
        found = _CONDITION.fullmatch(part.strip())
        if found is None or found[2] not in INSTRUCTION_SETS:
            raise ValueError(
                f"{condition!r} is not a condition on instruction sets; write for example "
                f"'<AVX512_FP16' or '>=AVX2', with one of {', '.join(INSTRUCTION_SETS)}"
            )


def satisfies(sets: Collection[str], condition: str) -> bool:
    """Return whether a target with these instruction sets satisfies a condition.

    `>=NAME` requires a target that has the set, `<NAME` a target of x86 without it. Several
    conditions are separated by commas and must all hold. Sets of x86 are not ordered: AVX512_FP16
    may exist without AVX512_VNNI. So each condition is about its own set. A target that is not x86
    satisfies no condition.
    """
    parts = [_CONDITION.fullmatch(part.strip()) for part in condition.split(",") if part.strip()]
    if parts and not sets:
        return False
    return all(part and (part[2] in sets) == (part[1] == ">=") for part in parts)
