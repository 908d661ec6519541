"""Functions of PyTorch that went or changed."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

import importlib
import math
from typing import Any

import pytest
import torch


def test_new() -> None:
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    assert x.new().numel() == 0
    assert x.new(4, 5).shape == (4, 5)
    assert x.new(x.size()).dtype == torch.float64
    assert x.new([1, 2]).tolist() == [1, 2]
    assert not x.new(1).requires_grad
    assert x.new().resize_as_(x.data).zero_().shape == x.shape


def test_testing() -> None:
    from torch import testing

    get: Any = testing
    dtypes = get.get_all_dtypes()
    dtypes.remove(torch.half)
    integers = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    assert dtypes == [*integers, torch.float32, torch.float64]
    assert len(get.get_all_dtypes()) == 8
    assert torch.half not in get.get_all_math_dtypes("cpu")
    assert torch.half in get.get_all_math_dtypes("cuda")
    assert get.get_all_device_types()[0] == "cpu"
    for shape in ((3,), (2, 3), (1, 1, 4)):
        x = torch.randn(shape)
        assert torch.equal(get.make_non_contiguous(x), x)
        assert not get.make_non_contiguous(x).is_contiguous()
    assert torch.equal(get.make_non_contiguous(torch.ones(1)), torch.ones(1))
    assert get.rand_like(x).shape == get.randn_like(x).shape == x.shape
    assert get.is_tensor(x)


def test_gradcheck() -> None:
    gradcheck: Any = importlib.import_module("torch.autograd.gradcheck")
    x = torch.ones(2, 3, requires_grad=True)
    x.sum().backward()
    gradcheck.zero_gradients([x, (x, torch.ones(1))])
    assert x.grad is not None
    assert x.grad.sum() == 0
    assert list(gradcheck.iter_tensors([x, [torch.ones(1)], "text", 3], only_requiring_grad=True)) == [x]
    assert gradcheck.make_jacobian((x, 3, torch.ones(1)), 4)[0].shape == (6, 4)
    assert gradcheck.make_jacobian(3, 4) is None
    assert gradcheck.gradcheck(lambda z: z**2, x.double().detach().requires_grad_())


def test_six() -> None:
    import torch._six as six  # type: ignore[import-not-found]

    assert isinstance("x", six.string_classes)
    assert isinstance(1, six.int_classes)
    assert isinstance([], six.container_abcs.Sequence)
    assert six.inf == math.inf
    assert math.isnan(six.nan)
    assert (six.PY2, six.PY3) == (False, True)
    meta = type("Meta", (type,), {"mark": 1})
    assert type("Class", (six.with_metaclass(meta, dict),), {}).mark == 1
    assert issubclass(six.with_metaclass(meta, dict), dict)
    with pytest.raises(KeyError) as raised:
        six.raise_from(KeyError("x"), ValueError("y"))
    assert isinstance(raised.value.__cause__, ValueError)
    assert six.get_function_from_type(dict, "nothing") is None
    assert six.istuple((1,))
    assert not six.istuple([1])
    assert six.bind_method(lambda self: self + 1, 2, int)() == 3
