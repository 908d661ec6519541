"""What a new project says of its author, and from where its workflows take Opwright."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
from pathlib import Path

import pytest

from opwright import __version__
from opwright.scaffold import origin


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"user.name": "Ada L", "user.email": "ada@example.org"}, ("Ada L", "ada@example.org")),
        ({"user.name": 'A "B" <C>'}, ("A B C", "you@example.com")),
        ({"user.email": "nothing"}, ("Your Name", "you@example.com")),
    ],
)
def test_the_author_is_whom_git_knows(
    answers: dict[str, str], expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin, "_git", lambda *words: answers.get(words[-1], ""))
    assert origin.author() == expected


def test_without_git_there_are_words_to_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert origin.author() == ("Your Name", "you@example.com")


class Distribution:
    def __init__(self, facts: object) -> None:
        self.facts = facts

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return json.dumps(self.facts) if self.facts else None


def installed_from(facts: object, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _name: Distribution(facts))
    return origin.requirement()


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (None, f"opwright>={__version__}"),
        ({"url": "https://files/opwright.whl", "archive_info": {}}, f"opwright>={__version__}"),
        (
            {"url": "https://me:secret@host/a/opwright", "vcs_info": {"vcs": "git", "commit_id": "0123abc"}},
            "opwright @ git+https://host/a/opwright@0123abc",
        ),
    ],
)
def test_where_opwright_comes_from(facts: object, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed_from(facts, monkeypatch) == expected


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("git@host:a/opwright.git", "https://host/a/opwright.git"),
        ("https://host/a/opwright.git", "https://host/a/opwright.git"),
        ("/srv/opwright", ""),
    ],
)
def test_a_clone_is_the_commit_of_its_origin(
    address: str, public: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["remote", "add", "origin", address], ["commit", "-qm", "a", "--allow-empty"]):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    expected = f"opwright @ git+{public}@{commit}" if public else f"opwright>={__version__}"
    assert installed_from({"url": tmp_path.as_uri(), "dir_info": {"editable": True}}, monkeypatch) == expected
