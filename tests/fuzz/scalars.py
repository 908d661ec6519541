"""Functions of one element at random, and the same in PyTorch: values, derivatives, second ones, forward mode.

``python -m tests.fuzz.scalars --seed 0 --count 24 --orders 8`` compiles them in one file and compares all values; of
the first `orders` of them derivatives, too, each of which is a compilation. The source of what fails is printed.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.autograd import forward_ad

import opwright
from opwright import Operators

Environment = dict[str, Any]
Evaluate = Callable[[Environment], Any]
Expression = tuple[str, Evaluate]

ONE: dict[str, Callable[[Any], Any]] = {  # finite everywhere, and not large
    "tanh({})": torch.tanh,
    "sin({})": torch.sin,
    "cos({} * 0.5)": lambda a: torch.cos(a * 0.5),
    "sigmoid({})": torch.sigmoid,
    "atan({})": torch.atan,
    "asinh({})": torch.asinh,
    "erf({})": torch.erf,
    "exp(-square({}))": lambda a: torch.exp(-a * a),
    "expm1(tanh({}))": lambda a: torch.expm1(torch.tanh(a)),
    "log1p(square({}))": lambda a: torch.log1p(a * a),
    "sqrt(1 + square({}))": lambda a: torch.sqrt(1 + a * a),
    "rsqrt(square({}) + 0.5f)": lambda a: torch.rsqrt(a * a + 0.5),
    "pow(square({}) + 1, 0.3)": lambda a: (a * a + 1) ** 0.3,
    "1 / (2 + abs({}))": lambda a: 1 / (2 + a.abs()),
    "-{}": lambda a: -a,
    "softplus({})": F.softplus,
    "gelu({})": F.gelu,
    "silu({})": F.silu,
    "elu({}, 0.7)": lambda a: F.elu(a, 0.7),
    "leaky_relu({}, 0.1)": lambda a: F.leaky_relu(a, 0.1),
    "relu({})": F.relu,
    "clamp({}, -0.8, 1.1)": lambda a: a.clamp(-0.8, 1.1),
    "stop_gradient({})": lambda a: a.detach(),
    "round({})": torch.round,
    "digamma(square({}) + 1)": lambda a: torch.digamma(a * a + 1),
}
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "{} + {}": lambda a, b: a + b,
    "{} - {}": lambda a, b: a - b,
    "{} * {}": lambda a, b: a * b,
    "{} / (1 + square({}))": lambda a, b: a / (1 + b * b),
    "min({}, {})": torch.minimum,
    "max({}, {})": torch.maximum,
    "atan2({}, 2 + square({}))": lambda a, b: torch.atan2(a, 2 + b * b),
    "hypot({}, {})": torch.hypot,
    "logaddexp({}, {})": torch.logaddexp,
    "pow(sigmoid({}), square({}))": lambda a, b: torch.sigmoid(a) ** (b * b),
    "fma({}, {}, 1.5)": lambda a, b: a * b + 1.5,
    "lerp({}, {}, 0.3)": lambda a, b: torch.lerp(a, b, 0.3),
    "fmax({}, {})": torch.fmax,
    "copysign({}, {})": torch.copysign,
}
_CONSTANTS = ("0.5", "2", "-1.25", "3.0f", "1")
_SHAPES = ((3, 4), (4,), (3, 1), (), (1, 4))


@dataclass
class Function:
    """An operator of one element.

    Attributes:
        name: its name.
        rng: where its randomness comes from.
        inputs, mutated, optional: the names of its tensors that derivatives flow through.
        results: those of its outputs.
    """

    name: str
    rng: random.Random
    inputs: list[str] = field(default_factory=list)
    mutated: list[str] = field(default_factory=list)
    optional: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    steps: list[Callable[[Environment], None]] = field(default_factory=list)
    helper: str = ""
    helped: Callable[[Any, Any], Any] = torch.add

    def __post_init__(self) -> None:
        """Draw it."""
        rng = self.rng
        self.inputs = [f"x{i}" for i in range(rng.randint(1, 3))]
        self.mutated = ["y"] if rng.random() < 0.25 else []
        self.optional = ["w"] if rng.random() < 0.4 else []
        self.results = [f"z{i}" for i in range(rng.randint(0 if self.mutated else 1, 3))]
        self.known = [*self.inputs, *self.mutated]
        if self.optional:
            self._let(f"w ? *w * {self.inputs[0]} : {self.inputs[0]}", self._given)
        self._helper()
        for _ in range(rng.randint(1, 4)):
            rng.choice((self._plain, self._branch, self._loop, self._help, self._compound))()
        for result in self.results + self.mutated:
            self._assign(result, self._expression(2))

    @property
    def source(self) -> str:
        """The operator in C++."""
        tensors = [f"{x}: T" for x in self.inputs] + ["k: i64", "m: M"] + [f"{w}: T?" for w in self.optional]
        tensors += [f"{y}: T!" for y in self.mutated]
        listed = ", ".join([*tensors, "alpha: float = 0.75", "n: int = 2", "on: bool = True"])
        outputs = ", ".join(f"{z}: T" for z in self.results)
        parameters = [f"T {x}" for x in self.inputs] + ["int64_t k", "M m"]
        parameters += [f"Optional<T> {w}" for w in self.optional] + [f"T &{y}" for y in self.mutated]
        parameters += ["double alpha", "int n", "bool on", *(f"T &{z}" for z in self.results)]
        arrow = f" -> ({outputs})" if outputs else ""
        body = "\n".join(f"  {line}" for line in self.lines)
        return (
            f'{self.helper}OPWRIGHT("{self.name}({listed}){arrow} where T in (f64), M in (bool)")\n'
            f"template <class T, class M>\nvoid {self.name}({', '.join(parameters)}) {{\n{body}\n}}\n"
        )

    def reference(self, given: Environment) -> list[Tensor]:
        """What it computes, at the inputs' common shape."""
        names = self.inputs + self.mutated + self.optional
        tensors = [given[name] for name in names if given[name] is not None] + [given["k"], given["m"]]
        shape = torch.broadcast_shapes(*(each.shape for each in tensors))
        environment = {name: v.expand(shape) if isinstance(v, Tensor) else v for name, v in given.items()}
        for step in self.steps:
            step(environment)
        return [environment[name].expand(shape) for name in self.results + self.mutated]

    def _given(self, e: Environment) -> Any:
        return e[self.inputs[0]] if e["w"] is None else e["w"] * e[self.inputs[0]]

    def _step(self, name: str, evaluate: Evaluate) -> None:
        self.steps.append(lambda e: e.__setitem__(name, evaluate(e)))

    def _let(self, text: str, evaluate: Evaluate) -> str:
        name = f"v{len(self.steps)}"
        self.lines.append(f"const T {name} = {text};")
        self._step(name, evaluate)
        self.known.append(name)
        return name

    def _assign(self, name: str, value: Expression) -> None:
        self.lines.append(f"{name} = {value[0]};")
        self._step(name, value[1])

    def _leaf(self) -> Expression:
        kind = self.rng.random()
        if kind < 0.75:
            name = self.rng.choice(self.known)
            return name, lambda e: e[name]
        return self._filled()

    def _filled(self) -> Expression:
        x, c = self.rng.choice(self.known), self.rng.choice(_CONSTANTS)
        number = float(c.rstrip("f"))
        forms: list[Expression] = [
            (f"alpha * {x}", lambda e: e["alpha"] * e[x]),
            (f"({x} + k)", lambda e: e[x] + e["k"]),
            (f"({x} * k)", lambda e: e[x] * e["k"]),
            (f"({x} - {c})", lambda e: e[x] - number),
            (f"({c} * {x})", lambda e: e[x] * number),
            (f"(m ? {x} : T(1))", lambda e: torch.where(e["m"], e[x], torch.ones_like(e[x]))),
            (f"(on ? {x} : -{x})", lambda e: e[x] if e["on"] else -e[x]),
        ]
        return self.rng.choice(forms)

    def _expression(self, depth: int) -> Expression:
        if depth == 0 or self.rng.random() < 0.15:
            return self._leaf()
        kind = self.rng.random()
        if kind < 0.45:
            form = self.rng.choice(list(ONE))
            text, of = self._expression(depth - 1)
            function = ONE[form]
            return f"({form.format(f'({text})')})", lambda e: function(of(e))
        first, second = self._expression(depth - 1), self._expression(depth - 1)
        if kind < 0.6:
            condition, holds = self._condition()
            text = self.rng.choice(("({c} ? T({a}) : T({b}))", "where({c}, {a}, {b})"))
            return (
                text.format(c=condition, a=first[0], b=second[0]),
                lambda e: torch.where(holds(e), first[1](e), second[1](e)),
            )
        name = self.rng.choice(list(TWO))
        both = TWO[name]
        return f"({name.format(f'({first[0]})', f'({second[0]})')})", lambda e: both(first[1](e), second[1](e))

    def _condition(self) -> Expression:
        a, b = self.rng.choice(self.known), self.rng.choice(self.known)
        forms: list[Expression] = [
            (f"{a} > 0.25", lambda e: e[a] > 0.25),
            (f"{a} * 2 < {b}", lambda e: e[a] * 2 < e[b]),
            (f"(m && {a} >= alpha)", lambda e: e["m"] & (e[a] >= e["alpha"])),
            (f"(k != 0 || {a} < -{b})", lambda e: (e["k"] != 0) | (e[a] < -e[b])),
        ]
        return self.rng.choice(forms)

    def _plain(self) -> None:
        self._let(*self._expression(2))

    def _branch(self) -> None:
        condition, holds = self._condition()
        yes, no = self._expression(2), self._expression(2)
        name = f"v{len(self.steps)}"
        self.lines.append(f"T {name};\n  if ({condition}) {{\n    {name} = {yes[0]};\n  }} else {name} = {no[0]};")
        self._step(name, lambda e: torch.where(holds(e), yes[1](e), no[1](e)))
        self.known.append(name)

    def _loop(self) -> None:
        start, form = self._leaf(), self.rng.choice(list(TWO))
        step, name = self._leaf(), f"v{len(self.steps)}"
        both = TWO[form]
        times = self.rng.choice(("n", "2", "n + 1"))

        def run(e: Environment) -> Any:
            value = start[1](e)
            for _ in range({"n": e["n"], "2": 2, "n + 1": e["n"] + 1}[times]):
                value = torch.tanh(both(value, step[1](e)))
            return value

        called = form.format(name, step[0])
        self.lines.append(f"T {name} = {start[0]};\n  for (int j = 0; j < {times}; ++j) {name} = tanh({called});")
        self._step(name, run)
        self.known.append(name)

    def _compound(self) -> None:
        start, more, name = self._leaf(), self._leaf(), f"v{len(self.steps)}"
        self.lines.append(f"T {name} = {start[0]};\n  {name} += {more[0]}, {name} *= 0.5, {name} -= {more[0]} / 3;")
        self._step(name, lambda e: (start[1](e) + more[1](e)) * 0.5 - more[1](e) / 3)
        self.known.append(name)

    def _helper(self) -> None:
        one, two = self.rng.choice(list(ONE)), self.rng.choice(list(TWO))
        self.helper = (
            f"template <class A>\nA {self.name}_helper(const A &a, A b) {{\n"
            f"  b = {one.format('b')};\n  return {two.format('a', 'b')};\n}}\n"
        )
        f, g = ONE[one], TWO[two]
        self.helped = lambda a, b: g(a, f(b))

    def _help(self) -> None:
        a, b = self._expression(1), self._expression(1)
        self._let(f"{self.name}_helper(T({a[0]}), T({b[0]}))", lambda e: self.helped(a[1](e), b[1](e)))


def functions(seed: int, count: int) -> list[Function]:
    """Functions to try."""
    return [Function(f"f{i}", random.Random(f"{seed} {i}")) for i in range(count)]


def load(drawn: list[Function], folder: Path, name: str = "scalars") -> Operators:
    """All of them in one library."""
    path = folder / f"{name}.cpp"
    path.write_text("#include <opwright.h>\n" + "\n".join(each.source for each in drawn))
    return opwright.load(path)


def draw(function: Function, seed: int) -> Environment:
    """Arguments of several shapes; what is overwritten has the common one."""
    rng, generator = random.Random(f"{seed} {function.name}"), torch.Generator().manual_seed(seed)

    def made(shape: tuple[int, ...]) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    given: Environment = {name: made(rng.choice(_SHAPES)).requires_grad_() for name in function.inputs}
    given |= {name: made((3, 4)).requires_grad_() for name in function.mutated}
    given |= {name: made((4,)).requires_grad_() if rng.random() < 0.6 else None for name in function.optional}
    given["k"] = torch.randint(-2, 3, rng.choice(_SHAPES), generator=generator)
    given["m"] = torch.rand(rng.choice(_SHAPES), generator=generator) < 0.5
    return given | {"alpha": rng.uniform(-1, 1), "n": rng.randrange(3), "on": rng.random() < 0.5}


def call(function: Function, ops: Operators, given: Environment) -> list[Tensor]:
    """The operator's results, what it overwrote last."""
    changed = [given[name].clone() for name in function.mutated]
    names = [*function.inputs, "k", "m", *function.optional]
    words = [given[name] for name in names] + changed + [given["alpha"], given["n"], given["on"]]
    results = getattr(ops, function.name)(*words)
    return [*(results if isinstance(results, tuple) else (results,) if function.results else ()), *changed]


def assert_agrees(function: Function, ops: Operators, seed: int, *, order: int) -> None:
    """Values, and derivatives up to some order."""
    given = draw(function, seed)
    got, expected = call(function, ops, given), function.reference(given)
    assert_all_close(got, expected)
    leaves = [v for v in given.values() if isinstance(v, Tensor) and v.requires_grad]
    for _ in range(order):
        got, expected = derivatives(got, leaves, seed), derivatives(expected, leaves, seed)
        assert_all_close(got, expected)


def assert_all_close(got: list[Tensor], expected: list[Tensor]) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-8, atol=1e-9)


def derivatives(values: list[Tensor], leaves: list[Tensor], seed: int) -> list[Tensor]:
    """Of the values' sum with some weights."""
    generator = torch.Generator().manual_seed(seed)
    weights = [torch.randn(v.shape, generator=generator, dtype=v.dtype) for v in values]
    terms = [(v * w).sum() for v, w in zip(values, weights, strict=True)] + [leaf.sum() * 0 for leaf in leaves]
    total = torch.stack([term.double() for term in terms]).sum()
    return list(torch.autograd.grad(total, leaves, create_graph=True, materialize_grads=True))


def assert_forward_mode(function: Function, ops: Operators, seed: int) -> None:
    """Tangents of all results."""
    given, generator = draw(function, seed), torch.Generator().manual_seed(seed)
    with forward_ad.dual_level():
        for name, v in given.items():
            if isinstance(v, Tensor) and v.requires_grad:
                tangent = torch.randn(v.shape, generator=generator, dtype=v.dtype)
                given[name] = forward_ad.make_dual(v.detach(), tangent)
        pairs = [forward_ad.unpack_dual(each) for each in call(function, ops, given)]
        wanted = [forward_ad.unpack_dual(each) for each in function.reference(given)]
        assert_all_close([p.primal for p in pairs], [p.primal for p in wanted])
        zero = [torch.zeros_like(p.primal) for p in wanted]
        assert_all_close(
            [z if p.tangent is None else p.tangent for p, z in zip(pairs, zero, strict=True)],
            [z if p.tangent is None else p.tangent for p, z in zip(wanted, zero, strict=True)],
        )


def assert_functions_agree(
    drawn: list[Function], ops: Operators, seed: int, order: int, *, forward: bool = False
) -> None:
    """An AssertionError that shows the operator, if one is wrong. `forward`: in forward mode, too."""
    for function in drawn:
        try:
            assert_agrees(function, ops, seed, order=order)
            if forward:
                assert_forward_mode(function, ops, seed)
        except Exception as error:  # noqa: PERF203 - says which one it was
            raise AssertionError(f"{function.source}\nseed {seed}, order {order}: {error}") from error


def main() -> int:
    """What the words ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--orders", type=int, default=8)
    parser.add_argument("--forward", action="store_true", help="forward mode, too")
    words = parser.parse_args()
    drawn = functions(words.seed, words.count)
    with tempfile.TemporaryDirectory() as folder:
        ops = load(drawn, Path(folder), f"scalars_{words.seed}")
        assert_functions_agree(drawn, ops, words.seed, 0)
        for k in range(3):
            assert_functions_agree(drawn[: words.orders], ops, words.seed + k, 2, forward=words.forward)
    return 0


if __name__ == "__main__":
    sys.exit(main())
