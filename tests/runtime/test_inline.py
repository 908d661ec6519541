"""Source text in the place of files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opwright
from opwright import CompileError, OpwrightError, SourceError
from tests.interpreter import run_python

TWICE = """
OPWRIGHT("twice(x: T[N]) -> (y: T[N])")
template <class T>
void twice(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = FACTOR * x[i];
}
"""


def times(factor: str) -> str:
    return TWICE.replace("FACTOR", factor)


def test_cpp_and_an_edit_of_it() -> None:
    ops = opwright.load_inline("inline_cpp", cpp=times("2"))
    assert ops.twice is torch.ops.inline_cpp.twice.default
    x = torch.ones(2)
    assert ops.twice(x).tolist() == [2, 2]
    assert opwright.load_inline("inline_cpp", cpp=times("3")) is ops
    assert ops.twice(x).tolist() == [3, 3]
    held = ops.twice
    assert opwright.load_inline("inline_cpp", cpp=times("3").replace("(y: T[N])", "(y: T[1*N])")) is ops
    assert ops.twice(x).tolist() == [3, 3]
    with pytest.raises(OpwrightError, match="the signature has changed since this callable was taken"):
        held(x)
    with pytest.raises(CompileError, match="nothing"):
        opwright.load_inline("inline_cpp", cpp=times("nothing"))
    assert ops.twice(x).tolist() == [3, 3]


def test_errors_point_at_the_line_of_the_text_which_is_there_to_be_seen() -> None:
    text = times("\nnothing")
    ops = opwright.load_inline("inline_error", cpp=text)
    with pytest.raises(CompileError) as caught:
        ops.twice(torch.ones(1))
    place, _, _ = str(caught.value).partition(": error: ")
    path, line, _ = place.rsplit(":", 2)
    assert path.endswith("/inline_error.cpp")
    assert text.splitlines()[int(line) - 1].startswith("nothing")
    assert Path(path).read_text() == text
    assert Path(path).stat().st_mode & 0o077 == 0 or Path(path).parent.stat().st_mode & 0o077 == 0


def test_c_with_marks_and_without() -> None:
    ops = opwright.load_inline(
        "inline_c",
        c=[
            '#define _GNU_SOURCE\n#include <math.h>\nOPWRIGHT("halved(x: f64[n]) -> (y: f64[n])")',
            "void halved(int n, const double *x, double *y) { while (n-- > 0) y[n] = x[n] * M_PIl / (2 * M_PIl); }",
            "double total(const double *x, int n) { double s = 0; while (n-- > 0) s += x[n]; return s; }",
        ],
        ops="total(x: f64[n]) -> (s: f64[])",
    )
    x = torch.randn(5, dtype=torch.float64)
    torch.testing.assert_close(ops.halved(x), x / 2)
    torch.testing.assert_close(ops.total(x), x.sum())


def test_cpp_functions_without_marks_by_position_and_by_name() -> None:
    ops = opwright.load_inline(
        "inline_unmarked",
        cpp="""
template <class Real> void negated(Tensor<const Real> x, Tensor<Real> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = -x[i];
}
namespace mine { static float largest(float *values, int n) {
  float found = values[0];
  for (int i = 1; i < n; ++i) if (values[i] > found) found = values[i];
  return found;
} }
extern "C" int filled(double value, double *y, size_t n) { for (size_t i = 0; i < n; ++i) y[i] = value; return n == 3; }
""",
        ops={
            "negated": "negated(x: T[...]) -> (y: T[...])",
            "mine::largest": "largest(values: f32[n]) -> (found: f32[])",
            "filled": "fill(y: f64[n]!, value: float)",
        },
    )
    x = torch.randn(7)
    assert torch.equal(ops.negated(x.half()), -x.half())
    assert ops.largest(x).item() == x.max().item()
    y = torch.zeros(2, dtype=torch.float64)
    ops.fill(y, 2.5)
    assert y.tolist() == [2.5, 2.5]
    with pytest.raises(opwright.KernelError, match="the C function filled returned 1, which is taken for a failure"):
        ops.fill(torch.zeros(3, dtype=torch.float64), 2.5)


def test_cpp_and_c_together_in_another_namespace() -> None:
    ops = opwright.load_inline(
        "inline_both",
        cpp=times("5"),
        c="float first(const float *x, int n) { return x[0]; }",
        ops="first(x: f32[n]) -> (y: f32[])",
        namespace="another_space",
        dtypes=[torch.float32],
    )
    assert sorted(ops) == ["first", "twice"]
    assert ops.first(ops.twice(torch.ones(2))).item() == 5
    assert ops.first._namespace == "another_space"


def test_what_it_is_given() -> None:
    with pytest.raises(SourceError) as caught:
        opwright.load_inline("nothing_inline")
    said = "load_inline('nothing_inline') got no text; expected cpp=..., c=... or cuda=..., a string each"
    assert str(caught.value) == said
    with pytest.raises(TypeError, match=r"load_inline\(\) got extra_cflags='-O1', expected a sequence of words"):
        opwright.load_inline("nothing_inline", cpp="int x;", extra_cflags="-O1")
    with pytest.raises(SourceError, match=r"load_inline\('x'\): the text holds '\\ud800', which is no character"):
        opwright.load_inline("x", cpp="\ud800")
    with pytest.raises(SourceError, match="there is no OPWRIGHT"):
        opwright.load_inline("nothing_inline", cpp="int x;")


def test_a_name_of_any_kind() -> None:
    ops = opwright.load_inline("../odd name/é", cpp=times("2"))
    assert ops.twice(torch.ones(1)).item() == 2
    assert ops.twice._namespace.isidentifier()


CHILD = """
import opwright, torch
from opwright.toolchain.build.processes import Processes
def started(*arguments):
    raise AssertionError(f"a process was started: {arguments}")
if WARM:
    Processes._start = started
ops = opwright.load_inline("inline_warm", cpp=TEXT)
assert ops.twice(torch.ones(1)).item() == 2
libc = opwright.load(headers=["stdlib.h"], ops={"labs(j)": "magnitude(j: int) -> (value: i64[])"})
assert libc.magnitude(-3).item() == 3
"""


@pytest.mark.slow
def test_another_process_compiles_nothing() -> None:
    """Not even the preprocessor runs again for an installed header."""
    for warm in (False, True):
        code = CHILD.replace("WARM", str(warm)).replace("TEXT", repr(times("2")))
        done = run_python(code)
        assert done.returncode == 0, done.stderr
