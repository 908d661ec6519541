"""``opwright build --output``: a folder for processes of any user, which only read it, and compile nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.command import opwright

VIEWS = """
OPWRIGHT("bilinear(x: T[N], w: T[N, M], z: T[M]) -> (y: T[]) where T in (f64) derived")
template <class T> void bilinear(Tensor<const T, 1> x, Tensor<const T, 2> w, Tensor<const T, 1> z, Tensor<T, 0> y) {
  T sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < z.size(0); ++j) sum += x[i] * w(i, j) * z[j];
  y() = sum;
}
"""
ELEMENTS = """
OPWRIGHT("product(x: T, y: T) -> (z: T) where T in (f64)")
template <class T> T product(T x, T y) { return x * y; }
"""
RANK = """
import os, sys
import torch, opwright
from opwright.toolchain.build import processes

folder, user = sys.argv[1], int(sys.argv[2])

def watch(event, arguments):
    reads = {"os.listdir", "os.scandir", "import", "ctypes.dlopen", "ctypes.dlsym", "ctypes.dlsym/handle"}
    opens = event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if folder in repr(arguments) and event not in reads and not opens:
        print("written:", event, arguments)

def refuse(*_, **__):
    raise AssertionError("a compiler was started")

def work(prefix):
    views, elements = (opwright.load(path, namespace=f"{prefix}{i}") for i, path in enumerate(sys.argv[3:]))
    x, w, z = (torch.rand(size, dtype=torch.float64, requires_grad=True) for size in (3, (3, 2), 2))
    for wanted in ([x], [w, z], [x, w, z]):
        y = views.bilinear(*(t if any(t is each for each in wanted) else t.detach() for t in (x, w, z)))
        expected = torch.autograd.grad(torch.einsum("i,ij,j", x, w, z), wanted)
        torch.testing.assert_close(torch.autograd.grad(y, wanted), expected)
    a, b = (torch.rand(3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    elements.product(a, b.detach()).sum().backward()
    elements.product(a, b).sum().backward()
    torch.testing.assert_close((a.grad, b.grad), (2 * b, a))

sys.addaudithook(watch)
processes.Processes.run = processes._popen = refuse
os.posix_spawn = refuse
work("before")  # imports everything: Python's own files may be another user's
if user:
    os.setgroups([]), os.setgid(user), os.setuid(user)
work("shipped")
print("computed by", os.geteuid())
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user can reach."""
    with tempfile.TemporaryDirectory(prefix="opwright-output-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def rank(folder: Path, user: int, files: list[Path], **variables: str) -> subprocess.CompletedProcess[str]:
    """Load and call the operators of `files` in a process of a user (0: this one) who can write nowhere."""
    environment = {**os.environ, "HOME": "/proc/none", "OPWRIGHT_READ_ONLY_CACHE": str(folder), **variables}
    del environment["TORCH_EXTENSIONS_DIR"]
    environment.pop("XDG_CACHE_HOME", None)
    words = [sys.executable, "-c", RANK, str(folder), str(user), *map(str, files)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["native", pytest.param("python", marks=pytest.mark.exhaustive)])
def test_processes_of_another_user_compile_nothing_and_write_nothing(shared: Path, runtime: str) -> None:
    files = [shared / "shipped_views.cpp", shared / "shipped_elements.cpp"]
    for file, text in zip(files, (VIEWS, ELEMENTS), strict=True):
        file.write_text(f"{text}// {os.urandom(8).hex()}\n")
    output = shared / "kernels"
    done = opwright("build", *files, "--output", output)
    assert done.returncode == 0, done.stderr
    assert f"OPWRIGHT_READ_ONLY_CACHE={output}" in done.stdout
    for path in (output, *output.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)
    nobody = 65534 if os.geteuid() == 0 else 0
    done = rank(output, nobody, files, OPWRIGHT_RUNTIME=runtime)
    assert done.stdout == f"computed by {nobody or os.geteuid()}\n", done.stdout + done.stderr
    assert done.stderr == ""
    files[1].write_text(files[1].read_text().replace("x * y", "y * x"))
    done = rank(output, nobody, files, OPWRIGHT_RUNTIME=runtime)
    assert done.returncode == 1
    assert (
        f"shipped_elements isn't in the read-only cache {output}/opwright (nothing is in the cache for" in done.stderr
    )
    assert "); can't write to the build cache /proc/none/" in done.stderr
    for path in output.rglob("*"):
        path.chmod(path.stat().st_mode | 0o200)


def test_what_is_missing_is_told_and_compiled_into_the_users_cache(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = write(f"{ELEMENTS}// {os.urandom(8).hex()}", "output_has.cpp")
    missing = write(f"{ELEMENTS}// {os.urandom(8).hex()}", "output_lacks.cpp")
    output = tmp_path / "kernels"
    done = opwright("build", built, "--output", output, without_torch=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("; Opwright's runtime isn't in it: there is no PyTorch here\n")
    labels = [line.split("│")[2].strip() for line in done.stdout.splitlines() if "output_has.cpp" in line]
    assert labels == ["T=f64", "T=f64", "T=f64 (some)"]
    monkeypatch.setenv("OPWRIGHT_READ_ONLY_CACHE", str(output))
    done = opwright("build", built)
    assert done.stdout.count("cached") == 3
    assert "isn't in the read-only cache" not in done.stderr
    before = {path: path.stat().st_mtime_ns for path in output.rglob("*")}
    done = opwright("build", missing)
    assert done.returncode == 0, done.stderr
    assert (
        done.stderr.count(f"output_lacks isn't in the read-only cache {output}/opwright (nothing is in the cache") == 3
    )
    assert {path: path.stat().st_mtime_ns for path in output.rglob("*")} == before
    assert opwright("build", missing).stdout.count("cached") == 3


def test_a_folder_that_cannot_be_written_is_an_error(write: Callable[..., Path]) -> None:
    done = opwright("build", write(ELEMENTS, "output_refused.cpp"), "--output", "/proc/none", without_torch=True)
    assert done.returncode == 1
    assert "can't write to the build cache /proc/none: " in done.stderr
