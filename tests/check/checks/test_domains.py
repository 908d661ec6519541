"""A kernel that needs its domains passes all checks with them; values outside are tried, and must be refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opwright

KERNEL = """
#include <opwright.h>

OPWRIGHT("grouped(x: T[C] in (0, 1], groups: int in [1, C], at: i64[] in [0, groups)) -> (y: T[C])"
         " where T in (f32, f64)")
template <class T>
void grouped(Tensor<const T, 1> x, int64_t groups, Tensor<const int64_t, 0> at, Tensor<T, 1> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = log(x[i]) * T(i % groups == at() ? 2 : x.numel() / groups);
}
"""


def grouped(x: torch.Tensor, groups: int, at: torch.Tensor) -> torch.Tensor:
    if (x <= 0).any() or (x > 1).any() or not 1 <= groups <= len(x) or not 0 <= at < groups:
        raise ValueError("outside the domains")
    i = torch.arange(len(x))
    return torch.log(x) * torch.where(i % groups == at, 2, len(x) // groups)


@pytest.mark.slow
def test_a_kernel_that_divides_by_what_its_domain_excludes(tmp_path: Path) -> None:
    (tmp_path / "grouped.cpp").write_text(KERNEL)
    report = opwright.check(tmp_path / "grouped.cpp", grouped, level="quick", only=("calls", "values"))
    assert report.ok, str(report)
    assert not any("reference raised" in outcome.detail for outcome in report), str(report)


def test_one_axis_alone_is_empty() -> None:
    def means(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x.mean(1) + w.sum()

    def sums(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x.sum(1) / max(x.shape[1], 1) + w.sum()

    signature = "rows(x: f64[M, N], w: f64[K]) -> (y: f64[M])"
    assert opwright.check(means, means, signature=signature, only=("empty axes",)).ok
    (finding,) = opwright.check(sums, means, signature=signature, only=("empty axes",)).findings
    assert finding.kind == "fails-when-empty"
    assert finding.message.startswith("where N alone is 0: ")
