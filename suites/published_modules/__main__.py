"""Write the archive of modules from their texts: `python -m suites.published_modules`.

It takes jaxlib 0.12 or newer, whose parser of HLO text can be called.
"""

from __future__ import annotations

import zipfile

from suites.published_modules import ARCHIVE, FOLDER

_EPOCH = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    """Write the archive."""
    from jaxlib import _hlo  # pyright: ignore[reportAttributeAccessIssue]

    with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(FOLDER.glob("*.hlo")):
            module = _hlo.hlo_module_from_text(path.read_text(encoding="utf-8"))
            proto = module.as_serialized_hlo_module_proto()
            archive.writestr(zipfile.ZipInfo(path.stem, _EPOCH), proto, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
