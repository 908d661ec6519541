"""Calls at random, of operators that generated loops run, against the same in PyTorch, exactly.

``python -m tests.include.loops pointwise --seed 0 --count 200``: so a process of its own runs them under a sanitizer.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

import opwright
from opwright import Operators

POINTWISE = """#include <opwright.h>
OPWRIGHT("blend(a: i8, b: i16, c: i32, d: i64) -> (w: i8, x: i16, y: i32, z: i64)")
void blend(int8_t a, int16_t b, int32_t c, int64_t d, int8_t &w, int16_t &x, int32_t &y, int64_t &z) {
  w = int8_t(a ^ b), x = int16_t(b ^ c), y = int32_t(c ^ d), z = d ^ a;
}
OPWRIGHT("push(x: i16, y: i32!, z: u8!) -> (s: i64)")
void push(int16_t x, int32_t &y, uint8_t &z, int64_t &s) { s = x + y + z, y = y ^ x, z = uint8_t(z + 1); }
OPWRIGHT("maybe(x: i32, v: i16?, w: i64?) -> (z: i64)")
int64_t maybe(int32_t x, Optional<int16_t> v, Optional<int64_t> w) { return x + (v ? *v : 7) + (w ? *w * 3 : 0); }
OPWRIGHT("grow(x: T!, w: T, k: i32) where T in (f64)")
template <class T> void grow(T &x, T w, int k) { x = x * x * w + k; }
"""
BATCHED = """#include <opwright.h>
OPWRIGHT("dot(x: i32[C], y: i64[C]) -> (z: i64[]) batched")
void dot(Tensor<const int32_t, 1> x, Tensor<const int64_t, 1> y, Tensor<int64_t, 0> z) {
  z() = 0;
  for (int64_t i = 0; i < x.size(0); ++i) z() += x[i] * y[i];
}
OPWRIGHT("outer(x: i8[M], y: i16[N], w: i32[M, N]?, u: i64[]) -> (z: i64[M, N], s: i16[M]) batched")
void outer(Strided<const int8_t, 1> x, Strided<const int16_t, 1> y, Strided<const int32_t, 2> w,
           Tensor<const int64_t, 0> u, Tensor<int64_t, 2> z, Tensor<int16_t, 1> s) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    s[i] = 0;
    for (int64_t j = 0; j < y.size(0); ++j) {
      z(i, j) = x[i] * y[j] + (w ? w(i, j) : 5) + u();
      s[i] = int16_t(s[i] + y[j]);
    }
  }
}
OPWRIGHT("running(x: i32[C]!, y: i32[C]) -> (total: i32[]) batched")
void running(Strided<int32_t, 1> x, Tensor<const int32_t, 1> y, Tensor<int32_t, 0> total) {
  total() = 0;
  for (int64_t i = 0; i < x.size(0); ++i) x[i] = total() += x[i] * y[i];
}
OPWRIGHT("reversed(x: i16[C]!) batched")
void reversed(Tensor<int16_t, 1> x) {
  for (int64_t i = 0, j = x.size(0) - 1; i < j; ++i, --j) { const int16_t t = x[i]; x[i] = x[j], x[j] = t; }
}
"""
_SIZES = (0, 1, 1, 2, 3, 5, 7, 31, 63, 64, 65, 255, 256, 257, 300)
_LARGEST = 40_000


def shape(rng: random.Random, most: int = 5) -> list[int]:
    """Sizes whose product is moderate; often rows about as long as a block."""
    while True:
        sizes = [rng.choice(_SIZES) for _ in range(rng.randint(0, most))]
        if math.prod(size or 1 for size in sizes) <= _LARGEST and (0 not in sizes or rng.random() < 0.2):
            return sizes


def values(rng: random.Random, sizes: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Random elements of these sizes, lying in memory anyhow: permuted, with gaps, with others around them."""
    order = list(range(len(sizes)))
    if rng.random() < 0.5:
        rng.shuffle(order)
    steps = [rng.choice((1, 1, 1, 2, 3)) for _ in sizes]
    room = [sizes[d] * steps[d] + (rng.random() < 0.2) for d in order]
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    if dtype.is_floating_point:
        base = torch.randn(room, generator=generator, dtype=dtype)
    else:
        base = torch.randint(-1000, 1000, room, generator=generator).to(dtype)
    for place, d in enumerate(order):
        base = base.narrow(place, room[place] - sizes[d] * steps[d], sizes[d] * steps[d])
        base = base[(slice(None),) * place + (slice(None, None, steps[d]),)]
    return base.permute([order.index(d) for d in range(len(sizes))])


def broadcast(rng: random.Random, sizes: Sequence[int], dtype: torch.dtype) -> Tensor:
    """The same for an operand that may lack axes, have them at size 1, or repeat along them."""
    kept = list(sizes[rng.randint(0, len(sizes)) :] if rng.random() < 0.4 else sizes)
    some = [1 if rng.random() < 0.25 else size for size in kept]
    made = values(rng, some, dtype)
    return made.expand(kept) if rng.random() < 0.3 else made


def full(sizes: Sequence[int], *operands: Tensor) -> tuple[Tensor, ...]:
    """Operands at the sizes that they broadcast to."""
    return tuple(each.expand(torch.broadcast_shapes(sizes, *(e.shape for e in operands))) for each in operands)


def same(got: Tensor, expected: Tensor) -> None:
    """Equal, element by element; nearly so for floating ones."""
    torch.testing.assert_close(got, expected, rtol=1e-14 if got.is_floating_point() else 0, atol=0)


def blend(ops: Operators, rng: random.Random) -> None:
    sizes = shape(rng)
    types = (torch.int8, torch.int16, torch.int32, torch.int64)
    a, b, c, d = (broadcast(rng, sizes, dtype) for dtype in types)
    w, x, y, z = ops.blend(a, b, c, d)
    a, b, c, d = full((), a, b, c, d)
    for got, expected in zip((w, x, y, z), (a ^ b, b ^ c, c ^ d, d ^ a), strict=True):
        same(got, expected.to(got.dtype))


def push(ops: Operators, rng: random.Random) -> None:
    sizes = shape(rng)
    x, y, z = broadcast(rng, sizes, torch.int16), values(rng, sizes, torch.int32), values(rng, sizes, torch.uint8)
    before = y.clone(), z.clone()
    s = ops.push(x, y, z)
    same(s, x.long() + before[0].long() + before[1])
    same(y, before[0] ^ x)
    same(z, before[1] + 1)


def maybe(ops: Operators, rng: random.Random) -> None:
    sizes = shape(rng)
    x = broadcast(rng, sizes, torch.int32)
    v = broadcast(rng, sizes, torch.int16) if rng.random() < 0.5 else None
    w = broadcast(rng, sizes, torch.int64) if rng.random() < 0.5 else None
    same(ops.maybe(x, v, w), x.long() + (7 if v is None else v.long()) + (0 if w is None else w * 3))


def grow(ops: Operators, rng: random.Random) -> None:
    sizes = shape(rng)
    start, x = values(rng, sizes, torch.float64), values(rng, sizes, torch.float64)
    w, k = broadcast(rng, sizes, torch.float64), broadcast(rng, sizes, torch.int32)
    wanted = [t.requires_grad_() for t in (start, w) if rng.random() < 0.6]
    x = start.clone() if wanted else x.copy_(start)  # where gradients are recorded it can't be a view
    ops.grow(x, w, k)
    same(x, start * start * w + k)
    if wanted:
        incoming = broadcast(rng, sizes, torch.float64).expand(x.shape)
        got = torch.autograd.grad(x, wanted, incoming)
        torch.testing.assert_close(got, torch.autograd.grad(start * start * w + k, wanted, incoming))


def dot(ops: Operators, rng: random.Random) -> None:
    leading, core = shape(rng, 3), [rng.choice((0, 1, 2, 5))]
    x, y = cored(rng, leading, core, torch.int32), cored(rng, leading, core, torch.int64)
    same(ops.dot(x, y), (x.long() * y).sum(-1))


def outer(ops: Operators, rng: random.Random) -> None:
    leading, m, n = shape(rng, 2), rng.choice((0, 1, 3)), rng.choice((0, 1, 2, 4))
    x, y = cored(rng, leading, [m], torch.int8), cored(rng, leading, [n], torch.int16)
    w = cored(rng, leading, [m, n], torch.int32) if rng.random() < 0.6 else None
    u = cored(rng, leading, [], torch.int64)
    z, s = ops.outer(x, y, w, u)
    product = x.long().unsqueeze(-1) * y.unsqueeze(-2)
    same(z, product + (5 if w is None else w) + u[..., None, None])
    sums = y.sum(-1).to(torch.int16).unsqueeze(-1)
    same(s, sums.expand(s.shape))


def running(ops: Operators, rng: random.Random) -> None:
    leading, core = shape(rng, 3), [rng.choice((0, 1, 2, 5))]
    x, y = values(rng, leading + core, torch.int32), cored(rng, leading, core, torch.int32)
    before = x.clone()
    total = ops.running(x, y)
    same(x, (before * y).cumsum(-1).int())
    same(total, (before * y).sum(-1).int())


def reversed_(ops: Operators, rng: random.Random) -> None:
    x = values(rng, [*shape(rng, 3), rng.choice((0, 1, 2, 5, 70))], torch.int16)
    before = x.clone()
    ops.reversed(x)
    same(x, before.flip(-1))


def cored(rng: random.Random, leading: Sequence[int], core: Sequence[int], dtype: torch.dtype) -> Tensor:
    """An operand whose core axes are as they are, and whose leading ones may be broadcast."""
    kept = list(leading[rng.randint(0, len(leading)) :] if rng.random() < 0.4 else leading)
    some = [1 if rng.random() < 0.25 else size for size in kept]
    made = values(rng, [*some, *core], dtype)
    if core and rng.random() < 0.1:
        made = made.narrow(len(some), 0, min(1, core[0])).expand([*some, *core]) if core[0] else made
    return made.expand([*kept, *core]) if rng.random() < 0.3 else made


CHECKS: dict[str, tuple[str, tuple[Callable[[Operators, random.Random], None], ...]]] = {
    "pointwise": (POINTWISE, (blend, push, maybe, grow)),
    "batched": (BATCHED, (dot, outer, running, reversed_)),
}


def load(kind: str, folder: Path) -> Operators:
    """The operators of one kind of loop."""
    path = folder / f"loops_{kind}.cpp"
    path.write_text(CHECKS[kind][0])
    return opwright.load(path)


def check(kind: str, ops: Operators, seed: int, count: int) -> None:
    """`count` calls of each operator; what is wrong is an AssertionError that says which call it was."""
    for call in range(count):
        for one in CHECKS[kind][1]:
            try:
                one(ops, random.Random(f"{seed} {call} {one.__name__}"))
            except Exception as error:  # noqa: PERF203 - says which call it was
                raise AssertionError(f"{one.__name__}, call {call} of seed {seed}: {error}") from error


def run(kind: str, seed: int, count: int) -> None:
    """The same for operators that nobody has compiled yet."""
    with tempfile.TemporaryDirectory() as folder:
        check(kind, load(kind, Path(folder)), seed, count)


def main() -> int:
    """What the words ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=CHECKS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    words = parser.parse_args()
    run(words.kind, words.seed, words.count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
