"""Broken environments, made here: each is named, with its cause and what to do."""

from __future__ import annotations

import ast
import errno
import os
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from opwright.doctor import Finding, architectures, cuda, gpu, pytorch, tools
from opwright.doctor.cuda_facts import Toolkit, find_toolkit
from opwright.doctor.gpu import Gpu, Gpus
from opwright.doctor.pytorch_facts import TorchFacts, torch_facts

Look = Callable[[str], dict[str, list[Finding]]]
Script = Callable[[Path, str], Path]

TORCH = TorchFacts(version="2.13.0", file="/somewhere/torch/__init__.py")
CUDA_TORCH = TORCH._replace(cuda="13.0", architectures=("sm_80", "sm_90"))
TOOLKIT = Toolkit(
    "/cuda", "CUDA_HOME=/cuda", "/cuda/bin/nvcc", "13.0", gpus=("75", "80", "86", "90", "100"), newest_gcc=15
)


def the(found: dict[str, list[Finding]], topic: str) -> Finding:
    assert topic in found, f"nothing of {topic}: {list(found)}"
    return found[topic][0]


def wrong(found: dict[str, list[Finding]]) -> list[Finding]:
    return [finding for findings in found.values() for finding in findings if finding.state == "wrong"]


def only(findings: Any, topic: str) -> Finding:
    matching: list[Finding] = [finding for finding in findings if finding.topic == topic]
    (found,) = matching
    return found


# Compilers


def test_a_machine_as_it_should_be(look: Look) -> None:
    found = look("compilers")
    assert not wrong(found)
    assert the(found, "C++ compiler").text.split()[0] in {"c++", "g++", "clang++"}
    assert the(found, "C++ compiles and links").state == the(found, "Python.h").state == "ok"


def test_no_compiler(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = look("compilers")
    assert (
        the(found, "C++ compiler").text
        == "no C++ compiler: none of c++, g++, clang++ is on the PATH, and CXX is not set"
    )
    assert "apt install g++" in the(found, "C++ compiler").fix
    assert "apt install gcc" in the(found, "C compiler").fix


def test_cxx_points_nowhere(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    found = the(look("compilers"), "C++ compiler")
    assert (found.state, found.text) == ("wrong", "CXX=/nowhere/g++: there is no program '/nowhere/g++'")
    assert found.fix.startswith("correct CXX or unset it")


@pytest.mark.parametrize("name", ["CC", "CXX"])
def test_a_silent_compiler(
    name: str, look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script
) -> None:
    monkeypatch.setenv(name, str(script(tmp_path / "quiet", "exit 3")))
    found = the(look("compilers"), "C compiler" if name == "CC" else "C++ compiler")
    assert found.state == "wrong"
    assert found.text.endswith("failed or is neither gcc nor clang; it said nothing (status 3)")
    assert f"set {name} to gcc or clang" in found.fix


_OLD = 'echo "Target: x86_64-linux-gnu" >&2; echo "gcc version 4.8.5 (old)" >&2'


def test_an_old_compiler(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script) -> None:
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", _OLD)))
    found = the(look("compilers"), "C++ compiler")
    assert (found.state, found.text) == ("wrong", f"{tmp_path}/g++ is gcc 4.8.5, expected gcc 11 or newer")
    assert found.fix == "install a newer one and point CXX at it"


def test_a_compiler_that_fails(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script) -> None:
    real = shutil.which("g++") or shutil.which("c++")
    body = f'case "$*" in *-v*) exec {real} "$@";; esac\necho "g++: fatal error: cannot execute cc1plus" >&2\nexit 1'
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", body)))
    found = the(look("compilers"), "C++ compiles and links")
    assert found.state == "wrong"
    assert "g++: fatal error: cannot execute cc1plus (status 1)" in found.text
    assert "set CXX to another" in found.fix


def test_a_compiler_that_crashes(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script) -> None:
    real = shutil.which("g++") or shutil.which("c++")
    body = f'case "$*" in *-v*) exec {real} "$@";; esac\nkill -SEGV $$'
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", body)))
    assert "it said nothing (signal 11)" in the(look("compilers"), "C++ compiles and links").text


def test_no_linker(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", f"{shutil.which('c++')} -Wl,--no-such-option")
    assert the(look("compilers"), "C++ compiles and links").state == "wrong"


@pytest.mark.parametrize("when", ["asked", "compiling"])
def test_a_hanging_compiler(
    when: str, look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script
) -> None:
    monkeypatch.setattr("opwright.doctor.compilers._SECONDS", 1.5)
    real = shutil.which("g++") or shutil.which("c++")
    body = "sleep 60" if when == "asked" else f'case "$*" in *-v*) exec {real} "$@";; esac\nsleep 60'
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", body)))
    started = time.monotonic()
    found = wrong(look("compilers"))
    assert time.monotonic() - started < 20
    says = "didn't say what it is within 1.5 seconds" if when == "asked" else "didn't answer within 1.5 seconds"
    assert says in found[0].text
    assert found[0].topic == ("C++ compiler" if when == "asked" else "C++ compiles and links")


def test_no_python_header(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(tmp_path))
    found = the(look("compilers"), "Python.h")
    assert found.state == "wrong"
    assert found.text.startswith(f"it is missing in {tmp_path}: extensions that include torch/extension.h")
    assert f"apt install python{sys.version_info[0]}.{sys.version_info[1]}-dev" in found.fix


def test_no_place_for_temporary_files(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: Any, **_options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    found = the(look("compilers"), "temporary files")
    assert "No space left on device" in found.text
    assert "TMPDIR" in found.fix


def test_a_launcher_that_does_not_work(
    look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script
) -> None:
    monkeypatch.setenv(
        "OPWRIGHT_LAUNCHER", str(script(tmp_path / "ccache", "echo 'ccache: error: no disk' >&2; exit 1"))
    )
    found = the(look("compilers"), "C++ launcher")
    assert found.state == "wrong"
    assert "ccache: error: no disk" in found.text


# The cache


def test_a_cache_as_it_should_be(look: Look, cache: Path) -> None:
    found = look("cache")
    assert not wrong(found)
    assert str(cache) in the(found, "folder").text
    assert "limit 5.0 GiB" in the(found, "size").text
    assert list(cache.iterdir()) == []  # what was tried is gone


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_cache(look: Look, cache: Path) -> None:
    cache.mkdir(parents=True, mode=0o700)
    cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    found = the(look("cache"), "writing")
    assert (found.state, "Permission denied" in found.text) == ("wrong", True)


def test_a_cache_on_a_read_only_file_system(look: Look, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = open

    def refusing(path: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if ".doctor-" in str(path):
            raise OSError(errno.EROFS, "Read-only file system")
        return real(path, mode, *args, **options)

    monkeypatch.setattr(builtins, "open", refusing)
    found = the(look("cache"), "writing")
    assert found.text == f"can't write to the build cache {cache}: Read-only file system"
    assert "set TORCH_EXTENSIONS_DIR to a folder of your own" in found.fix


def test_a_cache_that_is_a_file(look: Look, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("")
    found = the(look("cache"), "folder")
    assert (found.state, found.text) == ("wrong", f"the build cache {cache} is not a folder")


def test_a_cache_that_others_can_write_to(look: Look, cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    found = the(look("cache"), "folder")
    assert found.state == "wrong"
    assert "others can put code into it" in found.text


def test_a_full_disk(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs

    def nearly_full(path: Any) -> Any:
        found = real(path)
        return SimpleNamespace(f_bavail=10, f_frsize=4096, f_files=found.f_files, f_favail=found.f_favail or 1)

    monkeypatch.setattr(os, "statvfs", nearly_full)
    found = the(look("cache"), "space")
    assert (found.state, "only 40.0 KiB are free" in found.text) == ("wrong", True)
    assert "opwright cache clean" in found.fix


@pytest.mark.parametrize(
    ("mount", "topics", "says"),
    [
        (
            "-o size=256k,mode=700 none {0} && head -c 250000 /dev/zero > {0}/ballast",
            {"writing", "space"},
            errno.ENOSPC,
        ),
        (
            "-o size=99m,mode=700 none {0} && mkdir -m 700 {0}/opwright && mount -o remount,ro {0}",
            {"writing"},
            errno.EROFS,
        ),
    ],
    ids=["full", "read-only"],
)
def test_real_file_systems(mount: str, topics: set[str], says: int, tmp_path: Path) -> None:
    """Small ones of the test's own, where this user may mount any."""
    small, unshare = tmp_path / "small", shutil.which("unshare")
    small.mkdir()
    code = "from opwright.doctor import examine; print([(f.topic, f.text) for _, f in examine(['cache']).wrong])"
    run = f"TORCH_EXTENSIONS_DIR={small} {sys.executable} -c {shlex.quote(code)}"
    command = f"mount -t tmpfs {mount.format(small)} && {run}"
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user can mount nothing")
    done = subprocess.run([unshare, "-rm", "sh", "-c", command], capture_output=True, text=True, check=False)
    found: list[tuple[str, str]] = ast.literal_eval(done.stdout)
    assert {topic for topic, _ in found} == topics
    assert os.strerror(says) in found[0][1]


def test_a_cache_where_nothing_can_be_run_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Look) -> None:
    from opwright.doctor import cache as examined

    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        f"23 22 0:5 / {tmp_path} rw,nosuid,noexec shared:2 - tmpfs tmpfs rw\n"
    )
    real = examined.mount_of
    monkeypatch.setattr(examined, "mount_of", lambda path: real(path, str(table)))
    found = the(look("cache"), "file system")
    assert (found.state, found.text) == ("wrong", f"{tmp_path} is mounted noexec: libraries in it can't be loaded")
    table.write_text(f"23 22 0:5 / {tmp_path} rw - nfs4 server:/home rw\n")
    found = the(look("cache"), "file system")
    assert (found.state, "network" in found.text) == ("note", True)


def test_a_limit_that_is_no_size(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_CACHE_SIZE", "plenty")
    assert the(look("cache"), "limit").text.startswith("OPWRIGHT_CACHE_SIZE='plenty': expected a size")


# The environment


@pytest.mark.parametrize(
    ("name", "value", "text", "fix"),
    [
        ("MAX_JOBS", "many", "MAX_JOBS='many': expected a positive whole number", "MAX_JOBS=4"),
        ("MAX_JOBS", "0", "MAX_JOBS='0': expected a positive whole number", "MAX_JOBS=4"),
        ("OPWRIGHT_COMPILE_TIMEOUT", "-1", "OPWRIGHT_COMPILE_TIMEOUT='-1': expected seconds, more than 0", "unset it"),
        ("OPWRIGHT_CACHE_SIZE", "x", "OPWRIGHT_CACHE_SIZE='x': expected a size in bytes, or with K, M, G or T", "=2G"),
        ("OPWRIGHT_PRECOMPILE", "no", "OPWRIGHT_PRECOMPILE='no': expected background, wait or off", "unset it"),
        ("OPWRIGHT_RUNTIME", "rust", "OPWRIGHT_RUNTIME=rust names no runtime, expected native or python", "unset"),
        ("OPWRIGHT_LAUNCHER", "no-such -x", "OPWRIGHT_LAUNCHER asks for 'no-such', which is not on the PATH", "unset"),
    ],
)
def test_broken_variables(
    name: str, value: str, text: str, fix: str, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    found = the(look("environment"), name)
    assert (found.state, found.text) == ("wrong", text)
    assert fix in found.fix


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CXXFLAGS", "-bogus", "-bogus"),
        ("CFLAGS", "-O3 --no-such", "--no-such"),
        ("CPPFLAGS", "-include nowhere.h", "nowhere.h"),
        ("LDFLAGS", "-lno-such-library", "no-such-library"),
        ("CXXFLAGS", "-DX='a", "No closing quotation"),
    ],
)
def test_words_that_the_compiler_refuses(
    name: str, value: str, says: str, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    found = the(look("environment"), name)
    assert found.state == "wrong"
    assert found.text.startswith(f"{name}={value}")
    assert says in found.text.removeprefix(f"{name}={value}")


@pytest.mark.parametrize(
    ("name", "value"),
    [("CXXFLAGS", "-O3 -march=native"), ("CFLAGS", "-std=c11"), ("LDFLAGS", "-Wl,-O1 -lm"), ("CPPFLAGS", "-DX='a b'")],
)
def test_words_that_it_takes(name: str, value: str, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert the(look("environment"), name).state == "ok"


def test_variables_that_are_fine_are_told_with_what_they_do(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_JOBS", "3")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("CPATH", "/nowhere/include")
    found = look("environment")
    assert not wrong(found)
    assert the(found, "MAX_JOBS").text == "3: 3 compilers at once"
    assert the(found, "CUDA_VISIBLE_DEVICES").text == "0 (the GPUs that are seen)"
    assert the(found, "CPATH").state == "note"
    assert the(found, "TORCH_EXTENSIONS_DIR").text.endswith("(where the build cache is; judged in the section cache)")


def test_a_variable_that_nothing_reads(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_CACHESIZE", "2G")
    found = the(look("environment"), "OPWRIGHT_CACHESIZE")
    assert (found.state, "perhaps OPWRIGHT_CACHE_SIZE was meant" in found.text) == ("note", True)


def test_no_ninja_is_no_failure(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = the(look("ninja"), "ninja")
    assert (found.state, "not needed" in found.text) == ("note", True)


def test_a_ninja_that_does_not_work(
    look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script
) -> None:
    script(tmp_path / "ninja", "exit 3")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert the(look("ninja"), "ninja").text.startswith(f"{tmp_path}/ninja doesn't work: it said nothing (status 3)")


# PyTorch: each is a folder on the path of a fresh process, in front of the real one


def fake_torch(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(str(folder))


def test_torch_is_missing(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_torch(tmp_path, "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')", monkeypatch)
    found = the(look("torch"), "version")
    assert (found.state, found.text.split(" for ")[0]) == ("wrong", "PyTorch is not installed")
    assert found.fix.startswith("pip install opwright[torch]")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "raise ImportError('libtorch_cpu.so: cannot open shared object file')",
            "ImportError: libtorch_cpu.so: cannot",
        ),
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "it said nothing (signal 11)"),
        ("import sys; sys.exit('bye')", "SystemExit: bye"),
        ("import time; time.sleep(60)", "it didn't answer within 2 seconds"),
    ],
)
def test_a_torch_that_cannot_be_imported(
    text: str, says: str, look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("opwright.doctor.pytorch_facts.SECONDS", 2.0)
    fake_torch(tmp_path, text, monkeypatch)
    found = the(look("torch"), "import")
    assert found.state == "wrong"
    assert f"PyTorch can't be imported: {says}" in found.text
    assert "pip install --force-reinstall torch" in found.fix


def test_torch_is_too_old() -> None:
    found = only(pytorch.examine(TORCH._replace(version="2.9.1+cu128")), "version")
    assert (found.state, found.text) == (
        "wrong",
        "PyTorch 2.9.1+cu128 in /somewhere/torch is too old, expected 2.10 or newer",
    )
    assert found.fix == 'pip install "torch>=2.10"'
    assert only(pytorch.examine(TORCH._replace(version="2.10.0a0+git1")), "version").state == "ok"


def test_torch_without_headers(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    found = only(pytorch.examine(TORCH._replace(file=str(tmp_path / "__init__.py"))), "files")
    assert found.state == "wrong"
    assert found.text.startswith(f"PyTorch's headers and C10 headers are missing below {tmp_path}")


def test_an_old_abi_is_noted() -> None:
    found = only(pytorch.examine(TORCH._replace(cxx11_abi=False)), "C++ ABI")
    assert (found.state, "-D_GLIBCXX_USE_CXX11_ABI=0" in found.fix) == ("note", True)


def test_the_real_torch() -> None:
    import torch

    facts = torch_facts()
    assert (facts.problem, facts.version, facts.file) == ("", torch.__version__, torch.__file__)
    assert facts.compiler
    assert not [finding for finding in pytorch.examine(facts) if finding.state == "wrong"]


@pytest.mark.parametrize(
    ("facts", "asked", "state", "text"),
    [
        (TORCH, "", "note", "isn't built yet"),
        (TORCH._replace(runtime="/cache/runtime.so"), "", "ok", "/cache/runtime.so"),
        (TORCH._replace(runtime_problem="no C++ compiler"), "", "wrong", "the one in Python is used: no C++ compiler"),
        (TORCH._replace(runtime_problem="bad\n  likely fix: x"), "native", "wrong", "the native one can't be had: bad"),
        (TORCH, "python", "ok", "in Python is asked for"),
        (TorchFacts(missing=True), "", "note", "not looked for"),
    ],
)
def test_the_runtime(facts: TorchFacts, asked: str, state: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_RUNTIME", asked)
    (found,) = tools.runtime(facts)
    assert (found.state, text in found.text) == (state, True), found


# CUDA


def test_cuda_home_points_nowhere(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/nowhere/cuda")
    found = the(look("cuda"), "toolkit")
    assert (found.state, found.text) == ("wrong", "CUDA_HOME=/nowhere/cuda: there is no folder /nowhere/cuda")
    assert found.fix.startswith("unset CUDA_HOME, or set it to the folder that has bin/nvcc and include")


def test_cuda_home_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    found = only(cuda.examine(find_toolkit(), TORCH), "toolkit")
    assert (found.state, found.text) == ("wrong", f"CUDA_PATH={tmp_path}: there is no compiler {tmp_path}/bin/nvcc")


_NVCC = """case "$1" in
  --version) echo 'Cuda compilation tools, release 12.4, V12.4.99';;
  --list-gpu-arch) echo compute_80; echo compute_90;;
  --dryrun) echo '#$ TOP='{top} >&2;;
esac"""


def toolkit_in(folder: Path, script: Script, *, header: bool = True) -> Path:
    script(folder / "bin" / "nvcc", _NVCC.replace("{top}", str(folder)))
    if header:
        (folder / "include" / "crt").mkdir(parents=True)
        (folder / "include" / "cuda_runtime.h").touch()
        (folder / "include" / "crt" / "host_config.h").write_text(
            "#if __GNUC__ > 9\n#endif\n#if (__clang_major__ >= 12) || (__clang_major__ < 3)\n#endif\n"
        )
    return folder


def test_nvcc_on_the_path_is_a_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script) -> None:
    """PyTorch takes the folder above for the toolkit, and finds no header there."""
    real = toolkit_in(tmp_path / "cuda-12.4", script)
    script(tmp_path / "bin" / "nvcc", f'exec {real}/bin/nvcc "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    found = only(cuda.examine(find_toolkit(), CUDA_TORCH), "toolkit")
    assert found.state == "wrong"
    assert f"there is no header {tmp_path}/include/cuda_runtime.h (nvcc itself lies in {real})" in found.text
    assert found.fix == f"export CUDA_HOME={real}"
    assert only(cuda.examine(find_toolkit(), TORCH), "toolkit").state == "note"  # nothing on the CPU needs it


def test_a_toolkit_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script) -> None:
    monkeypatch.setenv("CUDA_HOME", str(toolkit_in(tmp_path, script)))
    toolkit = find_toolkit()
    assert toolkit
    assert (toolkit.version, toolkit.gpus, toolkit.newest_gcc, toolkit.newest_clang) == ("12.4", ("80", "90"), 9, 11)
    found = list(cuda.examine(toolkit, CUDA_TORCH))
    mismatch, host = only(found, "against PyTorch"), only(found, "host compiler")
    assert mismatch.state == host.state == "wrong"
    assert "the toolkit is CUDA 12.4, but PyTorch was built with 13.0" in mismatch.text
    assert "is too new for CUDA 12.4" in host.text
    assert only(cuda.examine(toolkit, TORCH), "host compiler").state == "note"


def test_an_nvcc_that_does_not_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script) -> None:
    script(tmp_path / "bin" / "nvcc", "echo 'nvcc fatal: no license'; exit 1")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    found = only(cuda.examine(find_toolkit(), TORCH), "toolkit")
    assert f"{tmp_path}/bin/nvcc can't be run: nvcc fatal: no license (status 1)" in found.text


def test_no_toolkit_is_no_failure() -> None:
    (found,) = [f for f in cuda.examine(None, CUDA_TORCH) if f.topic == "toolkit"]
    assert (found.state, "install the toolkit 13.0" in found.fix) == ("note", True)


def test_two_toolkits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_PATH", "/usr")
    assert only(cuda.examine(find_toolkit(), TORCH), "variables").state == "wrong"


# GPUs and what is compiled for them

H100 = Gpu("NVIDIA H100", 9, 0, 80 << 30)


def test_a_driver_that_is_too_old_for_torch() -> None:
    found = only(gpu.examine(Gpus("12.4", "", (H100,)), CUDA_TORCH), "driver against PyTorch")
    assert (found.state, found.text) == ("wrong", "the driver speaks CUDA 12.4, but PyTorch was built with 13.0")


def test_a_driver_that_does_not_start() -> None:
    broken = Gpus("13.0", "the driver can't start: its kernel module has another version (803)")
    assert only(gpu.examine(broken, CUDA_TORCH), "driver").state == "wrong"
    assert only(gpu.examine(broken, TORCH), "driver").state == "note"


def test_no_gpu_is_no_failure() -> None:
    assert [finding.state for finding in gpu.examine(Gpus(), CUDA_TORCH)] == ["note"]
    devices = list(gpu.examine(Gpus("13.0", "", (H100,)), TORCH))
    assert [finding.state for finding in devices] == ["ok", "ok", "note"]
    assert "NVIDIA H100, compute capability 9.0, 80 GiB" in devices[1].text


@pytest.mark.parametrize(
    ("built_for", "works"),
    [
        (("sm_80", "sm_90"), True),
        (("sm_80", "sm_86"), False),
        (("sm_80", "compute_80"), True),
        (("sm_100", "compute_100"), False),
        (("sm_90a",), True),
        ((), True),
    ],
)
def test_a_gpu_that_torch_has_no_code_for(built_for: tuple[str, ...], works: bool) -> None:
    found = list(gpu.examine(Gpus("13.0", "", (H100,)), CUDA_TORCH._replace(architectures=built_for)))
    assert [finding.topic for finding in found if finding.state == "wrong"] == ["device"] * (not works)
    assert works or found[-1].text == f"PyTorch has no code for NVIDIA H100 (9.0), only for {', '.join(built_for)}"


_DRIVER = """
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int cuInit(unsigned flags) {
  const char *how = getenv("FAKE_DRIVER");
  if (!strcmp(how, "hangs")) sleep(60);
  if (!strcmp(how, "crashes")) abort();
  return atoi(how);
}
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 10 + ordinal; return 0; }
int cuDeviceGetName(char *name, int size, int device) { strncpy(name, device == 10 ? "one" : "two", size); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)(device - 9) << 30; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 8 : device - 10;
  return 0;
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the driver's functions, which does what FAKE_DRIVER says."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(_DRIVER)
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler")
    words = [compiler, "-shared", "-fPIC", str(folder / "driver.c"), "-o", str(folder / "libcuda.so.1")]
    subprocess.run(words, check=True)
    return folder


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("0", Gpus("12.8", "", (Gpu("one", 8, 0, 1 << 30), Gpu("two", 8, 1, 2 << 30)))),
        ("803", Gpus("12.8", "the driver can't start: its kernel module has another version (803)")),
        ("hangs", Gpus("?", "the driver (libcuda.so.1) doesn't work: it didn't answer within 2 seconds")),
        ("crashes", Gpus("?", "the driver (libcuda.so.1) doesn't work: it said nothing (signal 6)")),
    ],
)
def test_what_drivers_say(how: str, expected: Gpus, driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opwright.doctor.gpu._SECONDS", 2.0)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(driver))
    monkeypatch.setenv("FAKE_DRIVER", how)
    assert gpu.find_gpus() == expected


@pytest.mark.parametrize(
    ("given", "says", "fix"),
    [
        ("8.0,9.0", "'8.0,9.0' can't be read", 'versions with ";" between them'),
        ("sm_90", "'sm_90' can't be read", "8.0;8.6;9.0+PTX"),
        ("Hoper", "'Hoper' can't be read", "8.0;8.6;9.0+PTX"),
        (
            "6.1;8.0",
            "nvcc 13.0 doesn't compile for 6.1; it knows 7.5, 8.0, 8.6, 9.0, 10.0",
            'TORCH_CUDA_ARCH_LIST="8.0"',
        ),
        ("Pascal", "doesn't compile for 6.0, 6.1+PTX", "8.0;8.6;9.0+PTX"),
        ("8.0;8.6", "leaves out NVIDIA H100 (9.0): nothing would run there", '"8.0;8.6;9.0"'),
    ],
)
def test_architecture_lists_that_do_not_work(given: str, says: str, fix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", given)
    (found,) = architectures.examine(TOOLKIT, [H100])
    assert (found.state, says in found.text, fix in found.fix) == ("wrong", True, True), found


@pytest.mark.parametrize("given", ["9.0", "8.0+PTX", "8.0 9.0a", "Hopper", "Ampere;Hopper", "native", ""])
def test_architecture_lists_that_work(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", given)
    (found,) = architectures.examine(TOOLKIT, [H100])
    assert found.state == "ok"


def test_an_architecture_list_without_gpu_or_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_CUDA_ARCH_LIST", raising=False)
    (found,) = architectures.examine(None, [])
    assert (found.state, "no GPU is here" in found.text) == ("note", True)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    (found,) = architectures.examine(None, [])
    assert (found.state, "there is no nvcc" in found.text) == ("ok", True)


# Packages


def test_packages_that_are_missing_or_old(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    installed = {"opwright": "1.0", "click": "7.0", "rich": "15.0"}
    asked = ["click>=8.1", "rich>=13.7", "tree-sitter>=0.24", "matplotlib>=3.8; extra == 'bench'"]
    asked += ["ruff>=0.1; extra == 'dev'", "opwright[bench]; extra == 'all'", "colorama>=0; sys_platform == 'win32'"]

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    class Metadata:
        @staticmethod
        def get_all(_key: str) -> list[str]:
            return ["bench", "dev", "all"]

    monkeypatch.setattr(metadata, "requires", lambda _name: asked)
    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "metadata", lambda _name: Metadata)
    found = {finding.topic: finding for finding in tools.packages()}
    assert found.keys() == {"opwright", "click", "rich", "tree-sitter", "matplotlib"}
    assert (found["click"].state, found["click"].text) == ("wrong", "7.0 is installed, expected click>=8.1")
    assert (found["tree-sitter"].state, found["tree-sitter"].fix) == ("wrong", 'pip install "tree-sitter>=0.24"')
    assert (found["matplotlib"].state, found["matplotlib"].fix) == ("note", "pip install opwright[bench]")
