"""A source loaded again whose code has changed: whoever holds an operator, in whatever way, runs the new code."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from tests.interpreter import run_python

Write = Callable[..., Path]

KERNELS = """
#include "factor.h"
OPWRIGHT("scale(x: T[N]) -> (y: T[N])")
template <class T> void scale(Tensor<const T, 1> x, Tensor<T, 1> y) {{
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = {0} * factor * x[i];
}}
OPWRIGHT("scale_backward(grad_y: T[N]) -> (grad_x: T[N])")
template <class T> void scale_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x) {{
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = {0} * factor * grad_y[i];
}}
OPWRIGHT("shift(x: T[N]) -> (y: T[N])")
template <class T> void shift(Tensor<const T, 1> x, Tensor<T, 1> y) {{
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] + {0} * factor;
}}
"""
NOT_FOR_DOUBLE = KERNELS.replace(
    "shift(Tensor<const T, 1> x, Tensor<T, 1> y) {{",
    """\
shift(Tensor<const T, 1> x, Tensor<T, 1> y) {{ static_assert(sizeof(T) == 4, "not for double");""",
)


class Edited:
    """The kernels, with a number of their own and one in their header."""

    def __init__(self, write: Write, folder: Path, name: str) -> None:
        self.write, self.header, self.name = write, folder / "factor.h", f"{name}.cpp"

    def __call__(self, number: int, factor: int = 1) -> opwright.Operators:
        self.header.write_text(f"constexpr int factor = {factor};\n")
        return opwright.load(self.write(KERNELS.format(number), self.name))


@pytest.fixture
def edit(write: Write, tmp_path: Path, request: pytest.FixtureRequest) -> Edited:
    return Edited(write, tmp_path, "".join(c if c.isalnum() else "_" for c in request.node.name))


def gradient(call: Callable[[torch.Tensor], torch.Tensor]) -> float:
    x = torch.ones(1, requires_grad=True)
    return torch.autograd.grad(call(x).sum(), x)[0].item()


class Holder(torch.nn.Module):
    def __init__(self, op: Callable[..., Any]) -> None:
        super().__init__()
        self.op = op

    def forward(self, x: torch.Tensor) -> Any:
        return self.op(x) * 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("edited", ["source", "header"])
def test_everybody_runs_the_new_code(edit: Edited, edited: str, backend: str) -> None:
    torch._dynamo.reset()
    x = torch.ones(1)
    ops = edit(2)
    held, space = ops.scale, getattr(torch.ops, edit.name.removesuffix(".cpp"))
    module = Holder(held)
    callers: dict[str, Callable[[torch.Tensor], Any]] = {
        "attribute": lambda x: ops.scale(x),  # noqa: PLW0108 - looked up at each call
        "held": held,
        "packet": space.scale,
        "default": space.scale.default,
        "module": module,
        "vmap": lambda x: torch.vmap(held)(x[None])[0],
        "functional gradient": lambda x: torch.func.vjp(held, x)[0],
        "compiled module": torch.compile(Holder(held), backend=backend, fullgraph=True),
        "compiled": torch.compile(lambda x: ops.scale(x) * 1, backend=backend, fullgraph=True),
        "compiled, by packet": torch.compile(lambda x: space.scale(x) * 1, backend=backend, fullgraph=True),
    }
    traced = torch.fx.experimental.proxy_tensor.make_fx(held)(x)
    exported = torch.export.export(module, (x,)).module()
    leaf = torch.ones(1, requires_grad=True)
    recorded = {name: call(leaf).sum() for name, call in callers.items()}
    for name, call in callers.items():
        assert (call(x).item(), gradient(call)) == (2, 2), name
    assert ops.shift(x).item() == 3
    edit(5) if edited == "source" else edit(2, factor=7)
    number = 5 if edited == "source" else 14
    for name, call in callers.items():
        assert (call(x).item(), gradient(call)) == (number, number), name
        assert torch.autograd.grad(recorded[name], leaf)[0].item() == number, name
    assert traced(x).item() == exported(x).item() == number
    assert ops.shift(x).item() == 1 + number
    assert held(x.double()).item() == number  # a type that is met now


# The counter of each kind of static data, and of a thread's own: how often this build has been called.
STATIC = """
static int table[3] = {{0, 0, 0}};
namespace {{ int anonymous = 0; }}
inline int inlined = 0;
template <class T> struct Holder {{ static int member; static inline int inline_member = 0; }};
template <class T> int Holder<T>::member = 0;
inline int &in_inline_function() {{ static int local = 0; return local; }}
template <class T> int &in_template() {{ static int local = 0; return local; }}
thread_local int own = 0;
struct Constructed {{ int value; Constructed() : value(0) {{}} }};
static Constructed constructed;
OPWRIGHT("counts(x: T[N]) -> (y: i64[10]) where T in (f32, f64)")
template <class T> void counts(Tensor<const T, 1> x, Tensor<int64_t, 1> y) {{
  static int local = 0;
  int *all[] = {{&local, &table[1], &anonymous, &inlined, &Holder<T>::member, &Holder<T>::inline_member,
                &in_inline_function(), &in_template<T>(), &own, &constructed.value}};
  for (int i = 0; i < 10; ++i) y[i] = ++*all[i] + {0};
}}
"""
STATIC_C = """
static int table[3] = {{0, 0, 0}};
int shared = 0;
OPWRIGHT("counts(x: f32[N]) -> (y: i64[10])")
void counts(const float *x, int64_t N, int64_t *y) {{
  static int local = 0;
  int *all[] = {{&local, &table[1], &shared}};
  for (int i = 0; i < 3; ++i) y[i] = ++*all[i] + {0};
  for (int i = 3; i < 10; ++i) y[i] = y[0];
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("text", "suffix"), [(STATIC, "cpp"), (STATIC_C, "c")])
def test_a_new_build_has_static_data_of_its_own(write: Write, text: str, suffix: str) -> None:
    x, name = torch.ones(1), f"static_{suffix}.{suffix}"
    ops = opwright.load(write(text.format(0), name))
    for call in range(1, 4):
        assert ops.counts(x).tolist() == [call] * 10
    opwright.load(write(text.format(0) + "// a comment is an edit too\n", name))
    for call in range(1, 3):
        assert ops.counts(x).tolist() == [call] * 10
    opwright.load(write(text.format(100), name))
    assert ops.counts(x).tolist() == [101] * 10
    opwright.load(write(text.format(0), name))  # the first build, which is still there
    assert ops.counts(x).tolist() == [4] * 10


@pytest.mark.slow
def test_two_kernels_of_a_file_change_together_or_not_at_all(edit: Edited) -> None:
    x = torch.ones(1)
    ops = edit(2)
    assert (ops.scale(x).item(), ops.shift(x.double()).item()) == (2, 3)
    for wrong in ("5;", "nothing"):
        broken = KERNELS.format(5).replace("y[i] = x[i] +", f"y[i] = {wrong} x[i] +")
        with pytest.raises(opwright.CompileError):
            opwright.load(edit.write(broken, edit.name))
        assert (ops.scale(x).item(), ops.shift(x.double()).item()) == (2, 3)
    # in a type that is in use with one kernel only
    with pytest.raises(opwright.CompileError, match="not for double"):
        opwright.load(edit.write(NOT_FOR_DOUBLE.format(5), edit.name))
    assert (ops.scale(x).item(), ops.shift(x).item(), ops.shift(x.double()).item()) == (2, 3, 3)
    edit(5)
    assert (ops.scale(x).item(), ops.shift(x).item(), ops.shift(x.double()).item()) == (5, 6, 6)


@pytest.mark.slow
def test_a_type_that_was_asked_for_is_compiled_before_anything_changes(edit: Edited) -> None:
    x = torch.ones(1)
    ops = edit(2)
    assert ops.scale(x).item() == 2
    source = edit.write(NOT_FOR_DOUBLE.format(5), edit.name)
    with pytest.raises(opwright.CompileError, match="not for double"):
        opwright.load(source, dtypes=[torch.float32, torch.float64])
    assert ops.scale(x).item() == 2
    opwright.load(source, dtypes=[torch.float32])
    assert ops.scale(x).item() == 5


@pytest.mark.slow
def test_the_cache_may_go_at_any_time(tmp_path: Path) -> None:
    script = f"""
import os, pathlib, shutil, sys, torch, opwright
path, cache = pathlib.Path(sys.argv[1]), pathlib.Path(os.environ["TORCH_EXTENSIONS_DIR"])
text = {KERNELS!r}.replace('#include "factor.h"', "#include <opwright.h>\\nconstexpr int factor = 1;")
def edit(number):
    path.write_text(text.format(number))
    return opwright.load(path)
x = torch.ones(1)
ops = edit(2)
assert ops.scale(x).item() == 2
for number in (3, 2):
    shutil.rmtree(cache, ignore_errors=True)
    assert ops.shift(x).item() > 1  # mapped, though its file is gone
    assert ops.scale(x.double()).item() == ops.scale(x).item()  # compiled anew
    shutil.rmtree(cache, ignore_errors=True)
    edit(number)
    assert ops.scale(x).item() == ops.scale(x.double()).item() == number
"""
    first = f"""
import os
from opwright.runtime.register.kernels import started_runtime
cache, os.environ["TORCH_EXTENSIONS_DIR"] = os.environ["TORCH_EXTENSIONS_DIR"], {os.environ["TORCH_EXTENSIONS_DIR"]!r}
started_runtime()  # from the cache of all tests, so that it isn't built
os.environ["TORCH_EXTENSIONS_DIR"] = cache
"""
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": str(tmp_path / "cache")}
    done = run_python(first + script, tmp_path / "gone.cpp", environment=environment)
    assert done.returncode == 0, done.stderr


ROUNDS = """
import pathlib, sys, threading, torch, opwright
path, rounds, kernels = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def edit(number):
    path.write_text(kernels.format(number))
    return opwright.load(path)
ops, x = edit(2), torch.ones(3)
y = torch.ones(3, requires_grad=True)
assert ops.scale(x).tolist() == [2.0] * 3
stop, wrong, calls = threading.Event(), [], [0, 0]

def forward():
    while not stop.is_set():
        calls[0] += 1
        if (got := ops.scale(x).tolist()) not in ([2.0] * 3, [3.0] * 3):
            wrong.append(got)

def backward():
    while not stop.is_set():
        calls[1] += 1
        if (got := torch.autograd.grad(ops.scale(y).sum(), y)[0].tolist()) not in ([2.0] * 3, [3.0] * 3):
            wrong.append(got)

threads = [threading.Thread(target=forward), threading.Thread(target=backward)]
for thread in threads:
    thread.start()
for number in range(rounds):
    edit(2 + number % 2)
    expected = [2.0 + number % 2] * 3
    assert ops.scale(x).tolist() == expected
stop.set()
for thread in threads:
    thread.join()
assert not wrong, wrong[:3]
assert min(calls) > rounds, calls
"""


def stress(tmp_path: Path, rounds: int) -> None:
    (tmp_path / "factor.h").write_text("constexpr int factor = 1;\n")
    text = "#include <opwright.h>\n" + KERNELS
    words = [sys.executable, "-c", ROUNDS, str(tmp_path / "stressed.cpp"), str(rounds), text]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
def test_two_threads_call_while_versions_alternate(tmp_path: Path) -> None:
    stress(tmp_path, 10)


@pytest.mark.exhaustive
def test_two_threads_call_while_versions_alternate_often(tmp_path: Path) -> None:
    stress(tmp_path, 1000)


@pytest.mark.slow
def test_a_type_that_is_met_while_another_thread_loads(write: Write) -> None:
    """It is compiled with the text that is loaded when it comes into use, and changes with the others."""
    text = "constexpr int factor = 1;\n" + KERNELS.replace('#include "factor.h"', "")
    ops = opwright.load(write(text.format(2), "met.cpp"))
    x, types = torch.ones(1), (torch.float64, torch.float16, torch.bfloat16)
    seen: list[float] = []

    def call() -> None:
        seen.extend(ops.scale(x.to(dtype)).item() for dtype in types)

    thread = threading.Thread(target=call)
    thread.start()
    number = 2
    while thread.is_alive():
        number = 5 - number
        opwright.load(write(text.format(number), "met.cpp"))
    thread.join()
    assert len(seen) == len(types)
    assert set(seen) <= {2, 3}
    for dtype in types:
        assert ops.scale(x.to(dtype)).item() == number
