"""The table of mistakes, fed with what gcc 12, clang 16 and NVRTC 13 say."""

# ruff: noqa: E501 - what compilers say has long lines

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.sources import scan
from opwright.toolchain.messages.author import Author
from opwright.toolchain.messages.diagnostics import readable, split
from opwright.toolchain.messages.explanation import describe
from tests.messages.mistakes import BODY_BEGINS, MISTAKES

FILE = "/u/op.cpp"

SAID = {
    "brackets without a rank": [
        "{at}:8: error: subscripted value is neither array nor pointer",
        "{at}:3: error: subscripted value is not an array, pointer, or vector",
        '{nvcc}: error: expression must have pointer-to-object type but it has type "float"',
    ],
    "too few indices": [
        "{at}:17: error: no match for 'operator*' (operand types are 'int' and 'opwright::Tensor<const float, 1>')",
        "{at}:17: error: invalid operands to binary expression ('int' and 'Tensor<const float, 2 - 1>')",
    ],
    "too many indices": [
        "/h/tensor.h:133:32: error: static assertion failed: a view of rank N takes N indices\n{at}:9: note: required from here",
        "/h/tensor.h:133:5: error: static assertion failed due to requirement 'sizeof...(I) == 1': a view of rank N takes N indices\n{at}:9: note: in instantiation of function template specialization 'x' requested here",
        '/h/tensor.h(133): error: static assertion failed with "a view of rank N takes N indices"\n          detected during:\n            instantiation of "x" at line {line} of {file}',
    ],
    "an axis as a variable": [
        "{at}:23: error: 'N' was not declared in this scope",
        "{at}:23: error: use of undeclared identifier 'N'",
        '{nvcc}: error: identifier "N" is undefined',
    ],
    "an axis within an expression": ["{at}:23: error: 'K' was not declared in this scope"],
    "the signature's name": ["{at}:3: error: use of undeclared identifier 'out'"],
    "a write to an input": [
        "{at}:10: error: assignment of read-only location 'x.opwright::Tensor<const float, 1>::operator[](((int64_t)i))'",
        "{at}:10: error: cannot assign to return value because function 'operator[]' returns a const value",
        "{nvcc}: error: expression must be a modifiable lvalue",
    ],
    "a write to an input of half": [
        "{at}:10: error: passing 'const opwright::float16' as 'this' argument discards qualifiers [-fpermissive]",
        "{at}:10: error: no match for 'operator+=' (operand types are 'const opwright::float16' and 'int')",
        "{at}:10: error: no viable overloaded '+='",
    ],
    "arithmetic of whole tensors": [
        "{at}:14: error: no match for 'operator*' (operand types are 'int' and 'opwright::Tensor<const float, 1>')",
        '{nvcc}: error: no operator "*" matches these operands: int * opwright::Tensor<const float, 1>',
    ],
    "size without an axis": [
        "{at}:29: error: no matching function for call to 'opwright::Tensor<const float, 1>::size()'",
        "{at}:30: error: too few arguments to function call, single argument 'd' was not specified",
        "{nvcc}: error: too few arguments in function call",
    ],
    "shape": [
        "{at}:25: error: 'class opwright::Tensor<const float, 1>' has no member named 'shape'",
        "{at}:25: error: no member named 'shape' in 'opwright::Tensor<const float, 1>'",
        '{nvcc}: error: class "opwright::Tensor<const float, 1>" has no member "shape"',
    ],
    "sizes of an axis": [
        "{at}:30: error: no matching function for call to 'opwright::Tensor<const float, 1>::sizes(int)'",
        "{at}:30: error: no member named 'sizes' in 'opwright::Tensor<const float, 1>'",
    ],
    "a misspelt function": [
        "{at}:16: error: 'sigmod' was not declared in this scope; did you mean 'signed'?",
        "{at}:10: error: use of undeclared identifier 'sigmod'",
        '{nvcc}: error: identifier "sigmod" is undefined',
    ],
    "a returned value": [
        "{at}:13: error: return-statement with a value, in function returning 'void' [-fpermissive]",
        "{at}:3: error: void function 'f<float>' should not return a value [-Wreturn-type]",
        "{nvcc}: error: return value type does not match the function type",
    ],
    "std::max without its header": [
        "{at}:17: error: 'max' is not a member of 'std'; did you mean 'opwright::max'?",
        "{at}:12: error: use of undeclared identifier 'std'",
        '{nvcc}: error: namespace "std" has no member "max"',
    ],
    "std::vector without its header": [
        "{at}:8: error: 'vector' is not a member of 'std'",
        "{at}:8: error: no template named 'vector' in namespace 'std'",
    ],
    "std::array without its header": [
        "{at}:8: error: 'std::array' has not been declared",
        "{at}:8: error: 'array' in namespace 'std' does not name a template type",
        "{at}:8: error: no template named 'array' in namespace 'std'",
    ],
    "printf without its header": [
        "{at}:3: error: there are no arguments to 'printf' that depend on a template parameter, so a declaration of 'printf' must be available [-fpermissive]",
        "{at}:3: error: use of undeclared identifier 'printf'; did you mean 'rint'?",
    ],
    "?: of half and int": [
        "{at}:21: error: operands to '?:' have different types 'const opwright::float16' and 'int'",
        "{at}:21: error: conditional expression is ambiguous; 'const opwright::float16' can be converted to 'int' and vice versa",
        '{nvcc}: error: ambiguous "?" operation: second operand of type "const opwright::float16" can be converted to third operand type "int", and vice versa',
    ],
    "a semicolon before a brace": [
        "{at}:20: error: expected ';' before '}' token",
        "{at}:20: error: expected ';' after expression",
        '{next nvcc}: error: expected a ";"\n  }\n  ^',
    ],
    "a semicolon before a statement": [
        "/u/op.cpp:7:3: error: expected ',' or ';' before 'for'",
        "{at}:10: error: expected ';' at end of declaration",
        '/u/op.cpp(7): error: expected a ";"\n  for (int64_t i = 0; i < x.size(0); ++i)\n  ^',
    ],
    "a brace": ["/u/op.cpp:13:11: error: expected identifier before '{' token", "/u/op.cpp:9:1: error: expected '}'"],
    "a brace too many": [
        "/u/op.cpp:8:1: error: expected declaration before '}' token",
        "/u/op.cpp:8:1: error: extraneous closing brace ('}')",
    ],
    "parallel_for": ["{at}:3: error: no matching function for call to 'parallel_for'"],
}


def described(text: str, said: str) -> str:
    """What a user reads who wrote `text`, in /u/op.cpp, about which a compiler said `said`."""
    kernels = scan(Path(FILE), text).kernels
    return describe(split(readable(said)), lambda file: file.startswith("/u/"), Author(FILE, text, kernels))


@pytest.mark.parametrize(("name", "said"), [(name, said) for name, each in SAID.items() for said in each])
def test_what_compilers_say(name: str, said: str) -> None:
    mistake = MISTAKES[name]
    line = BODY_BEGINS + mistake.line - 1
    places = {
        "{at}": f"{FILE}:{line}",
        "{nvcc}": f"{FILE}({line})",
        "{next nvcc}": f"{FILE}({line + 1})",
        "{line}": str(line),
        "{file}": FILE,
    }
    for placeholder, place in places.items():
        said = said.replace(placeholder, place)
    text = described(mistake.text, said)
    assert text.startswith(f"{FILE}:{line}")
    assert text.splitlines()[0].partition(" error: ")[2] == mistake.problem
    assert text.endswith(f"\n  likely fix: {mistake.fix}")


UNCONFIRMED = [
    ("y[i] = x[i];", "{at}:3: error: 'M' was not declared in this scope"),
    ("y[i] = x[i];", "{at}:3: error: no match for call to '(Other) (int)'"),
    ("y[i] = other(x[i], 0);", "{at}:3: error: no matching function for call to 'max(int, double)'"),
    ("y[i] = c ? 1 : 2.0;", "{at}:3: error: operands to '?:' have different types 'A' and 'B'"),
    ("y[i] = x[i] x[i];", "{at}:14: error: expected ';' before 'x'"),
    ("y[i] = std::mine(x[i]);", "{at}:3: error: 'mine' is not a member of 'std'"),
    ("other[i] = 3;", "{at}:3: error: assignment of read-only location 'other[i]'"),
]


@pytest.mark.parametrize(("line", "said"), UNCONFIRMED)
def test_a_hint_that_might_be_wrong_is_not_given(line: str, said: str) -> None:
    text = MISTAKES["shape"].text.replace("for (int64_t i = 0; i < x.shape[0]; ++i) y[i] = x[i];", line)
    whole = described(text, said.replace("{at}", f"{FILE}:5"))
    assert "likely fix" not in whole
    assert whole.startswith(said.replace("{at}", f"{FILE}:5"))


POINTWISE = '#include <opwright.h>\nOPWRIGHT("f(x: T) -> (y: T)")\ntemplate <class T>\nT f(T x) {\n  return x[1];\n}\n'
BRACKETS = [
    "/u/op.cpp:5:11: error: no match for 'operator[]' (operand types are 'opwright::Dual<float, 0>' and 'int')",
    "/u/op.cpp:5:11: error: invalid types 'float[int]' for array subscript",
    "/u/op.cpp:5:11: error: type 'opwright::Dual<float, 0>' does not provide a subscript operator",
    "/u/op.cpp:5:11: error: subscripted value is not an array, pointer, or vector",
    '/u/op.cpp(5): error: no operator "[]" matches these operands',
]


@pytest.mark.parametrize("said", BRACKETS)
def test_an_index_of_one_element(said: str) -> None:
    text = described(POINTWISE, said)
    problem = "x is one element, a number: a pointwise function is called for each element by itself"
    assert text.splitlines()[0].partition(" error: ")[2] == problem
    fix = "for other elements, give the tensors axes, `x: T[N]`, and loop over them in the kernel"
    assert text.endswith(f"\n  likely fix: {fix}")


HEADERS = {
    "opwrigth.h": "did you mean <opwright.h>?",
    "torch/extension.h": "leave it out: opwright.h has the views, and results are allocated from the signature; or, "
    "without OPWRIGHT(...), keep it: opwright.load builds such a file as an extension",
    "Eigen/Dense": 'name its folder, load(..., include_dirs=["..."]), or install what it belongs to (the development '
    "package)",
}


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_that_isnt_there(header: str) -> None:
    said = f"/u/op.cpp:1:10: fatal error: {header}: No such file or directory"
    assert described(MISTAKES["shape"].text, said).endswith(f"\n  likely fix: {HEADERS[header]}")


def test_candidates_are_folded_away() -> None:
    said = "/u/op.cpp:5:3: error: no match\n    5 | x\n" + "".join(
        f"/h/h.h:{n}:1: note: candidate: 'f'\n  {n} | f\n/h/h.h:{n}:9: note: in expansion of macro 'F'\n  {n} | F\n"
        for n in range(30)
    )
    assert described(MISTAKES["shape"].text, said) == (
        "/u/op.cpp:5:3: error: no match\n    5 | x\n... (120 more lines in the log)"
    )


def test_generated_code_is_not_the_authors() -> None:
    """A place behind the end of the author's file is in the code that follows it."""
    from opwright.toolchain.messages.explanation import _without_lines_behind

    author = Author(FILE, "1\n2\n", scan(Path(FILE), MISTAKES["shape"].text).kernels)
    said = "/u/op.cpp:2:1: error: a\n/u/op.cpp:9:1: error: b"
    assert (
        _without_lines_behind(said, author, Path("/gen/g.cpp")) == "/u/op.cpp:2:1: error: a\n/gen/g.cpp:9:1: error: b"
    )
