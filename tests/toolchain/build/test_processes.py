"""Several builders, killed builders, hanging compilers, and how many may run."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.errors import CompileError, ToolchainError
from opwright.toolchain import Built, Unit, build_many
from opwright.toolchain.build.processes import Processes, TimeoutKilledError, in_parallel
from opwright.toolchain.cache.lock import locked

Compile = Callable[..., Built]
Script = Callable[[Path, str], Path]
Start = Callable[[Path], "subprocess.Popen[str]"]
MAX_RUNNING = 2


def alive(pid: int) -> bool:
    """Whether the process runs (a zombie doesn't)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


@pytest.mark.slow
def test_many_processes_compile_once(
    start_build: Start, answering: Callable[..., Path], counting: Callable[[], int], answer: Callable[[Built], int],
    compile_source: Compile,
) -> None:  # fmt: skip
    source = answering("12")
    builders = [start_build(source) for _ in range(6)]
    results = [builder.communicate(timeout=120) for builder in builders]
    assert [errors for _, errors in results] == [""] * 6
    assert counting() == 1
    assert sorted(out.split()[1] for out, _ in results).count("False") == 1
    assert len({out.split()[2] for out, _ in results}) == 1
    assert answer(compile_source(source)) == 12


@pytest.fixture
def slow(tmp_path: Path, gxx: str, monkeypatch: pytest.MonkeyPatch, make_script: Script) -> Path:
    """CXX becomes a compiler that writes its process id into the returned file and hangs while ``slow`` exists."""
    started, switch = tmp_path / "started", tmp_path / "slow"
    switch.touch()
    body = f'case " $* " in *" -v "*) ;; *) if [ -e "{switch}" ]; then echo $$ >>"{started}"; exec sleep 60; fi ;; esac'
    monkeypatch.setenv("CXX", str(make_script(tmp_path / "slow-g++", f'{body}\nexec "{gxx}" "$@"')))
    return started


def test_a_killed_builder_blocks_nobody(
    slow: Path, start_build: Start, answering: Callable[..., Path], answer: Callable[[Built], int],
    compile_source: Compile, cache: Path,
) -> None:  # fmt: skip
    source = answering("12")
    builder = start_build(source)
    wait_for(lambda: slow.exists() and slow.read_text().strip())
    builder.send_signal(signal.SIGKILL)
    builder.wait()
    assert list(cache.rglob(".work-*"))  # it could not clear up
    (slow.parent / "slow").unlink()
    start = time.monotonic()
    built = compile_source(source)
    assert time.monotonic() - start < 10
    assert answer(built) == 12
    assert list(cache.rglob(".work-*")) == []
    os.kill(int(slow.read_text()), signal.SIGKILL)


def test_others_wait_for_a_builder(
    slow: Path, start_build: Start, answering: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from opwright.toolchain import build, include_line

    source = answering("12")
    builder = start_build(source)
    wait_for(lambda: slow.exists() and slow.read_text().strip())
    lines: list[str] = []

    def progress(line: str) -> None:
        lines.append(line)
        if len(lines) > 1:
            return
        (slow.parent / "slow").unlink()
        os.kill(int(slow.read_text()), signal.SIGKILL)  # the other's compilation fails; ours must not

    built = build(Unit("op", include_line(source) + "\n", source), on_progress=progress)
    assert lines[0] == "op: waiting for another process that compiles it"
    assert [line.startswith("compiling op (") for line in lines] == [False, True]
    assert not built.cached
    assert builder.wait(timeout=30) == 1


def test_control_c_kills_the_compiler_and_leaves_nothing(
    slow: Path, start_build: Start, answering: Callable[..., Path], cache: Path
) -> None:
    builder = start_build(answering("12"))
    wait_for(lambda: slow.exists() and slow.read_text().strip())
    builder.send_signal(signal.SIGINT)
    _, errors = builder.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    wait_for(lambda: not alive(int(slow.read_text())))
    assert list(cache.rglob(".work-*")) == []
    assert list(cache.rglob("*.so")) == []


def test_control_c_stops_all_of_several(slow: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_JOBS", "2")

    def interrupt() -> None:
        wait_for(lambda: slow.exists() and len(slow.read_text().split()) == MAX_RUNNING)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            build_many([Unit(f"u{i}", f"int x{i};\n") for i in range(3)])
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    pids = [int(pid) for pid in slow.read_text().split()]
    assert len(pids) == MAX_RUNNING  # the third was not even started
    wait_for(lambda: not any(map(alive, pids)))
    assert list(cache.rglob(".work-*")) == []


def test_a_hanging_compiler_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_script: Script, compile_source: Compile, gxx: str,
    answering: Callable[..., Path],
) -> None:  # fmt: skip
    child = tmp_path / "child"
    body = f'case " $* " in *" -v "*) exec "{gxx}" "$@" ;; esac\nsleep 60 & echo $! >"{child}"\nwait'
    monkeypatch.setenv("CXX", str(make_script(tmp_path / "g++", body)))
    monkeypatch.setenv("OPWRIGHT_COMPILE_TIMEOUT", "0.5")
    with pytest.raises(CompileError, match=r"op: the compiler was stopped after 0.5 seconds\n.*COMPILE_TIMEOUT"):
        compile_source(answering("1"))
    wait_for(lambda: not alive(int(child.read_text())))


def test_a_compiler_that_prints_megabytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_script: Script, compile_source: Compile, gxx: str,
    answering: Callable[..., Path],
) -> None:  # fmt: skip
    body = f'case " $* " in *" -v "*) exec "{gxx}" "$@" ;; esac\nyes "text without meaning" | head -c 20000000\nexit 3'
    monkeypatch.setenv("CXX", str(make_script(tmp_path / "g++", body)))
    source = answering("1")
    with pytest.raises(CompileError) as error:
        compile_source(source)
    text = str(error.value)
    assert text.startswith(f"{source}: error: g++ failed (exit status 3): text without meaning")
    assert len(text) < 5000
    log = Path(next(line for line in text.splitlines() if line.startswith("full log: ")).removeprefix("full log: "))
    assert 20_000_000 < log.stat().st_size < 20_002_000


def test_a_compiler_that_crashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_script: Script, compile_source: Compile, gxx: str,
    answering: Callable[..., Path], cache: Path,
) -> None:  # fmt: skip
    body = f'case " $* " in *" -v "*) exec "{gxx}" "$@" ;; esac\nkill -KILL $$'
    monkeypatch.setenv("CXX", str(make_script(tmp_path / "g++", body)))
    with pytest.raises(CompileError, match=r"g\+\+ failed \(signal 9\): it said nothing\n  likely fix: .*MAX_JOBS=1"):
        compile_source(answering("1"))
    assert list(cache.rglob(".work-*")) == []


def test_a_compiler_that_is_gone_after_it_was_found(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="can't start /nowhere/cc: No such file"):
        Processes().run(["/nowhere/cc"], tmp_path / "log", tmp_path)


def test_max_jobs_bounds_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_script: Script) -> None:
    monkeypatch.setenv("MAX_JOBS", "2")
    folder = tmp_path / "running"
    folder.mkdir()
    body = f'touch "{folder}/$$"; ls "{folder}" | wc -l; sleep 0.1; rm "{folder}/$$"'
    program = str(make_script(tmp_path / "work", body))
    processes = Processes()
    tasks = [lambda i=i: processes.run([program], tmp_path / f"{i}.log", tmp_path) for i in range(8)]
    assert in_parallel(tasks, processes) == [0] * 8
    counts = [int((tmp_path / f"{i}.log").read_text()) for i in range(8)]
    assert max(counts) == 2


def test_the_first_error_stops_the_others(tmp_path: Path) -> None:
    processes = Processes()

    def fail() -> int:
        time.sleep(0.2)
        raise ValueError("this one")

    start = time.monotonic()
    with pytest.raises(ValueError, match="this one"):
        in_parallel([lambda: processes.run(["sleep", "60"], tmp_path / "log", tmp_path), fail], processes)
    assert time.monotonic() - start < 10
    with pytest.raises(ToolchainError, match="interrupted"):
        processes.run(["true"], tmp_path / "log", tmp_path)


def test_the_time_limit_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_COMPILE_TIMEOUT", "0.2")
    with pytest.raises(TimeoutKilledError, match=r"0\.2 seconds"):
        Processes().run(["sleep", "60"], tmp_path / "log", tmp_path)


def test_a_lock_excludes_threads_and_is_waited_for(tmp_path: Path) -> None:
    waited: list[str] = []
    order: list[str] = []
    with locked(tmp_path / "lock", 5, lambda: waited.append("first")) as held:
        assert held

        def second() -> None:
            with locked(tmp_path / "lock", 20, lambda: waited.append("second")) as too:
                order.append(f"second {too}")

        thread = threading.Thread(target=second)
        thread.start()
        wait_for(lambda: waited)
        order.append("first")
    thread.join()
    assert order == ["first", "second True"]
    assert waited == ["second"]


def test_waiting_for_a_lock_is_bounded(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", 5, lambda: None), locked(tmp_path / "lock", 0.1, lambda: None) as held:
        assert not held


def test_without_locks_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def unsupported(_descriptor: int, _how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with locked(tmp_path / "lock", 5, lambda: pytest.fail("nobody to wait for")) as held:
        assert not held


def test_a_lock_is_free_again_although_a_forked_child_has_its_file(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", 5, lambda: None):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(read, 1)
            os._exit(0)
    try:
        with locked(tmp_path / "lock", 0.2, lambda: None) as held:
            assert held
    finally:
        os.write(write, b".")
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)


def test_where_no_thread_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.12 and newer start none while the interpreter shuts down; compilers are needed even then."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setenv("OPWRIGHT_COMPILE_TIMEOUT", "0.3")
    processes = Processes()
    assert in_parallel([lambda: 1, lambda: 2, lambda: 3], processes) == [1, 2, 3]
    assert processes.run(["false"], tmp_path / "log", tmp_path) == 1
    with pytest.raises(TimeoutKilledError, match=r"0\.3 seconds"):
        processes.run(["sleep", "60"], tmp_path / "log", tmp_path)
