"""Unusual tensors, other transforms, errors in C, and calls within calls."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
import torch

from tests.legacy.extensions import Extension, FatalError
from tests.legacy.tensors import typed

pytestmark = pytest.mark.native


class Lying(torch.Tensor):
    """A subclass that answers as it likes."""

    @classmethod
    def __torch_function__(cls, *_arguments: Any, **_keywords: Any) -> Any:
        return "nothing"


class Plain(torch.Tensor):
    """A subclass that changes nothing."""


def test_unusual_tensors(probe: Extension) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    parameter = torch.nn.Parameter(torch.ones(3))
    assert probe.mean(parameter) == 1
    assert probe.mean(torch.arange(3.0).as_subclass(Plain)) == 1
    with torch.inference_mode():
        inferred = torch.ones(3)
        assert probe.mean(inferred) == 1
    assert probe.mean(inferred) == 1
    copied = torch._lazy_clone(torch.ones(3))
    probe.fill_storage(typed(copied.untyped_storage(), torch.float32), 2.0)
    assert probe.mean(copied) == 2
    with FakeTensorMode() as mode:
        fake = torch.ones(3)
        assert probe.mean(parameter) == 1
    refused = {
        "no memory": torch.ones(3, device="meta"),
        "handles its operations in Python": fake,
        "isn't an ordinary dense tensor": torch.ones(3).to_sparse(),
        "of torch.complex64 on cpu, has an element type": torch.ones(3, dtype=torch.complex64),
        "of torch.float16 on cpu, has an element type": torch.ones(3, dtype=torch.float16),
        "negated lazily": torch.ones(3, dtype=torch.complex64).conj().imag,
        "an integer is required": torch.ones(3).as_subclass(Lying),
    }
    for text, tensor in refused.items():
        with pytest.raises(TypeError, match=re.escape(text)):
            probe.mean(tensor)
    with pytest.raises(TypeError, match=r"one of torch\.func's"):
        torch.vmap(probe.mean)(torch.ones(2, 3))
    del mode


@pytest.mark.slow
def test_inside_other_transforms(probe: Extension) -> None:
    """The library's own operations are hidden from modes; `compile` breaks the graph at a call."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    a, out = torch.ones(2, 3).t(), torch.empty(6)
    mode: Any = Mode
    with mode(), torch.autocast("cpu"):
        probe.add_forward(a, a, out)
    assert not seen
    assert torch.equal(out, torch.full((3, 2), 2.0))
    leaf = torch.ones(2, 3, requires_grad=True)
    probe.add_forward(leaf, leaf, out)
    assert not out.requires_grad

    @torch.compile(backend="eager")
    def compiled(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty(0)
        probe.add_forward(x * 2, x, y)
        return y + 1

    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 4.0))


@pytest.mark.slow
def test_errors_of_c(probe: Extension) -> None:
    t = torch.ones(3)
    with pytest.raises(FatalError, match=r"^wrong \d at \S*:\d+$"):
        probe.error(b"wrong 1")
    with pytest.raises(FatalError, match="\ufffd at"):
        probe.error(b"\xff")
    with pytest.raises(FatalError, match=r"^invalid argument 1: expected 2D tensor at \S*:\d+$"):
        probe.check_dimensions(t)
    with pytest.raises(FatalError, match=r"^Assertion `value == 1' failed\. value is 3 at \S*:\d+$"):
        probe.assertion(3)
    with pytest.raises(FatalError, match=r"^shape '\[1000\]' is invalid for input of size 3$"):
        probe.error_in_aten(t)
    with pytest.raises(FatalError, match="after 3 elements"):
        probe.error_in_place(small := torch.ones(1))
    assert small.tolist() == [5, 5, 5]
    assert not issubclass(FatalError, RuntimeError)
    long = "x" * 100_000
    with pytest.raises(FatalError, match=long):
        probe.error(long.encode())


def test_thousands_of_errors(probe: Extension) -> None:
    """Neither the recursion count nor a reference to an argument is lost on the way."""
    text, t = b"again and again", torch.ones(3)
    before = sys.getrefcount(text), sys.getrefcount(t)
    for _ in range(3000):
        with pytest.raises(FatalError):
            probe.error(text)
        with pytest.raises(FatalError):
            probe.check_dimensions(t)
        with pytest.raises(TypeError):
            probe.add_forward(t, t, t.double())

    def depth(n: int) -> int:
        return n if n == 0 else 1 + depth(n - 1)

    assert depth(sys.getrecursionlimit() // 2) == sys.getrecursionlimit() // 2
    assert (sys.getrefcount(text), sys.getrefcount(t)) == before


def test_calls_within_calls(probe: Extension) -> None:
    t = torch.arange(3.0)

    def inner(n: int) -> int:
        with pytest.raises(FatalError):
            probe.check_dimensions(t)
        return int(probe.mean(t)) + n

    callback = probe.ffi.callback("int(int)", inner)
    assert probe.calls_back(callback, 3) == 4
    with pytest.raises(FatalError, match="after the callback"):
        probe.error_after_callback(callback)
