from __future__ import annotations

import pytest

from opwright.languages import Language
from opwright.sources.function_heads import UnreadableError, read_function
from opwright.sources.model import Function, Parameter


def read(head: str, language: Language = "c++") -> Function:
    return read_function(head, language, (), 1)


def parameter(text: str, language: Language = "c++") -> Parameter:
    (only,) = read(f"void f({text})", language).parameters
    return only


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tensor<const T> x", ("x", "Tensor", "T", True, None)),
        ("Tensor<T const, 2> x", ("x", "Tensor", "T", True, 2)),
        ("const Tensor<const T, 2> &x", ("x", "Tensor", "T", True, 2)),
        ("const Tensor<T> x", ("x", "Tensor", "T", False, None)),
        ("Tensor< acc < T > , 3 > x", ("x", "Tensor", "acc<T>", False, 3)),
        ("opwright::Strided<const opwright::half, 1> x", ("x", "Strided", "half", True, 1)),
        ("::opwright::Tensor<const ::opwright::acc<T>, 1> x", ("x", "Tensor", "acc<T>", True, 1)),
        ("Tensor<const std::int64_t> x", ("x", "Tensor", "int64_t", True, None)),
        ("Tensor<unsigned  char, kRank> x", ("x", "Tensor", "unsigned char", False, None)),
        ("Tensor<float> /* which */ x", ("x", "Tensor", "float", False, None)),
        ("Tensor<float>", ("", "Tensor", "float", False, None)),
        ("const float *x", ("x", "pointer", "float", True, None)),
        ("float const * const x", ("x", "pointer", "float", True, None)),
        ("float *__restrict x", ("x", "pointer", "float", False, None)),
        ("const long long x[]", ("x", "pointer", "long long", True, None)),
        ("double *", ("", "pointer", "double", False, None)),
        ("int64_t k", ("k", "scalar", "int64_t", False, None)),
        ("std::int64_t k", ("k", "scalar", "int64_t", False, None)),
        ("const double alpha", ("alpha", "scalar", "double", True, None)),
        ("double const &alpha", ("alpha", "scalar", "double", True, None)),
        ("bool flag = true", ("flag", "scalar", "bool", False, None)),
        ("unsigned int n", ("n", "scalar", "unsigned int", False, None)),
        ("T alpha", ("alpha", "other", "T", False, None)),
        ("Stream stream", ("stream", "other", "Stream", False, None)),
        ("std::vector<int> v", ("v", "other", "vector<int>", False, None)),
        ("float **x", ("x", "other", "float **x", False, None)),
        ("void (*callback)(int)", ("callback", "other", "void (*callback)(int)", False, None)),
        ("float (&x)[3]", ("x", "other", "float (&x)[3]", False, None)),
    ],
)
def test_a_parameter(text: str, expected: tuple[str, str, str, bool, int | None]) -> None:
    found = parameter(text)
    assert (found.name, found.view, found.element, found.const, found.rank) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const float *restrict x", ("x", "pointer", "float", True)),
        ("float x[static 3]", ("x", "pointer", "float", False)),
        ("size_t n", ("n", "scalar", "size_t", False)),
        ("_Bool flag", ("flag", "scalar", "_Bool", False)),
        ("struct foo *state", ("state", "pointer", "struct foo", False)),
        ("const char **names", ("names", "other", "const char **names", False)),
    ],
)
def test_a_parameter_of_a_c_function(text: str, expected: tuple[str, str, str, bool]) -> None:
    found = parameter(text, "c")
    assert (found.name, found.view, found.element, found.const) == expected


def test_the_text_leaves_defaults_and_comments_out() -> None:
    assert parameter("double  alpha /* factor */ = 1.0").text == "double alpha"


@pytest.mark.parametrize(
    ("head", "name", "returns", "count"),
    [
        ("void f()", "f", "void", 0),
        ("void f(void)", "f", "void", 0),
        ("static inline void f(int a, int b)", "f", "void", 2),
        ("[[gnu::noinline]] void f(int a) noexcept", "f", "void", 1),
        ("__attribute__((noinline)) void f(int a)", "f", "void", 1),
        ("FORCE_INLINE void f(int a)", "f", "void", 1),
        ("static FORCE_INLINE void f(int a) SOME_MACRO", "f", "void", 1),
        ("template <class T> FORCE_INLINE void f(Tensor<T> a)", "f", "void", 1),
        ("#pragma GCC diagnostic push\nvoid f(int a)", "f", "void", 1),
        ('extern "C" void f(int a)', "f", "void", 1),
        ("auto f(int a) -> void", "f", "void", 1),
        ("int f(int a)", "f", "int", 1),
        ("const float *f(int a)", "f", "float *", 1),
        ("void mine::f(int a)", "mine::f", "void", 1),
        ("template <> void f<float>(Tensor<float> a)", "f<float>", "void", 1),
        ("template <class T> requires Real<T> void f(Tensor<T> a)", "f", "void", 1),
    ],
)
def test_a_head(head: str, name: str, returns: str, count: int) -> None:
    function = read(head)
    assert (function.name, function.returns, len(function.parameters)) == (name, returns, count)


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("<class T>", ("T",)),
        ("<typename T, class U>", ("T", "U")),
        ("<class T = float>", ("T",)),
        ("<>", ()),
        ("<class T, int N>", ("T", "int N")),
        ("<class T, int N = 3>", ("T", "int N = 3")),
        ("<class... T>", ("class... T",)),
        ("<class /* element */ T>", ("T",)),
    ],
)
def test_template_parameters(template: str, names: tuple[str, ...]) -> None:
    assert read(f"template {template} void f(int a)").template == names


def test_a_namespace_and_a_line() -> None:
    function = read_function("\n\ntemplate <class T>\nvoid f(int\n  a)", "c++", ("a", "b"), 10)
    assert (function.name, function.line, function.text) == ("a::b::f", 13, "template <class T> void f(int a)")


@pytest.mark.parametrize(
    ("head", "language", "static"),
    [
        ("static void f(int a)", "c", True),
        ("inline void f(int a)", "c", True),
        ("void f(int a)", "c", False),
        ("static void f(int a)", "c++", True),
        ("inline void f(int a)", "c++", False),
    ],
)
def test_static(head: str, language: Language, static: bool) -> None:
    assert read(head, language).static is static


@pytest.mark.parametrize("head", ["", "struct A", "int x =", "void f(int x", "void f(Tensor<T x)", "namespace a"])
def test_what_is_no_head(head: str) -> None:
    with pytest.raises(UnreadableError):
        read(head)
