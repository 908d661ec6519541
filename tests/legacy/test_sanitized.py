"""The TH library under AddressSanitizer and UndefinedBehaviorSanitizer: its other tests once more, in a child process.

The library is compiled anew with `OPWRIGHT_SANITIZE`, which takes minutes, and kept in the cache as ever.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.test_sanitized import sanitized

pytestmark = pytest.mark.exhaustive
__all__ = ["sanitized"]  # a fixture

FILES = ("test_math.py", "test_blas.py", "test_random.py", "test_apply.py", "test_math_sequences.py", "test_refused.py")
_PROGRAM = """
import os, sys
os.environ.pop("LD_PRELOAD")  # the compilers are none of ours
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("file", FILES)
def test_nothing_is_found(file: str, sanitized: dict[str, str]) -> None:
    here = Path(__file__).parent
    environment = os.environ | sanitized | {"PYTHONPATH": str(here.parents[1] / "src")}
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow", "-x", "--tb=short"]
    command = [sys.executable, "-c", _PROGRAM, *options, str(here / file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=here.parents[1])
    assert done.returncode == 0, f"{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
    assert "runtime error" not in done.stderr
