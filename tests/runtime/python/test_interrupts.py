"""Ctrl-C while a kernel runs: the call raises it, and no kernel goes on without what it asked for."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]
Script = Callable[..., subprocess.CompletedProcess[str]]

# Each kernel is interrupted by itself, then asks for a service: that is where Python sees the signal.
KERNELS = """
#include <signal.h>
OPWRIGHT("loops(x: f32[N]) -> (y: f32[N])")
void loops(Tensor<const float, 1> x, Tensor<float, 1> y) {
  if (x[0] > 0) raise(SIGINT);
  parallel_for(x.numel(), 1, [&](int64_t i) { y[i] = x[i] + 1; });
}
OPWRIGHT("multiplies(x: f32[N, N]) -> (y: f32[N, N])")
void multiplies(Tensor<const float, 2> x, Tensor<float, 2> y) {
  if (x.flat(0) > 0) raise(SIGINT);
  const int64_t n = x.size(0);
  gemm(false, false, n, n, n, 1.0, x.data(), n, x.data(), n, 0.0, y.data(), n);
}
OPWRIGHT("allocates(x: f32[N]) -> (y: f32[N])")
void allocates(Tensor<const float, 1> x, Tensor<float, 1> y) {
  if (x[0] > 0) raise(SIGINT);
  Workspace<float> w(x.numel());
  for (int64_t i = 0; i < x.numel(); ++i) w[i] = x[i], y[i] = w[i];
}
OPWRIGHT("decides(x: f32[N]) -> (y: f32[?K])")
void decides(Tensor<const float, 1> x, Resizable<float, 1> y) {
  if (x[0] > 0) raise(SIGINT);
  auto out = y.resize(x.numel());
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i];
}
OPWRIGHT("fails(x: f32[N]) -> (y: f32[N])")
void fails(Tensor<const float, 1> x, Tensor<float, 1> y) {
  if (x[0] > 0) raise(SIGINT);
  OPWRIGHT_CHECK(false, "bad");
}
"""

SCRIPT = """
import signal, sys, torch, opwright
sys.unraisablehook = lambda args: None  # what ctypes says of a callback that was cut short
class Alarm(Exception): pass
def handler(*_):
    raise {error}
{install}
before = signal.getsignal(signal.SIGINT)
ops = opwright.load({source!r})
for name in ("loops", "multiplies", "allocates", "decides", "fails"):
    for value in (0.0, 1.0, 0.0):
        shape = (3, 3) if name == "multiplies" else (3,)
        try:
            print(name, getattr(ops, name)(torch.full(shape, value)).flatten()[0].item())
        except (KeyboardInterrupt, Alarm, opwright.KernelError) as error:
            print(name, type(error).__name__)
print("end" if signal.getsignal(signal.SIGINT) is before else "another handler")
"""


@pytest.mark.slow
@pytest.mark.parametrize("installed", [True, False])
def test_an_interrupt_while_a_kernel_runs(installed: bool, write: Write, script: Script) -> None:
    source = write(KERNELS, "interrupted.cpp")
    install = "signal.signal(signal.SIGINT, handler)" if installed else ""
    done = script(SCRIPT.format(source=str(source), error="Alarm", install=install))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "end"
    without = {"loops": "1.0", "multiplies": "0.0", "allocates": "0.0", "decides": "0.0", "fails": "KernelError"}
    for name, ordinary in without.items():
        first, interrupted, again = (line.split()[1] for line in lines if line.startswith(f"{name} "))
        assert first == again == ordinary
        assert interrupted == ("Alarm" if installed and name == "decides" else "KeyboardInterrupt")


@pytest.mark.slow
def test_an_interrupt_while_nothing_is_asked_for(write: Write, script: Script) -> None:
    kernel = """
#include <signal.h>
OPWRIGHT("plain(x: f32[N]) -> (y: f32[N])")
void plain(Tensor<const float, 1> x, Tensor<float, 1> y) { raise(SIGINT); y[0] = 1; }
"""
    text = f"""
import torch, opwright
ops = opwright.load({str(write(kernel, "plain.cpp"))!r})
try:
    ops.plain(torch.zeros(1))
except KeyboardInterrupt:
    print("interrupted")
"""
    assert script(text).stdout == "interrupted\n"
