"""Packages of compiled operators: imported, called, differentiated; and what is said of broken ones."""

from __future__ import annotations

import importlib
import itertools
import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

import opwright
from opwright.packaging import library_builder, package_writer
from opwright.packaging.config import Library
from opwright.signature import DType
from opwright.toolchain import find_compiler
from opwright.toolchain.binary.elf import library_requirements
from opwright.toolchain.compilers.cpu import CAPABILITY, VARIANTS

EXAMPLES = Path(__file__).parents[2] / "examples"

Ship = Callable[..., Path]


@pytest.fixture
def ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ship:
    """Compile a package as a wheel would hold it: ``ship("name.ops", source, dtypes=..., variants=...)``."""

    def make(name: str, source: str | Path, **options: object) -> Path:
        project = tmp_path / "project"
        project.mkdir(exist_ok=True)
        path = project / (source.name if isinstance(source, Path) else "kernels.cpp")
        path.write_text(source.read_text() if isinstance(source, Path) else f"#include <opwright.h>\n{source}")
        library = Library(name, (path.name,), **{"variants": (), **options})  # type: ignore[arg-type]
        folder = tmp_path.joinpath("site", *name.split("."))
        package_writer.write(library, library_builder.compiled(library, project), folder)
        return folder

    monkeypatch.syspath_prepend(tmp_path / "site")
    return make


def imported(name: str) -> ModuleType:
    importlib.invalidate_caches()
    return importlib.import_module(name)


DOUBLED = """
OPWRIGHT("doubled(x: T) -> (y: T)")
template <class T> T doubled(T x) { return 2 * x; }
"""


def test_overloads(ship: Ship) -> None:
    kernels = Path(__file__).parents[1] / "runtime" / "kernels" / "overload_ops.cpp"
    folder = ship("ship_overloads", kernels, dtypes=(DType.F32,))
    ops = imported("ship_overloads")
    x = torch.rand(3, requires_grad=True)
    assert torch.equal(ops.scale(x, 3.0), 3 * x)
    (grad,) = torch.autograd.grad(ops.scale.tensor(x, x).sum(), x)
    torch.testing.assert_close(grad, 2 * x)
    assert ops.__all__ == ["scale", "mix", "fill"]
    assert "Scales by a number." in ops.scale.number.__doc__
    assert "\nscale: _scale\n" in (folder / "__init__.pyi").read_text()
    assert pickle.loads(pickle.dumps(ops.scale.number)) is ops.scale.number  # noqa: S301 - our own


def test_alternatives(ship: Ship) -> None:
    kernels = Path(__file__).parents[1] / "runtime" / "kernels" / "alternative_ops.cpp"
    folder = ship("ship_alternatives", kernels, dtypes=(DType.F32,))
    ops = imported("ship_alternatives")
    x = torch.rand(2, 3, requires_grad=True)
    torch.testing.assert_close(ops.blur(x), 2 * x * x.sum(1, keepdim=True))
    torch.testing.assert_close(ops.blur(x[0], 3.0), 3 * x[0])
    (grad,) = torch.autograd.grad(ops.blur(x).sum(), x)
    torch.testing.assert_close(grad, 4 * x.sum(1, keepdim=True).expand(2, 3))
    assert ops.step(torch.arange(3), 2).tolist() == [2, 3, 4]
    assert ops.__all__ == ["blur", "step", "step_", "total"]
    assert "Adds the sum of each row" in ops.blur.__doc__
    stub = (folder / "__init__.pyi").read_text()
    for name in ("default", "rank1", "rank2"):
        assert f"    def {name}(x: _torch.Tensor, by: float = 2.0) -> _torch.Tensor:\n" in stub
    assert "    def __call__(__self, x: _torch.Tensor, by: float = 2.0) -> _torch.Tensor:\n" in stub
    assert pickle.loads(pickle.dumps(ops.blur)) is ops.blur  # noqa: S301 - our own


def test_variants(ship: Ship) -> None:
    kernels = Path(__file__).parents[1] / "runtime" / "kernels" / "variant_ops.cpp"
    ship("ship_variants", kernels, dtypes=(DType.F32,))
    ops = imported("ship_variants")
    x, out = torch.rand(3), torch.empty(3)
    expected = 3 * x
    assert ops.blend(x, x, out=out) is out
    assert ops.blend_(x, x) is x
    torch.testing.assert_close((x, out), (expected, expected))
    assert ops.__all__ == [
        "blend",
        "blend_",
        "wave",
        "wave_",
        "scale",
        "scale_",
        "ends",
        "positive",
        "shaken",
        "shaken_",
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # forward mode of PyTorch's
def test_a_pointwise_operator_with_all_its_derivatives(ship: Ship) -> None:
    ship(
        "ship_a.ops",
        "/// The third power.\n"
        'OPWRIGHT("cubed(x: T) -> (y: T) where T in (f64)")\ntemplate <class T> T cubed(T x) { return x * x * x; }',
    )
    ops = imported("ship_a.ops")
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(ops.cubed, (x,))
    assert torch.autograd.gradgradcheck(ops.cubed, (x,))
    assert torch.allclose(torch.func.jvp(ops.cubed, (x,), (torch.ones_like(x),))[1], 3 * x * x)
    assert torch.equal(torch.func.vmap(ops.cubed)(x), ops.cubed(x))
    assert torch.equal(torch.compile(ops.cubed, fullgraph=True, backend="eager")(x), ops.cubed(x))  # type: ignore[no-untyped-call]
    assert "\n\nThe third power.\n\nArgs:\n" in ops.cubed.__doc__
    assert "The third power." in Path(ops.__file__ or "").with_suffix(".pyi").read_text()
    assert pickle.loads(pickle.dumps(ops.cubed)) is ops.cubed  # noqa: S301 - our own
    assert repr(ops._operators) == "<opwright operators 'ship_a_ops' of ship_a.ops>"
    with pytest.raises(opwright.SourceError, match="'ship_a_ops' is taken by <opwright operators 'ship_a_ops' of ship"):
        opwright.load_inline("ship_a_ops", cpp=DOUBLED)


def test_what_was_not_compiled_is_named(ship: Ship) -> None:
    folder = ship("ship_b.ops", DOUBLED, dtypes=(DType.F32,))
    ops = imported("ship_b.ops")
    assert torch.equal(ops.doubled(torch.ones(2)), torch.full((2,), 2.0))
    with pytest.raises(opwright.UnsupportedError) as caught:
        ops.doubled(torch.ones(2, dtype=torch.float64))
    assert str(caught.value) == (
        "doubled(): ship_b.ops was built without kernels for float64; it has float32\n"
        '  likely fix: convert the tensors; or, when the package is built: dtypes = [..., "float64"]'
    )
    assert {path.name for path in folder.glob("*.so")} == {"kernels.cpu.so"}


@pytest.mark.skipif(find_compiler("c++").kind != "gcc", reason="what gcc calls in its own library")
def test_halves_ask_for_no_newer_distribution(ship: Ship) -> None:
    variants = ("avx2",) if find_compiler("c++").target.startswith("x86_64-linux") else ()
    source = 'OPWRIGHT("smooth(x: T, c: T) -> (y: T)")\ntemplate <class T> T smooth(T x, T c) { return x + elu(c); }'
    folder = ship("ship_halves.ops", source, dtypes=(DType.F16,), variants=variants)
    asked = [
        names
        for file in folder.glob("*.so")
        for names in library_requirements(file.read_bytes(), "it").versions.values()
    ]
    assert {*itertools.chain(*asked)} & {"GCC_12.0.0", "GCC_13.0.0", "GCC_14.0.0"} == set()
    ops = imported("ship_halves.ops")
    x = torch.randn(70).half()
    torch.testing.assert_close(ops.smooth(x, x), x + torch.nn.functional.elu(x))


def broken(name: str, match: str) -> None:
    with pytest.raises(opwright.PackagingError, match=match):
        imported(name)
    for module in [module for module in sys.modules if module.startswith(name.partition(".")[0])]:
        del sys.modules[module]


def test_what_is_installed_and_broken_is_said(ship: Ship, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ship("ship_c.ops", DOUBLED, dtypes=(DType.F32,))
    file = folder / "library.json"
    facts = json.loads(file.read_text())

    file.write_text(json.dumps({**facts, "format": 99, "opwright": "9.0"}))
    broken("ship_c.ops", r"built by Opwright 9.0, in a form .*\n  likely fix: pip install 'opwright>=9.0'")
    file.write_text(json.dumps({**facts, "kernels": {"doubled": {"cpu": "nowhere"}}}))
    broken("ship_c.ops", r"library.json isn't what Opwright writes: KeyError\('nowhere'\)\n  likely fix: ")
    file.write_text("{")
    broken("ship_c.ops", r"library.json can't be read: .*\n  likely fix: install the package again")
    file.write_text(json.dumps(facts))
    for module in ("opwright.toolchain.compilers.cpu", "opwright.runtime.load.installed"):
        monkeypatch.setattr(f"{module}.processor_flags", lambda: frozenset({"sse2", "popcnt"}))
    broken("ship_c.ops", r"no build of kernels.cpu runs on this processor, which lacks .*sse4_2.*\n  likely fix: ")
    monkeypatch.undo()

    monkeypatch.syspath_prepend(folder.parents[1])
    (folder / "kernels.cpu.so").rename(folder / "kept")
    ops = imported("ship_c.ops")
    with pytest.raises(opwright.PackagingError, match=r"^doubled\(\): .*kernels.cpu.so, a part of ship_c.ops, isn't"):
        ops.doubled(torch.ones(2))
    (folder / "kernels.cpu.so").write_bytes(b"\x7fELF")
    with pytest.raises(opwright.PackagingError, match=r"kernels.cpu.so, a part of ship_c.ops, is damaged, or"):
        ops.doubled(torch.ones(2))
    (folder / "kept").rename(folder / "kernels.cpu.so")
    assert torch.equal(ops.doubled(torch.ones(2)), torch.full((2,), 2.0))


def test_an_older_package_without_a_derivative(ship: Ship) -> None:
    """What a newer Opwright derives besides has no kernel in it, and isn't registered."""
    folder = ship("ship_d.ops", DOUBLED, dtypes=(DType.F32,))
    file = folder / "library.json"
    facts = json.loads(file.read_text())
    kept = {name: where for name, where in facts["kernels"].items() if name in {"doubled", "doubled_backward"}}
    file.write_text(json.dumps({**facts, "kernels": kept}))
    ops = imported("ship_d.ops")
    x = torch.ones(2, requires_grad=True)
    (grad,) = torch.autograd.grad(ops.doubled(x).sum(), x, create_graph=True)
    assert torch.equal(grad, torch.full((2,), 2.0))


@pytest.mark.exhaustive
def test_variants_give_the_same_bits(ship: Ship, monkeypatch: pytest.MonkeyPatch) -> None:
    if not find_compiler("c++").target.startswith("x86_64-linux"):
        pytest.skip("variants are x86-64's")
    better = tuple(name for name in VARIANTS if name != "default")
    found = {}
    torch.manual_seed(0)
    inputs = [torch.randn(1001, dtype=dtype) * 3 for dtype in (torch.float32, torch.float64, torch.bfloat16)]
    for variant in VARIANTS:
        monkeypatch.setenv(CAPABILITY, variant)
        name = f"ship_{variant}.ops"
        ship(name, EXAMPLES / "activations" / "activations.cpp", variants=better)
        ops = imported(name)
        assert {path.name.split(".")[-2] for path in Path(str(ops.__file__)).parent.glob("*.so")} == {"cpu", *better}
        found[variant] = [
            torch.cat([y.detach(), torch.autograd.grad(y.sum(), x)[0]])
            for function in (ops.mish, ops.gelu, ops.softplus, ops.hard_swish)
            for x in [each.clone().requires_grad_() for each in inputs]
            for y in [function(x)]
        ]
    for variant in better:
        assert all(torch.equal(a, b) for a, b in zip(found[variant], found["default"], strict=True)), variant


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", ["nvcc", "nvrtc"])
def test_cuda_inside_loads_where_no_gpu_is(ship: Ship, backend: str) -> None:
    from opwright.cuda import find_backend as find
    from opwright.toolchain.binary.elf import library_requirements

    try:
        find(backend)
    except opwright.ToolchainError as error:
        pytest.skip(str(error))
    name = f"ship_{backend}.ops"
    folder = ship(name, EXAMPLES / "histogram" / "histogram.cu", backend=backend)
    (library,) = folder.glob("*.so")
    found = library_requirements(library.read_bytes(), library.name)
    assert {"sm_75", "sm_80", "sm_90"} <= set(found.gpus)
    assert found.gpus[-1].startswith("compute_")
    assert not [each for each in found.libraries if each.startswith(("libcuda", "libcudart", "libnv"))]
    ops = imported(name)
    with pytest.raises(opwright.ArgumentError, match="has kernels for cuda only"):
        ops.histogram(torch.ones(4), 3, 0.0, 1.0)


@pytest.mark.exhaustive
def test_libmvec_is_used_where_it_is_asked_for(ship: Ship) -> None:
    from opwright.packaging.manylinux import demand
    from opwright.toolchain.binary.elf import library_requirements

    compiler = find_compiler("c++")
    if compiler.kind != "gcc" or not compiler.target.startswith("x86_64-linux"):
        pytest.skip("glibc's vector functions are x86-64's, and gcc's to call")
    source = 'OPWRIGHT("waved(x: T) -> (y: T) where T in (f32)")\ntemplate <class T> T waved(T x) { return tanh(x); }'
    folder = ship("ship_v.ops", source, variants=("avx2",), libmvec=True)
    found = library_requirements((folder / "kernels.cpu.avx2.so").read_bytes(), "avx2")
    assert "libmvec.so.1" in found.libraries
    assert any(name.startswith("_ZGV") for name in found.undefined)
    x = torch.linspace(-5, 5, 1001)
    torch.testing.assert_close(imported("ship_v.ops").waved(x), torch.tanh(x), rtol=1e-6, atol=0)
    assert demand(found).glibc >= 22
