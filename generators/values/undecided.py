"""Complex numbers at which extended precision cannot decide the rounding of a part of a function.

Two parts rounded to f32 make this possible: along a parabola of one part, the other part's result
moves by less than its own ulp, so that it can be brought next to a midpoint. The numbers were found
by such a search, with the bounds of reference/numerics/elementary/complex_functions.py; other
numbers of complex<f32> hardly ever need more than its fast step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from generators.values.codes import Words, encode, nearest
from reference.ir.types import Array, ElementType

UNDECIDED: dict[str, tuple[tuple[int, int], ...]] = {
    "cbrt": (
        (0x40056374, 0x38EEB432),
        (0x3FBDFEA5, 0x387D9725),
        (0x4003D0ED, 0x39F92090),
        (0x3F5B9C2B, 0x3907E199),
        (0x400167A9, 0x3A0B9BC4),
        (0x3F38E9A4, 0x37A12E3C),
    ),
    "cosine": (
        (0x3FAFD26C, 0x37265AF4),
        (0x3F1FCA33, 0x390964C7),
        (0x3F53A11E, 0x38571055),
        (0xBFACAA5F, 0x377CA63F),
        (0xC02CD409, 0x3729E317),
        (0xC01C04B4, 0x396A6BEE),
    ),
    "exponential": (
        (0x40253D71, 0x379D6FF8),
        (0x402A3640, 0x372ED051),
        (0x3F41482C, 0x370D7BE6),
        (0xBF97DAF6, 0x370C0154),
        (0xBDD61AE3, 0x39B6F110),
        (0xBE62ABD0, 0x39AE4AEC),
    ),
    "exponential_minus_one": (
        (0x3F5ABD4A, 0x37F2AF5A),
        (0x3FC32013, 0x39665301),
        (0x3FB1872B, 0x3886426B),
        (0xBFE2769C, 0x39B76871),
        (0xC0046CE6, 0x387CB783),
        (0xBFEB89DD, 0x398A40A5),
    ),
    "log": (
        (0x3FD53DFC, 0x3832A006),
        (0x402C6C22, 0x3863BFDE),
        (0x40276F2B, 0x3A241275),
        (0xC0156D6F, 0x392AFDA9),
        (0xC00B0359, 0x3758353A),
        (0xBDEDD901, 0x356AD719),
    ),
    "log_plus_one": (
        (0x3F03CA9E, 0x373CC7C5),
        (0x3F1B4B60, 0x37CCE04E),
        (0x3EAD54F2, 0x39742DAF),
        (0x3EBB7F1F, 0x37224E3B),
        (0x3E6359E4, 0x38734C9F),
        (0x3DAF106C, 0x38F95DE9),
    ),
    "logistic": (
        (0x3FF3654C, 0x39BC84AC),
        (0x403BFF4B, 0x3821DEAB),
        (0x4018EA06, 0x39DB3CEC),
        (0x378487BF, 0x3F8EB750),
        (0x3716DCD6, 0x3FC2ACBC),
        (0x389038D1, 0x3F24981A),
    ),
    "power": (
        (0x3FE078AA, 0x36ECC987),
        (0x3FDDCFC6, 0x37B9E31D),
        (0x3E1C7349, 0x36826D31),
        (0xBF612CA8, 0x374263F2),
        (0xBF2A087B, 0x3762595F),
        (0xBFF05139, 0x392CEAF1),
    ),
    "rsqrt": (
        (0x40165137, 0x3A7559EA),
        (0x3FD3B81D, 0x38A62951),
        (0x3FB22E06, 0x38D6FC1D),
        (0x3F6252DE, 0x3845C384),
        (0x3F9428D6, 0x38616535),
        (0x3FF0E504, 0x39DEE312),
    ),
    "sine": (
        (0x3F489AF6, 0x38E0688E),
        (0x3FDBE619, 0x37159DA5),
        (0x3E3D0359, 0x38F85044),
        (0x39497ABC, 0x3F845CBD),
        (0x398DF6D4, 0x3E42C568),
        (0x3907522E, 0x3F3C528E),
    ),
    "sqrt": (
        (0x402838F5, 0x3AC7D3C4),
        (0x3F87BE04, 0x37CAF43D),
        (0x3F240650, 0x3978AAC6),
        (0x3FB210CF, 0x37C0D4B1),
        (0x40123182, 0x3824DFB8),
        (0x3F8B334A, 0x361398D1),
    ),
    "tan": (
        (0x401E778A, 0x39364639),
        (0x402D82B2, 0x38091C02),
        (0x3F921E78, 0x36D865EA),
        (0x396B182D, 0x403728D6),
        (0x39B3B27B, 0x400E10F1),
        (0x39353EF5, 0x401F92E4),
    ),
    "tanh": (
        (0x3E64695D, 0x396E5A6E),
        (0x3EEFD52D, 0x37541999),
        (0x40209A3E, 0x389F50D7),
        (0x38D8ED96, 0x403AAD86),
        (0x3919CDF5, 0x403965C9),
        (0x360B8165, 0x3E8C8D2D),
    ),
}
"""Bits of real and imaginary parts as f32, by function; `power` has the exponent -2."""


def undecided_at(op: str) -> Callable[[ElementType, int, Words], Array]:
    """Return a filler of parts of complex numbers (in pairs) at which an op is undecided,
    round-robin.
    """
    numbers = np.array(UNDECIDED[op], np.uint32).view(np.float32).astype(np.float64)

    def filler(element_type: ElementType, count: int, words: Words) -> Array:
        pairs = (words.below(1, len(numbers)) + np.arange(count // 2)) % len(numbers)
        return encode(*nearest(numbers[pairs].reshape(-1), element_type), element_type)

    return filler
