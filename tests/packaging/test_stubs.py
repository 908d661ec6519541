"""Stubs: what they say (golden files), and that type checkers take them as it is meant."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from opwright.packaging.stubs import public, stub
from opwright.signature import Signature, parse, schema
from opwright.signature.alternatives import renamed

GOLDEN = Path(__file__).parent / "golden"
SIGNATURES = {
    "notation": [
        "add(x: T[...], y: T[...]) -> (z: T[...])",
        "add_backward(grad_z: T[...]) -> (grad_x: T[...], grad_y: T[...])",
        "cell(x: T[B, I], weights: T[S, I], bias: T[S]?, state: T[B, S]) -> (h: T[B, S], c: T[B, S]; g: T[B, S])",
        "dropout(x: T[...], p: float = 0.5, rng: generator(1)) -> (y: T[...]; mask: bool[...])",
        "axpy(alpha: float, x: f32[N], y: f32[N]!)",
        "gather(x: T[M, C], at: i64[N] in [0, M)) -> (y: T[N, C]) where T in (f32, f64, i64)",
        "nms(boxes: f32[N, 4], scores: f32[N], threshold: float = 0.5, sort: bool = True) -> (keep: i64[?K<=N])",
        "eye(n: int) -> (y: T[n, n])",
        "arange(n: int) -> (y: i64[n])",
        "pad(x: T[N], by: list[int, 2] = 0, w: list[float, 1] = 2.0, on: list[bool, 2] = True) -> (y: T[N + by[0]])",
        "pick(x: T[N], at: list[int]) -> (y: T[?K])",
        "axpys(xs: list[T[each ...]], ys: list[T[each ...]]!, a: float = 1.0) -> (norms: list[T[]], count: i64[])",
        "smooth(x: T, beta: float = 1.0, k: int = 3) -> (y: T)",
        "scaled(x: T[N], weight: T[N]?, bias: T[N]?) -> (y: T[N])",
        "resize(x: T[N], n: int, mode: near | 'bi-linear' = near, p: float?, k: int? = 3, s: str = 'a') -> (y: T[n])",
        "found(x: T[N], all: bool = False) -> (y: T[N], count: int, at: i64[?K]? if all)",
        "counted(x: T[N]) -> (count: int)",
        "histogram(at: i64[N] in [0, S), size: int? in [0, inf) = None) -> (counts: i64[?S = size])",
        "attend(q: T[N], k: T[N]) -> [y: T[N], lse: f32[]]",
        "scale_(x: T[N]!, by: float) -> (x)",
        "swap_(x: T[N]!, y: T[N]!) -> (y, x)",
    ],
    "overloads": [
        "scale.number(x: T[N], by: float = 2.0) -> (y: T[N])",
        "scale_backward.number(grad_y: T[N], by: float) -> (grad_x: T[N])",
        "scale(x: T[N], by: T[N], and_a_long_name: bool = True, and_another_long_name: bool = True) -> (y: T[N])",
        "only.one(x: T[N]) -> (y: T[N])",
        "made.tuple(n: int) -> (y: T[n], z: T[n])",
        "blend(x: T, y: T, by: float = 2.0) -> (z: T) variants: out, inplace",
        "ends(x: T[N]) -> (least: T[], most: T[]) variants: out",
    ],
    "names": [
        "tuple(x: T[N], torch: float) -> (y: T[N], z: T[N])",
        "str(n: int, s: str, t: str?) -> (y: T[n])",
        "list(xs: list[T[each N]]) -> (ys: list[T[each N]])",
    ],
}


def signatures(name: str) -> list[Signature]:
    return public([parse(text) for text in SIGNATURES[name]])


@pytest.mark.parametrize("name", SIGNATURES)
def test_golden(name: str) -> None:
    assert stub("my_package.ops", signatures(name)) == (GOLDEN / f"{name}.pyi.txt").read_text()


def test_what_authors_say_is_in_it_as_they_say_it() -> None:
    words = 'Doubles """x""":\n  \\f[ y = 2x \\f]\n\na "quoted" end"'
    (function,) = ast.parse(stub("m", [parse("f(x: T) -> (y: T)")], {"f": words})).body[2:]
    assert isinstance(function, ast.FunctionDef)
    assert f"\n\n{words}\n\nArgs:\n" in (ast.get_docstring(function) or "")


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_are_those_of_the_schema(name: str) -> None:
    """Names, order, and which have defaults: as PyTorch reads them in the schema."""
    nodes = ast.parse(stub("m", signatures(name))).body
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    packets = {node.name: node.body for node in nodes if isinstance(node, ast.ClassDef)}
    for signature in signatures(name):
        operator, _, overload = signature.name.partition(".")
        members = [f for f in packets.get(f"_{operator}", ()) if isinstance(f, ast.FunctionDef)]
        own = next((f for f in members if f.name == (overload or "default")), None)
        calls = [f.args.args[1:] for f in members if f.name == "__call__"]
        arguments, written = torch._C.parse_schema(schema(signature)).arguments, (own or functions[operator]).args
        places = [*written.posonlyargs, *written.args]
        assert not members or [a.arg for a in places] in [[a.arg for a in call] for call in calls]
        named = [argument.arg for argument in (*places, *written.kwonlyargs)]
        assert named == [argument.name for argument in arguments]
        defaults = [False] * (len(places) - len(written.defaults)) + [True] * len(written.defaults)
        defaults += [default is not None for default in written.kw_defaults]
        assert defaults == [argument.has_default_value() for argument in arguments]


USER = """\
import torch

import my_package.ops as ops
from my_package.ops import nms

x = torch.ones(3)
h, c = ops.cell(x, x, None, x)
reveal_type(h)
reveal_type(ops.dropout(x, 0.1))
reveal_type(nms(x, x, sort=False))
reveal_type(ops.eye(3, dtype=torch.float64, device="cpu"))
ops.axpy(0.5, x, y=x)
ops.resize(x, 3, "bi-linear", p=None, k=2)
ops.pad(x, 1)
ops.pad(x, [1, 2], w=(0.5,), on=[True, False])
ops.pick(x, [1, 2, 3])
reveal_type(ops.axpys([x], (x, x))[0][0])
reveal_type(ops.scale(x, 2.0))
reveal_type(ops.scale(x, x, False))
reveal_type(ops.scale.number(x))
reveal_type(ops.scale.default(x, by=x))
reveal_type(ops.only(x))
reveal_type(ops.blend(x, 0.5, out=x))
reveal_type(ops.blend_(x, x))
reveal_type(ops.ends.out(x, out_least=x, out_most=x)[1])
"""
WRONG = """\
import torch

import my_package.ops as ops

ops.add(torch.ones(3), "y")
ops.smooth(torch.ones(3), beta="1")
ops.missing(torch.ones(3))
ops.resize(torch.ones(3), 3, "nearr")
ops.pad(torch.ones(3), 0.5)
ops.axpys(torch.ones(3), [torch.ones(3)])
ops.scale(torch.ones(3), "a")
ops.scale.number(torch.ones(3), torch.ones(3))
ops.blend.out(torch.ones(3), torch.ones(3), 2.0, torch.ones(3))
"""


def written(folder: Path) -> Path:
    package = folder / "site" / "my_package" / "ops"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "py.typed").touch()
    (package / "__init__.pyi").write_text(stub("my_package.ops", [*signatures("notation"), *signatures("overloads")]))
    (folder / "user.py").write_text(USER)
    (folder / "wrong.py").write_text(WRONG)
    return folder


@pytest.mark.exhaustive
def test_mypy(tmp_path: Path) -> None:
    folder = written(tmp_path)
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=cache"]

    def run(file: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "MYPYPATH": "site"}
        return subprocess.run([*words, file], cwd=folder, capture_output=True, text=True, check=False, env=environment)

    right = run("user.py")
    assert right.returncode == 0, right.stdout
    assert right.stdout.count('Revealed type is "torch._tensor.Tensor"') == 13
    wrong = run("wrong.py").stdout.splitlines()
    assert [line.split(":")[1] for line in wrong if ": error:" in line] == [
        "5",
        "6",
        "7",
        "8",
        "9",
        "10",
        "11",
        "12",
        "13",
    ]


@pytest.mark.exhaustive
def test_pyright(tmp_path: Path) -> None:
    program = shutil.which("pyright")
    if program is None:
        pytest.skip("there is no pyright")
    folder = written(tmp_path)
    (folder / "pyrightconfig.json").write_text(
        '{"extraPaths": ["site"], "typeCheckingMode": "strict", "pythonVersion": "3.10"}\n'
    )
    words = [program, "--pythonpath", sys.executable]

    def run(file: str) -> str:
        return subprocess.run([*words, file], cwd=folder, capture_output=True, text=True, check=False).stdout

    assert "0 errors" in run("user.py")
    wrong = run("wrong.py")
    assert set(re.findall(r"wrong.py:(\d+):\d+ - error", wrong)) == {"5", "6", "7", "8", "9", "10", "11", "12", "13"}


def test_alternatives_are_attributes_and_one_function() -> None:
    texts = [
        "step(x: T, y: T) -> (z: T) where T in (f32, f64)",
        "step(x: i64, y: i64) -> (z: i64)",
        "blur(x: f32[N]) -> (y: f32[N]) variants: out",
        "blur(x: f32[N, M]) -> (y: f32[N, M]) variants: out",
    ]
    signatures = public(renamed([*map(parse, texts)]))
    text = stub("m", signatures, {"blur.rank2": "Of a matrix."})
    nodes = ast.parse(text).body
    packets = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    functions = {
        name: {member.name: member for member in packet.body if isinstance(member, ast.FunctionDef)}
        for name, packet in packets.items()
    }
    assert {name: [*members] for name, members in functions.items()} == {
        "_step": ["default", "f32_f64", "i64", "__call__"],
        "_blur": ["default", "rank1", "rank2", "out", "rank1_out", "rank2_out", "__call__"],
    }
    step = {name: [ast.unparse(argument) for argument in f.args.args] for name, f in functions["_step"].items()}
    assert (
        step["default"] == step["__call__"][1:] == ["x: _torch.Tensor | float | int", "y: _torch.Tensor | float | int"]
    )
    assert step["i64"] == ["x: _torch.Tensor | int", "y: _torch.Tensor | int"]
    assert ast.get_docstring(functions["_blur"]["rank2"]).startswith("blur(x: f32[N, M]) -> (y: f32[N, M])")  # type: ignore[union-attr]
    assert [type(node) for node in packets["_blur"].body].count(ast.FunctionDef) == 8  # two overloads of __call__
    words = ast.get_docstring(packets["_blur"].body[0]) or ""  # type: ignore[arg-type]
    assert words.startswith("blur(x: f32[N]) -> (y: f32[N])")
    assert "\nblur(x: f32[N, M]) -> (y: f32[N, M]) variants: out\n\nOf a matrix.\n" in words
    assert not [line for line in text.splitlines() if line != line.rstrip()]
