"""Symbolic sizes: `bind` never branches on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from opwright.signature import TensorInfo, bind, parse
from tests.signature.binding import F32, LLTM, info, lltm


class Symbol:
    """Stands for a SymInt: records what it is, and can't be asked whether it is true."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise AssertionError(f"branched on {self.text}")


def _operation(name: str, mark: str, *, swapped: bool = False) -> Callable[[Symbol, object], Symbol]:
    def operate(self: Symbol, other: object) -> Symbol:
        return Symbol(f"({other} {mark} {self})" if swapped else f"({self} {mark} {other})")

    operate.__name__ = name
    return operate


for _name, _mark in {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}.items():
    setattr(Symbol, f"__{_name}__", _operation(_name, _mark))
    setattr(Symbol, f"__r{_name}__", _operation(_name, _mark, swapped=True))
for _name, _mark in {"eq": "==", "ne": "!=", "ge": ">="}.items():
    setattr(Symbol, f"__{_name}__", _operation(_name, _mark))


def test_symbolic_sizes_are_never_branched_on() -> None:
    signature = parse("f(a: T[..., 3*S, I+S], b: T[...], k: T[K], c: T[K*M], d: T[(I+1)//K])")
    s: Any = [Symbol(f"s{i}") for i in range(8)]
    checks: list[tuple[str, str]] = []
    bound = bind(
        signature,
        {
            "a": TensorInfo((s[0], s[1], s[2]), F32),
            "b": TensorInfo((s[3],), F32),
            "k": TensorInfo((s[4],), F32),
            "c": TensorInfo((s[5],), F32),
            "d": TensorInfo((s[6],), F32),
        },
        check=lambda condition, message: checks.append((str(condition), message().split("\n")[0])),
    )
    assert {name: evaluate(str(size)) for name, size in bound.axes.items()} == {"K": 2, "S": 4, "I": 5, "M": 3}
    assert bound.ellipsis == (s[0],)
    assert ("(s3 == s0)", "f(): b has shape (s3,), expected [...] = (s0,)") in checks
    conditions = [condition for condition, _ in checks]
    assert "(s4 != 0)" in conditions  # the divisor K, and the coefficient of M
    assert all(evaluate(condition) for condition in conditions)
    assert len(conditions) >= 8


def evaluate(text: str) -> Any:
    """What a symbol's text comes to for S=4, I=5, K=2, M=3."""
    values = {"s0": 7, "s1": 12, "s2": 9, "s3": 7, "s4": 2, "s5": 6, "s6": 3}
    return eval(text, {}, values)  # noqa: S307 - our own text


def test_torch_symbols_with_torch_check() -> None:
    torch = pytest.importorskip("torch")
    shapes = pytest.importorskip("torch.fx.experimental.symbolic_shapes")
    env = shapes.ShapeEnv()
    s = [env.create_unbacked_symint() for _ in range(8)]
    infos = {
        "input": (s[0], s[1]),
        "weights": (s[2], s[3]),
        "bias": (s[4],),
        "old_h": (s[5], s[6]),
        "old_cell": (s[7], 128),
    }
    arguments = {name: TensorInfo(shape, F32) for name, shape in infos.items()}
    bound = bind(LLTM, arguments, check=torch._check)
    assert bound.axes.keys() == {"B", "I", "S"}
    fixed = lltm(weights=info(384, 161))
    with pytest.raises(RuntimeError, match=r"weights has shape \(384, 161\), expected \[3\*S, I\+S\] = \(384, 160\)"):
        bind(LLTM, fixed, check=torch._check)
