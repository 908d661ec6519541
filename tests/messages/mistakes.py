"""Mistakes that only the compiler sees, as users make them: the line, what is said of it, what to write."""

from __future__ import annotations

from typing import NamedTuple

TEMPLATE = "template <class T>\n"


class Mistake(NamedTuple):
    """A kernel with one mistake.

    Attributes:
        signature: its signature.
        parameters: of the function `f`.
        body: its lines.
        line: the number among them, from 1, of the line that is named.
        problem: what is said.
        fix: what to write.
        dtype: PyTorch's element type of the call.
    """

    signature: str
    parameters: str
    body: tuple[str, ...]
    line: int
    problem: str
    fix: str
    dtype: str = "float32"

    @property
    def text(self) -> str:
        """The source; the body begins in line 5."""
        head = f'#include <opwright.h>\nOPWRIGHT("{self.signature}")\n{TEMPLATE}void f({self.parameters}) {{\n'
        return head + "".join(f"  {line}\n" for line in self.body) + "}\n"


BODY_BEGINS = 5
ONE = "f(x: T[N]) -> (y: T[N])"
TWO = "f(x: T[M, N]) -> (y: T[M, N])"
OF_ONE = "Tensor<const T, 1> x, Tensor<T, 1> y"
OF_TWO = "Tensor<const T, 2> x, Tensor<T, 2> y"
OF_ANY = "Tensor<const T> x, Tensor<T> y"
LOOP = "for (int64_t i = 0; i < x.size(0); ++i)"


def one(line: str, problem: str, fix: str, dtype: str = "float32") -> Mistake:
    """A mistake in the loop of a kernel on vectors."""
    return Mistake(ONE, OF_ONE, (LOOP, f"  {line}"), 2, problem, fix, dtype)


MISTAKES = {
    "brackets without a rank": Mistake(
        TWO,
        OF_ANY,
        (LOOP, "  y[i][0] = 1;"),
        2,
        "y is declared without a rank, `Tensor<T> y`, for `y: T[M, N]` in the signature: in brackets it takes one "
        "index, y[i], which counts all elements",
        "write y(i, 0), or declare it with its rank, `Tensor<T, 2> y`",
    ),
    "too few indices": Mistake(
        TWO,
        OF_TWO,
        (LOOP, "  y.flat(i) = 2 * x[i];"),
        2,
        "x[i] is a row of x, not a number: x has rank 2, `Tensor<const T, 2> x`, for `x: T[M, N]` in the signature",
        "write x[i][j] for an element, or x.flat(i) for element i of them all",
    ),
    "too many indices": one(
        "y[i] = x(i, 0);",
        "x has rank 1, `Tensor<const T, 1> x`, for `x: T[N]` in the signature: it takes 1 index, and x(i, 0) has 2",
        "write x(i); or, if it has 2 axes, `x: T[M, N]` in the signature and `Tensor<const T, 2> x` here",
    ),
    "an axis as a variable": Mistake(
        ONE,
        OF_ONE,
        ("for (int64_t i = 0; i < N; ++i) y[i] = x[i];",),
        1,
        "N is an axis in the signature; C++ has it as a variable only where the function takes it",
        "write x.size(0), which is N of `x: T[N]`; or give the function a parameter `int64_t N`, which gets the axis",
    ),
    "an axis within an expression": Mistake(
        "f(x: T[M, 2*K]) -> (y: T[M, 2*K])",
        OF_TWO,
        ("for (int64_t i = 0; i < K; ++i) y.flat(i) = x.flat(i);",),
        1,
        "K is an axis in the signature; C++ has it as a variable only where the function takes it",
        "give the function a parameter `int64_t K`, which gets the axis",
    ),
    "the signature's name": Mistake(
        "f(x: T[N]) -> (out: T[N])",
        OF_ONE,
        (LOOP, "  out[i] = x[i];"),
        2,
        "the signature's out is called y in this function",
        "write y, or rename the parameter to out",
    ),
    "a write to an input": one(
        "x[i] = 0;",
        "x is an input, `x: T[N]`: a kernel reads its inputs and doesn't write to them",
        "if the caller's tensor is to be overwritten, mark it: `x: T[N]!` in the signature and `Tensor<T, 1> x` here; "
        "if not, write to an output",
    ),
    "a write to an input of half": one(
        "x[i] += 1;",
        "x is an input, `x: T[N]`: a kernel reads its inputs and doesn't write to them",
        "if the caller's tensor is to be overwritten, mark it: `x: T[N]!` in the signature and `Tensor<T, 1> x` here; "
        "if not, write to an output",
        "float16",
    ),
    "arithmetic of whole tensors": Mistake(
        ONE,
        OF_ONE,
        ("auto z = 2 * x;",),
        1,
        "x is a whole tensor, `Tensor<const T, 1> x`: a kernel computes with its elements",
        "loop over them: for (int64_t i = 0; i < x.numel(); ++i) ... x.flat(i) ...",
    ),
    "size without an axis": Mistake(
        ONE,
        OF_ONE,
        ("for (int64_t i = 0; i < x.size(); ++i) y[i] = x[i];",),
        1,
        "size() takes the axis whose length is meant",
        "write x.size(0), or x.numel() for all elements",
    ),
    "shape": Mistake(
        ONE,
        OF_ONE,
        ("for (int64_t i = 0; i < x.shape[0]; ++i) y[i] = x[i];",),
        1,
        "a view of a tensor has no member shape",
        "size(d) is the length of axis d",
    ),
    "sizes of an axis": Mistake(
        ONE,
        OF_ONE,
        ("for (int64_t i = 0; i < x.sizes(0); ++i) y[i] = x[i];",),
        1,
        "a view of a tensor has no member sizes",
        "size(d) is the length of axis d",
    ),
    "a misspelt function": one("y[i] = sigmod(x[i]);", "there is no function sigmod", "did you mean sigmoid(...)?"),
    "a returned value": Mistake(
        "f(x: T[N]) -> (y: T[])",
        "Tensor<const T, 1> x, Tensor<T, 0> y",
        ("return x[0];",),
        1,
        "a kernel returns nothing: its results are parameters that it writes to",
        "write y() = x[0];",
    ),
    "std::max without its header": one(
        "y[i] = std::max(x[i], T(0));",
        "std::max is used without its header, <algorithm>",
        "write #include <algorithm> at the top of the file; or max(...) without std::, which opwright.h has",
    ),
    "std::vector without its header": one(
        "std::vector<T> kept(3);",
        "std::vector is used without its header, <vector>",
        "write #include <vector> at the top of the file",
    ),
    "std::array without its header": Mistake(
        "f(x: T[N], at: list[int, 2] = 0) -> (y: T[N])",
        "Tensor<const T, 1> x, std::array<int64_t, 2> at, Tensor<T, 1> y",
        ("y[0] = x[at[0]];",),
        0,
        "std::array is used without its header, <array>",
        "write #include <array> at the top of the file",
    ),
    "std::exp without its header": one(
        "y[i] = std::exp(x[i]);",
        "std::exp is used without its header, <cmath>",
        "write #include <cmath> at the top of the file; or exp(...) without std::, which opwright.h has",
    ),
    "printf without its header": one(
        'printf("%d\\n", 3);',
        "printf is used without its header, <stdio.h>",
        "write #include <stdio.h> at the top of the file",
    ),
    "cout without its header": one(
        "std::cout << x[i];",
        "std::cout is used without its header, <iostream>",
        "write #include <iostream> at the top of the file",
    ),
    "?: of half and int": one(
        "y[i] = x[i] > 0 ? x[i] : 0;",
        "the two sides of ?: are float16 and int: each converts to the other, so C++ can't choose",
        "write ... ? x[i] : T(0)",
        "float16",
    ),
    "?: of bfloat16 and float": one(
        "y[i] = x[i] > 0 ? 0.5f * x[i] : x[i];",
        "the two sides of ?: are float and bfloat16: each converts to the other, so C++ can't choose",
        "write ... ? T(0.5f * x[i]) : x[i]",
        "bfloat16",
    ),
    "a semicolon before a brace": one(
        "y[i] = 2 * x[i]", "a semicolon is missing at the end of this line", "write y[i] = 2 * x[i];"
    ),
    "a semicolon before a statement": Mistake(
        ONE,
        OF_ONE,
        ("T s = 0  // a remark", "", LOOP, "  y[i] = s;"),
        1,
        "a semicolon is missing at the end of this line",
        "write T s = 0;",
    ),
    "a brace": Mistake(
        ONE,
        OF_ONE,
        (f"{LOOP} {{", "  y[i] = x[i];"),
        1,
        "the function that begins in line 4 isn't closed: a } is missing",
        "close the { of line 5 before line 7",
    ),
    "a brace too many": Mistake(
        ONE,
        OF_ONE,
        (LOOP, "  y[i] = x[i];", "}"),
        4,
        "this } closes nothing: it is one too many, or a { is missing above",
        "leave it out, or write the { that it belongs to",
    ),
    "parallel_for": Mistake(
        ONE,
        OF_ONE,
        ("parallel_for(0, x.size(0), 1, [&](int64_t a, int64_t b) {});",),
        1,
        "parallel_for takes the number of items and a body for a range of them",
        "write parallel_for(n, [&](int64_t begin, int64_t end) { for (int64_t i = begin; i < end; ++i) ... });",
    ),
}
