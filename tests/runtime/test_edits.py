"""What happens to a source, or to a namespace, between the load and the calls."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright.errors import SignatureError

SCALE = """
OPWRIGHT("scale(x: T[N]) -> (y: T[N])")
template <class T> void scale(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = 2 * x[i];
}
OPWRIGHT("scale_backward(grad_y: f32[N]) -> (grad_x: f32[N])")
void scale_backward(Tensor<const float, 1> grad_y, Tensor<float, 1> grad_x) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x[i] = 2 * grad_y[i];
}
"""
Write = Callable[..., Path]


@pytest.mark.slow
def test_what_was_loaded_is_what_is_compiled_later(write: Write) -> None:
    """An edit changes nothing until the file is loaded again: not for another element type, not for the backward."""
    text = SCALE.replace("grad_y: f32[N]", "grad_y: T[N]").replace("grad_x: f32[N]", "grad_x: T[N]")
    text = text.replace("void scale_backward(", "template <class T> void scale_backward(").replace("float", "T")
    source = write(text, "edited_later.cpp")
    ops = opwright.load(source)
    x = torch.ones(3, requires_grad=True)
    y = ops.scale(x)
    write(text.replace("2 *", "5 *"), "edited_later.cpp")
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2]
    assert ops.scale(torch.ones(1, dtype=torch.float64)).tolist() == [2]
    source.unlink()
    assert ops.scale(torch.ones(1, dtype=torch.float16)).tolist() == [2]
    write(text.replace("2 *", "5 *"), "edited_later.cpp")
    opwright.load(source)
    assert ops.scale(torch.ones(1)).tolist() == [5]
    assert ops.scale(torch.ones(1, dtype=torch.float64)).tolist() == [5]


def test_headers_beside_the_source_are_found_and_errors_name_the_source(write: Write, tmp_path: Path) -> None:
    (tmp_path / "factor.h").write_text("constexpr int factor = 7;\n")
    kernel = 'OPWRIGHT("times(x: f32[N]) -> (y: f32[N])")\nvoid times(Tensor<const float, 1> x, Tensor<float, 1> y) {'
    ops = opwright.load(write(f'#include "factor.h"\n{kernel} y[0] = factor * x[0]; }}', "with_header.cpp"))
    assert ops.times(torch.ones(1)).tolist() == [7]
    wrong = write(f"{kernel} y[0] = nothing; }}", "with_error.cpp")
    broken = opwright.load(wrong)
    with pytest.raises(opwright.CompileError) as caught:
        broken.times(torch.ones(1))
    assert str(caught.value).startswith(f"{wrong}:3:")


def test_threads_that_load_the_same_file_get_the_same_operators(write: Write) -> None:
    text = SCALE[: SCALE.index('OPWRIGHT("scale_backward')]
    source, loaded, errors = write(text, "in_threads.cpp"), [], []

    def load() -> None:
        try:
            loaded.append(opwright.load(source))
        except Exception as error:  # noqa: BLE001 - the test shows it
            errors.append(error)

    threads = [threading.Thread(target=load) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(set(map(id, loaded))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["name", "_sources", "_dir"])
def test_a_name_that_no_operator_can_have_is_refused_and_costs_nothing(name: str, write: Write) -> None:
    text = SCALE[: SCALE.index('OPWRIGHT("scale_backward')]
    space = f"names_{name.strip('_')}"
    with pytest.raises(SignatureError, match=f"no operator can be called {name}: "):
        opwright.load(write(text.replace("scale", name), "named.cpp"), namespace=space)
    assert opwright.load(write(text, "named.cpp"), namespace=space).scale(torch.ones(1)).tolist() == [2]


def test_a_file_whose_name_is_no_identifier(write: Write) -> None:
    ops = opwright.load(write(SCALE[: SCALE.index('OPWRIGHT("scale_backward')], "é 2-op.cpp"))
    assert ops.scale(torch.ones(1)).tolist() == [2]
    assert ops.scale.name().startswith("__2_op::scale.sig_")


@pytest.mark.slow
@pytest.mark.native
def test_the_runtime_is_built_once_for_every_folder(tmp_path: Path) -> None:
    script = (
        "from opwright.runtime.native.runtime import build_native; built = build_native(); "
        "print(built.cached, built.path)"
    )
    results = set()
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        words = [sys.executable, "-c", script]
        done = subprocess.run(words, cwd=tmp_path / folder, capture_output=True, text=True, check=True)
        results.add(done.stdout)
    assert len(results) == 1
    assert results.pop().startswith("True ")


@pytest.mark.slow
def test_an_edit_that_does_not_compile_leaves_everything_as_it_was(write: Write) -> None:
    text = SCALE.replace("grad_y: f32[N]", "grad_y: T[N]").replace("grad_x: f32[N]", "grad_x: T[N]")
    text = text.replace("void scale_backward(", "template <class T> void scale_backward(").replace("float", "T")
    source = write(text, "broken_edit.cpp")
    ops = opwright.load(source)
    x = torch.ones(2, requires_grad=True)
    ops.scale(x).sum().backward()
    write(text.replace("2 *", "5 * nothing *"), "broken_edit.cpp")
    with pytest.raises(opwright.CompileError, match="nothing"):
        opwright.load(source)
    assert ops.scale(torch.ones(1, dtype=torch.float64)).tolist() == [2]  # another element type, of the old text
    assert torch.autograd.grad(ops.scale(x).sum(), x)[0].tolist() == [2, 2]


def test_a_string_of_flags_is_refused(write: Write) -> None:
    with pytest.raises(TypeError) as caught:
        opwright.load(write(SCALE, "flags.cpp"), extra_cflags="-O1 -g")
    assert str(caught.value) == (
        "load() got extra_cflags='-O1 -g', expected a sequence of words: extra_cflags=['-O1', '-g']"
    )
