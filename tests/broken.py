"""Broken machines, made here: the doctor has to name what is wrong with them, and `load` to say it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REAL = shutil.which("g++") or shutil.which("c++")
# As the compiler that there is, asked what it is; else as what follows.
ASKED = f'case " $* " in *" -v "*) exec {REAL} "$@";; esac\n'  # a folder's name may have -v in it
OLD = 'echo "Target: x86_64-linux-gnu" >&2; echo "gcc version 4.8.5 (old)" >&2'
FAILING = ASKED + 'echo "g++: fatal error: cannot execute cc1plus" >&2\nexit 1'
CRASHING = ASKED + "kill -SEGV $$"
HANGING = {"asked": "sleep 60", "compiling": ASKED + "sleep 60"}
LAUNCHER = "echo 'ccache: error: no disk' >&2; exit 1"

# Options of mount, with {0} for a folder.
FULL = "size=256k,mode=700 none {0} && head -c 250000 /dev/zero > {0}/ballast"
READ_ONLY = "size=99m,mode=700 none {0} && mkdir -m 700 {0}/opwright && mount -o remount,ro {0}"

# A variable, its value, what is said of it, and a part of the fix.
VARIABLES = [
    ("MAX_JOBS", "many", "MAX_JOBS='many': expected a positive whole number", "MAX_JOBS=4"),
    ("MAX_JOBS", "0", "MAX_JOBS='0': expected a positive whole number", "MAX_JOBS=4"),
    ("OPWRIGHT_COMPILE_TIMEOUT", "-1", "OPWRIGHT_COMPILE_TIMEOUT='-1': expected seconds, more than 0", "unset it"),
    ("OPWRIGHT_CACHE_SIZE", "x", "OPWRIGHT_CACHE_SIZE='x': expected a size in bytes, or with K, M, G or T", "=2G"),
    ("OPWRIGHT_PRECOMPILE", "no", "OPWRIGHT_PRECOMPILE='no': expected background, wait or off", "unset it"),
    ("OPWRIGHT_LAUNCHER", "no-such -x", "OPWRIGHT_LAUNCHER asks for 'no-such', which is not on the PATH", "unset"),
]


def script(path: Path, body: str) -> Path:
    """A shell script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def mounted(options: str, small: Path, *words: str, **environment: str) -> str:
    """What Python prints with the build cache in a file system of the test's own, where this user may mount any."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user can mount nothing")
    small.mkdir()
    run = f"TORCH_EXTENSIONS_DIR={small} {shlex.join([sys.executable, *words])}"
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", f"mount -t tmpfs -o {options.format(small)} && {run}"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
