"""Which nvcc is taken, which C++ compiler goes with it, and what it and ptxas say."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from pathlib import Path

import pytest

from opwright.errors import ToolchainError
from opwright.toolchain.compilers import nvcc
from opwright.toolchain.compilers.compiler import find_compiler
from opwright.toolchain.compilers.flags import for_host, link_flags_of_cuda
from opwright.toolchain.compilers.nvcc import host_compiler, newest_compilers
from opwright.toolchain.messages import ptxas

_GLOB = glob.glob
NVCC = """#!/bin/sh
echo $1 >> "$0.calls"
if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.5, V13.5.37"; fi
if [ "$1" = --list-gpu-arch ]; then printf 'compute_90\\ncompute_100\\ncompute_75\\ncompute_103\\n'; fi
"""


def toolkit(folder: Path, program: str = NVCC) -> Path:
    for name in ("bin/nvcc", "include/cuda_runtime.h", "lib/libcudart_static.a"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(program)
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gxx: str) -> None:
    """An environment without a toolkit."""
    for variable in ("CUDA_HOME", "CUDA_PATH", "PYTORCH_NVCC", "NVCC_CCBIN", "CUDAHOSTCXX", "NVCC_APPEND_FLAGS"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "path").mkdir()
    (tmp_path / "path/c++").symlink_to(gxx)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(nvcc, "_USUAL", ())
    monkeypatch.setattr("glob.glob", lambda pattern: [] if "/usr/local" in pattern else _GLOB(pattern))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])


def test_without_any() -> None:
    with pytest.raises(
        ToolchainError, match=r"(?s)^no CUDA compiler: nvcc is not on the PATH, .*likely fix: pip install"
    ):
        nvcc.find_nvcc()


def test_the_wheels_make_a_toolkit(tmp_path: Path) -> None:
    toolkit(tmp_path / "site/nvidia/cu12")
    newest = toolkit(tmp_path / "site/nvidia/cu13")
    (tmp_path / "site/nvidia/cu14").mkdir()  # some other wheel's, without a compiler
    assert nvcc.cuda_home() == str(newest)
    found = nvcc.find_nvcc()
    assert (found.path, found.version) == (str(newest / "bin/nvcc"), (13, 5))
    assert found.arguments == ("-ccbin", find_compiler("c++").path)
    assert link_flags_of_cuda(nvcc.cuda_home(), found.target)[:2] == [f"-L{newest / 'lib'}", "-lcudart_static"]


def test_what_is_named_or_on_the_path_comes_before_the_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolkit(tmp_path / "site/nvidia/cu13")
    other = toolkit(tmp_path / "other")
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}{os.pathsep}{other / 'bin'}")
    assert nvcc.cuda_home() == str(other)
    named = toolkit(tmp_path / "named")
    monkeypatch.setenv("CUDA_HOME", str(named))
    assert nvcc.find_nvcc().path == str(named / "bin/nvcc")


def test_a_program_is_asked_once_and_a_script_each_time(tmp_path: Path) -> None:
    script = toolkit(tmp_path / "script") / "bin/nvcc"
    program = toolkit(tmp_path / "program", NVCC + "#" * 70000) / "bin/nvcc"
    for path in (script, program):
        for _ in range(2):
            nvcc._facts_of_file.cache_clear()  # another process
            assert nvcc.architectures(str(path)) == ("75", "90", "100", "103")
    assert len((script.parent / "nvcc.calls").read_text().split()) == 4
    assert len((program.parent / "nvcc.calls").read_text().split()) == 2


def header(home: Path, gcc: int, clang: int = 21) -> str:
    """A toolkit that lets through compilers up to those."""
    newest_compilers.cache_clear()
    (home / "include/crt").mkdir(parents=True)
    (home / "include/crt/host_config.h").write_text(
        f"#if __GNUC__ > {gcc}\n#error\n#endif\n#if (__clang_major__ >= {clang}) || (__clang_major__ < 3)\n#endif\n"
    )
    return str(home)


def test_a_compiler_that_is_too_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gxx: str) -> None:
    home = header(tmp_path / "cuda", 10)
    found = find_compiler("c++")
    with pytest.raises(ToolchainError) as caught:
        host_compiler(home, "11.2")
    assert str(caught.value) == (
        f"{found} at {found.path} is too new for nvcc 11.2, which takes gcc up to 10\n"
        "  likely fix: install g++-10 (it is found by that name), or set NVCC_CCBIN to an older compiler, or take "
        "a newer CUDA"
    )
    monkeypatch.setenv("NVCC_CCBIN", gxx)
    assert host_compiler(home, "11.2").path == gxx
    monkeypatch.delenv("NVCC_CCBIN")
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-allow-unsupported-compiler")
    assert host_compiler(home, "11.2") == found


def test_an_older_compiler_is_taken_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gxx: str) -> None:
    version = find_compiler("c++").version[0]
    newer = tmp_path / "newer"
    sed = f'{shutil.which("sed", path=os.defpath)} "s/gcc version {version}/gcc version 99/"'
    newer.write_text(f'#!/bin/sh\n{gxx} "$@" 2>&1 | {sed} >&2\n')
    newer.chmod(0o755)
    monkeypatch.setenv("CXX", str(newer))
    assert find_compiler("c++").version[0] == 99
    (tmp_path / f"path/g++-{version}").symlink_to(gxx)
    home = header(tmp_path / "cuda", version + 1)
    assert host_compiler(home, "13.0").path == str(tmp_path / f"path/g++-{version}")


def test_what_nvcc_passes_on() -> None:
    assert for_host(["-fPIC", "-DA=1,2", "-D", "B", "-O2", "-g", "-isystem", "/x", "-iquote/a,b", "-std=c++20"]) == [
        *("-Xcompiler=-fPIC", "-DA=1,2", "-D", "B", "-O2", "-g", "-isystem", "/x"),
        *('-Xcompiler="-iquote/a,b"', "-std=c++20"),
    ]


SAID = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4axpyIfEviT_PKS0_PS0_' for 'sm_90'
ptxas info    : Function properties for _Z4axpyIfEviT_PKS0_PS0_
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
ptxas info    : Compiling entry function 'plain_c' for 'sm_75'
ptxas info    : Function properties for plain_c
    96 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 96 bytes cumulative stack size, 512+16 bytes smem, 380 bytes cmem[0]
"""


def test_what_kernels_take() -> None:
    assert list(ptxas.usage(SAID)) == [
        ptxas.Usage("axpy<float>(int, float, float const*, float*)", "sm_90", 10, 0, 0, 0),
        ptxas.Usage("plain_c", "sm_75", 32, 96, 32, 528),
    ]


def test_other_errors_are_not_ptxass() -> None:
    assert ptxas.problem("nvcc fatal   : Unsupported gpu architecture 'sm_30'") is None
    assert ptxas.problem("ptxas fatal   : Memory allocation failure") == ("ptxas: Memory allocation failure", "")
    assert (ptxas.problem("ptxas fatal   : Unresolved extern function '_Z1fi'") or "")[0].startswith("f(int) is called")
