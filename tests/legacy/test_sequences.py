"""Random sequences of steps against torch, and under the sanitizers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.test_calls import ROOT
from tests.fuzz.test_sanitized import sanitized
from tests.legacy import sequences
from tests.legacy.extensions import TYPES, Extension

pytestmark = pytest.mark.native
__all__ = ["sanitized"]


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(data=st.data(), name=st.sampled_from(TYPES), raw=st.booleans())
def test_any_sequence(th: Extension, data: st.DataObject, name: str, raw: bool) -> None:
    sequences.sequence(th, name, lambda limit: data.draw(st.integers(0, limit - 1)), raw=raw)


def test_sequences_leave_nothing_behind(th: Extension) -> None:
    sequences.run(th, seed=0, count=100)


@pytest.mark.exhaustive
def test_many_sequences(th: Extension) -> None:
    sequences.run(th, seed=1, count=3000)


def in_sanitized_process(command: list[str], environment: dict[str, str]) -> None:
    # Python starts compilers: they mustn't be sanitized themselves
    program = "import os, sys, runpy; os.environ.pop('LD_PRELOAD'); sys.argv = sys.argv[1:]; "
    program += "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
    variables = {**os.environ, **environment, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", program, *command], env=variables, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout[-3000:], done.stderr[-6000:])


@pytest.mark.exhaustive
def test_sanitized_sequences(sanitized: dict[str, str]) -> None:
    in_sanitized_process(["tests.legacy.sequences", "2", "400"], sanitized)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["test_structure.py", "calls", "test_library.py"])
def test_sanitized_tests(name: str, sanitized: dict[str, str]) -> None:
    """The other tests once more, with instrumented code."""
    path = Path(__file__).parent / name
    in_sanitized_process(["pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(path)], sanitized)
