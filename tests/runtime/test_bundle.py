"""opwright.bundle: loaded where there is no Opwright, by Python and by C++."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import ArgumentError, CompileError, Operators, ToolchainError
from tests.interpreter import run_python

Write = Callable[..., Path]
SOURCE = Path(__file__).parent / "kernels" / "bundle_ops.cpp"
module = importlib.import_module("opwright.runtime.bundle.write")


@pytest.fixture(scope="session")
def ops() -> Operators:
    return opwright.load(SOURCE)


@pytest.fixture(scope="session")
def library(ops: Operators, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return opwright.bundle(ops, tmp_path_factory.mktemp("bundle") / "bundle_ops.so")


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Python without Opwright, away from its sources."""
    guard = "import sys; sys.modules['opwright'] = None\nimport json, torch\n"
    return run_python(guard + code, *arguments, folder=Path("/"))


def said(tool: str, *words: str | Path) -> str:
    return subprocess.run([shutil.which(tool) or tool, *words], capture_output=True, text=True, check=True).stdout


def result(code: str, *arguments: object) -> Any:
    done = run(code, *arguments)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return json.loads(done.stdout)


_CALLS = """
torch.ops.load_library(sys.argv[1])
ops = torch.ops.bundle_ops
x = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3).requires_grad_()
w = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
y = ops.blend(ops.swish(x.t().contiguous().t(), 2.0), w)
y.sum().backward()
with torch.no_grad():
    single = ops.swish(x.float())
found = ops.found(torch.arange(4)), [ops.found(torch.arange(4), True)[0], *ops.found(torch.arange(4), True)[1].tolist()]
counted = int(ops.count(torch.arange(3)))
z = torch.arange(3.0)
formed = [ops.negate_(z) is z, [part.tolist() for part in ops.halves(z)], ops.marks(torch.tensor([2])).tolist()]
formed.append(ops.marks(torch.tensor([2]), 5).tolist())
print(json.dumps([y.tolist(), x.grad.tolist(), w.grad.tolist(), single.tolist(), counted, found, formed]))
"""


@pytest.mark.slow
def test_forward_and_backward_without_opwright(library: Path) -> None:
    y, grad_x, grad_w, single, counted, found, formed = result(_CALLS, library)
    x = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3).requires_grad_()
    w = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    expected = (x * (2 * x).sigmoid()) @ w
    expected.sum().backward()
    assert (x.grad, w.grad) != (None, None)
    torch.testing.assert_close(torch.tensor(y, dtype=torch.float64), expected.detach())
    torch.testing.assert_close(torch.tensor(grad_x, dtype=torch.float64), x.grad)
    torch.testing.assert_close(torch.tensor(grad_w, dtype=torch.float64), w.grad)
    torch.testing.assert_close(torch.tensor(single), torch.nn.functional.silu(x.detach().float()))
    assert counted == 3
    assert found == [[2, None], [2, 0, 2, 4, 6]]
    assert formed == [True, [[-0.0], [-1.0, -2.0]], [0, 0, 1], [0, 0, 1, 0, 0]]


_WRONG = """
torch.ops.load_library(sys.argv[1])
ops, texts = torch.ops.bundle_ops, []
x = torch.ones(2, 3)
for call in (
    lambda: ops.blend(x, torch.ones(2)),
    lambda: ops.blend(x[0]),
    lambda: ops.swish(x.half()),
    lambda: ops.count(torch.arange(7)),
    lambda: torch.autograd.grad(ops.swish(x.requires_grad_()).sum(), x, create_graph=True)[0].sum().backward(),
):
    try:
        call()
    except RuntimeError as error:
        texts.append(str(error))
print(json.dumps(texts))
"""


@pytest.mark.slow
def test_wrong_calls_without_opwright(library: Path) -> None:
    texts = result(_WRONG, library)
    blend = "blend(x: T[M, N], w: T[N]?) -> (y: T[M]) where T in (f32, f64)"
    refusal = "blend(): the arguments don't fit the operator's signature\n  got:          "
    assert texts[0] == f"{refusal}x: Float[2, 3], w: Float[2]\n  signature:    {blend}"
    assert texts[1] == f"{refusal}x: Float[3], w: None\n  signature:    {blend}"
    assert texts[2].startswith(
        "swish(): the arguments don't fit the operator's signature\n  got:          x: Half[2, 3]"
    )
    assert texts[3].startswith("count(): more than I can count: 7 [x.size(0) < 5 is false, ")
    assert texts[4].startswith("swish_backward() has no second derivative: there is no swish_backward_backward")


_LISTS = """
torch.ops.load_library(sys.argv[1])
axpys = torch.ops.bundle_ops.axpys
xs = [torch.ones(2, requires_grad=True), torch.ones(2, 3), torch.ones((), requires_grad=True)]
y = torch.ones((), requires_grad=True)
zs = axpys(xs, y, 2.0)
(zs[0].sum() + zs[2]).backward()
texts = []
for wrong in ([torch.ones(1), torch.ones(2).double()], []):
    try:
        axpys(wrong, torch.ones(1) if wrong else torch.ones(2), 1.0)
    except RuntimeError as error:
        texts.append(str(error))
print(json.dumps([[z.tolist() for z in zs], xs[0].grad.tolist(), xs[2].grad.item(), y.grad.item(), texts]))
"""


@pytest.mark.slow
def test_lists_of_tensors_without_opwright(library: Path) -> None:
    zs, grad_x, grad_last, grad_y, texts = result(_LISTS, library)
    assert zs == [[3, 3], [[3, 3, 3], [3, 3, 3]], 3]
    assert (grad_x, grad_last, grad_y) == ([2, 2], 2, 3)
    refusal = "axpys(): the arguments don't fit the operator's signature\n  got:          "
    assert texts[0].startswith(f"{refusal}xs[0]: Float[1], xs[1]: Double[2], y: Float[1], a: 1\n")
    assert texts[1].startswith(f"{refusal}y: Float[2], a: 1\n")


@pytest.mark.slow
def test_an_element_type_that_was_left_out(ops: Operators, tmp_path: Path) -> None:
    path = opwright.bundle(ops, tmp_path / "some.so", dtypes=[torch.float32])
    code = """
torch.ops.load_library(sys.argv[1])
x = torch.ones(2)
assert torch.equal(torch.ops.bundle_ops.swish(x), torch.nn.functional.silu(x))
try:
    torch.ops.bundle_ops.swish(x.double())
except RuntimeError as error:
    print(json.dumps(str(error)))
"""
    assert result(code, path) == (
        "swish(): some.so has no kernel for Double\n  it has:       T=f32\n"
        "  likely fix:   opwright.bundle(..., dtypes=[...]) with that one"
    )
    with pytest.raises(ArgumentError, match=r"bundle\(\): dtypes=\[torch.int64\] leave swish without a kernel"):
        opwright.bundle(ops, tmp_path / "none.so", dtypes=[torch.int64])


@pytest.mark.slow
def test_loaded_twice_and_beside_a_copy(library: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(library, tmp_path / "copy.so"))
    code = """
for path in (*sys.argv[1:], sys.argv[1]):
    torch.ops.load_library(path)
print(json.dumps(torch.ops.bundle_ops.count(torch.arange(2)).item()))
"""
    assert result(code, library, copy) == 2


@pytest.mark.slow
def test_where_opwright_has_the_operators_it_changes_nothing(ops: Operators, library: Path) -> None:
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    before = ops.swish
    torch.ops.load_library(library)
    assert ops.swish is before is torch.ops.bundle_ops.swish.default
    assert torch.autograd.gradcheck(ops.swish, (x,))
    with pytest.raises(ArgumentError, match="bound so far"):  # Opwright's own words: its kernels are still those called
        ops.blend(torch.ones(2, 3), torch.ones(2))


@pytest.mark.slow
def test_loading_sources_where_a_bundle_is_is_refused(library: Path) -> None:
    code = f"""
import torch, opwright
torch.ops.load_library({str(library)!r})
try:
    opwright.load({str(SOURCE)!r})
except opwright.SourceError as error:
    print(error)
"""
    done = run_python(code)
    assert done.stdout.startswith("the namespace torch.ops.bundle_ops is taken by PyTorch, another library")


@pytest.mark.slow
def test_another_pytorch_is_refused_at_each_call(
    ops: Operators, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "minor", lambda _: (2, 9))
    path = opwright.bundle(ops, tmp_path / "old.so", dtypes=[torch.float32])
    done = run(
        "torch.ops.load_library(sys.argv[1])\n"
        "try:\n    torch.ops.bundle_ops.swish(torch.ones(2))\nexcept RuntimeError as error:\n    print(error)",
        path,
    )
    has = ".".join(torch.__version__.split(".")[:2])
    text = (
        f"old.so was written for PyTorch 2.9, this process has {has}\n"
        "  likely fix: opwright.bundle(...) with this PyTorch\n"
    )
    assert (done.stdout, done.stderr, done.returncode) == (text, f"opwright: {text}", 0)


@pytest.mark.skipif(not shutil.which("objcopy"), reason="objcopy, which makes the references weak, isn't there")
def test_what_it_needs_of_pytorch_is_weak(library: Path) -> None:
    """So that one with other symbols loads it at all, and gets to the check."""
    symbols = said("nm", "-D", library)
    needed = {line.split()[-1] for line in symbols.splitlines() if " U " in f" {line} "}
    assert {name for name in needed if "torch" in name or "c10" in name} == {
        "aoti_torch_abi_version",
        *(f"aoti_torch_library_{what}" for what in ("def", "impl", "init_fragment", "init_impl")),
    }
    assert [line.split()[-1] for line in symbols.splitlines() if " T " in line] == ["opwright_bundle_error"]


def test_a_place_that_cant_be_written(ops: Operators, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ToolchainError, match=r"op\.so: can't be written: "):
        opwright.bundle(ops, tmp_path / "file" / "op.so")


@pytest.mark.slow
def test_c_sources(write: Write, tmp_path: Path) -> None:
    source = tmp_path / "bundle_c.c"
    source.write_text(
        '#include <opwright.h>\nOPWRIGHT("bundle_axpy(alpha: float, x: f32[N], y: f32[N]) -> (z: f32[N])")\n'
        "void bundle_axpy(int64_t N, float alpha, const float *x, const float *y, float *z) {\n"
        "  for (int64_t i = 0; i < N; ++i) z[i] = alpha * x[i] + y[i];\n}\n"
    )
    path = opwright.bundle(opwright.load(source), tmp_path / "bundle_c.so")
    code = """
torch.ops.load_library(sys.argv[1])
print(json.dumps(torch.ops.bundle_c.bundle_axpy(2.0, torch.ones(2), torch.ones(2)).tolist()))
"""
    assert result(code, path) == [3.0, 3.0]


_NOTATION = """
#include <optional>
#include <string_view>
OPWRIGHT("axpy_(alpha: float, x: f32[N], y: f32[N]!)")
void axpy_(double alpha, Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] += alpha * x[i];
}
OPWRIGHT("axpy__backward(grad_y: f32[N], alpha: float) -> (grad_x: f32[N], grad_y: f32[N])")
void axpy__backward(Tensor<const float, 1> grad, double alpha, Tensor<float, 1> grad_x, Tensor<float, 1> grad_y) {
  for (int64_t i = 0; i < grad.size(0); ++i) {
    if (grad_x) grad_x[i] = alpha * grad[i];
    if (grad_y) grad_y[i] = grad[i];
  }
}
OPWRIGHT("take(x: f32[M, N], at: i64[K] in [0, M), m: int in [0, K], by: float in (0, 4]) -> (y: f32[?L<=K])")
void take(Tensor<const float, 2> x, Tensor<const int64_t, 1> at, int64_t m, double by, Resizable<float, 1> y) {
  Tensor<float, 1> out = y.resize(m);
  for (int64_t i = 0; i < m; ++i) out[i] = by * x(at[i], 0);
}
OPWRIGHT("eye(n: int) -> (y: T[n, n]) where T in (f32, f64)")
template <class T>
void eye(int64_t n, Tensor<T, 2> y) {
  for (int64_t i = 0; i < y.size(0); ++i)
    for (int64_t j = 0; j < y.size(1); ++j) y(i, j) = i == j;
}
OPWRIGHT("uniform(x: f32[N], rng: generator(1)) -> (y: f32[N])")
void uniform(Tensor<const float, 1> x, Tensor<float, 1> y, Generator rng) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = rng[i].uniform<float>();
}
enum class Mode { sum, mean };
OPWRIGHT("reduce(x: f32[N], mode: mean | sum, k: int? in [1, 9], name: str = 'plain', unit: str?) -> (y: f32[])")
template <Mode mode>
void reduce(Tensor<const float, 1> x, std::optional<int64_t> k, std::string_view name,
            std::optional<std::string_view> unit, Tensor<float, 0> y) {
  y() = float(k.value_or(0) + name.size() + unit.value_or("").size());
  for (int64_t i = 0; i < x.size(0); ++i) y() += mode == Mode::sum ? x[i] : x[i] / x.size(0);
}
"""


@pytest.mark.slow
def test_the_rest_of_the_notation(write: Write, tmp_path: Path) -> None:
    path = opwright.bundle(opwright.load(write(_NOTATION, "bundle_rest.cpp")), tmp_path / "bundle_rest.so")
    code = """
torch.ops.load_library(sys.argv[1])
ops = torch.ops.bundle_rest
x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
y = w * 1
assert ops.axpy_(3.0, x, y) is None and y._version == 1
y.sum().backward()
rows = torch.arange(6.0).reshape(3, 2)
texts = []
for at, m, by in (([0, 1, 5], 2, 1.0), ([0, 1], 3, 1.0), ([0, 1], 2, 4.5), ([0, 1], 2, float("nan"))):
    try:
        ops.take(rows, torch.tensor(at), m, by)
    except RuntimeError as error:
        texts.append(str(error))
for given in (("max", None, "abc"), ("sum", 0, "abc", "m")):
    try:
        ops.reduce(w, *given)
    except RuntimeError as error:
        texts.append(str(error))
reduced = [ops.reduce(w, "sum").item(), ops.reduce(w, "mean", 3, "é", "km").item()]
torch.manual_seed(0)
first = ops.uniform(w)
torch.manual_seed(0)
again = torch.equal(first, ops.uniform(w))
kept = ops.take(rows, torch.tensor([2, 1, 0]), 2, 1.0).tolist()
eye = ops.eye(2, dtype=torch.float64).tolist()
print(json.dumps([y.tolist(), x.grad.tolist(), w.grad.tolist(), kept, eye, again, reduced, texts]))
"""
    texts = [
        "take(): the arguments don't fit the operator's signature\n"
        f"  got:          x: Float[3, 2], {got}\n"
        "  signature:    take(x: f32[M, N], at: i64[K] in [0, M), m: int in [0, K], by: float in (0, 4]) -> "
        "(y: f32[?L<=K])"
        for got in (
            "at: Long[3], m: 2, by: 1\n  out of range: element 2 of at, 5",
            "at: Long[2], m: 3, by: 1",
            "at: Long[2], m: 2, by: 4.5",
            "at: Long[2], m: 2, by: nan",
        )
    ]
    reduce = "reduce(x: f32[N], mode: mean | sum, k: int? in [1, 9], name: str = 'plain', unit: str?) -> (y: f32[])"
    texts += [
        "reduce(): the arguments don't fit the operator's signature\n"
        f"  got:          x: Float[2], {got}\n  signature:    {reduce}"
        for got in (
            'mode: "max", k: None, name: "abc", unit: None',
            'mode: choice number 1, k: 0, name: "abc", unit: "m"',
        )
    ]
    numbers = [4.0, 4.0], [3.0, 3.0], [1.0, 1.0], [4.0, 2.0], [[1.0, 0.0], [0.0, 1.0]]
    assert result(code, path) == [*numbers, True, [7.0, 8.0], texts]


_PROGRAM = """
#include <ATen/ops/arange.h>
#include <ATen/ops/mul.h>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <iostream>

int main(int, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) return std::cerr << dlerror(), 2;
  const auto error = reinterpret_cast<const char *(*)()>(dlsym(library, "opwright_bundle_error"));
  if (!error || error()) return std::cerr << (error ? error() : "no opwright_bundle_error"), 3;
  torch::inductor::AOTIModelPackageLoader loader(argv[2]);
  const auto x = at::mul(at::arange(28, at::kFloat), 0.1).reshape({7, 4});
  const auto outputs = loader.run({x});
  for (int64_t i = 0; i < outputs[0].numel(); ++i) std::cout << outputs[0].const_data_ptr<float>()[i] << " ";
}
"""


class Model(torch.nn.Module):
    def __init__(self, ops: Operators) -> None:
        super().__init__()
        self.ops = ops
        self.weight = torch.nn.Parameter(torch.linspace(1, 2, 4))

    def forward(self, x: torch.Tensor) -> Any:
        return self.ops.blend(self.ops.swish(x + 1, 0.5), self.weight).cos()


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # AOTInductor's own
def test_a_cpp_program_without_python(ops: Operators, library: Path, tmp_path: Path) -> None:
    """The quick twin is `test_forward_and_backward_without_opwright`."""
    rows, model = torch.export.Dim("rows", min=2, max=100), Model(ops)
    program = torch.export.export(model, (torch.ones(3, 4),), dynamic_shapes=({0: rows},))
    package = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "model.pt2"))
    source, binary, root = tmp_path / "main.cpp", tmp_path / "main", Path(torch.__file__).parent
    source.write_text(_PROGRAM)
    command: list[object] = [
        *(shutil.which("c++") or "g++", "-std=c++20", "-w", source, "-o", binary, "-isystem", root / "include"),
        *("-isystem", root / "include/torch/csrc/api/include", f"-L{root / 'lib'}", f"-Wl,-rpath,{root / 'lib'}"),
        *("-ltorch", "-ltorch_cpu", "-lc10"),
    ]
    subprocess.run(list(map(str, command)), check=True)
    assert "libpython" not in said("ldd", binary)
    done = subprocess.run([binary, library, package], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = model((torch.arange(28, dtype=torch.float32) * 0.1).reshape(7, 4)).detach()
    torch.testing.assert_close(torch.tensor(list(map(float, done.stdout.split()))), expected, rtol=1e-4, atol=1e-5)


_POINTWISE = """
torch.ops.load_library(sys.argv[1])
ops = torch.ops.bundle_pointwise
x = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3).requires_grad_()
w = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
first = torch.autograd.grad(ops.wave(x, w).sum(), x)[0]
assert torch.autograd.gradcheck(ops.wave, (x, w), check_forward_ad=True)
assert torch.autograd.gradgradcheck(ops.wave, (x, w))
single = ops.wave(x.detach().float(), w.detach().float())
print(json.dumps([first.tolist(), single.tolist()]))
"""


@pytest.mark.slow
def test_derived_kernels_without_opwright(write: Write, tmp_path: Path) -> None:
    """A bundle has one instance of a derivative, which computes whatever is wanted."""
    signature = "wave(x: T, w: T) -> (y: T) where T in (f32, f64)"
    source = write(f'OPWRIGHT("{signature}")\ntemplate <class T> T wave(T x, T w) {{ return w * sin(x); }}')
    ops = opwright.load(source, namespace="bundle_pointwise")
    path = opwright.bundle(ops, tmp_path / "bundle_pointwise.so")
    first, single = result(_POINTWISE, path)
    x, w = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3), torch.tensor([1.0, 2.0, 3.0]).double()
    torch.testing.assert_close(torch.tensor(first, dtype=torch.float64), w * x.cos())
    torch.testing.assert_close(torch.tensor(single), (w * x.sin()).float())


@pytest.mark.slow
def test_a_global_object_that_ends_the_process(write: Write, tmp_path: Path) -> None:
    text = 'OPWRIGHT("f(x: T) -> (y: T)")\ntemplate <class T> T f(T x) { return x; }\n'
    source = write(f"struct Table {{ Table() {{ throw 1; }} }};\nTable table;\n{text}", "bundle_ends.cpp")
    with pytest.raises(
        CompileError, match=r"bundle_ends\.cpp:3: error: loading .*: this object's constructor throws int\n"
    ):
        opwright.bundle(opwright.load(source), tmp_path / "ends.so")
