"""Whole programs, run by the command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command ``opwright``, or another one, in the test's folder."""

    def run(*arguments: str, program: tuple[str, ...] = (sys.executable, "-m", "opwright")) -> Ended:
        done = subprocess.run(
            [*program, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        said = [line for line in done.stderr.splitlines(True) if not line.startswith("opwright: building")]
        return Ended(done.returncode, done.stdout, "".join(said))

    return run


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., None]:
    """Write files into the test's folder: ``files(**{"main.cu": "..."})``."""

    def write(**texts: str) -> None:
        for name, text in texts.items():
            (tmp_path / name).write_text(text)

    return write
