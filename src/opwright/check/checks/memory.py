"""Memory: what is written, what is not, what is shared, what is kept."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from opwright.check import heap
from opwright.check.compare import identical
from opwright.check.context import Context
from opwright.check.filled import filled
from opwright.check.inputs import Arguments, Case
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding

_CALLS = 1000
_ROUND = 200
_ROUNDS = (_CALLS // _ROUND, 2 * _CALLS // _ROUND)
"""How many there are, and at most where each of them has left something behind."""
_LEAST = 8
"""Bytes a call that a leak comes to, in every round but the first."""
_LEAKED_NUMEL = 1 << 14
_SLACK = 0.2
"""The share of what one result a call would take that the process may grow by."""


@register("written outputs", group="memory")
def written_outputs(context: Context) -> Iterator[Finding]:
    """Every element of every result is written: memory that was filled with NaN beforehand shows what isn't."""
    subject = context.subject

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        torch.manual_seed(0)
        plain = subject.call(case.arguments(), case.sample.binding.types)
        torch.manual_seed(0)
        with filled():
            again = subject.call(arguments, case.sample.binding.types)
        for output, one, other in zip(subject.signature.outputs, plain, again, strict=False):
            if one.shape == other.shape and not identical(one, other):
                wrong = int((~((one == other) | ((one != one) & (other != other)))).sum())  # noqa: PLR0124 - NaN
                return Finding(
                    "uninitialised",
                    f"{output.name}: {wrong} of {one.numel()} elements are what was in memory before",
                )
        return None

    if finding := context.find(
        judge, shows="torch.use_deterministic_algorithms(True)  # fills new memory\nprint({call})"
    ):
        yield finding
    context.detail = f"{context.tried} calls on memory that was filled beforehand"


@register("inputs untouched", group="memory")
def inputs_untouched(context: Context) -> Iterator[Finding]:
    """No argument changes but those marked `!`, and no result shares memory with an argument or another result."""
    subject = context.subject
    mutated = {tensor.name for tensor in subject.signature.mutated}

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        before = {n: _storage(v).clone() for n, v in arguments.items() if isinstance(v, torch.Tensor)}
        results = subject.call(arguments, case.sample.binding.types)
        for name, copy in before.items():
            if name not in mutated and not torch.equal(_storage(arguments[name]), copy):
                return Finding("mutates-input", f"{name} has changed, and isn't marked `!` in the signature")
        return _shared(context, arguments, results)

    if finding := context.find(judge):
        yield finding
    context.detail = f"{context.tried} calls"


@register("leaks", group="memory", level="normal")
def leaks(context: Context) -> Iterator[Finding]:
    """1,000 calls, forward and backward, leave no memory behind."""
    if not Path("/proc/self/statm").exists():
        raise Skipped("the size of the process can't be read on this system")
    types = context.type_choices(floating=True)[0]
    case = next(context.examples(1, types=types, contiguous=True, sizes=(64, 32, 128), max_numel=_LEAKED_NUMEL))
    step = _step(context, case)
    for _ in range(50):
        step()
    made = max(_made(context, case), 4096)
    tensors, size = _tensors(), _resident()
    grown = _grown(context, step)
    done, taken = len(grown) * _ROUND, _resident() - size
    more = _tensors() - tensors
    context.detail = f"{done} calls: {max(taken, 0) / 1024:.0f} KiB more, {max(more, 0)} tensors more"
    if more >= done // 2:
        yield Finding("leaks", f"{done} calls left {more} tensors behind")
    elif taken > max(_SLACK * done * made, 4 << 20) or min(grown[1:]) >= _LEAST * _ROUND:
        yield Finding(
            "leaks", f"{done} calls left {max(taken, sum(grown)) / 2**20:.2f} MiB behind, "
            f"{max(taken, sum(grown)) / done:.0f} bytes a call; a call's results take {made} bytes"
        )  # fmt: skip


def _grown(context: Context, step: Callable[[], None]) -> list[int]:
    """By how much each round of calls makes the heap grow: a cache may do so for a while, a leak never ends.

    One or two that do are chance: a backward on a device, which a thread of its own runs, makes the heap larger or
    smaller by some ten KiB a round, and over many rounds by nothing.
    """
    grown: list[int] = []
    while len(grown) < _ROUNDS[1]:
        gc.collect()
        before = heap.in_use(context.device)
        for _ in range(_ROUND):
            step()
        gc.collect()
        after = heap.in_use(context.device)
        grown.append(0 if before is None or after is None else after - before)
        enough = len(grown) >= _ROUNDS[0] or (context.late and len(grown) > 1)
        if enough and min(grown[1:]) < _LEAST * _ROUND:
            break
    return grown


def _step(context: Context, case: Case) -> Callable[[], None]:
    subject = context.subject
    wanted = {tensor.name for tensor in subject.differentiable}

    def step() -> None:
        arguments = case.arguments()
        for name in wanted if not subject.mutates else ():
            value = arguments[name]
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                value.requires_grad_()
        results = [r for r in subject.call(arguments, case.sample.binding.types) if r.requires_grad]
        if results:
            torch.autograd.backward(results, [torch.ones_like(r) for r in results])

    return step


def _made(context: Context, case: Case) -> int:
    return sum(result.nbytes for result in context.subject.call(case.arguments(), case.sample.binding.types))


def _shared(context: Context, arguments: Arguments, results: tuple[torch.Tensor, ...]) -> Finding | None:
    seen = {_place(v): name for name, v in arguments.items() if isinstance(v, torch.Tensor) and v.numel()}
    for output, result in zip(context.subject.signature.outputs, results, strict=False):
        if not result.numel():
            continue
        if (place := _place(result)) in seen:
            return Finding("aliases-input", f"{output.name} shares its memory with {seen[place]}")
        seen[place] = output.name
    return None


def _storage(tensor: torch.Tensor) -> torch.Tensor:
    """All bytes of its storage, on the CPU: NaN is the same as itself."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.detach().as_strided((size,), (1,), 0).cpu().view(torch.uint8)


def _place(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _tensors() -> int:
    gc.collect()
    return sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())


def _resident() -> int:
    import resource

    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
