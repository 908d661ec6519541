"""cuBLASLt's products: layouts, batches, what follows the product."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from .conftest import Library, by_columns, from_columns

NONE = None
DEFAULT, RELU, BIAS, GELU, AUX = 1, 2, 4, 32, 128
NOT_SUPPORTED, INVALID = 15, 7


@pytest.fixture(scope="module")
def lt(built: Callable[[str], Library]) -> Library:
    """Its function."""
    return built("blas_lt_functions")


def scalars(alpha: float, beta: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Alpha and beta, in the type that is computed in."""
    return torch.tensor([float(alpha)]), torch.tensor([float(beta)])


@pytest.mark.parametrize(("ta", "tb"), [(0, 0), (1, 0), (0, 1)])
@pytest.mark.parametrize("order", [0, 1])
def test_products(lt: Library, ta: int, tb: int, order: int) -> None:
    m, n, k, batch = 5, 3, 4, 2
    a, b = torch.randn(batch, *((k, m) if ta else (m, k))), torch.randn(batch, *((n, k) if tb else (k, n)))
    c = torch.randn(batch, m, n)
    stored = [each.contiguous() if order else by_columns(each) for each in (a, b, c)]
    d, (alpha, beta) = torch.empty_like(stored[2]), scalars(2, 0.5)
    lt.right("product", ta, tb, m, n, k, 0, order, batch, alpha, *stored[:2], beta, stored[2], d, DEFAULT, NONE, NONE)
    expected = 2 * (a.mT if ta else a).double() @ (b.mT if tb else b).double() + 0.5 * c
    torch.testing.assert_close(d if order else from_columns(d, m), expected.float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("epilogue", [RELU, BIAS, BIAS | RELU, GELU, GELU | BIAS, GELU | AUX | BIAS])
def test_epilogues(lt: Library, dtype: torch.dtype, epilogue: int) -> None:
    """As a layer of a network calls it: the weight is transposed, the bias is of the output's features."""
    features, rows, inputs = 6, 5, 4
    weight, x, bias = (torch.randn(s).to(dtype) for s in ((features, inputs), (rows, inputs), (features,)))
    out, aux = torch.zeros(rows, features).to(dtype), torch.zeros(rows, features).to(dtype)
    alpha, beta = scalars(1, 0)
    number = {torch.float32: 0, torch.float16: 2, torch.bfloat16: 14}[dtype]
    lt.right(
        "product", 1, 0, features, rows, inputs, number, 0, 1, alpha, weight, x, beta, out, out, epilogue, bias, aux
    )
    expected = x.double() @ weight.double().T + (bias.double() if epilogue & BIAS else 0)
    before = expected
    if epilogue & GELU:
        expected = torch.nn.functional.gelu(expected, approximate="tanh")
    if epilogue & RELU:
        expected = expected.relu()
    torch.testing.assert_close(out, expected.to(dtype))
    if epilogue & AUX:
        torch.testing.assert_close(aux, before.to(dtype))


def test_gradients(lt: Library) -> None:
    """The gradients of a layer: of the activation (64), of the bias (16), sums of the operands (256, 512)."""
    features, rows, inputs = 6, 5, 4
    weight, upstream, before = torch.randn(inputs, features), torch.randn(rows, inputs), torch.randn(rows, features)
    out, sums, (alpha, beta) = torch.zeros(rows, features), torch.zeros(features), scalars(1, 0)
    given = ("product", 1, 0, features, rows, inputs, 0, 0, 1, alpha, weight.T.contiguous(), upstream, beta, out, out)
    point = before.double().requires_grad_()
    torch.nn.functional.gelu(point, approximate="tanh").backward(upstream.double() @ weight.double())
    assert point.grad is not None
    lt.right(*given, 64 | AUX | 16, sums, before)
    torch.testing.assert_close(out, point.grad.float())
    torch.testing.assert_close(sums, point.grad.sum(0).float())
    lt.right(*given, 256, sums, NONE)
    torch.testing.assert_close(sums, weight.sum(0))
    of_rows = torch.zeros(rows)
    lt.right(*given, 512, of_rows, NONE)
    torch.testing.assert_close(of_rows, upstream.sum(1))


def test_what_cant_be_done_is_a_status(lt: Library) -> None:
    x, (alpha, beta) = torch.zeros(16), scalars(1, 0)
    given = ("product", 0, 0, 2, 2, 2)
    assert lt(*given, 28, 0, 1, alpha, x, x, beta, x, x, DEFAULT, NONE, NONE) == NOT_SUPPORTED  # 8-bit floats
    assert lt(*given, 0, 2, 1, alpha, x, x, beta, x, x, DEFAULT, NONE, NONE) == NOT_SUPPORTED  # order: in tiles
    assert lt(*given, 0, 0, 1, alpha, x, x, beta, x, x, 8 | AUX, NONE, NONE) == NOT_SUPPORTED
    assert lt(*given, 0, 0, 0, alpha, x, x, beta, x, x, DEFAULT, NONE, NONE) == INVALID
    assert lt(*given, 0, 0, 1, NONE, x, x, beta, x, x, DEFAULT, NONE, NONE) == INVALID
    assert lt(*given, 0, 0, 1, alpha, x, NONE, beta, x, x, DEFAULT, NONE, NONE) == 13  # CUBLAS_STATUS_EXECUTION_FAILED
