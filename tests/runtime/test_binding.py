"""The native runtime binds a call's axes as `opwright.signature.bind` does: same calls accepted, same shapes out."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch

import opwright
from opwright.errors import ArgumentError
from opwright.signature import DType, TensorInfo, bind, output_shapes, parse

SIGNATURES = [
    "a(x: f32[N*N], y: f32[N]) -> (z: f32[N])",
    "b(x: f32[(N+1)//2, N]) -> (z: f32[N//2])",
    "c(x: f32[A*B], y: f32[B]) -> (z: f32[A, B])",
    "d(x: f32[A+B, A-B], y: f32[A]) -> (z: f32[2*A-B])",
    "e(x: f32[..., 2*C], y: f32[..., C]) -> (z: f32[..., 3*C-1])",
    "g(x: f32[3*S, I+S], y: f32[I]?) -> (z: f32[S*I])",
    "h(x: f32[A//2, B], y: f32[B*A], w: f32[A]) -> (z: f32[B-A])",
    "k(x: f32[2-A], y: f32[A]) -> (z: f32[A])",
]


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    """An operator for each signature that does nothing: only its shapes matter."""
    lines = ["#include <opwright.h>"]
    for text in SIGNATURES:
        signature = parse(text)
        views = [f"Tensor<{'const ' * (i < len(signature.tensors))}float>" for i in range(len(signature.tensors) + 1)]
        lines += [f'OPWRIGHT("{text}")', f"void {signature.name}({', '.join(views)}) {{}}"]
    path = tmp_path_factory.mktemp("binding") / "binding.cpp"
    path.write_text("\n".join(lines))
    return opwright.load(path)


def expected(text: str, shapes: dict[str, tuple[int, ...] | None]) -> tuple[int, ...] | str:
    signature = parse(text)
    infos = {name: None if shape is None else TensorInfo(shape, DType.F32) for name, shape in shapes.items()}
    try:
        (shape,) = output_shapes(signature, bind(signature, infos))
    except ArgumentError as error:
        return str(error)
    return tuple(int(size) for size in shape)  # type: ignore[arg-type]


def outcome(call: Callable[[], torch.Tensor]) -> tuple[int, ...] | str:
    """The result's shape, or the error's text."""
    try:
        return tuple(call().shape)
    except ArgumentError as error:
        return str(error)


@pytest.mark.slow
@pytest.mark.parametrize("text", SIGNATURES)
def test_native_and_python_binding_agree(text: str, operators: opwright.Operators) -> None:
    signature = parse(text)
    axes = [[*itertools.product(range(5), repeat=len(t.dims) + t.has_ellipsis)] for t in signature.tensors]
    choices = [[*shapes, None] if t.optional else shapes for t, shapes in zip(signature.tensors, axes, strict=True)]
    accepted = 0
    for shapes in itertools.islice(itertools.product(*choices), 0, None, 1 if len(choices) < 3 else 3):
        tensors = [None if shape is None else torch.empty(shape) for shape in shapes]
        want = expected(text, dict(zip((t.name for t in signature.tensors), shapes, strict=True)))
        got = outcome(lambda: getattr(operators, signature.name)(*tensors))  # noqa: B023 - called at once
        assert got == want, (text, shapes)
        accepted += isinstance(got, tuple)
    assert accepted
