"""Arguments whose memory isn't what a plain tensor's is."""

from __future__ import annotations

import pytest
import torch

import opwright
from opwright import ArgumentError, Operators

SOURCE = """
OPWRIGHT("twice(x: T[...]!)")
template <class T>
void twice(Tensor<T> x) {
  for (int64_t i = 0; i < x.numel(); ++i) x[i] = 2 * x[i];
}

OPWRIGHT("add_to(x: T[N]!, y: T[N]) -> (s: T[N], address: i64[])")
template <class T>
void add_to(Strided<T, 1> x, Strided<const T, 1> y, Tensor<T, 1> s, Tensor<int64_t, 0> address) {
  address() = reinterpret_cast<int64_t>(&y[0]);
  for (int64_t i = 0; i < x.size(0); ++i) x[i] = s[i] = x[i] + y[i];
}

OPWRIGHT("pick(x: T[N], i: i64[N] in [0, N)) -> (y: T[N])")
template <class T>
void pick(Tensor<const T, 1> x, Tensor<const int64_t, 1> i, Tensor<T, 1> y) {
  for (int64_t k = 0; k < x.size(0); ++k) y[k] = x[i[k]];
}

OPWRIGHT("pick_backward(grad_y: T[N], i: i64[N]) -> (grad_x: T[N])")
template <class T>
void pick_backward(Tensor<const T, 1> grad_y, Tensor<const int64_t, 1> i, Tensor<T, 1> grad_x) {
  for (int64_t k = 0; k < i.size(0); ++k) grad_x[k] = 0;
  for (int64_t k = 0; k < i.size(0); ++k) grad_x[i[k]] += grad_y[k];
}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Operators:
    path = tmp_path_factory.mktemp("memory") / "memory_ops.cpp"
    path.write_text(f"#include <opwright.h>\n{SOURCE}")
    return opwright.load(path)


def test_a_lazy_copy_is_made_before_it_is_written(ops: Operators) -> None:
    x = torch.arange(4.0)
    copy = torch._lazy_clone(x)
    ops.twice(copy)
    assert x.tolist() == [0, 1, 2, 3]
    assert copy.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("base", ["view", "grad"])
def test_a_lazily_negated_tensor_is_overwritten(ops: Operators, base: str) -> None:
    x = torch.arange(4.0)
    source = x if base == "view" else x.requires_grad_() * 1
    y = torch._neg_view(source)
    version = y._version
    ops.twice(y)
    assert y.is_neg()
    assert y.tolist() == [0, -2, -4, -6]
    assert source.tolist() == [0, 2, 4, 6]
    assert y._version == version + 1


def test_the_imaginary_part_of_a_conjugate_is_overwritten(ops: Operators) -> None:
    z = torch.tensor([1 + 2j, 3 - 4j])
    part = z.conj().imag
    assert part.is_neg()
    ops.twice(part)
    assert (part.tolist(), z.tolist()) == ([-4, 8], [1 + 4j, 3 - 8j])


def test_a_lazily_negated_tensor_beside_one_that_is_overwritten(ops: Operators) -> None:
    x, y = torch.zeros(3), torch._neg_view(torch.ones(3))
    s, _ = ops.add_to(x, y)
    assert x.tolist() == s.tolist() == [-1, -1, -1]
    with pytest.raises(ArgumentError, match=r"twice\(\): x has element type complex64"):
        ops.twice(torch.zeros(3, dtype=torch.complex64).conj())


def _unaligned(values: list[float], dtype: torch.dtype) -> torch.Tensor:
    memory = bytearray(len(values) * dtype.itemsize + 1)
    return torch.frombuffer(memory, dtype=dtype, offset=1).copy_(torch.tensor(values))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_a_kernel_gets_aligned_elements(ops: Operators, dtype: torch.dtype) -> None:
    x, y = _unaligned([1, 2, 3], dtype), _unaligned([4, 5, 6], dtype)
    assert y.data_ptr() % dtype.itemsize
    s, address = ops.add_to(x, y)
    assert address % dtype.itemsize == 0
    assert x.tolist() == s.tolist() == [5, 7, 9]
    ops.twice(x)
    assert x.tolist() == [10, 14, 18]


@pytest.mark.parametrize("which", [0, 1])
def test_a_tensor_whose_storage_was_freed(ops: Operators, which: int) -> None:
    arguments = [torch.ones(3), torch.zeros(3, dtype=torch.int64)]
    arguments[which].untyped_storage().resize_(0)
    with pytest.raises(ArgumentError, match=rf"^pick\(\): {'xi'[which]} has no memory: its storage was freed"):
        ops.pick(*arguments)


@pytest.mark.slow
def test_a_backward_of_which_nothing_is_wanted(ops: Operators) -> None:
    grad_y, i = torch.ones(3), torch.tensor([0, 0, 1])
    assert ops.pick_backward(grad_y, i, [True]).tolist() == [2, 1, 0]
    assert ops.pick_backward(grad_y, i, [False]) is None


def test_without_a_tensor(ops: Operators) -> None:
    with pytest.raises(ArgumentError, match=r"^pick\(\): x is missing, expected T\[N\]"):
        ops.pick(None, None)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_in_inference_mode(ops: Operators) -> None:
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    with torch.inference_mode(), pytest.raises(ArgumentError, match=r"twice\(\): x is a nested tensor"):
        ops.twice(nested)
