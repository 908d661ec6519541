"""Error rates of opwright bench: identical builds called faster or slower, and slowdowns of 5 % found.

Identical builds are copies of a source file in two folders, compiled separately. The slower kernel does 5 % more of the
same work; a separate measurement, ten times as long as a comparison, confirms that it takes 5 % longer.
``python benchmarks/bench_honesty.py [--identical 200] [--slowed 20]``.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import opwright
from opwright.bench import Comparison, Phase, Report, Result
from opwright.bench.results.measurement import Verdict
from opwright.bench.scripts import summary

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
WORK = HERE / "peer_sources/roots.cpp"
STEPS, MORE_STEPS = 400, 420
LEAST_SECONDS = 100e-6
OPPOSITE = {"faster": "slower", "slower": "faster"}


@dataclass(frozen=True)
class Case:
    """Two builds of an operator, and the sizes at which they are compared."""

    name: str
    one: Any
    other: Any
    sizes: dict[str, int]
    phase: Phase = "forward"

    def compared(self, seconds: float | None = None) -> Report:
        """Return one comparison with the default settings, but without measuring the machine's limits each time."""
        return opwright.bench(
            self.one,
            against={"other": self.other},
            axes=self.sizes,
            phases=(self.phase,),
            threads=1,
            seconds=seconds,
            rooflines=False,
        )

    def exchanged(self) -> Case:
        """Return the case with the builds exchanged."""
        return Case(self.name, self.other, self.one, self.sizes, self.phase)


def build(source: Path, name: str, folder: Path, mark: str, change: Callable[[str], str] = str) -> Any:
    """Build the operator from a copy of a source file, in a separate folder and namespace."""
    target = folder / mark / source.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    target.write_text(change(target.read_text()))
    return getattr(opwright.load(target, namespace=f"{source.stem}_{mark}"), name)


def twins(source: Path, name: str, folder: Path) -> tuple[Any, Any]:
    """Return two builds of the same source."""
    return build(source, name, folder, "one"), build(source, name, folder, "other")


def identical(folder: Path) -> list[Case]:
    """Return cases bound by call overhead, by memory and by arithmetic; with autograd and without."""
    my_op = twins(EXAMPLES / "my_op/my_op.cpp", "my_op", folder)
    softmax = twins(EXAMPLES / "softmax/softmax.cpp", "softmax", folder)
    roots = twins(WORK, "roots", folder)
    return [
        Case("my_op, 1,000 elements", *my_op, {"...": 1000}),
        Case("my_op, 250,000 elements", *my_op, {"...": 250_000}),
        Case("my_op, 10,000 elements, forward and backward", *my_op, {"...": 10_000}, "both"),
        Case("softmax, 64 rows of 1,000", *softmax, {"...": 64, "C": 1000}),
        Case("roots, 128 elements", *roots, {"N": 128}),
    ]


def slowed(folder: Path) -> Case:
    """Build a kernel, and a copy that does 5 % more of its work."""

    def more(text: str) -> str:
        found = text.replace(f"kSteps = {STEPS};", f"kSteps = {MORE_STEPS};")
        assert found != text
        return found

    return Case(
        "roots with 5 % more",
        build(WORK, "roots", folder, "base"),
        build(WORK, "roots", folder, "slowed", more),
        {"N": 128},
    )


def verdicts(cases: list[Case], count: int, result: Result, right: Verdict) -> Counter[str]:
    """Count the verdicts of `count` comparisons, with the cases in turn and the builds exchanged every other time.

    The verdict on exchanged builds is reversed. Verdicts other than `right` and "too noisy" are noted.
    """
    found: Counter[str] = Counter()
    spent: dict[str, list[float]] = {case.name: [] for case in cases}
    for number in range(count):
        case, turned = cases[number % len(cases)], bool(number // len(cases) % 2)
        report = (case.exchanged() if turned else case).compared()
        comparison = report.comparisons[0]
        said = OPPOSITE.get(comparison.verdict, comparison.verdict) if turned else comparison.verdict
        found[said] += 1
        spent[case.name].append(report.measurements[0].time.median)
        if said not in (right, "too noisy"):
            result.notes.append(f"comparison {number + 1}, {case.name}: {described(comparison)}")
        print(f"{number + 1}/{count} {case.name}: {described(comparison)}", flush=True)
    result.timings.update({name: summary(samples) for name, samples in spent.items() if len(samples) > 1})
    return found


def described(comparison: Comparison) -> str:
    """Return the verdict, and the ratio with its interval."""
    ratio = comparison.ratio
    return f"{comparison.verdict}, {ratio.median:.4f} in [{ratio.low:.4f}, {ratio.high:.4f}]"


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--identical", type=int, default=200)
    parser.add_argument("--slowed", type=int, default=20)
    options = parser.parse_args()
    torch.manual_seed(0)
    result = Result("bench_honesty", "the verdicts of opwright bench; the builds' own times")
    with tempfile.TemporaryDirectory() as folder:
        slow = slowed(Path(folder))
        true = slow.compared(seconds=10.0)
        took = true.measurements[0].time.median
        assert took >= LEAST_SECONDS, f"{took} s is too short for what is claimed"
        result.notes.append(f"the slowed kernel, measured by itself for 10 s: {described(true.comparisons[0])}")
        found = verdicts([slow], options.slowed, result, "slower")
        same = verdicts(identical(Path(folder)), options.identical, result, "same")
    false = f"identical builds called faster or slower, of {options.identical}"
    result.ratios = {
        false: same["faster"] + same["slower"],
        f"identical builds too noisy to say, of {options.identical}": same["too noisy"],
        f"a slowdown of 5 % found, of {options.slowed}": found["slower"],
        "the slowed kernel / the kernel, measured by itself": true.comparisons[0].ratio.median,
    }
    result.targets = {false: "<= 5", f"a slowdown of 5 % found, of {options.slowed}": ">= 18"}
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
