"""Variants, ``op.out`` and ``op_``: what they write, return and refuse, beside PyTorch's own."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import opwright
from opwright import Operators, OpwrightError, SignatureError
from opwright.runtime.torch_internals import OpOverload, OpOverloadPacket
from tests.interpreter import run_python
from tests.messages.raising import failing

Leaf = Callable[..., torch.Tensor]
Write = Callable[..., Path]
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning", "ignore:.isinstance:FutureWarning")
SOURCE = Path(__file__).parent / "kernels" / "variant_ops.cpp"


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(SOURCE)


def test_what_is_registered(ops: Operators) -> None:
    assert isinstance(ops.blend, OpOverloadPacket)
    assert ops.blend.overloads() == ["default", "out"]
    assert ops.scale.overloads() == ["number", "number_out"]
    assert isinstance(ops.blend_, OpOverload)
    assert ops.blend_ is torch.ops.variant_ops.blend_.default
    assert ops.scale_.overloads() == ["number"]
    assert not hasattr(ops, "ends_")
    schema = str(ops.ends.out._schema).partition("(")[2]
    assert schema == "Tensor x, *, Tensor(a!) out_least, Tensor(b!) out_most) -> (Tensor(a!), Tensor(b!))"
    assert str(ops.blend_._schema).partition("(")[2] == "Tensor(a!) x, Tensor y, float by=2.) -> Tensor(a!)"


@pytest.mark.skipif(not hasattr(torch.Tag, "out"), reason="this PyTorch has no such tags")
def test_pytorchs_tags(ops: Operators) -> None:
    assert torch.Tag.out in ops.blend.out.tags
    assert torch.Tag.inplace in ops.blend_.tags
    assert not {torch.Tag.out, torch.Tag.inplace} & {*ops.blend.default.tags}
    assert torch.Tag.nondeterministic_seeded in ops.shaken_.tags


def test_out_is_written_and_returned(ops: Operators, leaf: Leaf) -> None:
    x, y = leaf(2, 3).detach(), leaf(3).detach()
    out = torch.full((2, 3), torch.nan, dtype=torch.float64)
    place, version = out.data_ptr(), out._version
    assert ops.blend.out(x, y, 3.0, out=out) is out
    torch.testing.assert_close(out, x + 3 * y)
    assert ops.blend(x, y, out=out) is out  # the packet, too
    torch.testing.assert_close(out, x + 2 * y)
    assert out.data_ptr() == place
    assert out._version > version
    assert ops.blend(x, 0.5, out=out) is out
    torch.testing.assert_close(out, x + 1)
    least, most = torch.empty(2, dtype=torch.float64), torch.empty(2, dtype=torch.float64)
    results = ops.ends.out(x, out_least=least, out_most=most)
    assert results[0] is least
    assert results[1] is most
    torch.testing.assert_close(results, (x.amin(1), x.amax(1)))


@pytest.mark.parametrize(
    "out",
    [
        torch.empty(4, 2, dtype=torch.float64).t(),
        torch.empty(2, 8, dtype=torch.float64)[:, ::2],
        torch.empty(2, 4, dtype=torch.float32),
        torch.empty(2, 4, dtype=torch.complex128),
        torch.empty(0, dtype=torch.float64),
        torch.empty(9, dtype=torch.float64)[1:].view(2, 4),
    ],
    ids=["transposed", "strided", "narrower", "complex", "empty", "offset"],
)
def test_outs_of_other_layouts_and_types_are_written_as_pytorchs_operators_write_them(
    ops: Operators, leaf: Leaf, out: torch.Tensor
) -> None:
    x, y = leaf(2, 4).detach(), leaf(2, 4).detach()
    expected = copy.deepcopy(out)
    torch.add(x, y, alpha=2, out=expected)
    strides = out.stride() if out.numel() else (4, 1)
    ops.blend.out(x, y, out=out)
    torch.testing.assert_close(out, expected)
    assert out.stride() == strides == expected.stride()
    torch.testing.assert_close(ops.scale.number_out(x[0], 2.0, out=out[0].clone()), (2 * x[0].flip(0)).to(out.dtype))


def test_another_shape_is_resized_with_a_warning(ops: Operators, capfd: pytest.CaptureFixture[str]) -> None:
    x, out = torch.rand(3), torch.empty(5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ops.blend.out(x, x, out=out)
        ops.positive.out(x, out=(empty := torch.empty(0, dtype=torch.int64)))
    text = "\n".join(str(each.message) for each in caught) + capfd.readouterr().err
    expected = (
        "blend.out(): out was resized: it has elements, of shape (5,), and the result has the shape (3,). PyTorch"
    )
    assert expected in text
    assert "positive.out()" not in text
    torch.testing.assert_close(out, 3 * x)
    assert empty.tolist() == [0, 1, 2]


def test_in_place(ops: Operators, leaf: Leaf) -> None:
    x, y = leaf(2, 3).detach(), leaf(3).detach()
    before, place, version = x.clone(), x.data_ptr(), x._version
    assert ops.blend_(x, y, 3.0) is x
    torch.testing.assert_close(x, before + 3 * y)
    assert x.data_ptr() == place
    assert x._version == version + 1
    assert ops.blend_(x, x) is x  # each element is read before it is written
    torch.testing.assert_close(x, 3 * (before + 3 * y))
    column = x[:, 1]
    before = column.clone()
    assert ops.scale_.number(column, 2.0) is column
    torch.testing.assert_close(x[:, 1], 2 * before.flip(0))
    single = torch.ones(3)
    assert ops.blend_(single, torch.ones(3, dtype=torch.float64)).dtype == torch.float32
    torch.testing.assert_close(single, torch.full((3,), 3.0))


@pytest.mark.skipif(opwright.runtime.name() != "native", reason="the runtime in Python always copies")
def test_the_kernel_writes_to_the_memory_that_is_given(ops: Operators) -> None:
    """Nothing is copied, and no memory is taken where the given one fits."""
    x, out = torch.rand(1000), torch.empty(1000)

    class Log(TorchDispatchMode):
        seen: list[str] = []  # noqa: RUF012 - of one mode

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with torch.profiler.profile() as profile:
        ops.blend.out(x, x, out=out)
        ops.blend_(x, out)
        ops.scale.number_out(x, 2.0, out=out)
    names = {event.key for event in profile.key_averages()}
    assert not {name for name in names if name.startswith("aten::")}
    with Log() as log:  # type: ignore[no-untyped-call] # who listens sees the operator itself
        ops.blend_(x, out)
    assert [name.partition(".sig")[0] for name in log.seen] == ["variant_ops.blend", "aten.copy_.default"]


def test_gradients_in_place(ops: Operators, leaf: Leaf) -> None:
    x, y = leaf(4), leaf(4)
    assert torch.autograd.gradcheck(lambda x, y: ops.blend_(x.clone(), y), (x, y))
    assert torch.autograd.gradcheck(lambda x: ops.wave_(x.clone()), x)
    assert torch.autograd.gradgradcheck(lambda x: ops.wave_(x.clone()), x)
    assert torch.autograd.gradcheck(lambda x: ops.scale_.number(x.clone(), 3.0), x)

    def row(x: torch.Tensor) -> torch.Tensor:
        rows = x.clone().reshape(2, 2)
        ops.wave_(rows[1])
        return rows

    assert torch.autograd.gradcheck(row, x)
    with torch.no_grad():
        ops.wave_(x)
        ops.blend.out(x, y, out=torch.empty(4, dtype=torch.float64))
    with torch.inference_mode():
        torch.testing.assert_close(ops.wave_(torch.ones(2)), torch.ones(2).sin())


def test_transforms(ops: Operators) -> None:
    x = torch.rand(2, 3, dtype=torch.float64)
    torch.testing.assert_close(torch.vmap(lambda x: ops.blend_(x.clone(), x))(x), 3 * x)
    torch.testing.assert_close(torch.vmap(lambda x, o: ops.blend(x, x, out=o))(x, torch.empty_like(x)), 3 * x)
    grad = torch.func.grad(lambda x: ops.wave_(x.clone()).sum())(x)
    torch.testing.assert_close(grad, x.sin() + x * x.cos())
    tangent = torch.func.jvp(lambda x: ops.wave_(x.clone()), (x,), (x,))[1]
    torch.testing.assert_close(tangent, x * (x.sin() + x * x.cos()))


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.exhaustive)])
def test_compiled(ops: Operators, backend: str, dynamic: bool) -> None:
    torch.compiler.reset()  # each of the cases compiles the same functions

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = ops.blend_(x.sin(), y)
        ops.scale_.number(y, 3.0)
        total: torch.Tensor = ops.blend(z, y, out=torch.empty_like(z)) + ops.blend(x, y)
        return total

    def graded(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        total: torch.Tensor = ops.blend_(x.sin(), y) + ops.wave_(x * 1)
        return total

    compiled = torch.compile(function, backend=backend, fullgraph=True, dynamic=dynamic)
    for size in (4, 7):
        x, y = torch.rand(size), torch.rand(size)
        again = y.clone()
        torch.testing.assert_close(compiled(x, y), function(x, again))
        torch.testing.assert_close(y, again)
    x.requires_grad_()
    compiled = torch.compile(graded, backend=backend, fullgraph=True, dynamic=dynamic)
    (got,), (expected,) = (torch.autograd.grad(f(x, y).sum(), x) for f in (compiled, graded))
    torch.testing.assert_close(got, expected)


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.ops.variant_ops.wave_(x * 2)
        z: torch.Tensor = torch.ops.variant_ops.blend.out(x, y, out=torch.empty_like(x))
        return z


def test_exported_and_loaded(ops: Operators, tmp_path: Path) -> None:
    shapes = {"x": {0: torch.export.Dim("length", min=2)}}
    program = torch.export.export(Model(), (torch.rand(4),), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "model.pt2")
    again = torch.export.load(tmp_path / "model.pt2")
    x = torch.rand(7)
    torch.testing.assert_close(again.module()(x), x + 2 * (2 * x * (2 * x).sin()))
    decomposed = {node.target for node in again.run_decompositions().graph.nodes}
    assert {ops.blend.default, ops.wave.default} <= decomposed
    assert not {ops.blend.out, ops.wave_} & decomposed


def test_opcheck(ops: Operators, leaf: Leaf) -> None:
    torch.library.opcheck(ops.blend_, (torch.rand(3), torch.rand(3)))
    torch.library.opcheck(ops.blend_, (leaf(3).clone(), leaf(3)))
    torch.library.opcheck(ops.scale_.number, (leaf(3).clone(), 2.0))
    torch.library.opcheck(ops.blend.out, (torch.rand(3), torch.rand(3)), {"out": torch.empty(3)})


def test_random_numbers_and_flops(ops: Operators) -> None:
    x = torch.zeros(5)
    torch.manual_seed(3)
    expected = ops.shaken(x)
    torch.manual_seed(3)
    torch.testing.assert_close(ops.shaken_(x), expected)
    with FlopCounterMode(display=False) as counter:
        ops.blend_(x, x)
        ops.blend(x, x, out=torch.empty(5))
    assert counter.get_total_flops() == 20


def test_pickled_documented_and_signed(ops: Operators) -> None:
    for each in (ops.blend_, ops.blend.out, ops.scale_.number, ops.scale_):
        assert pickle.loads(pickle.dumps(each)) is each  # noqa: S301 - our own
    assert "A weighted sum." in ops.blend_.__doc__
    assert "Differentiable in x (its old value), y, by blend_backward." in ops.blend_.__doc__
    assert "Not differentiable." in ops.blend.out.__doc__
    assert "out: T; overwritten" in ops.blend.out.__doc__
    kinds = {name: parameter.kind for name, parameter in inspect.signature(ops.blend.out).parameters.items()}
    assert kinds["out"] is inspect.Parameter.KEYWORD_ONLY


def test_an_argument_may_be_all_of_a_result(ops: Operators, leaf: Leaf) -> None:
    x, y = leaf(5).detach(), leaf(5).detach()
    expected = x + 2 * y
    torch.testing.assert_close(ops.blend.out(x, y, out=y), expected)
    before = x.clone()
    torch.testing.assert_close(ops.scale.number_out(x, 2.0, out=x), 2 * before.flip(0))


SCALED = """
OPWRIGHT("scaled(x: f64[N], by: float) -> (y: f64[N]) variants: VARIANTS")
void scaled(Tensor<const double, 1> x, double by, Tensor<double, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] * by;
}
"""


def test_variants_come_and_go(write: Write) -> None:
    x = torch.ones(2, dtype=torch.float64)

    def load(variants: str) -> Operators:
        text = SCALED.replace("VARIANTS", variants) if variants else SCALED.replace(" variants: VARIANTS", "")
        return opwright.load(write(text, "variants_reloaded.cpp"))

    ops = load("out, inplace")
    packet, in_place, out = ops.scaled, ops.scaled_, ops.scaled.out
    compiled = torch.compile(lambda x: packet(x, 2.0), backend="eager", fullgraph=True)
    assert compiled(x).tolist() == [2, 2]
    load("")
    assert isinstance(ops.scaled, OpOverload)
    assert compiled(x).tolist() == ops.scaled(x, 2.0).tolist() == [2, 2]
    assert "signature has changed" in failing(lambda: in_place(x, 2.0), OpwrightError)
    assert "signature has changed" in failing(lambda: out(x, 2.0, out=x), OpwrightError)
    with pytest.raises(AttributeError, match="has no operator 'scaled_' any more"):
        _ = ops.scaled_
    load("inplace")
    assert isinstance(ops.scaled, OpOverload)
    assert ops.scaled_(x, 3.0).tolist() == [3, 3]
    load("out, inplace")
    assert ops.scaled_ is in_place
    assert in_place(x, 2.0).tolist() == [6, 6]


def test_names_that_are_taken(write: Write) -> None:
    own = SCALED.replace("VARIANTS", "out, inplace") + SCALED.replace(" variants: VARIANTS", "").replace(
        'OPWRIGHT("scaled(x', 'OPWRIGHT("scaled_(x'
    ).replace("void scaled", "void other")
    text = failing(lambda: opwright.load(write(own, "variants_taken.cpp")), SignatureError)
    assert text == (
        "scaled_ is what variants: inplace of scaled makes, and there is a signature of that name\n"
        "  signature:  scaled_(x: f64[N], by: float) -> (y: f64[N])\n"
        "  likely fix: leave out one of them"
    )


_BUNDLED = """
import json, sys
sys.modules["opwright"] = None
import torch
torch.ops.load_library(sys.argv[1])
ops = torch.ops.variant_ops
x, out = torch.tensor([1.0, 2.0]), torch.empty(2)
written = ops.blend(x, x, out=out) is out
same = ops.wave_(x) is x
texts = []
for call in (lambda: ops.blend(x, x, out=torch.empty(2, dtype=torch.int64)), lambda: ops.blend_(x, torch.ones(2, 2))):
    try:
        call()
    except RuntimeError as error:
        texts.append(str(error))
leaf = torch.ones(1, requires_grad=True)
ops.wave_(leaf * 1).sum().backward()
print(json.dumps([written, out.tolist(), same, x.tolist(), leaf.grad.tolist(), texts]))
"""


@pytest.mark.slow
def test_bundled(ops: Operators, tmp_path: Path) -> None:
    library = opwright.bundle(ops, tmp_path / "variants.so", dtypes=[torch.float32])
    done = run_python(_BUNDLED, library, folder=Path("/"))
    assert done.returncode == 0, done.stderr
    written, out, same, x, grad, texts = json.loads(done.stdout)
    assert written
    assert same
    expected = torch.tensor([1.0, 2.0])
    torch.testing.assert_close(torch.tensor(out), 3 * expected)
    torch.testing.assert_close(torch.tensor(x), expected * expected.sin())
    torch.testing.assert_close(torch.tensor(grad), torch.tensor([1.0]).sin() + torch.tensor([1.0]).cos())
    assert texts[0].startswith("blend.out(): out is int64, and the result, float32, can't be cast to that")
    assert texts[1].startswith("blend_(): x has the shape (2,), and the result, which overwrites it, has (2, 2)")
