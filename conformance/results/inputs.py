"""Input sets as bytes: an .npz archive of bits, which represents every element type.

Each member is named `<position>_<element type>.npy` and holds the elements' bits as unsigned
integers, so numpy can open it. Equal arrays always give equal bytes.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import numpy as np

from reference.ir.types import Array, element_type, element_type_of, from_bits, to_bits

_NO_TIME = (1980, 1, 1, 0, 0, 0)


def pack_inputs(arrays: Sequence[Array]) -> bytes:
    """Return the archive of these arrays, which must have storage types of element types."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        for position, array in enumerate(arrays):
            info = zipfile.ZipInfo(f"{position:04}_{element_type_of(array)}.npy", _NO_TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(to_bits(array)), allow_pickle=False)
            members.writestr(info, content.getvalue())
    return archive.getvalue()


def unpack_inputs(data: bytes) -> tuple[Array, ...]:
    """Return the arrays of an archive that `pack_inputs` made.

    Raises:
        ValueError: when it is not such an archive.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as members:
            return tuple(_read(members, name) for name in sorted(members.namelist()))
    except (zipfile.BadZipFile, KeyError, IndexError, ValueError, OSError) as error:
        raise ValueError(f"not an archive of inputs: {error}") from error


def _read(members: zipfile.ZipFile, name: str) -> Array:
    of = element_type(name.removesuffix(".npy").split("_", 1)[1])
    content = io.BytesIO(members.read(name))
    return np.asarray(from_bits(np.lib.format.read_array(content, allow_pickle=False), of))
