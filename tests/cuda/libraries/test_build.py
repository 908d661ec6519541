"""The libraries that stand for CUDA's are built once, wherever the program that calls them is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cuda.libraries.build import build_libraries


@pytest.mark.parametrize("name", ["blas", "rand"])
def test_one_build_for_every_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = build_libraries([name])
    monkeypatch.chdir(tmp_path)
    assert build_libraries([name]) == built
