"""Schemas of checkouts, read and written in the notation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.expressible import found, signature_of

LIBRARY = """
#include <torch/library.h>
// ops.def("commented(Tensor x) -> Tensor");
TORCH_LIBRARY(mine, ops) {
  ops.def("scale(Tensor x, float by=2.0,"
          "      str mode=\\"mean\\", int[2] pad=0) -> Tensor");
  ops.def("copy_(Tensor! out, Tensor(b!) other, SymInt? k=None) -> ()");
  ops.def(TORCH_SELECTIVE_SCHEMA("mine::split(Tensor x) -> Tensor[]"));
  ops.impl("scale", torch::kCPU, &scale);
}
"""
BOUND = """
#include <torch/extension.h>
std::tuple<at::Tensor, at::Tensor> pair(const at::Tensor& x, const c10::optional<at::Tensor>& w, int64_t k);
at::Tensor unknown(Helper h) { return {}; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("pair", &pair, "two results");
  m.def("unknown", &unknown);
}
static auto registry = torch::RegisterOperators().op("mine::pair_of", &pair);
"""


def test_what_is_found(tmp_path: Path) -> None:
    (tmp_path / "library.cpp").write_text(LIBRARY)
    (tmp_path / "bound.cpp").write_text(BOUND)
    (tmp_path / "other.cpp").write_text('void f() { table.def("no_schema(Tensor x) -> Tensor"); }')
    texts = {each.place.split()[-1]: each.text for each in found(tmp_path)}
    assert texts == {
        "pair": "pair(Tensor x, Tensor? w, int k) -> (Tensor, Tensor)",
        "unknown": "",
        "mine::pair_of": "pair_of(Tensor x, Tensor? w, int k) -> (Tensor, Tensor)",
        "scale": 'scale(Tensor x, float by=2.0, str mode="mean", int[2] pad=0) -> Tensor',
        "copy_": "copy_(Tensor! out, Tensor(b!) other, SymInt? k=None) -> ()",
        "mine::split": "split(Tensor x) -> Tensor[]",
    }


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("f(Tensor x, float by=2.0) -> Tensor", "f(x: T[...], by: float = 2.0) -> (out_0_: T[...])"),
        ("f(Tensor x, Tensor? w, int? k=None, str s='a') -> ()", "f(x: T[...], w: T[...]?, k: int?, s: str = 'a')"),
        ("f(Tensor(a!) x, bool[3] m, SymInt[] s, float[2] c=0.5)", None),
        (
            "f(Tensor[] xs, Tensor y) -> (Tensor[], Tensor)",
            "f(xs: list[T[each ...]], y: T[...]) -> (out_0_: list[T[each ...]], out_1_: T[...])",
        ),
        (
            "f(float a, Tensor(a!)[] xs, Tensor[] ys) -> Tensor",
            "f(a: float, xs: list[T[each ...]]!, ys: list[T[each ...]]) -> (out_0_: T[])",
        ),
        (
            "f(Tensor(a!) x, bool[3] m, SymInt[] s, float[2] c) -> ()",
            "f(x: T[...]!, m: list[bool, 3], s: list[int], c: list[float, 2])",
        ),
        (
            "f(Tensor x, Tensor? w, bool all) -> (Tensor, Tensor?, int)",
            "f(x: T[...], w: T[...]?, all: bool) -> (out_0_: T[...], out_1_: T[...]? if all, out_2_: int)",
        ),
        ("f(Tensor x) -> Tensor[]", "f(x: T[...]) -> [out_0_: T[...], out_1_: T[...]]"),
        ("f(Tensor(a!) x, Tensor y) -> Tensor(a!)", "f(x: T[...]!, y: T[...]) -> (x)"),
        (
            "f(Tensor(a!) x, Tensor(b!) y) -> (Tensor(b!), Tensor(a!))",
            "f(x: T[...]!, y: T[...]!) -> (y, x)",
        ),
        ("f(Tensor x, Tensor? w) -> Tensor?", "f(x: T[...], w: T[...]?) -> (out_0_: T[...]? if w)"),
        (
            "f(Tensor x, Generator? g=None) -> (Tensor, Tensor)",
            "f(x: T[...], g: generator(1)) -> (out_0_: T[...], out_1_: T[...])",
        ),
    ],
)
def test_what_can_be_written(text: str, signature: str | None) -> None:
    assert signature_of(text) == (signature, "") if signature else signature_of(text)[1]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("f(Tensor[]? x, Tensor y) -> Tensor", "arguments: lists of tensors"),
        ("f(Tensor x, Tensor(a!)? out) -> (Tensor(a!), Tensor)", "results that are optional arguments"),
        ("f(Tensor x, Tensor(a!) y) -> (Tensor(a!), Tensor)", "results that are views, or new beside arguments"),
        ("f(Tensor x, Tensor(a) y) -> Tensor(a)", "views of arguments (Tensor(a))"),
        ("f(Tensor x, *, int k) -> Tensor", "keyword-only arguments"),
        ("f(Tensor x) -> float", "results: float"),
        ("f(Tensor x) -> Tensor?", "results: optional tensors"),
        ("f(Tensor x, Device on) -> Tensor", "arguments: Device"),
        ("f(Tensor x, ScalarType? to=float) -> Tensor", "arguments: Optional[ScalarType]"),
        ("f(Tensor(a!) x, ScalarType to) -> ()", "element types that no result has"),
        ("f(int n) -> int", "no tensor among the arguments"),
        ("f(int n) -> ()", "no tensor among the arguments"),
        (
            "f(Tensor grad_x) -> Tensor",
            "refused: 'grad_x': the prefix 'grad_' is reserved for gradients, in operators named '..._backward'",
        ),
        ("f(Tensr x) -> Tensor", "not a schema that PyTorch reads"),
    ],
)
def test_what_blocks(text: str, cause: str) -> None:
    assert signature_of(text)[1] == cause


@pytest.mark.parametrize(
    "text",
    [
        "f(Tensor x, ScalarType dtype) -> Tensor",
        "f(Tensor x, ScalarType dtype) -> Tensor[]",
        "f(Tensor x, int dim=-1, ScalarType? to=None) -> (Tensor, Tensor)",
        "f(Tensor x, ScalarType to=float8_e4m3fn, ScalarType other=int64, Device? device=None) -> (Tensor, Tensor)",
    ],
)
def test_element_types_devices_and_numbers_of_axes(text: str) -> None:
    assert signature_of(text)[1] == ""
