"""Run by ``opwright run --emulate -m pytest``: the emulated device against PyTorch's CPU."""

import copy
import io
import struct
from typing import Any

import pytest
import torch
import torch.cuda.profiler
import torch.utils.data
from torch.utils._pytree import tree_leaves

equal = torch.testing.assert_close


def test_tensors_live_on_it() -> None:
    x = torch.randn(3, 4)
    y = x.cuda()
    assert y.is_cuda
    assert y.device == torch.device("cuda", 0)
    assert not x.is_cuda
    equal(y.cpu(), x)
    equal((y @ y.t() + y.sum()).cpu(), x @ x.t() + x.sum())
    assert torch.zeros(2, device="cuda").device.type == "cuda"
    assert torch.arange(5, device="cuda").is_cuda
    assert y.to("cpu", non_blocking=True).device.type == "cpu"
    assert y.float().is_cuda
    assert y.half().is_cuda


def test_numbers_of_tensors_make_a_tensor() -> None:
    x = torch.ones(2).std()
    equal(torch.tensor([[x, 1], [2, x.cuda()]]), torch.tensor([[0.0, 1.0], [2.0, 0.0]]))


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.bool])
def test_types_of_tensors_make_them(dtype: torch.dtype) -> None:
    kinds = [kind for name, kind in vars(torch.cuda).items() if name.endswith("Tensor")]
    kind = next(each for each in kinds if each.dtype == dtype)
    x = kind([[1, 0], [3, 4]])
    expected = torch.tensor([[1, 0], [3, 4]], dtype=dtype, device="cuda")
    assert isinstance(x, kind)
    assert not isinstance(x.cpu(), kind)
    assert x.is_cuda
    equal(x, expected)
    equal(expected.cpu().type(kind), expected)
    assert kind(2, 3).shape == (2, 3)
    equal(kind(expected.storage()), expected.flatten())
    assert kind.is_cuda
    assert not getattr(torch, kind.__name__).is_cuda
    with pytest.raises(TypeError, match="device=cpu"):
        kind(expected.cpu())


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type:UserWarning")
def test_a_type_of_cuda_as_the_default() -> None:
    try:
        torch.set_default_tensor_type("torch.cuda.DoubleTensor")
        x = torch.Tensor([1, 2])
        assert (x.device.type, x.dtype, torch.ones(2).device.type) == ("cuda", torch.float64, "cuda")
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.ones(2).device.type == "cpu"


def test_views_share_memory() -> None:
    x = torch.zeros(4, 3, device="cuda")
    view = x.view(3, 4)[1:]
    view.fill_(2)
    assert view._base is x
    assert x.sum().item() == 16
    assert x.t().untyped_storage().data_ptr() == x.data_ptr()
    _, second = x.split(2)
    second.add_(1)
    equal(x[2:].cpu(), second.cpu())
    equal(x.conj().cpu(), x.cpu())
    z = torch.randn(3, dtype=torch.complex64)
    equal((z.cuda().conj() * z.cuda()).real.cpu(), (z.conj() * z).real)


def test_results_are_resized() -> None:
    out = torch.empty(0, device="cuda")
    torch.add(torch.ones(5, device="cuda"), 1, out=out)
    equal(out.cpu(), torch.full((5,), 2.0))
    out.resize_(100)
    assert out.untyped_storage().nbytes() == 400
    assert out[:5].sum().item() == 10
    other = torch.empty(0, device="cuda").set_(out.untyped_storage(), 0, (5,), (1,))
    other.zero_()
    assert out[:5].sum().item() == 0


def test_gradients() -> None:
    x = torch.randn(5, 3, device="cuda", dtype=torch.float64, requires_grad=True)
    w = torch.randn(3, 2, device="cuda", dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, w: torch.nn.functional.gelu(x @ w).softmax(-1), (x, w))
    assert torch.autograd.gradgradcheck(lambda x, w: (x @ w).tanh(), (x, w))
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, bias=False), torch.nn.BatchNorm2d(4), torch.nn.GELU()
    ).double()
    there, images = copy.deepcopy(module).cuda(), torch.randn(2, 3, 8, 8).double()
    optimizer, other = torch.optim.Adam(module.parameters()), torch.optim.Adam(there.parameters())
    for _ in range(3):
        for each, given, by in ((module, images, optimizer), (there, images.cuda(), other)):
            by.zero_grad()
            each(given).square().mean().backward()
            by.step()
    for here, parameter in zip(module.parameters(), there.parameters(), strict=True):
        equal(parameter.detach().cpu(), here.detach())


def test_devices_arent_mixed() -> None:
    x = torch.ones(3, device="cuda")
    for join in (torch.add, torch.minimum, torch.atan2):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            join(x, torch.ones(3))
    equal((x + torch.tensor(2.0)).cpu(), torch.full((3,), 3.0))
    assert x[torch.tensor([0, 1])].is_cuda
    with pytest.raises(RuntimeError):
        torch.ones(3)[torch.tensor([0, 1], device="cuda")]
    with pytest.raises(NotImplementedError, match="layout Sparse, which Opwright's emulation of CUDA doesn't have"):
        torch.ops.aten._to_sparse(torch.eye(3, device="cuda"))


def test_random_numbers() -> None:
    torch.manual_seed(3)
    first = torch.randn(100, device="cuda")
    assert not torch.equal(first, torch.randn(100, device="cuda"))
    torch.cuda.manual_seed(3)
    equal(torch.randn(100, device="cuda"), first)
    state = torch.cuda.get_rng_state()
    drawn = torch.rand(4, device="cuda")
    torch.cuda.set_rng_state(state)
    equal(torch.rand(4, device="cuda"), drawn)
    own = torch.Generator("cuda").manual_seed(7)
    one = torch.randperm(50, device="cuda", generator=own)
    equal(torch.randperm(50, device="cuda", generator=torch.Generator("cuda").manual_seed(7)), one)
    many = torch.randn(100_000, device="cuda")
    assert abs(many.mean().item()) < 0.02
    assert abs(many.std().item() - 1) < 0.02


def test_streams_and_events() -> None:
    stream, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        assert stream != torch.cuda.default_stream()
        x = torch.ones(1000, device="cuda").cumsum(0)
        x.record_stream(stream)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    torch.cuda.current_stream().wait_stream(stream)
    end.record(stream)
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0
    assert end.query()
    assert stream.query()


def test_the_rest_of_torch_cuda() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 1
    assert torch.cuda.current_device() == 0
    assert torch.cuda.get_device_capability() == (8, 0)
    assert str(torch.version.cuda).startswith("12.")
    assert torch.cuda.get_device_properties(0).warp_size == 32
    assert torch.cuda.get_device_name()
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() == before + (1 << 20)
    del x
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() >= before + (1 << 20)
    torch.cuda.empty_cache()
    with torch.cuda.device(0), torch.autocast("cuda", dtype=torch.float16):
        assert (torch.ones(2, 2).cuda() @ torch.ones(2, 2).cuda()).dtype == torch.float16
    for call in (lambda: torch.zeros(1, device="cuda:1"), lambda: torch.cuda.set_device(1)):
        with pytest.raises(RuntimeError, match="the emulated device is cuda:0"):
            call()


def test_it_is_saved_and_copied() -> None:
    x = torch.randn(3, device="cuda")
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    equal(torch.load(file)["x"], x)
    file.seek(0)
    equal(torch.load(file, map_location="cpu")["x"], x.cpu())
    equal(copy.deepcopy(x), x)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # forward mode of PyTorch's
def test_tangents_that_are_zero() -> None:
    here = [torch.randn(3) for _ in range(3)]
    x, y, tangent = (each.cuda() for each in here)
    for call in (torch.mul, torch.atan2):
        expected = torch.func.jvp(lambda x, call=call: call(x, here[1]), (here[0],), (here[2],))[1]
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, tangent)
            found = torch.autograd.forward_ad.unpack_dual(call(dual, y)).tangent
        assert found is not None
        equal(found.cpu(), expected)


def assert_same_as_on_the_cpu(module: torch.nn.Module, *inputs: torch.Tensor) -> None:
    """Compare results and gradients of a module on the device with those on the CPU."""
    there = copy.deepcopy(module).cuda()
    found = []
    for each, device in ((module, "cpu"), (there, "cuda")):
        given = [x.to(device).detach().requires_grad_() for x in inputs]
        results = [x for x in tree_leaves(each(*given)) if isinstance(x, torch.Tensor)]
        total = sum(((i + 1) * x.square().sum() for i, x in enumerate(results)), torch.zeros(()))
        found.append([*results, *torch.autograd.grad(total, [*given, *each.parameters()])])
    for here, other in zip(*found, strict=True):
        assert other.is_cuda
        equal(other.detach().cpu(), here.detach())


@pytest.mark.filterwarnings("ignore:PyTorch was compiled without cuDNN:UserWarning")
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_recurrent_networks(kind: type) -> None:
    """PyTorch has the fused cells of LSTM and GRU for CUDA alone."""
    x = torch.randn(5, 2, 3, dtype=torch.float64)
    assert_same_as_on_the_cpu(kind(3, 4, num_layers=2, bidirectional=True).double(), x)
    assert_same_as_on_the_cpu(kind(3, 4, bias=False, batch_first=True).float(), x.float())
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]))
    module = kind(3, 4).double()
    equal(copy.deepcopy(module).cuda()(packed.cuda())[0].data.cpu(), module(packed)[0].data)
    layer = kind(3, 4).double().cuda()
    small = torch.randn(2, 2, 3, dtype=torch.float64, device="cuda", requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: layer(x)[0], small)
    assert torch.autograd.gradgradcheck(lambda x: layer(x)[0], small)
    half = kind(3, 4).cuda().half()
    found = half(x.cuda().half())[0]
    assert found.dtype == torch.float16
    equal(found.cpu().double(), half.cpu().double()(x.half().double())[0], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("more", [{}, {"stride": 2, "bias": False}, {"padding": 1, "dilation": 2}])
def test_depthwise_convolutions(axes: int, more: dict[str, Any]) -> None:
    """PyTorch has their kernels for CUDA alone."""
    x = torch.randn(2, 4, *[6] * axes, dtype=torch.float64)
    for name in (f"Conv{axes}d", f"ConvTranspose{axes}d"):
        assert_same_as_on_the_cpu(getattr(torch.nn, name)(4, 8, 3, groups=4, **more).double(), x)


def test_operators_of_depthwise_convolutions() -> None:
    x, weight, bias = torch.randn(2, 4, 7, 6), torch.randn(8, 1, 3, 2), torch.randn(8)
    arguments = [3, 2], bias.cuda(), [2, 1], [1, 0], [1, 2]
    expected = torch.nn.functional.conv2d(x, weight, bias, (2, 1), (1, 0), (1, 2), groups=4)
    equal(torch.ops.aten._conv_depthwise2d(x.cuda(), weight.cuda(), *arguments).cpu(), expected)
    out = torch.empty(0, device="cuda")
    torch.ops.aten._conv_depthwise2d.out(x.cuda(), weight.cuda(), *arguments, out=out)
    equal(out.cpu(), expected)
    volume, kernel = torch.randn(1, 3, 4, 4, 4), torch.randn(3, 1, 2, 2, 2)
    found = torch.ops.aten.conv_depthwise3d(volume.cuda(), kernel.cuda(), [2] * 3, None, [1] * 3, [0] * 3, [1] * 3)
    equal(found.cpu(), torch.nn.functional.conv3d(volume, kernel, groups=3))
    with pytest.raises(RuntimeError, match=r"a weight with a kernel of sizes \[2, 2\], got sizes \[8, 1, 3, 2"):
        torch.ops.aten._conv_depthwise2d(x.cuda(), weight.cuda(), [2, 2], *arguments[1:])


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_takes_half_precision_to_single(name: str) -> None:
    """PyTorch's for the CPU doesn't, with `half_to_float`, which `dtype=` asks for on a GPU."""
    x, grad = torch.randn(4, 5).half(), torch.randn(4, 5)
    apply = getattr(torch.nn.functional, name)
    for dtype in (torch.float16, torch.bfloat16):
        there = x.cuda().to(dtype).requires_grad_()
        here = x.to(dtype, copy=True).requires_grad_()
        found, expected = apply(there, -1, dtype=torch.float32), apply(here.float(), -1)
        assert found.dtype == torch.float32
        equal(found.cpu(), expected)
        found.backward(grad.cuda())
        expected.backward(grad)
        assert there.grad is not None
        assert here.grad is not None
        equal(there.grad.cpu(), here.grad)


def test_what_pytorch_has_for_cuda_alone() -> None:
    with pytest.raises(NotImplementedError, match=r"aten::mm\(\) has a kernel for CUDA alone, in PyTorch itself"):
        torch.mm(torch.ones(2, 2).half().cuda(), torch.ones(2, 2).half().cuda(), out_dtype=torch.float32)


def test_storages_are_resized() -> None:
    x = torch.arange(4.0, device="cuda")
    storage = x.untyped_storage()
    storage.resize_(8)
    assert bytes(storage.cpu().tolist()) == struct.pack("ff", 0, 1)
    storage.resize_(0)
    assert storage.nbytes() == 0
    storage.resize_(16)
    equal(x.fill_(2).cpu(), torch.full((4,), 2.0))
    assert torch.ones(2).untyped_storage().resize_(4).nbytes() == 4


def test_pinned_memory() -> None:
    x = torch.arange(3.0)
    pinned = x.pin_memory()
    assert pinned.is_pinned()
    assert pinned[1:].is_pinned()
    assert not x.is_pinned()
    assert pinned.device.type == "cpu"
    equal(pinned.to("cuda", non_blocking=True).cpu(), x)
    assert torch.empty(3, pin_memory=True).is_pinned()
    numbers: Any = torch.arange(6.0)
    assert all(batch.is_pinned() for batch in torch.utils.data.DataLoader(numbers, batch_size=2, pin_memory=True))


def test_statistics_of_memory() -> None:
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.reset_accumulated_memory_stats()
    before, stats = torch.cuda.memory_allocated(), torch.cuda.memory_stats
    small, large = (torch.empty(n, dtype=torch.uint8, device="cuda") for n in (100, 3 << 20))
    assert torch.cuda.memory_allocated() == before + 100 + (3 << 20)
    del large
    assert torch.cuda.max_memory_allocated() == before + 100 + (3 << 20)
    assert stats()["allocated_bytes.small_pool.allocated"] == 100
    assert stats()["allocated_bytes.large_pool.freed"] == 3 << 20
    assert stats()["allocation.all.allocated"] == 2
    assert "Allocated memory" in torch.cuda.memory_summary()
    free, total = torch.cuda.mem_get_info()
    del small
    assert torch.cuda.mem_get_info() == (free + 100, total)
    with pytest.raises(NotImplementedError, match="no snapshots of its memory"):
        torch.cuda.memory_snapshot()


def test_marks_for_profilers() -> None:
    with torch.cuda.nvtx.range("outer"), torch.cuda.profiler.profile():
        torch.cuda.nvtx.mark("inner")
    torch.cuda.check_error(0)


def test_operators_of_others_need_a_kernel_for_cuda() -> None:
    with torch.library._scoped_library("emulated_test", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: 2 * x, "CPU")
        twice = torch.ops.emulated_test.twice
        assert twice(torch.ones(1)).item() == 2
        with pytest.raises(
            NotImplementedError, match="Could not run 'emulated_test::twice' with arguments from the 'CUDA'"
        ):
            twice(torch.ones(1, device="cuda"))
