"""``__doc__``, ``help()`` and ``inspect.signature`` of operators, of every kind and in both runtimes."""

from __future__ import annotations

import functools
import inspect
import pydoc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright

WRITTEN = """
/// Scales x.
///
/// The factor is `by`.
OPWRIGHT("scaled(x: T[N], by: float = 2.0, w: T[N]?) -> (y: T[N]; kept: T[N]) where T in (f32, f64)")
template <class T>
void scaled(Tensor<const T, 1> x, double by, Tensor<const T, 1> w, Tensor<T, 1> y, Tensor<T, 1> kept) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = by * x[i];
}
OPWRIGHT("scaled_backward(grad_y: T[N], by: float) -> (grad_x: T[N])")
template <class T>
void scaled_backward(Tensor<const T, 1> grad_y, double by, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = by * grad_y[i];
}
"""
SCALED = """scaled(x: T[N], by: float = 2.0, w: T[N]?) -> (y: T[N]) where T in (f32, f64)

Scales x.

The factor is `by`.

Args:
    x: T[N]
    by: float = 2.0
    w: T[N]; may be None

Returns:
    y: T[N]

T is one of float32, float64.

Differentiable in x, by scaled_backward.
Devices: cpu.
From {path}:6."""


def said(op: Any) -> str:
    return str(inspect.signature(op)).replace("torch._C.", "torch.").replace("torch.", "")


def test_what_is_written_is_what_python_shows(write: Callable[..., Path]) -> None:
    path = write(WRITTEN, "documented.cpp")
    ops = opwright.load(path)
    assert ops.scaled.__doc__ == SCALED.format(path=path)
    assert torch.ops.documented.scaled.__doc__ == ops.scaled.__doc__
    assert said(ops.scaled) == "(x: Tensor, by: float = 2.0, w: Tensor | None = None) -> Tensor"
    assert said(torch.ops.documented.scaled) == said(ops.scaled)
    assert said(ops.scaled_backward) == "(grad_y: Tensor, by: float, output_mask: list[bool] = [True]) -> Tensor"
    shown = pydoc.plain(pydoc.render_doc(ops.scaled))
    assert "Scales x." in shown
    assert "class OpOverload" not in shown


def test_a_reload_renews_it(write: Callable[..., Path]) -> None:
    path = write(WRITTEN, "documented_again.cpp")
    op = opwright.load(path).scaled
    write(WRITTEN.replace("Scales x.", "Multiplies x."), "documented_again.cpp")
    assert opwright.load(path).scaled is op
    assert "\nMultiplies x." in (op.__doc__ or "")


@pytest.mark.parametrize(
    ("name", "signature", "facts"),
    [
        ("add_scaled", "(alpha: float, x: Tensor, y: Tensor) -> None", ["    y: T[N]; overwritten"]),
        ("doubled", "(x: Tensor) -> tuple[Tensor, Tensor]", ["Not differentiable."]),
        (
            "noise",
            "(x: Tensor, rng: Generator | None = None) -> Tensor",
            ["    rng: the generator to draw from"],
        ),
        (
            "eye",
            "(n: int, m: int = 2, *, dtype: dtype | None = None, device: device | None = None) -> Tensor",
            ["dtype= chooses T", "device= is where"],
        ),
        ("nonzero", "(x: Tensor) -> Tensor", ["The call decides the length of K."]),
    ],
)
def test_the_notation(name: str, signature: str, facts: list[str], notation: opwright.Operators) -> None:
    op = getattr(notation, name)
    assert said(op) == signature
    for fact in facts:
        assert f"\n{fact}" in op.__doc__


def test_derived_gradients_and_plain_c(pointwise: opwright.Operators, write: Callable[..., Path]) -> None:
    name = next(name for name in pointwise if f"{name}_backward" in dir(pointwise))
    op = getattr(pointwise, name)
    assert "\nPointwise: arguments broadcast and promote; numbers may stand for tensors.\n" in op.__doc__
    assert f", by {name}_backward." in op.__doc__
    path = write("float total(int n, float *x) { return n ? x[0] : 0; }", "documented_plain.c")
    plain = opwright.load(path, ops="total(x: f32[n]) -> (y: f32[])").total
    assert said(plain) == "(x: Tensor) -> Tensor"
    assert (plain.__doc__ or "").splitlines()[0] == "total(x: f32[n]) -> (y: f32[])"
    assert f"From {path}:2." in (plain.__doc__ or "")


def test_functions_that_exist_already() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        """Twice as much."""
        return 2 * x

    signature = ["documented_twice(x: T[N]) -> (y: T[N])", "documented_twice_backward(grad_y: T[N]) -> (grad_x: T[N])"]
    op = opwright.differentiable(forward, functools.partial(forward), signature=signature)
    words = (op.__doc__ or "").split("\n\n")
    assert words[:2] == ["documented_twice(x: T[N]) -> (y: T[N])", "Twice as much."]
    assert words[-1].splitlines()[0] == "Differentiable in x, by documented_twice_backward."
    backward = torch.ops.documented_twice.documented_twice_backward.__doc__ or ""
    assert "partial" not in backward.partition("From")[0]  # not the words of its class


def test_every_signature_agrees_with_the_dispatcher(
    calls: opwright.Operators,
    grads: opwright.Operators,
    pointwise: opwright.Operators,
    batched: opwright.Operators,
    notation: opwright.Operators,
    random_calls: Callable[..., Any],
) -> None:
    """A call that it binds gets through PyTorch's own parser, by name and by place; one that it doesn't, doesn't."""
    for ops in (calls, grads, pointwise, batched, notation):
        for name in (name for name in ops if "_backward" not in name):
            op: Any = getattr(ops, name)
            signature = inspect.signature(op)
            _, given = next(random_calls(ops, name, 1))
            parse = functools.partial(torch._C._jit_resolve_packet, f"{ops.__loaded__.namespace}::{name}")
            bound = signature.bind(**given)
            assert parse(**given) == parse(*bound.args, **bound.kwargs) == op._overloadname
            required = [p.name for p in signature.parameters.values() if p.default is p.empty]
            for missing in required:
                rest = {name: value for name, value in given.items() if name != missing}
                with pytest.raises(TypeError):
                    signature.bind(**rest)
                with pytest.raises(RuntimeError, match="missing value for argument"):
                    parse(**rest)
            defaults = {p.name: p.default for p in signature.parameters.values() if p.default is not p.empty}
            assert parse(**{**given, **defaults}) == op._overloadname


def test_containers(notation: opwright.Operators) -> None:
    path = Path(__file__).parent / "kernels" / "notation_ops.cpp"
    assert repr(notation) == f"<opwright operators 'notation_ops' from {path}>"
    text = (notation.__doc__ or "").splitlines()
    assert text[0] == f"opwright operators 'notation_ops' from {path}"
    assert [line.partition("(")[0] for line in text[2:]] == list(notation)
    assert dir(notation) == sorted(notation)
    assert "overloadpacket" not in pydoc.plain(pydoc.render_doc(notation))


FUNCTIONS = """
int other(int x) { return x; }
/// Scales and adds,
/// in place.
static inline
void own_saxpy(long n, float a, const float *x, float *y) {
  for (long i = 0; i < n; i++) y[i] += a * x[i];
}
/// Of another one.
int another;
void own_twice(long n, float *y) { for (long i = 0; i < n; i++) y[i] *= 2; }
"""


def test_functions_without_a_mark_have_their_comments(write: Callable[..., Path]) -> None:
    texts = ["own_saxpy(n: int, a: float, x: f32[n], y: f32[n]!)", "own_twice(n: int, y: f32[n]!)"]
    ops = opwright.load(write(FUNCTIONS, "documented_functions.c"), ops=texts)
    assert (ops.own_saxpy.__doc__ or "").split("\n\n")[1] == "Scales and adds,\nin place."
    assert "Of another" not in (ops.own_twice.__doc__ or "")
