"""Checks of memory: unwritten results, changed arguments, shared memory, leaks."""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from opwright.check.calls.cases import Arguments, Case
from opwright.check.calls.settings import fill_new_memory
from opwright.check.context import Context
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped
from opwright.check.values.ulp import equal_with_nan
from opwright.signature import DType

_CALLS = 1000
_ROUND = 200
_ROUNDS = (_CALLS // _ROUND, 2 * _CALLS // _ROUND)
"""Number of rounds of calls, and the maximum if each of them has left memory behind."""
_LEAST = 8
"""Bytes per call that count as a leak, in every round except the first."""
_LEAKED_NUMEL = 1 << 14
_SLACK = 0.2
"""Allowed growth of the process per call, as a share of the size of the call's results."""


class _Mallinfo(ctypes.Structure):
    """The `struct mallinfo2` of glibc (malloc.h): ten numbers of type size_t."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    )]  # fmt: skip


def allocated_bytes(device: str = "cpu") -> int | None:
    """Return the allocated bytes of the main thread's heap and of the device.

    None without glibc 2.33 or newer.
    """
    if (function := _mallinfo()) is None:
        return None
    info = function()
    return int(info.uordblks + info.hblkhd) + _device_bytes(device)


def _device_bytes(device: str) -> int:
    """Return the bytes allocated by PyTorch's allocator for the device; 0 if it can't report them."""
    memory_allocated = None if device == "cpu" else getattr(torch.get_device_module(device), "memory_allocated", None)
    return int(memory_allocated(device)) if memory_allocated else 0


@functools.cache
def _mallinfo() -> Callable[[], _Mallinfo] | None:
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if function is not None:
        function.restype, function.argtypes = _Mallinfo, []
    return function


@register("written outputs", group="memory")
def written_outputs(context: Context) -> Iterator[Finding]:
    """Require that every element of every result is written: NaN in new memory shows unwritten elements."""
    operator = context.operator

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        """Compare one call with the same call on memory that was filled beforehand."""
        torch.manual_seed(0)
        plain = operator.call(case.arguments(), case.types)
        torch.manual_seed(0)
        with fill_new_memory():
            again = operator.call(arguments, case.types)
        for output, one, other in zip(operator.signature.outputs, plain, again, strict=False):
            if one.shape == other.shape and not equal_with_nan(one, other):
                wrong = int((~((one == other) | ((one != one) & (other != other)))).sum())  # noqa: PLR0124 - NaN
                return Finding(
                    "uninitialised",
                    f"{output.name}: {wrong} of {one.numel()} elements are what was in memory before",
                )
        return None

    pairs = any(DType.F4X2 in operator.signature.element_types(tensor) for tensor in operator.signature.tensors)
    shows = "torch.use_deterministic_algorithms(True)  # fills new memory\nprint({call})"
    if finding := context.find(judge, shows=shows, contiguous=pairs):  # PyTorch can't fill a copy of 4-bit floats
        yield finding
    context.detail = f"{context.tried} calls on memory that was filled beforehand"


@register("inputs untouched", group="memory")
def inputs_untouched(context: Context) -> Iterator[Finding]:
    """Require that only arguments marked `!` change, and that no result shares memory with another tensor."""
    operator = context.operator
    mutated = {tensor.name for tensor in operator.signature.mutated}

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        before = {n: _storage(v).clone() for n, v in arguments.items() if isinstance(v, torch.Tensor)}
        results = operator.call(arguments, case.types)
        for name, copy in before.items():
            if name not in mutated and not torch.equal(_storage(arguments[name]), copy):
                return Finding("mutates-input", f"{name} has changed, and isn't marked `!` in the signature")
        return _shared_memory(context, arguments, results)

    if finding := context.find(judge):
        yield finding
    context.detail = f"{context.tried} calls"


@register("leaks", group="memory", level="normal")
def leaks(context: Context) -> Iterator[Finding]:
    """Run 1,000 calls, forward and backward: they must not leave memory behind."""
    if not Path("/proc/self/statm").exists():
        raise Skipped("the size of the process can't be read on this system")
    types = context.type_choices(floating=True)[0]
    case = next(context.examples(1, types=types, contiguous=True, sizes=(64, 32, 128), max_numel=_LEAKED_NUMEL))

    def step() -> None:
        context.operator.call_and_backward(case.arguments(), case.types)

    for _ in range(50):
        step()
    result_bytes = max(_result_bytes(context, case), 4096)
    tensors, size = _count_tensors(), _resident_bytes()
    grown = _growth_per_round(context, step)
    calls, leaked = len(grown) * _ROUND, _resident_bytes() - size
    more = _count_tensors() - tensors
    context.detail = f"{calls} calls: {max(leaked, 0) / 1024:.0f} KiB more, {max(more, 0)} tensors more"
    if more >= calls // 2:
        yield Finding("leaks", f"{calls} calls left {more} tensors behind")
    elif leaked > max(_SLACK * calls * result_bytes, 4 << 20) or min(grown[1:]) >= _LEAST * _ROUND:
        yield Finding(
            "leaks", f"{calls} calls left {max(leaked, sum(grown)) / 2**20:.2f} MiB behind, "
            f"{max(leaked, sum(grown)) / calls:.0f} bytes a call; a call's results take {result_bytes} bytes"
        )  # fmt: skip


def _growth_per_round(context: Context, step: Callable[[], None]) -> list[int]:
    """Return the growth of the heap in each round of calls: a cache grows for a while, a leak in every round.

    Growth in one or two rounds is chance: a backward on a device runs in a separate thread, and makes the heap larger
    or smaller by about ten KiB a round, which cancels over many rounds.
    """
    grown: list[int] = []
    while len(grown) < _ROUNDS[1]:
        gc.collect()
        before = allocated_bytes(context.device)
        for _ in range(_ROUND):
            step()
        gc.collect()
        after = allocated_bytes(context.device)
        grown.append(0 if before is None or after is None else after - before)
        enough = len(grown) >= _ROUNDS[0] or (context.out_of_time and len(grown) > 1)
        if enough and min(grown[1:]) < _LEAST * _ROUND:
            break
    return grown


def _result_bytes(context: Context, case: Case) -> int:
    return sum(result.nbytes for result in context.operator.call(case.arguments(), case.types))


def _shared_memory(context: Context, arguments: Arguments, results: tuple[torch.Tensor, ...]) -> Finding | None:
    seen = {_address(v): name for name, v in arguments.items() if isinstance(v, torch.Tensor) and v.numel()}
    for output, result in zip(context.operator.signature.outputs, results, strict=False):
        if not result.numel():
            continue
        if (place := _address(result)) in seen:
            return Finding("aliases-input", f"{output.name} shares its memory with {seen[place]}")
        seen[place] = output.name
    return None


def _storage(tensor: torch.Tensor) -> torch.Tensor:
    """Return all bytes of a tensor's storage, on the CPU, so that a NaN equals itself."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.detach().as_strided((size,), (1,), 0).cpu().view(torch.uint8)


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _count_tensors() -> int:
    gc.collect()
    return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())


def _resident_bytes() -> int:
    import resource

    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
