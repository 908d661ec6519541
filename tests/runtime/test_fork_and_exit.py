"""Operators at the end of a process, and in a fork of one whose threads hold locks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_KERNEL = """#include <opwright.h>
OPWRIGHT("inc(x: T[N], k: int) -> (y: T[N])")
template <class T>
void inc(Tensor<const T, 1> x, int64_t k, Tensor<T, 1> y) {
  OPWRIGHT_CHECK(k > 0, "k is ", k);
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] + k;
}
"""
_START = """
import atexit, os, sys, threading, time

def use():
    for call in (lambda: ops.inc(x, 2).tolist(), lambda: ops.inc(x[None], 1), lambda: ops.inc(x, 0)):
        try:
            text = str(call())
        except RuntimeError as error:
            text = f"{type(error).__name__} {error}"
        os.write(1, (text.splitlines()[0] + "\\n").encode())

class Late:
    def __del__(self, use=use):
        use()

if sys.argv[2] == "early":  # runs after the handlers of PyTorch, which is imported later
    atexit.register(use)
import torch, opwright
ops = opwright.load(sys.argv[1])
x = torch.zeros(2)
"""


def run(tmp_path: Path, code: str, when: str = "", seconds: float = 120) -> subprocess.CompletedProcess[str]:
    source = tmp_path / "lifetime_op.cpp"
    source.write_text(_KERNEL)
    command = [sys.executable, "-c", _START + code, str(source), when]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)


_USED = [
    "[2.0, 2.0]",
    "ArgumentError inc(): x has shape (1, 2), expected [N]: 1 axis, not 2",
    "KernelError inc(): k is 0 [k > 0 is false, ",
]


def assert_every_use_succeeds(done: subprocess.CompletedProcess[str]) -> None:
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr, len(lines)) == (0, "", len(_USED))
    assert all(line.startswith(expected) for line, expected in zip(lines, _USED, strict=True))


@pytest.mark.slow
def test_exit_handlers(tmp_path: Path) -> None:
    """The first use is then: its kernel is compiled at exit."""
    assert_every_use_succeeds(run(tmp_path, "", "early"))


@pytest.mark.slow
def test_an_exit_handler_that_needs_several_compilers(tmp_path: Path) -> None:
    """C is compiled beside the C++ that calls it, at other times in threads; there are no new ones by then."""
    (tmp_path / "exit_c.c").write_text(
        '#include <opwright.h>\nOPWRIGHT("exit_inc(x: f32[N]) -> (y: f32[N])")\n'
        f"void exit_inc(int64_t N, const float *x, float *y) {{ /* {tmp_path} */\n"
        "  for (int64_t i = 0; i < N; ++i) y[i] = x[i] + 1;\n}\n"
    )
    code = """
late = opwright.load(os.path.join(os.path.dirname(sys.argv[1]), "exit_c.c"))
atexit.register(lambda: print(late.exit_inc(x).tolist()))
"""
    done = run(tmp_path, code)
    assert (done.stdout, done.stderr) == ("[1.0, 1.0]\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("where", ["sys.modules['kept']", "__import__('builtins').kept"])
def test_del_when_modules_are_gone(tmp_path: Path, where: str) -> None:
    assert_every_use_succeeds(run(tmp_path, f"ops.inc(x, 1)\n{where} = Late()"))


@pytest.mark.slow
def test_an_element_type_that_is_new_when_modules_are_gone(tmp_path: Path) -> None:
    code = "ops.inc(x, 1)\nx = torch.zeros(2, dtype=torch.float64)\nsys.modules['kept'] = Late()"
    source = f"ops = opwright.load(sys.argv[1], extra_cflags=['-DRUN={tmp_path.name}'], namespace='new_type')\n"
    done = run(tmp_path, source + code)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == (
        "OpwrightError inc(): the interpreter is ending; nothing can be compiled any more, and there is no kernel for "
        "T = f64 yet"
    )


# The compiler is slow in these: the process ends while it runs. (Threads that call operators all the time, PyTorch's
# own too, are another matter: PyTorch aborts when the interpreter ends a daemon thread inside of one.)
_SLOW_COMPILER = """
compiler = os.path.join(os.path.dirname(sys.argv[1]), "slow-c++")
with open(compiler, "w") as file:
    file.write('#!/bin/sh\\ncase "$*" in *lifetime*-o*) sleep 1 ;; esac\\nexec c++ "$@"\\n')
os.chmod(compiler, 0o755)
os.environ["CXX"] = compiler
started = threading.Event()
"""
_IN_A_THREAD = """
def first_use():
    started.set()
    print(ops.inc(x, 1).tolist(), flush=True)

class Linger:  # so that the compiler is done while the interpreter goes away, not after
    def __del__(self, sleep=time.sleep):
        sleep(2)

sys.modules["linger"] = Linger()
threading.Thread(target=first_use, daemon={daemon}).start()
started.wait()
time.sleep(0.3)
"""


@pytest.mark.slow
@pytest.mark.parametrize("daemon", [pytest.param(True), pytest.param(False, marks=pytest.mark.exhaustive)])
def test_exit_while_a_thread_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, daemon: bool) -> None:
    done = run(tmp_path, _prepared() + _IN_A_THREAD.format(daemon=daemon) + "sys.exit(3)")
    assert (done.returncode, "terminate" in done.stderr) == (3, False)
    assert done.stdout in (["[1.0, 1.0]\n", ""] if daemon else ["[1.0, 1.0]\n"])


def _prepared() -> str:
    """The runtime is there already: only the kernel is compiled slowly, every time."""
    again = "ops = opwright.load(sys.argv[1], namespace='slow', extra_cflags=[f'-DRUN={os.getpid()}'])\n"
    return "ops.inc(x, 1)\n" + _SLOW_COMPILER + again


_FORK = """
import opwright.runtime.load.loading as loading, opwright.runtime.register.kernels as registry
ready, end = threading.Event(), threading.Event()

def hold():
    with loading._LOCK, registry._LOCK:
        ready.set()
        end.wait()

torch.set_num_threads(1)  # PyTorch's own threads don't survive a fork
threading.Thread(target=hold).start()
ready.wait()
child = os.fork()
if child == 0:
    ops = opwright.load(sys.argv[1], namespace="in_the_child")
    os._exit(0 if ops.inc(x, 2).tolist() == [2.0, 2.0] else 1)
deadline, status = time.monotonic() + 60, None
while status is None and time.monotonic() < deadline:
    done, found = os.waitpid(child, os.WNOHANG)
    status = os.waitstatus_to_exitcode(found) if done else None
    time.sleep(0.02)
end.set()
if status is None:
    os.kill(child, 9)
print(status)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork here")
def test_a_fork_while_another_thread_loads(tmp_path: Path) -> None:
    done = run(tmp_path, "ops.inc(x, 1)\n" + _FORK)
    assert done.stdout == "0\n", done.stderr
