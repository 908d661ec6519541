"""An operator and its recorded form are one to PyTorch: FLOPs, selective checkpointing, sharding, dispatch modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
from torch.utils.flop_counter import FlopCounterMode

import opwright
from opwright import Operators

Leaf = Callable[..., torch.Tensor]


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(Path(__file__).parent / "kernels" / "recorded_ops.cpp")


class Log(TorchDispatchMode):
    """The operators that ran."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "recorded_ops":
            self.seen.append(func)
        return func(*args, **(kwargs or {}))


def test_the_recorded_form_is_an_overload_that_calls_by_name_never_reach(ops: Operators, leaf: Leaf) -> None:
    packet: Any = torch.ops.recorded_ops.scaled
    with Log() as log:
        ops.scaled(leaf(2, 3))
        ops.scaled(leaf(2, 3).detach())
    assert log.seen == [packet.recorded, ops.scaled]
    assert {op.overloadpacket for op in log.seen} == {packet}
    assert packet.default is ops.scaled
    assert packet.overloads() == ["default"]
    assert isinstance(packet(leaf(2, 3)), torch.Tensor)
    y, total = packet.recorded(leaf(2, 3))
    assert (y.shape, total.shape) == ((2, 3), (2,))


def test_without_residuals_the_operator_is_its_own_recorded_form(ops: Operators) -> None:
    assert ops.doubled.overloadpacket.recorded is ops.doubled


def test_the_recorded_form_follows_the_signature(tmp_path: Path, leaf: Leaf) -> None:
    file = tmp_path / "recorded_twice.cpp"
    text = (Path(__file__).parent / "kernels" / "recorded_ops.cpp").read_text("utf-8")
    file.write_text(text, "utf-8")
    ops = opwright.load(file)
    old = ops.powered.overloadpacket.recorded
    file.write_text(text.replace("last", "latest"), "utf-8")
    ops = opwright.load(file)
    new = ops.powered.overloadpacket.recorded
    assert old is not new
    assert len(new(leaf(2))) == 2
    with pytest.raises(opwright.OpwrightError, match="the signature has changed since this callable was taken"):
        old(leaf(2))


def test_one_flop_formula(ops: Operators, leaf: Leaf) -> None:
    def formula(x: tuple[int, ...], **_: Any) -> int:
        return 2 * x[0] * x[1]

    packet: Any = ops.scaled.overloadpacket
    with FlopCounterMode(display=False, custom_mapping={packet: formula}) as counter:
        ops.scaled(leaf(5, 7))
        ops.scaled(leaf(5, 7).detach())
    assert counter.get_flop_counts()["Global"][packet] == 2 * 2 * 5 * 7


def by_policy(named: Any) -> Callable[..., CheckpointPolicy]:
    def policy(_context: Any, op: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
        return CheckpointPolicy.MUST_SAVE if op in named else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


@pytest.mark.parametrize("policy", [list, by_policy])
@pytest.mark.parametrize("saved", [True, False])
def test_selective_checkpointing_by_the_operator(
    ops: Operators, leaf: Leaf, policy: Callable[[Any], Any], saved: bool
) -> None:
    x = leaf(2, 3)

    def run(x: torch.Tensor) -> torch.Tensor:
        return ops.scaled(ops.scaled(x.sin())).sin()  # type: ignore[no-any-return]

    (expected,) = torch.autograd.grad(run(x).sum(), x)
    contexts = partial(create_selective_checkpoint_contexts, policy([ops.scaled] if saved else []))
    y = checkpoint(run, x, use_reentrant=False, context_fn=contexts)
    with Log() as log:
        (found,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    recomputed = [op for op in log.seen if op is ops.scaled.overloadpacket.recorded]
    assert len(recomputed) == (0 if saved else 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("saved", [True, False])
def test_selective_checkpointing_compiled(ops: Operators, leaf: Leaf, saved: bool) -> None:
    from functorch.compile import make_boxed_func, min_cut_rematerialization_partition  # type: ignore[import-untyped]
    from torch._dynamo.backends.common import aot_autograd

    graphs: list[list[Any]] = []

    def collect(graph: Any, _examples: Any) -> Any:
        graphs.append([node.target for node in graph.graph.nodes])
        return make_boxed_func(graph.forward)

    def run(x: torch.Tensor) -> torch.Tensor:
        return ops.scaled(x.sin()).sin()  # type: ignore[no-any-return]

    contexts = partial(create_selective_checkpoint_contexts, [ops.scaled] if saved else [])
    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=collect, partition_fn=min_cut_rematerialization_partition)
    compiled = torch.compile(lambda x: checkpoint(run, x, use_reentrant=False, context_fn=contexts), backend=backend)
    x = leaf(2, 3)
    (found,) = torch.autograd.grad(compiled(x).sum(), x)
    torch.testing.assert_close(found, torch.autograd.grad(run(x).sum(), x)[0])
    forward, backward = graphs
    recorded = ops.scaled.overloadpacket.recorded
    assert recorded in forward
    assert (recorded in backward) == (not saved)


@pytest.fixture
def mesh() -> Iterator[Any]:
    """Two times two processes, of which the first is here; nothing is communicated."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    yield torch.distributed.device_mesh.init_device_mesh("cpu", (2, 2))
    torch.distributed.destroy_process_group()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_one_sharding_rule(ops: Operators, leaf: Leaf, mesh: Any) -> None:
    from torch.distributed.tensor import DTensor, Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    placements = (Replicate(), Shard(0), Shard(1))

    register_sharding(ops.scaled)(lambda _x: [([p], [p]) for p in placements])
    register_sharding(ops.scaled_backward)(lambda *_: [([p], [p] * 3) for p in placements])

    x = leaf(4, 6, 3)
    (expected,) = torch.autograd.grad(ops.scaled(x).square().sum(), x)
    local = x[:2, :3].detach().contiguous().requires_grad_()
    y = ops.scaled(DTensor.from_local(local, mesh, [Shard(0), Shard(1)]))
    assert (y.shape, y.placements) == ((4, 6, 3), (Shard(0), Shard(1)))
    (found,) = torch.autograd.grad(y.to_local().square().sum(), local)
    torch.testing.assert_close(found, expected[:2, :3])
    _, total = ops.scaled.overloadpacket.recorded(DTensor.from_local(local, mesh, [Shard(0), Replicate()]))
    assert total.placements == (Shard(0), Replicate())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_residual_whose_placement_is_undecided(ops: Operators, leaf: Leaf, mesh: Any) -> None:
    from torch.distributed.tensor import DTensor, Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    def accept(*choices: Any) -> None:
        register_sharding(ops.powered)(lambda _x: [([p], [p]) for p in choices])

    x = leaf(4)
    sharded = [Shard(0), Replicate()]
    accept(Shard(0))
    with pytest.raises(RuntimeError) as error:
        ops.powered(DTensor.from_local(x, mesh, sharded))
    assert (
        "powered(): a sharding strategy is registered for it, but while a gradient is recorded it also returns last, "
        "whose placement doesn't follow from the axes\n"
        "  signature:  powered(x: T[N]) -> (y: T[N]; last: T[])\n"
        "  likely fix: accept Replicate() for all tensors, too, or give "
        "register_sharding(torch.ops.recorded_ops.powered.recorded) a placement for each result and residual"
    ) in str(error.value)
    plain = ops.powered(DTensor.from_local(x.detach(), mesh, [Shard(0), Shard(0)]))
    assert plain.placements == (Shard(0), Shard(0))

    choices = [([Shard(0), Replicate()], [Shard(0)]), ([Replicate()] * 2, [Replicate()])]
    register_sharding(ops.powered.overloadpacket.recorded)(lambda _x: choices)
    y = ops.powered(DTensor.from_local(x, mesh, sharded))
    assert y.placements == (Shard(0), Replicate())
