from __future__ import annotations

import pathlib
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.errors import OpwrightError, SignatureError, SourceError
from opwright.signature import parse
from opwright.sources import Kernel, Source, scan

MY_OP = """\
#include <opwright.h>
#include "helper.h"  // "not.h"

OPWRIGHT("my_op(x: T[...], y: T[...]) -> (z: T[...])")
template <class T>
void my_op(Tensor<const T> x, Tensor<const T> y, Tensor<T> z) {
  parallel_for(z.numel(), [&](int64_t i) { z[i] = 3 * x[i] - y[i]; });
}

OPWRIGHT("my_op_backward(grad_z: T[...]) -> (grad_x: T[...], grad_y: T[...])")
template <class T>
void my_op_backward(Tensor<const T> grad_z, Tensor<T> grad_x, Tensor<T> grad_y) {
  for (int64_t i = 0; i < grad_z.numel(); ++i) grad_x[i] = 3 * grad_z[i], grad_y[i] = -grad_z[i];
}
"""
VOID = "void f(Tensor<const float, 1> x) {}"


def scanned(text: str, name: str = "my_op.cpp") -> Source:
    return scan(pathlib.Path(name), textwrap.dedent(text))


def only(text: str, name: str = "my_op.cpp") -> Kernel:
    source = scanned(text, name)
    assert len(source.kernels) == 1
    return source.kernels[0]


def test_a_file_with_two_kernels() -> None:
    source = scanned(MY_OP)
    assert source.language == "c++"
    assert source.includes == ("<opwright.h>", '"helper.h"')
    forward, backward = source.kernels
    assert forward.signature == parse("my_op(x: T[...], y: T[...]) -> (z: T[...])")
    assert (forward.line, forward.function.line, forward.function.name) == (4, 6, "my_op")
    assert forward.function.template == ("T",)
    assert [p.name for p in forward.function.parameters] == ["x", "y", "z"]
    assert (backward.line, backward.function.line, backward.function.name) == (10, 12, "my_op_backward")


def test_the_file_is_read_when_no_text_is_given(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "my_op.cpp"
    path.write_bytes(b"\xef\xbb\xbf// caf\xe9, in Latin-1\r\n" + MY_OP.replace("\n", "\r\n").encode())
    assert [kernel.line for kernel in scan(path).kernels] == [5, 11]


@pytest.mark.parametrize(
    ("name", "language"), [("a.c", "c"), ("a.cpp", "c++"), ("a.cc", "c++"), ("a.cxx", "c++"), ("odd name.C", "c++")]
)
def test_the_suffix_says_which_language(name: str, language: str) -> None:
    assert scanned("int x;", name) == Source(pathlib.Path(name), language, (), ())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "annotation",
    [
        'OPWRIGHT("f(x: f32[N])")',
        'OPWRIGHT("f(x: f32[N])");',
        'OPWRIGHT("f(x: f32[N])") /* why */ ; // because',
        'OPWRIGHT ( "f(x: "  /* two */\n "f32[N])" // literals\n )',
        'OPWRIGHT(R"(f(x: f32[N]))")',
        'OPWRIGHT(R"op(\n  f(x: f32[N])\n)op")',
        'OPWRIGHT("f(x: " R"(f32)" "[N])")',
        'OPWRIGHT("f(x: f32\\\n[N])")',
        'OPWRIGHT("f(x:\\tf32[N])")',
    ],
)
def test_the_ways_to_write_an_annotation(annotation: str) -> None:
    assert only(f"{annotation}\n{VOID}").signature == parse("f(x: f32[N])")


@pytest.mark.parametrize(
    "elsewhere",
    [
        '// OPWRIGHT("g(")',
        '/* OPWRIGHT("g(") */',
        '// continued \\\nOPWRIGHT("g(")',
        'const char *s = "OPWRIGHT(\\"g(\\")";',
        'const char *s = R"x(OPWRIGHT("g(") )" )x";',
        'const char *s = u8R"(OPWRIGHT("g("))";',
        "#define OPWRIGHT(text)",
        '#define MINE \\\n  OPWRIGHT("g(")',
        '#define OPEN "/*"',
        '#define C /* two\n OPWRIGHT("g(") lines */ 1',
        '#if 0\nOPWRIGHT("g(")\n#endif',
        '#if 0 // never\n#if 1\nOPWRIGHT("g(")\n#else\nOPWRIGHT("h(")\n#endif\nOPWRIGHT("i(")\n#endif',
        "#if 0\n{{{ it's \" no C at all\n#else\nint y;\n#endif",
        "/*\n#if 0\n*/",
        "#if 0\n#else\n#if 0\n}\n#elif 1\n#endif\n#endif",
        "#if 0x1\n#endif",
        "int MY_OPWRIGHT(int), OPWRIGHT_CHECK(int);",
        "const int million = 1'000'000; char quote = '\"', brace = '{';",
        "#if A\nvoid g() {\n#else\nvoid h() {\n#endif\n}",
        "#error don't",
        "x = = ) (] template < 3 syntax error ;",
        "class A { void g() { if (1) { } } }; int a[] = {1, 2};",
    ],
)
def test_what_stands_elsewhere_does_not_matter(elsewhere: str) -> None:
    lines = elsewhere.count("\n") + 1
    kernel = only(f'{elsewhere}\nOPWRIGHT("f(x: f32[N])")\n{VOID}\n{elsewhere}')
    assert (kernel.line, kernel.function.line, kernel.function.name) == (lines + 1, lines + 2, "f")


def test_the_other_branch_of_if_0_is_alive() -> None:
    assert only(f'#if 0\nOPWRIGHT("g(")\n#else\nOPWRIGHT("f(x: f32[N])")\n{VOID}\n#endif').line == 4


def test_a_kernel_inside_a_condition() -> None:
    assert only(f'#ifdef FAST\nOPWRIGHT("f(x: f32[N])")\n{VOID}\n#endif').line == 2


@pytest.mark.parametrize(
    ("opening", "closing", "name"),
    [
        ("namespace a {", "}", "a::f"),
        ("namespace a::b {", "}", "a::b::f"),
        ("namespace a { inline namespace b\n{", "}}", "a::b::f"),
        ("namespace a { namespace {", "}}", "a::f"),
        ("namespace /* c */ a // d\n{", "}", "a::f"),
        ("namespace [[deprecated]] a {", "}", "a::f"),
        ("namespace a {} namespace b {", "}", "b::f"),
        ('extern "C" {', "}", "f"),
        ("#ifdef X\nnamespace a {\n#else\nnamespace a {\n#endif", "}", "a::f"),
    ],
)
def test_the_name_is_qualified(opening: str, closing: str, name: str) -> None:
    kernel = only(f'#include "x.h"\n{opening}\nOPWRIGHT("f(x: f32[N])")\n{VOID}\n{closing}')
    assert kernel.function.name == name


def failure(text: str, kind: type[OpwrightError] = SourceError) -> str:
    with pytest.raises(kind) as caught:
        scanned(text)
    assert type(caught.value) is kind
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("OPWRIGHT f()", "my_op.cpp:2: OPWRIGHT is followed by no parenthesis, expected a string literal"),
        ("OPWRIGHT()", "my_op.cpp:2: OPWRIGHT(...) holds ')', expected a string literal"),
        ("OPWRIGHT(SIG) void f() {}", "my_op.cpp:2: OPWRIGHT(...) holds 'SIG)', expected a string literal"),
        ('OPWRIGHT("f(x: f32[N])", 1)', "my_op.cpp:2: OPWRIGHT(...) holds ',', expected a string literal"),
        ('OPWRIGHT("f(x: f32[N])"', "my_op.cpp:2: OPWRIGHT( is never closed"),
        ('OPWRIGHT("f(\\x41)") void f() {}', "my_op.cpp:2: a signature can't hold '\\\\x'"),
        (
            'OPWRIGHT("f(x: f32[N])")',
            "my_op.cpp:2: no function follows OPWRIGHT(...), expected the function's definition",
        ),
        ('namespace a { OPWRIGHT("f(x: f32[N])") }', "my_op.cpp:2: no function follows OPWRIGHT(...)"),
        ('OPWRIGHT("f(x: f32[N])") OPWRIGHT("g()") void g() {}', "my_op.cpp:2: no function follows OPWRIGHT(...)"),
        (
            'OPWRIGHT("f(x: f32[N])")\nvoid f();',
            (
                "my_op.cpp:3: OPWRIGHT(...) is followed by a declaration, expected the function's definition, "
                "`void name(...) { ... }`\n  likely fix: put OPWRIGHT(...) right before the function"
            ),
        ),
        (
            'OPWRIGHT("f(x: f32[N])")\nnamespace a { void f(Tensor<const float, 1> x) {} }',
            (
                "my_op.cpp:2: f: what follows OPWRIGHT(...) can't be read as a function: `namespace a`\n"
                "  expected `void name(...) { ... }`, perhaps after `template <class T>`\n"
                "  likely fix: write OPWRIGHT(...) inside the namespace, directly before the function"
            ),
        ),
        (
            'OPWRIGHT("f(x: f32[N])")\nstruct A {};',
            "my_op.cpp:2: f: what follows OPWRIGHT(...) can't be read as a function: `st",
        ),
        (
            'OPWRIGHT("f(x: f32[N])")\nvoid f(Tensor<T x) {}',
            "my_op.cpp:2: f: what follows OPWRIGHT(...) can't be read as a funct",
        ),
        (
            'template <class T>\nOPWRIGHT("f(x: f32[N])") void f() {}',
            "my_op.cpp:3: OPWRIGHT(...) stands between `template <...",
        ),
        (
            'class A {\nOPWRIGHT("f(x: f32[N])") void f() {}\n};',
            "my_op.cpp:3: OPWRIGHT(...) stands inside a class or a functi",
        ),
        (
            'void g() {\nOPWRIGHT("f(x: f32[N])") void f() {}\n}',
            "my_op.cpp:3: OPWRIGHT(...) stands inside a class or a functi",
        ),
        (
            'OPWRIGHT("f(x: f32[N])")\nvoid f() {}\nOPWRIGHT("f(x: f32[N])")\nvoid g() {}',
            "my_op.cpp:4: f was defined before, in line 2",
        ),
    ],
)
def test_a_malformed_annotation(text: str, message: str) -> None:
    assert failure("\n" + text).startswith(message)


def test_a_wrong_signature_is_found_at_its_line() -> None:
    text = failure('\nOPWRIGHT("f(x: f32[N]) "\n  "-> (y: f32[M M])")\nvoid f() {}', SignatureError)
    assert text.startswith("my_op.cpp:3: ")
    assert "  f(x: f32[N]) -> (y: f32[M M])\n" in text
    raw = failure('OPWRIGHT(R"(\nf(x: f32[N])\n  -> (y: q[N])\n)")\nvoid f() {}', SignatureError)
    assert raw.startswith("my_op.cpp:3: ")


def test_files_that_are_no_sources(tmp_path: pathlib.Path) -> None:
    with pytest.raises(SourceError, match=r"missing\.cpp: can't be read: No such file"):
        scan(tmp_path / "missing.cpp")
    (tmp_path / "folder.cpp").mkdir()
    with pytest.raises(SourceError, match=r"folder\.cpp: can't be read: "):
        scan(tmp_path / "folder.cpp")
    with pytest.raises(SourceError, match=r"my_op\.py: has the suffix '\.py', expected one of \.c, \.cpp"):
        scanned("", "my_op.py")
    with pytest.raises(SourceError, match="my_op: has no suffix, expected one of"):
        scanned("", "my_op")


PIECES = [
    *['OPWRIGHT("f(x: f32[N])")', "OPWRIGHT", "void f(float *x)", "template <class T>", "namespace a", "Tensor<", ">"],
    *["#if 0", "#endif", "/*", "*/", "//", 'R"(', '"', "'", "\\", "\n", "\x00", "é", "{", "}", "(", ")", ";", ","],
]


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map(" ".join)), st.sampled_from(["a.c", "a.cpp"]))
def test_any_text_is_scanned_or_refused(text: str, name: str) -> None:
    try:
        source = scan(pathlib.Path(name), text)
    except (SourceError, SignatureError) as error:
        assert str(error).startswith(f"{name}:")  # noqa: PT017 - either outcome is right
    else:
        assert all(kernel.signature.name == "f" for kernel in source.kernels)


def test_a_head_may_be_nested_deeper_than_python_recurses() -> None:
    nested = "(" * 3000 + "x" + ")" * 3000
    assert only(f'OPWRIGHT("f(x: f32[N])") void f(int y = {nested}) {{}}').function.parameters[0].element == "int"


def test_only_the_needed_grammar_is_loaded_and_only_for_a_kernel() -> None:
    code = (
        "import pathlib, sys; from opwright.sources import scan\n"
        "loaded = lambda: [m for m in sys.modules if m.startswith('tree_sitter_') and '.' not in m]\n"
        "scan(pathlib.Path('a.cpp'), 'int x;'); print(loaded())\n"
        "scan(pathlib.Path('a.c'), 'OPWRIGHT(\"f(x: f32[N])\") void f(void) {}')\n"
        "print(loaded(), 'torch' in sys.modules)\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n['tree_sitter_c'] False\n"


@pytest.mark.parametrize(
    "default", ["(3 > 2)", "(1 << 5)", "int{3}", "1 + sizeof(S{2, {}})", "'{'", "f([] { return 1; })"]
)
def test_default_arguments_before_the_function(default: str) -> None:
    function = f"template <class T, int M = {default}> void f(Tensor<const T> x, Tensor<T> y) {{}}"
    kernel = only(f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\n{function}')
    assert [p.name for p in kernel.function.parameters] == ["x", "y"]
    assert len(kernel.function.template) == 2
