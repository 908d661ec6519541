"""torch.vmap over small operators with axes: ours, a loop of calls, and the composed PyTorch expression.

``python benchmarks/vmap.py [--rounds 31]``. A convolution of rows, ``x: (2, 8)`` and ``w: (3,)``, over a batch of 64,
on one thread. "ours" is torch.vmap of the operator: folded into an independent axis, or the kernel for one element
after the other. "loop of calls" is torch.vmap with the batching rule in Python, which calls the operator once for each
element and stacks the results. "composed" is torch.vmap of torch.nn.functional.conv1d. Of gradients by sample, "no
operator" is what PyTorch takes for the transforms and for the loss, its gradient included, around no operator at all.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.func import grad, vmap

import opwright
from opwright.bench import Result, interleaved, ratio
from opwright.bench.scripts import parse_rounds
from opwright.runtime.register.fake import fake
from opwright.runtime.register.vmap import looped

HERE = Path(__file__).parent
BATCH, TARGET = 64, ">= 10"
AROUND = "no operator"
SOURCE = HERE.parent / "tests/runtime/kernels/mapped_ops.cpp"
WORD = " independent N"


def composed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Compute the same with PyTorch's own operators."""
    return torch.nn.functional.conv1d(x[:, None], w[None, None])[:, 0]


def load(folder: Path, name: str, word: str = "", *, python: bool = False) -> Any:
    """Build the operator with a word behind its signature; `python`: with the batching rule in Python."""
    file = folder / f"{name}.cpp"
    convolution = SOURCE.read_text().partition("// Each row is")[0]
    file.write_text(convolution.replace(WORD, word))
    ops = opwright.load(file)
    for registered in ops.__loaded__.registered.values() if python else ():
        signature, mask = registered.kernel.signature, registered.kernel.signature.is_backward
        rule = looped(registered.op, signature, fake(signature, (), ellipsis=False, residuals=False, mask=mask))
        with warnings.catch_warnings(action="ignore"):
            torch.library.register_vmap(registered.op, rule)
    return ops.conv


def cases(folded: Any, element: Any, calls: Any) -> dict[str, dict[str, Callable[[], object]]]:
    """Return what is timed: of each the candidates by name."""
    x, w, several = torch.randn(BATCH, 2, 8), torch.randn(3), torch.randn(BATCH, 3)

    def each(function: Callable[..., Any], make: Callable[[Any], Callable[..., object]], *args: Any) -> Any:
        mapped = make(function)
        return lambda: mapped(*args)

    def of(make: Callable[[Any], Any], *args: Any, ours: Any = element) -> dict[str, Callable[[], object]]:
        candidates = {"ours": ours, "loop of calls": calls, "composed": composed}
        expected, *others = (make(function)(*args) for function in (composed, ours, calls))
        for other in others:
            torch.testing.assert_close(other, expected)
        return {name: each(function, make, *args) for name, function in candidates.items()}

    def squared(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        return lambda x, w: (function(x, w) ** 2).sum()

    nothing = vmap(grad(lambda x: (x**2).sum()))
    around = {AROUND: lambda: nothing(x)}
    return {
        "folded": of(lambda f: vmap(f, (0, None)), x, w, ours=folded),
        "element by element": of(lambda f: vmap(f, (0, None)), x, w),
        "an ensemble": of(lambda f: vmap(f, (None, 0)), x[0], several),
        "gradients by sample, folded": of(lambda f: vmap(grad(squared(f), 0), (0, None)), x, w, ours=folded) | around,
        "gradients by sample, reduced": of(lambda f: vmap(grad(squared(f), 1), (0, None)), x, w) | around,
        "vmap of vmap": of(lambda f: vmap(vmap(f, (0, None)), (None, 0)), x[:8], several[:8]),
    }


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 31)
    torch.set_num_threads(1)
    result = Result("vmap", f"torch.vmap over a batch of {BATCH}, one thread")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        built = [
            load(place, "vmap_folded", WORD),
            load(place, "vmap_element"),
            load(place, "vmap_calls", python=True),
        ]
        for what, candidates in cases(*built).items():
            timings = interleaved(candidates, rounds=rounds)
            result.timings.update({f"{what}, {name}": timing for name, timing in timings.items()})
            result.claim(
                f"vmap, {what}: loop of calls / ours", ratio(timings["loop of calls"], timings["ours"]), TARGET
            )
            result.claim(f"vmap, {what}: composed / ours", ratio(timings["composed"], timings["ours"]))
            if AROUND in timings:
                calls, ours, around = (timings[name].median for name in ("loop of calls", "ours", AROUND))
                result.claim(f"vmap, {what}, without PyTorch's part: loop / ours", (calls - around) / (ours - around))
                result.notes.append(f"{what}: {around / ours:.0%} of our time is PyTorch's, around no operator")
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
