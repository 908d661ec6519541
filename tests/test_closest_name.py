"""The name that was meant by a misspelt one."""

from __future__ import annotations

import pytest

from opwright.closest_name import closest_name

MEANT = {
    "alhpa": "alpha",
    "ALPHA": "alpha",
    "bu": "by",
    "xs": "x",
    "nothing": None,
    "zy": None,
    "b": None,
}


@pytest.mark.parametrize("name", MEANT)
def test_the_closest_name(name: str) -> None:
    assert closest_name(name, ["x", "alpha", "by"]) == MEANT[name]
