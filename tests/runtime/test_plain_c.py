"""C functions without any mark: from a source, from an installed header, from a library built here."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import ArgumentError, CompileError, KernelError, SignatureError, SourceError
from tests.interpreter import run_python

LEGACY = """#include <stddef.h>
#include <stdint.h>
typedef float real;
enum mode { FORWARDS, BACKWARDS };

void saxpy(int64_t N, float alpha, const float *x, float *y) {
  for (int64_t i = 0; i < N; ++i) y[i] += alpha * x[i];
}
/* no const on inputs, a typedef, static, a value returned */
static inline real dot(size_t n, real *x, real *restrict y) {
  real s = 0;
  for (size_t i = 0; i < n; ++i) s += x[i] * y[i];
  return s;
}
int copy_up_to(int limit, int n, const double x[], double y[]) {
  if (n > limit) return n;
  for (int i = 0; i < n; ++i) y[i] = x[i];
  return 0;
}
void reversed(int n, enum mode mode, unsigned char flag, const short *x, short *y) {
  for (int i = 0; i < n; ++i) y[i] = (flag ? -1 : 1) * x[mode == BACKWARDS ? n - 1 - i : i];
}
#define OF(type) void negated_##type(const type *x, type *y, long n) { for (long i = 0; i < n; ++i) y[i] = -x[i]; }
OF(float)
void mul(int n, double *x, double *y, double *z) {
  for (int i = 0; i < n; ++i) z[i] = x[i] * y[i];
}
void mul_backward(int n, double *grad_z, double *x, double *y, double *grad_x, double *grad_y) {
  for (int i = 0; i < n; ++i) {
    grad_x[i] = grad_z[i] * y[i];
    grad_y[i] = grad_z[i] * x[i];
  }
}
void set_first(register int n, volatile float x[n]) { if (n) x[0] = 9; }
int is_null(const float *x, const float *y, int n) { return (x == NULL) + 2 * (y == NULL); }
"""
OPS = {
    "saxpy": "saxpy(alpha: float, x: f32[N], y: f32[N]!)",
    "dot": "dot(x: f32[n], y: f32[n]) -> (s: f32[])",
    "copy_up_to": "copied(x: f64[n], limit: int = 3) -> (y: f64[n])",
    "reversed(n, mode, flag, x, y)": "turned(x: i16[n], mode: int, flag: bool) -> (y: i16[n])",
    "reversed(n, 1, 0, x, y)": "reversed(x: i16[n]) -> (y: i16[n])",
    "negated_float": "negated_float(x: f32[n]) -> (y: f32[n])",
    "mul": "mul(x: f64[n], y: f64[n]) -> (z: f64[n])",
    "mul_backward": "mul_backward(grad_z: f64[n], x: f64[n], y: f64[n]) -> (grad_x: f64[n], grad_y: f64[n])",
    "set_first": "set_first(x: f32[n]!)",
    "is_null": "nulls(x: f32[n], y: f32[n]?) -> (which: i32[])",
}


@pytest.fixture(scope="module")
def legacy(tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    source = tmp_path_factory.mktemp("legacy") / "legacy_c.c"
    source.write_text(LEGACY)
    return opwright.load(source, ops=OPS)


def failing(run: Callable[[], object], error: type[Exception]) -> str:
    with pytest.raises(error) as caught:
        run()
    return str(caught.value)


def test_in_place_like_add(legacy: opwright.Operators) -> None:
    x, y = torch.randn(5), torch.randn(5)
    expected = y.clone().add_(x, alpha=0.5)
    assert legacy.saxpy(0.5, x, y) is None
    torch.testing.assert_close(y, expected)
    base = torch.randn(5, 2)
    expected = base.clone()
    expected[:, 1].add_(x, alpha=-2.0)
    legacy.saxpy(-2.0, x, base[:, 1])
    torch.testing.assert_close(base, expected)


def test_values_that_are_returned(legacy: opwright.Operators) -> None:
    x, y = torch.randn(100), torch.randn(100)
    s = legacy.dot(x, y)
    assert s.shape == ()
    torch.testing.assert_close(s, x.double().dot(y.double()).float())
    assert legacy.dot(x[:0], y[:0]).item() == 0
    meta = torch.empty(4, device="meta")
    assert (legacy.dot(meta, meta).shape, legacy.dot(meta, meta).dtype) == ((), torch.float32)


def test_a_status(legacy: opwright.Operators) -> None:
    x = torch.randn(3, dtype=torch.float64)
    assert torch.equal(legacy.copied(x), x)
    assert failing(lambda: legacy.copied(x, 2), KernelError) == (
        "copied(): the C function copy_up_to returned 3, which is taken for a failure: 0 is success\n"
        "  likely fix: if it is a value, declare it as an output without a parameter: -> (result: i32[])"
    )


def test_names_numbers_and_enumerations_in_order(legacy: opwright.Operators) -> None:
    x = torch.arange(4, dtype=torch.int16)
    assert torch.equal(legacy.turned(x, 1, flag=True), -x.flip(0))
    assert torch.equal(legacy.turned(x, 0, flag=False), x)
    assert torch.equal(legacy.reversed(x), x.flip(0))


def test_a_function_that_a_macro_writes(legacy: opwright.Operators) -> None:
    x = torch.randn(4)
    assert torch.equal(legacy.negated_float(x), -x)


def test_a_backward_without_a_mark_is_never_given_null(legacy: opwright.Operators) -> None:
    x, y = (torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(legacy.mul, (x, y))
    assert torch.equal(torch.autograd.grad(legacy.mul(x, y.detach()).sum(), x)[0], y)
    assert torch.equal(torch.autograd.grad(legacy.mul(x.detach(), y).sum(), y)[0], x)


def test_null_is_only_what_is_not_there(legacy: opwright.Operators) -> None:
    empty = torch.empty(0)
    assert legacy.nulls(empty, empty).item() == 0
    assert legacy.nulls(empty, None).item() == 2


def test_words_before_a_type(legacy: opwright.Operators) -> None:
    x = torch.zeros(2)
    legacy.set_first(x)
    assert x.tolist() == [9, 0]


def test_opcheck(legacy: opwright.Operators) -> None:
    x, y = torch.randn(4), torch.randn(4)
    assert set(torch.library.opcheck(legacy.saxpy, (0.5, x, y)).values()) == {"SUCCESS"}
    assert set(torch.library.opcheck(legacy.dot, (x, y)).values()) == {"SUCCESS"}


def test_calls_that_do_not_fit(legacy: opwright.Operators) -> None:
    x = torch.randn(4)
    assert failing(lambda: legacy.saxpy(1.0, x, x[:3].clone()), ArgumentError) == (
        "saxpy(): y has shape (3,), expected [N] = (4,)\n  bound so far: N=4 (x)\n"
        "  signature:    saxpy(alpha: float, x: f32[N], y: f32[N]!)"
    )
    assert "y has element type float64" in failing(lambda: legacy.dot(x, x.double()), ArgumentError)
    assert failing(lambda: legacy.copied(x.double(), 2**31), KernelError) == (
        "copied(): limit is 2147483648, which doesn't fit the kernel's parameter of 4 bytes"
    )
    assert failing(lambda: legacy.turned(x.short(), -(2**40), flag=False), KernelError).startswith("turned(): mode is")


def test_one_signature_is_a_string_several_are_a_sequence(tmp_path: Path) -> None:
    source = tmp_path / "several.c"
    source.write_text("void a(int n, const float *x, float *y) { y[0] = 1; }\nvoid b(int n, float *x) { x[0] = 2; }")
    one = opwright.load(source, ops="a(x: f32[n]) -> (y: f32[n])", namespace="plain_one")
    assert list(one) == ["a"]
    both = opwright.load(source, ops=["a(x: f32[n]) -> (y: f32[n])", "b(x: f32[n]!)"], namespace="plain_both")
    assert list(both) == ["a", "b"]
    assert both.a(torch.zeros(1)).item() == 1


def test_marks_and_ops_in_one_file(tmp_path: Path) -> None:
    source = tmp_path / "marked_too.c"
    source.write_text(
        '#include <opwright.h>\nOPWRIGHT("a(x: f32[n]) -> (y: f32[])")\n'
        "float a(int n, const float *x) { return n; }\nint b(int n, const float *x) { return -n; }\n"
    )
    ops = opwright.load(source, ops="b(x: f32[n]) -> (y: i32[])")
    assert (ops.a(torch.zeros(3)).item(), ops.b(torch.zeros(3)).item()) == (3, -3)
    text = failing(lambda: opwright.load(source, ops="a(x: f32[n]) -> (y: f32[])", namespace="twice_c"), SourceError)
    fix = f"its signature stands in the file, {source}:2: don't give another"
    assert text == f"a is defined more than once: {source}:2, {source}:3\n  likely fix: {fix}"


def test_several_sources_and_an_edit(tmp_path: Path) -> None:
    first, second = tmp_path / "first_of_two.c", tmp_path / "second_of_two.cpp"
    first.write_text("void g(int n, float *y);\nvoid f(int n, float *x) { x[0] += 1; }")
    second.write_text("namespace in { void g(int n, float *x) { x[0] += 2; } }")
    ops = opwright.load(first, second, ops=["f(x: f32[n]!)", "g(x: f32[n]!)"])
    x = torch.zeros(1)
    ops.f(x)
    ops.g(x)
    assert x.item() == 3
    first.write_text(first.read_text().replace("+= 1", "+= 10"))
    assert opwright.load(first, second, ops=["f(x: f32[n]!)", "g(x: f32[n]!)"]) is ops
    ops.f(x)
    assert x.item() == 13


def test_what_the_compiler_takes_it_for_counts(tmp_path: Path) -> None:
    """A macro that our reading of the file doesn't see is found out by the compiler: no pointer is misread."""
    source = tmp_path / "hidden.c"
    source.write_text("#define float double\nvoid f(int n, const float *x, float *y) { y[n - 1] = 0; }\n")
    ops = opwright.load(source, ops="f(x: f32[n]) -> (y: f32[n])")
    text = failing(lambda: ops.f(torch.zeros(3)), CompileError)
    assert text.startswith(f"{source}:2:")
    assert "f is not what Opwright took it for: void (int, const float *, float *)" in text
    inline = opwright.load_inline("hidden_in_cpp", cpp=source.read_text(), ops="f(x: f32[n]) -> (y: f32[n])")
    assert "error: cannot convert" in failing(lambda: inline.f(torch.zeros(3)), CompileError)


def test_a_typedef_with_two_branches(tmp_path: Path) -> None:
    source = tmp_path / "branches.c"
    source.write_text(
        "#ifdef SINGLE\ntypedef float real;\n#else\ntypedef double real;\n#endif\n"
        "real first(const real *x, int n) { return x[0]; }\n"
    )
    double = opwright.load(source, ops="first(x: f64[n]) -> (y: f64[])")
    assert double.first(torch.tensor([2.5], dtype=torch.float64)).item() == 2.5
    single = opwright.load(
        source, ops="first(x: f32[n]) -> (y: f32[])", extra_cflags=["-DSINGLE"], namespace="branches_single"
    )
    assert single.first(torch.tensor([2.5])).item() == 2.5


# Installed headers.


def test_zlib() -> None:
    if not Path("/usr/include/zlib.h").exists():
        pytest.skip("zlib's header is not installed")
    ops = opwright.load(
        headers=["zlib.h"],
        libraries=["z"],
        ops={
            "crc32": "crc32(crc: int, buf: u8[len]) -> (value: u64[])",
            "crc32_combine(a, b, n)": "crc32_combine(a: int, b: int, n: int) -> (value: u64[])",
            "adler32(1, buf, len)": "adler32(buf: u8[len]) -> (value: u64[])",
        },
    )
    assert ops.crc32._namespace == "z"
    data = torch.randint(0, 256, (1000,), dtype=torch.uint8)
    raw = data.numpy().tobytes()
    assert ops.crc32(0, data).item() == zlib.crc32(raw)
    assert ops.crc32(7, data[:0]).item() == zlib.crc32(b"", 7)
    assert ops.adler32(data).item() == zlib.adler32(raw)
    parts = zlib.crc32(raw[:300]), zlib.crc32(raw[300:])
    assert ops.crc32_combine(*parts, 700).item() == zlib.crc32(raw)


def test_libc_and_libm() -> None:
    ops = opwright.load(
        headers=["string.h", "math.h"],
        libraries=["m"],
        namespace="plain_libc",
        ops={
            "memcmp(a, b, n)": "memcmp(a: u8[n], b: u8[n]) -> (difference: i32[])",
            "fma(x, y, z)": "fma(x: float, y: float, z: float) -> (value: f64[])",
        },
    )
    a, b = torch.tensor([1, 2, 3], dtype=torch.uint8), torch.tensor([1, 9, 3], dtype=torch.uint8)
    assert ops.memcmp(a, a).item() == 0
    assert ops.memcmp(a, b).item() < 0
    assert ops.fma(2.0, 3.0, 4.0).item() == 10


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with include/tally.h and lib/libtally.so."""
    (tmp_path / "include").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "include/tally.h").write_text(
        "#include <stddef.h>\ntypedef struct { int a; } tally_t;\ntypedef double tally_real;\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n'
        "extern tally_real tally_sum(size_t n, const tally_real *values);\n"
        "int tally_open(tally_t *tally, int n);\nvoid tally_missing(int n, double *values);\n"
        "#define tally_macro(n) ((n) + 1)\n"
        "#ifdef __cplusplus\n}\n#endif\n"
    )  # fmt: skip
    build(tmp_path, "s += values[i]")
    return tmp_path


def build(folder: Path, step: str) -> None:
    code = folder / "tally.c"
    code.write_text(
        "#include <stddef.h>\ndouble tally_sum(size_t n, const double *values) {\n"
        f"  double s = 0;\n  for (size_t i = 0; i < n; ++i) {step};\n  return s;\n}}\n"
    )
    compiler = shutil.which("cc")
    assert compiler
    output = folder / "lib/libtally.so"
    subprocess.run([compiler, "-shared", "-fPIC", str(code), "-o", str(output)], check=True)


SUM = "tally_sum(values: f64[n]) -> (sum: f64[])"


def script(folder: Path) -> str:
    return (
        "import opwright, torch\n"
        f"ops = opwright.load(headers=['tally.h'], libraries=['tally'], library_dirs=[{str(folder / 'lib')!r}], "
        f"extra_include_paths=[{str(folder / 'include')!r}], ops={SUM!r})\n"
        "print(ops.tally_sum(torch.arange(4, dtype=torch.float64)).item())\n"
    )


def run(folder: Path, **environment: str) -> str:
    done = run_python(script(folder), environment={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_a_library_of_ones_own_is_found_without_help_and_seen_to_change(library: Path, tmp_path: Path) -> None:
    """Its folder is on no search path: the rpath leads there. A new library is linked anew."""
    assert run(library) == "6.0"
    build(library, "s += 10 * values[i]")
    assert run(library) == "60.0"


def test_what_a_library_lacks(library: Path) -> None:
    include = library / "include"
    load = partial(opwright.load, library_dirs=[library / "lib"], extra_include_paths=[include])
    missing = "tally_missing(values: f64[n]!)"
    ops = load(headers=["tally.h"], libraries=["tally"], ops=missing, namespace="tally_lacks")
    text = failing(lambda: ops.tally_missing(torch.zeros(2).double()), CompileError)
    assert "error: undefined reference to tally_missing\n" in text
    assert 'likely fix: define it, or name the library that has it: libraries=["..."]' in text
    absent = load(headers=["tally.h"], libraries=["tally_ho"], ops=SUM, namespace="tally_ho")
    text = failing(lambda: absent.tally_sum(torch.zeros(2).double()), CompileError)
    assert "error: the linker finds no library tally_ho\n  likely fix: install it" in text
    text = failing(lambda: load(headers=["tally_ho.h"], ops=SUM), CompileError)
    assert text.startswith(
        "the header tally_ho.h isn't there: it is in none of the folders that the compiler searches, "
        f"{include} among them\n  likely fix: install the library's development package, or name its folder"
    )


def test_what_a_header_does_not_declare(library: Path) -> None:
    header = library / "include/tally.h"

    def load(ops: str | dict[str, str]) -> Callable[[], object]:
        return lambda: opwright.load(headers=[header], namespace="tally", ops=ops)

    text = failing(load("tally_summ(values: f64[n]) -> (s: f64[])"), SourceError)
    assert "tally_summ: no function tally_summ is declared in it\n" in text
    assert text.endswith(
        'likely fix: did you mean tally_sum? Give the function\'s name: ops={"tally_sum": "tally_summ(...)"}'
    )
    assert "tally_macro is a macro, not a function" in failing(load("tally_macro(n: int) -> (m: i32[])"), SourceError)
    text = failing(load("tally_open(tally: f64[n]) -> (m: f64[])"), SourceError)
    assert text.startswith(f"{header}:8: tally_open: the function returns `int`, expected double for the output")
    text = failing(load("tally_open(tally: f64[n]!)"), SourceError)
    assert f"{header}:8: tally_open: parameter 1 is `tally_t *tally`" in text


def test_what_load_is_given() -> None:
    assert failing(lambda: opwright.load(headers=["math.h"]), SourceError) == (
        "load() got headers=['math.h'] and no ops, expected the signatures of the functions that are meant: "
        'ops="f(x: f32[N]) -> (y: f32[N])"'
    )
    assert failing(lambda: opwright.load(headers="math.h", ops="f(x: f32[N]!)"), TypeError) == (
        "load() got headers='math.h', expected a sequence: headers=['math.h']"
    )
    assert failing(lambda: opwright.load("x.c", libraries="m"), TypeError) == (
        "load() got libraries='m', expected a sequence of words: libraries=['m']"
    )
    for ops in (3, [3], [], {"f": 3}, {}):
        wrong: Any = ops
        text = failing(partial(opwright.load_inline, "wrong", c="int f;", ops=wrong), TypeError)
        assert "expected a signature, a sequence of them, or {function: signature}" in text
    text = failing(lambda: opwright.load_inline("wrong", c="int f;", ops="f(x: f32[N"), SignatureError)
    assert text.startswith("ops: ")
    assert failing(
        lambda: opwright.load_inline("wrong", c="int f;", ops={"f(g(x))": "f(x: f32[N]!)"}), SignatureError
    ) == (
        "ops: 'g(x)' in 'f(g(x))' is neither a name nor a number\n"
        "  likely fix: name each parameter of the function, in its order, as the signature does: crc32(crc, buf, len)"
    )
