"""Operators at random: signature and kernel around an expression of `expressions`, and the same computed with NumPy.

``python -m tests.fuzz.programs --count 60 --seed 3`` compiles them, `PER_LIBRARY` in a file, calls and compares. What
fails is printed as the smallest source that still does.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import opwright

from .expressions import FUNCTIONS, INTEGERS, OPERATORS, Array, Expression, Row, draw, smaller, text, value
from .references import _philox, _seed

PER_LIBRARY = 20
_ULPS = 16
_TYPES = {  # the notation's name: its C++ type, what it is computed in, PyTorch's
    "f32": ("float", "float", torch.float32),
    "f64": ("double", "double", torch.float64),
    "f16": ("half", "acc<half>", torch.float16),
    "bf16": ("bfloat16", "acc<bfloat16>", torch.bfloat16),
    "f8e4m3fn": ("float8_e4m3fn", "acc<float8_e4m3fn>", torch.float8_e4m3fn),
    "f8e5m2": ("float8_e5m2", "acc<float8_e5m2>", torch.float8_e5m2),
    "i64": ("int64_t", "int64_t", torch.int64),
    "i32": ("int32_t", "int64_t", torch.int32),
    "i16": ("int16_t", "int64_t", torch.int16),
}
Inputs = dict[str, Any]


@dataclass(frozen=True)
class Form:
    """A kind of kernel: signature and body, with holes; how a leaf is written; what it computes."""

    signature: str
    parameters: str
    body: str
    leaves: dict[str, str]
    compute: Callable[[Program, Inputs], Array]


@dataclass(frozen=True)
class Program:
    """One operator."""

    name: str
    form: Form
    type: str
    expression: Expression
    function: str | None  # around the expression
    grain: int
    variant: int  # which way elements are reached

    @property
    def table(self) -> dict[str, Row]:
        return INTEGERS if self.type.startswith("i") else OPERATORS

    @property
    def source(self) -> str:
        """The operator in C++."""
        ctype, computed, _ = _TYPES[self.type]
        written = text(self.expression, self.table, self._leaves())
        if self.function:
            written = FUNCTIONS[self.function][0].format(written)
        holes = {"name": self.name, "T": self.type, "C": ctype, "e": written, "grain": str(self.grain)}
        holes["View"] = ("Tensor", "Strided")[self.variant % 2]
        signature, parameters, body = (
            _fill(part, holes) for part in (self.form.signature, self.form.parameters, self.form.body)
        )
        head = f'OPWRIGHT("{self.name}{signature}")\nvoid {self.name}({parameters}) {{'
        return f"{head}\n  using A = {computed};\n{body}\n}}\n"

    def _leaves(self) -> dict[str, str]:
        found = dict(self.form.leaves)
        if "x2" in found:
            flat = "x.flat(i * x.size(1) + j)" if self.variant % 2 == 0 else "x[i](j)"
            found["x2"] = ("x(i, j)", "x[i][j]", flat)[self.variant // 2 % 3]
        return found

    def inner(self, leaves: dict[str, Array]) -> Array:
        """The expression's value; with the function around it, in float64 and rounded once."""
        found = value(self.expression, self.table, leaves)
        if self.function:
            found = FUNCTIONS[self.function][1](found.astype(np.float64)).astype(found.dtype)
        return found

    def stored(self, a: Array) -> Array:
        """Rounded to the element type."""
        return _wide(torch.from_numpy(np.ascontiguousarray(a)).to(_TYPES[self.type][2]))


def _fill(template: str, holes: dict[str, str]) -> str:
    for name, filling in holes.items():
        template = template.replace(f"${name}$", filling)
    return template


def _wide(t: torch.Tensor) -> Array:
    if t.dtype.is_floating_point:
        return np.asarray(t.to(torch.float64 if t.dtype == torch.float64 else torch.float32).numpy())
    return np.asarray(t.to(torch.int64).numpy())


def _like(a: Array, number: float) -> Array:
    return np.full(a.shape, number).astype(a.dtype)


def _pointwise(p: Program, given: Inputs) -> Array:
    x, y = _wide(given["x"]), _wide(given["y"])
    w = _like(x, 5) if given["w"] is None else _wide(given["w"])
    index = np.arange(x.size).reshape(x.shape).astype(x.dtype)
    leaves = {"x": x, "y": y, "w": w, "i": index, "k": _like(x, given["k"]), "n": _like(x, x.ndim)}
    return p.stored(p.inner(leaves))


def _matrix_leaves(given: Inputs) -> dict[str, Array]:
    x, y, idx = _wide(given["x"]), _wide(given["y"]), _wide(given["idx"])
    m, n = x.shape
    rows, columns = np.indices((m, n))
    gathered = y[idx][:, None] if n else np.zeros((m, 1), y.dtype)
    spread = [np.broadcast_to(a, (m, n)).astype(x.dtype) for a in (y, gathered)]
    return {"x2": x, "y": spread[0], "g": spread[1], "i": rows.astype(x.dtype), "j": columns.astype(x.dtype)}


def _matrix(p: Program, given: Inputs) -> Array:
    return p.stored(p.inner(_matrix_leaves(given)))


def _sequential(terms: Array) -> Array:
    total = np.zeros(terms.shape[:-1], terms.dtype)
    for j in range(terms.shape[-1]):
        total = total + terms[..., j]
    return total


def _reduction(p: Program, given: Inputs) -> Array:
    return p.stored(_sequential(p.inner(_matrix_leaves(given))))


def _scatter(p: Program, given: Inputs) -> Array:
    leaves = _matrix_leaves(given)
    out = np.zeros(leaves["x2"].shape[1], leaves["x2"].dtype)
    idx = _wide(given["idx"])
    for i, row in enumerate(p.inner(leaves)):
        for term in row:
            out[idx[i]] += term
    return p.stored(out)


def _random(p: Program, given: Inputs) -> Array:
    x = _wide(given["x"])
    again = torch.Generator().set_state(given["rng"].get_state())
    seed = _seed(again)
    draws = np.array([(_philox(seed, i)[0] >> 8) * 2.0**-24 for i in range(x.size)]).astype(x.dtype)
    return p.stored(p.inner({"x": x, "u": draws.reshape(x.shape)}))


_MATRIX = "(x: $T$[M, N], y: $T$[N], idx: i64[M] in [0, N)) -> (z: $T$[%s])"
_MATRIX_PARAMETERS = "$View$<const $C$, 2> x, Tensor<const $C$, 1> y, Strided<const int64_t, 1> idx, Tensor<$C$, %d> z"
_MATRIX_LEAVES = {"x2": "", "y": "y[j]", "g": "y[idx[i]]", "i": "i", "j": "j"}
_EACH = "    for (int64_t j = 0; j < x.size(-1); ++j)"
FORMS = [
    Form(
        "(x: $T$[...], y: $T$[...], w: $T$[...]?, k: int) -> (z: $T$[...])",
        "Tensor<const $C$> x, Tensor<const $C$> y, Tensor<const $C$> w, int64_t k, Tensor<$C$> z",
        "  parallel_for(z.numel(), $grain$, [&](int64_t i) { z[i] = $C$($e$); });",
        {"x": "x[i]", "y": "y[i]", "w": "(w ? A(w[i]) : A(5))", "i": "i", "k": "k", "n": "x.ndim()"},
        _pointwise,
    ),
    Form(
        _MATRIX % "M, N",
        _MATRIX_PARAMETERS % 2,
        "  parallel_for(z.size(0), $grain$, [&](int64_t begin, int64_t end) {\n"
        "  for (int64_t i = begin; i < end; ++i)\n"
        f"{_EACH} z[i][j] = $C$($e$);\n  }});",
        _MATRIX_LEAVES,
        _matrix,
    ),
    Form(
        _MATRIX % "M",
        _MATRIX_PARAMETERS % 1,
        "  parallel_for(z.numel(), $grain$, [&](int64_t i) {\n    Workspace<A> sum(1 + i % 3);\n    sum[0] = 0;\n"
        f"{_EACH} sum[0] += $e$;\n    OPWRIGHT_CHECK(z.size(0) == x.size(0), i);\n    z.flat(i) = $C$(sum[0]);\n  }});",
        _MATRIX_LEAVES,
        _reduction,
    ),
    Form(
        _MATRIX % "N",
        _MATRIX_PARAMETERS % 1,
        "  Workspace<A> sum(z.size(0));\n  for (int64_t j = 0; j < sum.size(); ++j) sum[j] = 0;\n"
        f"  for (int64_t i = 0; i < x.size(0); ++i)\n{_EACH} sum[idx[i]] += $e$;\n"
        "  for (int64_t j = 0; j < sum.size(); ++j) z(j) = $C$(sum.data()[j]);",
        _MATRIX_LEAVES,
        _scatter,
    ),
    Form(
        "(x: $T$[N], rng: generator(1)) -> (z: $T$[N])",
        "$View$<const $C$, 1> x, Tensor<$C$, 1> z, Generator rng",
        "  parallel_for(z.numel(), $grain$, [&](int64_t i) {\n"
        "    const A u = rng[i].uniform<float>();\n    z[i] = $C$($e$);\n  });",
        {"x": "x[i]", "u": "u"},
        _random,
    ),
]


def make(seed: int, number: int) -> Program:
    """Program `number`; it depends on nothing but the two."""
    rng = random.Random(f"{seed}:{number}")
    kind = rng.choice(list(_TYPES))
    whole = kind.startswith("i")
    form = rng.choice(FORMS[:-1] if whole else FORMS)
    expression = draw(rng, INTEGERS if whole else OPERATORS, list(form.leaves), rng.randint(1, 3))
    summed = form.compute in {_reduction, _scatter}  # cancellation would leave nothing but the functions' own rounding
    function = rng.choice(list(FUNCTIONS)) if not whole and not summed and rng.random() < 0.6 else None
    return Program(
        f"op_{number}", form, kind, expression, function, rng.choice((-1, 1, 2, 3, 7, 100)), rng.randrange(6)
    )


def inputs(p: Program, rng: random.Random) -> Inputs:
    """Random arguments of the program's operator, in any layout."""
    generator = torch.Generator().manual_seed(rng.getrandbits(32))
    dtype = _TYPES[p.type][2]

    def tensor(*shape: int) -> torch.Tensor:
        if not dtype.is_floating_point:
            return torch.randint(-8, 9, shape, generator=generator).to(dtype)
        t = torch.randn(shape, generator=generator, dtype=torch.float64) * rng.choice((1, 1, 30))
        if rng.random() >= 0.7 and t.numel():
            t = t.index_fill(-1, torch.tensor([0]), rng.choice(_SPECIAL))
        return t.to(dtype)

    def layout(t: torch.Tensor) -> torch.Tensor:
        return t if rng.random() < 0.5 or t.dim() != 2 else t.t().contiguous().t()

    m, n = rng.choice((0, 1, 2, 5, 19)), rng.choice((1, 2, 3, 8, 33))
    if p.form.compute is _pointwise:
        shape = rng.choice(((n,), (m, n), (2, m, n)))
        optional = None if rng.random() < 0.3 else tensor(*shape)
        return {"x": layout(tensor(*shape)), "y": tensor(*shape), "w": optional, "k": rng.randint(-9, 9)}
    if p.form.compute is _random:
        return {"x": tensor(2 * n)[::2], "rng": torch.Generator().manual_seed(rng.getrandbits(32))}
    return {"x": layout(tensor(m, n)), "y": tensor(n), "idx": torch.randint(n, (m,), generator=generator)}


_SPECIAL = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-30)


def failure(p: Program, op: Any, seed: int) -> str | None:
    """What is wrong with some calls of the compiled program, if anything."""
    rng = random.Random(f"{seed}:{p.name}")
    for _ in range(4):
        given = inputs(p, rng)
        with np.errstate(all="ignore"):
            want = p.form.compute(p, given)
        got = _wide(op(**given))
        if not agree(p, got, want):
            shown = {name: v.tolist() if isinstance(v, torch.Tensor) else v for name, v in given.items()}
            return f"got {got.tolist()}\n  want {want.tolist()}\n  of {shown}"
    return None


def agree(p: Program, got: Array, want: Array) -> bool:
    """Exactly, but where a function of the C library, rounded its own way, stands in the expression."""
    if got.shape != want.shape:
        return False
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    if p.function is None:
        return bool(same.all())
    kind = torch.finfo(_TYPES[p.type][2])
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= (_ULPS if kind.bits > 8 else 1) * (kind.eps * np.abs(want) + kind.tiny)
    return bool((same | near).all())


def library(programs: list[Program], folder: Path, number: int) -> opwright.Operators:
    """The programs, compiled."""
    path = folder / f"programs_{number}.cpp"
    path.write_text("#include <opwright.h>\n" + "\n".join(p.source for p in programs))
    return opwright.load(path)


def shrink(p: Program, seed: int, folder: Path, numbers: Iterator[int]) -> tuple[Program, str]:
    """The smallest program that still fails, and how."""
    problem = "not again"
    while True:
        tries = [replace(p, expression=e) for e in smaller(p.expression)][:PER_LIBRARY]
        tries += [replace(p, function=None)] * (p.function is not None) + [replace(p, grain=100)] * (p.grain != 100)
        for i, t in enumerate(tries):
            tries[i] = replace(t, name=f"try_{i}")
        ops = library([*tries, p], folder, next(numbers))
        for t in tries:
            if found := failure(replace(t, name=p.name), getattr(ops, t.name), seed):
                p, problem = replace(t, name=p.name), found
                break
        else:
            return p, failure(p, getattr(ops, p.name), seed) or problem


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=math.inf)
    options = parser.parse_args()
    wrong, made, numbers, ends = 0, 0, itertools.count(), time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for first in range(0, options.count, PER_LIBRARY):
            if time.monotonic() > ends:
                break
            programs = [make(options.seed, n) for n in range(first, min(first + PER_LIBRARY, options.count))]
            ops, made = library(programs, folder, next(numbers)), made + len(programs)
            for p in programs:
                if failure(p, getattr(ops, p.name), options.seed):
                    wrong += 1
                    small, problem = shrink(p, options.seed, folder, numbers)
                    print(f"{p.name} of seed {options.seed} is wrong:\n{small.source}  {problem}", flush=True)
    print(f"seed {options.seed}: {made} operators, 4 calls each; {wrong} wrong")
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
