"""Opwright's own fixtures, where it is run from this folder without being installed."""

from __future__ import annotations

from importlib.metadata import entry_points

pytest_plugins = () if entry_points(group="pytest11", name="opwright") else ("opwright.pytest_plugin",)
