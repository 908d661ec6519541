"""Pointwise and batched operators under FakeTensors, torch.compile, export, meta tensors and autocast."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses.fake_tensor import FakeTensorMode

from opwright import ArgumentError, Operators

Calls = Callable[..., Iterator[Any]]
Leaf = Callable[..., torch.Tensor]

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # inductor's own


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()


def facts(results: Any) -> list[tuple[Any, ...]]:
    """What a fake tensor knows of its results."""
    every = results if isinstance(results, tuple | list) else [results]
    return [(tuple(t.shape), tuple(t.stride()), t.dtype) for t in every if t is not None]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blend", "total", "polar", "digit", "rotate"])
def test_fakes_are_as_the_real_ones(pointwise: Operators, random_calls: Calls, name: str) -> None:
    for _, arguments in random_calls(pointwise, name, 60, sizes=(0, 1, 2, 3, 5)):
        with FakeTensorMode() as mode:
            fakes = {n: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
            found = facts(getattr(pointwise, name)(**fakes))
        assert found == facts(getattr(pointwise, name)(**arguments))


def test_fakes_of_several_types(pointwise: Operators, random_calls: Calls) -> None:
    """The order of the axes follows from the arguments as they are given, not from what they are cast to."""
    for drawn, arguments in random_calls(pointwise, "blend", 100, sizes=(1, 2, 3)):
        types = [torch.float32, torch.float64, torch.int64]
        real, made = arguments.copy(), arguments.copy()
        for name, dtype in zip("xyw", types, strict=True):
            if (tensor := arguments[name]) is not None:
                layout = tensor.shape, tensor.stride()
                real[name] = torch.zeros(drawn.tensors[name].storage_size, dtype=dtype).as_strided(*layout)
                made[name] = torch.empty_strided(*layout, dtype=dtype, device="meta")
        assert facts(pointwise.blend(**made)) == facts(pointwise.blend(**real))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["affine", "trace"])
def test_fakes_of_batched_operators(batched: Operators, random_calls: Calls, name: str) -> None:
    for _, arguments in random_calls(batched, name, 40, sizes=(0, 1, 2, 3, 5)):
        with FakeTensorMode() as mode:
            fakes = {n: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
            found = facts(getattr(batched, name)(**fakes))
        assert found == facts(getattr(batched, name)(**arguments))


def test_promotion_of_fakes(pointwise: Operators) -> None:
    types = [torch.float32, torch.float64, torch.float16, torch.int64, torch.bool]
    for s in types:
        for t in types:
            for x, y in (
                (torch.ones(2), torch.ones(())),
                (torch.ones(()), torch.ones(2)),
                (torch.ones(2), torch.ones(2)),
            ):
                real = pointwise.blend(x.to(s), y.to(t))
                assert facts(pointwise.blend(x.to(s).to("meta"), y.to(t).to("meta"))) == facts(real)


def test_numbers_on_the_cpu_beside_tensors_elsewhere(pointwise: Operators, batched: Operators) -> None:
    x, number = torch.ones(2, device="meta"), torch.tensor(2.0)
    assert pointwise.blend(x, number).device == pointwise.blend(number, x).device == x.device
    assert pointwise.blend(number, number).device == number.device
    with pytest.raises(ArgumentError, match="y is on cpu, x on meta; all tensors of a call must be on one device"):
        pointwise.blend(x, torch.ones(1))
    with pytest.raises(ArgumentError, match="all tensors of a call must be on one device"):
        pointwise.accumulate(number.clone(), torch.ones((), device="meta"))
    with pytest.raises(ArgumentError, match="all tensors of a call must be on one device"):
        batched.normalize(x, number)


def step(ops: Operators) -> Callable[..., torch.Tensor]:
    def run(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        r, _, quadrant = ops.polar(ops.blend(x, y, w, 0.5), w)
        out: torch.Tensor = r.cos() * quadrant + ops.blend(r, r[..., :1])
        return out

    return run


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.exhaustive)])
def test_one_graph_for_all_sizes(pointwise: Operators, leaf: Leaf, backend: str) -> None:
    """Of one pattern of broadcasting: 1 is a size of its own to torch.compile."""
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(step(pointwise), fullgraph=True, dynamic=True, backend=counter)
    first = 0
    for rows, columns in ((3, 4), (5, 2), (7, 11), (2, 9)):
        inputs = leaf(rows, columns), leaf(columns), leaf(rows, 1)
        weights = torch.rand(rows, columns, dtype=torch.float64)
        got, expected = (f(*inputs) for f in (compiled, step(pointwise)))
        torch.testing.assert_close(got, expected)
        torch.testing.assert_close(
            torch.autograd.grad(got, inputs, weights), torch.autograd.grad(expected, inputs, weights)
        )
        first = first or counter.frame_count
    assert counter.frame_count == first


@pytest.mark.slow
def test_compiled_memory_formats(pointwise: Operators) -> None:
    compiled = torch.compile(pointwise.blend, fullgraph=True, dynamic=True)
    images = torch.randn(2, 3, 4, 5)
    for x in (images.contiguous(memory_format=torch.channels_last), images.permute(3, 1, 0, 2), images[:, :, ::2]):
        got = compiled(x, torch.randn(x.shape[1], 1, 1))  # type: ignore[no-untyped-call]
        assert got.stride() == torch.neg(x).stride()


@pytest.mark.slow
def test_compiled_overwriting(pointwise: Operators) -> None:
    def f(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        pointwise.accumulate(y, x, 2.0)
        return y + 1

    compiled = torch.compile(f, fullgraph=True, dynamic=True)
    for y, x in ((torch.randn(3, 4), torch.randn(4)), (torch.randn(5, 2, dtype=torch.float16), torch.randn(5, 1))):
        mine, theirs = y.clone(), y.clone()
        torch.testing.assert_close(compiled(mine, x), f(theirs, x))
        torch.testing.assert_close(mine, theirs)


@pytest.mark.slow
def test_compiled_batched(batched: Operators, leaf: Leaf) -> None:
    compiled = torch.compile(lambda x, w: batched.affine(x, w).sin(), fullgraph=True, dynamic=True)
    for lead, n, m in ((3, 4, 2), (5, 2, 7)):
        x, w = leaf(lead, 1, n), leaf(2, m, n)
        got, expected = compiled(x, w), torch.einsum("abn,bmn->abm", x.expand(lead, 2, n), w).sin()
        torch.testing.assert_close(got, expected)
        torch.testing.assert_close(torch.autograd.grad(got.sum(), (x, w)), torch.autograd.grad(expected.sum(), (x, w)))


def test_sizes_that_do_not_broadcast_are_an_error_when_compiled(pointwise: Operators) -> None:
    compiled = torch.compile(pointwise.blend, backend="eager", dynamic=True)
    with pytest.raises(RuntimeError, match=r"blend\(\): y has shape \(s\d+,\), which doesn't broadcast with \(s\d+,\)"):
        compiled(torch.ones(3), torch.ones(4))  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_sizes_that_nobody_knows(pointwise: Operators) -> None:
    """An unbacked size that isn't known to be 1 is taken for another one, which a check at run time sees to."""

    def f(x: torch.Tensor, m: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = pointwise.blend(x[m], x[n], torch.ones(1))
        return out

    x, m = torch.randn(8), torch.arange(8) % 2 == 0
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
        for at, other in ((m, ~m), (m & False, m & False), (m | True, m | True)):
            torch.testing.assert_close(compiled(x, at, other), x[at] * x[other] + 2)
        with pytest.raises(RuntimeError):
            compiled(x, m, m | True)


@pytest.mark.slow
@pytest.mark.parametrize("strict", [True, False])
def test_export(pointwise: Operators, strict: bool) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = pointwise.blend(x, y)
            return out

    n = torch.export.Dim("n", min=2)
    program = torch.export.export(
        Module(), (torch.ones(4, 3), torch.ones(4, 1)), dynamic_shapes={"x": {0: n}, "y": {0: n}}, strict=strict
    )
    x, y = torch.randn(7, 3), torch.randn(7, 1)
    torch.testing.assert_close(program.module()(x, y), x * y)


CASES: dict[str, Callable[[Leaf], tuple[Any, ...]]] = {
    "blend": lambda leaf: (leaf(3, 1), leaf(4), leaf(), 0.5),
    "polar": lambda leaf: (leaf(2, 3).mT, leaf(3, 2, dtype=torch.float32)),
    "digit": lambda leaf: (leaf(3, 1), torch.arange(4)),
    "total": lambda _: (torch.arange(3), torch.ones(2, 1, dtype=torch.int32), torch.tensor(1.5)),
    "accumulate": lambda leaf: (leaf(3, 4) * 1, leaf(4), 0.5),
    "precise": lambda leaf: (leaf(0, 4), leaf(1)),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # opcheck looks at it
@pytest.mark.parametrize("name", CASES)
def test_opcheck(pointwise: Operators, leaf: Leaf, name: str) -> None:
    assert set(torch.library.opcheck(getattr(pointwise, name), CASES[name](leaf)).values()) == {"SUCCESS"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_opcheck_of_batched_operators(batched: Operators, leaf: Leaf) -> None:
    for op, args in (
        (batched.affine, (leaf(5, 1, 3), leaf(2, 4, 3), None, 0.5)),
        (batched.trace, (leaf(2, 3, 3).mT,)),
        (batched.normalize, (leaf(2, 3).detach(), torch.ones((), dtype=torch.float64))),
    ):
        assert set(torch.library.opcheck(op, args).values()) == {"SUCCESS"}


def test_autocast(pointwise: Operators) -> None:
    """Pointwise operators promote as ever, but where the signature names a type."""
    x, y, number = torch.randn(3).half(), torch.randn(3).bfloat16(), torch.tensor(1.5, dtype=torch.float64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert pointwise.blend(x, y).dtype == torch.float32
        assert pointwise.blend(x, number).dtype == torch.float16
        assert pointwise.precise(x, x).dtype == torch.float32
        assert pointwise.precise(x.double(), number).dtype == torch.float32
    assert pointwise.precise(x, x).dtype == torch.float16
