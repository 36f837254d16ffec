"""The modules import each other in no circle, imports inside of functions included."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp

PACKAGES = ("conformance", "generators", "reference", "reports")


def test_imports_form_no_cycle() -> None:
    graph = grimp.build_graph(*PACKAGES)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 300
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None
