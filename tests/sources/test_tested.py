"""Which results a function's body tests for being there, by its tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.sources import scan
from opwright.sources.scan import find_tested


@pytest.mark.parametrize(
    "body",
    [
        "if (g) g[i] = 1;",
        "if (n && g) g[i] = 1;",
        "if (g && n) g[i] = 1;",
        "if ((g)) g[i] = 1;",
        "if (!(g) || n) return;",
        "if (!g) return;",
        "while (g) { }",
        "if constexpr (g) { }",
        "if (g.needed()) g[i] = 1;",
        "T *p = g.data();",
        "T *p = g ? &g[0] : nullptr;",
        "const bool wanted = bool(g);",
        "if (g != nullptr) g[i] = 1;",
        "if (NULL == g) return;",
        "if (g == 0) return;",
        "return g && n;",
        "/* a comment */ if (\n  g // another\n) g[i] = 1;",
    ],
)
def test_tests(body: str) -> None:
    assert find_tested(f"{{ {body} }}", ["h", "g"]) == ("g",)


@pytest.mark.parametrize(
    "body",
    [
        "g[i] = 1;",
        "g(i) = 1;",
        "g.flat(i) = 1;",
        "*g = 1;",
        "helper(g);",
        "helper((g));",
        "helper(n, g);",
        "if (g[i] > 0) g[i] = 1;",
        "if (n && g[i]) g[i] = 1;",
        "if (!g[i]) g[i] = 1;",
        "if (!g(i)) g(i) = 1;",
        "if (g == h) return;",
        "if (helper(g)) g[i] = 1;",
        "if (x.g) g[i] = 1;",
        "if (x->g && n) g[i] = 1;",
        "if (wanted) g[i] = 1;",
        "memset(g, 0, n);",
        "auto &view = g;",
        "g += 1;",
        "// if (g)\n g[i] = 1;",
        'log("if (g)"); g[i] = 1;',
        "IMPLEMENTATION(g)",
    ],
)
def test_other_uses(body: str) -> None:
    assert find_tested(f"{{ {body} }}", ["h", "g"]) == ()


def test_only_the_functions_own_body_counts() -> None:
    text = """
void before(float *gx) { if (gx) *gx = 1; }
OPWRIGHT("f_backward(grad_y: f32[N], x: f32[N], z: f32[N]) -> (grad_x: f32[N], grad_z: f32[N])")
void f_backward(Tensor<const float, 1> g, Tensor<const float, 1> x, Tensor<const float, 1> z, Tensor<float, 1> gx,
                Tensor<float, 1> gz) {
  for (int64_t i = 0; i < g.size(0); ++i) { gx[i] = g[i]; }
  if (gz) gz[0] = 1;
}
void after(float *gx) { if (gx) *gx = 1; }
"""
    (kernel,) = scan(Path("f.cpp"), text).kernels
    assert kernel.function.tested == ("gz",)
