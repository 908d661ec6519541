"""Wrong backwards are found and named; right ones pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import opwright
from opwright.check import Report, check
from tests.interpreter import run_python

Backward = Callable[..., Any]


def function(forward: Callable[..., Any], backward: Backward, saves: Callable[..., Any] = lambda *all_: all_) -> Any:
    """An autograd.Function of two Python functions: `backward` gets the incoming gradients and what was saved."""

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            made = forward(*inputs)
            outputs = made if isinstance(made, tuple) else (made,)
            ctx.save_for_backward(*saves(*inputs, *outputs))
            return made

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward(*grads, *ctx.saved_tensors)

    return Made


def checked(op: Any, signature: str, *only: str, **options: Any) -> Report:
    return check(op, signature=signature, only=only or ("gradcheck",), level="quick", **options)


MUL = "mul(x: T[N], y: T[N]) -> (z: T[N])"
MATMUL = "matmul(x: T[N, K], w: T[K, M]) -> (z: T[N, M])"
POINT = "f(x: T[...]) -> (y: T[...])"
TWO = "sincos(x: T[N]) -> (s: T[N], c: T[N])"


def sincos(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.sin(), x.cos()


WRONG = {
    "wrong-sign": (function(lambda x, y: x * y, lambda g, x, y, z: (-g * y, g * x)), MUL),
    "constant-factor": (function(lambda x: x.square(), lambda g, x, y: g * x), POINT),
    "swapped-gradients": (function(lambda x, y: x * y, lambda g, x, y, z: (g * x, g * y)), MUL),
    "transposed-gradient": (function(torch.t, lambda g, x, y: g.reshape(x.shape)), "t(x: T[N, M]) -> (y: T[M, N])"),
    "missing-term": (
        function(lambda x: x.softmax(-1), lambda g, x, y: g * y, lambda x, y: (x, y)), "softmax(x: T[N]) -> (y: T[N])"
    ),
    "missing-term for a result": (function(sincos, lambda s, c, x, *_: s * x.cos()), TWO),
    "missing-term of a sum": (function(lambda x: x + x.square(), lambda g, x, y: g * 2 * x), POINT),
    "missing-term of a scatter": (
        function(lambda x: x.expand(3, -1) * 1, lambda g, x, y: g[0]), "e(x: T[N]) -> (y: T[3, N])"
    ),
    "extra-term": (function(lambda x: x * 2, lambda g, x, y: 2 * g + 0 * g + g.sum() - g), "f(x: T[N]) -> (y: T[N])"),
    "missing-factor": (function(lambda x: x.mean(), lambda g, x, y: g.expand(x.shape)), "mean(x: T[N]) -> (y: T[])"),
    "missing-factor that is a tensor": (
        function(lambda x, y: x * y.square(), lambda g, x, y, z: (g * y, 2 * g * x * y)), MUL
    ),
    "zero-gradient": (function(lambda x, y: x * y, lambda g, x, y, z: (0 * g, g * x)), MUL),
    "detached": (function(lambda x, y: x * y, lambda g, x, y, z: (None, g * x)), MUL),
    "wrong-index": (function(lambda x: x.flip(-1), lambda g, x, y: g), "flip(x: T[N]) -> (y: T[N])"),
    "wrong-gradient": (function(lambda x: x.tanh(), lambda g, x, y: g * (1 + x.sin() * 1.3 - y.exp())), POINT),
    "nonlinear-backward": (function(lambda x: 2 * x, lambda g, x, y: g * g * 2), POINT),
    "backward-raises": (function(lambda x: 2 * x, lambda g, x, y: g[:, :, :, :, :, :, None]), POINT),
    "nan-gradient": (function(lambda x: 2 * x, lambda g, x, y: 2 * g / (0 * x) * (0 * x)), POINT),
    "uninitialised-gradient": (function(lambda x: 2 * x, lambda g, x, y: torch.empty_like(x)), POINT),
    "mutated-saved": (function(lambda x: x.exp(), lambda g, x, y: y.detach().mul_(g), lambda x, y: (x, y * 1)), POINT),
    "mutates-gradient": (function(lambda x: 2 * x, lambda g, x, y: g.mul_(2).clone()), POINT),
}  # fmt: skip

RIGHT = {
    "mul": (function(lambda x, y: x * y, lambda g, x, y, z: (g * y, g * x)), MUL),
    "relu": (function(lambda x: x.relu(), lambda g, x, y: g * (x > 0)), POINT),
    "transpose": (function(torch.t, lambda g, x, y: g.t()), "t(x: T[N, M]) -> (y: T[M, N])"),
    "softmax": (
        function(lambda x: x.softmax(-1), lambda g, x, y: y * (g - (g * y).sum(-1, keepdim=True))),
        "softmax(x: T[..., N]) -> (y: T[..., N])",
    ),
    "sincos": (function(sincos, lambda s, c, x, *_: s * x.cos() - c * x.sin()), TWO),
    "mean": (function(lambda x: x.mean(), lambda g, x, y: g.expand(x.shape) / x.numel()), "mean(x: T[N]) -> (y: T[])"),
    "matmul": (torch.mm, MATMUL),
    "sort": (lambda x: x.sort(-1).values, "sort(x: T[..., N]) -> (y: T[..., N])"),
    "both of a sort": (lambda x: x.sort(-1)[0].split(1), "sort(x: T[2]) -> (a: T[1], b: T[1])"),
    "aten": (torch.ops.aten.tanh.default, POINT),
}


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_backward_is_named(name: str) -> None:
    op, signature = WRONG[name]
    report = checked(op, signature)
    assert report.kinds == {name.partition(" ")[0]}, str(report)


ALIKE = ("mul", "mean", "sort", "matmul")
"""What others show too: products and sums as softmax does, two axes as transpose, kinks as relu and both of a sort."""


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.exhaustive) if n in ALIKE else n for n in RIGHT])
def test_a_right_backward_passes(name: str) -> None:
    op, signature = RIGHT[name]
    report = checked(op, signature, "gradients")
    assert report.ok, str(report)


def test_a_wrong_element_is_located() -> None:
    """The message says which, and by how much; what is printed to see it fails in PyTorch's own gradcheck."""

    def backward(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        made = 2 * x * g
        made[..., -1:] *= 1.5
        return made

    report = checked(function(lambda x: x.square(), backward), "f(x: T[2]) -> (y: T[2])")
    (finding,) = report.findings
    assert "the gradient of y[1] for x[1] is" in finding.message
    assert "(ratio 1.5); 1 of 4 elements of d y / d x are wrong" in finding.message
    assert "torch.autograd.gradcheck(f, inputs)" in finding.reproducer


@pytest.mark.slow
def test_second_derivatives() -> None:
    """A backward that works on numbers outside of the graph is silently constant."""

    def outside(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return g * 3 * x.detach().square()

    report = checked(function(lambda x: x**3, outside), POINT, "gradients")
    assert report.kinds == {"double-backward-zero"}, str(report)

    @torch.autograd.function.once_differentiable
    def once(ctx: Any, g: Tensor) -> Any:
        return g * 3 * ctx.saved_tensors[0].square()

    refusing = function(lambda x: x**3, outside)
    refusing.backward = staticmethod(once)
    report = checked(refusing, POINT, "gradients")
    (second,) = [outcome for outcome in report if outcome.check == "gradgradcheck"]
    assert report.ok, str(report)
    assert (second.status, "asking for it is an error" in second.detail) == ("skipped", True)


def test_a_wrong_second_derivative_says_what_it_is() -> None:
    inner = function(lambda g, x: g * 2 * x, lambda gg, g, x, y: (gg * 2 * x, gg * g))
    report = checked(function(lambda x: x.square(), lambda g, x, y: inner.apply(g, x)), POINT, "gradients")
    assert report.kinds == {"wrong-double-backward"}
    assert "the numerical gradient times 1/2" in report.findings[0].message


@pytest.mark.slow
def test_forward_mode() -> None:
    class Wrong(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x.sin()

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            return g * ctx.saved_tensors[0].cos()

        @staticmethod
        def jvp(ctx: Any, tangent: Tensor) -> Any:
            return -tangent * ctx.saved_tensors[0].cos()

    assert checked(Wrong, POINT, "gradients").kinds == {"wrong-forward-mode"}

    class Zero(Wrong):
        @staticmethod
        def jvp(ctx: Any, tangent: Tensor) -> Any:
            return torch.zeros_like(tangent)

    assert checked(Zero, POINT, "gradients").kinds == {"forward-mode-zero"}


def test_only_wrong_in_one_layout() -> None:
    """A backward that takes the incoming gradient for contiguous reads what an expanded one hasn't got."""

    def raw(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return 2 * g.as_strided(x.shape, x.contiguous().stride())

    def padded(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return raw(g if g.is_contiguous() or g.numel() == 0 else torch.zeros(x.shape, dtype=g.dtype), x, y)

    report = checked(function(lambda x: 2 * x, padded), "f(x: T[N]) -> (y: T[N])")
    assert report.kinds == {"wrong-when-strided"}
    assert "torch.stack([v, v], -1)[..., 0]" in report.findings[0].reproducer


@pytest.mark.slow
def test_gradients_that_are_meant_to_be_no_derivatives() -> None:
    through = function(torch.round, lambda g, x, y: g)
    assert checked(through, POINT).kinds == {"extra-term"}
    for named in ("x", "f.x"):
        assert checked(through, POINT, "gradients", straight_through=(named,)).ok
    with pytest.raises(ValueError, match=r"straight_through='g\.x', expected one of the inputs: "):
        checked(through, POINT, straight_through=("g.x",))


KERNELS = """
OPWRIGHT("logistic(x: f32[N]) -> (y: f32[N])")
void logistic(Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = 1 / (1 + exp(-x[i]));
}
OPWRIGHT("logistic_backward(grad_y: f32[N], y: f32[N]) -> (grad_x: f32[N])")
void logistic_backward(Tensor<const float, 1> g, Tensor<const float, 1> y, Tensor<float, 1> grad_x) {
  for (int64_t i = 0; i < y.size(0); ++i) grad_x[i] = g[i] * y[i] * (1 - y[i]);
}
OPWRIGHT("crooked(x: f32[N]) -> (y: f32[N])")
void crooked(Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = 1 / (1 + exp(-x[i]));
}
OPWRIGHT("crooked_backward(grad_y: f32[N], y: f32[N]) -> (grad_x: f32[N])")
void crooked_backward(Tensor<const float, 1> g, Tensor<const float, 1> y, Tensor<float, 1> grad_x) {
  for (int64_t i = 0; i < y.size(0); ++i) grad_x[i] = g[i] * y[i] * (1 - 0.9f * y[i]);
}
OPWRIGHT("product(x: T[N], y: T[N]) -> (z: T[N]) where T in (f64)")
template <class T>
void product(Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> z) {
  for (int64_t i = 0; i < x.size(0); ++i) z[i] = x[i] * y[i];
}
OPWRIGHT("product_backward(grad_z: T[N], x: T[N], y: T[N]) -> (grad_x: T[N], grad_y: T[N])")
template <class T>
void product_backward(Tensor<const T, 1> g, Tensor<const T, 1> x, Tensor<const T, 1> y,
                      Tensor<T, 1> gx, Tensor<T, 1> gy) {
  T *to_x = gx.data(), *to_y = gy.data();
  for (int64_t i = 0; i < x.size(0); ++i) {
    to_x[i] = g[i] * y[i];
    to_y[i] = g[i] * x[i];
  }
}
OPWRIGHT("untested(x: T[N], y: T[N]) -> (z: T[N]) where T in (f64)")
template <class T>
void untested(Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> z) {
  for (int64_t i = 0; i < x.size(0); ++i) z[i] = x[i] * y[i];
}
OPWRIGHT("untested_backward(grad_z: T[N], x: T[N], y: T[N]) -> (grad_x: T[N], grad_y: T[N])")
template <class T>
void untested_backward(Tensor<const T, 1> g, Tensor<const T, 1> x, Tensor<const T, 1> y,
                       Tensor<T, 1> gx, Tensor<T, 1> gy) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (gx) gx[i] = g[i] * y[i];
    gy[i] = g[i] * x[i];
  }
}
OPWRIGHT("halves(x: T[N]) -> (y: T[N]) where T in (f64, f32)")
template <class T>
void halves(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] * x[i];
}
OPWRIGHT("halves_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])")
template <class T>
void halves_backward(Tensor<const T, 1> g, Tensor<const T, 1> x, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < x.size(0); ++i) grad_x[i] = g[i] * x[i] * (sizeof(T) == 4 ? 1 : 2);
}
OPWRIGHT("scaled(x: T[M, N]!, y: T[M, N]) where T in (f64)")
template <class T>
void scaled(Tensor<T, 2> x, Tensor<const T, 2> y) {
  for (int64_t i = 0; i < x.numel(); ++i) x.flat(i) *= sin(y.flat(i));
}
OPWRIGHT("scaled_backward(grad_x: T[M, N], y: T[M, N]) -> (grad_x: T[M, N])")
template <class T>
void scaled_backward(Tensor<const T, 2> g, Tensor<const T, 2> y, Tensor<T, 2> grad_old) {
  for (int64_t i = 0; i < g.numel(); ++i) grad_old.flat(i) = -g.flat(i) * sin(y.flat(i));
}
"""


@pytest.fixture(scope="session")  # whatever the order of tests: a second file of that name couldn't be loaded
def ops(tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    path = tmp_path_factory.mktemp("ops") / "checked_gradients.cpp"
    path.write_text(f"#include <opwright.h>\n{KERNELS}")
    return opwright.load(path)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "check_", "kind"),
    [
        pytest.param("product", "single gradients", "writes-unwanted-gradient", marks=pytest.mark.slow),
        ("halves", "gradient types", "wrong-element-type"),
        pytest.param("scaled", "gradcheck", "wrong-sign", marks=pytest.mark.slow),
    ],
)
def test_operators_of_opwright(ops: opwright.Operators, name: str, check_: str, kind: str) -> None:
    report = check(getattr(ops, name), only=(check_,), level="quick")
    assert report.kinds == {kind}, str(report)


@pytest.mark.slow
def test_a_gradient_that_is_computed_unasked_is_only_slow(ops: opwright.Operators) -> None:
    report = check(ops.untested, only=("single gradients",), level="quick")
    assert report.ok, str(report)
    detail = report.outcomes[0].detail
    assert detail.endswith("it would be faster to leave out the gradients that aren't wanted: if (gy) ..."), detail


@pytest.mark.slow
def test_a_float32_operator_is_judged_in_float32(ops: opwright.Operators) -> None:
    """Nothing more exact can be had: what rounding does is told from a wrong formula by how the error grows."""
    right = check(ops.logistic, only=("gradcheck",), level="quick")
    assert right.ok, str(right)
    assert "that is rounding, not a wrong formula" in right.outcomes[0].detail
    assert "likely fix: gradcheck with eps=" in right.outcomes[0].detail
    wrong = check(ops.crooked, only=("gradcheck",), level="quick")
    (finding,) = wrong.findings
    assert "that is the formula, not rounding: in float32 the error stays what it is" in finding.message


@pytest.mark.filterwarnings("ignore:Input #0 requires gradient:UserWarning")  # gradcheck's, of float32
def test_the_classical_example(ops: opwright.Operators) -> None:
    """Sigmoid: eps=1e-4 fails in float32 and passes in float64. PyTorch's own gradcheck agrees; we say why."""
    x = torch.linspace(-1, 1, 6)
    exact = torch.autograd.gradcheck(torch.sigmoid, x.double().requires_grad_(), eps=1e-4, raise_exception=False)
    coarse = torch.autograd.gradcheck(torch.sigmoid, x.requires_grad_(), eps=1e-4, raise_exception=False)
    assert (exact, coarse) == (True, False)
    report = checked(torch.sigmoid, POINT, eps=1e-4)
    detail = report.outcomes[0].detail
    assert report.ok
    assert "in float32 with eps=0.0001" in detail
    assert "that is rounding, not a wrong formula" in detail
    assert "likely fix: gradcheck in float64" in detail
    wrong = function(torch.sigmoid, lambda g, x, y: g * y * (1 - 0.9 * y))
    assert "that is the formula, not rounding" in checked(wrong, POINT, eps=1e-4).findings[0].message


def test_a_step_that_is_too_large() -> None:
    detail = checked(lambda x: (20 * x).sin(), POINT, eps=1e-1).outcomes[0].detail
    assert "eps is too large for the function's curve" in detail


@pytest.mark.slow
def test_the_reproducer_reproduces(ops: opwright.Operators) -> None:
    finding = check(ops.scaled, only=("gradcheck",), level="quick").findings[0]
    done = run_python(finding.reproducer)
    assert "GradcheckError: Jacobian mismatch" in done.stderr


EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["softmax"])
def test_examples_pass(name: str) -> None:
    estimates = ("round.x",) if name == "round" else ()
    report = check(EXAMPLES / name / f"{name}.cpp", only=("gradients",), level="quick", straight_through=estimates)
    assert report.ok, str(report)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["sigmoid", "round", "my_op", "lltm", "gather", "dropout", "nms", "activations"])
def test_more_examples_pass(name: str) -> None:
    report = check(EXAMPLES / name / f"{name}.cpp", only=("gradients",), level="quick")
    assert report.ok, str(report)


@pytest.mark.parametrize("op", [torch.sqrt, torch.rsqrt, torch.acos])
def test_where_a_result_is_nan_nothing_is_wrong_elsewhere(op: Any) -> None:
    report = checked(op, POINT)
    assert report.ok, str(report)
