"""Features of `torch.compile`, export, AOTInductor, and of several processes."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

import opwright

from .features import feature, gradients, require, same, same_gradients, tensors
from .operators import Operator, reference


class _Model(torch.nn.Module):
    def __init__(self, operator: Operator) -> None:
        super().__init__()
        self.call = operator.call
        self.weight = torch.nn.Parameter(tensors(torch.float32)[1].detach().clone())

    def forward(self, x: torch.Tensor) -> Any:
        return self.call(x + 1, self.weight).cos()


def _expected(model: _Model, x: torch.Tensor) -> torch.Tensor:
    return reference(x + 1, model.weight).cos().detach()


def _exported(operator: Operator) -> tuple[Any, _Model]:
    model = _Model(operator)
    rows = torch.export.Dim("rows", min=2, max=64)
    return torch.export.export(model, (torch.ones(4, 3),), dynamic_shapes=({0: rows},)), model


@feature("opcheck")
def _(operator: Operator) -> None:
    torch.library.opcheck(operator.overload, tensors())


@feature("torch.compile, whole graph (aot_eager), with gradients")
def _(operator: Operator) -> None:
    compiled = torch.compile(lambda x, w: operator.call(x * 2, w).cos(), fullgraph=True, backend="aot_eager")
    x, w = tensors()
    same(gradients(compiled, x, w), gradients(lambda x, w: reference(x * 2, w).cos(), x, w))


@feature("torch.compile (inductor), one graph for all sizes, with gradients")
def _(operator: Operator) -> None:
    counter = torch._dynamo.testing.CompileCounterWithBackend("inductor")
    compiled = torch.compile(operator.call, fullgraph=True, dynamic=True, backend=counter)
    _, w = tensors()
    for rows in (4, 5, 9):
        same_gradients(compiled, torch.randn(rows, 3, dtype=torch.float64), w)
    require(counter.frame_count == 1, f"{counter.frame_count} graphs")


@feature("torch.compile without gradients")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    same(torch.compile(operator.call, fullgraph=True)(x, w), reference(x, w))


@feature("torch.compile of vmap and of torch.func.grad")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    many = torch.stack([x, 2 * x])
    mapped = torch.compile(torch.vmap(operator.call, (0, None)), fullgraph=True, backend="aot_eager")
    same(mapped(many, w), reference(many, w))
    slope = torch.compile(torch.func.grad(lambda x, w: operator.call(x, w).sum()), fullgraph=True, backend="aot_eager")
    same(slope(x, w), torch.func.grad(lambda x, w: reference(x, w).sum())(x, w))


@feature("compiled autograd over a compiled forward")
def _(operator: Operator) -> None:
    x, w = tensors()
    compiled = torch.compile(operator.call, backend="aot_eager")
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="aot_eager")):
        compiled(x, w).sum().backward()
    same(x.grad, torch.autograd.grad(reference(x, w).sum(), x)[0])


@feature("compiled autograd over an eager forward")
def _(operator: Operator) -> None:
    x, w = tensors()
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="aot_eager")):
        operator.call(x, w).sum().backward()
    same(x.grad, torch.autograd.grad(reference(x, w).sum(), x)[0])


@feature("compiled autograd over an eager forward, in one graph")
def _(operator: Operator) -> None:
    x, w = tensors()
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="aot_eager", fullgraph=True)):
        operator.call(x, w).sum().backward()
    same(x.grad, torch.autograd.grad(reference(x, w).sum(), x)[0])


@feature("gradients under selective checkpointing by a list of operators, compiled")
def _(operator: Operator) -> None:
    contexts = lambda: create_selective_checkpoint_contexts([operator.overload])  # noqa: E731

    @torch.compile(backend="aot_eager", fullgraph=True)
    def model(x: torch.Tensor, w: torch.Tensor) -> Any:
        return checkpoint(lambda x, w: operator.call(x, w).cos(), x, w, use_reentrant=False, context_fn=contexts)

    x, w = tensors()
    same(gradients(model, x, w), gradients(lambda x, w: reference(x, w).cos(), x, w))


@feature("make_fx with symbolic sizes")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    graph = make_fx(operator.call, tracing_mode="symbolic")(x, w)
    require(any(node.target is operator.overload for node in graph.graph.nodes), "the graph doesn't hold the operator")


@feature("torch.fx.symbolic_trace")
def _(operator: Operator) -> None:
    model = _Model(operator)
    x, _ = tensors(torch.float32, grad=False)
    same(torch.fx.symbolic_trace(model)(x).detach(), _expected(model, x))


@feature("torch.jit.trace and script")
def _(operator: Operator) -> None:
    x, w = tensors(grad=False)
    same(torch.jit.trace(lambda x, w: operator.call(x, w), (x, w))(x, w), reference(x, w))
    packet = str(operator.overload._schema.name).replace("::", ".")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scripted.py")
        path.write_text(
            "import torch\n\n\ndef call(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:\n"
            f"    return torch.ops.{packet}(x, w)\n"
        )
        function = runpy.run_path(str(path), run_name="scripted")["call"]
        same(torch.jit.script(function)(x, w), reference(x, w))


@feature("torch.export with a dynamic axis")
def _(operator: Operator) -> None:
    program, model = _exported(operator)
    x = torch.randn(7, 3)
    same(program.module()(x).detach(), _expected(model, x))
    require(
        any(node.target is operator.overload for node in program.run_decompositions().graph.nodes),
        "the operator is gone",
    )


@feature("an exported program, saved and loaded in another process")
def _(operator: Operator) -> None:
    program, model = _exported(operator)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.pt2")
        torch.export.save(program, path)
        x = torch.linspace(-1, 1, 21).reshape(7, 3)
        code = (
            f"import torch, warnings; warnings.simplefilter('ignore')\n{operator.prepare}\n"
            f"print(torch.export.load({str(path)!r}).module()(torch.linspace(-1, 1, 21).reshape(7, 3)).tolist())"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    same(torch.tensor(eval(done.stdout.splitlines()[-1])), _expected(model, x))  # noqa: S307 - numbers that we printed


def _package(operator: Operator, folder: str) -> tuple[str, _Model]:
    program, model = _exported(operator)
    return torch._inductor.aoti_compile_and_package(program, package_path=f"{folder}/model.pt2"), model


@feature("AOTInductor, loaded in Python")
def _(operator: Operator) -> None:
    with tempfile.TemporaryDirectory() as folder:
        package, model = _package(operator, folder)
        x = torch.randn(7, 3)
        same(torch._inductor.aoti_load_package(package)(x).detach(), _expected(model, x))


_PROGRAM = """
#include <dlfcn.h>
#include <torch/torch.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
int main(int, char** arguments) {
  if (!dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL)) { std::cerr << dlerror(); return 2; }
  torch::inductor::AOTIModelPackageLoader loader(arguments[2]);
  const auto y = loader.run({torch::linspace(-1, 1, 21).reshape({7, 3})})[0];
  for (int64_t i = 0; i < y.numel(); ++i) std::cout << y.contiguous().data_ptr<float>()[i] << "\\n";
}
"""


@feature("AOTInductor, loaded by a C++ program without Python")
def _(operator: Operator) -> None:
    with tempfile.TemporaryDirectory() as folder:
        library = _library(operator, folder)
        package, model = _package(operator, folder)
        source, binary = Path(folder, "main.cpp"), Path(folder, "main")
        source.write_text(_PROGRAM)
        _compile(source, binary)
        done = subprocess.run([binary, library, package], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr else f"status {done.returncode}")
    x = torch.linspace(-1, 1, 21).reshape(7, 3)
    torch.testing.assert_close(
        torch.tensor(list(map(float, done.stdout.split()))), _expected(model, x).flatten(), rtol=1e-4, atol=1e-4
    )


def _compile(source: Path, output: Path, *options: str) -> None:
    """Compile a source that uses PyTorch's C++ API, without Python."""
    root = Path(torch.__file__).parent
    command: list[object] = [
        *(
            shutil.which("c++") or "g++",
            "-std=c++20",
            "-w",
            *options,
            source,
            "-o",
            output,
            "-isystem",
            root / "include",
        ),
        *("-isystem", root / "include/torch/csrc/api/include", f"-L{root / 'lib'}", f"-Wl,-rpath,{root / 'lib'}"),
        *("-ltorch", "-ltorch_cpu", "-lc10"),
    ]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


def _library(operator: Operator, folder: str) -> Path:
    """Return the path of a library that registers the operator without Python."""
    library = Path(folder, "operators.so")
    if operator.source is None:
        raise NotImplementedError("the operator's kernel is Python")
    if isinstance(operator.source, opwright.Operators):
        return opwright.bundle(operator.source, library)
    _compile(operator.source, library, "-shared", "-fPIC")
    return library


def _alone() -> None:
    """Make this process a group of one."""
    if not torch.distributed.is_initialized():
        os.environ.update(MASTER_ADDR="127.0.0.1")
        store = torch.distributed.TCPStore("127.0.0.1", 0, 1, is_master=True)
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)


@feature("DistributedDataParallel")
def _(operator: Operator) -> None:
    _alone()
    model = _Model(operator)
    x, _ = tensors(torch.float32, grad=False)
    torch.nn.parallel.DistributedDataParallel(model)(x).sum().backward()
    expected = reference(x + 1, model.weight).cos().sum()
    same(model.weight.grad, torch.autograd.grad(expected, model.weight)[0])


@feature("FSDP2 (fully_shard)")
def _(operator: Operator) -> None:
    from torch.distributed.fsdp import fully_shard

    _alone()
    plain, x = _Model(operator), tensors(torch.float32, grad=False)[0]
    expected = torch.autograd.grad(reference(x + 1, plain.weight).cos().sum(), plain.weight)[0]
    model = fully_shard(plain, mesh=torch.distributed.init_device_mesh("cpu", (1,)))
    model(x).sum().backward()
    same(plain.weight.grad.full_tensor(), expected)


@feature("DTensor with one register_sharding, with gradients")
def _(operator: Operator) -> None:
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.experimental import register_sharding

    _alone()

    @register_sharding(operator.overload)
    def _(x: Any, w: Any, *rest: Any, **names: Any) -> Any:
        return [([Replicate()], [Replicate(), Replicate()]), ([Shard(0)], [Shard(0), Replicate()])]

    mesh = torch.distributed.init_device_mesh("cpu", (1,))
    x, w = tensors()
    sharded = distribute_tensor(x.detach(), mesh, [Shard(0)])
    same(
        operator.call(sharded, distribute_tensor(w.detach(), mesh, [Replicate()])).full_tensor(),
        reference(x, w).detach(),
    )
    sharded = sharded.requires_grad_()
    weight = distribute_tensor(w.detach(), mesh, [Replicate()]).requires_grad_()
    operator.call(sharded, weight).sum().backward()
    same(sharded.grad.full_tensor(), torch.autograd.grad(reference(x, w).sum(), x)[0])
