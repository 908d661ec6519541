"""docs/versions.md: the versions of PyTorch that tools/test_pytorch.py has tested with."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opwright._version import OLDEST_PYTORCH, TESTED_PYTORCH

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_the_script_writes(tool: Callable[[str], Any]) -> None:
    script = tool("test_pytorch.py")
    rows = json.loads((ROOT / "docs" / "versions.json").read_text("utf-8"))
    assert (ROOT / "docs" / "versions.md").read_text("utf-8") == script.page(rows)
    assert list(TESTED_PYTORCH) == list(tool("build_wheels.py").MINORS)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", '"torch>={}"'),
        (".github/workflows/ci.yml", 'pytorch: "{}.0"'),
        ("README.md", "PyTorch {} or newer"),
        ("docs/install.md", "PyTorch {} or newer"),
        ("docs/packaging.md", "every PyTorch from {}"),
    ],
)
def test_the_oldest_version_is_the_same_everywhere(file: str, text: str) -> None:
    assert text.format(OLDEST_PYTORCH) in (ROOT / file).read_text("utf-8")


@pytest.fixture
def tool() -> Callable[[str], Any]:
    """Import a script of tools/ by its file's name."""

    def load(name: str) -> Any:
        spec = importlib.util.spec_from_file_location(Path(name).stem, ROOT / "tools" / name)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
