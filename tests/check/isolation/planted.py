"""Kernels with a planted crash each, and right twins that differ in the planted statement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_KERNEL = """
OPWRIGHT("{name}(x: T[N, M]) -> (y: T[N]) where T in ({types})")
template <class T>
void {name}(Tensor<const T, 2> x, Tensor<T, 1> y) {{
  const int64_t n = x.size(0), m = x.size(1);
  (void)n;
  {statement}
  for (int64_t i = 0; i < n; ++i) {{
    std::conditional_t<sizeof(T) == 8, double, float> sum = 0;
    for (int64_t j = 0; j < m; ++j) sum += 2 * x(i, j);
    y[i] = sum;
  }}
}}
"""
_BACKWARD = """
OPWRIGHT("{name}_backward(grad_y: T[N], x: T[N, M]) -> (grad_x: T[N, M]) where T in ({types})")
template <class T>
void {name}_backward(Tensor<const T, 1> grad_y, Tensor<const T, 2> x, Tensor<T, 2> grad_x) {{
  const int64_t n = x.size(0), m = x.size(1);
  {statement}
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) grad_x(i, j) = 2 * grad_y[i];
}}
"""
_WEIGHTED = """
OPWRIGHT("{name}(x: T[N], w: T[N]?) -> (y: T[N]) where T in ({types})")
template <class T>
void {name}(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {{
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = {statement};
}}
"""
_HEAD = """#undef NDEBUG
#include <opwright.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

static int64_t deep(int64_t k) {
  volatile char frame[4096];
  frame[0] = 1;
  return k <= 0 ? 0 : frame[0] + deep(k - 1) + frame[0];
}
static void refuse(bool refused) noexcept(false) {
  if (refused) throw std::runtime_error("not for this size");
}
typedef float four __attribute__((vector_size(16)));
"""


@dataclass(frozen=True)
class Planted:
    """A kernel with a planted crash.

    Attributes:
        name: its name.
        broken: the statement that crashes.
        right: the twin's statement.
        says: what the finding says of the crash.
        kind: the finding's kind.
        types: the kernel's element types.
        where: the text around the statement: ``"forward"``, ``"backward"``, ``"weighted"``.
    """

    name: str
    broken: str
    right: str
    says: str
    kind: str = "crashes"
    types: str = "f32, f64"
    where: str = "forward"

    def write(self, folder: Path, *, twin: bool) -> Path:
        """Write the source of the kernel, or of its twin."""
        name = f"{self.name}_right" if twin else self.name
        statement = self.right if twin else self.broken
        given = {"name": name, "types": self.types}
        text = _KERNEL.format(**given, statement=statement if self.where == "forward" else "")
        if self.where == "backward":
            text += _BACKWARD.format(**given, statement=statement)
        elif self.where == "weighted":
            text = _WEIGHTED.format(**given, statement=statement)
        path = folder / f"{name}.cpp"
        path.write_text(_HEAD + text)
        return path


PLANTED = (
    Planted("zero_axis", "volatile int64_t rows = 4096 / m;", "volatile int64_t rows = m ? 4096 / m : 0;", "SIGFPE"),
    Planted("zero_group", "volatile int64_t rest = 8 % (m / 4);",
            "volatile int64_t rest = 8 % std::max<int64_t>(1, m / 4);", "SIGFPE"),
    Planted("size_one", "volatile int64_t step = 100 / (m - 1);", "volatile int64_t step = m > 1 ? 100 / (m - 1) : 0;",
            "SIGFPE"),
    Planted("refuses_first", 'OPWRIGHT_CHECK(m >= 3, "m is too short"); volatile int64_t step = 100 / (m - 3);',
            'OPWRIGHT_CHECK(m > 3, "m is too short"); volatile int64_t step = 100 / (m - 3);', "SIGFPE"),
    Planted("reads_far", "if (n && m > 2) { volatile T value = (&x(0, 0))[int64_t(1) << 40]; }",
            "if (n && m > 2) { volatile T value = (&x(0, 0))[0]; }", "SIGSEGV"),
    Planted("writes_far", "if (n > 1) (&y[0])[-(int64_t(1) << 40)] = 1;", "if (n > 1) (&y[0])[0] = 1;", "SIGSEGV"),
    Planted("null_pointer", "w[i] * x[i]", "w ? w[i] * x[i] : x[i]", "SIGSEGV", where="weighted"),
    Planted("aborts", "if (m == 2) abort();", "if (m == -2) abort();", "SIGABRT"),
    Planted("asserts", "assert(m > 0);", "assert(m >= 0);", "SIGABRT"),
    Planted("double_free", "char *volatile p = (char *)malloc(64); free(p); if (n == 1) free(p);",
            "char *volatile p = (char *)malloc(64); free(p); if (n == 1) p = nullptr;", "SIGABRT"),
    Planted("throws_in_thread", "std::thread other([&] { refuse(m == 1); }); other.join();",
            "std::thread other([&] { try { refuse(m == 1); } catch (...) {} }); other.join();", "SIGABRT"),
    Planted("throws_past_noexcept", "[&]() noexcept { refuse(m == 1); }();", "[&]() noexcept { refuse(m < 0); }();",
            "SIGABRT"),
    Planted("exits", "if (m == 0) exit(3);", "if (m < 0) exit(3);", r"exit\(3\)"),
    Planted("traps", "switch (m % 3) { case 2: __builtin_trap(); }", "switch (m % 3) { case 2: break; }",
            "SIGILL|SIGTRAP"),
    Planted("misaligned", "if (n && m > 4) { volatile four value = *(const four *)&x(0, 1); }",
            "if (n && m > 4) { four v; std::memcpy(&v, &x(0, 1), sizeof(v)); volatile float first = v[0]; }",
            "SIGSEGV", types="f32"),
    Planted("overflows_stack", "volatile int64_t depth = deep(m);",
            "volatile int64_t depth = deep(std::min<int64_t>(m, 8));", "SIGSEGV"),
    Planted("large_only", "volatile T row[512]; if (n) for (int64_t j = 0; j < m; ++j) row[j] = x(0, j);",
            "std::vector<T> row(m); if (n) for (int64_t j = 0; j < m; ++j) row[j] = x(0, j);",
            "SIGSEGV|SIGABRT|SIGBUS"),
    Planted("half_only", "volatile int *p = nullptr; if (sizeof(T) == 2) *p = 1;",
            "volatile int k = 0, *p = &k; if (sizeof(T) == 2) *p = 1;", "SIGSEGV", types="f32, f16"),
    Planted("second_call", "static char *volatile table = (char *)malloc(64); free(table);",
            "char *volatile table = (char *)malloc(64); free(table);", "SIGABRT|SIGSEGV"),
    Planted("backward_only", "volatile int64_t step = 100 / (m - 2);",
            "volatile int64_t step = m > 2 ? 100 / (m - 2) : 0;", "SIGFPE", where="backward"),
    Planted("never_returns", "for (volatile int64_t step = m; step != 1;) step = step / 2;",
            "for (volatile int64_t step = m; step > 1;) step = step / 2;", "hasn't returned", "doesnt-return"),
    Planted("takes_all_memory",
            "std::vector<int64_t> seen; for (uint64_t last = m - 1; seen.size() < last;) seen.push_back(m);",
            "std::vector<int64_t> seen; for (int64_t last = m - 1; (int64_t)seen.size() < last;) seen.push_back(m);",
            "GiB", "out-of-memory"),
)  # fmt: skip
