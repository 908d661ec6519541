"""All is as before once it is taken back, and what is loaded by others stays."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

import importlib
import py_compile
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import Function, Variable

from opwright.legacy import autograd, idioms
from tests.legacy.idioms.variables import Undo, variable


def state() -> dict[str, Any]:
    owners: list[Any] = [
        Function,
        type(Variable),
        Variable,
        torch.Tensor,
        torch.testing,
        sys.modules["torch.autograd.gradcheck"],
        importlib.machinery.SourceFileLoader,
    ]
    names = {f"{owner}.{name}": value for owner in owners for name, value in vars(owner).items()}
    return {**names, "six": sys.modules.get("torch._six"), "torch": set(vars(torch))}


def test_taken_back_all_is_as_before(undo: Undo) -> None:
    while undo:
        undo.pop()()
    before = state()
    for change in idioms.CHANGES:
        take_back = change.apply()
        assert state() != before, change.name
        take_back()
        assert state() == before, change.name
    with pytest.raises(IndexError):
        torch.ones(())[0]
    with pytest.raises(ImportError):
        importlib.import_module("torch._six")
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert not variable(torch.ones(1), volatile=True).volatile


@pytest.mark.slow
def test_in_a_fresh_interpreter_nothing_is_left(tmp_path: Path) -> None:
    """Also of what was changed before anything of it was used."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from opwright.legacy import autograd, idioms\n"
        "assert 'torch' not in sys.modules\n"
        "import torch\n"
        "def names(): return {k: v for o in (torch, torch.Tensor, torch.testing, torch.autograd.Function,\n"
        "    type(torch.autograd.Variable)) for k, v in vars(o).items()}\n"
        "before = names()\n"
        "undo = [c.apply() for c in (*autograd.CHANGES, *idioms.CHANGES)]\n"
        "assert names() != before\n"
        "while undo: undo.pop()()\n"
        "assert names() == before\n"
    )
    subprocess.run([sys.executable, script], check=True)


def test_names_are_unique_and_say_what_they_do() -> None:
    changes = (*autograd.CHANGES, *idioms.CHANGES)
    assert len({change.name for change in changes}) == len(changes)
    assert all(change.does and "\n" not in change.does for change in changes)


def test_compiled_files_of_others_are_read_as_ever(modules: Callable[[str, str], Any], tmp_path: Path) -> None:
    path = tmp_path / "cached.py"
    path.write_text("value = 3\n")
    py_compile.compile(str(path))
    assert modules("cached", "value = 3\n").value == 3
