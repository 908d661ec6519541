"""What passes between Python and the native runtime: errors, of any class and with any bytes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright.runtime.native import runtime as native
from opwright.signature import NotationError

Write = Callable[..., Path]
KERNEL = """
OPWRIGHT("f(x: f32[N]) -> (y: f32[N])")
void f(Tensor<const float, 1> x, Tensor<float, 1> y) {{ OPWRIGHT_CHECK(x.size(0) > 9, {0}); y[0] = x[0]; }}
"""


class TakesTwoError(ValueError):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise ValueError


class OwnError(opwright.SourceError):
    pass


@pytest.mark.native
@pytest.mark.parametrize(
    ("error", "carried"),
    [
        (opwright.CompileError("no"), (opwright.CompileError, "no")),
        (OwnError("no"), (opwright.SourceError, "no")),
        (NotationError("f()", 1, "no"), (opwright.SignatureError, None)),
        (KeyboardInterrupt(), (KeyboardInterrupt, "")),
        (SystemExit(3), (SystemExit, "3")),
        (MemoryError(), (MemoryError, "")),
        (TakesTwoError("a", "b"), (opwright.OpwrightError, "TakesTwoError: a and b")),
        (KeyError("k"), (opwright.OpwrightError, "KeyError: 'k'")),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), (opwright.OpwrightError, None)),
        (SpeechlessError(), (opwright.OpwrightError, "SpeechlessError: (its text can't be had)")),
        (opwright.SourceError("\udcff a\0b"), (opwright.SourceError, "? a\ufffdb")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_which_error_is_raised_again(
    error: BaseException, carried: tuple[type[BaseException], str | None], monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    ops = opwright.load(write(KERNEL.format("0"), f"again_{type(error).__name__}.cpp"))
    provider = ops.__loaded__.registered["f"].kernel.provider

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(type(provider), "library", fails)
    kind, text = carried
    with pytest.raises(kind) as caught:
        ops.f(torch.ones(1))
    assert type(caught.value) is kind
    if text is not None:
        assert str(caught.value) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r'"\xff bad"', "\ufffd bad"),
        (r'"\xc3"', "\ufffd"),  # ends too early
        (r'"\xe2\x82 euro"', "\ufffd euro"),
        (r'"\xf0\x9f\x98", " smile"', "\ufffd smile"),
        (r'"\xc0\xaf"', "\ufffd\ufffd"),  # overlong
        (r'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),  # a surrogate
        (r'"\xf4\x90\x80\x80"', "\ufffd\ufffd\ufffd\ufffd"),  # beyond U+10FFFF
        ('"é€😀\ud7ff\U0010ffff"', "é€😀\ud7ff\U0010ffff"),
    ],
)
def test_a_kernels_text_may_hold_any_bytes(write: Write, written: str, shown: str) -> None:
    name = "bytes_" + "".join(c if c.isalnum() else "_" for c in ascii(written))
    ops = opwright.load(write(KERNEL.format(written), f"{name}.cpp"))
    with pytest.raises(opwright.KernelError) as caught:
        ops.f(torch.ones(1))
    assert str(caught.value).startswith(f"f(): {shown} [x.size(0) > 9 is false, ")


@pytest.mark.slow
@pytest.mark.native
def test_a_callback_that_ctypes_cut_short_is_no_success(write: Write) -> None:
    """A signal before our own `try` makes ctypes print the exception and return 0."""
    source = write(KERNEL.format("0"), "cut_short.cpp")
    script = f"""
import sys, torch, opwright
from opwright.runtime.native import runtime as native
sys.unraisablehook = lambda args: None
native.Native._guarded = lambda self, body: 1 / 0
ops = opwright.load({str(source)!r})
try:
    ops.f(torch.ones(1))
except opwright.ArgumentError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "f(): its kernel could not be built\n"


@pytest.mark.native
def test_nothing_is_said_where_nothing_is_built(capfd: pytest.CaptureFixture[str]) -> None:
    native.build_native()  # by now it is in the cache
    capfd.readouterr()
    assert native.build_native().cached
    assert capfd.readouterr() == ("", "")


@pytest.mark.native
def test_what_is_said_when_it_is_built(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def build(*_: object, on_progress: Callable[[str], None], **__: object) -> None:
        on_progress("opwright-runtime: waiting for another process that compiles it")
        on_progress("compiling opwright-runtime (g++ 12.2.0)")

    monkeypatch.setattr(native, "build", build)
    native.build_native()
    assert capfd.readouterr().err == (
        "opwright: opwright-runtime: waiting for another process that compiles it\n"
        f"opwright: building the runtime for PyTorch {torch.__version__} (once, half a minute to a minute) ...\n"
    )
