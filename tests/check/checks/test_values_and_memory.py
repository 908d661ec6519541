"""Values and memory: wrong operators are found and named, and their right twins pass."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright

SIGNATURE = "f(x: T[N]) -> (y: T[N]) where T in (f32, f64)"
_calls = iter(range(10**9))
_kept: list[torch.Tensor] = []

PICKY = """
#include <opwright.h>

OPWRIGHT("picky(x: f64[N], p: float) -> (y: f64[N])")
void picky(Tensor<const double, 1> x, double p, Tensor<double, 1> y) {
  OPWRIGHT_CHECK({taken}, "p is ", p);
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = x[i];
}
"""


def right(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def wrong_value(x: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.arange(len(x)) == 7, 3 * x, 2 * x)


def wrong_when_strided(x: torch.Tensor) -> torch.Tensor:
    return 2 * torch.as_strided(x, x.shape, (1,) if x.stride()[0] > 0 else (0,))


def wrong_for_one_type(x: torch.Tensor) -> torch.Tensor:
    return 2 * x if x.dtype == torch.float64 else 2 * x.half().to(x.dtype)


def nan_lost(x: torch.Tensor) -> torch.Tensor:
    return 2 * torch.where(torch.isnan(x), 0, x)


def nondeterministic(x: torch.Tensor) -> torch.Tensor:
    return 2 * x * (1 + 1e-5 * (next(_calls) % 2))


def uninitialised(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    y[1:] = 2 * x[1:]
    return y


def mutates(x: torch.Tensor) -> torch.Tensor:
    y = 2 * x
    x.fill_(0)
    return y


def aliases(x: torch.Tensor) -> torch.Tensor:
    return x


def wrong_shape(x: torch.Tensor) -> torch.Tensor:
    return 2 * x[:-1]


def fails_when_empty(x: torch.Tensor) -> torch.Tensor:
    return 2 * x + 0 * x.max()


def leaks(x: torch.Tensor) -> torch.Tensor:
    _kept.append(2 * x)
    return 2 * x


def wrong_when_large(x: torch.Tensor) -> torch.Tensor:
    return 2 * x if len(x) < 1000 else 2 * x.flip(0)


def depends_on_threads(x: torch.Tensor) -> torch.Tensor:
    return 2 * x if torch.get_num_threads() == 1 else 2 * x + 1


ZOO: list[tuple[Callable[..., Any], str, str]] = [
    (wrong_value, "agreement", "wrong-value"),
    (wrong_when_large, "agreement", "wrong-when-large"),
    (nan_lost, "agreement", "nan-lost"),
    (wrong_when_strided, "layouts", "wrong-when-strided"),
    (wrong_for_one_type, "element types", "wrong-element-type"),
    (nondeterministic, "determinism", "nondeterministic"),
    (depends_on_threads, "threads", "depends-on-threads"),
    (wrong_shape, "sizes", "wrong-shape"),
    (fails_when_empty, "sizes", "fails-when-empty"),
    (uninitialised, "written outputs", "uninitialised"),
    (mutates, "inputs untouched", "mutates-input"),
    (aliases, "inputs untouched", "aliases-input"),
    (leaks, "leaks", "leaks"),
]


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(("function", "check", "kind"), ZOO, ids=[f.__name__ for f, _, _ in ZOO])
def test_what_is_wrong_is_found_and_named(function: Callable[..., Any], check: str, kind: str) -> None:
    report = opwright.check(function, right, signature=SIGNATURE, level="quick", only=(check,))
    assert not report.ok
    assert kind in report.kinds, report


@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    [pytest.param(c, marks=pytest.mark.exhaustive if c == "leaks" else ()) for c in sorted({c for _, c, _ in ZOO})],
)
def test_the_right_twin_passes(check: str) -> None:
    report = opwright.check(right, right, signature=SIGNATURE, level="quick", only=(check,))
    assert report.ok, report
    assert report.outcomes[0].status == "passed", report


@pytest.mark.parametrize("with_threads_only", [True, False])
def test_what_isnt_so_with_one_thread_looks_like_a_race(with_threads_only: bool) -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        noise = os.urandom(1)[0] if torch.get_num_threads() > 1 or not with_threads_only else 0
        return 2 * x + noise

    (finding,) = opwright.check(noisy, signature=SIGNATURE, level="quick", only=("determinism",)).findings
    assert finding.kind == "nondeterministic"
    assert ("with one thread it isn't so: it looks like a race" in finding.message) is with_threads_only


def test_a_failing_call_is_made_small_and_can_be_pasted() -> None:
    report = opwright.check(wrong_when_large, right, signature=SIGNATURE, level="quick", only=("agreement",))
    small = opwright.check(nan_lost, right, signature=SIGNATURE, level="quick", only=("agreement",))
    assert "import torch" in report.findings[0].reproducer
    lines = small.findings[0].reproducer.splitlines()
    assert lines[-1] == "print(nan_lost(x))"
    scope: dict[str, Any] = {"nan_lost": nan_lost, "torch": torch}
    name, _, value = next(line for line in lines if line.startswith("x = ")).partition(" = ")
    made = _evaluated(value)
    assert name == "x"
    assert made.numel() <= 8
    assert bool(torch.isnan(made).any())
    assert scope


@pytest.mark.parametrize("seed", range(6))
def test_a_lost_nan_is_found_whatever_the_seed(seed: int) -> None:
    def row_maxima(x: torch.Tensor) -> torch.Tensor:
        y = x.new_full((len(x),), -torch.inf)
        for column in x.unbind(1):
            y = torch.where(column > y, column, y)
        return y

    options: dict[str, Any] = {
        "signature": "row_maxima(x: f32[M, N]) -> (y: f32[M])",
        "only": ("agreement",),
    }
    report = opwright.check(row_maxima, lambda x: x.amax(1), level="quick", seed=seed, **options)
    assert [finding.kind for finding in report.findings] == ["nan-lost"]


def _evaluated(text: str) -> torch.Tensor:
    """``torch.tensor([...], dtype=...)``, perhaps strided: read without evaluating it."""
    inside = text[text.index("[") + 1 : text.index("]")]
    numbers = [float(word.strip().removeprefix('float("').removesuffix('")')) for word in inside.split(",") if word]
    return torch.tensor(numbers)


def test_what_a_function_raises_is_a_finding() -> None:
    def raises(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("out of luck")

    report = opwright.check(raises, right, signature=SIGNATURE, level="quick", only=("agreement",))
    assert report.kinds == {"raises"}
    assert "out of luck" in report.findings[0].message


@pytest.mark.slow
def test_a_call_that_the_kernel_refuses_is_not_judged(tmp_path: Path) -> None:
    """What a kernel takes may be less than a signature can say: OPWRIGHT_CHECK says the rest."""
    source = tmp_path / "picky.cpp"
    source.write_text(PICKY.replace("{taken}", "p >= 0 && p <= 1"))
    report = opwright.check(source, only=("written outputs", "leaks", "inference mode"), level="quick")
    assert report.ok, str(report)
    assert "the kernel refused" in next(o.detail for o in report if o.check == "written outputs")


def test_a_kernel_that_refuses_everything_is_not_said_to_have_passed(tmp_path: Path) -> None:
    source = tmp_path / "refuses.cpp"
    source.write_text(PICKY.replace("{taken}", "x.numel() > 1 << 20"))
    report = opwright.check(source, only=("sizes", "inference mode"), level="quick")
    assert [o.status for o in report] == ["skipped", "skipped"]
    assert all("the kernel refused all" in o.detail for o in report)


SCALED = "f(x: T[N], a: float = 1.0, b: float = 0.5) -> (y: T[N]) where T in (f32, f16)"


@pytest.mark.parametrize(
    ("body", "told", "kind"),
    [
        (lambda x, a, b: x * abs(a) + b, "for a=-1: ", "wrong-value"),
        (lambda x, a, b: x * a + (b or 1), "for b=0: ", "wrong-value"),
        (lambda x, a, b: x * a + (b if b != 2**20 else float("nan")), "for b=1.04858e+06: ", "not-finite"),
    ],
)
def test_scalars_at_the_ends_of_their_range(body: Callable[..., Any], told: str, kind: str) -> None:
    report = opwright.check(body, lambda x, a, b: x * a + b, signature=SCALED, level="quick", only=("scalars",))
    assert report.kinds == {kind}, report
    assert report.findings[0].message.startswith(told)
    assert told[4:-2].replace("1.04858e+06", "1048576") in report.findings[0].reproducer.replace(" = ", "=")


def test_rounding_of_huge_scalars_is_no_fault() -> None:
    """What float32 can't hold beside a million is lost by the right operator as well."""

    def cancels(x: torch.Tensor, a: float, b: float) -> torch.Tensor:
        return ((x + a) - a) + b

    report = opwright.check(cancels, cancels, signature=SCALED.replace(", f16", ""), level="quick", only=("scalars",))
    assert report.ok, report
    assert "a, b at 0, -1," in report.outcomes[0].detail


@pytest.mark.slow
def test_sizes_that_do_not_fit_are_drawn_again() -> None:
    """Hypothesis begins with the simplest sizes, all of them the first: they are too large together here."""

    def outer(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x[:, None] * y

    report = opwright.check(outer, only=("sizes", "threads"), signature="outer(x: T[N], y: T[M]) -> (z: T[N, M])")
    assert report.ok, str(report)
    assert all(outcome.status == "passed" and not outcome.detail.startswith("0 ") for outcome in report)
