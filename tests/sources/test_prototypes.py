"""Functions without a mark, found by name; the C compiler's own reading is the reference where types are told."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.errors import SourceError
from opwright.languages import Language
from opwright.sources import ExternalSignature, Function, Kernel
from opwright.sources.matching import match
from opwright.sources.ops import read_ops
from opwright.sources.prototypes import Declarations, are_same, has_known_types, statements
from opwright.sources.types import standard_spelling


def find(text: str, name: str = "f", language: Language = "c") -> list[Function]:
    return Declarations(text, language).find(name)[0]


def only(text: str, name: str = "f", language: Language = "c") -> Function:
    (found,) = find(text, name, language)
    return found


def kinds(function: Function) -> list[tuple[str, str, str, bool]]:
    return [(p.name, p.view, p.element, p.const) for p in function.parameters]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("class T, bool B = (3 > 2)", ("T", "bool B = (3 > 2)")),
        ("class T, int B = (1 << 5)", ("T", "int B = (1 << 5)")),
        ("class T, int B = 1 << 5, int C = 64 >= 3", ("T", "int B = 1 << 5", None)),
        ("int N, bool B = N < 3 && N >= 1 || !N", ("int N", "bool B = N < 3 && N >= 1 || !N")),
        (
            "class T, int N = ((2 < 3) ? int(sizeof(T)) : f(1, 2))",
            ("T", "int N = ((2 < 3) ? int(sizeof(T)) : f(1, 2))"),
        ),
        ("class T, class = decltype(f(T()) > 2)", ("T", None)),
        ("class T, class V = vec<vec<vec<T>>>, class W = vec<V>", ("T", "V", "W")),
        ("template <class> class W, class T = W<int>, int N = 2", (None, "T", "int N = 2")),
        ("class T, int N = int{3}, class... More", ("T", None, "class... More")),
        ("char C = '>', char D = '(', int N = sizeof(\"a > b, {\")", (None, None, None)),
    ],
)
def test_default_arguments_of_templates(parameters: str, expected: tuple[str | None, ...]) -> None:
    others = "template <class T> void before(T x) {}\nint after(int y);\n"
    function = f"template <{parameters}>\n__global__ void f(float *p, int n) {{ if (n > 3) {{ p[0] = n < 2; }} }}\n"
    for text in (function + others, others + function, f"namespace of {{\n{function}}}\n{others}"):
        found = only(text, "f", "cuda")
        assert kinds(found) == [("p", "pointer", "float", False), ("n", "scalar", "int", False)]
        assert len(found.template) == len(expected)
        assert all(told in (None, given) for given, told in zip(found.template, expected, strict=True))
        assert sorted(Declarations(text, "cuda").names()) == ["after", "before", "f"]


@pytest.mark.parametrize(
    ("parameter", "name"),
    [
        ("int n = int{3}", "n"), ("int n = (1 << 5)", "n"), ("bool n = (2 > 1)", "n"), ("S n = {1, {2}}", "n"),
        ('const char *n = ")(,{"', "n"), ("F n = [](int x) { return x > 1; }", "n"), ("S n = S{S{}, 2}", "n"),
    ],
)  # fmt: skip
def test_default_arguments_of_functions(parameter: str, name: str) -> None:
    text = f"static void f(float *p, {parameter}, int m = 4) {{ g({{}}); }}\nint after(int y) {{ return y; }}\n"
    assert [p.name for p in only(text, "f", "c++").parameters] == ["p", name, "m"]
    assert Declarations(text, "c++").names() == ["f", "after"]


@pytest.mark.parametrize("returns", ["enable_if_t<(N == 3), float>", "decltype(N = 2)", "enable_if_t<N == 3>"])
def test_results_that_compare(returns: str) -> None:
    assert only(f"template <int N>\n{returns} f(int n) {{ return N; }}", "f", "c++").template == ("int N",)
    assert find("auto g = f(2), h = f(3);", "f", "c++") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void f(int n, const float *x) {}", [("n", "scalar", "int", False), ("x", "pointer", "float", True)]),
        ("void f(float const *restrict x);", [("x", "pointer", "float", True)]),
        ("void f(__const float * __restrict__ x);", [("x", "pointer", "float", True)]),
        ("void f(float *__restrict x, float y[], const double z[static 1]);",
         [("x", "pointer", "float", False), ("y", "pointer", "float", False), ("z", "pointer", "double", True)]),
        ("void f(long unsigned int a, short int b, signed char c, unsigned d, long long e);",
         [("a", "scalar", "unsigned long", False), ("b", "scalar", "short", False),
          ("c", "scalar", "signed char", False), ("d", "scalar", "unsigned int", False),
          ("e", "scalar", "long long", False)]),
        ("typedef float real; typedef real *vec; typedef const real *view; void f(real a, vec b, view c, real *d);",
         [("a", "scalar", "float", False), ("b", "pointer", "float", False), ("c", "pointer", "float", True),
          ("d", "pointer", "float", False)]),
        ("typedef enum { A, B } order; enum mode { C };\nvoid f(order a, enum mode b);",
         [("a", "scalar", "enum", False), ("b", "scalar", "enum", False)]),
        ("typedef unsigned char byte; typedef byte block[16];\nvoid f(const byte *a, block b);",
         [("a", "pointer", "unsigned char", True), ("b", "pointer", "unsigned char", False)]),
        ("extern __attribute__((nothrow)) void f(int n __attribute__((unused))) __attribute__((nonnull(1)));",
         [("n", "scalar", "int", False)]),
        ("void f(int /* how many */ n, // of them\n  const float *x) {", [("n", "scalar", "int", False),
                                                                         ("x", "pointer", "float", True)]),
        ("void f(void);", []),
    ],
)  # fmt: skip
def test_types(text: str, expected: list[tuple[str, str, str, bool]]) -> None:
    found = only(text)
    assert kinds(found) == expected
    assert has_known_types(found, "c")


@pytest.mark.parametrize(
    ("typedef", "expected"),
    [
        ("typedef int bool;", ("scalar", "int")),
        ("typedef unsigned char bool;", ("scalar", "unsigned char")),
        ("typedef _Bool bool;", ("scalar", "bool")),
        ("typedef long int int32_t; typedef int32_t bool;", ("scalar", "long")),
        ("typedef struct { int a; } bool;", ("other", "struct { }")),
        ("typedef int bool;\n#ifdef A\ntypedef char bool;\n#endif\n", ("scalar", "bool (redefined)")),
    ],
)
def test_a_standard_name_that_the_text_redefines(typedef: str, expected: tuple[str, str]) -> None:
    """``bool *`` was an array of int in C before 1999: taken for bytes, four times as much memory would be read."""
    (parameter,) = only(f"{typedef} void f(bool x);").parameters
    assert (parameter.view, " ".join(parameter.element.split())) == expected


def test_the_names_of_c_s_own_headers_are_kept() -> None:
    text = (
        "typedef long __int64_t; typedef __int64_t int64_t; typedef unsigned long size_t; typedef signed int int32_t;"
    )
    found = only(f"{text} int32_t f(int64_t a, const size_t *b);")
    assert (found.returns, *kinds(found)) == (
        "int32_t",
        ("a", "scalar", "int64_t", False),
        ("b", "pointer", "size_t", True),
    )


@pytest.mark.parametrize(
    "text",
    [
        "struct s *make(void); typedef struct s *handle; void f(handle h);",
        "void f(int (*callback)(int));",
        "typedef int (*callback)(int); void f(callback c);",
        "void f(double **rows);",
        "typedef float *row; void f(row *rows);",
        "void f(unknown x);",
        "struct pair { int a, b; }; void f(struct pair p);",
        "int f(const char *format, ...);",
        "typedef loop loop; void f(loop x);",
        "typedef a b; typedef b a; void f(a x);",
    ],
)
def test_types_that_stand_for_nothing_standard(text: str) -> None:
    assert not has_known_types(only(text), "c")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "int g(int a) { return f(a); }",
        "int x = f(3);",
        "int (*f)(int a);",
        "typedef int f(int a);",
        "#define f(a) (a)",
        '/* void f(int a); */ // void f(int a);\nconst char *s = "void f(int a);";',
        "struct s { int (*f)(int); };",
        "void not_f(int a); void f_(int a); void xf(int a);",
        "#if 0\nvoid f(int a);\n#endif",
        "f(3);",
    ],
)  # fmt: skip
def test_what_is_no_declaration(text: str) -> None:
    assert find(text) == []


def test_a_definition_in_the_old_style_is_told_apart() -> None:
    found, problem = Declarations("float f(n, x) int n; float *x; { return *x; }", "c").find("f")
    assert found == []
    assert "`float f(n, x) int n` is a definition in the style before C89" in f"`{problem}"


def test_lines_and_branches() -> None:
    text = "\n#ifdef A\nvoid f(int a) {\n#else\nvoid f(long a) {\n#endif\n}\nvoid g(int b);\n"
    first, second = find(text)
    assert (first.line, second.line, only(text, "g").line) == (3, 5, 8)
    assert not are_same([first, second])
    assert first.defined
    assert not only(text, "g").defined


def test_a_definition_comes_first() -> None:
    found = find("void f(int);\nstatic inline void f(int n) {}")
    assert [f.defined for f in found] == [True, False]
    assert are_same(found)


def test_the_preprocessors_lines_are_those_of_the_files() -> None:
    text = '# 0 "a.c"\n# 1 "/usr/include/some \\"odd\\".h" 1 3 4\n\n\nextern int f(int);\n# 9 "a.c" 2\nint g(int a);\n'
    found = only(text)
    assert (str(found.path), found.line) == ('/usr/include/some "odd".h', 3)
    assert (str(only(text, "g").path), only(text, "g").line) == ("a.c", 9)


def test_cpp_functions_in_namespaces() -> None:
    text = 'namespace a { namespace b { void f(int n, std::size_t m) {} } }\nextern "C" { void g(const float *x); }'
    found = only(text, "f", "c++")
    assert (found.name, kinds(found)) == ("a::b::f", [("n", "scalar", "int", False), ("m", "scalar", "size_t", False)])
    assert only(text, "b::f", "c++") == found
    assert find(text, "c::f", "c++") == []
    assert only(text, "g", "c++").name == "g"
    assert Declarations(text, "c++").names() == ["f", "g"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("long unsigned int", "unsigned long"), ("unsigned", "unsigned int"), ("int long long", "long long"),
        ("const volatile short", "short"), ("char", "char"), ("signed char", "signed char"), ("signed", "int"),
        ("float", "float"), ("long double", "long double"), ("uint64_t", "uint64_t"), ("enum color", "enum"),
        ("struct s", ""), ("thing", ""), ("", ""), ("char *", ""), ("enumerable", ""),
    ],
)  # fmt: skip
def test_spellings(written: str, expected: str) -> None:
    assert standard_spelling(written) == expected


@pytest.mark.slow
def test_what_the_compiler_makes_of_installed_headers_is_read() -> None:
    """The compiler agrees with every prototype of <string.h> and <math.h> that we understand."""
    compiler = shutil.which("cc")
    assert compiler
    include = "#include <string.h>\n#include <math.h>\n#include <stdlib.h>\n"
    words = [compiler, "-E", "-x", "c", "-"]
    text = subprocess.run(words, input=include, capture_output=True, text=True, check=True).stdout
    declared = Declarations(text, "c")
    checks = []
    for name in declared.names():
        for found in declared.find(name)[0]:
            types = [f"{'const ' * p.const}{p.element}{' *' * (p.view == 'pointer')}" for p in found.parameters]
            if has_known_types(found, "c") and "enum" not in types:
                wanted = f"{found.returns} ({', '.join(types) or 'void'})"
                checks.append(f'_Static_assert(__builtin_types_compatible_p(__typeof__({name}), {wanted}), "{name}");')
    assert len(checks) > 200
    program = include + "\n".join(checks)
    words = [compiler, "-fsyntax-only", "-w", "-x", "c", "-"]
    done = subprocess.run(words, input=program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


_PIECES = st.sampled_from(
    ["f", "(", ")", "{", "}", ";", ",", "*", "[", "]", "int", "float", "const", "typedef", "struct", "enum", "...", "=",
     '"', "'", "/*", "*/", "//", "\n", "#if 0\n", "#else\n", "#endif\n", '# 1 "x"\n', "#define f(", "__attribute__((",
     "namespace a", 'extern "C"', "template <class T>", "::", "x", "n", "\\", "void f(int n) {", 'R"(', "é", "\0"]
)  # fmt: skip


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.one_of(st.lists(_PIECES, max_size=30).map(" ".join), st.text(max_size=60)), st.sampled_from(["c", "c++"]))
def test_any_text_is_read_or_refused(text: str, language: Language) -> None:
    list(statements(text))
    declared = Declarations(text, language)
    asked = read_ops("f(n: int, x: f32[N]) -> (y: f32[])")[0]
    for name in [*declared.names(), "f"]:
        for function in declared.find(name)[0]:
            assert function.line >= 1
            kernel = Kernel(asked.signature, function, function.line, Path("f.c"), language, asked)
            try:
                match(kernel)
            except SourceError as error:
                assert str(error).count("\n") == 3  # noqa: PT017 - either outcome is right


def test_a_name_by_its_order() -> None:
    function = only("unsigned long f(unsigned long, const unsigned char *, unsigned int);")
    asked = read_ops({"f(crc, buf, len)": "crc(crc: int, buf: u8[len]) -> (value: u64[])"})[0]
    assert asked == ExternalSignature(asked.signature, "f", ("crc", "buf", "len"))
    found = match(Kernel(asked.signature, function, 1, Path("f.c"), "c", asked))
    assert [(a.role, a.name) for a in found] == [("scalar", "crc"), ("input", "buf"), ("axis", "len")]
