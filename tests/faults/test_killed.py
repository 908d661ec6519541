"""Builders that are killed: at any moment, by any signal."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.toolchain import Built
from opwright.toolchain.cache import eviction

Start = Callable[..., "subprocess.Popen[str]"]
Compiled = Callable[..., Built]
SECONDS = 30


def rounds(number: int) -> list[object]:
    """A few, always; all of them where there is time."""
    return [5, pytest.param(number, marks=pytest.mark.exhaustive)]


def killed_at_random(
    number: int, how: signal.Signals, start: Start, compiled: Compiled, answering: Callable[..., Path], root: Path
) -> Counter[str]:
    """Kill that many builders, each at a random moment, and build the same thing after each: what was met."""
    seed = int(os.environ.get("OPWRIGHT_SEED", time.time_ns() % 2**32))
    chance, met = random.Random(seed), Counter[str]()
    compiled(answering("0", "first.cpp"))  # now the compiler is known
    builder = start(answering("0", "second.cpp"))
    assert builder.stdout is not None
    builder.stdout.readline()  # Python has started
    before = time.monotonic()
    builder.wait()
    usual = time.monotonic() - before
    for index in range(number):
        source = answering(index, f"round{index}.cpp")
        builder = start(source)
        assert builder.stdout is not None
        builder.stdout.readline()
        time.sleep(chance.uniform(0, 1.1 * usual))
        builder.send_signal(how)
        _, errors = builder.communicate(timeout=SECONDS)
        assert builder.returncode in {0, -how, 1 if how is signal.SIGINT else 0}, errors
        failed = re.search(r"^[\w.]*Error\b", errors, re.MULTILINE)
        assert not failed or "Exception ignored" in errors, errors  # Python loses those in a __del__
        folder = next(root.glob(f"units/round{index}-*"), None)
        met["ended before"] += builder.returncode == 0
        met["found nothing begun"] += folder is None
        met["left a scratch folder"] += bool(folder and list(folder.glob(".work-*")))
        met["left a library"] += bool(folder and list(folder.glob("*.so")))
        before = time.monotonic()
        built = compiled(source)
        assert time.monotonic() - before < SECONDS
        assert built.path.parent.name.startswith(f"round{index}-")
    print(f"seed {seed}, {number} rounds of {how.name}: {dict(met)}")  # noqa: T201 - so that a failure can be repeated
    return met


@pytest.mark.slow
@pytest.mark.parametrize("number", rounds(200))
def test_the_next_load_works_whenever_a_builder_is_killed(
    number: int, start: Start, compiled: Compiled, answering: Callable[..., Path], root: Path,
    strays: Callable[[], list[str]], leftovers: Callable[[], list[str]], answer: Callable[[Built], int],
) -> None:  # fmt: skip
    met = killed_at_random(number, signal.SIGKILL, start, compiled, answering, root)
    assert strays() == []
    assert len(leftovers()) <= max(2, number // 50)  # of those who were killed after their library was in place
    eviction._sweep(root, time.time() + 48 * 3600)
    assert leftovers() == []
    for index in range(0, number, 10):
        built = compiled(root.parents[1] / f"round{index}.cpp")
        assert built.cached
        assert answer(built) == index
    if number > 100:
        assert met["left a scratch folder"] > 10  # else nothing was tested


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("number", rounds(40))
def test_a_builder_that_can_clear_up_does(
    number: int, how: signal.Signals, start: Start, compiled: Compiled, answering: Callable[..., Path], root: Path,
    strays: Callable[[], list[str]], leftovers: Callable[[], list[str]],
) -> None:  # fmt: skip
    met = killed_at_random(number, how, start, compiled, answering, root)
    assert strays() == []
    assert leftovers() == []
    if how is signal.SIGINT:
        assert met["left a scratch folder"] <= number // 10  # one may strike while it is being removed


@pytest.fixture
def hanging(compiler: Callable[[str], Path], tmp_path: Path) -> Path:
    """CXX starts a child, as g++ does, writes its id into the returned file, and hangs; until ``.go`` is there."""
    ids = tmp_path / "ids"
    compiler(f'if [ ! -e "{ids}.go" ]; then sleep 200 & echo $! >"{ids}"; wait; fi\nexec "$gxx" "$@"')
    return ids


@pytest.mark.parametrize(
    ("how", "status"), [(signal.SIGINT, 1), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
)
def test_signals_end_the_compilers_too(
    how: signal.Signals, status: int, hanging: Path, start: Start, answering: Callable[..., Path], compiled: Compiled,
    strays: Callable[[], list[str]], leftovers: Callable[[], list[str]], wait_for: Callable[..., None], root: Path,
) -> None:  # fmt: skip
    source = answering("12")
    builder = start(source)
    wait_for(lambda: hanging.exists() and hanging.read_text())
    wait_for(lambda: len(strays()) >= 2)  # a process that is being started has no environment for a moment
    builder.send_signal(how)
    _, errors = builder.communicate(timeout=SECONDS)
    assert builder.returncode in {status, -signal.SIGINT if how is signal.SIGINT else status}
    assert ("KeyboardInterrupt" in errors) == (how is signal.SIGINT)
    wait_for(lambda: strays() == [])
    assert leftovers() == []
    assert list(root.rglob("*.so")) == []
    Path(f"{hanging}.go").touch()
    assert not compiled(source).cached


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_signals_end_the_command_that_builds(
    how: signal.Signals, status: int, hanging: Path, strays: Callable[[], list[str]], tmp_path: Path,
    wait_for: Callable[..., None], leftovers: Callable[[], list[str]],
) -> None:  # fmt: skip
    """It builds in threads of its own, which no signal reaches."""
    source = tmp_path / "op.cpp"
    source.write_text(
        '#include <opwright.h>\nOPWRIGHT("f(x: T[N]) -> (y: T[N])")\n'
        "template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y) {}\n"
    )
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\nfrom opwright.cli import main; main()"
    )
    words = [sys.executable, "-c", script, "build", str(source)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as builder:
        wait_for(lambda: hanging.exists() and hanging.read_text())
        builder.send_signal(how)
        try:
            _, errors = builder.communicate(timeout=SECONDS)
        finally:
            builder.kill()
    assert "Traceback" not in errors
    assert builder.returncode == status
    wait_for(lambda: strays() == [])
    assert leftovers() == []


def test_a_handler_of_the_programs_own_is_left_alone(
    hanging: Path, answering: Callable[..., Path], strays: Callable[[], list[str]], wait_for: Callable[..., None],
    tmp_path: Path,
) -> None:  # fmt: skip
    script = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: print("mine", flush=True))
from pathlib import Path
from opwright.toolchain import Unit, build
build(Unit("op", "int x;"))
print(signal.getsignal(signal.SIGHUP) is signal.SIG_DFL, flush=True)
"""
    builder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    wait_for(lambda: hanging.exists() and hanging.read_text())
    builder.send_signal(signal.SIGTERM)
    assert builder.stdout is not None
    assert builder.stdout.readline() == "mine\n"
    Path(f"{hanging}.go").touch()
    os.kill(int(hanging.read_text()), signal.SIGKILL)
    rest, _ = builder.communicate(timeout=SECONDS)
    assert (builder.returncode, rest) == (0, "True\n")


def test_what_a_killed_builder_started_is_stopped_by_the_next(
    hanging: Path, start: Start, answering: Callable[..., Path], compiled: Compiled, strays: Callable[[], list[str]],
    wait_for: Callable[..., None], answer: Callable[[Built], int], leftovers: Callable[[], list[str]],
) -> None:  # fmt: skip
    source = answering("12")
    builder = start(source)
    wait_for(lambda: hanging.exists() and hanging.read_text())
    builder.kill()
    builder.wait()
    wait_for(lambda: len(strays()) >= 2)  # they would go on for ever
    Path(f"{hanging}.go").touch()
    assert answer(compiled(source)) == 12
    wait_for(lambda: strays() == [])
    assert leftovers() == []


def test_a_fork_of_a_killed_builder_holds_up_nobody(
    hanging: Path, answering: Callable[..., Path], compiled: Compiled, wait_for: Callable[..., None], tmp_path: Path,
) -> None:  # fmt: skip
    """As a DataLoader's worker is, that was forked while another thread compiled."""
    source, worker = answering("12"), tmp_path / "worker"
    script = f"""
import os, threading, time
from pathlib import Path
from opwright.toolchain import Unit, build, include_line
source = Path({str(source)!r})
unit = Unit(source.stem, include_line(source) + "\\n", source)
threading.Thread(target=build, args=(unit,), daemon=True).start()
while not os.path.exists({str(hanging)!r}):
    time.sleep(0.01)
if os.fork() == 0:  # it has let go of the lock by the time that it says so
    Path({str(worker)!r}).write_text(str(os.getpid()))
time.sleep(300)
"""
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", script]) as builder:
        wait_for(lambda: worker.exists() and worker.read_text())
        builder.kill()
    try:
        Path(f"{hanging}.go").touch()
        lines: list[str] = []
        assert not compiled(source, on_progress=lines.append).cached
        assert not [line for line in lines if "waiting" in line]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(worker.read_text()), signal.SIGKILL)
