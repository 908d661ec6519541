"""Calls: what reaches the kernel, and what is refused before it does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from opwright import ArgumentError, KernelError, Operators

_TYPES = [
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool),
]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", _TYPES, ids=str)
def test_every_element_type(calls: Operators, dtype: torch.dtype) -> None:
    x = torch.tensor([[0, 1, 2], [3, 100, 1]]).to(dtype)
    y = calls.copy(x.t())
    assert y.dtype is dtype
    assert y.is_contiguous()
    assert torch.equal(y, x.t())


@pytest.mark.parametrize("dtype", [torch.complex64, torch.float8_e4m3fn, torch.complex32], ids=str)
@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_an_element_type_that_isnt_listed(calls: Operators, dtype: torch.dtype) -> None:
    for device in ("cpu", "meta"):
        with pytest.raises(ArgumentError, match=r"copy\(\): x has (an )?element type"):
            calls.copy(torch.zeros(3, device=device).to(dtype))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (0, 4), (4, 0, 2), (2, 1, 1, 3, 1, 1, 2, 1)])
def test_every_rank(calls: Operators, shape: tuple[int, ...]) -> None:
    sizes, strides, ndim = calls.rank(torch.zeros(shape))
    assert ndim == len(shape)
    assert sizes.tolist() == [*shape, *[-1] * (8 - len(shape))]
    expected = [torch.empty(shape[d + 1 :]).numel() for d in range(len(shape))]
    assert strides.tolist() == [*expected, *[-1] * (8 - len(shape))]


def test_a_huge_rank(calls: Operators) -> None:
    x = torch.arange(4.0).reshape([1] * 60 + [2, 2])
    assert torch.equal(calls.copy(x.transpose(60, 61)), x.transpose(60, 61))
    assert calls.rank(x)[2] == 62


def test_a_dense_parameter_is_copied_where_it_must(calls: Operators) -> None:
    x, flag = torch.arange(6.0).reshape(2, 3), torch.tensor(True)
    assert calls.dense(x, flag)[0] == x.data_ptr()
    assert calls.dense(x[1:], flag)[0] == x[1:].data_ptr()
    for view in (x.t(), x[:, ::2], x[:1].expand(4, 3), x.flip(0).t()):
        address, y = calls.dense(view, flag)
        assert torch.equal(y, view)
        assert (address == view.data_ptr()) == view.is_contiguous()


def test_a_strided_parameter_is_never_copied(calls: Operators) -> None:
    x = torch.arange(24.0).reshape(4, 6)
    for view in (x, x.t(), x[1::2, ::3], x[:1].expand(5, 6), x[2:, 1:2].expand(2, 4)):
        address, strides, y = calls.strided(view)
        assert address == view.data_ptr()
        assert tuple(strides.tolist()) == view.stride()
        assert torch.equal(y, view)


def test_several_type_variables(calls: Operators) -> None:
    x, y = torch.tensor([1.5, 2.5], dtype=torch.float16), torch.tensor([3.0, 4.0], dtype=torch.float64)
    u, t, total = calls.swap(x, y)
    assert torch.equal(u, y)
    assert torch.equal(t, x)
    assert (total.dtype, total.item()) == (torch.float32, 4.0)
    u, t, total = calls.swap(y, x)
    assert (u.dtype, t.dtype, total.dtype) == (torch.float16, torch.float64, torch.float64)


def test_scalars_and_defaults(calls: Operators) -> None:
    x = torch.zeros(())
    assert calls.scalars(x, 1.5, -3).tolist() == [1.5, -3, 1, -0.5]
    assert calls.scalars(x, b=2**31 - 1, a=2, d=7, c=False).tolist() == [2, 2**31 - 1, 0, 7]
    assert calls.scalars(x, 1, True).tolist() == [1, 1, 1, -0.5]
    assert calls.scalars(x, float("inf"), 0)[0] == float("inf")


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**62])
def test_an_int_that_doesnt_fit_the_kernels_parameter(calls: Operators, value: int) -> None:
    with pytest.raises(
        KernelError, match=rf"scalars\(\): b is {value}, which doesn't fit the kernel's parameter of 4 bytes"
    ):
        calls.scalars(torch.zeros(()), 1.0, value)


def test_the_number_and_kind_of_arguments(calls: Operators) -> None:
    x = torch.zeros(())
    wrong = [(), (x,), (x, 1.0), (x, 1.0, 2, True, 0.5, 6), (x, "1", 2), (x, 1.0, 2.5), (None, 1.0, 2), (3, 1.0, 2)]
    for arguments in wrong:
        with pytest.raises((TypeError, RuntimeError), match="scalars"):
            calls.scalars(*arguments)
    with pytest.raises((TypeError, RuntimeError), match="scalars"):
        calls.scalars(x, 1.0, 2, wrong=3)
    with pytest.raises((TypeError, RuntimeError), match="scalars"):
        calls.scalars(x, 1.0, 2, b=3)


def test_a_type_that_only_absent_tensors_have(calls: Operators) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(calls.dense(x)[1], x)
    assert torch.equal(calls.dense(x, None)[1], x)
    meta = calls.dense(x.to("meta"))[1]
    assert (meta.shape, meta.dtype) == (x.shape, x.dtype)


def test_axis_equations(calls: Operators) -> None:
    for a, b, c in ((3, 4, 5), (1, 2, 0), (1, 0, 4), (2, 1, 1)):
        if b == 0:
            continue
        sizes, w = calls.axes(torch.zeros(2 * a + 1, b), torch.zeros(b * c), torch.zeros(c // 2, a - 1))
        assert sizes.tolist() == [a, b, c]
        assert w.shape == (a + b, c // 2 * 3)
    with pytest.raises(ArgumentError, match=r"expected \[2\*A\+1, B\]: no A gives 2\*A\+1 = 4"):
        calls.axes(torch.zeros(4, 1), torch.zeros(1), torch.zeros(0, 0))
    with pytest.raises(ArgumentError, match="no argument tells C"):
        calls.axes(torch.zeros(3, 0), torch.zeros(0), torch.zeros(0, 0))
    with pytest.raises(ArgumentError, match="no C gives"):
        calls.axes(torch.zeros(3, 2), torch.zeros(3), torch.zeros(0, 0))


def test_cells_axes(calls: Operators) -> None:
    def call(**changed: tuple[int, ...]) -> torch.Tensor:
        shapes = {"input": (2, 5), "weights": (9, 8), "bias": (9,), "old_h": (2, 3)} | changed
        out: torch.Tensor = calls.cell(**{name: torch.zeros(shape) for name, shape in shapes.items()})
        return out

    assert call().tolist() == [[0, 1, 2], [3, 4, 5]]
    for wrong in ({"weights": (9, 9)}, {"bias": (8,)}, {"bias": (9, 1)}, {"old_h": (1, 3)}, {"input": (5,)}):
        with pytest.raises(ArgumentError, match="cell"):
            call(**wrong)


def test_broadcasting_is_not_silent(calls: Operators, grads: Operators) -> None:
    with pytest.raises(ArgumentError, match=r"mul\(\): y has shape \(1,\), expected \[...\] = \(3,\)"):
        grads.mul(torch.zeros(3), torch.zeros(1))
    with pytest.raises(ArgumentError, match=r"y has element type float64, expected T = float32 \(x\)"):
        grads.mul(torch.zeros(3), torch.zeros(3, dtype=torch.float64))
    with pytest.raises(ArgumentError, match="element type"):
        calls.copy(torch.zeros(3, dtype=torch.complex128))


def test_devices_dont_mix(grads: Operators) -> None:
    cpu, meta = torch.zeros(3), torch.zeros(3, device="meta")
    for arguments in ((cpu, meta), (meta, cpu)):
        with pytest.raises(ArgumentError, match=r"mul\(\): .* all tensors of a call must be on one device"):
            grads.mul(*arguments)


@pytest.mark.parametrize("layout", ["coo", "csr", "mkldnn", "quantized", "nested"])
@pytest.mark.filterwarnings("ignore")
def test_tensors_that_arent_dense_are_refused(calls: Operators, layout: str) -> None:
    x = torch.eye(3)
    makers: dict[str, Callable[[], torch.Tensor]] = {
        "coo": x.to_sparse,
        "csr": x.to_sparse_csr,
        "mkldnn": x.to_mkldnn,
        "quantized": lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        "nested": lambda: torch.nested.nested_tensor([x, x]),
    }
    tensor = makers[layout]()
    with pytest.raises((RuntimeError, NotImplementedError), match="copy"):
        calls.copy(tensor)


def test_lazily_negated_tensors(calls: Operators, grads: Operators) -> None:
    x = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    assert x.is_neg()
    assert calls.copy(x).tolist() == [-2.0, 4.0]
    y = x.detach().requires_grad_()
    assert y.is_neg()
    assert torch.autograd.grad(grads.mul(y, y).sum(), y)[0].tolist() == [-4.0, 8.0]
    assert calls.strided(x.expand(2, 2))[2].tolist() == [[-2.0, 4.0]] * 2


def test_a_tensor_of_zeros_without_memory(calls: Operators) -> None:
    assert calls.copy(torch._efficientzerotensor(3)).tolist() == [0.0] * 3


def test_checks_in_the_kernel(calls: Operators) -> None:
    x = torch.tensor([1.0, float("nan")])
    assert calls.checked(x[:1], 1).tolist() == [1.0]
    with pytest.raises(
        KernelError, match=r"^checked\(\): k is -7, x has 2 elements \[k > 0 is false, .*call_ops.cpp:\d+\]$"
    ):
        calls.checked(x, -7)
    with pytest.raises(KernelError, match=r"^checked\(\): \[k < 3 is false, "):
        calls.checked(x, 3)
    with pytest.raises(KernelError, match=r"^checked\(\): x\[1\] is NaN \["):
        calls.checked(x, 2)


def test_a_module_parameter_and_its_subclasses(calls: Operators) -> None:
    parameter = torch.nn.Parameter(torch.ones(3))
    assert calls.copy(parameter).tolist() == [1.0] * 3
    assert type(calls.copy(parameter)) is torch.Tensor
