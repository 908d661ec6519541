"""The text of the errors of calls: arguments, kernels' own checks, memory."""

from __future__ import annotations

import re

import pytest
import torch

import opwright
from opwright import (
    ArgumentError,
    KernelError,
    OpwrightError,
)
from tests.messages.raising import Write, failing

BLEND = "  signature:    blend(x: T, y: T, w: T?, alpha: float = 2.0) -> (z: T)"


ACCUMULATE = "  signature:    accumulate(y: T!, x: T, a: float = 1.0)"


def test_arguments_that_broadcast(pointwise: opwright.Operators, batched: opwright.Operators) -> None:
    x = torch.ones(2, 3)
    assert failing(lambda: pointwise.blend(x, x.t()), ArgumentError) == (
        "blend(): y has shape (3, 2), which doesn't broadcast with (2, 3): sizes, counted from the last, are equal or "
        f"1\n  bound so far: ...=(2, 3) (x)\n{BLEND}"
    )
    assert failing(lambda: pointwise.accumulate(x[0], x), ArgumentError) == (
        "accumulate(): y has shape (3,) and is overwritten, but the arguments broadcast to (2, 3)\n"
        f"  bound so far: ...=(2, 3) (y, x)\n{ACCUMULATE}"
    )
    assert failing(lambda: pointwise.accumulate(x.long(), x), ArgumentError) == (
        "accumulate(): y has element type int64 and is overwritten, but the result is float32, which can't be cast to "
        f"it\n{ACCUMULATE}\n  likely fix:   y.to(torch.float32)"
    )
    assert failing(lambda: pointwise.accumulate(x, x[0]), ArgumentError) == (
        "accumulate(): y is overwritten, but it shares memory with x\n  likely fix: clone() one of them before the call"
    )
    assert failing(lambda: pointwise.total(*[x.short()] * 3), ArgumentError) == (
        "total(): the element types x int16, y int16, z int16 promote to int16, expected T in (float32, float64, "
        "float16, bfloat16, int32, int64)\n"
        "  signature:    total(x: T, y: T, z: T) -> (s: T) where T in (f32, f64, f16, bf16, i32, i64)\n"
        "  likely fix:   x.to(torch.float32)"
    )
    signature = "affine(x: T[N], w: T[M, N], b: T[M]?, alpha: float = 1.0) -> (y: T[M]) batched"
    assert failing(lambda: batched.affine(x, torch.ones(5, 4, 3)), ArgumentError) == (
        "affine(): w has shape (5, 4, 3), which doesn't broadcast with (2,): sizes, counted from the last, are equal "
        f"or 1\n  bound so far: ...=(2,) (x), N=3 (x)\n  signature:    {signature}"
    )


MUL = "  signature:    mul(x: T[...], y: T[...]) -> (z: T[...])"


def test_arguments(grads: opwright.Operators, calls: opwright.Operators) -> None:
    x = torch.ones(2, 3)
    assert failing(lambda: grads.mul(x, x.t()), ArgumentError) == (
        f"mul(): y has shape (3, 2), expected [...] = (2, 3)\n  bound so far: ...=(2, 3) (x)\n{MUL}"
    )
    assert failing(lambda: grads.mul(x, x.long()), ArgumentError) == (
        f"mul(): y has element type int64, expected T = float32 (x)\n{MUL}\n  likely fix:   y.to(torch.float32)"
    )
    assert failing(lambda: grads.mul(x.long(), x), ArgumentError) == (
        f"mul(): x has element type int64, expected T in (float32, float64, float16, bfloat16)\n{MUL}\n"
        "  likely fix:   x.to(torch.float32), or in the signature: where T in (f32, f64, f16, bf16, i64)"
    )
    assert failing(lambda: grads.rowsum(x[0]), ArgumentError) == (
        "rowsum(): x has shape (3,), expected [M, N]: 2 axes, not 1\n  signature:    rowsum(x: T[M, N]) -> (s: T[M])"
    )
    unnamed = torch.empty(2, dtype=torch.bits8)
    assert failing(lambda: calls.copy(unnamed), ArgumentError) == (
        "copy(): x has an element type that no signature can name\n"
        "  signature:    copy(x: T[...]) -> (y: T[...]) "
        "where T in (u8, i8, i16, i32, i64, u16, u32, u64, f16, bf16, f32, f64, bool)"
    )
    assert failing(lambda: grads.mul(x, torch.ones(2, 3).to_sparse()), ArgumentError) == (
        "mul(): y is a sparse or otherwise packed tensor, expected a dense one\n  likely fix: to_dense()"
    )
    assert failing(lambda: grads.mul(x, x.to("meta")), ArgumentError) == (
        "mul(): y is on meta, x on cpu; all tensors of a call must be on one device"
    )


def test_the_axes_bound_so_far(calls: opwright.Operators) -> None:
    shapes = (16, 32), (384, 161), (384,), (16, 128)
    assert failing(lambda: calls.cell(*map(torch.ones, shapes)), ArgumentError) == (
        "cell(): weights has shape (384, 161), expected [3*S, I+S] = (384, 160)\n"
        "  bound so far: B=16 (input), I=32 (input), S=128 (old_h)\n"
        "  signature:    cell(input: T[B, I], weights: T[3*S, I+S], bias: T[3*S], old_h: T[B, S]) -> (new_h: T[B, S])"
    )


def test_arguments_of_a_backward(grads: opwright.Operators) -> None:
    x = torch.ones(3)
    assert failing(lambda: grads.mul_backward(x, x, x, [True]), ArgumentError) == (
        "mul_backward(): output_mask has 1 elements, expected one for each of 2 gradients"
    )
    on_meta = x.to("meta")
    assert failing(lambda: grads.mul_backward(on_meta, on_meta, on_meta, [True] * 3), ArgumentError) == (
        "mul_backward(): output_mask has 3 elements, expected one for each of 2 gradients"
    )
    assert failing(lambda: grads.total_backward(torch.ones(()), -1, [2]), ArgumentError) == (
        "total_backward(): axis_H is -1, expected a size, at least 0\n  bound so far: ...=(2,) (forward)\n"
        "  signature:    total_backward(grad_s: T[]) -> (grad_x: T[..., 2*H])"
    )


def test_checks_with_their_values(calls: opwright.Operators) -> None:
    text = failing(lambda: calls.checked(torch.ones(2), -1), KernelError)
    assert re.fullmatch(r"checked\(\): k is -1, x has 2 elements \[k > 0 is false, .*/call_ops\.cpp:\d+\]", text)


def test_exceptions_of_the_kernels_own(write: Write) -> None:
    body = "{ if (bad) throw 3; parallel_for(4, 1, [&](int64_t i) { throw i; }); }"
    source = write(
        'OPWRIGHT("f(x: T[N], bad: bool) -> (y: T[N])")\n'
        f"template <class T>\nvoid f(Tensor<const T, 1> x, bool bad, Tensor<T, 1> y) {body}",
        "throwing.cpp",
    )
    ops, x = opwright.load(source), torch.ones(3)
    assert failing(lambda: ops.f(x, bad=True), KernelError) == (
        "f(): a C++ exception left the kernel; use OPWRIGHT_CHECK(condition, message...) for errors"
    )
    assert failing(lambda: ops.f(x, bad=False), KernelError) == ("f(): a C++ exception left the body of a parallel_for")


@pytest.mark.slow
@pytest.mark.parametrize("header", ["stdexcept", "vector"])
def test_what_standard_exceptions_say(write: Write, header: str) -> None:
    thrown = {"stdexcept": 'std::runtime_error("inside")', "vector": "std::bad_alloc()"}[header]
    said = {"stdexcept": "inside", "vector": "std::bad_alloc"}[header]
    body = f"{{ if (bad) throw {thrown}; parallel_for(4, 1, [&](int64_t) {{ throw {thrown}; }}); }}"
    source = write(
        f'#include <{header}>\nOPWRIGHT("f(x: f32[N], bad: bool) -> (y: f32[N])")\n'
        f"void f(Tensor<const float, 1> x, bool bad, Tensor<float, 1> y) {body}",
        f"throwing_{header}.cpp",
    )
    ops, x = opwright.load(source), torch.ones(3)
    assert failing(lambda: ops.f(x, bad=True), KernelError) == f"f(): a C++ exception left the kernel: {said}"
    assert failing(lambda: ops.f(x, bad=False), KernelError) == (
        f"f(): a C++ exception left the body of a parallel_for: {said}"
    )


def test_tensors_that_are_too_large(write: Write) -> None:
    source = write(
        'OPWRIGHT("copied(x: f32[N]) -> (y: f32[])")\nvoid copied(Tensor<const float, 1> x, Tensor<float, 0> y) {}\n'
        'OPWRIGHT("same(x: f32[N]) -> (s: f32[], y: f32[N])")\n'
        "void same(Strided<const float, 1> x, Tensor<float, 0> s, Tensor<float, 1> y) {}\n"
        'OPWRIGHT("square(n: int) -> (y: f32[n, n])")\nvoid square(int64_t n, Tensor<float, 2> y) {}\n'
        'OPWRIGHT("checked(i: i64[N] in [0, 1)) -> (y: f32[])")\n'
        "void checked(Strided<const int64_t, 1> i, Tensor<float, 0> y) {}\n"
        'OPWRIGHT("some(x: f32[N]) -> (y: f32[?K<=N])")\n'
        "void some(Strided<const float, 1> x, Resizable<float, 1> y) {}",
        "large.cpp",
    )
    ops, n = opwright.load(source), 1 << 60
    x, i = torch.ones(1).expand(n), torch.zeros(1, dtype=torch.int64).expand(n // 2)
    for call, what in (
        (lambda: ops.copied(x), f"copied(): no memory for a contiguous copy of x of shape [{n}]: 4.29e+09 GiB"),
        (lambda: ops.same(x), f"same(): no memory for result number 2 of shape [{n}]: 4.29e+09 GiB"),
        (lambda: ops.square(n), f"square(): no memory for result number 1 of shape [{n}, {n}]: 4.95e+27 GiB"),
        (lambda: ops.some(x), f"some(): no memory for result number 1 of shape [{n}]: 4.29e+09 GiB"),
        (lambda: ops.checked(i), f"checked(): no memory for a contiguous copy of i of shape [{n // 2}]: 4.29e+09 GiB"),
    ):
        assert failing(call, OpwrightError).startswith(f"{what}\n  PyTorch says: ")
