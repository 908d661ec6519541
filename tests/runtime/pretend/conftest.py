"""A pretended device in place of CUDA. It is the process's for ever, so that these tests run in one of their own.

``tests/runtime/test_pretended.py`` starts it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.backend_registration import rename_privateuse1_backend

import opwright
from opwright.codegen import KernelSource
from opwright.codegen.library import Instance
from opwright.runtime.load.loading import load_sources
from opwright.toolchain import Built, Options, Unit, build

KIND = "pretended"
HERE = Path(__file__).parent

collect_ignore_glob = [] if os.environ.get("OPWRIGHT_TEST_PRETENDED") else ["test_*.py"]


class Relabelled(KernelSource):
    """What it has for "cuda" is C++ that the pretended device's processor runs."""

    def built(self, instances: Sequence[Instance], device: str, *, rebuild: bool = False) -> Built:
        unit = self._unit([replace(instance, cuda=False) for instance in instances])
        text = unit.text.replace('"cpu", &opwright', f'"{device}", &opwright')
        return build(replace(unit, text=text), self.options, rebuild=rebuild)

    def _present(self, *_: object) -> None:
        """There is no back end that could look for a library."""


class Pretended:
    """The device, and what it has noted."""

    def __init__(self) -> None:
        root = Path(torch.__file__).parent
        options = Options(
            native=False,
            std="c++20",
            define=(f"_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",),
            system_include_dirs=(root / "include", root / "include/torch/csrc/api/include"),
            extra_cflags=("-O0",),
            extra_ldflags=(f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"),
            identity=torch.__version__,
        )
        unit = Unit("pretended", (HERE / "device.cpp").read_text(), HERE / "device.cpp", embeds=True)
        self.library: Any = ctypes.CDLL(str(build(unit, options).path))
        for name in ("handle", "blocks", "waits", "copies"):
            self.library[f"pretend_{name}"].restype = ctypes.c_int64
            setattr(self, name, self.library[f"pretend_{name}"])
        self.library.pretend_begin()
        self.captured = False

    @contextlib.contextmanager
    def stream(self, device: int, number: int) -> Iterator[int]:
        """Make another stream the current one there; its handle."""
        stream = self.library.pretend_stream
        stream.argtypes = [ctypes.c_int, ctypes.c_int64]
        stream(device, number)
        try:
            yield self.library.pretend_handle(device)
        finally:
            stream(device, 0)

    @contextlib.contextmanager
    def state(self, *, captured: bool = False, broken: bool = False) -> Iterator[None]:
        """Capture streams; or have everything fail that is waited for."""
        self.library.pretend_state(int(captured), int(broken))
        self.captured = captured
        try:
            yield
        finally:
            self.library.pretend_state(0, 0)
            self.captured = False

    @contextlib.contextmanager
    def on(self, device: torch.device) -> Iterator[None]:
        before = self.library.pretend_current()
        self.library.pretend_device(device.index)
        try:
            yield
        finally:
            self.library.pretend_device(before)

    def module(self) -> Any:
        """What ``torch.cuda`` is for CUDA, as far as it is asked."""
        made: Any = types.ModuleType(f"torch.{KIND}")
        made.device = self.on
        made.current_stream = lambda device: types.SimpleNamespace(
            cuda_stream=self.library.pretend_handle(device.index), synchronize=torch.Stream(device).synchronize
        )
        made.is_current_stream_capturing = lambda: self.captured
        made.default_generators = [torch.Generator(device=f"{KIND}:{i}") for i in range(2)]
        made.get_rng_state, made.set_rng_state = (lambda: torch.zeros(0, dtype=torch.uint8)), (lambda _state: None)
        made._is_in_bad_fork = lambda: False
        made.manual_seed_all = lambda seed: [g.manual_seed(seed) for g in made.default_generators]
        made.is_available, made.device_count = lambda: True, lambda: 2
        made.current_device = self.library.pretend_current
        made.get_amp_supported_dtype = lambda: [torch.float16, torch.bfloat16]
        return made


def begin() -> Pretended:
    """Put the device into the runtime that ``OPWRIGHT_RUNTIME`` asks for."""
    rename_privateuse1_backend(KIND)
    found = Pretended()
    torch._register_device_module(KIND, found.module())
    if os.environ["OPWRIGHT_RUNTIME"] == "python":
        from opwright.runtime.python.devices import accelerator

        accelerator.kind, accelerator.key = KIND, "PrivateUse1"
    else:
        from opwright.runtime.register.kernels import started_runtime

        runtime: Any = started_runtime()
        runtime._library.set_accelerator(20)  # c10::DeviceType::PrivateUse1
    return found


def operators() -> opwright.Operators:
    """Operators with kernels for the CPU and for the device."""
    sources = [Relabelled(HERE / name, Options()) for name in ("kernels.cpp", "kernels.cu")]
    return load_sources(sources, "pretended_ops", ())


@pytest.fixture(scope="session")
def pretended() -> Pretended:
    """The device."""
    return begin()


@pytest.fixture(scope="session")
def ops(pretended: Pretended) -> opwright.Operators:
    """Operators with kernels for both devices, or for one."""
    return operators()


@pytest.fixture(scope="session")
def there(pretended: Pretended) -> Callable[..., torch.Tensor]:
    """Puts a tensor on the device: ``there(t)``, ``there(t, 1)``."""
    return lambda t, index=0: t.to(f"{KIND}:{index}")
