"""Kernels that leave their tensors, or overflow, are found in a child process; right ones pass."""

from __future__ import annotations

from pathlib import Path

import pytest

import opwright

KERNEL = """
#include <opwright.h>
OPWRIGHT("{name}(x: i32[N]) -> (y: i32[N])")
void {name}(Tensor<const int32_t, 1> x, Tensor<int32_t, 1> y) {{
  for (int64_t i = 0; i < x.numel(); ++i)
    y[i] = {body};
}}
"""
BODIES = {
    "sanitized_right": ("2 * x[i]", None),
    "sanitized_reads_beyond": ("x[i + 1]", "out-of-bounds"),
    "sanitized_overflows": ("(x[i] + 9) * 1000000000", "integer-overflow"),
}


@pytest.mark.parametrize("name", BODIES)
def test_sanitizers(name: str, tmp_path: Path) -> None:
    body, kind = BODIES[name]
    path = tmp_path / f"{name}.cpp"
    path.write_text(KERNEL.format(name=name, body=body))
    report = opwright.check(path, only=("sanitizers",))
    assert report.kinds == ({kind} if kind else set()), report
    assert report.ok is (kind is None)
    if kind:
        assert f"{path}:6" in report.findings[0].message
    else:
        assert report.outcomes[0].status == "passed", report
