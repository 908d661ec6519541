"""Packages that are missing or old."""

from __future__ import annotations

import pytest

from opwright.doctor import tools


def test_packages_that_are_missing_or_old(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    installed = {"opwright": "1.0", "click": "7.0", "rich": "15.0"}
    asked = ["click>=8.1", "rich>=13.7", "tree-sitter>=0.24", "matplotlib>=3.8; extra == 'bench'"]
    asked += ["ruff>=0.1; extra == 'dev'", "opwright[bench]; extra == 'all'", "colorama>=0; sys_platform == 'win32'"]

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    class Metadata:
        @staticmethod
        def get_all(_key: str) -> list[str]:
            return ["bench", "dev", "all"]

    monkeypatch.setattr(metadata, "requires", lambda _name: asked)
    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "metadata", lambda _name: Metadata)
    found = {finding.topic: finding for finding in tools.packages()}
    assert found.keys() == {"opwright", "click", "rich", "tree-sitter", "matplotlib"}
    assert (found["click"].state, found["click"].text) == ("wrong", "7.0 is installed, expected click>=8.1")
    assert (found["tree-sitter"].state, found["tree-sitter"].fix) == ("wrong", 'pip install "tree-sitter>=0.24"')
    assert (found["matplotlib"].state, found["matplotlib"].fix) == ("note", "pip install opwright[bench]")
