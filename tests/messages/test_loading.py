"""The text of the errors of loading: of signatures, functions, namespaces, reloads."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import (
    OpwrightError,
    SignatureError,
    SourceError,
    UnsupportedError,
)
from tests.messages.raising import Write, failing

_BODY = "template <class T>\nvoid f(Tensor<const T, 1> x, Tensor<T, 1> y) {}"


UNSUPPORTED = [
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


@pytest.mark.slow
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
    assert failing(lambda: opwright.load(missing), SourceError) == (
        f"{missing}: can't be read: No such file or directory\n"
        "  likely fix: a relative path begins at the current folder; in a script, use "
        'Path(__file__).parent / "missing.cpp"'
    )
    write("", "missing_1.cpp")
    text = failing(lambda: opwright.load(tmp_path / "missing_l.cpp"), SourceError)
    assert text.endswith("No such file or directory\n  likely fix: did you mean missing_1.cpp?")


def test_what_is_no_path() -> None:
    wrong: Any = ["a.cpp", "b.cpp"]
    assert failing(lambda: opwright.load(wrong), TypeError) == (
        "load() got ['a.cpp', 'b.cpp'], expected the path of a source file\n"
        "  likely fix: one after the other, load(*files)"
    )


HEADS = {
    "void f(auto x, auto y) {}": "template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y)",
    "void f(const double *x, double *y, int64_t N) {}": "template <class T> void f(Tensor<const T, 1> x, "
    "Tensor<T, 1> y)",
    "void f(Tensor<const T, 1> x, Tensor<T, 1> y) {}": "write `template <class T>` before the function, or concrete "
    "types (f32) for T in the signature",
    "template <class T> Tensor<T, 1> f(Tensor<const T, 1> x) {}": "void f(Tensor<const T, 1> x, Tensor<T, 1> y), which "
    "writes its results to the last parameters",
    "#define IN(T, N) Tensor<const T, N>\ntemplate <class T> void f(IN(T) x, Tensor<T, 1> y) {}": "write there what IN "
    "stands for",
}


@pytest.mark.parametrize("head", HEADS)
def test_heads_that_dont_fit(write: Write, head: str) -> None:
    """The fix is the whole head where more than one thing is wrong."""
    macro, _, function = head.rpartition("\n")
    source = write(f'{macro}\nOPWRIGHT("f(x: T[N]) -> (y: T[N])")\n{function}', "head.cpp")
    text = failing(lambda: opwright.load(source), SourceError)
    assert text.endswith(f"\n  likely fix: {HEADS[head]}")


def test_a_namespace_that_is_taken(write: Write) -> None:
    text = f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\n{_BODY}'
    for name in ("aten", "prims", "higher_order", "loaded_libraries"):
        assert failing(partial(opwright.load, write(text, f"{name}.cpp")), SourceError) == (
            f"the namespace torch.ops.{name} is taken by PyTorch, another library or another source\n"
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
        f"{source}:8: g_backward takes w, which is neither the gradient of a result of g nor one of its inputs, "
        "outputs or residuals\n  it may take: grad_y, x, y\n  signature:  g(x: T[N]) -> (y: T[N])"
    )
    assert failing(lambda: opwright.load(source), SignatureError) == text
    write(good, "wires.cpp")
    assert list(opwright.load(source)) == ["f"]
