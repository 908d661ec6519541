"""Broken environments, the ones that the doctor names (tests/doctor/test_broken.py): `load` names their causes, too."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.cpp_extension import load
from opwright.errors import OpwrightError

Broken = Callable[[], str]
REAL = shutil.which("g++") or shutil.which("c++")
ASKED = f'case "$*" in *-v*) exec {REAL} "$@";; esac\n'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache root of this test."""
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    return tmp_path / "extensions" / "opwright"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """An extension without headers, quickly compiled."""
    path = tmp_path / "plain.cpp"
    path.write_text('extern "C" int answer() { return 41; }\n')
    return path


@pytest.fixture
def broken(plain: Path) -> Broken:
    """What `load` says of this environment."""

    def attempt() -> str:
        with pytest.raises((OpwrightError, ImportError)) as raised:
            load("broken", [plain], is_python_module=False)
        return str(raised.value)

    return attempt


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def names(said: str, *parts: str) -> None:
    """Assert that all parts are said, and one fix."""
    assert not [part for part in parts if part not in said], said
    assert said.count("likely fix: ") == 1, said


# Compilers


def test_cxx_points_nowhere(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    names(broken(), "CXX=/nowhere/g++: there is no program '/nowhere/g++'", "likely fix: correct CXX or unset it")


def test_an_old_compiler(broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = 'echo "Target: x86_64-linux-gnu" >&2; echo "gcc version 4.8.5 (old)" >&2'
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", old)))
    names(broken(), f"{tmp_path}/g++ is gcc 4.8.5, expected gcc 11 or newer", "install a newer one and point CXX at it")


def test_a_compiler_that_fails(broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    body = ASKED + 'echo "g++: fatal error: cannot execute cc1plus" >&2\nexit 1'
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", body)))
    names(broken(), "cannot execute cc1plus", "reinstall", "CXX")


def test_a_compiler_that_crashes(broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", ASKED + "kill -SEGV $$")))
    names(broken(), "signal 11", "CXX")


def test_no_linker(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", f"{REAL} -Wl,--no-such-option")
    names(broken(), "--no-such-option")


@pytest.mark.parametrize("when", ["asked", "compiling"])
def test_a_hanging_compiler(when: str, broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("opwright.toolchain.compiler.find_compiler.__kwdefaults__", {"seconds": 1.5})
    monkeypatch.setenv("OPWRIGHT_COMPILE_TIMEOUT", "1.5")
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", ("" if when == "asked" else ASKED) + "sleep 60")))
    started = time.monotonic()
    said = broken()
    assert time.monotonic() - started < 20
    says = "didn't say what it is within 1.5 seconds" if when == "asked" else "OPWRIGHT_COMPILE_TIMEOUT"
    names(said, str(tmp_path / "g++"), says)


def test_no_place_for_temporary_files(broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    assert ctypes.CDLL(str(load_plain(tmp_path))).answer() == 41  # the cache is enough


def load_plain(folder: Path) -> object:
    return load("broken", [folder / "plain.cpp"], is_python_module=False)


def test_a_launcher_that_does_not_work(broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    launcher = script(tmp_path / "ccache", "echo 'ccache: error: no disk' >&2; exit 1")
    monkeypatch.setenv("OPWRIGHT_LAUNCHER", str(launcher))
    names(broken(), "ccache: error: no disk", "OPWRIGHT_LAUNCHER")


# The cache


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_cache(broken: Broken, cache: Path) -> None:
    cache.mkdir(parents=True, mode=0o700)
    cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    names(broken(), f"can't write to the build cache {cache}: Permission denied", "TORCH_EXTENSIONS_DIR")


def test_a_cache_that_is_a_file(broken: Broken, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("")
    names(broken(), f"the build cache {cache} is not a folder", "remove it")


def test_a_cache_that_others_can_write_to(broken: Broken, cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    names(broken(), "others can put code into it", "chmod 700")


LOAD = """
import sys
from opwright.cpp_extension import load
from opwright.errors import OpwrightError
try:
    load("broken", [sys.argv[1]], is_python_module=False)
except (OpwrightError, ImportError) as error:
    print(type(error).__name__, error)
"""
TEXT = {"plain": 'extern "C" int answer() { return 41; }\n', "torch": "#include <torch/extension.h>\n"}


@pytest.mark.parametrize("text", TEXT)
@pytest.mark.parametrize(
    ("mount", "says", "fix"),
    [
        ("size=256k,mode=700 none {0} && head -c 250000 /dev/zero > {0}/ballast", "No space left on device", "free"),
        (
            "size=99m,mode=700 none {0} && mkdir -m 700 {0}/opwright && mount -o remount,ro {0}",
            "Read-only file system",
            "set TORCH_EXTENSIONS_DIR to a folder of your own",
        ),
    ],
    ids=["full", "read-only"],
)
def test_real_file_systems(mount: str, says: str, fix: str, text: str, tmp_path: Path) -> None:
    done = mounted(mount, TEXT[text], tmp_path)
    names(done, "ToolchainError", f"can't write to the build cache {tmp_path}/small/opwright: {says}", fix)


def test_a_disk_that_gets_full_while_it_is_compiled(tmp_path: Path) -> None:
    """There is room for the folders and not for what the compiler writes: that is no mistake in the source."""
    text = "extern const char data[] = {" + "1," * 400_000 + "};\n"
    done = mounted("size=256k,mode=700 none {0}", text, tmp_path)
    names(done, "No space left on device", "free some disk space", "TORCH_EXTENSIONS_DIR")


def test_a_cache_where_nothing_can_be_run_from(tmp_path: Path) -> None:
    done = mounted("size=99m,mode=700,noexec none {0}", TEXT["plain"], tmp_path)
    names(done, "ImportError", "mounted noexec", "set TORCH_EXTENSIONS_DIR to a folder elsewhere")


def mounted(mount: str, text: str, folder: Path) -> str:
    """What `load` says with its cache in a small file system of the test's own, where this user may mount any."""
    small, unshare, source = folder / "small", shutil.which("unshare"), folder / "mounted.cpp"
    small.mkdir()
    source.write_text(text)
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user can mount nothing")
    words = [sys.executable, "-c", LOAD, str(source)]
    command = f"mount -t tmpfs -o {mount.format(small)} && TORCH_EXTENSIONS_DIR={small} {shlex.join(words)}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPWRIGHT_PRECOMPILE": "off"}
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", command], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# The environment


@pytest.mark.parametrize(
    ("name", "value", "text", "fix"),
    [
        ("MAX_JOBS", "many", "MAX_JOBS='many': expected a positive whole number", "MAX_JOBS=4"),
        ("MAX_JOBS", "0", "MAX_JOBS='0': expected a positive whole number", "MAX_JOBS=4"),
        ("OPWRIGHT_COMPILE_TIMEOUT", "-1", "OPWRIGHT_COMPILE_TIMEOUT='-1': expected seconds, more than 0", "unset it"),
        ("OPWRIGHT_CACHE_SIZE", "x", "OPWRIGHT_CACHE_SIZE='x': expected a size in bytes, or with K, M, G or T", "=2G"),
        ("OPWRIGHT_PRECOMPILE", "no", "OPWRIGHT_PRECOMPILE='no': expected background, wait or off", "unset it"),
        ("OPWRIGHT_LAUNCHER", "no-such -x", "OPWRIGHT_LAUNCHER asks for 'no-such', which is not on the PATH", "unset"),
    ],
)
def test_broken_variables(
    name: str, value: str, text: str, fix: str, plain: Path, broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "OPWRIGHT_PRECOMPILE":
        plain.write_text("#include <torch/extension.h>\n")
    monkeypatch.setenv(name, value)
    names(broken(), text, fix)


# PyTorch: each is a folder on the path of a fresh process, in front of the real one


def fake_torch(folder: Path, text: str, version: str | None, *, headers: bool = True) -> str:
    """What `load` says where this is PyTorch."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(text)
    if version is not None:
        (folder / "torch" / "version.py").write_text(f"__version__ = {version!r}\ncuda = None\n")
    if headers:
        (folder / "torch" / "include" / "torch").mkdir(parents=True)
        (folder / "torch" / "include" / "torch" / "extension.h").touch()
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder / "plain.cpp")],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    return done.stdout + done.stderr


def test_torch_is_missing(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ModuleNotFoundError) as raised:
        load("broken", [plain])
    names(str(raised.value), "needs PyTorch 2.10 or newer, and none is installed", "pip install opwright[torch]")


def test_torch_is_not_whole(plain: Path, tmp_path: Path) -> None:
    said = fake_torch(tmp_path, "", version=None)
    names(said, f"the PyTorch in {tmp_path}/torch isn't whole", "pip install --force-reinstall torch")


def test_torch_is_too_old(plain: Path, tmp_path: Path) -> None:
    said = fake_torch(tmp_path, "", "2.9.1+cu128")
    names(said, f"PyTorch 2.9.1+cu128 in {tmp_path}/torch is too old, expected 2.10 or newer", 'pip install "torch>=')


def test_torch_without_headers(plain: Path, tmp_path: Path) -> None:
    said = fake_torch(tmp_path, "", "2.13.0", headers=False)
    names(said, f"the PyTorch in {tmp_path}/torch has no headers", "pip install --force-reinstall torch")
