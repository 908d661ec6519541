"""The last call can be read by another process, and its arguments are the same there."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from opwright.check.calls import last_call
from opwright.check.calls.last_call import BACKWARD, FORWARD, IDLE, CallMemory, recorded_call
from opwright.signature import DType


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> CallMemory:
    shared = CallMemory()
    monkeypatch.setattr(last_call, "_memory", [shared])
    return shared


def test_arguments_are_kept_with_layout_and_values(memory: CallMemory) -> None:
    x = torch.arange(12.0).reshape(3, 4).t()[1:, ::2].requires_grad_()
    given: dict[str, Any] = {"x": x, "absent": None, "k": 3, "s": float("inf"), "at": torch.tensor([5, 7])}
    with recorded_call(given, {"T": DType.F32}):
        assert memory.state() == (1, FORWARD)
        found = CallMemory(memory.descriptor).read()
    assert memory.state() == (1, IDLE)
    assert found is not None
    assert (found.doing, found.types, found.requires_grad) == (FORWARD, {"T": DType.F32}, True)
    assert list(found.arguments) == list(given)
    assert (found.arguments["absent"], found.arguments["k"], found.arguments["s"]) == (None, 3, float("inf"))
    for name in ("x", "at"):
        assert torch.equal(found.arguments[name], given[name].detach())
        assert found.arguments[name].stride() == given[name].stride()


def test_gradients_are_told_from_calls(memory: CallMemory) -> None:
    seen: list[int] = []
    recorded = last_call._recorded_gradient(lambda: seen.append(memory.state().doing))
    recorded()
    assert (seen, memory.state().doing) == ([BACKWARD], IDLE)


def test_large_and_fake_tensors_are_kept_without_elements(memory: CallMemory) -> None:
    with recorded_call({"x": torch.zeros(()).expand(1 << 40), "y": torch.empty(20 << 20)}, {}):
        pass
    found = memory.read()
    assert found is not None
    assert found.arguments["y"].shape == (20 << 20,)
    with torch._subclasses.FakeTensorMode(), recorded_call({"x": torch.zeros(3)}, {}):
        pass
    found = memory.read()
    assert found is not None
    assert found.arguments["x"].shape == (3,)


def test_what_cant_be_kept_is_no_call(memory: CallMemory) -> None:
    with recorded_call({"x": lambda: None}, {}):
        assert memory.state() == (1, FORWARD)
    assert memory.read() is None
