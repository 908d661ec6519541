"""What all tests share: a build cache of their own, and kernels written in a test."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis.internal.conjecture import providers

import opwright

# One for each user of this machine: the runtime is built once however many workers,
# subprocesses and test runs there are. What is in it is known by its content, so nothing old is ever used.
CACHE = Path(tempfile.gettempdir()) / f"opwright-tests-{os.geteuid()}"
os.environ["TORCH_EXTENSIONS_DIR"] = str(CACHE)

# What tests share is imported by its full name: tests.mutants.survivors.
ROOT = str(Path(__file__).parents[1])
if ROOT not in sys.path:
    sys.path.append(ROOT)

KERNELS = Path(__file__).parent / "runtime" / "kernels"

# A shell that starts us in the background ignores SIGINT, nohup SIGHUP; what tests start would inherit that.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(_number, _handler)

# hypothesis draws numbers, too, that it reads in the modules that are loaded: what a test finds would hang upon the
# tests before it.
providers._get_local_constants = lambda: providers._local_constants


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is about the inside of the native runtime says nothing of the one in Python."""
    if os.environ.get("OPWRIGHT_RUNTIME") == "python":
        for item in items:
            if item.get_closest_marker("native"):
                item.add_marker(pytest.mark.skip(reason="about the inside of the native runtime"))


@pytest.fixture(scope="session")
def grads() -> opwright.Operators:
    """Differentiable operators."""
    return opwright.load(KERNELS / "autograd_ops.cpp")


@pytest.fixture(scope="session")
def calls() -> opwright.Operators:
    """Operators that tell how they were called."""
    return opwright.load(KERNELS / "call_ops.cpp")


@pytest.fixture(scope="session")
def notation() -> opwright.Operators:
    """Operators that overwrite, decide lengths, draw, check indices, and need no tensor."""
    return opwright.load(KERNELS / "notation_ops.cpp")


@pytest.fixture(scope="session")
def pointwise() -> opwright.Operators:
    """Pointwise operators."""
    return opwright.load(KERNELS / "pointwise_ops.cpp")


@pytest.fixture(scope="session")
def batched() -> opwright.Operators:
    """Batched operators."""
    return opwright.load(KERNELS / "batched_ops.cpp")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a source file, with the author's header included: ``write(text, "name.cpp")``."""

    def to(text: str, name: str = "op.cpp") -> Path:
        path = tmp_path / name
        path.write_text(f"#include <opwright.h>\n{text}\n")
        return path

    return to
