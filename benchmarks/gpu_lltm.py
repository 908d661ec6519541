"""LLTM's variants for gpu.py: eager Python, C++ on ATen, torch.compile, Triton, and Opwright's three forms."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples/lltm"))  # before benchmarks/lltm.py
from lltm import LLTM, State, lltm_python  # noqa: E402 - found on the path above
from lltm_kernels import AccessorLLTM, PointerLLTM, PointwiseLLTM  # noqa: E402

EAGER = "eager Python"
OURS = {
    "opwright, pointers": PointerLLTM,
    "opwright, accessors": AccessorLLTM,
    "opwright, pointwise derived": PointwiseLLTM,
}
PEERS = ("C++ on ATen", "torch.compile", "Triton")


def modules(
    features: int, state: int, device: str, backend: str | None, peers: bool, notes: list[str]
) -> dict[str, LLTM]:
    """Return the layer in every available variant, with the same parameters; `notes` gets the missing ones and why."""
    found = {EAGER: LLTM(features, state)}
    for name in PEERS if peers else ():
        try:
            step = _peer(name, device)
        except (ImportError, OSError, RuntimeError) as error:
            notes.append(f"{name}, LLTM: {type(error).__name__}: {str(error).partition(chr(10))[0]}")
            continue
        found[name] = LLTM(features, state)
        found[name].step = step
    found.update({name: kind(features, state, backend) for name, kind in OURS.items()})
    for module in found.values():
        module.load_state_dict(found[EAGER].state_dict())
        module.to(device)
    return found


def _peer(name: str, device: str) -> Callable[..., State]:
    if name == "torch.compile":
        torch.compiler.reset()  # otherwise it would compile for dynamic sizes
        return torch.compile(lltm_python)
    if name == "Triton":
        if device != "cuda":
            raise RuntimeError("its kernels run on a GPU alone")
        return importlib.import_module("peer_sources.lltm_triton").lltm_triton
    from torch.utils.cpp_extension import load

    return load("lltm_peer", [str(HERE / "peer_sources/lltm_peer.cpp")], extra_cflags=["-O3"]).lltm


def step(module: LLTM, x: torch.Tensor, state: State, backward: bool) -> Callable[[], list[torch.Tensor]]:
    """Return a use of the layer that gives its results or, with `backward`, its gradients."""
    tensors = [x, *state, *module.parameters()]
    given = tuple(torch.ones_like(each) for each in state)

    def call() -> list[torch.Tensor]:
        if not backward:
            with torch.no_grad():
                return [*module(x, state)]
        return [*torch.autograd.grad(module(x, state), tensors, given)]

    return call


def agree(found: dict[str, LLTM], x: torch.Tensor, state: State) -> None:
    """Check that every variant computes the same, forward and backward."""
    for backward in (False, True):
        expected = step(found[EAGER], x, state, backward)()
        for name, module in found.items():
            result = step(module, x, state, backward)()
            torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5, msg=lambda t, name=name: f"{name}: {t}")


def graphed(call: Callable[[], object]) -> Callable[[], object]:
    """Capture the call as a CUDA graph, and return its replay."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay
