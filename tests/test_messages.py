"""The text of the errors that a user sees, through the whole stack: loading, calling, differentiating.

What is wrong with a signature alone is in signature/test_messages.py, with a function in sources/.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch

import opwright
from opwright import (
    ArgumentError,
    CompileError,
    KernelError,
    OpwrightError,
    SignatureError,
    SourceError,
    UnsupportedError,
)

Write = Callable[..., Path]
_BODY = "template <class T>\nvoid f(Tensor<const T, 1> x, Tensor<T, 1> y) {}"
_COMPLEX = "take real and imaginary parts apart (torch.view_as_real)"

UNSUPPORTED = [
    ("f(x: c64[N]) -> (y: f32[N])", "the complex tensor x: c64[N]", _COMPLEX),
    ("f(x: T[N]) -> (y: T[N]) where T in (f32, c64)", "complex element types for T", _COMPLEX),
    (
        "f(x: T[N]?) -> (y: f32[])",
        "an operator whose tensors may all be absent",
        "give it one that is always there, such as x: T[...]",
    ),
]


@pytest.mark.parametrize(("signature", "part", "fix"), UNSUPPORTED)
def test_notation_without_an_implementation(write: Write, signature: str, part: str, fix: str) -> None:
    source = write(f'OPWRIGHT("{signature}")\n{_BODY}', "unsupported.cpp")
    with pytest.raises(UnsupportedError) as caught:
        opwright.load(source)
    assert str(caught.value) == (
        f"{source}:2: f: {part} can be written, but isn't supported by this version\n"
        f"  signature:  {signature}\n  likely fix: {fix}"
    )


def test_an_operator_without_an_effect(write: Write, tmp_path: Path) -> None:
    source = write(f'OPWRIGHT("f(x: T[N])")\n{_BODY}', "idle.cpp")
    assert failing(lambda: opwright.load(source), UnsupportedError) == (
        f"{source}:2: f: an operator needs a result, or something that it overwrites; this one has neither\n"
        "  signature:  f(x: T[N])\n"
        "  likely fix: mark what it overwrites: `x: T[N]!`, or declare what it returns: `-> (y: T[...])`"
    )
    status = tmp_path / "status.c"
    status.write_text("int check(int n, float *x) { x[0] = n; return 0; }\n")
    assert failing(lambda: opwright.load(status, ops="check(x: f32[n])"), UnsupportedError) == (
        f"{status}:1: check: an operator needs a result, or something that it overwrites; this one has neither\n"
        "  signature:  check(x: f32[n])\n"
        "  likely fix: mark what it overwrites: `x: f32[n]!`, or declare what it returns: `-> (status: i32[])`"
    )
    assert opwright.load(status, ops="check(x: f32[n]!) -> (status: i32[])").check(torch.zeros(2)).tolist() == 0
    x = torch.zeros(2)
    opwright.load(status, ops="check(x: f32[n]!)").check(x)
    assert x.tolist() == [2, 0]


def failing(run: Callable[[], object], error: type[Exception]) -> str:
    """The text of the error, and its class exactly."""
    with pytest.raises(error) as caught:
        run()
    assert type(caught.value) is error
    return str(caught.value)


def test_a_signature_that_cant_be_read(write: Write) -> None:
    source = write(f'OPWRIGHT("f(x: T[N]) -> (y: T[M])")\n{_BODY}', "unreadable.cpp")
    assert failing(lambda: opwright.load(source), SignatureError).startswith(f"{source}:2: the axis 'M' isn't bound")


def test_nothing_to_load(write: Write, tmp_path: Path) -> None:
    assert failing(opwright.load, SourceError) == (
        "load() got no source file; expected at least one, as in load('my_op.cpp')"
    )
    empty = write("int x;", "empty.cpp")
    assert failing(lambda: opwright.load(empty), SourceError) == (
        f'{empty}: there is no OPWRIGHT("...") in it\n'
        '  expected one before each kernel: OPWRIGHT("f(x: T[...]) -> (y: T[...])")\n'
        '  or signatures given from outside: load(..., ops="f(x: f32[N]) -> (y: f32[N])")'
    )
    missing = tmp_path / "missing.cpp"
    assert (
        failing(lambda: opwright.load(missing), SourceError) == f"{missing}: can't be read: No such file or directory"
    )


def test_a_namespace_that_is_taken(write: Write) -> None:
    text = f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\n{_BODY}'
    for name in ("aten", "prims", "higher_order", "loaded_libraries"):
        assert failing(partial(opwright.load, write(text, f"{name}.cpp")), SourceError) == (
            f"the namespace torch.ops.{name} belongs to PyTorch or to another library\n"
            '  likely fix: load(..., namespace="...") with another name, or rename the source'
        )
    first, second = write(text, "clash_a.cpp"), write(text, "clash_b.cpp")
    ops = opwright.load(first)
    assert failing(lambda: opwright.load(second, namespace="clash_a"), SourceError) == (
        f"the namespace 'clash_a' is taken by {first}; {second} wants it too\n"
        '  likely fix: load(..., namespace="...") with another name for one of them'
    )
    assert failing(lambda: ops.g, AttributeError) == (
        f"<opwright operators 'clash_a' from {first}> has no operator 'g'; it has: f"
    )


def test_a_signature_that_changed(write: Write) -> None:
    source = write(f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\n{_BODY}', "changed.cpp")
    ops = opwright.load(source)
    f, x = ops.f, torch.ones(3)
    write(f'OPWRIGHT("f(x: T[N]) -> (y: T[2*N])")\n{_BODY}', "changed.cpp")
    opwright.load(source)
    assert failing(lambda: f(x), OpwrightError) == (
        "f(): the signature has changed since this callable was taken; its source was loaded again\n"
        "  then:        f(x: T[N]) -> (y: T[N])\n"
        "  now:         f(x: T[N]) -> (y: T[2*N])\n"
        "  likely fix:  take it again, from what load() returned or as torch.ops.changed.f.default"
    )
    f = ops.f
    gradient = _BODY.replace(" f(", " f_backward(").replace(" x,", " grad_y,").replace(" y)", " grad_x)")
    backward = f'OPWRIGHT("f_backward(grad_y: T[2*N]) -> (grad_x: T[N])")\n{gradient}'
    write(f'OPWRIGHT("f(x: T[N]) -> (y: T[2*N])")\n{_BODY}\n{backward}', "changed.cpp")
    opwright.load(source)
    assert failing(lambda: f(x), OpwrightError) == (
        "f(): f_backward was added since this callable was taken; its source was loaded again\n"
        "  then:        no f_backward\n"
        "  now:         f_backward(grad_y: T[2*N]) -> (grad_x: T[N])\n"
        "  likely fix:  take it again, from what load() returned or as torch.ops.changed.f.default"
    )
    f_backward = ops.f_backward
    body = _BODY.replace(" x,", " x, int64_t k,")
    write(f'OPWRIGHT("f(x: T[N], k: int = 1) -> (y: T[2*N])")\n{body}\n{backward}', "changed.cpp")
    opwright.load(source)
    assert failing(lambda: f_backward(x), OpwrightError) == (
        "f_backward(): f's signature has changed since this callable was taken; its source was loaded again\n"
        "  then:        f(x: T[N]) -> (y: T[2*N])\n"
        "  now:         f(x: T[N], k: int = 1) -> (y: T[2*N])\n"
        "  likely fix:  take it again, from what load() returned or as torch.ops.changed.f_backward.default"
    )


def test_an_operator_that_was_removed(write: Write) -> None:
    f = f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\n{_BODY}'
    source = write(f, "removed.cpp")
    ops = opwright.load(source)
    held, x = ops.f, torch.ones(3)
    write(f.replace("f(x", "g(x").replace(" f(", " g("), "removed.cpp")
    opwright.load(source)
    for call in (held, torch.ops.removed.f, torch.ops.removed.f.default):
        assert failing(lambda call=call: call(x), OpwrightError) == (  # type: ignore[misc]
            "f() was removed from its source, which was loaded again since this callable was taken\n"
            "  it was:      f(x: T[N]) -> (y: T[N])\n"
            "  now there:   g"
        )
    assert failing(lambda: ops.f, AttributeError) == (
        f"<opwright operators 'removed' from {source}> has no operator 'f' any more: it was removed from the source; "
        "it has: g"
    )


def test_a_compile_error_at_the_first_call(write: Write) -> None:
    body = _BODY.replace("{}", "{\n  y[0] = x[0] + undefined_name;\n}")
    source = write(f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\n{body}', "broken.cpp")
    ops = opwright.load(source)
    text = failing(lambda: ops.f(torch.ones(3)), CompileError)
    assert re.match(
        rf"{re.escape(str(source))}:5:17: error: .undefined_name. was not declared in this scope\n"
        r"    5 \|   y\[0\] = x\[0\] \+ undefined_name;\n",
        text,
    )
    assert failing(lambda: ops.f(torch.ones(3)), CompileError) == text  # and again: nothing is half made
    write(f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\n{body.replace("undefined_name", "1")}', "broken.cpp")
    assert opwright.load(source).f(torch.ones(1)).item() == 2


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
        "accumulate(): y is overwritten, but it shares memory with x\n"
        "  likely fix:   clone() one of them before the call"
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
    float8 = x.to(torch.float8_e4m3fn)
    assert failing(lambda: calls.copy(float8), ArgumentError) == (
        "copy(): x has an element type that no signature can name\n"
        "  signature:    copy(x: T[...]) -> (y: T[...]) "
        "where T in (u8, i8, i16, i32, i64, u16, u32, u64, f16, bf16, f32, f64, bool)"
    )
    assert failing(lambda: grads.mul(x, torch.ones(2, 3).to_sparse()), ArgumentError) == (
        "mul(): y is a sparse or otherwise packed tensor, expected a dense one\n  likely fix:   to_dense()"
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
    assert failing(lambda: grads.total_backward(torch.ones(()), -1, [2]), ArgumentError) == (
        "total_backward(): the shape of grad_x is [..., 2*H]: 2*H is negative\n  bound so far: H=-1\n"
        "  signature:    total_backward(grad_s: T[]) -> (grad_x: T[..., 2*H])"
    )


def test_no_backward(grads: opwright.Operators) -> None:
    x = torch.ones(3, requires_grad=True)
    y = grads.square(x)
    assert failing(lambda: y.sum().backward(), UnsupportedError) == (
        "square() has no gradient: there is no square_backward\n"
        "  signature:  square(x: T[N]) -> (y: T[N])\n"
        '  likely fix: write OPWRIGHT("square_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])") '
        "and its function beside it"
    )
    (first,) = torch.autograd.grad(grads.cube(x).sum(), x, create_graph=True)
    assert failing(lambda: first.sum().backward(), UnsupportedError) == (
        "cube_backward() has no second derivative: there is no cube_backward_backward\n"
        "  signature:  cube_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])\n"
        '  likely fix: write OPWRIGHT("cube_backward_backward(grad_grad_x: T[N], grad_y: T[N], x: T[N]) -> '
        '(grad_grad_y: T[N], grad_x: T[N])") and its function beside it'
    )


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch's own decompositions for jvp
def test_no_forward_mode(grads: opwright.Operators) -> None:
    x = torch.ones(3)
    assert failing(lambda: torch.func.jvp(lambda x: grads.mul(x, x), (x,), (x,)), UnsupportedError) == (
        "mul(): there is no forward-mode derivative (jvp) of this operator; use reverse mode "
        "(torch.autograd.grad, torch.func.vjp)"
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


def test_wiring_is_judged_before_anything_is_registered(write: Write) -> None:
    good = f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\n{_BODY}\n'
    bad = (
        'OPWRIGHT("g(x: T[N]) -> (y: T[N])")\n'
        + _BODY.replace(" f(", " g(")
        + '\nOPWRIGHT("g_backward(grad_y: T[N], w: T[N]) -> (grad_x: T[N])")\n'
        "template <class T>\nvoid g_backward(Tensor<const T, 1> a, Tensor<const T, 1> b, Tensor<T, 1> c) {}"
    )
    source = write(good + bad, "wires.cpp")
    text = failing(lambda: opwright.load(source), SignatureError)
    assert text == (
        "g_backward takes w, which is neither the gradient of a result of g nor one of its inputs, outputs or "
        "residuals\n  it may take: grad_y, x, y\n  signature:  g(x: T[N]) -> (y: T[N])"
    )
    assert failing(lambda: opwright.load(source), SignatureError) == text
    write(good, "wires.cpp")
    assert list(opwright.load(source)) == ["f"]


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


def test_cpp_in_the_place_of_c(tmp_path: Path) -> None:
    function = "template <class T> void f(int n, const T *x, T *y)"
    signature = "f(x: f32[n]) -> (y: f32[n])"
    why = f"`{function}` is C++, and this is C; C++ is given in files `*.cpp`, or as `cpp=`"
    source = tmp_path / "no_c.c"
    source.write_text(f"{function} {{}}\n")
    assert failing(lambda: opwright.load(source, ops=signature), SourceError) == (
        f"{source}: f: the declaration can't be read: {why}\n  signature:  {signature}  (given in ops)"
    )
    source.write_text(f'OPWRIGHT("{signature}")\n{function} {{}}\n')
    expected = (
        f": f: what follows OPWRIGHT(...) can't be read as a function: {why}\n  expected `void name(...) {{ ... }}`"
    )
    assert failing(lambda: opwright.load(source), SourceError) == f"{source}:1{expected}"
    text = source.read_text()
    assert failing(lambda: opwright.load_inline("no_c", c=text), SourceError).endswith(f"no_c.c:1{expected}")
    source.write_text(f'OPWRIGHT("{signature}")\nvoid f(Tensor<const float, 1> x, Tensor<float, 1> y) {{}}\n')
    assert " is C++, and this is C; " in failing(lambda: opwright.load(source), SourceError)


def test_outputs_without_a_parameter(tmp_path: Path) -> None:
    source = tmp_path / "halves.c"
    source.write_text("double halves(double __x, int *__exponent) { *__exponent = 1; return __x / 2; }\n")
    signature = "halves(x: float) -> (exp: i32[], y: f64[])"
    assert failing(lambda: opwright.load(source, ops=signature), SourceError) == (
        f"{source}:1: halves: the function has no parameter named exp; it returns `double`, which y takes\n"
        f"  signature:  {signature}  (given in ops)\n"
        f"  function:   double halves(double __x, int *__exponent)  ({source}:1)\n"
        '  likely fix: name its parameters in order: "halves(x, exp)"'
    )
    exp, y = opwright.load(source, ops={"halves(x, exp)": signature}).halves(3.0)
    assert (exp.tolist(), y.tolist()) == (1, 1.5)
    with_axes = "halves(x: float, n: int) -> (y: f64[n])"
    assert failing(lambda: opwright.load(source, ops=with_axes), SourceError).startswith(
        f"{source}:1: halves: the function has no parameter named y; it returns `double`, which no output takes\n"
    )


def test_a_signature_that_does_not_fit_a_plain_c_function(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text(
        "void scale(long n, float alpha, const float *x, float *out) {}\n"
        "#define scale_all(x) x\nfloat norm(const float *x, int n) { return 0; }\nint check(float *, int);\n"
    )

    def load(ops: str | dict[str, str]) -> str:
        return failing(lambda: opwright.load(source, ops=ops), SourceError)

    scale = "scale(alpha: float, x: f32[N]) -> (out: f32[N])"
    shown = f"  function:   void scale(long n, float alpha, const float *x, float *out)  ({source}:1)\n"
    assert load(scale) == (
        f"{source}:1: scale: the function has no parameter named N\n  signature:  {scale}  (given in ops)\n{shown}"
        "  likely fix: did you mean n? use the function's names in the signature, or name its parameters in order: "
        '"scale(N, alpha, x, out)"'
    )
    assert load({"scale(N, x, alpha, out)": scale}) == (
        f"{source}:1: scale: parameter 2 is `float alpha`, expected `const float *x` for the input `x: f32[N]`: a "
        f"tensor is a pointer to its elements\n  signature:  {scale}  (given in ops)\n{shown}"
        "  likely fix: write what the function has into the signature, or call it from a function with `const float *x`"
    )
    assert load({"scale(N, alpha, x)": scale}) == (
        f"{source}:1: scale: ops calls it as scale(N, alpha, x), with 3 arguments; it has 4 parameters\n"
        f"  signature:  {scale}  (given in ops)\n{shown}"
        '  likely fix: name them all, in order: "scale(N, alpha, x, out)"'
    )
    assert load("norm(x: f32[n])  -> (y: f64[])") == (
        f"{source}:3: norm: the function returns `float`, expected double for the output `y: f64[]`, which has no "
        "parameter and so takes what it returns\n  signature:  norm(x: f32[n]) -> (y: f64[])  (given in ops)\n"
        f"  function:   float norm(const float *x, int n)  ({source}:3)\n"
        "  likely fix: declare it as an output without a parameter: -> (y: f32[])"
    )
    assert load("check(x: f32[n]!)") == (
        f"{source}:4: check: parameter 1 is `float *` and has no name\n"
        "  signature:  check(x: f32[n]!)  (given in ops)\n"
        f"  function:   int check(float *, int)  ({source}:4)\n"
        '  likely fix: name all of them in order: ops={"check(?, ?)": "..."}'
    )
    assert load("scales(x: f32[n]!)") == (
        f"{source}: scales: no function scales is declared in it\n  signature:  scales(x: f32[n]!)  (given in ops)\n"
        "  functions:  scale, norm, check\n"
        '  likely fix: did you mean scale? Give the function\'s name: ops={"scale": "scales(...)"}'
    )
    assert load("scale_all(x: f32[n]!)") == (
        f"{source}: scale_all: scale_all is a macro, not a function\n"
        "  signature:  scale_all(x: f32[n]!)  (given in ops)\n"
        '  likely fix: write a function that uses it, and give that one\'s name: ops={"my_scale_all": "scale_all(...)"}'
    )


POINTWISE = """
OPWRIGHT("f(x: T, y: T) -> (z: T)")
template <class T> T f(T x, T y) { return x * y; }
OPWRIGHT("g(x: T!, y: T)")
template <class T> void g(T &x, T y) { x = x * y; }
OPWRIGHT("h(x: T, y: T) -> (z: f32)")
template <class T> void h(T x, T y, float &z) { z = value_of(x * y); }
OPWRIGHT("k(x: T, y: T) -> (z: T) where T in (f32)")
template <class T> T k(T x, T y) { return x - y; }
"""
F = "f(x: T, y: T) -> (z: T)"
LISTED = "x (input), y (input), z (output)"
UNFIT = [
    (
        "template <class T> void f(T x, T y, T z) {}",
        F,
        (
            "parameter 3 is `T z`, expected `T &z` for the output `z: T`: the "
            "function writes to it, so it is a reference, not const"
        ),
        "declare parameter 3 as `T &z`",
    ),
    (
        "template <class T> void f(T x, double y, T &z) {}",
        F,
        ("parameter 2 is `double y`, expected `T y` for the input `y: T`: it is T"),
        "declare parameter 2 as `T y`",
    ),
    (
        "template <class T> void f(T x, T y) {}",
        F,
        f"the function takes 2 parameters, expected 3: {LISTED}",
        "void f(T x, T y, T &z)",
    ),
    (
        "template <class T> double f(T x, T y) { return 0; }",
        F,
        ("the function returns `double`, expected `T` for the output `z: T`"),
        "return `T`, or void with a last parameter `T &z`",
    ),
    (
        "template <class T> T f(T x, T y) { return x; }",
        "f(x: T, y: T) -> (z: T, w: T)",
        ("the function returns `T`, but there are 2 results"),
        "return void, and take each result as a reference",
    ),
    (
        "void f(float x, float y, float &z) {}",
        F,
        ("the function is no template, but the signature has the type variables T; expected `template <class T>`"),
        ("write `template <class T>` before the function, or concrete types (f32) for T in the signature"),
    ),
    (
        "template <class T> void f(Tensor<const T> x, Tensor<const T> y, Tensor<T> z) {}",
        F,
        (
            "parameter 1 is `Tensor<const T> "
            "x`, expected `T x` for the input `x: T`: the function is written for one element, not for a tensor"
        ),
        "declare parameter 1 as `T x`",
    ),
    (
        "template <class T> T f(T x, T y) { return x; }",
        "f(x: T, y: T?) -> (z: T)",
        (
            "parameter 2 is `T y`, expected "
            "`Optional<T> y` for the input `y: T?`: an optional argument is an Optional<...>"
        ),
        ("declare parameter 2 as `Optional<T> y`"),
    ),
]


@pytest.mark.parametrize(("function", "signature", "problem", "fix"), UNFIT)
def test_functions_that_arent_the_pointwise_ones(
    write: Write, function: str, signature: str, problem: str, fix: str
) -> None:
    source = write(f'OPWRIGHT("{signature}")\n{function}', "unfit.cpp")
    declared = function.partition(" {")[0]
    assert failing(lambda: opwright.load(source), SourceError) == (
        f"{source}:3: f: {problem}\n"
        f"  signature:  {signature}  ({source}:2)\n"
        f"  function:   {declared}  ({source}:3)\n"
        f"  likely fix: {fix}"
    )


def test_arguments_of_pointwise_operators(write: Write) -> None:
    ops = opwright.load(write(POINTWISE, "elements.cpp"))
    rows, pair = torch.ones(2, 3), torch.ones(4)
    assert failing(lambda: ops.f(rows, pair), ArgumentError) == (
        "f(): y has shape (4,), which doesn't broadcast with (2, 3): sizes, counted from the last, are equal or 1\n"
        "  bound so far: ...=(2, 3) (x)\n"
        f"  signature:    {F}"
    )
    assert failing(lambda: ops.k(rows, rows.double()), ArgumentError) == (
        "k(): the element types x float32, y float64 promote to float64, expected T in (float32)\n"
        "  signature:    k(x: T, y: T) -> (z: T) where T in (f32)\n"
        "  likely fix:   y.to(torch.float32)"
    )
    text = failing(lambda: ops.g(torch.ones(3), rows), ArgumentError)
    assert text.startswith("g(): x has shape (3,) and is overwritten, but the arguments broadcast to (2, 3)\n")
    text = failing(lambda: ops.g(torch.ones(3, dtype=torch.int64), torch.ones(3)), ArgumentError)
    assert text.startswith(
        "g(): x has element type int64 and is overwritten, but the result is float32, which can't be cast to it\n"
    )


def test_derivatives_that_arent_derived(write: Write) -> None:
    ops = opwright.load(write(POINTWISE, "underived.cpp"))
    x, y = (torch.ones(3, requires_grad=True) for _ in range(2))
    assert failing(lambda: ops.h(x, y).sum().backward(), UnsupportedError) == (
        "h() has no gradient: there is no h_backward\n"
        "  signature:  h(x: T, y: T) -> (z: f32)\n"
        "  not derived: z: f32 has a fixed type, which can't carry a derivative; write z: T\n"
        '  likely fix: write OPWRIGHT("h_backward(grad_z: f32, x: T, y: T) -> (grad_x: T, grad_y: T)") and its '
        "function beside it"
    )
    first = torch.autograd.grad(ops.f(x, y).prod(), (x, y), create_graph=True)
    second = torch.autograd.grad(first[0].prod() + first[1].prod(), (x, y), create_graph=True)
    text = failing(lambda: torch.autograd.grad(second[0].prod(), x), UnsupportedError)
    assert text.startswith("f_backward_backward() has no third derivative: there is no f_backward_backward_backward\n")
    assert "\n  not derived: first and second derivatives are\n" in text


BODIES = {
    "return std::exp(x);": "write exp(x) without std::",
    "return helper(x);": "template <class T> T f(T x)",
    "float y = x; return y;": "declare it as T or auto; value_of(x) is the value alone",
}


@pytest.mark.parametrize("body", BODIES)
def test_bodies_that_cant_be_differentiated(write: Write, body: str) -> None:
    """The user's line first; then, below the compiler's words, what to write."""
    source = write(
        "#include <cmath>\nfloat helper(float x) { return x * x; }\n"
        f'OPWRIGHT("f(x: T) -> (y: T)")\ntemplate <class T>\nT f(T x) {{\n  {body}\n}}\n',
        f"undual_{list(BODIES).index(body)}.cpp",
    )
    text = failing(lambda: opwright.load(source).f(torch.ones(3)), CompileError)
    assert re.match(rf"{re.escape(str(source))}:7:\d+: error: .*Dual<", text)
    (fix,) = (line for line in text.splitlines() if line.startswith("  likely fix: "))
    assert BODIES[body] in fix
