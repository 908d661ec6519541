"""``opwright run``: runs a script, module or program in a process in which PyTorch has its C FFI again."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from opwright.aten.pytorch import find_torch
from opwright.errors import OpwrightError
from opwright.legacy.run.environment import environment
from opwright.legacy.run.script import needs_async_name

_PYTHON_SUFFIXES = (".py", ".pyc", ".pyz", ".zip", ".whl")
_SHELL = ["/bin/sh"]


@click.command(
    "run",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="[--emulate [--check]]",
)
@click.option("--emulate", is_flag=True, help="Without a GPU: a device called cuda on the CPU.")
@click.option("--check", is_flag=True, help="With --emulate: check every access of every kernel (slow).")
@click.argument(
    "command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="SCRIPT|-m MODULE|PROGRAM [ARGS]..."
)
def command(command: tuple[str, ...], emulate: bool, check: bool) -> None:
    """Run what was written for an older PyTorch, or for a GPU, unmodified.

    \b
    opwright run build.py
    opwright run setup.py install
    opwright run -m pytest tests/
    opwright run ./make.sh
    opwright run make
    opwright run --emulate -m pytest tests/

    In the process that is started, and in all that it starts, torch.utils.ffi is back, torch.utils.cpp_extension gives
    Opwright's load, CppExtension, BuildExtension and so on, instance-style Functions work, and nvcc takes
    architectures that it no longer knows for the oldest that it does.

    With --emulate, PyTorch's build for the CPU has a device called cuda, whose memory is the host's, and CUDA
    extensions are compiled for the emulator: by load, and by CUDAExtension in a setup.py.
    """  # noqa: D301 - click looks for the character itself
    if check and not emulate:
        raise click.UsageError("--check checks emulated kernels: --emulate --check")
    if emulate:
        from opwright.aten.emulation.library import refuse_cuda_build

        refuse_cuda_build(find_torch())
    os.environ.update(environment(emulated="check" if check else "run" if emulate else ""))
    arguments = program(command)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(arguments[0], arguments)  # noqa: S606 - no shell is involved
    except OSError as error:
        raise OpwrightError(
            f"{arguments[0]} can't be run: {error.strerror or error}\n"
            "  likely fix: name a Python script, -m and a module, or a program on the PATH"
        ) from error


def program(command: tuple[str, ...]) -> list[str]:
    """Return the command to execute for the arguments of ``opwright run``: Python's, unless they name a program."""
    first, *rest = command
    python = [sys.executable, *command]
    if first.startswith("-") or os.path.isdir(first):
        return python
    if os.path.isfile(first):
        interpreter = _interpreter(first)
        if interpreter is None:
            return [sys.executable, "-m", "opwright.legacy.run.script", *command] if needs_async_name(first) else python
        path = first if os.path.dirname(first) else os.path.join(os.curdir, first)
        # A script without `#!` must be run by the shell: the kernel rejects it, whatever the file's mode.
        is_program = os.access(first, os.X_OK) and interpreter != _SHELL
        return [path, *rest] if is_program else [*interpreter, path, *rest]
    return [*command] if shutil.which(first) else python


def _interpreter(path: str) -> list[str] | None:
    """Return the interpreter of a file, if that isn't Python."""
    if path.endswith(_PYTHON_SUFFIXES):
        return None
    with open(path, "rb") as file:
        head = file.read(256)
    if head.startswith(b"#!"):
        words = head[2:].split(b"\n")[0].decode("utf-8", "replace").split()
        return None if any("python" in os.path.basename(word) for word in words) else words
    if head.startswith(b"\x7fELF"):
        return []
    return _SHELL if Path(path).suffix in (".sh", ".bash") else None
