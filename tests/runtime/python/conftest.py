"""Scripts that run in a process of their own, with the Python runtime."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

from tests.interpreter import run_python


@pytest.fixture
def script() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script with the Python runtime: ``script(text, PATH="")`` changes the environment, None removes from it."""

    def run(text: str, **changed: str | None) -> subprocess.CompletedProcess[str]:
        changes = {"OPWRIGHT_RUNTIME": "python", **changed}
        environment = {k: v for k, v in {**os.environ, **changes}.items() if v is not None}
        return run_python(text, environment=environment)

    return run
