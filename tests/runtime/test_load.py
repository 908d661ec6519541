"""Loading, compiling when first met, and loading again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright import CompileError, SourceError
from tests.interpreter import run_python

Write = Callable[..., Path]
KERNEL = """
OPWRIGHT("plus(x: T[...]) -> (y: T[...])")
template <class T>
void plus(Tensor<const T> x, Tensor<T> y) {{
  static T calls = 0;
  calls += 1;
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] + {0} + 0 * calls;
}}
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CXX becomes one that notes the compilations, in a cache that knows nothing yet but the runtime."""
    import shutil

    compiler, log = shutil.which("c++"), tmp_path / "compilations"
    script = tmp_path / "noting-c++"
    script.write_text(f'#!/bin/sh\ncase "$*" in *plus*-o*) echo . >>"{log}" ;; esac\nexec "{compiler}" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    log.touch()
    return log


def test_the_operators_are_the_overloads(grads: opwright.Operators) -> None:
    assert grads.mul is torch.ops.autograd_ops.mul.default
    assert isinstance(grads.mul, torch._ops.OpOverload)
    x = torch.ones(3)
    assert torch.equal(torch.ops.autograd_ops.mul(x, x), x)
    assert dir(grads) == sorted(grads)
    assert "mul" in list(grads)
    with pytest.raises(AttributeError, match="has no operator 'nothing'"):
        grads.nothing  # noqa: B018


def test_an_element_type_is_compiled_when_it_is_met_and_once(write: Write, notes: Path) -> None:
    ops = opwright.load(write(KERNEL.format(1), "plus_met.cpp"))
    assert notes.read_text() == ""
    for _ in range(2):
        assert ops.plus(torch.zeros(2)).tolist() == [1.0, 1.0]
        assert ops.plus(torch.zeros(2, dtype=torch.float64)).tolist() == [1.0, 1.0]
    assert notes.read_text().split() == [".", "."]


def test_dtypes_are_compiled_at_once(write: Write, notes: Path) -> None:
    ops = opwright.load(write(KERNEL.format(1), "plus_now.cpp"), dtypes=[torch.float32, torch.int64])
    assert notes.read_text().split() == ["."]
    ops.plus(torch.zeros(2))
    assert notes.read_text().split() == ["."]
    with pytest.raises(CompileError):
        opwright.load(write(KERNEL.format("nothing"), "plus_broken.cpp"), dtypes=[torch.float32])


@pytest.mark.slow
def test_a_derived_gradient_is_compiled_with_the_types_that_are_asked_for(write: Write, notes: Path) -> None:
    text = 'OPWRIGHT("plus(x: T, y: T) -> (z: T)")\ntemplate <class T> T plus(T x, T y) { return x * y; }'
    x = torch.ones(3, requires_grad=True)
    opwright.load(write(text, "plus_later.cpp"))
    assert notes.read_text() == ""
    ops = opwright.load(write(text, "plus_derived.cpp"), dtypes=[torch.float32])
    assert notes.read_text().split() == [".", "."]  # forward, and all gradients
    ops.plus(x, x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2]
    assert notes.read_text().split() == [".", "."]
    ops.plus(x, x.detach()).sum().backward()  # another choice of gradients is a loop of its own
    assert notes.read_text().split() == [".", ".", "."]


def test_many_threads_meet_a_type_at_once(write: Write, notes: Path) -> None:
    ops = opwright.load(write(KERNEL.format(1), "plus_threads.cpp"))
    results: list[list[float]] = []
    barrier = threading.Barrier(8)

    def call() -> None:
        barrier.wait()
        results.append(ops.plus(torch.zeros(2)).tolist())

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[1.0, 1.0]] * 8
    assert notes.read_text().split() == ["."]


@pytest.mark.slow
def test_loading_again_runs_the_new_code(write: Write) -> None:
    x = torch.zeros(2)
    ops = opwright.load(write(KERNEL.format(1), "again.cpp"))
    assert ops.plus(x).tolist() == [1.0, 1.0]
    plus = ops.plus
    for addend in (2, 3, 1):
        assert opwright.load(write(KERNEL.format(addend), "again.cpp")) is ops
        assert plus(x).tolist() == [addend, addend]


def test_loading_again_with_an_error_keeps_the_old_code(write: Write) -> None:
    x = torch.zeros(2)
    source = write(KERNEL.format(1), "kept.cpp")
    ops = opwright.load(source)
    ops.plus(x)
    write(KERNEL.format("nothing"), "kept.cpp")
    with pytest.raises(CompileError, match="nothing"):
        opwright.load(source)
    assert ops.plus(x).tolist() == [1.0, 1.0]


def test_calls_go_on_while_the_code_is_swapped(write: Write) -> None:
    ops = opwright.load(write(KERNEL.format(1), "swapped.cpp"))
    seen: set[float] = set(ops.plus(torch.zeros(1)).tolist())
    stop = threading.Event()

    def call() -> None:
        while not stop.is_set():
            seen.update(ops.plus(torch.zeros(1)).tolist())

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for addend in (2, 1, 2, 1):
        opwright.load(write(KERNEL.format(addend), "swapped.cpp"))
    stop.set()
    for thread in threads:
        thread.join()
    assert seen == {1.0, 2.0}


def test_namespaces(write: Write) -> None:
    ops = opwright.load(write(KERNEL.format(1), "two-words.v2.cpp"))
    assert ops.plus._namespace == "two_words_v2"
    assert opwright.load(write(KERNEL.format(1), "2nd.cpp")).plus._namespace == "_2nd"
    assert opwright.load(write(KERNEL.format(1), "class.cpp")).plus._namespace == "_class"
    named = opwright.load(write(KERNEL.format(5), "any.cpp"), namespace="my.space")
    assert named.plus._namespace == "my_space"
    assert repr(named).startswith("<opwright operators 'my_space' from ")


def test_a_namespace_that_was_only_looked_at_is_free(write: Write) -> None:
    assert not hasattr(torch.ops.looked_at, "plus")
    assert opwright.load(write(KERNEL.format(1), "looked_at.cpp")).plus(torch.zeros(1)).tolist() == [1.0]


def test_several_files(write: Write) -> None:
    """A backward in a file of its own has the element types of its forward."""
    forward = """
OPWRIGHT("twice(x: T[N], k: U[]) -> (y: T[N]) where T in (f32, f64), U in (i32, i64)")
template <class T, class U>
void twice(Tensor<const T, 1> x, Tensor<const U, 0> k, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = 2 * x[i] * k();
}"""
    backward = """
OPWRIGHT("twice_backward(grad_y: T[N], k: U[]) -> (grad_x: T[N])")
template <class T, class U>
void twice_backward(Tensor<const T, 1> grad_y, Tensor<const U, 0> k, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_y.size(0); ++i) grad_x[i] = 2 * grad_y[i] * k();
}"""
    ops = opwright.load(write(forward, "twice.cpp"), write(backward, "twice_grad.cpp"))
    x = torch.ones(3, requires_grad=True)
    ops.twice(x, torch.tensor(5)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [10.0] * 3
    with pytest.raises(SourceError, match=r"twice is defined more than once: .*twice_a.cpp:3, .*twice_b.cpp:3"):
        opwright.load(write(forward, "twice_a.cpp"), write(forward, "twice_b.cpp"))


def test_flags_and_folders(write: Write, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "addend.h").write_text("constexpr int addend = FIVE;\n")
    source = write("#include <addend.h>\n" + KERNEL.format("addend"), "flagged.cpp")
    ops = opwright.load(source, extra_include_paths=[tmp_path / "shared"], extra_cflags=["-DFIVE=5"], debug=True)
    assert ops.plus(torch.zeros(1)).tolist() == [5.0]


def test_folders_with_headers_by_either_name(write: Write, tmp_path: Path) -> None:
    for name, content in (("first", "constexpr int one = 1;"), ("second", "constexpr int one = 2, two = 2;")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.h").write_text(content)
        (tmp_path / name / "both.h").write_text(f"#include <{name}.h>\n")
    source = write("#include <both.h>\n" + KERNEL.format("one"), "both_names.cpp")
    first, second = [tmp_path / "first"], [tmp_path / "second"]
    x = torch.zeros(1)
    assert opwright.load(source, include_dirs=second).plus(x).tolist() == [2.0]
    assert opwright.load(source, extra_include_paths=first, include_dirs=second).plus(x).tolist() == [1.0]
    text = source.read_text()
    ops = opwright.load_inline("both_names_inline", cpp=text, extra_include_paths=first, include_dirs=second)
    assert ops.plus(x).tolist() == [1.0]
    with pytest.raises(TypeError, match=r"load\(\) got include_dirs='a b', expected a sequence of words"):
        opwright.load(source, include_dirs="a b")


def test_c_functions_by_name(tmp_path: Path) -> None:
    source = tmp_path / "blas1.c"
    source.write_text("""#include <opwright.h>
OPWRIGHT("axpy(alpha: float, k: int, x: f32[N, M], y: f32[N, M], flip: bool = False) -> (z: f32[N, M])")
void axpy(float *z, int M, const float *restrict y, _Bool flip, int64_t N, double alpha, const float *x, int k) {
  for (int64_t i = 0; i < N * M; ++i) z[i] = (flip ? -1 : 1) * alpha * k * x[i] + y[i];
}
""")
    ops = opwright.load(source)
    x, y = torch.rand(3, 4), torch.rand(4, 3).t()
    torch.testing.assert_close(ops.axpy(0.5, -3, x, y), -1.5 * x + y)
    torch.testing.assert_close(ops.axpy(0.5, -3, x, y, flip=True), 1.5 * x + y)
    assert ops.axpy(1.0, 1, x[:0], y[:0]).shape == (0, 4)
    with pytest.raises(
        opwright.KernelError, match=r"axpy\(\): k is -2147483649, which doesn't fit the kernel's parameter of 4 "
    ):
        ops.axpy(0.5, -(2**31) - 1, x, y)
    huge = torch.empty(()).expand(0, 2**31)
    with pytest.raises(opwright.KernelError, match=r"axpy\(\): M is 2147483648, which doesn't fit the kernel's"):
        ops.axpy(0.5, 1, huge, huge)


@pytest.mark.slow
def test_the_process_ends_cleanly_with_graphs_alive() -> None:
    source = Path(__file__).parent / "kernels" / "autograd_ops.cpp"
    code = f"""
import torch, opwright, threading
ops = opwright.load({str(source)!r})
x = torch.ones(3, requires_grad=True)
kept = ops.gate(ops.mul(x, x))
threading.Thread(target=lambda: kept.sum().backward(retain_graph=True)).start()
"""
    done = run_python(code)
    assert (done.returncode, done.stderr) == (0, "")
