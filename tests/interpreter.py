"""Python processes for tests that needn't import PyTorch, which takes each a second: forks of one that only has."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# The fork leaves the loop and ends as any interpreter does: with its exit functions, and its status.
SERVER = """
import json, os, runpy, sys, types, warnings
import torch
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
asked = json.loads(line)
for stream, path in enumerate((os.devnull, asked["out"], asked["err"])):
    file = os.open(path, os.O_WRONLY | os.O_APPEND if stream else os.O_RDONLY)
    os.dup2(file, stream)
    os.close(file)
sys.stdin = open(os.devnull)
os.environ.clear()
os.environ.update(asked["environment"])
os.chdir(asked["folder"])
sys.argv[1:] = asked["words"]
if asked["strict"]:  # warnings are errors, but for one that PyTorch raises at itself
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "`torch.jit.script_method` is deprecated", DeprecationWarning)
if asked["module"]:
    runpy.run_module(asked["code"], run_name="__main__", alter_sys=True)
else:
    code, main = asked["code"], types.ModuleType("__main__")
    sys.modules["__main__"] = main
    exec(compile(code, "<string>", "exec"), main.__dict__)
"""


@functools.cache
def _server(process: int) -> subprocess.Popen[str]:  # of this process: a fork of it starts its own
    command = [sys.executable, "-c", SERVER]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end() -> None:
        if os.getpid() == process:
            server.communicate()

    atexit.register(end)
    return server


def run_python(
    code: str,
    *words: object,
    folder: Path | None = None,
    environment: dict[str, str] | None = None,
    module: bool = False,
    strict: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run ``python -c code words``, or ``-m code`` of a `module`, in `folder`; with ``-W error`` if it is `strict`.

    The environment is `environment`, else ours; but what Python and PyTorch read of it as they start was read long ago.
    What has to come without PyTorch, or to import it in a way of its own, needs an interpreter of its own.
    """
    server = _server(os.getpid())
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as made:
        out, err = Path(made, "out"), Path(made, "err")
        out.touch()
        err.touch()
        asked = {
            "code": code,
            "module": module,
            "strict": strict,
            "words": [str(word) for word in words],
            "folder": str(folder or Path.cwd()),
            "environment": dict(os.environ) if environment is None else environment,
            "out": str(out),
            "err": str(err),
        }
        print(json.dumps(asked), file=server.stdin, flush=True)
        status = int(server.stdout.readline())
        return subprocess.CompletedProcess([code], status, out.read_text(), err.read_text())
