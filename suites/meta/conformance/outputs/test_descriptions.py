"""Every class of the JSON outputs, and each of its fields, is described for its reader."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any, get_type_hints

import msgspec
import pytest

from conformance.outputs import (
    campaign,
    checked,
    comparison,
    finding,
    history,
    report,
    run,
    saved,
    sweep,
)

MODULES = (campaign, checked, comparison, finding, history, report, run, saved, sweep)


def classes_of(module: ModuleType) -> list[Any]:
    return [
        one
        for _, one in inspect.getmembers(module, inspect.isclass)
        if issubclass(one, msgspec.Struct) and one.__module__ == module.__name__
    ]


CLASSES = [one for module in MODULES for one in classes_of(module)]


@pytest.mark.parametrize("module", MODULES)
def test_each_module_has_classes(module: ModuleType) -> None:
    assert classes_of(module)


@pytest.mark.parametrize("class_", CLASSES)
def test_objects_are_frozen_and_described(class_: Any) -> None:
    assert class_.__struct_config__.frozen
    assert class_.__doc__.endswith(".")


@pytest.mark.parametrize("class_", CLASSES)
def test_each_field_has_a_description_that_is_a_sentence(class_: Any) -> None:
    hints = get_type_hints(class_, include_extras=True)
    assert class_.__struct_fields__
    for name in class_.__struct_fields__:
        said = [one.description for one in hints[name].__metadata__]
        assert any(said), name
        assert all(
            (one[0].isupper() or one[0] == "`") and one.endswith(".") for one in said if one
        ), name


def test_older_findings_have_names_with_spaces() -> None:
    assert saved.rename_old_fields({"first found": "today", "class": "NaN"}) == {
        "first_found": "today", "class": "NaN",
    }  # fmt: skip
