from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch

import opwright as package
from opwright import cli
from tests.cli.command import opwright
from tests.interpreter import run_python

TWO_TYPES = """
OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y) { y[0] = x[0]; }
"""


@pytest.mark.slow
@pytest.mark.native
def test_bundle_writes_what_load_library_opens(write: Callable[..., Path], tmp_path: Path) -> None:
    source = write(TWO_TYPES, "bundled_by_cli.cpp")
    done = opwright("bundle", source, "-o", tmp_path / "here.so", "--dtype", "float32")
    assert done.returncode == 0, done.stderr
    version = ".".join(torch.__version__.split(".")[:2])
    assert done.stdout == f"{tmp_path / 'here.so'}: torch.ops.bundled_by_cli (f), for PyTorch {version}\n"
    script = f"""
import torch
torch.ops.load_library({str(tmp_path / "here.so")!r})
print(torch.ops.bundled_by_cli.f(torch.ones(1)).tolist())
"""
    called = run_python(script)
    assert called.stdout == "[1.0]\n"


def test_bundle_of_an_extension_is_refused(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "load", lambda *_, **__: sys)
    run = partial(cli.cli.main, ["bundle", "extension.cpp"], standalone_mode=False)
    with pytest.raises(package.UnsupportedError, match=r"extension\.cpp includes PyTorch's headers, and is no source"):
        run()
