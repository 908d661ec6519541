"""Opwright's own fixtures, where it is run from this folder without being installed; tests that repeat others."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import entry_points

import pytest

pytest_plugins = () if entry_points(group="pytest11", name="opwright") else ("opwright.pytest_plugin",)


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as exhaustive what repeats others: cases outside of a sample; other types in the five ways to run kernels.

    Blocks in an order of their own, and the checker, look at float32 alone, of which each other element type is
    one more compilation; all element types are run in forward order.
    """
    seen: Counter[str] = Counter()
    for item in items:
        given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        other = str(given.get("dtype", "torch.float32")) != "torch.float32"
        if other and given.get("cuda_place") in ("reverse", "random", "checked"):
            item.add_marker(pytest.mark.exhaustive)
        sampled = item.get_closest_marker("sampled")
        if sampled and item.get_closest_marker("slow") and not item.get_closest_marker("exhaustive"):
            test = item.nodeid.partition("[")[0]
            if seen[test] % sampled.args[0]:
                item.add_marker(pytest.mark.exhaustive)
            seen[test] += 1
