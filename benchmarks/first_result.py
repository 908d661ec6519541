"""Time to the first result in an empty home, PyTorch imported: at a prompt, in a script, with a runtime that is there.

The runtime is in the cache, which a machine's environments share, or in Opwright's wheel (`make wheels`).

Every process has a new cache. The clock starts after ``import torch`` and stops when the first call of an operator has
returned: the import of Opwright, the source's signature, the kernel's compilation, and whatever runtime serves.
``python benchmarks/first_result.py [--rounds 5]``; a script is timed in two rounds only, for it builds the runtime.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from opwright.bench import Result
from opwright.bench.scripts import parse_rounds, summary
from opwright.runtime.native import prebuilt
from opwright.runtime.native.runtime import build_native

HERE = Path(__file__).parent
SHARED = (
    "import sys; from pathlib import Path; from opwright.runtime.native.shared import share; share(Path(sys.argv[1]))"
)
SESSION = """
import time, torch
started = time.perf_counter()
import opwright
OFFER
ops = opwright.load_inline("first", cpp='OPWRIGHT("f(x: T) -> (y: T)") template <class T> T f(T x) { return 2 * x; }')
result = ops.f(torch.ones(3))
seconds = time.perf_counter() - started
assert result.tolist() == [2, 2, 2]
print("took", seconds, opwright.runtime.name())
"""
OFFER = "from pathlib import Path; from opwright.runtime.native import prebuilt; prebuilt.offer(Path({!r}))"
SCRIPT_ROUNDS = 2


def first(interactive: bool, runtime: Path | None = None, wheel: Path | None = None) -> tuple[float, str]:
    """Return the seconds to the first result in a new cache, and the runtime that served.

    Args:
        interactive: type the commands at a prompt; otherwise they are a script.
        runtime: the native runtime to put into the cache before.
        wheel: the folder of prebuilt runtimes of a wheel.
    """
    with tempfile.TemporaryDirectory() as cache:
        known = {name: value for name, value in os.environ.items() if not name.startswith("OPWRIGHT_")}
        environment = known | {"TORCH_EXTENSIONS_DIR": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have cached bytecode
        if runtime:
            subprocess.run([sys.executable, "-c", SHARED, str(runtime)], env=environment, check=True)
        words = [sys.executable, "-i", "-q"] if interactive else [sys.executable, "-"]
        session = SESSION.replace("OFFER", OFFER.format(str(wheel)) if wheel else "")
        done = subprocess.run(words, input=session, env=environment, capture_output=True, text=True, check=True)
        _, seconds, name = done.stdout.split()
        subprocess.run([sys.executable, "-c", WAIT], env=environment, check=True)
    return float(seconds), name


WAIT = """
import time
from opwright.runtime.native.background import _LOCK
from opwright.toolchain.cache.folder import cache_root
from opwright.toolchain.cache.lock import unless_held
while True:  # what builds the runtime has begun before the session ended
    with unless_held(cache_root() / _LOCK) as free:
        if free:
            break
    time.sleep(0.5)
"""


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 5)
    runtime = build_native().path
    with tempfile.TemporaryDirectory() as folder:
        prebuilt.add(Path(folder), runtime)
        cases = {
            "at a prompt": partial(first, interactive=True),
            "with a runtime that is there": partial(first, interactive=False, runtime=runtime),
            "with a wheel's runtime": partial(first, interactive=False, wheel=Path(folder)),
            "in a script": partial(first, interactive=False),
        }
        samples: dict[str, list[float]] = {name: [] for name in cases}
        for turn in range(rounds):
            for name, case in cases.items():
                if name == "in a script" and turn >= SCRIPT_ROUNDS:
                    continue
                seconds, served = case()
                if served != (expected := "python" if name == "at a prompt" else "native"):
                    raise RuntimeError(f"{name}: the {served} runtime served, expected the {expected} one")
                samples[name].append(seconds)
    timings = {name: summary(each) for name, each in samples.items()}
    result = Result("first_result", "the first result in an empty home, PyTorch imported", timings)
    result.claim("at a prompt, seconds", timings["at a prompt"].median, "<= 1.5")
    result.claim("with a runtime that is there, seconds", timings["with a runtime that is there"].median, "<= 1")
    result.claim("with a wheel's runtime, seconds", timings["with a wheel's runtime"].median, "<= 1")
    result.claim("in a script, seconds", timings["in a script"].median)
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
