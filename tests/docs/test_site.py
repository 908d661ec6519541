"""The documentation is built into a site; a warning, as of a link that leads nowhere, is an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # Without --quiet, under which mkdocs sees no warning, and so has nothing to be strict about.
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    for page in (ROOT / "docs").glob("**/*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file(), page


def test_the_examples_and_their_sources_are_in_the_site(site: Path) -> None:
    for example in (ROOT / "examples").glob("*/README.md"):
        assert (site / "examples" / example.parent.name / "index.html").is_file(), example
    assert "sigmoid(x: T[...])" in (site / "files/examples/sigmoid/sigmoid.cpp.html").read_text()
