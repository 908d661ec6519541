"""docs/changing.md: the files that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "changing.md").read_text()


def test_the_files_that_a_change_touches_exist() -> None:
    named = set(re.findall(r"`([\w./-]+/[\w.-]*)`", PAGE)) - {"src/opwright"}
    assert len(named) > 40
    assert not sorted(name for name in named if not any((top / name).exists() for top in (ROOT, ROOT / "src/opwright")))


def test_there_are_ten_changes() -> None:
    assert PAGE.count("\n## ") == 10
