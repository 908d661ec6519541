"""Derived gradients: forward and backward beside autograd through the composed expression, and handwritten backwards.

``python benchmarks/derived.py [--rounds 15]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

import opwright
from opwright.bench import Result, interleaved, ratio

HERE = Path(__file__).parent
Function = Callable[..., Tensor]


def _layer_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5) * w + b


def _rms_norm(x: Tensor, w: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w


def _softmax(x: Tensor) -> Tensor:
    weights = (x - x.amax(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)


def _depthwise(x: Tensor, w: Tensor) -> Tensor:
    padded = functional.pad(x, (w.shape[-1] - 1, 0))
    return functional.conv1d(padded, w.flip(-1)[:, None], groups=w.shape[0])


def _attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.mT / q.shape[1] ** 0.5
    hidden = torch.ones(scores.shape, dtype=torch.bool).triu(1)
    weights: Tensor = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    return weights @ v


def _attention_of_all(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights: Tensor = (q @ k.mT / q.shape[1] ** 0.5).softmax(-1)
    return weights @ v


def _distances(x: Tensor, y: Tensor) -> Tensor:
    return (x[:, None] - y).square().sum(-1).sqrt()


CASES: dict[str, tuple[str, Function, tuple[tuple[int, ...], ...]]] = {
    "layer norm 256x768": ("layer_norm", _layer_norm, ((256, 768), (768,), (768,))),
    "layer norm 4096x1024": ("layer_norm", _layer_norm, ((4096, 1024), (1024,), (1024,))),
    "RMS norm 256x768": ("rms_norm", _rms_norm, ((256, 768), (768,))),
    "RMS norm 4096x1024": ("rms_norm", _rms_norm, ((4096, 1024), (1024,))),
    "softmax 256x768": ("softmax", _softmax, ((256, 768),)),
    "softmax 4096x1024": ("softmax", _softmax, ((4096, 1024),)),
    "depthwise convolution 4x64x256, 4 taps": ("depthwise", _depthwise, ((4, 64, 256), (64, 4))),
    "depthwise convolution 8x256x1024, 4 taps": ("depthwise", _depthwise, ((8, 256, 1024), (256, 4))),
    "causal attention 64x32": ("attention", _attention, ((64, 32),) * 3),
    "causal attention 256x64": ("attention", _attention, ((256, 64),) * 3),
    "attention 64x32, rows independent": ("attention_of_all", _attention_of_all, ((64, 32),) * 3),
    "attention 256x64, rows independent": ("attention_of_all", _attention_of_all, ((256, 64),) * 3),
    "causal attention 64x32, products of rows": ("attention_by_rows", _attention, ((64, 32),) * 3),
    "causal attention 256x64, products of rows": ("attention_by_rows", _attention, ((256, 64),) * 3),
    "attention 64x32, rows independent, products of rows": (
        "attention_of_all_by_rows",
        _attention_of_all,
        ((64, 32),) * 3,
    ),
    "attention 256x64, rows independent, products of rows": (
        "attention_of_all_by_rows",
        _attention_of_all,
        ((256, 64),) * 3,
    ),
    "convolution 1x4x16x16, 8 of 3x3": ("conv", functional.conv2d, ((1, 4, 16, 16), (8, 4, 3, 3))),
    "convolution 4x8x32x32, 16 of 3x3": ("conv", functional.conv2d, ((4, 8, 32, 32), (16, 8, 3, 3))),
    "pairwise distances 64x64x16": ("distances", _distances, ((64, 16), (64, 16))),
    "pairwise distances 256x256x64": ("distances", _distances, ((256, 64), (256, 64))),
}


OF_ROWS = ("layer norm", "RMS norm", "softmax", "depthwise")
"""The target is 0.8 of the composed expression's time for these, and 4 times it for others; 3 times those by hand."""


def step(function: Function, args: tuple[Tensor, ...], seed: Tensor) -> Callable[[], tuple[Tensor, ...]]:
    """Return a call of forward and backward."""
    return lambda: torch.autograd.grad(function(*args), args, seed)


def measure(result: Result, ops: opwright.Operators, case: str, threads: int, rounds: int) -> None:
    """Time one case with one number of threads."""
    torch.set_num_threads(threads)
    name, composed, shapes = CASES[case]
    args = tuple(torch.rand(shape, requires_grad=True) for shape in shapes)
    seed = torch.rand_like(composed(*args))
    calls = {"composed": step(composed, args, seed), "derived": step(getattr(ops, name), args, seed)}
    if hasattr(ops, f"{name}_by_hand"):
        calls["by hand"] = step(getattr(ops, f"{name}_by_hand"), args, seed)
    for way, call in calls.items():
        for found, expected in zip(call(), calls["composed"](), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3, msg=f"{way}: {case}")
    timings = interleaved(calls, rounds=rounds, seconds=0.01)
    label = f"{case}, {threads} thread{'s' * (threads > 1)}"
    result.timings.update({f"{way}, {label}": timing for way, timing in timings.items()})
    result.ratios[f"derived / composed, {label}"] = ratio(timings["derived"], timings["composed"])
    result.targets[f"derived / composed, {label}"] = "<= 0.8" if case.startswith(OF_ROWS) else "<= 4"
    if "by hand" in timings:
        result.targets[f"derived / by hand, {label}"] = "<= 3"
        result.ratios[f"derived / by hand, {label}"] = ratio(timings["derived"], timings["by hand"])


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    result = Result("derived", "forward and backward in float32: derived gradients, composed expressions, by hand")
    ops = opwright.load(HERE / "derived.cpp")
    for case in CASES:
        for threads in (1, 2):
            measure(result, ops, case, threads, options.rounds)
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
