"""Extensions that share one set of headers compiled ahead, and texts with the header in front."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from opwright.cpp_extension import load

_NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers are compiled ahead by whoever needs them first, and nothing goes on behind a test's back."""
    monkeypatch.setenv("OPWRIGHT_PRECOMPILE", "wait")
    for variable in ("CC", "CXX", "MAX_JOBS", "TORCH_CUDA_ARCH_LIST", "CUDA_HOME", "CUDA_PATH", "PYTORCH_NVCC"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., Path]:
    """Write a C++ file with PyTorch's header in front: ``source(text, "name.cpp")``."""

    def write(text: str, name: str = "op.cpp") -> Path:
        path = tmp_path / name
        path.write_text(f"#include <torch/extension.h>\n{text}\n")
        return path

    return write


@pytest.fixture
def module(source: Callable[..., Path]) -> Callable[..., ModuleType]:
    """Build a text and load it, under a name of its own: ``module(text, extra_cflags=[...])``."""

    def make(text: str, **options: object) -> ModuleType:
        number = next(_NUMBERS)
        path = source(text, f"op_{os.getpid()}_{number}.cpp")
        made = load(str(options.pop("name", f"op_{number}")), [path], **options)  # type: ignore[arg-type]
        assert isinstance(made, ModuleType)
        return made

    return make


@pytest.fixture
def python(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a script in another process, which is killed at the end if it still runs."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *words: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", script, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
