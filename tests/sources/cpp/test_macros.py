"""Macros in the heads of functions, against the preprocessor."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from opwright.errors import SourceError
from opwright.sources import scan
from opwright.sources.cpp.macros import Definitions, expand
from opwright.sources.cpp.tokens import segments, tokenize

SOURCES = {
    "one name": "#define REAL double\nvoid f(const REAL *x, REAL *y)",
    "parameters": "#define VIEW(T, N) Tensor<const T, N>\nvoid f(VIEW(float, 2) x, VIEW(Pair(1, 2), 1) y)",
    "a name without its arguments": "#define VIEW(T) Tensor<T>\nvoid f(VIEW x, VIEW (int) y)",
    "one in another": "#define T float\n#define V(N) Tensor<T, N>\n#define W V(2) x, V(3)\nvoid f(W y)",
    "later ones count": "#define V W(T)\n#define W(X) Tensor<X>\n#define T int\nvoid f(V x)",
    "itself": "#define T T\n#define U V\n#define V U\nvoid f(T x, U y, V z)",
    "an argument that is a macro": "#define ID(X) X\n#define T float\nvoid f(ID(T) x, ID(ID(int)) y, ID() int z)",
    "pasted": "#define CAT(a, b) a##b\n#define NAME(x) x##_backward\n#define int8 wrong\nvoid NAME(f)(CAT(int, 8_t) x)",
    "variadic": "#define ALL(first, ...) void first(__VA_ARGS__)\nALL(f, int x, int y)",
    "no longer defined": "#define T float\n#undef T\nvoid f(T x)",
    "defined again": "#define T float\n#define T float\nvoid f(T x)",
    "a comment and a continued line": "#define T /* a, b */ float // c\n#define V(N) \\\n  Tensor<T, N>\n"
    "void f(V(\n 2) x)",
    "no arguments": "#define EMPTY()\n#define NOTHING\nvoid f(NOTHING int EMPTY() x)",
    "a number": "#define RANK 1\nvoid f(Tensor<float, RANK> x, float v = RANK)",
}


def expanded(text: str, path: Path = Path("op.cpp")) -> tuple[str, dict[str, str]]:
    at = text.rindex("\nvoid" if "\nvoid" in text else "\nALL")
    return expand(text[at:], Definitions(text, segments(text), path).at(at))


@pytest.mark.parametrize("name", SOURCES)
def test_as_the_preprocessor_does(name: str) -> None:
    text = SOURCES[name]
    command = ["c++", "-E", "-P", "-x", "c++", "-"]
    expected = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    assert [token.text for token in tokenize(expanded(text)[0])] == [token.text for token in tokenize(expected)]


REFUSED = {
    "#define T float\n#define T double\nvoid f(T x)": {"T": "is defined in several ways"},
    "#define S(x) #x\nvoid f(S(a) x)": {"S": "makes strings"},
    "#define V(T, N) Tensor<T, N>\nvoid f(V(T) x)": {"V": "takes 2 arguments, and gets 1"},
    "#define V(args...) f(args)\nvoid f(V(T) x)": {"V": "has a named list of arguments"},
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_left_to_the_compiler(text: str) -> None:
    head, problems = expanded(text)
    assert head == text[text.index("\nvoid") :]
    assert problems == REFUSED[text]


def test_an_expansion_without_end() -> None:
    doubled = "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(40))
    assert expanded(f"{doubled}void f(A0 x)")[1] == {"A0": "expands without end"}


KERNEL = """
OPWRIGHT("f(x: T[N], y: T[N]) -> (z: T[N])")
template <class T>
void f(IN(T) x,
       IN(
         T) y, OUT(T) z, int64_t N) {}
"""
HEADER = "#pragma once\n#define OUT(T) Tensor<T, 1>\n"


def test_headers_in_quotes(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "out.h").write_text(HEADER)
    (tmp_path / "views.h").write_text('#include "views.h"\n#include "inner/out.h"\n#define IN(T) Tensor<const T, 1>\n')
    source = tmp_path / "op.cpp"
    source.write_text('#include "views.h"\n#include "missing.h"' + KERNEL)
    (kernel,) = scan(source).kernels
    assert [(p.view, p.element, p.const, p.rank) for p in kernel.function.parameters][:3] == [
        ("Tensor", "T", True, 1),
        ("Tensor", "T", True, 1),
        ("Tensor", "T", False, 1),
    ]
    assert kernel.function.line == 5
    assert kernel.function.macros == ("IN is expanded here", "OUT is expanded here")


def test_heads_that_only_the_compiler_can_expand_are_read_as_written() -> None:
    head = 'OPWRIGHT("f() -> (y: f32[])")\nINLINE void f(Tensor<float, 0> y) {}'
    (kernel,) = scan(Path("op.cpp"), f'#define INLINE __attribute__((section(".x"))) [[gnu::hot]] %%\n{head}').kernels
    assert kernel.function.name == "f"


def test_an_unreadable_head_names_its_macros() -> None:
    text = '#define ARGS(x) #x\nOPWRIGHT("f(x: f32[N]) -> (y: f32[N])")\nvoid f(ARGS(a, b) x) {}'
    with pytest.raises(SourceError) as error:
        scan(Path("op.cpp"), text)
    assert str(error.value).splitlines()[1:] == [
        "  expected `void name(...) { ... }`, perhaps after `template <class T>`",
        "  macro:      ARGS isn't expanded: it takes 1 argument, and gets 2",
        "  likely fix: write there what ARGS stands for",
    ]
