"""Broken environments, the ones that the doctor names (tests/doctor): `load` names their causes, too."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.cpp_extension import load
from opwright.errors import OpwrightError
from tests.broken import CRASHING, FAILING, FULL, HANGING, LAUNCHER, OLD, READ_ONLY, REAL, VARIABLES, mounted, script

Broken = Callable[[], str]


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


def assert_says(said: str, *parts: str) -> None:
    """Assert that all parts are said, and one fix."""
    assert not [part for part in parts if part not in said], said
    assert said.count("likely fix: ") == 1, said


# Compilers


def test_cxx_points_nowhere(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    assert_says(broken(), "CXX=/nowhere/g++: there is no program '/nowhere/g++'", "likely fix: correct CXX or unset it")


def test_an_old_compiler(broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", OLD)))
    assert_says(
        broken(), f"{tmp_path}/g++ is gcc 4.8.5, expected gcc 11 or newer", "install a newer one and point CXX at it"
    )


def test_a_compiler_that_fails(broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", FAILING)))
    assert_says(broken(), "cannot execute cc1plus", "reinstall", "CXX")


def test_a_compiler_that_crashes(broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", CRASHING)))
    assert_says(broken(), "signal 11", "CXX")


def test_no_linker(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", f"{REAL} -Wl,--no-such-option")
    assert_says(broken(), "--no-such-option")


@pytest.mark.slow
@pytest.mark.parametrize("when", HANGING)
def test_a_hanging_compiler(when: str, broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("opwright.toolchain.compilers.compiler.find_compiler.__kwdefaults__", {"seconds": 1.5})
    monkeypatch.setenv("OPWRIGHT_COMPILE_TIMEOUT", "1.5")
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", HANGING[when])))
    started = time.monotonic()
    said = broken()
    assert time.monotonic() - started < 20
    if when == "asked":
        assert_says(said, str(tmp_path / "g++"), "didn't say what it is within 1.5 seconds")
    else:
        assert_says(said, "the compiler was stopped after 1.5 seconds", "OPWRIGHT_COMPILE_TIMEOUT", "full log: ")


def test_no_place_for_temporary_files(broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    assert ctypes.CDLL(str(load_plain(tmp_path))).answer() == 41  # the cache is enough


def load_plain(folder: Path) -> object:
    return load("broken", [folder / "plain.cpp"], is_python_module=False)


def test_a_launcher_that_does_not_work(broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPWRIGHT_LAUNCHER", str(script(tmp_path / "ccache", LAUNCHER)))
    assert_says(broken(), "ccache: error: no disk", "OPWRIGHT_LAUNCHER")


# The cache


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_cache(broken: Broken, cache: Path) -> None:
    cache.mkdir(parents=True, mode=0o700)
    cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert_says(broken(), f"can't write to the build cache {cache}: Permission denied", "TORCH_EXTENSIONS_DIR")


def test_a_cache_that_is_a_file(broken: Broken, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("")
    assert_says(broken(), f"the build cache {cache} is not a folder", "remove it")


def test_a_cache_that_others_can_write_to(broken: Broken, cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert_says(broken(), "others can put code into it", "chmod 700")


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
        (FULL, "No space left on device", "free"),
        (READ_ONLY, "Read-only file system", "set TORCH_EXTENSIONS_DIR to a folder of your own"),
    ],
    ids=["full", "read-only"],
)
def test_real_file_systems(mount: str, says: str, fix: str, text: str, tmp_path: Path) -> None:
    done = loaded(mount, TEXT[text], tmp_path)
    assert_says(done, "ToolchainError", f"can't write to the build cache {tmp_path}/small/opwright: {says}", fix)


@pytest.mark.exhaustive
def test_a_disk_that_gets_full_while_it_is_compiled(tmp_path: Path) -> None:
    """There is room for the folders and not for what the compiler writes: that is no mistake in the source."""
    text = "extern const char data[] = {" + "1," * 400_000 + "};\n"
    done = loaded("size=256k,mode=700 none {0}", text, tmp_path)
    assert_says(done, "No space left on device", "free some disk space", "TORCH_EXTENSIONS_DIR")


@pytest.mark.slow
def test_a_cache_where_nothing_can_be_run_from(tmp_path: Path) -> None:
    done = loaded("size=99m,mode=700,noexec none {0}", TEXT["plain"], tmp_path)
    assert_says(done, "ImportError", "mounted noexec", "set TORCH_EXTENSIONS_DIR to a folder elsewhere")


def loaded(mount: str, text: str, folder: Path) -> str:
    """What `load` says with its cache in a small file system."""
    source = folder / "mounted.cpp"
    source.write_text(text)
    return mounted(mount, folder / "small", "-c", LOAD, str(source), OPWRIGHT_PRECOMPILE="off")


# The environment


@pytest.mark.parametrize(("name", "value", "text", "fix"), VARIABLES)
def test_broken_variables(
    name: str, value: str, text: str, fix: str, plain: Path, broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "OPWRIGHT_PRECOMPILE":
        plain.write_text("#include <torch/extension.h>\n")
    monkeypatch.setenv(name, value)
    assert_says(broken(), text, fix)


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
    assert_says(str(raised.value), "needs PyTorch 2.10 or newer, and none is installed", "pip install opwright[torch]")


def test_torch_is_not_whole(plain: Path, tmp_path: Path) -> None:
    said = fake_torch(tmp_path, "", version=None)
    assert_says(said, f"the PyTorch in {tmp_path}/torch isn't whole", "pip install --force-reinstall torch")


def test_torch_is_too_old(plain: Path, tmp_path: Path) -> None:
    said = fake_torch(tmp_path, "", "2.9.1+cu128")
    assert_says(
        said, f"PyTorch 2.9.1+cu128 in {tmp_path}/torch is too old, expected 2.10 or newer", 'pip install "torch>='
    )


def test_torch_without_headers(plain: Path, tmp_path: Path) -> None:
    said = fake_torch(tmp_path, "", "2.13.0", headers=False)
    assert_says(said, f"the PyTorch in {tmp_path}/torch has no headers", "pip install --force-reinstall torch")
