"""Opwright's own fixtures, where it is run from this folder without being installed; exhaustive tests of examples."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

pytest_plugins = () if entry_points(group="pytest11", name="opwright") else ("opwright.pytest_plugin",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the exhaustive tests what repeats others in the five ways to run CUDA kernels of an example.

    Blocks in an order of their own, and the checker, look at float32 alone, of which each other element type is
    one more compilation; all element types are run in forward order.
    """
    for item in items:
        given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        other = str(given.get("dtype", "torch.float32")) != "torch.float32"
        if other and given.get("cuda_place") in ("reverse", "random", "checked"):
            item.add_marker(pytest.mark.exhaustive)
