"""The command in a process of its own, and sources for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.interpreter import run_python

PLAIN = """
OPWRIGHT("twice(x: f32[N], k: int) -> (y: f32[N], n: i64[])")
void twice(Tensor<const float, 1> x, int64_t k, Tensor<float, 1> y, Tensor<int64_t, 0> n) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = k * x[i];
  n() = k;
}
OPWRIGHT("twice_backward(grad_y: f32[N], k: int) -> (grad_x: f32[N])")
void twice_backward(Tensor<const float, 1> grad_y, int64_t k, Tensor<float, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = k * grad_y[i];
}
"""


POINTWISE = """
OPWRIGHT("curve(x: T, w: T?, m: M) -> (y: T) where M in (bool)")
template <class T, class M> T curve(T x, Optional<T> w, M m) { return m ? tanh(x) * (w ? *w : T(1)) : x; }
OPWRIGHT("steps(x: T) -> (y: T)")
template <class T>
T steps(T x) {
  T y = x;
  while (y < 100) y = y * y + 1;
  return y;
}
OPWRIGHT("kept(x: T) -> (y: f32)")
template <class T> void kept(T x, float &y) { y = value_of(x); }
OPWRIGHT("total(x: T[N], y: T[]) -> (sum: T[]) batched")
template <class T> void total(Tensor<const T, 1> x, Tensor<const T, 0> y, Tensor<T, 0> sum) { sum() = y(); }
"""


def opwright(
    *words: object, cwd: Path | None = None, without_torch: bool = False, prefix: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, behind `prefix`, with a wide terminal."""
    environment = {**os.environ, "COLUMNS": "200"}
    script = f"import sys; sys.argv[1:] = {list(map(str, words))!r}; from opwright.cli import main; main()"
    if not without_torch and not prefix:
        return run_python(script, folder=cwd, environment=environment)
    block = "import sys; sys.modules['torch'] = None; " if without_torch else ""
    return subprocess.run(
        [*prefix, sys.executable, "-c", block + script],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        env=environment,
    )
