"""What is refused of functions, signatures, arguments and results; each error names it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import ArgumentError, KernelError, SignatureError, SourceError, UnsupportedError
from tests.aten.differentiable.functions import (
    DOUBLE,
    GLU,
    MUL,
    SECOND,
    fresh,
    inputs,
    make,
)


def test_the_error_of_a_function_is_raised_as_it_is() -> None:
    def fails(_x: torch.Tensor) -> torch.Tensor:
        raise ZeroDivisionError("mine")

    op = make(fails, fails, DOUBLE)
    with pytest.raises(ZeroDivisionError, match="mine"):
        op(torch.ones(1))
    with pytest.raises(ZeroDivisionError, match="mine"):
        make(lambda x: 2 * x, fails, DOUBLE)(inputs((2,))[0]).sum().backward()


def test_arguments_that_do_not_fit(glu: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(ArgumentError, match=r"w has shape \(10, 5\), expected \[2\*M, K\] = \(\?, 4\)"):
        glu(torch.ones(3, 4), torch.ones(10, 5))
    with pytest.raises(ArgumentError, match="sparse"):
        glu(torch.ones(3, 4).to_sparse(), torch.ones(10, 4))
    with pytest.raises(ArgumentError, match="index"):
        make(
            lambda x, at: x[at],
            lambda *_: None,
            [
                "take(x: T[N], at: i64[K] in [0, N)) -> (y: T[K])",
                "take_backward(grad_y: T[K], x: T[N]) -> (grad_x: T[N])",
            ],
        )(torch.ones(3), torch.tensor([3]))


def unnamed(results: Any) -> Callable[..., Any]:
    def function(*_args: Any) -> Any:
        return results

    function.__qualname__ = "lltm_forward"
    return function


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (
            [torch.ones(2, 3)],
            (
                "returned 1 tensor, expected 2: a, t (t after the ';', kept for the backward)\n"
                "  bound so far: N=2, M=3\n"
                "  signature:    f(x: T[N, M]) -> (a: T[N, M]; t: T[M])\n"
                "  likely fix:   return one for each name of the signature, in its order"
            ),
        ),
        (torch.ones(2, 3), "returned 1 tensor, expected 2"),
        ([torch.ones(2, 3), torch.ones(2)], "returned t with shape (2,), expected [M] = (3,)"),
        ([torch.ones(2, 3), torch.ones(3).double()], "returned t as torch.float64, expected T = f32"),
        ([torch.ones(2, 3), torch.ones(3, device="meta")], "returned t on meta, expected cpu"),
        ([torch.ones(2, 3), None], "returned NoneType for t, expected a tensor"),
        ([torch.ones(2, 3), 3.0], "returned float for t, expected a tensor"),
    ],
)
def test_results_that_do_not_fit(results: Any, message: str) -> None:
    signature = ["f(x: T[N, M]) -> (a: T[N, M]; t: T[M])", "f_backward(grad_a: T[N, M]) -> (grad_x: T[N, M])"]
    op = make(unnamed(results), unnamed(None), signature)
    with pytest.raises(KernelError) as caught:
        op(torch.ones(2, 3))
    assert str(caught.value).startswith(f"f(): lltm_forward {message}")


def test_the_wrong_number_of_gradients() -> None:
    op = make(torch.mul, lambda g, x, _y: g * x, MUL)
    with pytest.raises(KernelError, match="returned 1 gradient, expected 2: grad_x, grad_y"):
        op(*inputs((3,), (3,))).sum().backward()


def test_tensors_on_two_devices(glu: Callable[..., torch.Tensor]) -> None:
    with pytest.raises((ArgumentError, RuntimeError), match="device"):
        glu(torch.ones(3, 4), torch.ones(10, 4, device="meta"))


@pytest.mark.parametrize(
    ("functions", "signature", "error", "message"),
    [
        ((torch.mul, 3), MUL, TypeError, r"differentiable\(\) got 3, expected a function"),
        (
            (torch.mul, torch.mul),
            MUL[0],
            TypeError,
            r"add the signature of its backward, such as\n  mul_backward\(grad_z: T\[...\], ",
        ),
        ((torch.mul, None), MUL, TypeError, r"differentiable\(\) got None, expected a function"),
        ((torch.mul, None, torch.mul), MUL, TypeError, r"differentiable\(\) got None, expected a function"),
        ((torch.mul, torch.mul), None, TypeError, r"got signature=None, expected a list of strings"),
        ((torch.mul, torch.mul), [1, 2], TypeError, r"got signature=\[1, 2\], expected a list of strings"),
        ((torch.mul, torch.mul), [*MUL, SECOND], TypeError, "got 3 signatures for 2 functions"),
        ((torch.mul, torch.mul), MUL[::-1], SignatureError, "expected one of mul_backward_backward"),
        ((torch.mul, torch.mul), [MUL[0], "g(x: T[N]) -> (y: T[N])"], SignatureError, "expected one of mul_backward"),
        (
            (torch.mul, torch.mul),
            ["f(x: T) -> (y: T)", "f_backward(grad_y: T) -> (grad_x: T)"],
            UnsupportedError,
            "whole",
        ),
        (
            (torch.mul, torch.mul),
            ["f(x: T[N]!) -> (y: T[N])", "f_backward(grad_y: T[N], grad_x: T[N]) -> (grad_x: T[N])"],
            UnsupportedError,
            "return the new value as an output",
        ),
        (
            (torch.mul, torch.mul),
            ["f(n: int) -> (y: T[n])", "f_backward(grad_y: T[n]) -> (grad_x: T[n])"],
            UnsupportedError,
            "take the tensor",
        ),
    ],
)
def test_what_is_refused(functions: Any, signature: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        opwright.differentiable(*functions, signature=signature, namespace=fresh())


def test_names_that_are_taken() -> None:
    with pytest.raises(SourceError, match=r'likely fix: differentiable\(..., namespace="..."\) with another name$'):
        opwright.differentiable(torch.mul, torch.mul, signature=MUL, namespace="aten")
    with pytest.raises(TypeError, match="contiguous='gradient', expected"):
        make(torch.mul, torch.mul, MUL, contiguous="gradient")


@pytest.mark.exhaustive
def test_functions_that_pybind11_bound(tmp_path: Path) -> None:
    document = Path(__file__).parents[3] / "docs" / "differentiable.md"
    (source,) = re.findall(r"^```cpp\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "glu.cpp").write_text(source)
    code = f"""
import torch, opwright
from opwright.cpp_extension import load
glu = load("glu_cpp", [{str(tmp_path / "glu.cpp")!r}], extra_cflags=["-O1"])
op = opwright.differentiable(glu.forward, glu.backward, signature={GLU!r})
x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
w = torch.randn(10, 4, dtype=torch.float64, requires_grad=True)
torch.testing.assert_close(op(x, w, 2.0), 2 * torch.nn.functional.glu(x @ w.t()))
assert torch.autograd.gradcheck(op, (x, w))
assert set(torch.library.opcheck(op, (x, w)).values()) == {{"SUCCESS"}}
torch.compile(lambda x, w: op(x.sin(), w), fullgraph=True, backend="aot_eager")(x, w).sum().backward()
try:
    op(x, torch.randn(9, 4, dtype=torch.float64))
except opwright.ArgumentError as error:
    print(str(error).splitlines()[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "glu(): w has shape (9, 4), expected [2*M, K]: no M gives 2*M = 9\n"
