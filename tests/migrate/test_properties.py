"""Whatever a text is made of: nothing fails, migrating twice is migrating once, comments and literals stay."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.aten.compat.api_changes import HEADERS, NAMES
from opwright.migrate import Examined, examine
from opwright.sources.cpp.normalized import normalized

_CALLS = [
    "x.data<float>()",
    "x.type()",
    "x.type().is_cuda()",
    'AT_DISPATCH_ALL_TYPES(x.type(), "f", [&] { g(); })',
    'AT_DISPATCH_ALL_TYPES_AND_HALF(x->type(), "f", [&] { g(); })',
    "extern THCState *state;\n",
    "THCState *s = at::globalContext().lazyInitCUDA();\n",
    "at::globalContext().lazyInitCUDA();",
    "THCudaMalloc(state, THCCeilDiv(a, b))",
    "THCudaFree(s, p);",
    "THCudaBlas_Sgemm(state, THCState_getCurrentStream(s), m)",
    "THCThrustAllocator a(state);",
    "at::IntList",
    "c10::optional<int>",
    "using AT_CHECK = int;",
    "THCudaTensor *t;",
]
_WORDS = [*sorted({name.word for name in NAMES} - {""}), *_CALLS]
_AROUND = [
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    ",",
    ";",
    "\n",
    "\r\n",
    " ",
    "=",
    "*",
    '"',
    "'",
    "/*",
    "*/",
    "//",
    "\\",
    "\xe9",
]
_LINES = [f"\n#include <{header.name}>\n" for header in HEADERS] + [
    "\n#include <torch/torch.h>\n",
    "\n#if TORCH_VERSION\n",
    "\n#ifdef WITH_CUDA\n",
    "\n#endif\n",
    "\n#if 0\n",
    "\n#define CHECK(x) ",
    "\nPYBIND11_MODULE(a, m)",
    '"AT_CHECK(x)"',
    "/* AT_CHECK(x) */",
]
_CPP = st.lists(st.sampled_from([*_WORDS, *_AROUND, *_LINES]), max_size=30).map("".join)
_PYTHON_PARTS = [
    *("x.cuda(async=True)", "loss.data[0]", "y.data[0]", "'-std=c++11'", '"sm_35"', "Variable(", "volatile="),
    *("class F(Function):", "def forward(self", "@staticmethod\n", ".saved_variables", "backward(retain_variables=1"),
    *("(", ")", "'", '"""', "#", "\n", " ", "\\", "r'", "="),
]
_PYTHON = st.lists(st.sampled_from(_PYTHON_PARTS), max_size=30).map("".join)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(_CPP)
def test_cpp_twice_is_once(text: str) -> None:
    first = judged(text, "op.cu")
    assert judged(first.after, "op.cu").after == first.after
    assert literals(first.before) == literals(first.after)


@settings(max_examples=200, deadline=None)
@given(_PYTHON)
def test_python_twice_is_once(text: str) -> None:
    first = judged(text, "op.py")
    assert judged(first.after, "op.py").after == first.after


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_survived(data: bytes) -> None:
    for name in ("op.cu", "op.py", "Makefile"):
        if b"\0" not in data:
            judged(data, name)


def literals(data: bytes) -> list[str]:
    text = data.decode("latin-1")
    return [text[t.start : t.end] for t in normalized(text).tokens if t.kind in {"string", "char", "directive"}]


def judged(text: str | bytes, name: str) -> Examined:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(text.encode("latin-1") if isinstance(text, str) else text)
        return examine(path)
