"""A run in a process of its own, built with sanitizers: ``python -m opwright.check.child OPERATOR SEED COUNT THREADS``.

What the operators are made of comes as the standard input (`opwright.check.handover`). Whatever a sanitizer says, or a
crash, ends that process and not the one that checks.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from opwright.errors import KernelError

if TYPE_CHECKING:
    import torch

    from opwright.check.inputs import Case
    from opwright.check.subject import Subject
    from opwright.signature import DType

_SECONDS = 60.0
_REPEATED = 4
"""Calls of each of several threads: at the first one others may not have begun."""
_SIZES = (33, 257, 64, 1031, 2)
"""For several threads: enough that loops are divided, and little enough for a sanitizer that is ten times slower."""
_NUMEL = 1 << 14


def main(operator: str, seed: int, count: int, threads: int) -> None:
    """Call the operator, forward and backward, on drawn calls; with `threads`, from so many threads at once.

    Written is a line before each call, and at last how many the kernel took.
    """
    import torch

    from opwright.check.context import DRAWN, Context, is_refusal
    from opwright.check.handover import taken
    from opwright.check.targets import subjects

    sources = sys.stdin.read()
    subject = next(each for each in subjects(taken(sources)) if each.name == operator)
    drawing = Context(subject, seed=seed)
    if threads:
        torch.set_num_threads(threads)
    options: dict[str, Any] = {"sizes": _SIZES, "max_numel": _NUMEL} if threads else {}
    drawn = list(islice(drawing.drawn(**options), DRAWN * count))
    taken(sources, _types(drawn[:count]))  # compiled now: threads that wait for the compiler don't begin together
    calling = Context(subject, seed=seed, seconds=_SECONDS)  # compilers take their own time
    done = 0
    for case in drawn:
        if done == count or calling.late:
            break
        _tell(case)
        try:
            _called(subject, case, threads)
            done += 1
        except KernelError as error:
            if not is_refusal(error):
                raise
    sys.stdout.write(f"{done}\n")


def _types(drawn: Sequence[Case]) -> set[torch.dtype]:
    return {made.dtype for case in drawn for made in case.arguments().values() if hasattr(made, "dtype")}


def _tell(case: Case) -> None:
    """The last line says which call it was."""
    shapes = {name: list(made.shape) for name, made in case.sample.tensors.items() if made is not None}
    sys.stdout.write(json.dumps(shapes) + "\n")
    sys.stdout.flush()


def _called(subject: Subject, case: Case, threads: int) -> None:
    arguments, types = case.arguments(), case.sample.binding.types
    if threads:  # also the first call of all: what it makes ready is a race where nothing guards it
        _together(subject, [case.arguments() if subject.mutates else arguments for _ in range(threads)], types)
    else:
        _step(subject, arguments, types)


def _step(subject: Subject, arguments: Mapping[str, Any], types: Mapping[str, DType]) -> None:
    """One call, forward and backward."""
    import torch

    wanted = set() if subject.mutates else {tensor.name for tensor in subject.differentiable}
    given = {name: _leaf(value) if name in wanted else value for name, value in arguments.items()}
    roots = [made for made in subject.call(given, types) if made.requires_grad]
    if roots:
        torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])


def _leaf(value: Any) -> Any:
    """The same memory with a gradient of its own."""
    import torch

    is_floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.detach().requires_grad_() if is_floating else value


def _together(subject: Subject, arguments: list[Mapping[str, Any]], types: Mapping[str, DType]) -> None:
    """The call from several threads at once, each with its own of `arguments`."""
    raised: list[BaseException] = []
    begin = threading.Barrier(len(arguments))

    def run(given: Mapping[str, Any]) -> None:
        try:
            begin.wait()
            for _ in range(_REPEATED):
                _step(subject, given, types)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            raised.append(error)

    threads = [threading.Thread(target=run, args=(given,)) for given in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
