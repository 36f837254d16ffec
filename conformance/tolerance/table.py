"""Table of the tolerance rules, each with its name and source.

The specification promises no accuracy (stablehlo#1156), so a rule is a policy. Budgets are in ulp,
measured as the distance to the correctly rounded result in the result's type. Where OpenCL's
conformance tests and XLA's exhaustive tests both have a figure, the smaller applies.
docs/tolerances.md has the reasons.
"""

from __future__ import annotations

from dataclasses import replace

from conformance.tolerance import formulas
from conformance.tolerance.bounds import (
    contraction,
    convolution,
    fft,
    linear_algebra,
    normalization,
    quantization,
    random,
    reduction,
    scaled,
    scatter,
    sorting,
    sparse,
)
from conformance.tolerance.rule import Formula, Rule, Ulps

_IEEE = "IEEE 754-2019 (named by the specification); XLA exhaustive tests"
_OPENCL = "OpenCL 3.0 C, relative error as ULPs, checked by OpenCL-CTS"

DATA = Rule(
    "data",
    "bit for bit; any NaN stands for any NaN",
    "StableHLO specification; TOSA conformance, EXACT",
)
BITS = Rule(
    "bits",
    "bit for bit, NaN payloads included",
    "StableHLO specification, bitcast_convert with its little-endian example",
    nan_bits=True,
)
ROUNDED = Rule(
    "correctly rounded",
    "the correctly rounded result, with the signs of zero and the NaNs of IEEE 754-2019; "
    "integers and booleans bit for bit",
    _IEEE,
    Ulps(f32=0, f64=0, half=0, narrow=0, complex_=0),
)
CONVERTED = Rule(
    "converted",
    "round to nearest, ties to even, in a single rounding; integers truncate",
    "IEEE 754-2019 convertFormat; a policy where the specification says TBD (stablehlo#180)",
    Ulps(f32=0, f64=0, half=0, narrow=0, complex_=0),
)
DIVIDED = Rule(
    "division",
    "correctly rounded; 2 ulp for f32 on a GPU; complex parts within 3 ulp of the larger part",
    f"{_IEEE}: division exact on CPU, 2 ulp on GPU; StableHLO tests/math for complex",
    Ulps(f32=0, f64=0, half=0, narrow=0, complex_=3, gpu_f32=2),
)
MULTIPLIED = Rule(
    "multiplication",
    "correctly rounded; complex parts within 3 ulp of the larger part",
    f"{_IEEE}; StableHLO tests/math for complex",
    Ulps(f32=0, f64=0, half=0, narrow=0, complex_=3),
)
MODULUS = Rule(
    "modulus",
    "the modulus of a complex number within 3 ulp of its real result",
    "StableHLO tests/math for complex",
    Ulps(f32=3, f64=3, half=0, narrow=0, complex_=3),
)
MAGNITUDE = replace(
    ROUNDED,
    name="magnitude",
    text="exact; the modulus of a complex number within 3 ulp of its real result",
    source=f"{_IEEE}; StableHLO tests/math for complex",
    complex_rule=MODULUS,
)
SIGNED = Rule(
    "sign",
    "exact; for complex numbers the specification's quotient within 3 ulp of the larger part, "
    "by a modulus within 3 ulp where it is subnormal",
    "StableHLO specification, sign; StableHLO tests/math for complex",
    Ulps(f32=0, f64=0, half=0, narrow=0, complex_=3),
    formulas=formulas.SIGNS_BY_MODULUS,
)
SQUARE_ROOT = Rule(
    "square root",
    "correctly rounded; complex parts within 3 ulp of the larger part",
    "IEEE 754-2019 squareRoot; XLA accuracy budget 0; StableHLO tests/math for complex",
    Ulps(f32=0, f64=0, half=0, narrow=0, complex_=3),
)


def _elementary(
    name: str,
    f32: float,
    half: float,
    source: str,
    *,
    gpu_f32: float | None = None,
    f64: float | None = None,
    complex_: float = 3,
    bounds: tuple[float, float] | None = None,
    others: tuple[Formula, ...] = (),
) -> Rule:
    double = f32 if f64 is None else f64
    figures = f"f32 {f32:g}, f64 {double:g}, f16 and bf16 {half:g}, narrower 1"
    if gpu_f32 is not None:
        figures += f", f32 on a GPU {gpu_f32:g}"
    text = f"within so many ulp of the correctly rounded result: {figures}; "
    text += f"complex parts within {complex_:g} ulp of the larger part"
    if bounds is not None:
        text += f"; real results within [{bounds[0]:g}, {bounds[1]:g}]"
    ulps = Ulps(f32, double, half, 1, complex_, gpu_f32)
    return Rule(name, text, source, ulps, bounds, others)


_UP = float("inf")
EXPONENTIAL = _elementary(
    "exponential", 1, 2, f"XLA exhaustive tests: 1 ulp on CPU; {_OPENCL}: exp 3, half 2",
    gpu_f32=3, f64=1, bounds=(0.0, _UP),
)  # fmt: skip
EXPM1 = _elementary(
    "exponential minus one", 1, 2, f"XLA exhaustive tests: 1 ulp on CPU; {_OPENCL}: expm1 3",
    gpu_f32=3, f64=1, bounds=(-1.0, _UP),
)  # fmt: skip
LOG = _elementary(
    "logarithm", 3, 2, f"{_OPENCL}: log 3, half 2 (XLA: 20 eps)",
)  # fmt: skip
LOG1P = _elementary(
    "logarithm plus one", 2, 2, f"{_OPENCL}: log1p 2, half 2 (XLA: 20 eps)",
    others=(formulas.log_plus_one,),
)  # fmt: skip
LOGISTIC = _elementary(
    "logistic", 4, 2,
    "the specification's formula, with exp at OpenCL's 3 ulp and two roundings (XLA: 20 eps)",
    bounds=(0.0, 1.0), others=(formulas.logistic,),
)  # fmt: skip
TRIGONOMETRIC = _elementary(
    "sine and cosine", 2, 2, f"XLA exhaustive tests: 2 eps; {_OPENCL}: sin, cos 4, half 2",
    bounds=(-1.0, 1.0),
)  # fmt: skip
TANGENT = _elementary("tangent", 4, 2, f"XLA exhaustive tests: 4 eps; {_OPENCL}: tan 5, half 2")
TANH = _elementary(
    "hyperbolic tangent", 5, 2, f"{_OPENCL}: tanh 5, half 2 (XLA: 20 eps)", bounds=(-1.0, 1.0)
)
ATAN2 = _elementary(
    "arc tangent of a quotient", 3, 2, f"XLA exhaustive tests: 3 ulp; {_OPENCL}: atan2 6, half 2",
)  # fmt: skip
CBRT = _elementary(
    "cube root", 2, 2, f"{_OPENCL}: cbrt 2, half 2 (XLA: 10 eps on CPU, 16 on GPU)",
)  # fmt: skip
RSQRT = _elementary(
    "reciprocal square root", 2, 1, f"{_OPENCL}: rsqrt 2, half 1; XLA exhaustive tests: 2 eps",
)  # fmt: skip
ARC = _elementary("arc sine and cosine", 4, 2, f"{_OPENCL}: asin, acos 4, half 2")
ATAN = _elementary("arc tangent", 5, 2, f"{_OPENCL}: atan 5, half 2")
AREA = _elementary("inverse hyperbolic sine and cosine", 4, 2, f"{_OPENCL}: asinh, acosh 4, half 2")
ATANH = _elementary("inverse hyperbolic tangent", 5, 2, f"{_OPENCL}: atanh 5, half 2")
SINH = _elementary("hyperbolic sine", 4, 2, f"{_OPENCL}: sinh 4, half 2")
COSH = _elementary("hyperbolic cosine", 4, 2, f"{_OPENCL}: cosh 4, half 2", bounds=(1.0, _UP))
ERFC = _elementary(
    "complementary error function", 16, 4, f"{_OPENCL}: erfc 16, half 4", bounds=(0.0, 2.0)
)
_CUDA = "CUDA Programming Guide, mathematical functions: maximum ulp error"
ERF_INV = _elementary("inverse error function", 2, 2, f"{_CUDA}: erfinvf 2, erfinv 5", f64=5)
LGAMMA = _elementary(
    "logarithm of gamma", 6, 2, f"{_CUDA}: lgammaf 6, lgamma 4 (beyond [-11, -2.2])", f64=4
)
SPECIAL = _elementary(
    "special functions", 16, 4,
    "a policy, as no source has figures: OpenCL's largest for a function of one number, erf's 16, "
    "half 4",
)  # fmt: skip
ERF = _elementary("error function", 16, 4, f"{_OPENCL}: erf 16, half 4", bounds=(-1.0, 1.0))
SCANNED = replace(
    ROUNDED,
    name="scanned",
    text="every step of the scan correctly rounded, one after the other",
    source=f"XLA operation semantics, Scan: to_apply is applied sequentially; {_IEEE}",
)
POWER = _elementary(
    "power", 1, 1, f"XLA exhaustive tests: 1 ulp; {_OPENCL}: pow 16, half 4", complex_=16
)

RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        DATA, BITS, ROUNDED, CONVERTED,
        DIVIDED, MULTIPLIED, MAGNITUDE, SIGNED, SQUARE_ROOT,
        EXPONENTIAL, EXPM1, LOG, LOG1P, LOGISTIC, TRIGONOMETRIC, TANGENT, TANH, ATAN2, CBRT,
        RSQRT, POWER, ARC, ATAN, AREA, ATANH, SINH, COSH, ERF, ERFC, ERF_INV, LGAMMA, SPECIAL,
        SCANNED,
        reduction.REDUCED, reduction.WINDOWED, reduction.SCATTERED,
        contraction.CONTRACTED, convolution.CONVOLVED, scatter.SCATTERED_UPDATES, sorting.SORTED,
        normalization.NORMALIZED,
        linear_algebra.FACTORED, linear_algebra.SOLVED, fft.TRANSFORMED, random.DISTRIBUTED,
        random.BERNOULLI, random.GENERATED, scaled.SCALED, sparse.STORED, quantization.QUANTIZED,
    )
}  # fmt: skip
"""Rules by name. The rule of `map` depends on the rules of other ops; conformance/catalog.py builds
it.
"""
