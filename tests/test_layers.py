"""Imports point down the layers of tools/layout.py, and make no circle."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def layout() -> Any:
    """The script."""
    spec = importlib.util.spec_from_file_location("layout", ROOT / "tools/layout.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_imports_point_down(layout: Any) -> None:
    assert layout.upward(layout.imports(layout.modules())) == []


def test_no_module_imports_itself_through_others(layout: Any) -> None:
    assert layout.circles(layout.imports(layout.modules())) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package whose every import is wrong, or is none."""
    package = tmp_path / "opwright"
    files = {
        "__init__.py": "",
        "errors.py": "from opwright import cli\n",
        "log.py": "def f():\n    if True:\n        import opwright.sources.one\n",
        "signature/__init__.py": '"""What it is for."""\n',
        "sources/one.py": "from opwright.sources.two import x\n",
        "sources/two.py": "def f():\n    from opwright.sources import one\n    return one\n",
        "runtime/here.py": "if TYPE_CHECKING:\n    from opwright.runtime import there\n",
        "runtime/there.py": "from opwright.runtime import here\nfrom opwright.signature import x\n",
        "cli.py": "import os\n",
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return tmp_path


def test_what_is_wrong_is_found(layout: Any, tree: Path) -> None:
    graph = layout.imports(layout.modules(tree))
    assert layout.upward(graph) == [("opwright.errors", "opwright.cli"), ("opwright.log", "opwright.sources.one")]
    assert layout.circles(graph) == [["opwright.sources.one", "opwright.sources.two"]]
    assert graph["opwright.runtime.there"] == {"opwright.runtime.here", "opwright.signature"}


def test_what_is_too_large_is_told(layout: Any, tree: Path) -> None:
    (tree / "opwright/log.py").write_text("x = 1\n" * 451)
    (tree / "opwright/runtime/csrc").mkdir()
    (tree / "opwright/runtime/csrc/call.cpp").write_text("\n" * 451)
    for number in range(15):
        (tree / f"opwright/sources/more_{number}.py").write_text("\n")
    said = layout.broken(tree)
    assert "opwright/sources has 17 files, at most 16" in said
    assert "opwright/log.py has 451 lines, at most 450" in said
    assert "opwright/runtime/csrc/call.cpp has 451 lines, at most 450" in said
    assert "half of the files have less than 1 lines, at least 150" in said
