"""Inline PTX: each instruction against Python's integers, math and PyTorch; and what isn't there is named."""

from __future__ import annotations

import ctypes
import math
import random
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch

from opwright.cuda.emulation.rewrite import Rewriter
from opwright.errors import CompileError

from .conftest import build_at

N = 64


class Case(NamedTuple):
    """An instruction, the letters of its registers, and what it gives of their bits."""

    text: str
    letters: str
    expected: Callable[..., Any] | None
    near: float = 0


def signed(x: int, bits: int = 32) -> int:
    x &= 2**bits - 1
    return x - 2**bits if x >> (bits - 1) else x


def field(a: int, at: int, count: int, bits: int, *, sign: bool) -> int:
    """By the loop of PTX's description."""
    at, count, msb = at & 255, count & 255, bits - 1
    fill = (a >> min(at + count - 1, msb)) & 1 if sign and count else 0
    return sum(((a >> (at + i)) & 1 if i < count and at + i <= msb else fill) << i for i in range(bits))


def inserted(a: int, b: int, at: int, count: int, bits: int) -> int:
    at, count = at & 255, count & 255
    for i in range(count):
        if at + i < bits:
            b = (b & ~(1 << (at + i))) | (((a >> i) & 1) << (at + i))
    return b


def differences(a: int, b: int) -> int:
    return sum(abs(x - y) for x, y in zip(a.to_bytes(4, "little"), b.to_bytes(4, "little"), strict=True))


def permuted(a: int, b: int, chosen: int) -> int:
    data = (a | b << 32).to_bytes(8, "little")
    picked = [(chosen >> (4 * i)) & 15 for i in range(4)]
    return int.from_bytes(bytes(255 * (data[p & 7] >> 7) if p & 8 else data[p & 7] for p in picked), "little")


def f32(x: float) -> float:
    return float(struct.unpack("f", struct.pack("f", x))[0])


CASES = [
    Case("add.u32 %0, %1, %2;", "rrr", lambda a, b: a + b),
    Case("add.s32 %0, %1, -3;", "rr", lambda a: a - 3),
    Case("sub.s64 %0, %1, %2;", "lll", lambda a, b: a - b),
    Case("mul.lo.s32 %0, %1, %2;", "rrr", lambda a, b: a * b),
    Case("mul.lo.u16 %0, %1, %2;", "hhh", lambda a, b: a * b),
    Case("mul.hi.u32 %0, %1, %2;", "rrr", lambda a, b: a * b >> 32),
    Case("mul.hi.s32 %0, %1, %2;", "rrr", lambda a, b: signed(a) * signed(b) >> 32),
    Case("mul.hi.u64 %0, %1, %2;", "lll", lambda a, b: a * b >> 64),
    Case("mul.hi.s64 %0, %1, %2;", "lll", lambda a, b: signed(a, 64) * signed(b, 64) >> 64),
    Case("mul.wide.s32 %0, %1, %2;", "lrr", lambda a, b: signed(a) * signed(b)),
    Case("mul.wide.u16 %0, %1, %2;", "rhh", lambda a, b: a * b),
    Case("mad.lo.s32 %0, %1, %2, %3;", "rrrr", lambda a, b, c: a * b + c),
    Case("mad.hi.u32 %0, %1, %2, %3;", "rrrr", lambda a, b, c: (a * b >> 32) + c),
    Case("mad.wide.u32 %0, %1, %2, %3;", "lrrl", lambda a, b, c: a * b + c),
    Case("min.s32 %0, %1, %2;", "rrr", lambda a, b: min(signed(a), signed(b))),
    Case("max.u64 %0, %1, %2;", "lll", max),
    Case("and.b32 %0, %1, 0xFF00FF00;", "rr", lambda a: a & 0xFF00FF00),
    Case("or.b64 %0, %1, %2;", "lll", lambda a, b: a | b),
    Case("xor.b32 %0, %1, %2;", "rrr", lambda a, b: a ^ b),
    Case("not.b32 %0, %1;", "rr", lambda a: ~a),
    Case("shl.b32 %0, %1, %2;", "rrs", lambda a, b: a << b if b < 32 else 0),
    Case("shr.u32 %0, %1, %2;", "rrs", lambda a, b: a >> b),
    Case("shr.s32 %0, %1, %2;", "rrs", lambda a, b: signed(a) >> b),
    Case("popc.b64 %0, %1;", "rl", lambda a: a.bit_count()),
    Case("clz.b32 %0, %1;", "rr", lambda a: 32 - a.bit_length()),
    Case("brev.b32 %0, %1;", "rr", lambda a: int(f"{a:032b}"[::-1], 2)),
    Case("bfind.u32 %0, %1;", "rr", lambda a: a.bit_length() - 1),
    Case("bfind.u64 %0, %1;", "rl", lambda a: a.bit_length() - 1),
    Case("bfind.s32 %0, %1;", "rr", lambda a: (~signed(a) if signed(a) < 0 else a).bit_length() - 1),
    Case("bfind.shiftamt.u32 %0, %1;", "rr", lambda a: 32 - a.bit_length() if a else -1),
    Case("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;", "rrrr", lambda a, b, c: c + differences(a, b)),
    Case("bfe.u32 %0, %1, %2, %3;", "rrss", lambda a, b, c: field(a, b, c, 32, sign=False)),
    Case("bfe.s32 %0, %1, %2, %3;", "rrss", lambda a, b, c: field(a, b, c, 32, sign=True)),
    Case("bfe.s64 %0, %1, %2, %3;", "llss", lambda a, b, c: field(a, b, c, 64, sign=True)),
    Case("bfi.b32 %0, %1, %2, 5, %3;", "rrrs", lambda a, b, c: inserted(a, b, 5, c, 32)),
    Case("bfi.b64 %0, %1, %2, %3, 9;", "llls", lambda a, b, c: inserted(a, b, c, 9, 64)),
    Case("prmt.b32 %0, %1, %2, %3;", "rrrr", permuted),
    Case("lop3.b32 %0, %1, %2, %3, 0xE8;", "rrrr", lambda a, b, c: (a & b) | (a & c) | (b & c)),
    Case("lop3.b32 %0, %1, %2, %3, 0x96;", "rrrr", lambda a, b, c: a ^ b ^ c),
    Case("shf.l.wrap.b32 %0, %1, %2, %3;", "rrrs", lambda a, b, c: ((b << 32 | a) << (c & 31)) >> 32),
    Case("shf.r.wrap.b32 %0, %1, %2, %3;", "rrrs", lambda a, b, c: (b << 32 | a) >> (c & 31)),
    Case("mov.b32 %0, %1;", "rf", lambda a: struct.unpack("I", struct.pack("f", a))[0]),
    Case("mov.f32 %0, 0f3FC00000;", "f", lambda: 1.5),
    Case("mov.b64 %0, {%1, %2};", "lrr", lambda a, b: b << 32 | a),
    Case("{ .reg .b32 low; mov.b64 {low, %0}, %1; }", "rl", lambda a: a >> 32),
    Case(
        "{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.u32 %0, 1, 2, p; }",
        "rrr",
        lambda a, b: 1 if signed(a) < signed(b) else 2,
    ),
    Case(
        "{ .reg .pred p; setp.ge.u32 p, %1, 5; mov.u32 %0, 7; @!p mov.u32 %0, 8; }", "rs", lambda a: 7 if a >= 5 else 8
    ),
    Case("add.f32 %0, %1, %2;", "fff", lambda a, b: f32(a + b)),
    Case("mul.rn.f64 %0, %1, %2;", "ddd", lambda a, b: a * b),
    Case(
        "fma.rn.f64 %0, %1, %2, 1.0;",
        "ddd",
        lambda a, b: torch.addcmul(*[torch.tensor(v, dtype=torch.float64) for v in (1.0, a, b)]).item(),
        1e-12,
    ),
    Case("fma.rn.f32 %0, %1, %2, %3;", "ffff", lambda a, b, c: f32(a * b + c), 1e-6),
    Case("max.f32 %0, %1, %2;", "fff", max),
    Case("neg.f32 %0, %1;", "ff", lambda a: -a),
    Case("div.rn.f32 %0, %1, %2;", "fff", lambda a, b: f32(a / b)),
    Case("sqrt.approx.f32 %0, %1;", "fp", math.sqrt, 1e-6),
    Case("rsqrt.approx.ftz.f32 %0, %1;", "fp", lambda a: 1 / math.sqrt(a), 1e-6),
    Case("rcp.approx.ftz.f32 %0, %1;", "fp", lambda a: 1 / a, 1e-6),
    Case("ex2.approx.ftz.f32 %0, %1;", "ff", lambda a: 2**a, 1e-6),
    Case("lg2.approx.f32 %0, %1;", "fp", math.log2, 1e-6),
    Case("tanh.approx.f32 %0, %1;", "ff", math.tanh, 1e-6),
    Case("cvt.rn.f16.f32 %0, %1;", "hf", lambda a: torch.tensor(a).half().view(torch.int16).item()),
    Case("cvt.f32.f16 %0, %1;", "fh", lambda a: torch.tensor(signed(a, 16), dtype=torch.int16).view(torch.half).item()),
    Case("{ .reg .pred %%p1; setp.ne.f32 %%p1, %1, 0f7FC00000; selp.u32 %0, 1, 2, %%p1; }", "rf", lambda a: 2),
    Case("{ .reg .pred p; setp.ne.f32 p, %1, %2; selp.u32 %0, 1, 2, p; }", "rff", lambda a, b: 1 if a != b else 2),
    Case(
        "{ .reg .u32 lo, hi; add.cc.u32 lo, %1, %2; addc.u32 hi, %3, %4; mov.b64 %0, {lo, hi}; }",
        "lrrrr",
        lambda a, b, c, d: a + b + ((c + d) << 32),
    ),
    Case(
        "{ .reg .u32 x; add.cc.s32 x, %1, %2; addc.cc.s32 x, %3, %4; addc.u32 %0, %1, %3; }",
        "rrrrr",
        lambda a, b, c, d: ((a + b + ((c + d) << 32)) >> 64) + a + c,
    ),
    Case(
        "{ .reg .u64 x; add.cc.u64 x, %1, %2; addc.cc.u64 x, %3, -1; addc.u64 %0, 0, 0; }",
        "llll",
        lambda a, b, c: (a + b + ((c + 2**64 - 1) << 64)) >> 128,
    ),
    Case(
        "{ .reg .u32 lo, hi; sub.cc.u32 lo, %1, %2; subc.u32 hi, %3, %4; mov.b64 %0, {lo, hi}; }",
        "lrrrr",
        lambda a, b, c, d: a - b + ((c - d) << 32),
    ),
    Case(
        "{ .reg .u32 x; sub.cc.u32 x, %1, %2; subc.cc.u32 x, %3, %4; subc.u32 %0, 7, 0; }",
        "rrrrr",
        lambda a, b, c, d: 7 - (a - b + ((c - d) << 32) < 0),
    ),
    Case(
        "{ .reg .u32 lo, hi; mad.lo.cc.u32 lo, %1, %2, %3; madc.hi.u32 hi, %1, %2, %4; mov.b64 %0, {lo, hi}; }",
        "lrrrr",
        lambda a, b, c, d: a * b + (d << 32 | c),
    ),
    Case(
        "{ .reg .u64 lo, hi; mad.lo.cc.u64 lo, %1, %2, %3; madc.hi.cc.u64 hi, %1, %2, %3; addc.u64 %0, hi, 0; }",
        "llll",
        lambda a, b, c: ((w := a * b + (c << 64 | c)) >> 64) % 2**64 + (w >> 128),
    ),
    Case("cvt.u32.u64 %0, %1;", "rl", lambda a: a),
    Case("cvt.s64.s32 %0, %1;", "lr", signed),
    Case("cvt.u64.u32 %0, %1;", "lr", lambda a: a),
    Case("cvt.s32.s8 %0, %1;", "rr", lambda a: signed(a, 8)),
    Case("cvt.rn.f32.s32 %0, %1;", "fr", lambda a: f32(signed(a))),
    Case("mov.u32 %0, %%laneid;", "r", None),
    Case("mov.u32 %0, %laneid;", "r", None),
]
C = {"h": "uint16_t", "r": "uint32_t", "l": "uint64_t", "f": "float", "d": "double", "s": "uint32_t", "p": "float"}
CTYPES: dict[str, Any] = {
    "h": ctypes.c_uint16,
    "r": ctypes.c_uint32,
    "l": ctypes.c_uint64,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "s": ctypes.c_uint32,
    "p": ctypes.c_float,
}
CONSTRAINT = {"s": "r", "p": "f"}


def kernel(number: int, case: Case) -> str:
    to, given = case.letters[0], case.letters[1:]
    parameters = "".join(f", const {C[letter]} *p{i}" for i, letter in enumerate(given))
    operands = ", ".join(f'"{CONSTRAINT.get(letter, letter)}"(p{i}[threadIdx.x])' for i, letter in enumerate(given))
    arguments = "".join(f", p{i}" for i in range(len(given)))
    return (
        f"__global__ void k{number}({C[to]} *y{parameters}) {{\n"
        f'  asm("{case.text}" : "={to}"(y[threadIdx.x]) : {operands});\n}}\n'
        f"EXPORT void f{number}({C[to]} *y{parameters}) {{ k{number}<<<1, {N}>>>(y{arguments}); }}\n"
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    kernels = "".join(kernel(number, case) for number, case in enumerate(CASES))
    return build_at(
        tmp_path_factory.mktemp("ptx") / "ptx.cu", f"#include <stdint.h>\n#include <cuda_runtime.h>\n{kernels}"
    )


def drawn(letter: str, draw: random.Random) -> Any:
    if letter == "s":
        return draw.choice([0, 1, 5, 31, 32, 33, 40, 63, 64, 255, draw.randrange(32)])
    if letter in "fd":
        value = draw.uniform(-9, 9)
        return f32(value) if letter == "f" else value
    if letter == "p":
        return f32(draw.uniform(0.01, 9))
    bits = {"h": 16, "r": 32, "l": 64}[letter]
    return draw.choice([0, 1, 2**bits - 1, 2 ** (bits - 1), draw.getrandbits(bits), draw.getrandbits(bits)])


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.text.split()[0] + case.letters for case in CASES])
def test_an_instruction(library: ctypes.CDLL, number: int) -> None:
    case = CASES[number]
    to, letters = case.letters[0], case.letters[1:]
    draw = random.Random(number)
    given = [[drawn(letter, draw) for _ in range(N)] for letter in letters]
    if case.text.startswith("cvt.f32.f16"):
        given = [[bits & 0x7BFF for bits in given[0]]]  # no infinities and NaNs
    result = (CTYPES[to] * N)()
    getattr(library, f"f{number}")(result, *((CTYPES[k] * N)(*v) for k, v in zip(letters, given, strict=True)))
    if case.expected is None:
        assert list(result) == [i % 32 for i in range(N)]
        return
    for i, found in enumerate(result):
        expected = case.expected(*(values[i] for values in given))
        if to in "hrl":
            expected &= 2 ** {"h": 16, "r": 32, "l": 64}[to] - 1
        assert found == (pytest.approx(expected, rel=case.near, abs=case.near) if case.near else expected), i


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cp.async.mbarrier.arrive.shared.b64 [%0];", "cp.async.mbarrier.arrive.shared.b64"),
        ("cp.async.cg.shared.global [%0], [%1], 8;", "cp.async.cg.shared.global with the operands"),
        ("cp.async.bulk.commit_group;", "cp.async.bulk.commit_group"),
        ("ld.shared::cluster.u32 %0, [%1];", "ld.shared::cluster.u32"),
        ("add.cc.u16 %0, %0, %1;", "add.cc.u16"),
        ("cvt.rzi.s32.f32 %0, %1;", "cvt.rzi.s32.f32"),
        ("cvt.f16.f16 %0, %1;", "cvt.f16.f16"),
        ("add.rz.f32 %0, %0, %1;", "add.rz.f32"),
        ("shfl.sync.idx.b32 %0, %1, 0, 0x181f, -1;", "shfl.sync.idx.b32 with the operands"),
        ("bar.sync 1, 64;", "bar.sync with the operands '1, 64'"),
        ("mov.u32 %0, %%pm0;", "the special register %pm0"),
        ("L: bra L;", "L:"),
        ("add.u32 %1, %0, %1;", "a result in %1, which isn't an output"),
        ("mov.u32 %0, %7;", "the register %7"),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0}, {%1}, {%1}, {%0};", "mma.sync.aligned"),
    ],
)
def test_what_is_missing_is_named(text: str, names: str) -> None:
    source = f'# 1 "/project/k.cu"\n__device__ void f() {{\n asm volatile("{text}" : "=r"(x) : "r"(y));\n}}'
    with pytest.raises(CompileError) as raised:
        Rewriter()(source, lambda _: "")
    first, fix = str(raised.value).splitlines()
    assert first.startswith(f"/project/k.cu:2: error: inline PTX can't be emulated: {names}")
    assert "$" not in first
    assert fix == "  likely fix: write it in CUDA C++, or have it compiled for GPUs alone: #ifndef OPWRIGHT_EMULATION"


def test_lines_and_other_rewriting_stay() -> None:
    asm = 'asm("add.u32 %0, %1,"\n" 1;"\n: "=r"(x)\n: "r"(threadIdx.x))'
    source = f'# 1 "/project/k.cu"\n__device__ void f() {{\n if (a) {asm};\n else here; }}'
    found = Rewriter()(source, lambda _: "")
    assert found.count("\n") == source.count("\n")
    assert "given<'r'>(" in found
    assert "threadIdx" not in found
    assert found.splitlines()[5].endswith("while (0);")
    assert Rewriter()('# 1 "/k.cu"\n__device__ void f() { asm volatile("" ::: "memory"); }', lambda _: "").endswith(
        'asm volatile("" ::: "memory"); }'
    )


def test_assembly_of_host_code_is_its_processors() -> None:
    host = 'asm volatile("rdtsc" : "=a"(low), "=d"(high));'
    device = 'asm("mov.u32 %0, %%laneid;" : "=r"(lane));'
    source = (
        f'# 1 "/k.cu"\nstruct Clock {{ long now() {{ {host} return low; }} __device__ int lane() {{ {device} }} }};\n'
        f"template <class T> void f() {{ {host} run([=] __device__ (int i) {{ {device} }}); {host} }}\n"
        f"__host__ __device__ void g() {{ {device} }}\n"
    )
    found = Rewriter()(source, lambda _: "")
    assert (found.count(host), found.count("ptx::laneid()")) == (3, 3)
    assert "%%laneid" not in found


def test_assembly_outside_of_functions_is_its_processors() -> None:
    symbol = '__asm__(".symver powf,powf@GLIBC_2.2.5");'
    source = f'# 1 "/k.cu"\n{symbol}\nnamespace a {{ extern "C" {{ {symbol} }} }}\n__device__ void f() {{ {{}} }}\n'
    assert Rewriter()(source, lambda _: "").count(symbol) == 2
    with pytest.raises(CompileError, match=r"\.symver"):
        Rewriter()(source.replace("{}", symbol), lambda _: "")
