"""Requests that can't be understood are refused before anything runs, and the command's status says so."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import opwright
from opwright.check import runner
from opwright.check.context import Context
from opwright.check.registry import Check
from opwright.check.report import Finding
from opwright.cli.bench import command as bench
from opwright.cli.check import command
from opwright.errors import SourceError

SIGNATURE = "f(x: T[N]) -> (y: T[N]) where T in (f32, f64)"
CUDA = """
OPWRIGHT("add(x: f32[N]) -> (y: f32[N]) launch over N, threads 64")
__global__ void add(Tensor<const float, 1> x, Tensor<float, 1> y) {}
"""
Write = Callable[..., Path]


def test_kernels_for_cuda_on_the_cpu(write: Write) -> None:
    path = write(CUDA, "for_cuda_only.cu")
    with pytest.raises(SourceError, match=r"add: the kernels are for CUDA only[^\n]*\n  likely fix: .*--device emul"):
        opwright.check(path)
    says = (
        r"add is defined more than once: .*\n  likely fix: its signature stands in the file, .*:3: don't give another"
    )
    with pytest.raises(SourceError, match=says):
        opwright.check(path, signature="add(x: f32[N]) -> (y: f32[N])")


def test_options_that_would_do_nothing() -> None:
    with pytest.raises(ValueError, match=r"straight_through='z', expected one of the inputs: f\.x"):
        opwright.check(torch.neg, signature=SIGNATURE, straight_through=("z",))
    with pytest.raises(ValueError, match="sanitize='thread' and f, which wasn't loaded from a source file"):
        opwright.check(torch.neg, signature=SIGNATURE, sanitize=("thread",))
    with pytest.raises(ValueError, match="ulp=-1, expected 0 or more"):
        opwright.check(torch.neg, signature=SIGNATURE, ulp=-1)
    with pytest.raises(ValueError, match="eps=0, expected a step above 0"):
        opwright.check(torch.neg, signature=SIGNATURE, eps=0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no_such_file.cpp"], "no_such_file.cpp"),
        (["no_such_module:f"], "there is no module 'no_such_module'"),
        (["{file}"], "it has: {file}:doubled, {file}:halved"),
        (["{file}:doubled", "--signature", "f(x: "], "expected the type of 'x'"),
        (["{file}:doubled", "--signature", SIGNATURE, "--reference", "{file}:no"], "has no 'no'"),
        (["{file}:doubled", "--signature", SIGNATURE, "--json", "{file}.d/a.json"], "its folder doesn't exist"),
    ],
)
def test_what_cant_be_understood(words: list[str], said: str, tmp_path: Path) -> None:
    file = tmp_path / "functions.py"
    file.write_text("from math import floor\ndef doubled(x):\n    return 2 * x\ndef halved(x):\n    return x / 2\n")
    done = CliRunner().invoke(command, [word.format(file=file) for word in words])
    assert done.exit_code == 2, done.output
    assert said.format(file=file) in done.output
    if "--reference" not in words and "--json" not in words:
        assert CliRunner().invoke(bench, [word.format(file=file) for word in words]).exit_code == 2


def test_without_hypothesis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ModuleNotFoundError, match=r"likely fix: pip install opwright\[check\]"):
        opwright.check(torch.neg, signature=SIGNATURE)


def test_a_run_that_checks_nothing() -> None:
    words = ["torch:neg", "--signature", SIGNATURE, "--quick", "--only", "distribution"]
    done = CliRunner().invoke(command, words)
    assert "nothing was checked (1 skipped" in done.output
    assert done.exit_code == 1


def test_ctrl_c_shows_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def begun(context: Context) -> Iterator[Finding]:
        yield from ()

    def stopped(context: Context) -> Iterator[Finding]:
        raise KeyboardInterrupt

    checks = [
        Check(body.__name__, "g", "quick", body, 1.0, on_request=False, in_child=False) for body in (begun, stopped)
    ]
    monkeypatch.setattr(runner, "select", lambda *_: checks)
    done = CliRunner().invoke(command, ["torch:neg", "--signature", SIGNATURE, "--no-isolate", "-v"])
    assert done.exit_code == 130
    assert "begun" in done.output
    assert "nothing wrong so far" in done.output
    assert "right" not in done.output.partition("neg: ")[2].partition("\n")[0]
    assert done.output.endswith("stopped by Ctrl-C: 1 of 2 checks were run\n")
    done = CliRunner().invoke(command, ["torch:neg", "--signature", SIGNATURE, "--no-isolate", "--json", "-"])
    assert json.loads(done.stdout)["stopped"] == "stopped by Ctrl-C: 1 of 2 checks were run"
