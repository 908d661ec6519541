"""Libraries that NVRTC has compiled, and a driver that only takes notes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from opwright.codegen.backends import CudaText
from opwright.cuda.nvrtc import Nvrtc
from opwright.toolchain import Options, line_directive

Build = Callable[..., Path]
Play = Callable[..., Any]

_PLAY = """
import ctypes, json, sys
library, fake, script = sys.argv[1:]
driver = ctypes.CDLL(fake) if fake else None
if driver:
    driver.fake_notes.restype = ctypes.c_char_p
kernels = ctypes.CDLL(library)
def notes():
    found = driver.fake_notes().decode().splitlines()
    driver.fake_clear()
    return found
def text(function, *values):
    function = getattr(kernels, function)
    function.restype = ctypes.c_char_p
    return function(*values).decode()
said = []
exec(script)
print(json.dumps(said))
"""


@pytest.fixture(scope="session")
def needs_nvrtc() -> None:
    """Nothing can be compiled where there is no NVRTC."""
    if problem := Nvrtc().missing():
        pytest.skip(problem)


@pytest.fixture(scope="session")
def build(needs_nvrtc: None, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The library of a CUDA text: ``build(text, "7.5;9.0+PTX")``."""

    def to(text: str, architectures: str = "9.0", name: str = "kernels.cu", **options: Any) -> Path:
        source = tmp_path_factory.mktemp("cuda") / name
        source.write_text(text)
        whole = CudaText(source.stem, f"{line_directive(source)}\n{text}", source)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TORCH_CUDA_ARCH_LIST", architectures)
            return Nvrtc(options.pop("words", ())).build(whole, Options(**options))

    return to


@pytest.fixture(scope="session")
def fake_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that is taken for libcuda.so.1 where it is loaded first."""
    path = tmp_path_factory.mktemp("driver") / "fake.so"
    source = Path(__file__).with_name("fake_driver.c")
    command = ["cc", "-shared", "-fPIC", "-O1", "-w", "-Wl,-soname,libcuda.so.1", str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def play(fake_driver: Path) -> Play:
    """What a script in a process of its own puts into `said`; it has `kernels` (the library), `driver`, `notes()`."""

    def to(library: Path, script: str, environment: Mapping[str, str] | None = None, *, driver: bool = True) -> Any:
        command = [sys.executable, "-c", _PLAY, str(library), str(fake_driver) if driver else "", script]
        inherited = {**os.environ, **(environment or {})}
        done = subprocess.run(command, capture_output=True, text=True, env=inherited, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return to
