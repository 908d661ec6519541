"""What runs code when a library is loaded, as far as the source's text tells."""

from __future__ import annotations

import pytest

from opwright.toolchain.messages.initializers import global_objects

RUNS = [
    "Table table;",
    "static Table table(3);",
    "static const Table table{3};",
    'static Table table("table.bin");',
    "inline std::vector<float> table(100);",
    "static std::map<int, float> table = {{1, 2}};",
    "const int table = compute();",
    "static auto table = compute();",
    "Table table[4];",
    "struct Table { Table(); } table;",
    "static struct { Table inner; } table;",
    "namespace a { Table table; }",
    "__attribute__((constructor)) static void table() {}",
]
DOESNT = [
    "int table;",
    "static const float table[] = {1, 2.5f};",
    "constexpr int table = compute();",
    "static constexpr double table = 1e-3;",
    "using Table = std::vector<float>;",
    "typedef struct { int x; } Table;",
    "struct Table { Table(); };",
    "enum class Table { a, b };",
    "template <class T> Table<T> table;",
    "extern Table table;",
    "void f(int x);",
    "float f(const float *x);",
    'OPWRIGHT("f(x: T[N]) -> (y: T[N])")\ntemplate <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y) { Table t; }',
    "static int f() { static Table table; return table.n; }",
    '#include "table.h"',
]


@pytest.mark.parametrize("text", RUNS)
def test_objects_that_are_constructed(text: str) -> None:
    assert [each.line for each in global_objects(f"int f() {{ return 1; }}\n{text}\n")] == [2]


@pytest.mark.parametrize("text", DOESNT)
def test_definitions_that_run_nothing(text: str) -> None:
    assert not list(global_objects(text))
