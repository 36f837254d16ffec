"""Judge a tool's outputs by exported vectors, with numpy and ml_dtypes alone.

python read_vectors.py VECTORS OUTPUTS prints a line for each vector: pass, wrong, or why neither.
"""

import json
import re
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

NAMES = {
    "bf16": "bfloat16",
    "i1": "bool_",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
}


def dtype_of(name: str) -> np.dtype:
    """Return numpy's type of an element type as MLIR spells it."""
    known = NAMES.get(name) or re.sub(r"^(u?)i(\d+)$", r"\1int\2", name)
    known = re.sub(r"^f(\d)(E.*)$", r"float\1_\2", known).lower()
    known = re.sub(r"^f(\d+)$", r"float\1", known)
    return np.dtype(getattr(ml_dtypes, known, None) or getattr(np, known))


def array_of(stored: dict, data: bytes) -> np.ndarray:
    """Return an array of a vector."""
    sizes, name = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", stored["type"]).groups()
    start, length = stored["at"]
    shape = [int(size) for size in sizes.split("x")[:-1]]
    return np.frombuffer(data[start : start + length], dtype_of(name)).reshape(shape)


def element_type(result: dict) -> str:
    """Return the element type of a result as MLIR spells it."""
    return re.sub(r"^tensor<(\d+x)*|>$", "", result["expected"]["type"])


def right_elements(result: dict, data: bytes, got: np.ndarray) -> np.ndarray:
    """Return which elements of a result are right."""
    want = array_of(result["expected"], data)
    pair = [np.ascontiguousarray(one).view(np.uint8) for one in (want, got)]
    narrow = re.match(r"[uif]+([2-6])(?![0-9])", element_type(result))
    mask = (1 << int(narrow[1])) - 1 if narrow else 255
    bits = [one.reshape(*want.shape, want.dtype.itemsize) & mask for one in pair]
    right, nan = (bits[0] == bits[1]).all(-1), [one != one for one in (want, got)]
    if not result["zero_signs"]:
        right = right | ((want == 0) & (got == 0))
    if not result["nan_bits"]:
        right = right | (nan[0] & nan[1])
    for interval in result.get("intervals", ()):
        low, high = (array_of(interval[end], data) for end in ("low", "high"))
        inside = (low <= got) & (got <= high)
        right = right | (
            inside & ~(result["zero_signs"] & (want == 0) & (got == 0) & (low == high))
        )
    return right | (array_of(result["nan"], data) & nan[1]) if "nan" in result else right


def verdict(vector: dict, data: bytes, outputs: Path) -> str:
    """Return the verdict on a vector's outputs."""
    answer, stored = outputs / f"{vector['id']}.txt", outputs / f"{vector['id']}.bin"
    said = answer.read_text().split(" ")[0].strip() if answer.exists() else ""
    if "violates" in vector:
        return "pass" if said == "rejected" else "wrong" if said == "accepted" else "no outputs"
    if said or not stored.exists():
        return said or "no outputs"
    content, offset, found = stored.read_bytes(), 0, "pass"
    for result in (one for each in vector["sets"] for one in each["results"]):
        length = result["expected"]["at"][1]
        part = {"type": result["expected"]["type"], "at": [offset, length]}
        offset += length
        if result.get("judge"):
            found = "judge"
            continue
        if offset > len(content):
            return "wrong"
        with np.errstate(all="ignore"):
            if not right_elements(result, data, array_of(part, content)).all():
                return "wrong"
    return found


if __name__ == "__main__":
    vectors, outputs = map(Path, sys.argv[1:])
    for path in sorted(vectors.glob("*-*.json")):
        data = path.with_suffix(".bin").read_bytes()
        for vector in json.loads(path.read_text())["vectors"]:
            print(f"{vector['id']}: {verdict(vector, data, outputs)}")
