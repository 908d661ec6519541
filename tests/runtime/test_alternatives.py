"""Alternatives: signatures of one name with one schema are one operator, which chooses by element type and rank."""

from __future__ import annotations

import copy
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
from opwright import ArgumentError, Operators
from opwright.runtime.torch_internals import OpOverload, OpOverloadPacket
from tests.interpreter import run_python
from tests.messages.raising import failing

Leaf = Callable[..., torch.Tensor]
Write = Callable[..., Path]
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning", "ignore:.isinstance:FutureWarning")
SOURCE = Path(__file__).parent / "kernels" / "alternative_ops.cpp"


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(SOURCE)


def blurred(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    return by * x * (x.sum(1, keepdim=True) if x.dim() == 2 else 1)


def test_the_operator_is_one_overload(ops: Operators) -> None:
    blur = ops.blur
    assert isinstance(blur, OpOverload)
    assert blur is torch.ops.alternative_ops.blur.default
    assert list(ops)[:2] == ["blur", "blur_backward"]
    assert torch.ops.alternative_ops.blur.overloads() == ["default"]
    assert ops.blur.rank1 is torch.ops.alternative_ops.blur.rank1
    assert repr(ops.blur) == "<OpOverload(op='alternative_ops.blur')>"
    assert repr(ops.blur.rank2) == "<OpOverload(op='alternative_ops.blur.rank2')>"
    assert isinstance(ops.step, OpOverloadPacket)
    assert ops.step.overloads() == ["default", "out"]
    assert str(ops.blur._schema).partition("(")[2] == "Tensor x, float by=2.) -> Tensor"


@pytest.mark.parametrize("way", ["places", "names", "packet", "profiled"])
def test_element_types_and_ranks_decide(ops: Operators, leaf: Leaf, way: str) -> None:
    def call(name: str, **arguments: Any) -> Any:
        op = getattr(torch.ops.alternative_ops if way == "packet" else ops, name)
        return op(**arguments) if way == "names" else op(*arguments.values())

    def everything() -> None:
        for shape in ((4,), (3, 4)):
            for dtype in (torch.float32, torch.float64):
                x = leaf(*shape).detach().to(dtype)
                torch.testing.assert_close(call("blur", x=x), blurred(x))
                torch.testing.assert_close(call("blur", x=x, by=3), blurred(x, 3))
        x, y = leaf(3).detach(), torch.arange(3)
        torch.testing.assert_close(call("step", x=x, y=y), x * y.double().tanh())
        torch.testing.assert_close(call("step", x=y, y=y), 2 * y)
        torch.testing.assert_close(call("step", x=y, y=torch.tensor(2)), y + 2)
        torch.testing.assert_close(call("total", x=x, w=None), (x * x).sum())
        torch.testing.assert_close(call("total", x=y, w=y), (y * y).sum())
        rows = leaf(2, 3, 4).detach()
        torch.testing.assert_close(call("total", x=rows, w=x), rows.sum(2) * x)

    if way == "profiled":
        with profile() as found:
            everything()
        names = {event.key for event in found.key_averages()}
        assert "alternative_ops::blur" in names
        assert not any("sig_" in name for name in names)
    else:
        everything()


def test_numbers_for_tensors_become_what_the_alternative_takes(ops: Operators) -> None:
    whole = torch.arange(3)
    assert ops.step(whole, 2).tolist() == [2, 3, 4]
    assert ops.step(2, y=whole).dtype == torch.int64
    torch.testing.assert_close(ops.step(whole, 0.5), whole * torch.tensor(0.5).tanh())
    torch.testing.assert_close(ops.step(torch.ones(2), 2), torch.full((2,), 2.0).tanh())
    graph = torch.compile(lambda x: ops.step(x, 2), fullgraph=True, backend="eager")
    assert graph(whole).tolist() == [2, 3, 4]
    torch.testing.assert_close(graph(torch.ones(2)), torch.full((2,), 2.0).tanh())


def test_gradients(ops: Operators, leaf: Leaf) -> None:
    assert torch.autograd.gradcheck(ops.blur, (leaf(4),))
    assert torch.autograd.gradcheck(lambda x: ops.blur(x, 3.0), leaf(3, 4))
    assert torch.autograd.gradcheck(ops.step, (leaf(4), leaf(3, 1)))
    assert torch.autograd.gradgradcheck(ops.step, (leaf(4), leaf(4)))
    assert torch.autograd.gradcheck(ops.total, (leaf(4), leaf(4)))
    assert torch.autograd.gradgradcheck(lambda x: ops.total(x, None), leaf(4))
    assert ops.blur(leaf(4)).grad_fn.name() == "BlurBackward"
    tangent = torch.func.jvp(ops.step, (leaf(3).detach(),) * 2, (torch.ones(3, dtype=torch.float64),) * 2)[1]
    assert tangent.shape == (3,)
    text = failing(lambda: ops.total(leaf(2, 3), None).sum().backward(), opwright.UnsupportedError)
    assert text.startswith("total() has no gradient: there is no total_backward for this alternative\n")
    assert 'write OPWRIGHT("total_backward(grad_y: f64[..., N], ' in text


def test_derived_gradients_of_functions_with_one_name(leaf: Leaf) -> None:
    """The compiler tells them apart by the number of axes, also where they run on numbers that note their making."""
    text = "#include <opwright.h>"
    for axes, rank, factor in (("N", 1, "x.data()[i]"), ("N, M", 2, "T(3)")):
        text += f"""
OPWRIGHT("squared(x: T[{axes}]) -> (y: T[{axes}]) where T in (f32, f64) derived")
template <class T>
void squared(Tensor<const T, {rank}> x, Tensor<T, {rank}> y) {{
  for (int64_t i = 0; i < x.numel(); ++i) y.data()[i] = x.data()[i] * {factor};
}}
"""
    ops = opwright.load_inline("alternative_squares", cpp=text)
    for shape in ((3,), (2, 3)):
        assert torch.autograd.gradcheck(ops.squared, (leaf(*shape),))
        assert torch.autograd.gradgradcheck(ops.squared, (leaf(*shape),))


def test_backwards_are_chosen_too(ops: Operators, leaf: Leaf) -> None:
    x, y = leaf(3).detach(), leaf(4).detach()
    grad_x, grad_y = ops.step_backward(torch.ones(3, dtype=torch.float64), x, x)
    torch.testing.assert_close(grad_x, x.tanh())
    torch.testing.assert_close(grad_y, x * (1 - x.tanh() ** 2))
    assert isinstance(ops.blur_backward, OpOverloadPacket)  # their schemas differ
    assert ops.blur_backward.overloads() == ["rank1", "rank2"]
    torch.testing.assert_close(ops.blur_backward(y, 3.0), 3 * y)
    text = "#include <opwright.h>"
    for types, value in (("f32", "x * x"), ("f64", "x * x * x")):
        text += f"""
OPWRIGHT("power(x: T) -> (y: T) where T in ({types})")
template <class T>
T of_{types}(T x) {{ return {value}; }}
"""
    power = opwright.load_inline("alternative_powers", cpp=text)
    assert isinstance(power.power_backward, OpOverload)
    for dtype, derivative in ((torch.float32, 4), (torch.float64, 12)):
        two = torch.tensor(2, dtype=dtype)
        assert power.power_backward(torch.ones((), dtype=dtype), two).item() == derivative
        assert torch.func.grad(power.power)(two).item() == derivative


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.exhaustive)])
def test_compiled(ops: Operators, backend: str, dynamic: bool) -> None:
    torch.compiler.reset()  # each of the cases compiles the same functions

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z: torch.Tensor = ops.blur(x.sin()) + torch.ops.alternative_ops.step(x, y) + ops.step_(x.clone(), y)
        total: torch.Tensor = ops.total(y.reshape(-1), None) + ops.step(y, x, out=torch.empty_like(x))
        total += z
        return total

    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend=backend)
    for shape in ((3,), (5,), (2, 3), (4, 5)):
        x, y = (torch.rand(shape, requires_grad=True) for _ in range(2))
        with torch.no_grad():
            torch.testing.assert_close(compiled(x, y), function(x, y))
    graded = torch.compile(lambda x, y: ops.blur(x.sin()) + ops.step(x, y), dynamic=dynamic, backend=backend)
    for shape in ((3,), (5,), (2, 3), (4, 5)):
        x, y = (torch.rand(shape, requires_grad=True) for _ in range(2))
        got = torch.autograd.grad(graded(x, y).sum(), (x, y))
        torch.testing.assert_close(got, torch.autograd.grad((ops.blur(x.sin()) + ops.step(x, y)).sum(), (x, y)))
    whole = torch.compile(lambda x: ops.step(x, x), fullgraph=True, dynamic=dynamic, backend=backend)
    assert whole(torch.arange(4)).tolist() == [0, 2, 4, 6]


def test_a_traced_call_that_nothing_fits_is_refused(ops: Operators) -> None:
    compiled = torch.compile(ops.blur, fullgraph=True, dynamic=True, backend="eager")
    with pytest.raises(Exception, match="none of its 2 alternatives takes that"):
        compiled(torch.rand(2, 3, 4))  # type: ignore[no-untyped-call]


def test_opcheck_and_vmap(ops: Operators, leaf: Leaf) -> None:
    for op, arguments in (
        (ops.blur, (leaf(3),)),
        (ops.blur, (leaf(2, 3),)),
        (ops.step.default, (leaf(3), leaf(3))),
        (ops.step.default, (torch.arange(3), torch.arange(3))),
        (ops.total, (leaf(3), None)),
        (ops.blur.rank2, (leaf(2, 3),)),
    ):
        torch.library.opcheck(op, arguments)
    x = torch.rand(2, 3, 4)
    torch.testing.assert_close(torch.vmap(ops.blur)(x), torch.stack([blurred(row) for row in x]))
    torch.testing.assert_close(torch.vmap(torch.vmap(ops.blur))(x), 2 * x)
    torch.testing.assert_close(torch.vmap(ops.step, (0, None))(x, x[0]), x * x[0].tanh())
    grads = torch.func.vmap(torch.func.grad(lambda x: ops.blur(x).sum()))(x[0])
    torch.testing.assert_close(grads, torch.full((3, 4), 2.0))
    jagged = torch.nested.nested_tensor([torch.rand(2), torch.rand(3)], layout=torch.jagged)
    torch.testing.assert_close(ops.step(jagged, jagged).values(), jagged.values() * jagged.values().tanh())


def test_autocast_inference_and_meta(ops: Operators) -> None:
    x = torch.rand(3, 4)
    with torch.inference_mode():
        torch.testing.assert_close(ops.blur(x), blurred(x))
        torch.testing.assert_close(ops.blur(x[0]), 2 * x[0])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops.blur(x).dtype == torch.float32
        torch.testing.assert_close(ops.step(x, x.double()), x.double() * x.double().tanh())
    assert ops.blur(torch.empty(5, 6, device="meta")).shape == (5, 6)


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.ops.alternative_ops.blur(x) + torch.ops.alternative_ops.blur(x[0])
        return y


def test_exported_and_loaded(ops: Operators, tmp_path: Path) -> None:
    shapes = {"x": {0: torch.export.Dim("rows", min=2), 1: torch.export.Dim("columns", min=2)}}
    program = torch.export.export(Model(), (torch.rand(3, 4),), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "model.pt2")
    again = torch.export.load(tmp_path / "model.pt2")
    assert {node.target for node in again.run_decompositions().graph.nodes} >= {ops.blur.rank1, ops.blur.rank2}
    x = torch.rand(5, 7)
    torch.testing.assert_close(again.module()(x), blurred(x) + 2 * x[0])


def test_pickled_and_copied(ops: Operators) -> None:
    for each in (ops.blur, ops.blur.rank2, ops.step, ops.step.out, ops.step_, torch.ops.alternative_ops.blur):
        assert pickle.loads(pickle.dumps(each)) is each  # noqa: S301 - our own
        assert copy.copy(each) is copy.deepcopy(each) is each


def test_documentation(ops: Operators) -> None:
    assert ops.blur.__doc__ == f"{ops.blur.rank1.__doc__}\n\n\n{ops.blur.rank2.__doc__}"
    assert ops.blur.rank1.__doc__.startswith("blur(x: T[N], by: float = 2.0) -> (y: T[N])")
    assert "Adds the sum of each row" in ops.blur.__doc__
    assert "Differentiable in x, by blur_backward.rank2." in ops.blur.__doc__
    assert str(ops.blur.__signature__).startswith("(x: torch.Tensor, by: float = 2.0)")
    assert "blur(x: T[N, M], by: float = 2.0)" in (ops.__doc__ or "")


def test_flops_are_those_of_the_alternative(ops: Operators, leaf: Leaf) -> None:
    with FlopCounterMode(display=False) as counter:
        ops.blur(leaf(5))
        ops.blur(leaf(3, 4))
    assert counter.get_total_flops() == 5 + 3 * 3 * 4


def test_variants_of_alternatives(ops: Operators, leaf: Leaf) -> None:
    x, y = leaf(3).detach(), torch.arange(3)
    out, whole = torch.empty_like(x), torch.empty_like(y)
    assert ops.step.out(x, x, out=out) is out
    assert ops.step(y, y, out=whole) is whole
    torch.testing.assert_close(out, x * x.tanh())
    assert whole.tolist() == [0, 2, 4]
    assert ops.step_(whole, y) is whole
    assert whole.tolist() == [0, 3, 6]
    assert torch.autograd.gradcheck(lambda x: ops.step_(x.clone(), x), leaf(3))


BLUR = (
    "  blur.rank1 takes x with 1 axis\n"
    "    signature:  blur(x: T[N], by: float = 2.0) -> (y: T[N]) where T in (f32, f64) flops: N\n"
    "  blur.rank2 takes x with 2 axes\n"
    "    signature:  blur(x: T[N, M], by: float = 2.0) -> (y: T[N, M]; sums: T[N]) where T in (f32, f64) flops: 3*N*M"
)


def test_wrong_calls(ops: Operators) -> None:
    x = torch.rand(2, 3, 4)
    assert failing(lambda: ops.blur(x), ArgumentError) == (
        f"blur(): x is of type float32 and has 3 axes: none of its 2 alternatives takes that\n{BLUR}"
    )
    assert failing(lambda: ops.blur(x=x.to_sparse()), ArgumentError).startswith(
        "blur(): x is of type float32 and has 3"
    )
    assert failing(lambda: torch.ops.alternative_ops.blur(torch.tensor(1)), ArgumentError) == (
        f"blur(): x is of type int64 and has 0 axes: none of its 2 alternatives takes that\n{BLUR}"
    )
    assert failing(lambda: ops.step(x, x.to(torch.complex64)), ArgumentError) == (
        "step(): x is of type float32 and has 3 axes, y is of type complex64 and has 3 axes: none of its 2 "
        "alternatives takes that\n"
        "  step.f32_f64 takes x, y that promote to f32 or f64\n"
        "    signature:  step(x: T, y: T) -> (z: T) where T in (f32, f64) variants: out, inplace\n"
        "  step.i64 takes x of type i64, y of type i64\n"
        "    signature:  step(x: i64, y: i64) -> (z: i64) variants: out, inplace"
    )
    numbers = failing(lambda: ops.step(torch.arange(3, dtype=torch.int32), True), ArgumentError)
    assert numbers.startswith("step(): x is of type int32 and has 1 axis, y is of type")
    # The alternative that is chosen says what else doesn't fit.
    chosen = failing(lambda: ops.blur(torch.arange(3)), ArgumentError)
    assert chosen.startswith("blur(): x has element type int64, expected T in (float32, float64)\n")
    assert "  signature:    blur(x: T[N], by: float = 2.0) -> (y: T[N]) where" in chosen
    wrong = failing(lambda: ops.blur("x"), ArgumentError)
    assert wrong == (
        "blur(): x is the str 'x', expected a tensor T[N]\n"
        "  signature:    blur(x: T[N], by: float = 2.0) -> (y: T[N]) where T in (f32, f64) flops: N\n"
        "  or:           blur(x: T[N, M], by: float = 2.0) -> (y: T[N, M]; sums: T[N]) where T in (f32, f64) "
        "flops: 3*N*M"
    )
    assert failing(lambda: ops.blur(None), ArgumentError).startswith("blur(): x is None: none of its 2 alternatives")
    missing = failing(lambda: ops.step.out(x, x), ArgumentError)
    assert missing.startswith("step.out(): out is missing, expected a tensor T\n")
    out = torch.empty(3, dtype=torch.int64)
    text = failing(lambda: ops.step(torch.ones(3), torch.ones(3), out=out), ArgumentError)
    assert text.startswith("step.out(): out is int64, and the result, float32, can't be cast to that")


_BUNDLED = """
import json, sys
sys.modules["opwright"] = None
import torch
torch.ops.load_library(sys.argv[1])
blur, step = torch.ops.alternative_ops.blur, torch.ops.alternative_ops.step
x = torch.tensor([1.0, 2.0], requires_grad=True)
y, z = blur(x), blur(torch.stack([x, x]))
(y.sum() + z.sum()).backward()
try:
    blur(torch.ones(1, 1, 1))
except RuntimeError as error:
    text = str(error)
whole = torch.arange(3)
print(json.dumps([y.tolist(), z.tolist(), x.grad.tolist(), step(whole, whole, out=whole).tolist(), text]))
"""


@pytest.mark.exhaustive
def test_bundled(ops: Operators, tmp_path: Path) -> None:
    library = opwright.bundle(ops, tmp_path / "alternatives.so", dtypes=[torch.float32])
    done = run_python(_BUNDLED, library, folder=Path("/"))
    assert done.returncode == 0, done.stderr
    *values, text = json.loads(done.stdout)
    assert values == [[2, 4], [[6, 12]] * 2, [2 + 2 * 12, 2 + 2 * 12], [0, 2, 4]]
    assert text.partition("\n")[2].startswith(BLUR)
