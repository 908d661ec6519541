"""Random operators: what they draw is distributed as what the reference draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch

from opwright.check.context import Context
from opwright.check.inputs import Arguments, Case, all_copied
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.results import referring

_CALLS = 400
"""How often a call is repeated."""
_DEVIATIONS = 6.0
"""How many standard errors two means may be apart: by chance they are once in 500 million."""
_SIZES = (8, 5, 17, 3)
_MOST = 64

Draws = Callable[[], Sequence[torch.Tensor]]


@register("distribution", group="values")
@referring
def distribution(context: Context) -> Iterator[Finding]:
    """A random operator's results have the reference's means, squares, and products of neighbours."""
    subject = context.subject
    if not subject.signature.generator:
        raise Skipped("it isn't random")
    if subject.reference is None:
        raise Skipped("no reference was given")

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        torch.manual_seed(case.seed)
        got = _moments(lambda: subject.call(all_copied(arguments), case.sample.binding.types))
        expected = _moments(lambda: subject.referred(all_copied(arguments)) or ())
        return _compared([output.name for output in subject.signature.outputs], got, expected)

    types = context.type_choices(floating=True)[0]
    if found := context.find(judge, types=types, sizes=_SIZES, max_numel=_MOST, examples=12):
        yield found
    context.detail = f"{context.tried} calls, each drawn {_CALLS} times"


def _moments(draw: Draws) -> list[dict[str, tuple[torch.Tensor, torch.Tensor]]]:
    """For each result: its moments' means and the squares of their standard errors, element by element."""
    draws = [[result.detach().to(torch.float64).flatten() for result in draw()] for _ in range(_CALLS)]
    found = []
    for each in zip(*draws, strict=True):
        values = torch.stack(each)
        moments = {"mean": values, "mean square": values**2, "mean product of neighbours": values * values.roll(1, 1)}
        found.append(
            {name: (m.mean(0), m.var(0) / _CALLS + (m.abs().amax(0) / _CALLS) ** 2) for name, m in moments.items()}
        )
    return found


def _compared(
    names: Sequence[str],
    got: Sequence[dict[str, tuple[torch.Tensor, torch.Tensor]]],
    expected: Sequence[dict[str, tuple[torch.Tensor, torch.Tensor]]],
) -> Finding | None:
    for name, ours, theirs in zip(names, got, expected, strict=False):
        for moment, (mean, error) in ours.items():
            other, its_error = theirs[moment]
            off = (mean - other).abs() / (error + its_error).sqrt().clamp_min(1e-12)
            if off.numel() and float(off.max()) > _DEVIATIONS:
                at = int(off.argmax())
                return Finding(
                    "wrong-distribution",
                    f"{name}: the {moment} of element {at} over {_CALLS} draws is {float(mean[at]):.4g}, the "
                    f"reference's is {float(other[at]):.4g}, {float(off[at]):.0f} standard errors away",
                )
    return None
