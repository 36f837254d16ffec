"""Write every page that is generated: `python -m docs.tools`, before `zensical build`."""

from __future__ import annotations

import sys

from docs.tools.generated import write_pages
from docs.tools.pages import PAGES

for path in write_pages(PAGES):
    sys.stdout.write(f"docs/{path.name}\n")
