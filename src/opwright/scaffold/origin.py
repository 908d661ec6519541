"""What a new project says of its author, and where its continuous integration takes Opwright from."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

from opwright._version import __version__

_UNKNOWN_NAME, _UNKNOWN_EMAIL = "Your Name", "you@example.com"
_SSH = re.compile(r"(?:ssh://)?git@([^:/]+)[:/](.+)")


def author() -> tuple[str, str]:
    """Return the author's name and email address as git knows them; else words to be replaced."""
    name, email = (_git("config", key) for key in ("user.name", "user.email"))
    return re.sub(r"[\"\\<>]", "", name) or _UNKNOWN_NAME, email if "@" in email else _UNKNOWN_EMAIL


def requirement() -> str:
    """Return pip's requirement for this Opwright: the commit it was installed from, or its version on an index.

    A commit is known if pip installed it from a repository, or from a clone whose origin others can reach.
    """
    url, commit = _source()
    return f"opwright @ git+{url}@{commit}" if url and commit else f"opwright>={__version__}"


def _source() -> tuple[str, str]:
    """Return the address and the commit of the repository from which pip installed this Opwright."""
    try:
        facts = json.loads(importlib.metadata.distribution("opwright").read_text("direct_url.json") or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return "", ""
    address = str(facts.get("url", ""))
    if "vcs_info" in facts:
        return _public(address), str(facts["vcs_info"].get("commit_id", ""))
    if not address.startswith("file://"):
        return "", ""
    folder = unquote(urlsplit(address).path)
    if not Path(folder, ".git").exists():
        return "", ""
    return _public(_git("-C", folder, "remote", "get-url", "origin")), _git("-C", folder, "rev-parse", "HEAD")


def _public(address: str) -> str:
    """Return a repository's address for everybody (https), without a user's name and password; "" if it has none."""
    if match := _SSH.fullmatch(address):
        return f"https://{match[1]}/{match[2]}"
    parts = urlsplit(address)
    return f"https://{parts.hostname}{parts.path}" if parts.scheme in ("http", "https") and parts.hostname else ""


def _git(*words: str) -> str:
    """Return git's answer; an empty string if there is no git, or no answer."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)  # noqa: S607 - by its name
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
