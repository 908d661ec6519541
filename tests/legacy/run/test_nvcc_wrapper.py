"""Architectures that today's nvcc refuses, in all the ways that build scripts name them."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import opwright
from opwright.legacy.run import nvcc_wrapper
from opwright.toolchain.compilers.nvcc import cuda_home

KNOWN = [75, 80, 90, 100]
PTX = "-gencode arch=compute_75,code=compute_75"


@pytest.mark.parametrize(
    ("words", "expected", "replaced"),
    [
        ("-c a.cu -o a.o -arch=sm_30", "-c a.cu -o a.o -arch=sm_75", "sm_30"),
        ("-arch sm_35 a.cu", "-arch=sm_75 a.cu", "sm_35"),
        ("--gpu-architecture=compute_20 --gpu-code=sm_20,sm_21", "--gpu-architecture=compute_75 --gpu-code=sm_75,sm_75",
         "compute_20 sm_20 sm_21"),
        ("-arch=sm_80", "-arch=sm_80", ""),
        ("-arch=sm_90a -arch=native", "-arch=sm_90a -arch=native", ""),
        ("-gencode arch=compute_30,code=sm_30", f"-gencode arch=compute_75,code=sm_75 {PTX}", "sm_30 compute_30"),
        ("-gencode=arch=compute_30,code=sm_30 -gencode=arch=compute_61,code=sm_61",
         f"-gencode arch=compute_75,code=sm_75 {PTX}", "sm_30 compute_30 sm_61 compute_61"),
        ("-gencode arch=compute_52,code=[sm_52,compute_52] -gencode arch=compute_80,code=sm_80",
         f"-gencode arch=compute_75,code=sm_75 {PTX} -gencode arch=compute_80,code=sm_80",
         "sm_52 compute_52"),
        ('--generate-code arch=compute_61,code=\\"sm_61,compute_61\\"', f"-gencode arch=compute_75,code=sm_75 {PTX}",
         "sm_61 compute_61"),
        ("-gencode arch=compute_80,code=sm_80", "-gencode arch=compute_80,code=sm_80", ""),
        ("-gencode whatever", "-gencode=whatever", ""),
        ("-Xcompiler -fPIC -DWITH_sm_30 -I sm_30/include", "-Xcompiler -fPIC -DWITH_sm_30 -I sm_30/include", ""),
    ],
)  # fmt: skip
def test_mapped(words: str, expected: str, replaced: str) -> None:
    result, old = nvcc_wrapper.replace_old_architectures(shlex.split(words), KNOWN)
    assert result == shlex.split(expected)
    assert old == replaced.split()


def test_nothing_is_mapped_where_nothing_is_known() -> None:
    assert nvcc_wrapper.replace_old_architectures(["-arch=sm_30"], []) == (["-arch=sm_30"], [])


@pytest.fixture
def toolkit(tmp_path: Path) -> Path:
    """A CUDA toolkit whose nvcc says what it was told."""
    home = tmp_path / "cuda"
    for folder in ("bin", "include", "lib64"):
        (home / folder).mkdir(parents=True)
    (home / "include/cuda_runtime.h").write_text("")
    (home / "bin/ptxas").write_text("")
    program = home / "bin/nvcc"
    program.write_text(
        '#!/bin/sh\nif [ "$1" = --list-gpu-arch ]; then echo compute_75; echo compute_90; exit; fi\n'
        'if [ "$1" = --version ]; then echo "$@"; exit; fi\nfor word; do echo "<$word>"; done\nexit 3\n'
    )
    program.chmod(stat.S_IRWXU)
    return home


def run(*words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(opwright.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": source, **environment}
    words = (sys.executable, "-m", "opwright", "run", *words)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def test_scripts_reach_it_by_the_path(toolkit: Path, tmp_path: Path) -> None:
    path = os.pathsep.join([str(toolkit / "bin"), os.environ["PATH"]])
    code = "import os; print(os.WEXITSTATUS(os.system('nvcc -c \"two words.cu\" -arch=sm_30')))"
    done = run("-c", code, folder=tmp_path, PATH=path, CUDA_HOME=str(toolkit))
    words = done.stdout.splitlines()
    assert words[:3] == ["<-c>", "<two words.cu>", "<-arch=sm_75>"]
    assert words[3] == "<-I>"
    assert os.path.isfile(os.path.join(words[4][1:-1], "TH/TH.h"))
    assert words[-1] == "3"
    assert done.stderr == (
        "opwright: warning: this nvcc knows no sm_30: compiling for sm_75 and, by way of PTX, everything newer\n"
    )
    done = run("-c", "import os; os.system('nvcc --version')", folder=tmp_path, PATH=path, CUDA_HOME=str(toolkit))
    assert done.stdout == "--version\n"


def test_the_toolkit_is_found_from_where_nvcc_is(toolkit: Path, tmp_path: Path) -> None:
    path = os.pathsep.join([str(toolkit / "bin"), os.environ["PATH"]])
    code = (
        "import os, shutil; home = os.path.dirname(os.path.dirname(shutil.which('nvcc')))\n"
        "print(os.path.realpath(home + '/include'), os.path.realpath(home + '/bin/ptxas'))\n"
        "print(os.environ['CUDA_HOME'] == home)"
    )
    done = run("-c", code, folder=tmp_path, PATH=path, CUDA_HOME=str(toolkit))
    assert done.stdout.split() == [str(toolkit / "include"), str(toolkit / "bin/ptxas"), "True"]


def test_scripts_for_bash_reach_it_by_its_own_path(toolkit: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("echo theirs\n")
    (tmp_path / "make.sh").write_text(f"#!/usr/bin/env bash\n{toolkit}/bin/nvcc -arch=sm_30\necho $?\n")
    path = os.pathsep.join([str(toolkit / "bin"), os.environ["PATH"]])
    environment = {"PATH": path, "CUDA_HOME": str(toolkit), "BASH_ENV": str(tmp_path / "theirs")}
    words = run("make.sh", folder=tmp_path, **environment).stdout.splitlines()
    assert (words[0], words[1], words[-1]) == ("theirs", "<-arch=sm_75>", "3")


def write_own_atomics(folder: Path, guard: str) -> None:
    (folder / "kernel").mkdir()
    (folder / "kernel/THCAtomics.cuh").write_text(
        f"#ifndef {guard}\n#define {guard}\n#ifdef CUDA_HALF_TENSOR\n"
        "static inline __device__ void atomicAdd(half *place, half value) { *place = value; }\n#endif\n#endif\n"
    )
    (folder / "kernel/common.cuh").write_text('#pragma once\n#include "common.cuh"\n# include "THCAtomics.cuh"\n')
    (folder / "add.cu").write_text(
        '#include <THC/THC.h>\n#include "common.cuh"\n'
        "__global__ void add(int64_t *sum, half *other) { atomicAdd(sum, 2); atomicAdd(other, other[1]); }\n"
    )


@pytest.mark.parametrize("guard", ["THC_ATOMICS_INC", "MINE_INC"])
def test_a_projects_copy_of_the_atomics_is_found(tmp_path: Path, guard: str) -> None:
    write_own_atomics(tmp_path, guard)
    words = ["-c", str(tmp_path / "add.cu"), "-I", str(tmp_path / "kernel"), "-o", "add.o"]
    assert nvcc_wrapper.includes_own_atomics(words) == (guard == "THC_ATOMICS_INC")
    assert not nvcc_wrapper.includes_own_atomics(words[:2])  # without the folder, nvcc doesn't find it, either


@pytest.mark.slow
@pytest.mark.skipif(cuda_home() is None, reason="no CUDA toolkit")
def test_a_projects_copy_of_the_atomics(tmp_path: Path) -> None:
    write_own_atomics(tmp_path, "THC_ATOMICS_INC")
    done = run("nvcc", "-c", "add.cu", "-Ikernel", "-o", "add.o", "-arch=sm_75", folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(cuda_home() is None, reason="no CUDA toolkit")
def test_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void f(float *x) { *x = 1; }\n")
    done = run("nvcc", "-c", "a.cu", "-o", "a.o", "-gencode", "arch=compute_30,code=sm_30", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.o").exists()
    assert "opwright: warning: this nvcc knows no sm_30, compute_30: compiling for sm_" in done.stderr
