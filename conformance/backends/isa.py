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
"""Instruction sets by XLA's names, each with LLVM's name of the feature that it begins with."""

_EXCLUDED_BY = {
    "SSE4_2": ("AVX", "F16C"), "AVX": ("AVX2", "FMA"), "AVX2": ("AVX512", "AVX512_FP16"),
    "AVX512": ("AVX512_VNNI",), "AVX512_VNNI": ("AVX512_BF16",), "AVX512_BF16": ("AMX",),
    "AMX": ("AMX_FP16",), "AMX_FP16": (),
}  # fmt: skip
"""Instruction sets that each maximum excludes, beside those that later maxima do (read off XLA's
own account of its target). No maximum lies between AVX512 and AVX512_FP16."""

_IMPLIED = {
    "AVX": ("SSE4_2",), "AVX2": ("SSE4_2", "AVX"),
    "AVX512": ("SSE4_2", "AVX", "F16C", "AVX2", "FMA"),
}  # fmt: skip
"""Instruction sets that a processor has whenever it has the key."""

MAXIMA = tuple(_EXCLUDED_BY)
"""The maxima that XLA understands, from the oldest; another name it ignores without a word."""

ENVIRONMENT, FLAG = "XLA_FLAGS", "--xla_cpu_max_isa"
_GIVEN = re.compile(rf"{FLAG}(?:=|\s+)(\S*)")
_CPUINFO = Path("/proc/cpuinfo")
_CONDITION = re.compile(r"(<|>=)([A-Z0-9_]+)")
_FEATURES = re.compile(rb"[+-][a-z0-9][a-z0-9.-]*(?:,[+-][a-z0-9][a-z0-9.-]*)+")


@cache
def of_host() -> frozenset[str]:
    """Return the instruction sets that this machine has; none where it is no x86 or does not say.

    Source: the flags in Linux's /proc/cpuinfo, spelt as LLVM's features but for `_` and `.`.
    """
    if platform.machine() not in ("x86_64", "AMD64") or not _CPUINFO.exists():
        return frozenset()
    found = re.search(r"^flags\s*:(.*)$", _CPUINFO.read_text("utf-8"), re.MULTILINE)
    flags = {re.sub(r"[._-]", "", flag) for flag in found[1].split()} if found else set[str]()
    return frozenset(
        name for name, feature in INSTRUCTION_SETS.items() if re.sub(r"[._-]", "", feature) in flags
    )


def requested() -> str:
    """Return the maximum that the environment asks XLA for, "" for none or an unknown one."""
    found = _GIVEN.findall(os.environ.get(ENVIRONMENT, ""))
    name = found[-1].upper() if found else ""
    return name if name in MAXIMA else ""


def request(maximum: str) -> None:
    """Ask XLA, through the environment, for this maximum from now on.

    It has an effect in processes in which XLA has made no client yet.
    """
    others = _GIVEN.sub("", os.environ.get(ENVIRONMENT, "")).strip()
    os.environ[ENVIRONMENT] = f"{others} {FLAG}={maximum}".strip()


@contextmanager
def requesting(maximum: str) -> Generator[None]:
    """Ask for this maximum, and for what was asked before if the block raises."""
    before = os.environ.get(ENVIRONMENT)
    request(maximum)
    try:
        yield
    except BaseException:
        os.environ.pop(ENVIRONMENT, None)
        if before is not None:
            os.environ[ENVIRONMENT] = before
        raise


def targeted(maximum: str = "") -> frozenset[str]:
    """Return the instruction sets that XLA targets here with a maximum.

    Without one it is the maximum that the environment asks for, or none.
    """
    return of_host() - excluded(maximum or requested())


def targeted_by(backend: str) -> frozenset[str]:
    """Return the instruction sets that XLA targets for a backend of that name, such as `cpu:AVX2`;
    none for one that is not XLA's for CPU."""
    return targeted(backend.partition(":")[2]) if _is_cpu(backend) else frozenset()


def _is_cpu(backend: str) -> bool:
    return backend.partition(":")[0] in ("cpu", "cpu-compile")


def identity(backends: Iterable[str]) -> dict[str, str]:
    """Return what identifies a run on these backends beside its versions, by what it is called."""
    cpus = [name for name in backends if _is_cpu(name)]
    return {f"instruction sets of {name}": as_text(targeted_by(name)) for name in cpus}


def excluded(maximum: str) -> frozenset[str]:
    """Return the instruction sets that XLA does not target with this maximum; "" excludes none."""
    if not maximum:
        return frozenset()
    later = MAXIMA[MAXIMA.index(maximum) :]
    return frozenset(name for one in later for name in _EXCLUDED_BY[one])


def of_features(executable: bytes) -> frozenset[str] | None:
    """Return the instruction sets that a serialized executable of XLA says it was made for.

    None where it says nothing of features, as XLA's executables for other devices do.
    """
    lists = _FEATURES.findall(executable)
    if not lists:
        return None
    features = set(max(lists, key=len).decode().split(","))
    return frozenset(name for name, of in INSTRUCTION_SETS.items() if f"+{of}" in features)


def as_text(sets: Collection[str]) -> str:
    """Return instruction sets as people are shown them, without those that others imply."""
    implied = {older for name in sets for older in _IMPLIED.get(name, ())}
    return ", ".join(n for n in INSTRUCTION_SETS if n in sets and n not in implied) or "not x86"


def check_condition(condition: str) -> None:
    """Raise ValueError, saying what may be written, if this is no condition on instruction sets."""
    for part in filter(None, condition.split(",")):
        found = _CONDITION.fullmatch(part.strip())
        if found is None or found[2] not in INSTRUCTION_SETS:
            raise ValueError(
                f"{condition!r} is no condition on instruction sets; write such as "
                f"'<AVX512_FP16' or '>=AVX2', with one of {', '.join(INSTRUCTION_SETS)}"
            )


def satisfies(sets: Collection[str], condition: str) -> bool:
    """Tell whether a target with these instruction sets satisfies a condition.

    `>=NAME` asks for a target that has it, `<NAME` for one of x86 that has not; several are
    separated by commas and must all hold. Sets of x86 are not in one order: AVX512_FP16 may be
    there without AVX512_VNNI. So each part is asked of its own set, not of a level. A target that
    is no x86 satisfies no condition.
    """
    parts = [_CONDITION.fullmatch(part.strip()) for part in condition.split(",") if part.strip()]
    if parts and not sets:
        return False
    return all(part and (part[2] in sets) == (part[1] == ">=") for part in parts)
