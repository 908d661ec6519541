from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built once for all of pytest's processes."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "documentation"
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            build(ROOT, folder)
    return folder


def build(project: Path, folder: Path) -> None:
    """Build a site; a warning, as of a link that leads nowhere, is an error, and leaves none."""
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", f"{folder}.new"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    os.replace(f"{folder}.new", folder)


TRANSLATED_SITE = f"""
site_name: a site
use_directory_urls: false
theme: {{name: material, font: false}}
plugins: [{{search: {{lang: [en, ko, zh], separator: "[\\\\s\\\\u200b]+"}}}}, awesome-nav]
hooks: ["{ROOT}/tools/site/languages.py"]
validation: {{links: {{anchors: warn}}}}
"""
TRANSLATED = {
    "index.md": "# Home\n\n[begin](tutorial/index.md)",
    "tutorial/index.md": "# Tutorial\n\n[one](1.md#place)",
    "tutorial/1.md": "# One\n\n## Place",
    "tutorial/index.ko.md": "# 튜토리얼\n\n그래디언트를 검사합니다 [one](1.md#장소) [home](../index.md)",
    "tutorial/1.ko.md": "# 하나\n\n## 장소 {#장소}",
    "tutorial/index.zh.md": "# 教程\n\n检查梯度是否正确 [one](1.md#place)",
}


@pytest.fixture(scope="session")
def translated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("languages")
    (folder / "mkdocs.yml").write_text(TRANSLATED_SITE + "markdown_extensions: [attr_list]\n")
    for name, text in TRANSLATED.items():
        (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(text)
    build(folder, folder / "site")
    return folder / "site"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the whole site, which takes half a minute to build, as slow."""
    for item in items:
        if item.path.parent == Path(__file__).parent and "site" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
