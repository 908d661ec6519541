"""Counts the files of Opwright to read to follow a load and a call: those whose functions run, in order.

Counted for examples/my_op in a separate process, whose build cache contains everything it needs. Code that runs during
imports isn't counted. A package is entered when a function in one of its files is called from another package; each
file by which it is entered is a door: ``python benchmarks/files_entered.py``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from opwright.bench import Result, write_result

HERE = Path(__file__).parent
_WORKER = r"""
import inspect, json, os, sys
import torch, opwright

root = os.path.dirname(opwright.__file__)

class Trace:
    def __init__(self):
        self.files, self.doors, self.stack, self.importing = [], {}, [], 0

    def __call__(self, frame, event, _):
        if event not in ("call", "return") or not (path := frame.f_code.co_filename).startswith(root):
            return
        change = 1 if event == "call" else -1
        if frame.f_code.co_name == "<module>":
            self.importing += change
        if self.importing or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return  # a module, or the body of a class
        name = os.path.relpath(path, root)
        if event == "return":
            self.stack.pop()
            return
        if name not in self.files:
            self.files.append(name)
        package, caller = os.path.dirname(name), os.path.dirname(self.stack[-1]) if self.stack else None
        if package != caller:
            self.doors.setdefault(package, [])
            if name not in self.doors[package]:
                self.doors[package].append(name)
        self.stack.append(name)

def traced(body):
    trace = Trace()
    sys.setprofile(trace)
    try:
        result = body()
    finally:
        sys.setprofile(None)
    return result, {"files": trace.files, "doors": trace.doors}

x, y = torch.ones(8), torch.ones(8)
ops, loading = traced(lambda: opwright.load(sys.argv[1]))
z, calling = traced(lambda: ops.my_op(x, y))
assert torch.equal(z, 3 * x - y)
print(json.dumps({"load": loading, "call": calling}))
"""


def count(python: str) -> dict[str, Any]:
    """Return the files entered by the first load and the first call, in a process of `python` with a filled cache."""
    words = [python, "-c", _WORKER, str(HERE.parent / "examples/my_op/my_op.cpp")]
    for _ in range(2):
        done = subprocess.run(words, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Count, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the interpreter, as of another checkout")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the JSON goes")
    options = parser.parse_args()
    counts: dict[str, float] = {}
    for what, entered in count(options.python).items():
        again = {package: doors for package, doors in entered["doors"].items() if len(doors) > 1}
        counts[f"{what}: files"] = len(entered["files"])
        counts[f"{what}: packages"] = len({str(Path(file).parent) for file in entered["files"]})
        counts[f"{what}: packages with several doors"] = len(again)
        print(f"{what}: {len(entered['files'])} files")
        print("".join(f"  {file}\n" for file in entered["files"]), end="")
        for package, doors in again.items():
            print(f"  {package or '.'} has {len(doors)} doors: {', '.join(Path(door).name for door in doors)}")
    what = "Opwright's own files whose functions run: the first load of my_op, and its first call"
    write_result(Result("files_entered", what, ratios=counts), options.out)


if __name__ == "__main__":
    main()
