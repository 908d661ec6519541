"""Private names of PyTorch stand in runtime/torch_internals.py and runtime/native/csrc/torch_compat*.h alone.

The device that stands for a GPU (aten/emulation) is made of what PyTorch keeps for devices, and has names of its own.

In Python a name is private if it is an attribute of ``torch``, or of one of its modules, that begins with one
underscore; or one of the attributes of PyTorch's objects that torch_internals lists, but for those of ``self``. In C++
it is private if it stands in a namespace ``impl``, ``detail``, ``internal`` or ``native``, anywhere in
``torch::autograd`` or ``torch::dynamo``, or begins with an underscore; headers of such names are private, too. Headers
that stand in for PyTorch's own (aten/include, legacy/include) include ATen on purpose, and aren't looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright.runtime import torch_internals as _names  # noqa: F401 - which fills NAMES
from opwright.runtime.private_name import NAMES

SRC = Path(__file__).parents[1] / "src" / "opwright"
SEAM = SRC / "runtime" / "torch_internals.py"
DEVICE = SRC / "aten" / "emulation"
TEMPLATES = SRC / "scaffold" / "templates"
ATTRIBUTES = {name.attribute for name in NAMES if not name.path.startswith("torch.") and name.attribute.startswith("_")}
CPP = re.compile(
    r"\b(?:c10|at|torch(?:::\w+)*)::(?:impl|detail|internal|native)::\w+|\btorch::(?:autograd|dynamo)::\w+|"
    r"\b(?:at|c10|torch(?:::\w+)*)::_\w+|(?:\.|->)_[a-z]\w*|"
    r"#include <(?:torch/csrc/(?!stable/)|ATen/native/|ATen/detail/|c10/(?:\w+/)*impl/|ATen/ops/_)[^>]*>"
)
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)


def private_in_python(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if re.match(r"torch(\.\w+)*\._[a-zA-Z]", alias.name))
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in names if re.match(r"torch(\.\w+)*\._[a-zA-Z]", name))
        elif isinstance(node, ast.Attribute) and re.match(r"_[a-zA-Z]", node.attr):
            dotted = ast.unparse(node)
            if re.match(r"torch(\.\w+)*\._", dotted) or (node.attr in ATTRIBUTES and dotted != f"self.{node.attr}"):
                yield dotted


def private_in_cpp(text: str) -> list[str]:
    return CPP.findall(COMMENTS.sub(" ", text))


@pytest.mark.slow
def test_python() -> None:
    files = [path for path in SRC.rglob("*.py") if path != SEAM and not {TEMPLATES, DEVICE} & {*path.parents}]
    assert len(files) > 100
    found = {str(path.relative_to(SRC)): [*private_in_python(path.read_text("utf-8"))] for path in files}
    assert {path: names for path, names in found.items() if names} == {}


def test_cpp() -> None:
    folders = [SRC / "runtime" / "native" / "csrc", SRC / "legacy" / "csrc", SRC / "legacy" / "csrc_python"]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".cpp", ".h"}]
    seams = [path for path in files if path.name.startswith("torch_compat")]
    assert len(files) > 50
    names = ["torch_compat.h", "torch_compat_autograd.h", "torch_compat_functorch.h"]
    assert [path.name for path in sorted(seams)] == names
    found = {path.name: private_in_cpp(path.read_text("utf-8")) for path in files if path not in seams}
    assert {path: names for path, names in found.items() if names} == {}
    assert all(private_in_cpp(path.read_text("utf-8")) for path in seams)


def test_what_is_found_in_python() -> None:
    text = """
import torch._dynamo.guards
from torch import _C
from torch._ops import OpOverload
from torch.autograd.function import _SingleLevelFunction
import torch
torch._C.x, torch.ops.ns.f._schema, tensor._base, torch.autograd.forward_ad._current_level
torch.__version__, self._own, "torch._C", torch.ops.aten.add_
"""
    found = [*private_in_python(text)]
    assert sorted(set(found)) == [
        "tensor._base",
        "torch._C",
        "torch._dynamo.guards",
        "torch._ops.OpOverload",
        "torch.autograd.forward_ad._current_level",
        "torch.autograd.function._SingleLevelFunction",
        "torch.ops.ns.f._schema",
    ]


def test_what_is_found_in_cpp() -> None:
    text = """
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/stable/c/shim.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_foo.h>
c10::impl::Guard g; at::detail::empty_cpu(); torch::autograd::Node *n; t._fw_grad(0); p->_x; at::_foo();
// c10::impl::Comment
own::impl::name(); x.own_; "torch._C"; c10::Dispatcher d; __attribute__((used));
"""
    assert private_in_cpp(text) == [
        "#include <torch/csrc/autograd/function.h>",
        "#include <ATen/ops/_foo.h>",
        "c10::impl::Guard",
        "at::detail::empty_cpu",
        "torch::autograd::Node",
        "._fw_grad",
        "->_x",
        "at::_foo",
    ]
