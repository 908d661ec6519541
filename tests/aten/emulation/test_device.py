"""A device called cuda on PyTorch for the CPU: ``opwright run --emulate``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch  # noqa: F401 - a process that has it is refused
from click.testing import CliRunner

import opwright
from opwright._version import __version__
from opwright.aten.emulation import library
from opwright.aten.emulation.start import begin_with_torch
from opwright.aten.jit import load
from opwright.aten.pytorch import Torch, find_torch
from opwright.cli import cli
from opwright.cuda.emulation.runtime import build_runtime
from opwright.errors import ToolchainError

HERE = Path(__file__).parent
EXTENSION = HERE / "extension"
LLTM = HERE.parents[2] / "examples" / "lltm"
IMPORT = "from torch.utils.cpp_extension import load\nimport torch\n"


def emulated(*words: str | Path, check: bool = False, cwd: Path | None = None, status: int = 0) -> str:
    """Return what a command prints under ``opwright run --emulate``."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "opwright", "run", "--emulate", *(["--check"] if check else []), *map(str, words)]
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def written(folder: Path, text: str) -> Path:
    """Return a script of that text, behind the imports of an extension's script."""
    script = folder / "script.py"
    script.write_text(IMPORT + text)
    return script


@pytest.mark.slow
@pytest.mark.parametrize(("file", "number"), [("device.py", 39), ("half_precision.py", 31)])
def test_the_device(file: str, number: int) -> None:
    said = emulated("-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / file)
    assert f"{number} passed" in said, said


def test_a_program_with_cuda_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.cu").write_text("int main() {}")
    monkeypatch.setattr("opwright.aten.build.emulation", lambda: "run")
    with pytest.raises(
        ToolchainError, match=r"^alone: a program .* no emulated CUDA device(.|\n)*likely fix: make it an"
    ):
        load("alone", [tmp_path / "main.cu"], is_python_module=False, is_standalone=True)


@pytest.mark.exhaustive
def test_operators_of_pytorch() -> None:
    """PyTorch's samples of its operators give on the device what they give on the CPU."""
    said = emulated(HERE / "operators.py")
    passed = re.search(r"(\d+) passed", said)
    assert passed, said
    assert int(passed[1]) > 600, said
    assert ", 0 differ" in said, said


@pytest.mark.exhaustive
def test_an_extension(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        f"""
m = load("scale", [{str(EXTENSION / "scale.cpp")!r}, {str(EXTENSION / "scale.cu")!r}])
for dtype in (torch.float32, torch.float64, torch.float16):
    x = torch.randint(-4, 5, (1000,)).to(dtype)
    with torch.cuda.stream(torch.cuda.Stream()):
        y, total = m.scaled(x.cuda(), 2.0)
    torch.testing.assert_close(y.cpu(), x * 2)
    assert total.item() == x.sum().item() and total.is_cuda
try:
    m.scaled(x, 2.0)
except RuntimeError as error:
    print(str(error).splitlines()[0])
""",
    )
    assert "x must be a CUDA tensor" in emulated(script)


@pytest.mark.exhaustive
@pytest.mark.parametrize("check", [False, True])
def test_an_extension_with_kernels_of_pytorchs_headers(tmp_path: Path, check: bool) -> None:
    """One of PyTorch's headers launches a kernel; another adds a half as a pair with 0, which touches the neighbour."""
    script = written(
        tmp_path,
        f"""
m = load("headers", [{str(EXTENSION / "headers.cu")!r}])
at = torch.randint(0, 7, (500,), dtype=torch.int32)
expected = torch.bincount(at, minlength=7)
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    for skipped in (0, 1):
        memory = torch.zeros(7 + skipped, dtype=dtype).cuda()
        assert torch.equal(m.counted(at.cuda(), memory[skipped:]).cpu(), expected.to(dtype)), (dtype, skipped)
        assert not memory[:skipped].any()
print("counted")
""",
    )
    assert "counted" in emulated(script, check=check)


@pytest.mark.exhaustive
def test_an_extension_with_a_texture(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        f"""
m = load("textured", [{str(EXTENSION / "textured.cu")!r}])
image, at = torch.rand(16, 32), torch.randint(-256 * 4, 256 * 40, (1000, 2)) / 256
grid = (2 * at / torch.tensor([32, 16]) - 1).reshape(1, 1, -1, 2)
expected = torch.nn.functional.grid_sample(image[None, None], grid, padding_mode="border", align_corners=False)
found = m.sampled(image.cuda(), at.cuda())
torch.testing.assert_close(found.cpu(), expected.flatten())
try:
    m.sampled(image[:, :30].contiguous().cuda(), at.cuda())
except RuntimeError as error:
    print(str(error).splitlines()[0])
""",
    )
    said = emulated(script)
    assert "invalid argument" in said, said


@pytest.mark.exhaustive
@pytest.mark.parametrize("check", [False, True])
def test_an_extension_with_the_handle_of_pytorch(tmp_path: Path, check: bool) -> None:
    """The device has made the handle with its own code for cuBLAS, and the extension calls its own."""
    script = written(
        tmp_path,
        f"""
m = load("product", [{str(EXTENSION / "product.cu")!r}])
a, b = torch.randn(5, 7), torch.randn(7, 3)
with torch.cuda.stream(torch.cuda.Stream()):
    c = m.product(a.cuda(), b.cuda()).cpu()
torch.testing.assert_close(c, a @ b)
try:
    m.product(a.cuda(), torch.randn(8, 3).cuda())
except RuntimeError as error:
    print(str(error).splitlines()[0])
""",
    )
    assert "CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasSgemm(" in emulated(script, check=check)


@pytest.mark.exhaustive
def test_what_is_found() -> None:
    said = emulated(HERE / "checked.py", check=True, status=1)
    assert "what is right passed" in said
    assert "no report" not in said
    assert "memory.cpp" not in said
    resized = " that aten::resize_ made"
    for at, size, made in ((8, 32, ""), (16, 32, ""), (0, 28, resized), (12, 36, resized), (0, 64, "")):
        assert re.search(
            rf"scale\.cu:\d+: read of memory that nobody has written\n.*\n  got: 4 bytes, byte {at} of the {size} "
            rf"bytes of a tensor{made}, which nothing has written yet\n  likely fix: .* with torch\.zeros in place of",
            said,
        ), (at, said)
    fix = "let one wait for the other: second.wait_stream(first), or an event; or torch.cuda.synchronize()"
    assert re.search(
        r"race between two streams\n  got: aten::sum reads byte 0 of the 256 bytes of a tensor and more; scale<.*> at "
        rf".*scale\.cu:\d+ wrote it, in another stream, and nothing orders the two\n  likely fix: {re.escape(fix)}",
        said,
    ), said
    assert re.search(
        r"scale\.cu:\d+: race between two streams\n.*\n  got: a read of 4 bytes, byte 0 of the 256 bytes of a tensor; "
        r"aten::mul wrote it, in another stream",
        said,
    ), said
    assert re.search(
        r"scale\.cu:\d+: race between two streams\n.*\n  got: a read of 4 bytes, byte 0 of the 256 bytes of a tensor; "
        r"scale<.*> at .*scale\.cu:\d+ wrote it, in another stream",
        said,
    ), said
    assert "aten::exp reads byte 16 of the 96 bytes of a tensor and more; aten::fill_ wrote it" in said
    line = next(i for i, text in enumerate((EXTENSION / "scale.cu").read_text().splitlines(), 1) if "a race" in text)
    assert re.search(rf"scale\.cu:{line}: data race in global memory", said), said


@pytest.mark.exhaustive
def test_thrust(tmp_path: Path) -> None:
    """An extension includes Thrust, whose headers come from CCCL; without them the error says what to install."""
    script = tmp_path / "script.py"
    script.write_text(
        f"""import sys
{IMPORT}
if "without" in sys.argv:
    from opwright.cuda.libraries import headers
    headers.pip_folders = lambda *_: []
m = load("pairs", [{str(EXTENSION / "pairs.cu")!r}])
x = torch.rand(10, device="cuda")
expected = (2 * x + torch.arange(10, device="cuda")).sort(descending=True).values
torch.testing.assert_close(m.pairs(x), expected)
print("right")
"""
    )
    assert emulated(script).startswith("right\n")
    said = emulated(script, "without", status=1)
    assert "thrust/tuple.h is CCCL's, which isn't installed\n  likely fix: pip install nvidia-cuda-cccl" in said
    assert said.count("likely fix") == 1


@pytest.mark.exhaustive
def test_lltm_and_its_gradients(tmp_path: Path) -> None:
    """The tutorial's CUDA extension against LLTM in PyTorch, with gradcheck in double precision."""
    script = tmp_path / "script.py"
    script.write_text(
        f"""import sys
sys.path.insert(0, {str(LLTM)!r})
{IMPORT}
from lltm import lltm
m = load("lltm_cuda", [{str(LLTM / "lltm_cuda.cpp")!r}, {str(LLTM / "lltm_cuda_kernel.cu")!r}])


class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weights, bias, old_h, old_cell):
        new_h, new_cell, saved, joined = m.forward(x, weights, bias, old_h, old_cell)
        ctx.save_for_backward(saved, joined, weights)
        return new_h, new_cell

    @staticmethod
    def backward(ctx, grad_h, grad_cell):
        return tuple(m.backward(grad_h.contiguous(), grad_cell.contiguous(), *ctx.saved_tensors))


shapes = (4, 8), (15, 13), (15,), (4, 5), (4, 5)
given = [torch.randn(*shape, dtype=torch.float64, device="cuda", requires_grad=True) for shape in shapes]
assert torch.autograd.gradcheck(Fused.apply, given)
for one, other in zip(Fused.apply(*given), lltm(*(each.cpu() for each in given)), strict=True):
    torch.testing.assert_close(one.cpu(), other)
print("right")
"""
    )
    assert "right" in emulated(script)


@pytest.mark.exhaustive
def test_setup_py(tmp_path: Path) -> None:
    for path in EXTENSION.iterdir():
        shutil.copy(path, tmp_path)
    emulated("setup.py", "build_ext", "--inplace", cwd=tmp_path)
    code = "import torch, scale_installed as scale; print(scale.scaled(torch.ones(5).cuda(), 3.0)[0].tolist())"
    assert "[3.0, 3.0, 3.0, 3.0, 3.0]" in emulated("-c", code, cwd=tmp_path)
    (library,) = tmp_path.glob("scale_installed*.so")
    said = emulated("-c", code, check=True, cwd=tmp_path, status=1)
    assert f"ImportError: {library} was built without --check, and this process runs with it\n" in said
    assert f"built for:  Opwright {__version__}, unchecked: opwright-emulation-" in said
    said = emulated("-c", f"import torch; torch.ops.load_library({str(library)!r})", check=True, status=1)
    assert f"OSError: {library} was built without --check" in said


@pytest.mark.exhaustive
def test_the_emulator_has_the_same_name_in_another_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So an extension goes on to work when the cache has moved or was emptied."""
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "one"))
    first = build_runtime()
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "other"))
    monkeypatch.chdir(tmp_path)
    second = build_runtime()
    assert first != second
    assert first.name == second.name
    assert re.fullmatch(rf"opwright-emulation-{re.escape(__version__)}-[0-9a-f]{{16}}\.so", first.name)


@pytest.mark.slow
def test_a_run_inside_of_a_run_goes_on_with_it(tmp_path: Path) -> None:
    """Also its CUDA_HOME, whose include folder has all headers that stand in for the toolkit's."""
    inner = "opwright run sh -c 'echo $OPWRIGHT_EMULATE_CUDA $PATH $CUDA_HOME'"
    code = f"{sys.executable} -m {inner}; cd $CUDA_HOME; pwd; ls include/thrust/complex.h include/cuda.h include/cub"
    said = emulated("sh", "-c", code, check=True, cwd=tmp_path).splitlines()
    how, path, home = said[0].split(" ")
    assert how == "check"
    assert path.split(os.pathsep)[0] == f"{home}/bin"
    assert said[1] == home
    assert "block" in said


def test_a_build_with_cuda_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = Torch(Path("/torch"), "2.13.0+cu130", "13.0", "")
    text = (
        "PyTorch 2.13.0+cu130 in /torch was built with CUDA, whose device can't be replaced; expected a build for the "
        "CPU\n  likely fix: an environment with PyTorch for the CPU (pytorch.org says how), or "
        "OPWRIGHT_EMULATE_CUDA unset"
    )
    with pytest.raises(ToolchainError, match=f"^{re.escape(text)}$"):
        library.refuse_cuda_build(installed)
    monkeypatch.setattr("opwright.cli.run.find_torch", lambda: installed)
    done = CliRunner().invoke(cli, ["run", "--emulate", "script.py"])
    assert str(done.exception) == text
    assert find_torch().cuda is None


def test_a_process_that_has_pytorch_is_refused() -> None:
    text = (
        "CUDA can't be emulated in this process, which has imported torch: PyTorch has asked for devices already\n"
        "  likely fix: opwright run --emulate SCRIPT"
    )
    for begin in (begin_with_torch, lambda: load("scale", "scale.cu", backend="emulate")):
        with pytest.raises(ToolchainError, match=f"^{re.escape(text)}$"):
            begin()
    checked = "opwright run --emulate --check script.py, with backend left out: PyTorch's device is checked, or isn't"
    for backend, fix in (
        ("nvcc", "leave backend out"),
        (opwright.emulate(), "backend='emulate'"),
        (opwright.emulate(check=True), checked),
    ):
        text = f"load() got backend={backend!r}, expected 'emulate' or None: nvcc, or the C++ compiler\n  likely fix: "
        with pytest.raises(ValueError, match=f"^{re.escape(text + fix)}$"):
            load("scale", "scale.cu", backend=backend)  # type: ignore[arg-type]


def test_check_is_of_emulation() -> None:
    done = CliRunner().invoke(cli, ["run", "--check", "script.py"])
    assert done.exit_code == 2
    assert "--check checks emulated kernels: --emulate --check" in done.output
