"""A PyTorch that this Opwright wasn't tested with: what is said, and which failed builds are remembered."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from opwright import toolchain
from opwright._version import TESTED_PYTORCH
from opwright.errors import CompileError, ToolchainError
from opwright.runtime.native import compatibility
from opwright.runtime.native import runtime as native
from opwright.runtime.python.runtime import PythonRuntime
from opwright.runtime.register import kernels


class Refused:
    """A native runtime whose source the compiler refuses, in a cache of its own; counts the attempts to build it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.builds = 0
        self.source = folder / "csrc" / "runtime.cpp"
        self.source.parent.mkdir()
        self.source.write_text("int f() {\n  return undefined_name;\n}\n")
        self.error: BaseException | None = None
        build = toolchain.build

        def counted(*args: Any, **named: Any) -> Any:
            self.builds += 1
            if self.error:
                raise self.error
            return build(*args, **named)

        monkeypatch.setattr(native, "CSRC", self.source.parent)
        monkeypatch.setattr(native, "build", counted)
        monkeypatch.setattr(native, "find", lambda: None)
        monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(folder / "cache"))

    def start(self) -> str:
        with pytest.raises(ToolchainError) as caught:
            native.native.__wrapped__()
        return str(caught.value)


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    return Refused(tmp_path, monkeypatch)


def test_a_pytorch_that_nobody_tried(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.99.0+cpu")
    monkeypatch.setattr(compatibility, "TESTED_PYTORCH", ("2.10", "2.13"))
    text = refused.start()
    assert text.startswith(
        "this Opwright doesn't know PyTorch 2.99.0+cpu: its native runtime doesn't compile with it "
        f"({refused.source}:2:10: error: "
    )
    assert re.search(
        r"undefined_name.*\); it was tested with PyTorch 2\.10 to 2\.13\n"
        r'  likely fix: pip install "torch==2\.13\.\*", or a newer Opwright; '
        r"OPWRIGHT_RUNTIME=python goes on without the native runtime\n"
        r"  tried again: with another compiler, PyTorch or Opwright, or after `opwright cache clean`\n",
        text,
    )
    assert "\nfull log: " in text
    assert refused.builds == 1
    assert refused.start() == text
    assert refused.builds == 1


def test_a_pytorch_that_was_tried(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", f"{TESTED_PYTORCH[0]}.7")
    text = refused.start()
    assert text.startswith("this Opwright doesn't know this compiler: its native runtime doesn't compile with it (")
    assert "\n  likely fix: another compiler (CXX=...), or a newer Opwright; " in text


def test_what_has_it_tried_again(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_tried_again() -> bool:
        before = refused.builds
        refused.start()
        return refused.builds > before

    assert is_tried_again()
    assert not is_tried_again()
    (refused.source.parent / "header.h").write_text("// another Opwright\n")
    assert is_tried_again()
    assert not is_tried_again()
    monkeypatch.setattr(torch.version, "git_version", "another PyTorch")
    assert is_tried_again()
    assert not is_tried_again()
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", "/another")  # the compiler's
    assert is_tried_again()
    assert not is_tried_again()
    for file in (Path(p) for p in (refused.source.parents[1] / "cache" / "opwright" / "refused").iterdir()):
        file.write_text("damaged")
    assert is_tried_again()
    assert not is_tried_again()
    refused.source.write_text("int f() { return 0; }\n")  # compiles, and is no runtime
    assert is_tried_again()
    assert is_tried_again()


@pytest.mark.parametrize(
    "error",
    [
        CompileError("runtime.cpp:1:1: error: error writing to /tmp/x.s: No space left on device\nfull log: x"),
        CompileError("runtime.cpp: error: g++ ended with status 4\ng++: fatal error: Killed signal terminated cc1plus"),
        CompileError("runtime.cpp:9:1: error: out of memory allocating 65536 bytes\nfull log: x"),
        CompileError("opwright-runtime: the compiler was stopped after 600 s"),
        CompileError("runtime.cpp:1:10: error: ATen/Tensor.h: No such file or directory\nfull log: x"),
        ToolchainError("no C++ compiler"),
    ],
)
def test_what_is_not_remembered(refused: Refused, error: ToolchainError) -> None:
    refused.error = error
    for builds in (1, 2):
        assert refused.start() == str(error)
        assert refused.builds == builds


def test_an_interrupted_build_is_not_remembered(refused: Refused) -> None:
    refused.error = KeyboardInterrupt()
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            native.native.__wrapped__()
    assert refused.builds == 2


def test_the_runtime_in_python_takes_its_place(
    refused: Refused, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch, "__version__", "2.99.0")
    monkeypatch.setattr(compatibility, "TESTED_PYTORCH", ("2.13",))
    monkeypatch.setattr(kernels, "_native", native.native.__wrapped__)
    monkeypatch.delenv("OPWRIGHT_RUNTIME", raising=False)
    assert isinstance(kernels.selected(), PythonRuntime)
    line = caplog.messages[-1]
    assert line.startswith(
        "using the runtime in Python, which is slower at each call, because the native one can't be built: this "
        "Opwright doesn't know PyTorch 2.99.0: its native runtime doesn't compile with it "
        f"({refused.source}:2:10: error: "
    )
    assert line.endswith(
        '; it was tested with PyTorch 2.13; pip install "torch==2.13.*", or a newer Opwright, and '
        "OPWRIGHT_RUNTIME=python leaves this line out"
    )
    assert "\n" not in line
    assert "g++" not in line


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.14.0+cu130", "PyTorch 2.14.0+cu130 is newer than those that this Opwright was tested with (2.10 to 2.13)"),
        ("3.0.0a0+git1", "PyTorch 3.0.0a0+git1 is newer than those that this Opwright was tested with (2.10 to 2.13)"),
        ("2.13.9", ""),
        ("2.9.1", ""),
    ],
)
@pytest.mark.parametrize("runtime", ["native", "python", ""])
def test_a_newer_pytorch(
    version: str, said: str, runtime: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    monkeypatch.setattr(compatibility, "TESTED_PYTORCH", ("2.10", "2.13"))
    monkeypatch.setattr(kernels, "_native", PythonRuntime)
    monkeypatch.setenv("OPWRIGHT_RUNTIME", runtime)
    kernels.selected()
    assert caplog.messages == [said] * bool(said)
