"""Overloads that the author names: PyTorch's packet, its overloads, and what follows for all of them."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import profile
from torch.utils.flop_counter import FlopCounterMode

import opwright
from opwright import ArgumentError, Operators, OpwrightError, SignatureError, SourceError, UnsupportedError
from opwright.runtime.torch_internals import OpOverload, OpOverloadPacket
from tests.interpreter import run_python
from tests.messages.raising import failing

Leaf = Callable[..., torch.Tensor]
Write = Callable[..., Path]
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own
SOURCE = Path(__file__).parent / "kernels" / "overload_ops.cpp"


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(SOURCE)


def test_the_operator_is_pytorchs_packet_and_its_attributes_are_the_overloads(ops: Operators) -> None:
    packet: Any = torch.ops.overload_ops.scale
    assert ops.scale is packet
    assert isinstance(ops.scale, OpOverloadPacket)
    assert isinstance(ops.scale.number, OpOverload)
    assert packet.overloads() == ["number", "tensor"]
    assert ops.mix.overloads() == ["one", "default"]
    assert ops.mix.default is torch.ops.overload_ops.mix.default
    assert list(ops) == ["scale", "scale_backward", "mix", "mix_backward", "mix_backward_backward", "fill"]
    assert isinstance(ops.fill, OpOverloadPacket)  # also if there is one


def test_the_hash_is_in_the_name_alone(ops: Operators) -> None:
    assert ops.scale.number._overloadname.startswith("number_sig_")
    assert repr(ops.scale.number) == "<OpOverload(op='overload_ops.scale.number')>"
    assert repr(ops.mix.default) == "<OpOverload(op='overload_ops.mix')>"
    assert repr(ops.scale) == "<OpOverloadPacket(op='overload_ops.scale')>"


@pytest.mark.parametrize("direct", [True, False])
def test_a_call_takes_the_first_overload_that_has_a_place_for_its_arguments(
    ops: Operators, leaf: Leaf, direct: bool
) -> None:
    x, by = leaf(4), leaf(4)
    named: dict[str, Any] = {} if direct else {"x": x}
    given = (x,) if direct else ()
    torch.testing.assert_close(ops.scale(*given, **named), x * 2)
    torch.testing.assert_close(ops.scale(*given, by=3.0, **named), x * 3)
    torch.testing.assert_close(ops.scale(*given, by=3, **named), x * 3)
    torch.testing.assert_close(ops.scale(*given, by=by, **named), x * by)
    torch.testing.assert_close(ops.scale.tensor(x, by), x * by)
    torch.testing.assert_close(ops.mix(x), x * x.tanh())
    torch.testing.assert_close(ops.mix(x, by), x * by.exp())
    torch.testing.assert_close(ops.mix(x, 0.5), x * torch.tensor(0.5).exp().double())
    torch.testing.assert_close(ops.mix.default(x, 0.5), ops.mix(x, 0.5))
    y = torch.zeros(3)
    assert ops.fill(y, 2.0) is None
    assert y.tolist() == [2, 2, 2]


def test_gradients(ops: Operators, leaf: Leaf) -> None:
    x, by = leaf(4), leaf(4)
    for call in (
        lambda x, by: ops.scale(x, 3.0) + by,
        ops.scale,
        ops.scale.tensor,
        ops.mix,
        lambda x, by: ops.mix(x) * by,
    ):
        assert torch.autograd.gradcheck(call, (x, by))
    assert torch.autograd.gradgradcheck(ops.mix, (x, by))
    assert ops.scale(x, by).grad_fn.name() == "ScaleTensorBackward"
    assert ops.scale(x, 2.0).grad_fn.name() == "ScaleNumberBackward"
    assert torch.func.jvp(ops.mix.one, (x.detach(),), (by.detach(),))[1].shape == (4,)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.exhaustive)])
def test_compiled(ops: Operators, backend: str) -> None:
    def function(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        number = torch.ops.overload_ops.scale.number
        y: torch.Tensor = ops.scale(x.sin(), 3.0) + ops.scale(x, by) + number(x, 0.5) + ops.mix(x, 0.5) + ops.mix(by)
        return y

    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend=backend)
    for size in (3, 5):
        x, by = torch.rand(size, requires_grad=True), torch.rand(size, requires_grad=True)
        torch.testing.assert_close(compiled(x, by), function(x, by))
        got = torch.autograd.grad(compiled(x, by).sum(), (x, by))
        torch.testing.assert_close(got, torch.autograd.grad(function(x, by).sum(), (x, by)))


def test_opcheck_and_vmap(ops: Operators, leaf: Leaf) -> None:
    torch.library.opcheck(ops.scale.number, (leaf(3), 2.0))
    torch.library.opcheck(ops.scale.tensor, (leaf(3), leaf(3)))
    torch.library.opcheck(ops.mix.one, (leaf(3),))
    x, by = torch.rand(2, 3), torch.rand(3)
    torch.testing.assert_close(torch.vmap(ops.scale, (0, None))(x, by), x * by)
    torch.testing.assert_close(torch.vmap(ops.mix, (0, None))(x, by), x * by.exp())


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.ops.overload_ops.scale(x, by) + torch.ops.overload_ops.scale.number(x, 3.0)
        return y


def test_exported_and_loaded(ops: Operators, tmp_path: Path) -> None:
    length = torch.export.Dim("length", min=2)
    shapes = {"x": {0: length}, "by": {0: length}}
    program = torch.export.export(Model(), (torch.rand(4), torch.rand(4)), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "model.pt2")
    again = torch.export.load(tmp_path / "model.pt2")
    targets = {node.target for node in again.graph.nodes}
    assert targets >= {ops.scale.number, ops.scale.tensor}
    x, by = torch.rand(7), torch.rand(7)
    torch.testing.assert_close(again.module()(x, by), x * by + 3 * x)


def test_pickled_and_copied(ops: Operators) -> None:
    for each in (ops.scale, ops.scale.number, ops.mix, ops.mix.default, ops.mix.one, ops.fill):
        assert pickle.loads(pickle.dumps(each)) is each  # noqa: S301 - our own
        assert copy.copy(each) is copy.deepcopy(each) is each


def test_documentation(ops: Operators) -> None:
    assert ops.scale.number.__doc__.startswith("scale.number(x: T[N], by: float = 2.0) -> (y: T[N])")
    assert "Scales by a number." in ops.scale.number.__doc__
    assert "Differentiable in x, by scale_backward.number." in ops.scale.number.__doc__
    assert ops.scale.__doc__ == f"{ops.scale.number.__doc__}\n\n\n{ops.scale.tensor.__doc__}"
    assert str(ops.scale.number.__signature__).startswith("(x: torch.Tensor, by: float = 2.0)")
    assert [*inspect.signature(ops.scale).parameters] == ["args", "kwargs"]
    assert "__signature__" in vars(ops.fill)
    assert "scale.tensor(x: T[N], by: T[N])" in (ops.__doc__ or "")


def test_flops_are_those_of_the_overload(ops: Operators, leaf: Leaf) -> None:
    with FlopCounterMode(display=False) as counter:
        ops.scale(leaf(4), leaf(4)).sum().backward()
        ops.scale(leaf(4), 2.0)
    assert counter.get_total_flops() == 2 * 4 + 3 * 4


def test_profiles_have_the_operators_name(ops: Operators) -> None:
    with profile() as found:
        ops.scale(torch.rand(3), 2.0)
    names = {event.key for event in found.key_averages()}
    assert "overload_ops::scale" in names
    assert not any("sig_" in name for name in names)


def test_recorded_forms_are_attributes_too(ops: Operators, leaf: Leaf) -> None:
    assert ops.scale.number_recorded is ops.scale.number
    assert len(ops.scale.tensor_recorded(leaf(3), leaf(3))) == 2
    assert ops.mix.recorded is ops.mix.default


def test_wrong_calls(ops: Operators) -> None:
    x = torch.rand(3)
    text = (
        "scale(): the arguments fit none of its 2 overloads\n"
        "  scale.number(): by is the str 'a', expected a float\n"
        "    signature:  scale.number(x: T[N], by: float = 2.0) -> (y: T[N]) where T in (f32, f64)\n"
        "  scale.tensor(): by is the str 'a', expected a tensor T[N]\n"
        "    signature:  scale.tensor(x: T[N], by: T[N]) -> (y: T[N]; total: T[N]) where T in (f32, f64) flops: 2*N"
    )
    assert failing(lambda: ops.scale(x, "a"), ArgumentError) == text
    assert failing(lambda: ops.scale.number(x, "a"), ArgumentError) == (
        "scale.number(): by is the str 'a', expected a float\n"
        "  signature:    scale.number(x: T[N], by: float = 2.0) -> (y: T[N]) where T in (f32, f64)"
    )
    assert failing(lambda: ops.fill(x), ArgumentError) == (
        "fill.value(): by is missing, expected a float\n"
        "  signature:    fill.value(x: f32[N]!, by: float)\n"
        "  likely fix:   give it, as by=1.0, or a default in the signature: `by: float = 1.0`"
    )
    wrong = failing(lambda: ops.scale(x, torch.rand(4)), ArgumentError)
    assert wrong.startswith("scale.tensor(): by has shape (4,), expected [N] = (3,)")
    leaf, weight = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    (grad,) = torch.autograd.grad(ops.scale(leaf, 2.0), leaf, weight, create_graph=True)
    assert failing(lambda: grad.sum().backward(), UnsupportedError).startswith(
        "scale_backward.number() has no second derivative: there is no scale_backward_backward.number\n"
    )


NUMBER = """
OPWRIGHT("scale.number(x: f64[N], by: float) -> (y: f64[N])")
void scale(Tensor<const double, 1> x, double by, Tensor<double, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] * by;
}
"""
WHOLE = (
    NUMBER.replace("scale.number", "scale.whole")
    .replace("by: float", "by: int")
    .replace("void scale(", "void whole(")
    .replace("double by", "int64_t by")
)
ADDED = NUMBER.replace("by: float", "by: float, plus: float = 1.0").replace("double by", "double by, double plus")
ADDED = ADDED.replace("x[i] * by", "x[i] * by + plus")


def test_the_order_of_the_source_decides(write: Write) -> None:
    first = opwright.load(write(NUMBER + WHOLE, "in_order.cpp"))
    other = opwright.load(write(WHOLE + NUMBER, "in_other_order.cpp"))
    x = torch.rand(3, dtype=torch.float64)
    with profile():  # PyTorch's way
        assert first.scale(x, 2).tolist() == other.scale(x, 2).tolist() == (2 * x).tolist()
    assert first.scale.overloads() == ["number", "whole"]
    assert other.scale.overloads() == ["whole", "number"]
    assert other.scale(x, 0.5).tolist() == (0.5 * x).tolist()


def test_overloads_come_go_and_change(write: Write) -> None:
    x = torch.ones(2, dtype=torch.float64)

    def load(*texts: str) -> Operators:
        return opwright.load(write("".join(texts), "overloads_reloaded.cpp"))

    ops = load(NUMBER)
    packet, number = ops.scale, ops.scale.number
    compiled = torch.compile(lambda x: packet(x, 2.0), backend="eager", fullgraph=True)
    assert compiled(x).tolist() == [2, 2]
    assert load(NUMBER, WHOLE) is ops
    assert ops.scale is packet
    assert ops.scale.number is number
    assert packet.overloads() == ["number", "whole"]
    whole = ops.scale.whole
    load(ADDED, WHOLE)
    assert ops.scale.number is not number
    assert ops.scale(x, 2.0).tolist() == ops.scale.number(x, 2.0).tolist() == compiled(x).tolist() == [3, 3]
    text = failing(lambda: number(x, 2.0), OpwrightError)
    assert text.startswith("scale.number(): the signature has changed since this callable was taken")
    assert text.endswith("or as torch.ops.overloads_reloaded.scale.number")
    load(ADDED)
    assert "scale.whole() was removed from its source" in failing(lambda: whole(x, 2), OpwrightError)
    assert packet(x, 2).tolist() == [3, 3]
    load(NUMBER, WHOLE)
    assert ops.scale.number is number
    assert compiled(x).tolist() == number(x, 2.0).tolist() == packet(x, 2.0).tolist() == [2, 2]
    load(NUMBER.replace("scale.number", "scale"))  # the operator itself again
    assert isinstance(ops.scale, OpOverload)
    assert ops.scale is packet.default
    assert packet.overloads() == ["default"]
    assert "scale.number() was removed" in failing(lambda: number(x, 2.0), OpwrightError)
    assert torch.ops.overloads_reloaded.scale(x, 2.0).tolist() == [2, 2]
    load(NUMBER.replace("scale", "other"))
    assert "was removed from its source" in failing(lambda: packet(x, 2.0), OpwrightError)
    with pytest.raises(AttributeError, match="has no operator 'scale' any more"):
        _ = ops.scale


def test_c_functions_are_found_by_the_name_with_an_underscore(write: Write) -> None:
    body = "{ for (long i = 0; i < n; ++i) y[i] = by * x[i]; }"
    text = f"void scale_by(long n, const double *x, double by, double *y) {body}"
    ops = opwright.load(write(text, "overload_in_c.c"), ops="scale.by(x: f64[n], by: float) -> (y: f64[n])")
    x = torch.rand(3, dtype=torch.float64)
    torch.testing.assert_close(ops.scale.by(x, 3.0), 3 * x)
    torch.testing.assert_close(ops.scale(x, 3.0), 3 * x)


def test_wrong_sources(write: Write) -> None:
    backward = 'OPWRIGHT("f_backward.other(grad_y: T[N]) -> (grad_x: T[N])")\n'
    backward += "template <class T> void g(Tensor<const T> grad_y, Tensor<T> grad_x) {}\n"
    text = failing(lambda: opwright.load(write(NUMBER + backward, "overload_alone.cpp")), SignatureError)
    assert text.startswith("f_backward.other is the backward of f.other, which isn't there")
    twice = failing(lambda: opwright.load(write(NUMBER + NUMBER, "overload_twice.cpp")), SourceError)
    assert "scale.number was defined before, in line 3" in twice
    signatures = ["f.a(x: T[N]) -> (y: T[N])", "f_backward.a(grad_y: T[N]) -> (grad_x: T[N])"]
    text = failing(lambda: opwright.differentiable(torch.sin, torch.cos, signature=signatures), UnsupportedError)
    assert text == (
        "differentiable() can't make f.a of a function\n"
        "  signature:  f.a(x: T[N]) -> (y: T[N])\n"
        "  likely fix: leave out .a: only kernels have overloads"
    )


def test_emulated_cuda_kernels_have_overloads(write: Write) -> None:
    text = """
#include <opwright.h>
OPWRIGHT("grow.by(x: f32[N], by: float) -> (y: f32[N]) launch over N, threads 64")
__global__ void grow(const float *x, float *y, int64_t N, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = x[i] * by;
}
OPWRIGHT("grow.twice(x: f32[N]) -> (y: f32[N]) launch over N, threads 64")
__global__ void twice(const float *x, float *y, int64_t N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = 2 * x[i];
}
"""
    ops = opwright.load(write(text, "overloads_emulated.cu"), backend="emulate")
    x = torch.rand(100)
    torch.testing.assert_close(ops.grow(x, 3.0), 3 * x)
    torch.testing.assert_close(ops.grow(x), 2 * x)


_BUNDLED = """
import json, sys
sys.modules["opwright"] = None
import torch
torch.ops.load_library(sys.argv[1])
scale = torch.ops.overload_ops.scale
x = torch.tensor([1.0, 2.0], requires_grad=True)
y, z = scale(x, 3.0), scale(x, x)
(y + z).sum().backward()
try:
    scale(x, torch.ones(3))
except RuntimeError as error:
    text = str(error)
print(json.dumps([y.tolist(), z.tolist(), x.grad.tolist(), y.grad_fn.name(), text]))
"""


@pytest.mark.slow
def test_bundled(ops: Operators, tmp_path: Path) -> None:
    library = opwright.bundle(ops, tmp_path / "overloads.so", dtypes=[torch.float32])
    done = run_python(_BUNDLED, library, folder=Path("/"))
    assert done.returncode == 0, done.stderr
    *values, node, text = json.loads(done.stdout)
    assert values == [[3, 6], [1, 4], [3 + 2, 3 + 4]]
    assert node == "ScaleNumberBackward"
    assert text.startswith("scale.tensor(): the arguments don't fit the operator's signature")
