"""Functions that at::Type had: found, replaced, and mended in memory by a build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from opwright.aten.compat.type_members import calls, rewritten
from opwright.cpp_extension import load
from opwright.migrate import examine
from opwright.sources.cpp.edits import apply_edits
from opwright.sources.cpp.normalized import normalized

SAME = [
    "auto y = torch::tensor({1}); auto z = module.zeros(3);",
    "auto d = x.device().type(); auto y = d.tensor({2});",
    "auto y = x.type().tensor(",
    "y = std::get<0>(r).type().tensor({1});",
    "// x.type().tensor({2})",
    "auto size = x.size(0); auto y = size.zeros({2});",
]
REPLACED = [
    ("auto y = x.type().tensor({2, 3});", "auto y = at::empty({2, 3}, x.type().options());"),
    ("return x->type().tensor();", "return at::empty({0}, x->type().options());"),
    ("x.type().tensor(a, b);", "at::empty_strided(a, b, x.type().options());"),
    (
        "y = x.type().toScalarType(at::kLong).zeros({n});",
        "y = at::zeros({n}, x.type().toScalarType(at::kLong).options());",
    ),
    ("f(at::CPU(at::kFloat).tensorFromBlob(p, {2}));", "f(at::from_blob(p, {2}, at::CPU(at::kFloat).options()));"),
    ("auto& t = x.type(); t.ones({n});", "auto& t = x.type(); at::ones({n}, t.options());"),
    ("T f(const at::Type& t) { return t.rand({1}); }", "T f(const at::Type& t) { return at::rand({1}, t.options()); }"),
    ("(x + 1).type().randn(x.sizes())", "at::randn(x.sizes(), (x + 1).type().options())"),
    ("v[0].w->type().tensor(v[1].sizes())", "at::empty(v[1].sizes(), v[0].w->type().options())"),
    (
        "x.type().tensor({x.type().zeros({1}).size(0)})",
        "at::empty({at::zeros({1}, x.type().options()).size(0)}, x.type().options())",
    ),
]
SOURCE = """#include <torch/extension.h>
at::Tensor counted(at::Tensor x) {
  static float numbers[] = {1, 2, 3};
  auto& type = x.type();
  auto a = x.type()
               .tensor({3}).fill_(2);
  auto b = type.toScalarType(at::kDouble).zeros({3});
  auto c = at::CPU(at::kFloat).tensorFromBlob(numbers, {3});
  return a + b + c + type.ones({1}) + x.toLongTensor();
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("counted", &counted); }
"""


@pytest.mark.parametrize("text", SAME)
def test_what_is_no_types_is_left_alone(text: str) -> None:
    assert calls(normalized(text)) == []


@pytest.mark.parametrize(("text", "expected"), REPLACED)
def test_replaced(text: str, expected: str) -> None:
    edits = [edit for call in calls(normalized(text)) for edit in call.edits]
    assert apply_edits(text, edits) == expected


def test_line_numbers_stay(tmp_path: Path) -> None:
    path = tmp_path / "op.cpp"
    path.write_text(SOURCE)
    text, report = rewritten(path)
    assert text.count("\n") == SOURCE.count("\n")
    assert report == (
        f"tensor, zeros, tensorFromBlob, ones of at::Type ({path}:6): rewritten in memory; `opwright migrate` writes it"
    )
    path.write_bytes(b"// \xe9\nauto y = x.type().tensor({2});")
    assert rewritten(path) == ("", "")
    assert rewritten(tmp_path / "nowhere.cpp") == ("", "")


@pytest.mark.exhaustive
def test_a_build_mends_them_and_migrate_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "op.cpp"
    path.write_text(SOURCE)
    x = torch.tensor([1.7])
    expected = torch.tensor([5.0, 6.0, 7.0], dtype=torch.float64)
    module: Any = load("type_members", [str(path)])
    assert torch.equal(module.counted(x), expected)
    assert path.read_text() == SOURCE
    migrated = examine(path).after
    assert b".tensor" not in migrated
    assert b"toLongTensor" not in migrated
    path.write_bytes(migrated)
    module = load("type_members_migrated", [str(path)])
    assert torch.equal(module.counted(x), expected)
