from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from rich.table import Table

import opwright as package
from opwright.cli import demo
from tests.cli.command import opwright


def test_the_demo_without_torch_says_what_to_install() -> None:
    done = opwright("demo", without_torch=True)
    assert done.returncode == 1
    assert "pip install opwright[torch]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("passed", [True, False])
def test_a_check_of_the_demo_that_fails_is_an_error(
    passed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "_built_ahead", lambda _folder: nullcontext())
    monkeypatch.setattr(demo, "_fresh", lambda *_: 0.1)
    monkeypatch.setattr(demo, "_passes", lambda name, _: [True, True, passed or name != "sigmoid", True])
    monkeypatch.setattr(demo, "_timings", lambda *_: {})
    monkeypatch.setattr(demo, "_times", lambda _: Table())
    monkeypatch.setattr(demo, "plot", lambda *_: None)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("COLUMNS", "80")
    run = partial(demo.command.main, ["--output", str(tmp_path / "plot.png")], standalone_mode=False)
    if passed:
        run()
    else:
        with pytest.raises(package.OpwrightError, match=r"^a check failed: see NO in the table of operators$"):
            run()
    out = capsys.readouterr().out
    assert ("NO" in out) == (not passed)
    assert ("opwright new my-op" in out) == passed
    assert "gradgradcheck" in out
    assert "lltm_derived" in out  # nothing is cut off
    assert max(len(line) for line in out.splitlines() if line[:1] in "┏┡│└") <= 80


def test_where_the_plot_of_the_demo_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert demo._picture(None) == Path("opwright-demo.png")
    assert demo._picture(tmp_path / "x.png") == tmp_path / "x.png"
    monkeypatch.setattr(demo, "find_spec", lambda _name: None)
    assert demo._picture(None) is None
    with pytest.raises(
        ModuleNotFoundError, match=r"the plot needs matplotlib\n  likely fix: pip install opwright\[bench\]"
    ):
        demo._picture(tmp_path / "x.png")


@pytest.mark.exhaustive
def test_the_demo_shows_the_table_and_writes_the_plot(tmp_path: Path) -> None:
    done = opwright("demo", "--output", tmp_path / "plot.png", "--rounds", 2)
    assert done.returncode == 0, done.stderr
    assert "NO" not in done.stdout
    assert "whole operator" in done.stdout
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
