"""Write every page that is generated: `python -m docs.tools`."""

from __future__ import annotations

import sys

from docs.tools.generated import PAGES_BY_NAME
from docs.tools.pages import PAGES

for name, page in PAGES_BY_NAME.items():
    (PAGES / name).write_text(page(), encoding="utf-8")
    sys.stdout.write(f"docs/{name}\n")
