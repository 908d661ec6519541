"""The text of the errors that only the compiler sees, through the whole stack."""

from __future__ import annotations

import re

import torch

import opwright
from opwright import (
    CompileError,
)
from tests.messages.raising import Write, failing

_BODY = "template <class T>\nvoid f(Tensor<const T, 1> x, Tensor<T, 1> y) {}"


def test_a_compile_error_at_the_first_call(write: Write) -> None:
    body = _BODY.replace("{}", "{\n  y[0] = x[0] + undefined_name;\n}")
    source = write(f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\n{body}', "broken.cpp")
    ops = opwright.load(source)
    text = failing(lambda: ops.f(torch.ones(3)), CompileError)
    assert re.match(
        rf"{re.escape(str(source))}:5:17: error: .undefined_name. was not declared in this scope\n"
        r"    5 \|   y\[0\] = x\[0\] \+ undefined_name;\n",
        text,
    )
    assert failing(lambda: ops.f(torch.ones(3)), CompileError) == text  # and again: nothing is half made
    write(f'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\n{body.replace("undefined_name", "1")}', "broken.cpp")
    assert opwright.load(source).f(torch.ones(1)).item() == 2


_TABLE = """#include <stdexcept>
struct Table { Table() { throw std::runtime_error("no table.bin"); } };
static const Table table;
OPWRIGHT("f(x: T[N]) -> (y: T[N])")
"""


def test_a_global_object_that_throws(write: Write) -> None:
    source = write(f"{_TABLE}{_BODY}", "tables.cpp")
    ops = opwright.load(source)
    text = failing(lambda: ops.f(torch.ones(3)), CompileError)
    assert text.startswith(
        f"{source}:4: error: loading this library ends the process: this object's constructor throws "
        "std::runtime_error: no table.bin\n    4 | static const Table table;\n  likely fix: make it at the first call"
    )
    write(f"{_TABLE.replace('throw', 'if (!this) throw')}{_BODY}", "tables.cpp")
    assert opwright.load(source).f(torch.ones(2)).shape == (2,)
