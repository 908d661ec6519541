"""An error of a user's source comes without frames of Opwright below the function that was called."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opwright
from opwright.errors import OpwrightError, SourceError
from opwright.log import logger
from opwright.tracebacks import entry

HERE = str(Path(__file__))


def files(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.cpp"
    path.write_text('OPWRIGHT("f(x: float32[N]) -> (y: f32[N])")\nvoid f() {}\n')
    return path


def test_an_error_of_load(source: Path) -> None:
    with pytest.raises(opwright.SignatureError) as caught:
        opwright.load(source)
    names = [Path(file).name for file in files(caught.value)]
    assert names == ["test_tracebacks.py", "tracebacks.py"]
    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None


def test_an_error_of_check(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        opwright.check(tmp_path / "nothing.cpp")
    assert [Path(file).name for file in files(caught.value)] == ["test_tracebacks.py", "tracebacks.py"]


def test_all_frames_are_kept_for_debugging(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logger, "level", logging.DEBUG)
    logger.manager._clear_cache()  # type: ignore[attr-defined]
    with pytest.raises(opwright.SignatureError) as caught:
        opwright.load(source)
    monkeypatch.undo()
    logger.manager._clear_cache()  # type: ignore[attr-defined]
    assert len(files(caught.value)) > 4


def test_a_keyword_that_there_isnt(source: Path) -> None:
    load: Any = opwright.load
    with pytest.raises(TypeError) as caught:
        load(source, cflags=["-O1"])
    assert str(caught.value) == (
        "load() got an unexpected keyword argument 'cflags'\n  likely fix: did you mean extra_cflags=?"
    )
    with pytest.raises(TypeError, match=r"\n  likely fix: it takes sources, ops, headers, "):
        load(source, zzz=1)


@pytest.mark.parametrize("error", [SourceError, KeyboardInterrupt])
def test_frames_of_other_code_stay(error: type[BaseException]) -> None:
    def users(call: Callable[[], None]) -> None:
        call()

    @entry
    def public() -> None:
        try:
            Path("/no/such/file").read_text()
        except OSError as cause:
            users(raising)
            raise OpwrightError from cause

    def raising() -> None:
        raise error("stopped")

    with pytest.raises(error) as caught:
        public()
    assert [file for file in files(caught.value) if file == HERE] == [HERE] * 4
    assert caught.value.__suppress_context__


def test_errors_in_opwright_itself_keep_their_frames() -> None:
    @entry
    def public() -> None:
        opwright.parse(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError) as caught:
        public()
    assert any("signature" in file for file in files(caught.value))


def test_an_entry_looks_like_its_function() -> None:
    assert opwright.load.__name__ == "load"
    assert opwright.load.__doc__
    assert opwright.load.__module__ == "opwright.frontends"
