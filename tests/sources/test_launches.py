"""Launches and shared variables, found in CUDA text."""

from __future__ import annotations

import pytest

from opwright.sources.cpp.tokens import MalformedError, Tokens
from opwright.sources.launches import find_launches
from opwright.sources.shared_memory import SharedDeclaration, find_shared


def launch(text: str) -> tuple[str, list[str], list[str]]:
    """The only launch in `text`: its callee, its configuration, its arguments."""
    (found,) = find_launches(Tokens(text))
    return found.callee.of(text), [p.of(text) for p in found.configuration], [p.of(text) for p in found.arguments]


@pytest.mark.parametrize(
    ("text", "callee"),
    [
        ("if (x) k<<<1, 2>>>();", "k"),
        ("else k<<<1, 2>>>();", "k"),
        ("return ::a::b<<<1, 2>>>();", "::a::b"),
        ("case 1: k<T><<<1, 2>>>();", "k<T>"),
        ("a::K<int, (3>2)>::template f<T, 1 << 3><<<1, 2>>>();", "a::K<int, (3>2)>::template f<T, 1 << 3>"),
        ("k<A<B<C>>><<<1, 2>>>();", "k<A<B<C>>>"),
        ("k<&f, 'a', -1><<<1, 2>>>();", "k<&f, 'a', -1>"),
        ("(*fn)<<<1, 2>>>();", "(*fn)"),
        ("while (n--) (k)<<<1, 2>>>();", "(k)"),
        ("this->fn<<<1, 2>>>();", "this->fn"),
        ("obj->table[i].run<<<1, 2>>>();", "obj->table[i].run"),
        ("get<int>(3)<<<1, 2>>>();", "get<int>(3)"),
        ("x = [&] { k<<<1, 2>>>(); };", "k"),
    ],
)
def test_the_callee_is_a_whole_postfix_expression(text: str, callee: str) -> None:
    assert launch(text)[0] == callee


@pytest.mark.parametrize(
    ("inside", "parts"),
    [
        ("grid, block", ["grid", "block"]),
        ("dim3(2, 3), 256, sizeof(T) * (n >> 3), s", ["dim3(2, 3)", "256", "sizeof(T) * (n >> 3)", "s"]),
        ("div_up<int, 2>(n), Traits<T>::n", ["div_up<int, 2>(n)", "Traits<T>::n"]),
        ("g, size_of<T>", ["g", "size_of<T>"]),
        ("{1, 2}, {3}, n >> 2", ["{1, 2}", "{3}", "n >> 2"]),
    ],
)
def test_the_configuration_has_two_to_four_parts(inside: str, parts: list[str]) -> None:
    assert launch(f"k<<<{inside}>>>(x);")[1] == parts


def test_arguments_are_told_apart() -> None:
    text = "k<<<1, 2>>>(x, f<a, b>(c), i < n, (j > 2), {1, 2}, [=](int a, int b) { return a, b; }, \"a,b\", ',');"
    assert launch(text)[2] == [
        "x", "f<a, b>(c)", "i < n", "(j > 2)", "{1, 2}", "[=](int a, int b) { return a, b; }", '"a,b"', "','",
    ]  # fmt: skip


def test_comments_strings_and_directives_hold_no_launch() -> None:
    text = """// k<<<1, 2>>>()
    const char *s = "k<<<1, 2>>>()", *r = R"x(k<<<1, 2>>>())x"; /* k<<<1, 2>>>() */
    #define LAUNCH k<<<1, 2>>>()
    bool operator<<<>(A, B);
    """
    assert not list(find_launches(Tokens(text)))


@pytest.mark.parametrize(
    "line", ["#define X 1 // a/*", "#define X 1 // '", '#define X "/*"', "#define X 1 /* // */", "// a/*"]
)
def test_what_looks_like_a_comment_or_a_string_in_a_line_before_hides_no_launch(line: str) -> None:
    assert launch(f"{line}\nk<<<1, X>>>(x);\n/* */\n") == ("k", ["1", "X"], ["x"])


def test_several_launches_in_order() -> None:
    text = "#define A 1\nvoid f() { a<<<1, 1>>>(); { b<<<1, 2>>>(1); } }\nvoid g() { c<<<1, 1>>>(f([] { d(); })); }"
    assert [found.callee.of(text) for found in find_launches(Tokens(text))] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k<<<1>>>(x);", "<<<...>>> has 1 parts, expected <<<grid, block>>>"),
        ("k<<<1, 2, 3, 4, 5>>>(x);", "has 5 parts"),
        ("k<<<1, 2>>>;", r"there is no >>>\( behind this <<<"),
        ("= <<<1, 2>>>(x);", "there is no kernel before <<<"),
        ("k<<<1, 2>>>(x;", "have no end"),
    ],
)
def test_what_is_no_launch_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        list(find_launches(Tokens(text)))


def shared(text: str) -> SharedDeclaration:
    """The only declaration of shared variables in a function with `text`."""
    (found,) = find_shared(Tokens(f"template <class T> __global__ void f(int n) {{ {text} }}"))
    assert found.in_body
    return found


@pytest.mark.parametrize(
    ("text", "base", "names"),
    [
        ("__shared__ float a[32][33], b, *c[4];", "float", ["a", "b", "c"]),
        ("float __shared__ volatile v[N<T, 3>::value];", "float volatile", ["v"]),
        ("static __shared__ typename R<T, 256>::Temp temp;", "typename R < T , 256 > :: Temp", ["temp"]),
        ("__shared__ union { int x; float y[3]; } u;", "union { int x ; float y [ 3 ] ; }", ["u"]),
        ("__shared__ alignas(16) T al[3];", "alignas ( 16 ) T", ["al"]),
        ("__shared__ unsigned long long z;", "unsigned long long", ["z"]),
        ("switch (n) { case 1: __shared__ int (*fp)[3]; }", "int", ["fp"]),
        ("for (;;) { if (n) { __shared__ half2 h[2]; } }", "half2", ["h"]),
    ],
)
def test_shared_variables(text: str, base: str, names: list[str]) -> None:
    found = shared(text)
    assert (found.base, [d.name for d in found.declarators], found.external) == (base, names, False)


def test_extern_shared_memory() -> None:
    found = shared("extern __shared__ __align__(16) unsigned char grid[][32];")
    assert (found.external, found.base) == (True, "__align__ ( 16 ) unsigned char")
    assert found.declarators[0] == ("grid", "", "[ ] [ 32 ]")


def test_a_pointer_belongs_to_its_own_variable() -> None:
    assert shared("__shared__ int *a[2], b;").declarators == (("a", "*", "[ 2 ]"), ("b", "", ""))


def test_shared_variables_outside_of_functions() -> None:
    text = 'extern __shared__ int a[]; namespace x { extern "C" { __shared__ int b; } }'
    assert [found.in_body for found in find_shared(Tokens(text))] == [False, False]


def test_shared_variables_of_member_functions() -> None:
    (found,) = find_shared(Tokens("struct alignas(8) S { __device__ void f() const { __shared__ int q; } };"))
    assert found.in_body


@pytest.mark.parametrize("value", ["= 3", "{3}", "[2] = {1, 2}"])
def test_shared_variables_have_no_initial_value(value: str) -> None:
    with pytest.raises(MalformedError, match="can't have an initial value"):
        shared(f"__shared__ int x{value};")
