"""Shows a wrong result of XLA: run it next to program.mlir and inputs.npz.

Needs jax and numpy alone. Exits with 1 while the bug is there, 0 once it is gone, 2 where the
program cannot be run at all.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

# --- what was found ---
VERDICT = "divergent"
ARGUMENTS = []
NAMES = []
RESULTS = []
WRONG = []
PLATFORM = "cpu"
MESSAGE = ""
# --- what was found ---

HERE = Path(__file__).resolve().parent
LOST = ("crashed", "timed_out")
SECONDS = 60


def dtype(name):
    """The numpy type that holds elements of a StableHLO type; ml_dtypes comes with jax."""
    import ml_dtypes

    plain = {"i1": "bool", "f16": "float16", "f32": "float32", "f64": "float64"}
    plain |= {"complex<f32>": "complex64", "complex<f64>": "complex128", "bf16": "bfloat16"}
    if name in plain:
        name = plain[name]
    elif name[:2] in ("si", "ui"):
        name = ("int" if name[0] == "s" else "uint") + name[2:]
    else:
        name = "float" + name[1:].lower()
    return np.dtype(getattr(ml_dtypes, name, name))


def arguments():
    """The arguments of main: arrays of the types that numpy has not are kept as their bits."""
    with np.load(HERE / "inputs.npz") as archive:
        stored = [archive[name] for name in NAMES]
    found = []
    for array, (name, shape) in zip(stored, ARGUMENTS, strict=True):
        of = dtype(name)
        if array.dtype != of:
            array = array.view(of) if array.dtype.itemsize == of.itemsize else array.astype(of)
        found.append(array.reshape(shape))
    return found


def results():
    """What XLA makes of the program."""
    import jax
    from jaxlib import _jax

    jax.config.update("jax_enable_x64", True)
    device = jax.devices({"gpu": "cuda"}.get(PLATFORM, PLATFORM))[0]
    text = (HERE / "program.mlir").read_text("utf-8")
    if "lapack_" in text:
        from jax._src.lax import linalg

        linalg.initialize_lapack()
    devices = _jax.DeviceList((device,))
    program = device.client.compile_and_load(text, devices, _jax.CompileOptions())
    given = [jax.device_put(array, device) for array in arguments()]
    out = program.execute_sharded(given).disassemble_into_single_device_arrays()
    return [np.asarray(shards[0]) for shards in out]


def differs(now, want, got):
    """Whether a number is still wrong: no nearer to the expected one than half as far as found."""
    parts = zip(*map(parts_of, (now, want, got)), strict=True)
    return any(_part_differs(*one) for one in parts)


def parts_of(number):
    """The number as one that Python has, or as two where it is complex."""
    if np.iscomplexobj(number):
        return [float(number.real), float(number.imag)]
    plain = number.dtype.kind in "iub" or "int" in number.dtype.name
    return [int(number) if plain else float(number)]


def _part_differs(now, want, got):
    if isinstance(now, int):
        return now != want
    same = now == want or (now != now and want != want)
    if same:
        sign = np.signbit(now) != np.signbit(want) and np.signbit(got) != np.signbit(want)
        return bool(want == 0 and got == 0 and sign)
    if not (np.isfinite(now) and np.isfinite(want) and np.isfinite(got)):
        return got != want and not (got != got and want != want)
    return got != want and abs(now - want) > abs(got - want) / 2


def main():
    """Run the program, compare, and say what is wrong."""
    try:
        found = results()
    except Exception as error:
        print(f"{type(error).__name__}: {str(error)[:500]}")
        return 1 if VERDICT == "rejected" or not WRONG else 2
    bad = 0
    for number, index, want, got in WRONG:
        of = dtype(RESULTS[number][0])
        one, other = (np.frombuffer(bytes.fromhex(bits), bits_of(of)) for bits in (want, got))
        one, other = one.view(of)[0], other.view(of)[0]
        now = found[number][tuple(index)]
        if differs(now, one, other):
            bad += 1
            print(f"result {number} at {index}: {now} where {one} is expected")
    print(f"still there: {MESSAGE}" if bad else "gone: these elements are as expected")
    return 1 if bad else 0


def bits_of(of):
    """A type of unsigned integers as wide as the type's elements in memory."""
    return np.uint8 if of.kind == "b" else f"u{min(of.itemsize, 8)}"


if __name__ == "__main__":
    if VERDICT in LOST and "--alone" not in sys.argv:
        command = [sys.executable, __file__, "--alone"]
        try:
            code = subprocess.run(command, timeout=SECONDS, check=False).returncode
        except subprocess.TimeoutExpired:
            code = -1
        print(f"the process ends with {code}" if code < 0 else "gone: it gives an answer")
        sys.exit(1 if code < 0 else 0)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.exit(main())
