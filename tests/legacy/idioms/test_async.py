"""`async` as the name of an argument."""

# mypy: disable-error-code="override,no-untyped-call,attr-defined"

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from opwright.legacy import idioms
from opwright.legacy.idioms.async_keyword import compile_source, modern_source
from opwright.legacy.run.script import needs_async_name

SOURCE = '''# encoding: utf-8
"""async=True stays in texts."""
async def later(async_=1):
    return async_

def move(x, async=False):  # async=False in a comment
    return x.cuda(async=async) if x.is_cuda else x.clone() if async else x, "async=é"

def both(x): return move(x, async=True), move(x, async = (1 ==
    2))
'''


def test_async_in_a_module(modules: Callable[[str, str], Any], tmp_path: Path) -> None:
    module = modules("old_module", SOURCE)
    x = torch.ones(2)
    (first, text), (second, _) = module.both(x)
    assert first is not x
    assert second is x
    assert text == "async=é"
    assert module.__doc__ == "async=True stays in texts."
    assert not list(tmp_path.glob("__pycache__/old_module*"))
    assert module.move.__code__.co_firstlineno == 6


def test_async_in_a_script() -> None:
    names: dict[str, Any] = {}
    exec(compile_source(SOURCE.encode(), "script.py"), names)  # noqa: S102
    assert names["move"].__code__.co_varnames == ("x", "non_blocking")
    assert names["move"].__code__.co_filename == "script.py"


def test_async_in_the_main_program(tmp_path: Path) -> None:
    script, neighbour = tmp_path / "train.py", tmp_path / "neighbour.py"
    neighbour.write_text("value = 7\n")
    script.write_text(
        "import sys, __main__, neighbour\n"
        "def move(async=False): return async\n"
        "if __name__ == '__main__':\n"
        "    print(move(async=neighbour.value), sys.argv[1:], __file__, __main__.move is move)\n"
        "    sys.exit(3)\n"
    )
    assert needs_async_name(str(script))
    assert not needs_async_name(str(neighbour))
    (tmp_path / "binary.py").write_bytes(b"\x00")
    assert not needs_async_name(str(tmp_path / "binary.py"))
    words = [sys.executable, "-m", "opwright.legacy.run.script", "train.py", "-a", "b"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, f"7 ['-a', 'b'] {script} True\n", "")


def test_changes_that_need_no_torch() -> None:
    script = (
        "import sys; from opwright.legacy.idioms import WITHOUT_TORCH\n"
        "for each in WITHOUT_TORCH: each.apply()()\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert set(idioms.WITHOUT_TORCH) < set(idioms.CHANGES)


def test_a_module_that_python_can_read_is_left_to_it(modules: Callable[[str, str], Any], tmp_path: Path) -> None:
    module = modules("new_module", "async def f():\n    async with x: pass\n    return [y async for y in z]\n")
    assert module.f.__code__.co_flags & 0x80
    assert list(tmp_path.glob("__pycache__/new_module*")) or sys.dont_write_bytecode


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f(async=1)", "f(non_blocking=1)"),
        ("f(a, async =1)\r\n", "f(a, non_blocking =1)\n"),
        ("x = async\n", "x = non_blocking\n"),
        ("pool.async(async=1)", "pool.async(non_blocking=1)"),
        ("import async\nf(async=2)", "import async\nf(non_blocking=2)"),
        ("def f(async): pass", "def f(non_blocking): pass"),
        ("f(async=1, b='async=1')  # async=1", "f(non_blocking=1, b='async=1')  # async=1"),
        ("é = f(é, async=1); g(async=2)", "é = f(é, non_blocking=1); g(non_blocking=2)"),
        ("\ufefff(async=1)", "f(non_blocking=1)"),
        ("f(1)", None),
        ("async def f(): pass", None),
        ("f('async=1')", None),
        ("f(async=1", None),
        ("'''", None),
    ],
)
def test_modern_source(source: str, expected: str | None) -> None:
    assert modern_source(source.encode()) == expected


def test_sources_that_are_no_text() -> None:
    assert modern_source(b"\xff\xfe\x00async=1") is None
    assert modern_source(b"# coding: nothing\nf(async=1)") is None
    with pytest.raises((SyntaxError, ValueError)):
        compile_source(b"f(async=1)\x00", "x.py")


def test_errors_of_a_module_that_can_not_be_read(modules: Callable[[str, str], Any]) -> None:
    with pytest.raises(SyntaxError, match="this is Python 2") as raised:
        modules("python2", "def f(x):\n    print x\n")
    assert raised.value.lineno == 2
    with pytest.raises(SyntaxError, match="this is Python 2"):
        modules("python2_async", "x.cuda(async=True)\nprint 'done'\n")
    with pytest.raises(SyntaxError) as ordinary:
        modules("wrong", "def f(:\n")
    assert "Python 2" not in str(ordinary.value)
