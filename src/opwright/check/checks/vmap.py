"""torch.vmap, with every way of batching some of the arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch

from opwright.check.compare import difference
from opwright.check.eager import Eager
from opwright.check.feature import feature
from opwright.check.inputs import Case, positional
from opwright.check.registry import Skipped
from opwright.check.report import Finding
from opwright.check.reproducer import reproducer
from opwright.check.returned import as_tuple

_BATCH = 3

Dims = tuple[int | None, ...]


@feature("vmap", share=0.5)
def vmap(eager: Eager) -> Iterator[Finding]:
    """torch.vmap gives what a loop over the batch gives: of all tensors, of each alone, along the last axis."""
    subject, signature = eager.subject, eager.signature
    if not signature.tensors or signature.data_axes or signature.generator or subject.mutates:
        raise Skipped("it takes no tensor, is random, overwrites an argument, or decides a length")
    batches = 0
    for case in eager.cases(3):
        for dims in _ways(eager, case):
            batches += 1
            if found := _judged(eager, case, dims):
                yield found
                return
    eager.context.detail = f"{batches} batches of {_BATCH}"


def _ways(eager: Eager, case: Case) -> Iterator[Dims]:
    """Which arguments have a batch axis, and where."""
    call = case.arguments()
    places = [i for i, p in enumerate(eager.signature.inputs) if isinstance(call.get(p.name), torch.Tensor)]
    count = len(eager.signature.inputs)
    yield tuple(0 if i in places else None for i in range(count))
    if len(places) > 1:
        yield from (tuple(0 if i == place else None for i in range(count)) for place in places)
    yield tuple(-1 if i in places else None for i in range(count))


def _judged(eager: Eager, case: Case, dims: Dims) -> Finding | None:
    subject, signature = eager.subject, eager.signature
    first, *others = (replace(case, seed=seed).arguments() for seed in range(_BATCH))
    where = {p.name: dim for p, dim in zip(signature.inputs, dims, strict=True) if dim is not None}
    calls = [first, *({**first, **{name: other[name] for name in where}} for other in others)]
    batch = {**first, **{name: torch.stack([call[name] for call in calls], dim) for name, dim in where.items()}}
    got = torch.vmap(subject.function, in_dims=dims)(*positional(signature, batch))
    each = zip(*[subject.call(call, case.sample.binding.types) for call in calls], strict=True)
    for output, one, expected in zip(signature.outputs, as_tuple(got), each, strict=True):
        if found := difference(one, torch.stack(expected)):
            text = f"{output.name}, in_dims={dims}: {found}"
            return Finding("wrong-under-vmap", text, reproducer(subject, batch, _vmapped(dims)))
    return None


def _vmapped(dims: Dims) -> str:
    """The reproducer's last statement: `{call}` itself would take no batch."""
    return f"print(torch.vmap({{function}}, in_dims={dims})({{arguments}}))"
