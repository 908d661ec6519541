"""Runs `pip install` with one line that moves: the step, and the seconds so far; pip's own output only if it fails.

    python tools/pip_install.py ARGUMENTS

On a terminal the line is rewritten; elsewhere a step is a line, and so is each quarter of a minute in the same step.
"""

from __future__ import annotations

import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

EVERY = 15.0
"""Seconds between two lines of the same step where the output is no terminal."""
_STEPS = {
    r"(?:Collecting|Processing|Obtaining) (\S+)": "finding {}",
    r"  Downloading (\S+)(.*)": "downloading {}{}",
    r"  *Using cached (\S+)(.*)": "taking {}{} from the cache",
    r"Building \S+ for (?:collected packages: )?(.+?)[:.]? *$": "building {}",
    r"Installing collected packages: (?:.*, )?(\S+)": "unpacking what was found, {} last",
}


def step_of(line: str) -> str:
    """Return what pip is doing by a line of its output; an empty string if the line doesn't say."""
    for pattern, text in _STEPS.items():
        if match := re.match(pattern, line):
            return text.format(*(group.rpartition("/")[2] or "." for group in match.groups(".")))[:100]
    return ""


def lines_of(process: subprocess.Popen[str]) -> Iterator[str | None]:
    """Yield the lines of a process as they come, and None after each second without one."""
    waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        for line in process.stdout or ():
            waiting.put(line)
        waiting.put(None)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    while True:
        try:
            line = waiting.get(timeout=1)
        except queue.Empty:
            yield None
            continue
        if line is None:
            return
        yield line


def main() -> int:
    """Run pip; return its exit status."""
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *sys.argv[1:]]
    started, said, step, written = time.monotonic(), -EVERY, "starting", ""
    text: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in lines_of(process):
            text += [line] if line else []
            step = (line and step_of(line)) or step
            seconds = time.monotonic() - started
            if sys.stdout.isatty():
                sys.stdout.write(f"\r\x1b[K  {seconds:3.0f} s  pip: {step[:60]}")
            elif seconds - said >= (EVERY if step == written else 2):
                said, written = seconds, step
                sys.stdout.write(f"  {seconds:3.0f} s  pip: {step}\n")
            sys.stdout.flush()
    if sys.stdout.isatty():
        sys.stdout.write("\r\x1b[K")
    if process.returncode:
        sys.stderr.write("".join(text))
    else:
        sys.stdout.write(f"  {time.monotonic() - started:3.0f} s  pip: done\n")
    return process.returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
