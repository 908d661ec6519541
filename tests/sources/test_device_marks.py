"""C++ text that is made device code: what is marked, what is left as it is."""

from __future__ import annotations

import re

import pytest

from opwright.sources.device_marks import MATHEMATICS, mark_for_device
from opwright.toolchain import header_dir

MARK = "OPWRIGHT_HOST_DEVICE "


def marked(text: str, *functions: str) -> str:
    """The text, and that only insertions were made, none of which moved a line."""
    got = mark_for_device(text, functions)
    assert got.replace(MARK, "").replace("OPWRIGHT_TABLE ", "").replace("opwright::", "") == text
    assert got.count("\n") == text.count("\n")
    return got


def test_what_a_function_uses_is_marked_and_nothing_else() -> None:
    text = """
template <class U> U twice(const U &x) { return x + x; }
namespace n { namespace { inline double half_of(double x) { return x / 2; } } }
static int counter;
double host_only(double x) { return x + ++counter; }
template <class T> T late(T x);
template <class T>
T f(T x) { return twice(x) + n::half_of(1) + late(x); }
template <class T> T late(T x) { return x; }
void other(Tensor<const float> x) { parallel_for(1, [&](int64_t i) { host_only(x[i]); }); }
"""
    got = marked(text, "f")
    assert got.count(MARK) == 5
    for head in ("U twice(const", "inline double half_of(", "T late(T x);", "T f(T x) {", "T late(T x) {"):
        assert MARK + head in got
    assert "\ndouble host_only" in got
    assert "\nvoid other" in got


def test_members_operators_and_attributes() -> None:
    text = """
struct A {
  double a = 1;
  A() = default;
  explicit A(double b) : a(b) {}
  template <class T> T operator()(const T &x) const { return x * a; }
  operator double() const { return a; }
  friend A operator*(A x, A y) { return A(x.a * y.a); }
  template <class T> T g(T);
};
inline A operator+(A x, A y) { return A(x.a + y.a); }
template <class T> T A::g(T x) { return x; }
struct Unused { int f() { return 1; } };
template <class T> [[nodiscard]] static auto f(T x) -> T { A q(2); return double(q + q) * q.g(x); }
"""
    got = marked(text, "f")
    for head in ("explicit A(", "T operator()", "operator double", "A operator*", "T g(T);", "inline A operator+"):
        assert MARK + head in got
    assert MARK + "T A::g" in got
    assert "[[nodiscard]] " + MARK + "static auto f" in got
    assert "  A() = default;" in got
    assert "struct Unused { int f()" in got


def test_tables_are_marked_and_plain_numbers_are_not() -> None:
    text = """
constexpr double table[] = {1, 2}, other = 3;
const int rows[2][2] = {{1, 2}, {3, 4}};
constexpr double pi_of = 3.14;
struct P { double a; };
constexpr P parameters{1};
static double changed[2];
template <class T> T f(T x) { return x * table[0] * rows[0][0] * pi_of * parameters.a * changed[0]; }
"""
    got = marked(text, "f")
    marks = [line.split("=")[0].strip() for line in got.splitlines() if line.startswith("OPWRIGHT_TABLE ")]
    assert marks == [
        "OPWRIGHT_TABLE constexpr double table[]",
        "OPWRIGHT_TABLE const int rows[2][2]",
        "OPWRIGHT_TABLE constexpr P parameters{1};",
    ]


def test_functions_that_macros_define() -> None:
    text = """
#define DEFINE(name, factor) \\
  template <class T> T name(T x) { return x * factor; } \\
  template <class T> T name##_twice(T x) { return 2 * name(x); }
DEFINE(third, 3)
#define UNUSED(name) double name(double x) { return x; }
#define SQUARED(x) squared_by_hand(x)
template <class T> T squared_by_hand(T x) { return x * x; }
template <class T> T f(T x) { return third_twice(x) + SQUARED(x); }
"""
    got = marked(text, "f")
    assert f"{MARK}T name(T x)" in got
    assert f"{MARK}T name##_twice" in got
    assert f"{MARK}T squared_by_hand" in got
    assert "#define UNUSED(name) double name" in got


def test_a_local_variable_is_not_what_has_its_name_outside() -> None:
    text = """
void kernel(float *x) { parallel_for(1, [=](int64_t i) { x[i] = 0; }); }
template <class T> T f(T x) { auto kernel = [](T y) { return y; }; return kernel(x); }
"""
    assert marked(text, "f").count(MARK) == 1


def test_what_the_author_marked_is_left_alone() -> None:
    text = "template <class T> __device__ T g(T x) { return x; }\ntemplate <class T> T f(T x) { return g(x); }\n"
    assert marked(text, "f").count(MARK) == 1


def test_mathematics_is_ours() -> None:
    """CUDA's global round, min and pow aren't ours; a function of the author's by such a name is the author's."""
    text = """
template <class T> T sigmoid(T x) { return 1 / (1 + exp(-x)); }
template <class T> T f(T x, T log) { return round(x) + min(x, pow(x, 2)) + sigmoid(x) + std::exp(1.) + log; }
"""
    got = marked(text, "f")
    assert got.count("opwright::") == 4
    for call in (
        "opwright::exp(-x)",
        "opwright::round(",
        "opwright::min(x, opwright::pow(",
        " sigmoid(x)",
        "std::exp(",
    ):
        assert call in got


@pytest.mark.parametrize("include", ["<cmath>", "<math.h>", '"helper.h"'])
def test_who_includes_other_mathematics_gets_it(include: str) -> None:
    assert "opwright::" not in marked(f"#include {include}\ntemplate <class T> T f(T x) {{ return round(x); }}\n", "f")


def test_the_mathematics_is_that_of_the_headers() -> None:
    folder = header_dir() / "opwright" / "math"
    text = "\n".join((folder / name).read_text() for name in ("math.h", "special.h", "activations.h"))
    made = r"^OPWRIGHT_(?:FLOATING|UNARY|BINARY|SPECIAL|IN_DOUBLE|OF_(?:ONE|TWO|THREE))\((\w+)"
    written = r"^(?:OPWRIGHT_HOST_DEVICE )?inline .*?> (\w+)\((?:T|A|const A)[ &]"
    typed = r"^OPWRIGHT_HOST_DEVICE inline (?:detail::\S+|typename \S+|bool)(?: \S+>)? (\w+)\("
    found = {name for pattern in (made, written, typed) for name in re.findall(pattern, text, re.MULTILINE)}
    assert {name for name in found if not name.endswith("_") and name != "beside"} == MATHEMATICS


def test_bytes_that_are_no_utf8_stay() -> None:
    text = "// \udce9\ntemplate <class T> T f(T x) { return x; }\n"
    assert marked(text, "f") == text.replace("T f(", MARK + "T f(")
