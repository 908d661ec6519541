from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import PLAIN, POINTWISE, opwright
from tests.interpreter import run_python

MY_OP = Path(__file__).parents[2] / "examples/my_op/my_op.cpp"


TWO_TYPES = """
OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y) { y[0] = x[0]; }
"""


@pytest.mark.slow
def test_build_compiles_derived_gradients_too(write: Callable[..., Path]) -> None:
    source = write(f"{POINTWISE}// {os.urandom(8).hex()}", "built_with_gradients.cpp")
    done = opwright("build", source, "--dtype", "f64", "--dtype", "bool", without_torch=True)
    assert done.returncode == 0, done.stderr
    labels = [line.split("│")[1].strip() for line in done.stdout.splitlines() if "built_with" in line]
    own = ["built_with_gradients.cpp"] * 2  # those of T, and those of T and M
    # for all gradients of curve, and for some
    assert labels == [*own, *(f"{own[0]}: {name}_backward" for name in ("curve", "curve", "steps"))]
    script = f"""
import torch, opwright
from opwright.toolchain.build import processes
processes.Processes.run = None  # nothing may be compiled any more
ops = opwright.load({str(source)!r})
x, w = (torch.ones(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
ops.curve(x, w, torch.tensor(True)).sum().backward()
torch.testing.assert_close(w.grad, x.detach().tanh())
ops.curve(x.detach(), w, torch.tensor(True)).sum().backward()
torch.testing.assert_close(w.grad, 2 * x.detach().tanh())
"""
    done = run_python(script)
    assert done.returncode == 0, done.stderr


def test_integers_have_no_gradient_to_build(write: Callable[..., Path]) -> None:
    text = f"""
OPWRIGHT("square(x: T) -> (y: T) where T in (f32, i32)")
template <class T> T square(T x) {{ return x * x; }}
// {os.urandom(8).hex()}
"""
    source = write(text, "built_for_integers.cpp")
    done = opwright("build", source, "--dtype", "f32", "--dtype", "i32", without_torch=True)
    assert done.returncode == 0, done.stderr
    rows = [line.split("│")[1:3] for line in done.stdout.splitlines() if "built_for" in line]
    own = "built_for_integers.cpp"
    assert [(label.strip(), types.strip()) for label, types in rows] == [
        (own, "T=f32"),
        (own, "T=i32"),
        (f"{own}: square_backward", "T=f32"),
    ]


@pytest.mark.slow
def test_build_compiles_every_element_type_and_load_finds_them(write: Callable[..., Path]) -> None:
    source = write(MY_OP.read_text().replace("#include <opwright.h>", ""), "built_by_cli.cpp")
    source.write_text(source.read_text() + f"// {source}\n")  # a text that is in no cache
    first = opwright("build", source, without_torch=True)
    assert first.returncode == 0, first.stderr
    rows = [line for line in first.stdout.splitlines() if "built_by_cli.cpp" in line]
    assert [kind for kind in ("T=f32", "T=f64", "T=f16", "T=bf16") if any(kind in row for row in rows)] == [
        "T=f32",
        "T=f64",
        "T=f16",
        "T=bf16",
    ]
    assert all(" ms " in row for row in rows)
    assert opwright("build", source, "--dtype", "float32").stdout.count("cached") == 1
    script = f"""
import torch, opwright
from opwright.toolchain.build import processes
processes.Processes.run = None  # nothing may be compiled any more
ops = opwright.load({str(source)!r})
for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
    assert ops.my_op(torch.ones(2, dtype=dtype), torch.ones(2, dtype=dtype)).tolist() == [2.0, 2.0]
"""
    done = run_python(script)
    assert done.returncode == 0, done.stderr


def test_build_compiles_at_once_as_many_as_may_be(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(f"{TWO_TYPES}// {tmp_path}", "at_once.cpp")
    script = tmp_path / "c++"
    # Each compilation waits until the other has begun too.
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *at_once*-o*) touch "{tmp_path}/begun-$$"; for i in $(seq 100); do '
        f'[ "$(ls {tmp_path} | grep -c begun)" -ge 2 ] && break; sleep 0.1; done;; esac\nexec c++ "$@"\n'.replace(
            "exec c++", f"exec {shutil.which('c++')}"
        )
    )
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setenv("MAX_JOBS", "2")
    done = opwright("build", source)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("│")]
    assert [row[3] for row in rows] == ["T=f32", "T=f64"]
    assert all(float(row[5]) < 9000 for row in rows)


def test_build_refuses_a_strange_number_of_jobs(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_JOBS", "many")
    done = opwright("build", write(PLAIN))
    assert done.returncode == 1
    assert "MAX_JOBS='many': expected a positive whole number" in done.stderr


def test_a_kernel_that_fails_for_one_element_type_is_told_to_list_its_types(write: Callable[..., Path]) -> None:
    body = 'static_assert(sizeof(T) > 2, "no halves"); y[0] = x[0];'
    text = (
        f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\ntemplate <class T> void f(Tensor<const T> x, Tensor<T> y) {{ {body} }}'
    )
    done = opwright("build", write(text))
    assert done.returncode == 1
    assert "for T=f16: " in done.stderr
    assert "list its types: where T in (f32, f64)" in done.stderr


PLAIN_C = """
float total(int n, const float *x) { float s = 0; while (n-- > 0) s += x[n]; return s; }
double root(double value, double *y) { *y = 0; return value; }
int work(int n, const double *x, double *y) { return 0; }
"""


TOTAL = "total(x: f32[n]) -> (sum: f32[])"


@pytest.mark.slow
def test_where_the_fix_is_known_no_other_one_is_told(write: Callable[..., Path]) -> None:
    body = "template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y) { y[0] = x[0] > 0 ? x[0] : 0; }"
    done = opwright("build", write(f'OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (f32, f16)")\n{body}'))
    assert done.returncode == 1
    assert "for T=f16: " in done.stderr
    assert "  likely fix: write ... ? x[0] : T(0)\n" in done.stderr
    assert done.stderr.count("likely fix: ") == 1


def test_build_and_info_of_plain_c(tmp_path: Path) -> None:
    source = tmp_path / "plain_cli.c"
    source.write_text(PLAIN_C)
    ops = ["--ops", TOTAL, "--ops", "work(x: f64[n]) -> (y: f64[n])"]
    done = opwright("info", source, *ops, without_torch=True)
    assert done.returncode == 0, done.stderr
    assert f"total  {source}:2" in done.stdout
    assert "work(x: f64[n]) -> (y: f64[n])" in done.stdout
    first, second = (opwright("build", source, *ops, without_torch=True) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr
    assert "plain_cli.c" in second.stdout
    assert "cached" in second.stdout
    refused = opwright("build", source, "--ops", "totals(x: f32[n]) -> (sum: f32[])")
    assert refused.returncode == 2
    assert "did you mean total?" in refused.stderr
    refused = opwright("build", source, *ops, "-l", "no_such_library", "-L", str(tmp_path))
    assert "the linker finds no library no_such_library" in refused.stderr
