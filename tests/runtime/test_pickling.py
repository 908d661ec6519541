"""Modules that hold operators: copied, pickled, saved, and read in another process."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import Operators
from tests.interpreter import run_python

Write = Callable[..., Path]
KERNEL = """
OPWRIGHT("raised(x: T[...]) -> (y: T[...])")
template <class T>
void raised(Tensor<const T> x, Tensor<T> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] + BY;
}
"""


def through_a_pickle(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 - our own


class Module(torch.nn.Module):
    def __init__(self, ops: Operators) -> None:
        super().__init__()
        self.ops, self.op, self.packet = ops, ops.mul, torch.ops.autograd_ops.mul
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x: torch.Tensor) -> Any:
        return self.packet(self.op(x, self.weight), self.ops.logistic(x))


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, through_a_pickle])
def test_there_is_one_of_each(grads: Operators, how: Callable[[Any], Any]) -> None:
    for thing in (grads, grads.mul, grads.mul_backward, torch.ops.autograd_ops.mul):
        assert how(thing) is thing


def test_pytorchs_own_are_as_they_were(grads: Operators) -> None:
    assert "__reduce_ex__" not in vars(torch.ops.aten.mul.Tensor)
    assert "__reduce_ex__" not in vars(type(grads.mul))


def test_modules(grads: Operators, tmp_path: Path) -> None:
    module, x = Module(grads), torch.tensor([0.5, -0.5])
    expected = x * torch.tensor([1.0, 2.0]) * x.sigmoid()
    torch.save(module, tmp_path / "module.pt")
    for other in (copy.deepcopy(module), torch.load(tmp_path / "module.pt", weights_only=False)):
        torch.testing.assert_close(other(x), expected)
        assert other.weight is not module.weight
        other(x).sum().backward()
        torch.testing.assert_close(other.weight.grad, x * x.sigmoid())
    assert list(module.state_dict()) == ["weight"]
    fresh = Module(grads)
    torch.nn.init.zeros_(fresh.weight)
    fresh.load_state_dict(module.state_dict())
    torch.testing.assert_close(fresh(x), expected)


def read(path: Path, before: str = "") -> str:
    code = f"""
import pickle, sys, torch, opwright
{before}
try:
    ops, op, packet = pickle.loads(open(sys.argv[1], "rb").read())
except opwright.SourceError as error:
    sys.exit(print(error))
assert op is ops.raised and packet.default is op
print(op(torch.ones(2)).tolist())
"""
    done = run_python(code, path)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_another_process_loads_the_sources_as_they_were_loaded(write: Write, tmp_path: Path) -> None:
    source, path = write(KERNEL, "pickled.cpp"), tmp_path / "ops.pickle"
    ops = opwright.load(source, namespace="pickled_ops", extra_cflags=["-DBY=41"])
    path.write_bytes(pickle.dumps((ops, ops.raised, torch.ops.pickled_ops.raised)))
    assert read(path) == "[42.0, 42.0]\n"
    source.rename(tmp_path / "moved.cpp")
    assert read(path) == (
        f"{source}: the operators of torch.ops.pickled_ops were pickled with this file as their source, and it isn't "
        "there\n  likely fix: put it there; or load the operators from where it is now before unpickling:\n"
        '              opwright.load(..., namespace="pickled_ops")\n'
    )
    (tmp_path / "elsewhere").mkdir()
    moved = (tmp_path / "moved.cpp").rename(tmp_path / "elsewhere" / "pickled.cpp")
    load = f"opwright.load({str(moved)!r}, namespace='pickled_ops', extra_cflags=['-DBY=1'])"
    assert read(path, load) == "[2.0, 2.0]\n"
    other = write(KERNEL, "other.cpp")
    refused = f"the namespace 'pickled_ops' is taken by {other}; {source} wants it too"
    source.symlink_to(moved)
    assert read(path, f"opwright.load({str(other)!r}, namespace='pickled_ops')").startswith(refused)
