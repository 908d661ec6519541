"""Sources that are loaded again in the background whenever they are saved."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import opwright
from opwright.runtime.load import file_watcher as watching
from opwright.runtime.register.kernels import started_runtime

Write = Callable[..., Path]

KERNEL = """
OPWRIGHT("plus(x: T[N]) -> (y: T[N])")
template <class T> void plus(Tensor<const T, 1> x, Tensor<T, 1> y) {{
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] + {0};
}}
"""
LONG = 60.0  # seconds, for what takes one


class Said:
    """What was printed on standard error so far."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys, self.text = capsys, ""

    def until(self, pattern: str, count: int = 1) -> str:
        """Wait until the pattern was printed that often; everything that was printed."""
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            self.text += self.capsys.readouterr().err
            if len(re.findall(pattern, self.text)) >= count:
                break
            time.sleep(0.02)
        assert len(re.findall(pattern, self.text)) == count, self.text
        return self.text

    def nothing_more(self) -> None:
        """Wait for several looks at the files, and see that nothing was printed."""
        before = self.text
        time.sleep(5 * watching.INTERVAL)
        self.text += self.capsys.readouterr().err
        assert self.text == before


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    started_runtime()  # which may have something to say of its own
    capsys.readouterr()
    return Said(capsys)


@pytest.fixture
def watched(write: Write, request: pytest.FixtureRequest) -> Iterator[Callable[..., opwright.Operators]]:
    """Load a text under a name of the test's own, and watch it; `write(text, name)` saves it again."""
    loaded = []

    def load(text: str, name: str, **options: object) -> opwright.Operators:
        ops = opwright.load(write(text, name), watch=True, **options)  # type: ignore[arg-type]
        loaded.append(ops)
        return ops

    yield load
    for ops in loaded:
        opwright.unwatch(ops)


Watch = Callable[..., opwright.Operators]


def value(ops: opwright.Operators) -> float:
    return ops.plus(torch.zeros(1)).item()  # type: ignore[no-any-return]


@pytest.mark.slow
def test_saving_loads_again(watched: Watch, write: Write, said: Said) -> None:
    ops = watched(KERNEL.format(1), "saved.cpp")
    assert value(ops) == 1
    for count, addend in enumerate((2, 3, 1), 1):
        write(KERNEL.format(addend), "saved.cpp")
        said.until(r"(?m)^opwright: saved reloaded \(\d+\.\d\d s\)$", count)
        assert value(ops) == addend
    os.utime(write(KERNEL.format(1), "saved.cpp"))  # another date, the same text
    said.nothing_more()


@pytest.mark.slow
def test_headers_and_files_that_replace_others(watched: Watch, tmp_path: Path, said: Said) -> None:
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "outer.h").write_text('#pragma once\n#include "inner.h"\n')
    (folder / "inner.h").write_text("constexpr int addend = 4;\n")
    ops = watched("#include <outer.h>\n" + KERNEL.format("addend"), "headed.cpp", extra_include_paths=[folder])
    assert value(ops) == 4
    for count, addend in enumerate((5, 6), 1):
        new = folder / "new"
        new.write_text(f"constexpr int addend = {addend};\n")
        os.replace(new, folder / "inner.h")
        said.until(r"headed reloaded", count)
        assert value(ops) == addend


@pytest.mark.slow
def test_a_compile_error_is_printed_once_and_the_old_code_goes_on(watched: Watch, write: Write, said: Said) -> None:
    ops = watched(KERNEL.format(1), "erring.cpp")
    assert value(ops) == 1
    source = write(KERNEL.format("nothing"), "erring.cpp")
    text = said.until(r"not reloaded, the code from before goes on running")
    assert text.startswith("opwright: erring not reloaded, the code from before goes on running\n")
    said.nothing_more()
    said.until(re.escape(f"{source}:5:") + r"\d+: error: .nothing. was not declared in this scope")
    assert value(ops) == 1
    write('#include "not_there_yet.h"\n' + KERNEL.format("late"), "erring.cpp")
    said.until(r"not_there_yet.h: No such file", 1)
    (source.parent / "not_there_yet.h").write_text("constexpr int late = 9;\n")
    said.until(r"erring reloaded", 1)
    assert value(ops) == 9
    write(KERNEL.format(1).replace("OPWRIGHT", "OPWRONG"), "erring.cpp")
    said.until(r'there is no OPWRIGHT\("..."\) in it', 1)
    assert value(ops) == 9


@pytest.mark.slow
def test_half_written_and_deleted_files(watched: Watch, write: Write, said: Said) -> None:
    ops = watched(KERNEL.format(1), "pieces.cpp")
    text = f"#include <opwright.h>\n{KERNEL.format(2)}\n"
    source = write("", "pieces.cpp")
    for end in range(0, len(text), 40):  # each look at the files sees another state
        source.write_text(text[:end])
        time.sleep(watching.INTERVAL / 2)
    source.write_text(text)
    assert "not reloaded" not in said.until(r"pieces reloaded")
    assert value(ops) == 2
    source.unlink()
    said.nothing_more()
    assert value(ops) == 2
    write(KERNEL.format(3), "pieces.cpp")
    said.until(r"pieces reloaded", 2)
    assert value(ops) == 3


def test_signatures_that_change(watched: Watch, write: Write, said: Said) -> None:
    ops = watched(KERNEL.format(1), "signed.cpp")
    text = KERNEL.format(2).replace("-> (y: T[N])", "-> (y: T[N+1])")
    write(text + KERNEL.format(3).replace("plus", "more"), "signed.cpp")
    said.until(r"(?m)^opwright: signed reloaded \(\d+\.\d\d s\); another signature: plus; new: more$")
    assert ops.plus(torch.zeros(1)).shape == (2,)
    write(KERNEL.format(1).replace("plus", "more"), "signed.cpp")
    said.until(r"(?m)reloaded \(\d+\.\d\d s\); removed: plus$")
    assert list(ops) == ["more"]


@pytest.mark.slow
def test_unwatched(watched: Watch, write: Write, said: Said) -> None:
    ops = watched(KERNEL.format(1), "left.cpp")
    opwright.unwatch(ops)
    opwright.unwatch(ops)  # no error
    write(KERNEL.format(2), "left.cpp")
    said.nothing_more()
    assert value(ops) == 1
    assert not [thread for thread in threading.enumerate() if thread.name == "opwright-watch"]
    assert value(opwright.load(write(KERNEL.format(2), "left.cpp"), watch=True)) == 2
    write(KERNEL.format(3), "left.cpp")
    said.until("left reloaded")
    assert value(ops) == 3
    opwright.unwatch(ops)


def test_an_edit_between_load_and_watch_is_seen(watched: Watch, write: Write, said: Said) -> None:
    """What counts is the text that was loaded, not what the file held when watching began."""
    ops = watched(KERNEL.format(1), "between.cpp")
    opwright.unwatch(ops)
    write(KERNEL.format(2), "between.cpp")
    watching.watch(id(ops), watching.Watched("between", lambda: ops.__loaded__.sources, lambda: "!"))
    said.until(r"between reloaded \(\d+\.\d\d s\)!")


def run(script: str, source: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-W", "ignore", "-c", script, str(source)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)


_EXIT = """
import sys, time, torch, opwright
from opwright.runtime.load import file_watcher as watching
from opwright.runtime.register.kernels import started_runtime
watching.INTERVAL = 0.01
ops = opwright.load(sys.argv[1], watch=True)
ops.plus(torch.zeros(1))
text = open(sys.argv[1]).read()
open(sys.argv[1], "w").write(text.replace("+ 1", "+ 1 + " + "0" * 100))
{then}
"""


@pytest.mark.slow
@pytest.mark.parametrize("then", ["", "time.sleep(0.05)", "time.sleep(0.1)", "raise SystemExit(0)"])
def test_a_process_ends_without_noise(write: Write, then: str) -> None:
    """At once, or while the watching thread compiles."""
    done = run(_EXIT.format(then=then), write(KERNEL.format(1), "ending.cpp"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


_FORK = """
import os, sys, threading, time, torch, opwright
ops = opwright.load(sys.argv[1], watch=True)
assert ops.plus(torch.zeros(1)).item() == 1
text = open(sys.argv[1]).read()

def until(value):
    for _ in range(3000):
        if ops.plus(torch.zeros(1)).item() == value:
            return
        time.sleep(0.02)
    raise SystemExit(f"it never became {value}")

child = os.fork()
if not child:
    open(sys.argv[1], "w").write(text.replace("+ 1", "+ 2"))
    time.sleep(2)
    assert [t.name for t in threading.enumerate()] == ["MainThread"]
    assert ops.plus(torch.zeros(1)).item() == 1  # the parent watches, the child doesn't
    opwright.load(sys.argv[1], watch=True)  # but it may
    assert ops.plus(torch.zeros(1)).item() == 2
    open(sys.argv[1], "w").write(text.replace("+ 1", "+ 3"))
    until(3)
    os._exit(0)
until(2)
until(3)
status = os.waitpid(child, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.slow
def test_a_forked_child_watches_only_if_it_asks(write: Write) -> None:
    done = run(_FORK, write(KERNEL.format(1), "forked.cpp"))
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == 3, done.stderr


_FORKS_WHILE_LOADING = """
import os, sys, threading, time, torch, opwright
path = sys.argv[1]
ops = opwright.load(path)
ops.plus(torch.zeros(1))
text = open(path).read()
stop = threading.Event()

def load():
    while not stop.is_set():
        for addend in (2, 1):
            open(path + ".new", "w").write(text.replace("+ 1", f"+ {addend}"))
            os.replace(path + ".new", path)
            opwright.load(path)

thread = threading.Thread(target=load)
thread.start()
for _ in range(20):
    child = os.fork()
    if not child:
        assert ops.plus(torch.zeros(1)).item() in (1, 2)
        opwright.load(path)
        assert ops.plus(torch.zeros(1)).item() in (1, 2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
thread.join()
"""


@pytest.mark.slow
def test_children_that_are_forked_while_another_thread_loads(write: Write) -> None:
    done = run(_FORKS_WHILE_LOADING, write(KERNEL.format(1), "busy.cpp"))
    assert (done.returncode, done.stderr) == (0, "")
