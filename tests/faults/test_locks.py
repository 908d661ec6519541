"""Many builders, locks that don't work, and a cache that is emptied while they build."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.toolchain import Built
from opwright.toolchain.cache.eviction import clean

Compiled = Callable[..., Built]
Start = Callable[..., "subprocess.Popen[str]"]
Ended = Callable[..., "tuple[int, str, str]"]

_OPERATOR = """
import sys, torch, opwright
ops = opwright.load(sys.argv[1])
print(ops.f(torch.arange(4.0)).tolist(), opwright.load(sys.argv[1]) is ops)
"""
_KERNEL = """#include <opwright.h>
OPWRIGHT("f(x: T[N]) -> (y: T[N])")
template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = 3 * x[i] + 1;
}
"""


@pytest.mark.exhaustive  # twenty times PyTorch; its quick twin is in toolchain/build/test_processes.py
def test_twenty_processes_and_nothing_in_the_cache(counting: Callable[[], int], tmp_path: Path) -> None:
    source = tmp_path / "many.cpp"
    source.write_text(_KERNEL)
    words = [sys.executable, "-c", _OPERATOR, str(source)]
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(20)]
    results = [(*process.communicate(), process.returncode) for process in processes]
    assert {(output, status) for output, _, status in results} == {("[1.0, 4.0, 7.0, 10.0] True\n", 0)}
    assert sum("building the runtime" in errors for _, errors, _ in results) == 1
    assert counting() == 2  # the runtime and the operator


@pytest.mark.slow
@pytest.mark.parametrize("number", ["ENOLCK", "EOPNOTSUPP", "ENOSYS", "EINVAL"])
def test_a_file_system_without_locks(
    number: str, shim: Callable[[str], dict[str, str]], start: Start, ended: Ended, answering: Callable[..., Path],
    leftovers: Callable[[], list[str]], compiled: Compiled,
) -> None:  # fmt: skip
    environment = shim(f"int flock(int descriptor, int how) {{ errno = {number}; return -1; }}")
    source = answering("41")
    for status, output, errors in map(ended, [start(source, environment) for _ in range(4)]):
        assert (status, errors) == (0, "")
        assert output.split()[2] == "41"
    assert leftovers() == []
    assert compiled(source).cached


@pytest.mark.slow
def test_a_lock_that_somebody_holds_for_ever(
    answering: Callable[..., Path], compiled: Compiled, answer: Callable[[Built], int], monkeypatch: pytest.MonkeyPatch,
    leftovers: Callable[[], list[str]],
) -> None:  # fmt: skip
    source = answering("41")
    folder = compiled(source).path.parent
    (folder / "manifest.json").unlink()
    lines: list[str] = []
    monkeypatch.setenv("OPWRIGHT_COMPILE_TIMEOUT", "3")
    script = "import fcntl, sys, time; f = open(sys.argv[1]); fcntl.flock(f, 2); print(flush=True); time.sleep(300)"
    with subprocess.Popen([sys.executable, "-c", script, str(folder / "lock")], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            built = compiled(source, on_progress=lines.append)
        finally:
            holder.kill()
    assert lines[0] == "op: waiting for another process that compiles it"
    assert not built.cached
    assert answer(built) == 41
    assert leftovers() == []


@pytest.mark.slow
@pytest.mark.parametrize("number", ["ESTALE", "ENOENT", "EEXIST"])
@pytest.mark.parametrize("function", ["rename", "mkdir", "flock"])
def test_a_cache_that_moves_under_ones_feet(
    number: str, function: str, shim: Callable[[str], dict[str, str]], start: Start, ended: Ended,
    answering: Callable[..., Path], leftovers: Callable[[], list[str]],
) -> None:  # fmt: skip
    """The first calls fail as they do on a network file system when another machine has emptied the folder."""
    types, names = {
        "rename": ("const char *a, const char *b", "a, b"),
        "mkdir": ("const char *a, unsigned b", "a, b"),
        "flock": ("int a, int b", "a, b"),
    }[function]
    environment = shim(
        f"int {function}({types}) {{ static int calls; if (++calls == 4) {{ errno = {number}; return -1; }}\n"
        f'  return ((int (*)({types}))dlsym(RTLD_NEXT, "{function}"))({names}); }}'
    )
    status, output, errors = ended(start(answering("41"), environment))
    assert (status, errors) == (0, "")
    assert output.split()[1:3] == ["False", "41"]
    assert leftovers() == []


def test_a_disk_error_that_stays_is_told(
    shim: Callable[[str], dict[str, str]], start: Start, ended: Ended, answering: Callable[..., Path], root: Path
) -> None:
    environment = shim("int rename(const char *a, const char *b) { errno = EIO; return -1; }")
    status, _, errors = ended(start(answering("41"), environment))
    assert status == 1
    assert errors.startswith(f"ToolchainError: can't write to the build cache {root}: Input/output error (")
    assert "Traceback" not in errors


@pytest.fixture
def emptying(compiler: Callable[[str], Path], root: Path, tmp_path: Path) -> Path:
    """CXX removes the cache before its first two compilations, and after its third."""
    calls = tmp_path / "calls"
    compiler(
        f'echo . >>"{calls}"; n=$(wc -l <"{calls}")\n'
        f'[ $n -le 2 ] && rm -rf "{root}"/*\n"$gxx" "$@"; status=$?\n[ $n -eq 1 ] && rm -rf "{root}"\nexit $status'
    )
    return calls


def test_a_cache_that_is_removed_while_something_compiles(
    emptying: Path, compiled: Compiled, answering: Callable[..., Path], answer: Callable[[Built], int]
) -> None:
    source = answering("41")
    built = compiled(source)
    assert answer(built) == 41
    assert len(emptying.read_text().split()) == 3
    assert compiled(source).cached


@pytest.mark.slow
def test_cleaning_while_others_build(
    start: Start, ended: Ended, answering: Callable[..., Path], root: Path, leftovers: Callable[[], list[str]]
) -> None:
    sources = [answering(index, f"op{index}.cpp") for index in range(6)]
    (root / "units").mkdir(parents=True, mode=0o700)
    root.chmod(0o700)
    done = threading.Event()
    removed = [0]

    def clean_on() -> None:
        while not done.is_set():
            removed[0] += len(clean(root)[0])

    cleaner = threading.Thread(target=clean_on)
    cleaner.start()
    try:
        # a path that was told may be removed before it is loaded: that is said by the loader, not hidden
        found = [ended(start(source)) for source in sources for _ in range(2)]
    finally:
        done.set()
        cleaner.join()
    for index, (status, output, errors) in enumerate(found):
        if status:
            assert "OSError" in errors
            assert "No such file" in errors
        else:
            assert output.split()[2] == str(index // 2)
    assert removed[0] > 0
    clean(root)
    assert leftovers() == []


def test_what_is_being_built_is_not_cleaned_away(
    compiled: Compiled, answering: Callable[..., Path], root: Path
) -> None:
    paths = [compiled(answering(index, f"op{index}.cpp")).path for index in range(2)]
    with open(paths[0].parent / "lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        gone, kept = clean(root)
    assert [entry.path for entry in kept] == [paths[0].parent]
    assert paths[0].exists()
    assert paths[1].parent in [entry.path for entry in gone]
    assert not paths[1].parent.exists()


def test_whoever_waits_for_a_lock_that_is_removed_takes_the_new_one(tmp_path: Path) -> None:
    from opwright.toolchain.cache.lock import locked

    path, order = tmp_path / "lock", list[str]()
    waiting, go_on = threading.Event(), threading.Event()

    def second() -> None:
        with locked(path, 30, waiting.set) as held:
            order.append(f"second {held}")
            go_on.wait(30)

    with locked(path, 5, lambda: None):
        thread = threading.Thread(target=second)
        thread.start()
        waiting.wait(30)
        path.unlink()
        path.touch()
    while not order:
        pass
    with locked(path, 0.1, lambda: order.append("third waits")) as held:
        assert not held
    go_on.set()
    thread.join()
    assert order == ["second True", "third waits"]


@pytest.mark.parametrize("how", ["cache", "extensions"])
def test_the_cache_is_removed_between_two_builds(
    how: str, compiled: Compiled, answering: Callable[..., Path], root: Path
) -> None:
    compiled(answering("41"))
    shutil.rmtree(root if how == "cache" else root.parent)
    assert not compiled(answering("41")).cached
    assert os.listdir(root.parent) == ["opwright"]
