"""Threads change places by the C library's contexts, as on processors that the emulator has no instructions for."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import numpy as np
import pytest

import opwright
from opwright.codegen.backends import CudaText
from opwright.cuda.emulation import Emulate
from opwright.toolchain import Options, find_compiler, header_dir
from tests.cuda.emulation.core.conftest import KERNELS, Program

RUNTIME = Path(opwright.__file__).parent / "cuda" / "emulation" / "csrc"
MACRO = "OPWRIGHT_EMULATION_UCONTEXT"


class WithContexts(Emulate):
    """The back end, with another runtime."""

    folder: Path

    def options(self, options: Options) -> Options:
        """As ever, but for the runtime."""
        found = super().options(options)
        library = str(self.folder / "libruntime.so")
        return dataclasses.replace(found, define=(*found.define, MACRO), extra_ldflags=(library,))


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> WithContexts:
    WithContexts.folder = tmp_path_factory.mktemp("runtime")
    files = [str(path) for path in sorted(RUNTIME.glob("*.cpp")) if not path.stem.startswith("check")]
    flags = [
        "-std=c++17",
        "-O1",
        "-fPIC",
        "-shared",
        "-pthread",
        "-fvisibility=hidden",
        f"-D{MACRO}",
        f"-I{header_dir()}",
    ]
    command = [str(find_compiler("c++").path), *flags, *files, "-o", str(WithContexts.folder / "libruntime.so")]
    subprocess.run(command, check=True, timeout=300)
    return WithContexts()


def built(backend: WithContexts, name: str) -> Program:
    path = KERNELS / f"{name}.cu"
    text = CudaText(name, f'#line 1 "{path}"\n{path.read_text("utf-8")}', path)
    return Program(backend.build(text, Options(include_dirs=(str(KERNELS),))))


@pytest.mark.exhaustive
def test_barriers_shuffles_and_faults(backend: WithContexts) -> None:
    values = np.arange(5 * 256, dtype=np.int32).reshape(5, 256)
    out = np.zeros_like(values)
    built(backend, "blocks")("rotated", values, out, 5, 256, 1, 9)
    np.testing.assert_array_equal(out, np.roll(values, -9, axis=1))

    given = np.random.default_rng(0).random(192).astype(np.float32)
    shuffled = np.zeros((6, 32, 4), np.float32)
    built(backend, "warps")("shuffle_float", given, shuffled, 32)
    np.testing.assert_array_equal(shuffled[:, :, 0], np.roll(given.reshape(6, 32), -3, axis=1))

    faults = built(backend, "faults")
    assert faults.error("deadlock", 20).startswith("the block can't go on: of 64 threads 0 have returned\n")
    total = np.zeros(1, np.int64)
    faults("sum", np.arange(100_000, dtype=np.int32), total, 100_000)
    assert total[0] == 4_999_950_000
    assert b"swapcontext" in (backend.folder / "libruntime.so").read_bytes()
