"""Arguments of f64 at which correct rounding needs the most digits, collected from the literature.

Lefèvre and Muller, "Worst Cases for Correct Rounding of the Elementary Functions in Double
Precision" (2001), began the search. These are from the lists of CORE-MATH, src/binary64/exp/exp.wc
and log/log.wc (https://core-math.gitlabpages.inria.fr), the latter made by Lefèvre.
"""

from __future__ import annotations

HARD_CASES: tuple[str, ...] = (
    "0x1.0122ef37212ebp-1", "0x1.2c81543ad71e5p-1", "0x1.9f90d001f394cp-1",
    "0x1.d129a929b1da3p-1", "0x1.f9d6771fda027p-1", "0x1.0a8862b2a2c3ap+0", "0x1.2ea8b883cbaa9p+0",
    "0x1.4576d45be6677p+0", "0x1.6b7800874c2f4p+0", "0x1.a6ae5142326b5p+0", "0x1.fd68ffa928b1ap+0",
    "0x1.3fe609662ffe9p+1", "0x1.992cf056fea69p+1", "0x1.5e8eff6be1d8bp+3",
    "0x1.8aa15fe4f8bc8p+4", "0x1.4e6888aeabe89p+5", "0x1.4a76cd8acbed3p+7", "0x1.98698819cb1e3p+10",
    "0x1.604475cb1f86dp+15", "0x1.8017814cf0f05p+18", "0x1.0c33ca7236f2fp+23",
    "0x1.ca6187bc71f7p+31", "0x1.f432ceabc9bfp+41",
)  # fmt: skip
"""Arguments in hexadecimal by function. Each is swept with its neighbours."""
