from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright as package
from opwright.cli import info
from opwright.codegen import KernelSource
from opwright.signature import parse
from opwright.signature.derivatives import chains, without_hash
from opwright.toolchain import Options
from tests.cli.command import PLAIN, POINTWISE, opwright


def test_info_shows_what_the_signatures_say(write: Callable[..., Path]) -> None:
    done = opwright("info", write(PLAIN), without_torch=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines() if line.strip()]
    first = dict(line for line in lines[:8] if len(line) == 2)
    assert first["signature"].strip() == "twice(x: f32[N], k: int) -> (y: f32[N], n: i64[])"
    assert first["schema"].strip() == "twice(Tensor x, SymInt k) -> (Tensor, Tensor)"
    assert first["devices"].strip() == "cpu"
    assert first["differentiable"].strip() == "in x; no gradient is taken for n"
    assert first["saved"].strip() == "k (value)"


def test_info_of_an_operator_without_a_backward_says_what_to_write(write: Callable[..., Path]) -> None:
    text = (
        'OPWRIGHT("f(x: f32[N]) -> (y: f32[N])")\nvoid f(Tensor<const float, 1> x, Tensor<float, 1> y) { y[0] = x[0]; }'
    )
    done = opwright("info", write(text))
    assert "f_backward(grad_y: f32[N], x: f32[N]) -> (grad_x: f32[N])" in done.stdout


WITH_RESIDUALS = """
OPWRIGHT("half_of(x: f32[N], k: float) -> (y: f32[N]; kept: f32[N])")
void half_of(Tensor<const float, 1> x, double k, Tensor<float, 1> y, Tensor<float, 1> kept) {
  y[0] = kept[0] = k * x[0];
}
OPWRIGHT("half_of_backward(grad_y: f32[N], kept: f32[N], k: float) -> (grad_x: f32[N])")
void half_of_backward(Tensor<const float, 1> g, Tensor<const float, 1> kept, double k, Tensor<float, 1> d) {
  d[0] = k * g[0] + kept[0];
}
"""


def test_info_shows_the_schemas_that_are_registered(write: Callable[..., Path]) -> None:
    file = write(WITH_RESIDUALS, "schemas_of_info.cpp")
    package.load(file)
    kernels = KernelSource(file, Options()).source.kernels
    (chain,) = chains([kernel.signature for kernel in kernels])
    forward, backward = info.describe(chain)
    assert forward["saved"] == "kept, k (value)"
    assert "recorded form" not in backward
    shown = [forward["schema"], forward["recorded form"], backward["schema"]]
    space = torch.ops.schemas_of_info
    forms = [space.half_of.default, space.half_of.recorded, space.half_of_backward.default]
    assert shown == [schema_without_hash(form) for form in forms[:1]] + [
        f"half_of.recorded({str(forms[1]._schema).partition('(')[2]}",
        schema_without_hash(forms[2]),
    ]


def schema_without_hash(op: torch._ops.OpOverload) -> str:
    """The operator's schema, as a schema would be written that has no hash in its name."""
    return without_hash(str(op._schema)).partition("::")[2]


def test_info_says_what_slices_share(write: Callable[..., Path]) -> None:
    text = (
        'OPWRIGHT("f(x: f32[N], w: f32[M]) -> (y: f32[N], s: f32[]) independent N")\n'
        "void f(Tensor<const float, 1> x, Tensor<const float, 1> w, Tensor<float, 1> y, Tensor<float, 0> s) {}"
    )
    done = opwright("info", write(text), without_torch=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"independent +N \(w shared; s summed\) *\n", done.stdout)


def shown(text: str) -> dict[str, dict[str, str]]:
    """What `opwright info` printed, by operator, with where each stands as "place"."""
    found: dict[str, dict[str, str]] = {}
    for block in text.strip().split("\n\n"):
        first, *rest = block.splitlines()
        name, place = first.split(maxsplit=1)
        rows = (row.strip().split(maxsplit=1) for row in rest if row.startswith("  ") and not row.startswith("   "))
        found[name] = {"place": place.strip(), **{row[0]: row[1].strip() for row in rows if len(row) == 2}}
    return found


@pytest.mark.slow
def test_info_of_pointwise_operators(write: Callable[..., Path]) -> None:
    file = write(POINTWISE, "pointwise_info.cpp")
    said = shown(opwright("info", file, without_torch=True).stdout)
    orders = ("", "_backward", "_backward_backward")
    assert list(said) == [*(f"{name}{order}" for name in ("curve", "steps") for order in orders), "kept", "total"]
    assert said["curve"]["place"].endswith("pointwise_info.cpp:3")
    assert said["curve_backward"]["place"] == "derived from curve"
    assert said["curve"]["kind"] == "pointwise: arguments broadcast and promote"
    assert said["total"]["kind"] == "batched: leading axes broadcast"
    assert said["curve"]["gradient"] == said["curve_backward"]["gradient"] == "derived"
    assert said["curve"]["forward"] == "mode      derived"
    assert said["kept"]["differentiable"].startswith("no: y: f32 has a fixed type")
    assert "gradient" not in said["total"]
    assert said["curve"]["vectorised"] == said["curve_backward"]["vectorised"] == "yes (float32, bool)"
    for name in ("steps", "steps_backward"):  # how often it goes round depends on the element
        assert said[name]["vectorised"].startswith("no: ")
        assert said[name]["vectorised"].endswith(" (float32)")
    assert "vectorised" not in {**said["total"], **said["curve_backward_backward"]}


@pytest.mark.slow
def test_files_with_operators_of_one_name_are_several_files(tmp_path: Path) -> None:
    text = 'OPWRIGHT("{}")\ntemplate <class T> T {} {{ return x; }}\n'
    first, second, third = (tmp_path / f"one_name_{letter}.cpp" for letter in "abc")
    first.write_text(text.format("same(x: T, y: T) -> (z: T) where T in (f32)", "same(T x, T y)"))
    second.write_text(text.format("same(x: T) -> (z: T) where T in (f64)", "same(T x)"))
    third.write_text(
        text.format("same_backward(grad_z: T) -> (grad_x: T)", "same_backward(T grad_z)").replace(" x;", " grad_z;")
    )
    apart = opwright("info", first, second).stdout
    assert "Tensor x, Tensor y)" in apart
    assert apart.count("derived from same") == 4
    together = opwright("info", second, third).stdout
    assert f"same_backward  {third}:1" in together
    assert "derived from same_backward" in together
    assert "T: f64" in together
    built = opwright("build", first, second, without_torch=True).stdout
    assert built.count("T=f32") == 3  # of two arguments: the gradients of both, and of one
    assert built.count("T=f64") == 2


def test_info_without_a_compiler_says_so(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nonexistent/c++")
    done = opwright("info", write(POINTWISE, "no_compiler_for_info.cpp"))
    assert done.returncode == 0
    assert shown(done.stdout)["curve"]["vectorised"].startswith("not known: ")


def test_info_shows_the_schemas_of_derived_operators_as_they_are_registered(write: Callable[..., Path]) -> None:
    file = write(POINTWISE, "derived_schemas.cpp")
    package.load(file)
    source = KernelSource(file, Options())
    for chain in chains(source.signatures.values()):
        if chain[0].name in source.derived:
            continue
        for signature, facts in zip(chain, info.describe(chain, source.signatures, source.derived), strict=True):
            packet = getattr(torch.ops.derived_schemas, signature.name)
            assert facts["schema"] == schema_without_hash(packet.default)


ALTERNATIVES = """
OPWRIGHT("blur(x: f32[N]) -> (y: f32[N])")
void blur(Tensor<const float, 1> x, Tensor<float, 1> y) { y[0] = x[0]; }
OPWRIGHT("blur(x: f32[..., N, M]) -> (y: f32[..., N, M])")
void blur(Tensor<const float> x, Tensor<float> y) { y[0] = x[0]; }
OPWRIGHT("blur_backward(grad_y: f32[N]) -> (grad_x: f32[N])")
void blur_backward(Tensor<const float, 1> grad_y, Tensor<float, 1> grad_x) { grad_x[0] = grad_y[0]; }
"""


def test_info_says_what_each_alternative_is_for(write: Callable[..., Path]) -> None:
    path = write(ALTERNATIVES)
    done = opwright("info", path, without_torch=True)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert (
        f"blur.rank1 {path}:3 signature blur(x: f32[N]) -> (y: f32[N]) schema blur.rank1(Tensor x) -> Tensor " in text
    )
    assert "alternative of blur, for x with 1 axis" in text
    assert "alternative of blur, for x with 2 or more axes" in text
    assert f"blur_backward.rank1 {path}:7" in text


@pytest.mark.parametrize(
    ("words", "unit"),
    [
        ("derived", "the whole call: 20 to 40 bytes for each operation"),
        ("batched derived", "a row, or those that fill a vector"),
        ("independent N derived", "a slice along N, or those that fill a vector"),
    ],
)
def test_what_the_tape_of_a_derived_gradient_holds(words: str, unit: str) -> None:
    chain = [parse(f"f(x: T[N]) -> (y: T[N]) {words}"), parse("f_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])")]
    told = info.describe(chain, derived={"f_backward"})[0]["gradient"]
    assert told == f"derived; the kernel runs again, and its tape holds {unit}"
