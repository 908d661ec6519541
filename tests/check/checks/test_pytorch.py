"""What PyTorch offers around an operator: right ones pass, and what goes wrong is found and named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright.check import Report

EXAMPLES = Path(__file__).parents[3] / "examples"
VECTOR = "f(x: T[N]) -> (y: T[N]) where T in (f32, f64)"


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    made = torch.library.Library("checked_features", "FRAGMENT")
    yield made
    made._destroy()


def features(op: Any, *only: str, **options: Any) -> Report:
    return opwright.check(op, only=only or ("pytorch",), level="quick", **options)


def status(report: Report, check: str) -> tuple[str, str]:
    return next((o.status, o.detail) for o in report if o.check == check)


def defined(library: torch.library.Library, name: str, body: Any, fake: Any = torch.empty_like) -> Any:
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, body, "CPU")
    torch.library.register_fake(f"checked_features::{name}", fake, lib=library)
    return getattr(torch.ops.checked_features, name).default


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("file", ["dropout/dropout.cpp", "gather/gather.cpp", "sigmoid/sigmoid.cpp"])
def test_right_operators_have_every_feature(file: str) -> None:
    """Dropout is random; one of gather's overwrites an argument that may be differentiated."""
    report = features(EXAMPLES / file)
    assert report.ok, str(report)
    assert not any("it has no" in outcome.detail for outcome in report)


def test_a_fake_kernel_of_another_shape_is_found(library: torch.library.Library) -> None:
    op = defined(library, "longer", lambda x: 2 * x, lambda x: x.new_empty(x.shape[0] + 1))
    report = features(op, "fake kernel", signature=VECTOR)
    assert report.kinds == {"fake-disagrees"}
    assert "the fake kernel says" in report.findings[0].message
    assert "checked_features.longer" in report.findings[0].reproducer


def test_a_schema_that_hides_a_mutation_is_found(library: torch.library.Library) -> None:
    op = defined(library, "zeroes", lambda x: x.zero_().clone())
    assert "schema-disagrees" in features(op, "opcheck", signature=VECTOR).kinds


class Twice(torch.autograd.Function):
    """Right, and without a rule for vmap."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return 2 * grad


def test_gradients_that_compile_loses_are_found(library: torch.library.Library) -> None:
    """Eagerly an autograd kernel, which the dispatcher passes over while compiling."""

    def f(x: torch.Tensor) -> torch.Tensor:
        return 2 * x.detach() if torch.compiler.is_compiling() else Twice.apply(x)  # type: ignore[no-untyped-call]

    report = features(f, "compile", signature=VECTOR)
    assert report.kinds == {"differs-from-eager"}
    assert "the gradient of x" in report.findings[0].message
    assert "none, expected float64[" in report.findings[0].message


def test_values_that_compile_changes_are_found() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return 3 * x if torch.compiler.is_compiling() else 2 * x

    report = features(f, "compile", signature=VECTOR)
    assert report.kinds == {"differs-from-eager"}
    assert len(report.findings) == 2, "with static and with dynamic sizes"


def test_a_rule_of_vmap_that_is_wrong_is_found() -> None:
    class Reversed(torch.autograd.Function):
        @staticmethod
        def forward(x: torch.Tensor) -> torch.Tensor:
            return 2 * x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return 2 * grad

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: torch.Tensor) -> tuple[torch.Tensor, int]:
            return 2 * x.flip(-1), 0

    report = features(Reversed, "vmap", signature=VECTOR)
    assert report.kinds == {"wrong-under-vmap"}
    assert "torch.vmap(" in report.findings[0].reproducer


def test_a_rule_of_vmap_that_takes_all_for_batched_is_found() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, int]:
            if None not in in_dims:
                return x.movedim(in_dims[0], 0) * y.movedim(in_dims[1], 0), 0
            return x.flip(-1) * y, 0

    report = features(Product, "vmap", signature="f(x: T[N], y: T[N]) -> (z: T[N]) where T in (f32, f64)")
    assert report.kinds == {"wrong-under-vmap"}
    assert "in_dims=(0, None)" in report.findings[0].message


@pytest.mark.slow
def test_a_batch_has_no_call_that_the_kernel_refuses(tmp_path: Path) -> None:
    (tmp_path / "between.cpp").write_text("""#include <opwright.h>

OPWRIGHT("between(x: f64[N], at: i64[2] in [0, N]) -> (y: f64[])")
void between(Tensor<const double, 1> x, Tensor<const int64_t, 1> at, Tensor<double, 0> y) {
  OPWRIGHT_CHECK(at[0] <= at[1], "at descends");
  y() = 0;
  for (int64_t i = at[0]; i < at[1]; ++i) y() += x[i];
}
""")
    report = features(tmp_path / "between.cpp", "vmap")
    assert report.ok, str(report)
    assert status(report, "vmap")[0] == "passed"


def test_what_others_operators_do_not_have_is_no_fault_of_theirs() -> None:
    report = features(Twice, "vmap", "torch.func", signature=VECTOR)
    assert report.ok
    assert status(report, "vmap")[0] == "skipped"
    assert "it has no vmap: RuntimeError" in status(report, "vmap")[1]


def test_a_gradient_in_inference_mode_is_found() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            return 2 * x

    assert features(f, "inference mode", signature=VECTOR).kinds == {"gradient-in-inference"}


def test_a_forward_that_differs_the_second_time_is_found_by_checkpoint() -> None:
    seen = []

    def f(x: torch.Tensor) -> torch.Tensor:
        seen.append(torch.is_grad_enabled())
        return (x * x).sin() if len(seen) % 2 else (x * x * x).sin()

    assert features(f, "checkpoint", signature=VECTOR).kinds == {"differs-from-eager"}


def test_values_that_autocast_changes_are_found() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return 3 * x if torch.is_autocast_enabled("cpu") else 2 * x

    assert features(f, "autocast", signature=VECTOR).kinds == {"wrong-under-autocast"}


def test_unknown_words_are_refused() -> None:
    with pytest.raises(TypeError, match="tolerance"):
        opwright.check(torch.sin, signature=VECTOR, tolerance=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"got straight_through='x', expected names: \('x',\)"):
        opwright.check(torch.sin, signature=VECTOR, straight_through="x")
    with pytest.raises(ValueError, match="expected a source file"):
        opwright.check(torch.sin, signature=VECTOR, device="emulated")
