"""What PyTorch's profiler shows of operators, and of what a first call waits for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import opwright


@pytest.mark.slow
def test_operators_are_named_both_ways_and_so_is_what_is_built(write: Callable[..., Path]) -> None:
    path = write(
        'OPWRIGHT("g(x: T) -> (y: T)")\ntemplate <class T> T g(T x) { return x * x; }\n'
        'OPWRIGHT("h(x: f32[N]) -> (y: f32[N])")\nvoid h(Tensor<const float, 1> x, Tensor<float, 1> y) {}',
        "profiled.cpp",
    )
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        ops = opwright.load(path)
        ops.g(torch.ones(2, requires_grad=True)).sum().backward()
        ops.h(torch.ones(2))
    events = {event.name: event.time_range for event in recorded.events()}
    outer = {
        "opwright::load profiled": None,
        "profiled::g": None,
        "profiled::g_backward": "GBackward",
        "profiled::h": None,
        "opwright::build g [T=f32] cpu": "profiled::g",
        "opwright::build g_backward [T=f32] cpu wanted=1": "profiled::g_backward",
        "opwright::build h [] cpu": "profiled::h",
    }
    for name, around in outer.items():
        assert name in events
        if around:
            assert events[around].start <= events[name].start <= events[name].end <= events[around].end
