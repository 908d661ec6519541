"""Makes calls at random by the direct path and by PyTorch's own way; compares results, graphs, gradients and errors.

``python -m tests.fuzz.ways --count 1500 --seed 7``; ``--only N`` makes call N alone. Calls are those of calls.py, each
in one of the situations that may keep a call from the direct path.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from opwright.runtime.register.kernels import started_runtime

from .calls import limit_process, make
from .judge import is_plain, too_long
from .operators import Call, targets

JAGGED_SIZE = re.compile(r"\bj\d+\b")
"""PyTorch's name for the length of a jagged tensor's rows; every tensor has another number."""
Context = contextlib.AbstractContextManager[Any]


class Dispatch(TorchDispatchMode):
    """A mode that only looks."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Function(TorchFunctionMode):
    """A mode that only looks."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Subclass(torch.Tensor):
    """A subclass."""


@contextlib.contextmanager
def nested(*contexts: Callable[[], Context]) -> Any:
    with contextlib.ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context())
        yield


AUTOGRAD = torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradCPU)
SITUATIONS: dict[str, Callable[[], Context]] = {
    "nothing": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "a dispatch mode": Dispatch,
    "two dispatch modes": lambda: nested(Dispatch, Dispatch),
    "a function mode": Function,
    "both modes": lambda: nested(Function, Dispatch),
    "no function modes": torch._C.DisableTorchFunction,
    "below autograd": torch._C._AutoDispatchBelowAutograd,
    "below versions": torch._C._AutoDispatchBelowADInplaceOrView,
    "Autograd excluded": lambda: torch._C._ExcludeDispatchKeyGuard(AUTOGRAD),
    "saved tensors hooks": lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t),
    "anomaly mode": lambda: torch.autograd.detect_anomaly(check_nan=False),
    "a profiler": torch.autograd.profiler.profile,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
}  # fmt: skip
CHANGES = (
    "nothing",
    "nothing",
    "a gradient",
    "a gradient",
    "a subclass",
    "a parameter",
    "a tangent",
    "a checkpoint",
    "a thread",
)


def changed(call: Call, change: str) -> None:
    """Change the tensors among the call's arguments."""
    for name, value in call.arguments.items():
        if not isinstance(value, torch.Tensor) or not is_plain(value) or value.is_inference():
            continue
        with contextlib.suppress(RuntimeError):
            if change == "a subclass":
                call.arguments[name] = value.as_subclass(Subclass)
            if not value.is_floating_point():
                continue
            if change in ("a gradient", "a checkpoint"):
                call.arguments[name] = value.detach().clone().requires_grad_()
            if change == "a parameter":
                call.arguments[name] = torch.nn.Parameter(value.detach())


def outcome(call: Call, situation: str, change: str, seed: int) -> list[Any]:
    """Return what came of a call, in a form that can be compared: errors, results, their graphs, and gradients."""
    torch.manual_seed(seed)
    changed(call, change)
    found: list[Any] = []
    try:
        with SITUATIONS[situation](), forward_ad.dual_level() if change == "a tangent" else contextlib.nullcontext():
            results, tensors = called(call, change, found)
        wanted = [t for t in tensors if t.requires_grad and t.is_leaf and not t.is_inference()]
        ends = [t for t in results if isinstance(t, torch.Tensor) and t.requires_grad]
        if wanted and ends:
            found += torch.autograd.grad(ends, wanted, [torch.ones_like(t) for t in ends], allow_unused=True)
    except Exception as error:
        return [*found, "error", type(error).__name__, JAGGED_SIZE.sub("j", str(error))]
    return found


def called(call: Call, change: str, found: list[Any]) -> tuple[list[Any], list[torch.Tensor]]:
    """Make the call, add what came of it to `found`, and return its results and the tensors that it got."""
    if change == "a tangent":
        for name, value in call.arguments.items():
            if isinstance(value, torch.Tensor) and is_plain(value) and value.is_floating_point():
                with contextlib.suppress(RuntimeError, NotImplementedError):
                    call.arguments[name] = forward_ad.make_dual(value.detach(), torch.ones_like(value))
    run: Callable[[], Any] = partial(checkpoint, call, use_reentrant=False) if change == "a checkpoint" else call
    result = in_thread(run) if change == "a thread" else run()
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    tensors = [t for t in call.arguments.values() if isinstance(t, torch.Tensor)]
    found += [type(result).__name__, *map(described, results), *map(described, tensors)]
    if change == "a tangent":
        found += [forward_ad.unpack_dual(t).tangent for t in results if isinstance(t, torch.Tensor)]
    return results, tensors


def in_thread(run: Callable[[], Any]) -> Any:
    """Return what `run` does, called in another thread."""
    done: list[Any] = []

    def body() -> None:
        try:
            done.extend((run(), None))
        except Exception as error:
            done.extend((None, error))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if done[1] is not None:
        raise done[1]
    return done[0]


def described(value: Any) -> Any:
    """Return a value with what autograd and the dispatcher know of it."""
    if not isinstance(value, torch.Tensor):
        return value
    node = value.grad_fn
    edges = [type(edge).__name__ for edge, _ in node.next_functions] if node else []
    about = (type(value).__name__, value.requires_grad, value.is_inference(), node and node.name(), edges)
    version = None if value.is_inference() else value._version
    return [about, version, tuple(value.shape), value.layout, value.device, value.detach()]


def same(one: Any, other: Any) -> bool:
    """Return whether two descriptions are equal, tensors bit for bit."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.dtype != other.dtype or one.shape != other.shape or one.layout != other.layout:
            return False
        if not is_plain(one):
            return True
        with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
            return torch.equal(*(bits(t) for t in (one, other)))
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    both_nan = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return both_nan or bool(one == other)


def lacks_memory(found: list[Any]) -> bool:
    """Return whether an outcome is an error of the allocator's."""
    return any(isinstance(value, str) and "can't allocate memory" in value for value in found)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor's elements as bytes, in order."""
    if tensor.dtype is torch.float4_e2m1fn_x2:
        return tensor.view(torch.uint8)
    plain = tensor.resolve_neg().resolve_conj().clone(memory_format=torch.contiguous_format)
    return plain.reshape(-1).view(torch.uint8)


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    limit_process()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)  # fills what kernels leave unwritten
    found = targets()
    counts: Counter[str] = Counter()
    wrong = 0
    for number in range(options.count) if options.only is None else [options.only]:
        rng = random.Random(f"{options.seed}:{number}:ways")
        situation, change = rng.choice(list(SITUATIONS)), rng.choice(CHANGES)
        calls = [make(found, options.seed, number) for _ in range(2)]
        if too_long(calls[0]) or any(result.name == "address" for result in calls[0].target.signature.results):
            continue
        op = calls[0].target.op
        run = calls[0].target.run
        if run is None:  # one with lists, which goes through the dispatcher
            continue
        direct = outcome(calls[0], situation, change, number)
        started_runtime().call_directly(op, None)
        dispatched = outcome(calls[1], situation, change, number)
        started_runtime().call_directly(op, run)
        try:
            equal = same(direct, dispatched)
        except RuntimeError:  # too large to be compared
            counts["no memory"] += 1
            continue
        if lacks_memory(direct) or lacks_memory(dispatched):  # it depends on what else is held
            counts["no memory"] += 1
            continue
        counts["error" if "error" in direct[-3:-2] else "result"] += 1
        if not equal:
            wrong += 1
            print(
                f"call {number} of seed {options.seed} differs ({situation}; {change})\n{calls[1].describe()}\n"
                f"  directly:      {direct}\n  by PyTorch:    {dispatched}",
                flush=True,
            )
    print(f"seed {options.seed}: {counts.total()} calls of {len(found)} operators both ways; {dict(counts)}")
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
