"""CUDA sources of older PyTorch's, compiled by nvcc where there is one. Nothing is run: that takes a GPU."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest
from torch.utils import cpp_extension

from opwright.aten.compat import needed
from opwright.migrate import examine

SOURCES = Path(__file__).parent / "sources_cuda"
NVCC = shutil.which("nvcc")
INCLUDE = Path(cpp_extension.include_paths()[0])
# PyTorch for the CPU comes with its headers for CUDA, but for one that says how it was configured.
CONFIGURED = (INCLUDE / "c10/cuda/impl/cuda_cmake_macros.h").exists()
ALL = sorted(path.name for path in SOURCES.iterdir())

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(NVCC is None, reason="needs nvcc"),
    pytest.mark.skipif(not (INCLUDE / "ATen/cuda").is_dir(), reason="this PyTorch has no headers for CUDA"),
]


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lighter torch/extension.h."""
    folder = tmp_path_factory.mktemp("headers")
    (folder / "torch").mkdir()
    (folder / "torch" / "extension.h").write_text("#include <torch/types.h>\n#include <torch/csrc/utils/pybind.h>\n")
    return folder


@pytest.mark.parametrize("name", ALL)
def test_a_cuda_source_compiles_silently(name: str, headers: Path, tmp_path: Path) -> None:
    assert_nvcc_compiles(SOURCES / name, headers, "-c", "-o", str(tmp_path / "op.o"))


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("thc_numerics.cu", "own_atomics.cu")])
def test_what_migrate_makes_of_it_compiles(name: str, headers: Path, tmp_path: Path) -> None:
    result = examine(SOURCES / name)
    assert result.after != result.before
    (tmp_path / name).write_bytes(result.after)
    assert_nvcc_compiles(tmp_path / name, headers, "-c", "-o", str(tmp_path / "op.o"))


def test_a_check_in_device_code_is_an_assertion(headers: Path, tmp_path: Path) -> None:
    assert_nvcc_compiles(SOURCES / "thc_numerics.cu", headers, "-ptx", "-o", str(tmp_path / "op.ptx"))
    assert "__assertfail" in (tmp_path / "op.ptx").read_text()


def assert_nvcc_compiles(source: Path, headers: Path, *words: str) -> None:
    """Compile one source with what its scan asks for; anything that is said is an error."""
    compat = needed([source])
    folders = [headers, *compat.include_dirs, *cpp_extension.include_paths(), sysconfig.get_paths()["include"]]
    before = [word for header in compat.headers for word in ("-include", str(header))]
    if not CONFIGURED:
        before.append("-DC10_USING_CUSTOM_GENERATED_MACROS")
    if "thc_blas.h" in str(compat.headers) or "CUDAContext" in source.read_text():
        require("cublas_v2.h", "cusparse.h", "cusolverDn.h")
    command = [str(NVCC), *(f"-I{folder}" for folder in folders), *before, *compat.flags(["-std=c++14"])]
    command += ["-Xcompiler", "-fPIC", "-arch=sm_80", "--expt-relaxed-constexpr", *cpp_extension.COMMON_NVCC_FLAGS]
    done = subprocess.run([*command, str(source), *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def require(*names: str) -> None:
    """Skip where the toolkit came without these libraries."""
    folders: Sequence[Path] = [Path(str(NVCC)).resolve().parents[1] / "include", *map(Path, _toolkit())]
    absent = [name for name in names if not any((folder / name).exists() for folder in folders)]
    if absent:
        pytest.skip(f"the CUDA toolkit here has no {', '.join(absent)}")


def _toolkit() -> list[str]:
    """Where nvcc looks by itself."""
    done = subprocess.run(
        [str(NVCC), "-dryrun", "-E", "-x", "cu", "/dev/null"], capture_output=True, text=True, check=False
    )
    words = done.stderr.replace('"', " ").split()
    return [word[2:] for word in words if word.startswith("-I")]
