"""Memory stays where it is, over calls and over loads; each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# A process warms up, then notes its resident set in KB at equal distances, garbage collected.
_MEASURE = '''
import gc, itertools, os, pathlib, sys, torch, opwright
from opwright.runtime.register.kernels import started_runtime

KERNELS = """#include <opwright.h>
OPWRIGHT("plus(x: T[N], w: T[N]?, s: float = 1.0) -> (y: T[N]; twice: T[N])")
template <class T>
void plus(Tensor<const T, 1> x, Tensor<const T, 1> w, double s, Tensor<T, 1> y, Tensor<T, 1> twice) {
  OPWRIGHT_CHECK(s >= 0, "s is ", s);
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] * s + (w ? w[i] : 0) + NUMBER;
  if (twice) for (int64_t i = 0; i < x.numel(); ++i) twice[i] = 2 * x[i];
}
OPWRIGHT("plus_backward(grad_y: T[N], s: float, twice: T[N], x: T[N]) -> (grad_x: T[N])")
template <class T>
void plus_backward(Tensor<const T, 1> grad_y, double s, Tensor<const T, 1>, Tensor<const T, 1>, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = grad_y[i] * s;
}
"""
path = pathlib.Path(sys.argv[1])
started_runtime()  # from the cache of all tests; what follows would only fill that
os.environ["TORCH_EXTENSIONS_DIR"] = str(path.parent / "cache")

def edit(number, default="1.0"):
    path.write_text(KERNELS.replace("NUMBER", str(number)).replace("1.0", default))
    return opwright.load(path)

ops = edit(1)
x, leaf = torch.ones(64), torch.ones(64, requires_grad=True)
ops.plus(leaf).sum().backward()
numbers = itertools.count(1)

def wrong():
    for call in (
        lambda: ops.plus(x[:2], x), lambda: ops.plus(x, None, -1.0), lambda: ops.plus(x.reshape(8, 8)),
        lambda: ops.plus(x.to(torch.complex64)), lambda: ops.plus(x, x.double()), lambda: ops.plus(x.to("meta"), x[:3]),
    ):
        try:
            call()
        except opwright.OpwrightError:
            continue
        raise SystemExit("no error")

def compiles_not():
    text = path.read_text()
    path.write_text(text.replace("x[i] * s", "x[i] * nothing"))
    try:
        opwright.load(path)
    except opwright.CompileError:
        path.write_text(text)
        return
    raise SystemExit("no error")

steps = {
    "forward": lambda: ops.plus(x),
    "optional": lambda: ops.plus(x, x, 2.0),
    "forward under grad": lambda: ops.plus(leaf),
    "no grad": lambda: torch.no_grad()(ops.plus)(leaf),
    "backward": lambda: ops.plus(leaf, leaf).sum().backward(),
    "autograd.grad": lambda: torch.autograd.grad(ops.plus(leaf).sum(), leaf),
    "wrong": wrong,
    "vmap": lambda: torch.vmap(ops.plus)(x.reshape(2, 32)),
    "same": lambda: opwright.load(path),
    "alternating": lambda: edit(next(numbers) % 2),
    "signatures": lambda: edit(1, ("1.0", "2.0")[next(numbers) % 2]),
    "broken": compiles_not,
    "different": lambda: edit(next(numbers)),
}
step, rounds, noted = steps[sys.argv[2]], int(sys.argv[3]), []
for index in range(rounds + rounds // 4):  # a quarter to warm up
    step()
    if index >= rounds // 4 and index % max(rounds // 20, 1) == 0:
        gc.collect()
        noted.append(int(open("/proc/self/statm").read().split()[1]) * 4)
    if index == rounds // 4:
        before = len(gc.get_objects())
print(*noted, len(gc.get_objects()) - before)
'''


def measure(tmp_path: Path, what: str, rounds: int) -> tuple[list[int], int]:
    """The resident set in KB at twenty points, and by how many objects Python's heap grew."""
    words = [sys.executable, "-W", "ignore", "-c", _MEASURE, str(tmp_path / "leaking.cpp"), what, str(rounds)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *noted, objects = map(int, done.stdout.split())
    return noted, objects


def growth(noted: list[int]) -> float:
    """KB from the first half to the second: medians, so that one page that the allocator takes or gives is nothing."""
    half = len(noted) // 2
    return sorted(noted[half:])[half // 2] - sorted(noted[:half])[half // 2]


CALLS = ["forward", "optional", "forward under grad", "no grad", "backward", "autograd.grad", "wrong", "vmap"]
LOADS = ["same", "alternating", "signatures"]
# What may come and go without being a leak: pages. A leak of 16 bytes a call is 800 KB in the full tests.
CALLS_MAY, LOADS_MAY = 200, 40  # KB
OBJECTS_MAY = 0.9  # for each round: some hundreds come and go with what the collector looks at


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("what", ["backward", "wrong"])
def test_quick_calls(tmp_path: Path, what: str) -> None:
    noted, objects = measure(tmp_path, what, 4000)
    assert growth(noted) < CALLS_MAY, noted
    assert objects < 4000 * OBJECTS_MAY


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("what", [pytest.param("same", marks=pytest.mark.exhaustive), "alternating", "signatures"])
def test_quick_loads(tmp_path: Path, what: str) -> None:
    noted, _ = measure(tmp_path, what, 60)
    assert growth(noted) < LOADS_MAY, noted


@pytest.mark.exhaustive
def test_the_measure_finds_a_leak(tmp_path: Path) -> None:
    """Different texts are mapped for ever: the growth that the others don't have is seen."""
    noted, _ = measure(tmp_path, "different", 20)
    assert growth(noted) > LOADS_MAY, noted


@pytest.mark.exhaustive
@pytest.mark.parametrize("what", CALLS)
def test_calls(tmp_path: Path, what: str) -> None:
    noted, objects = measure(tmp_path, what, 100_000)
    assert growth(noted) < CALLS_MAY, noted
    assert objects < 100_000 * OBJECTS_MAY


@pytest.mark.exhaustive
@pytest.mark.parametrize(("what", "rounds"), [*((what, 1000) for what in LOADS), ("broken", 200)])
def test_loads(tmp_path: Path, what: str, rounds: int) -> None:
    noted, objects = measure(tmp_path, what, rounds)
    assert growth(noted) < LOADS_MAY, noted
    assert objects < max(rounds, 600) * OBJECTS_MAY


@pytest.mark.exhaustive
def test_a_thousand_different_texts_cost_their_libraries(tmp_path: Path) -> None:
    """A library is never unloaded: what the README says that one costs."""
    noted, objects = measure(tmp_path, "different", 1000)
    each = (noted[-1] - noted[0]) / 950
    assert 10 < each < 60, noted  # KB
    assert objects < 20 * 1000
