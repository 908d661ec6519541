"""Makes calls at random and judges what comes of them; a program, so that a crash is somebody else's to report.

``python -m tests.fuzz.calls --count 1500 --seed 7``; ``--only N`` describes call N and makes it alone, ``--describe N``
only describes it. A call depends on the seed and its number alone. The number of the one being made is in ``--log``.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import math
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Sequence

import torch

from .judge import Wrong, judge_error, judge_result, save_arguments, too_long
from .mutations import mutate
from .operators import Call, Target, chosen_target, draw, targets

_SECONDS = 600  # for one call, a compilation with sanitizers included
MEMORY = 8 << 30


def make(found: Sequence[Target], seed: int, number: int) -> Call:
    """Call `number`."""
    rng = random.Random(f"{seed}:{number}")
    call = draw(rng.choice(found), rng)
    mutate(call, rng)
    call.target = chosen_target(call, found)
    return call


def outcome(call: Call) -> str:
    """Make the call: the kind of what came of it.

    Raises:
        Wrong: it isn't what should have come of it.
    """
    if too_long(call):
        return "left out: endless"
    given = save_arguments(call)
    try:
        result = call()
    except Exception as error:
        try:
            judge_error(call, error)
        except Wrong as wrong:
            raise Wrong(f"{wrong}\n  raised {type(error).__name__}: {error}") from error
        return type(error).__name__
    return "right" if judge_result(call, given, result) else "shapes right"


def run(found: Sequence[Target], seed: int, numbers: range, log: str | None, seconds: float = math.inf) -> int:
    """Make the calls, as many as `seconds` are enough for, print what is wrong and the counts; how many are wrong."""
    ends = time.monotonic() + seconds
    counts: collections.Counter[str] = collections.Counter()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) if log else None
    for number in numbers:
        if time.monotonic() > ends:
            break
        call = make(found, seed, number)
        if file is not None:
            os.pwrite(file, b"%-20d" % number, 0)
        signal.alarm(_SECONDS)
        try:
            counts[outcome(call)] += 1
        except Wrong as wrong:
            counts["WRONG"] += 1
            print(f"call {number} of seed {seed} is wrong: {wrong}\n{call.describe()}", flush=True)
        except Exception:  # of the judge: to be mended there
            counts["WRONG"] += 1
            print(
                f"call {number} of seed {seed} can't be judged\n{call.describe()}\n{traceback.format_exc()}", flush=True
            )
        signal.alarm(0)
    print(f"seed {seed}: {counts.total()} calls of {len(found)} operators; {dict(counts.most_common())}")
    return counts["WRONG"]


def limit_process() -> None:
    """Ignore warnings, and bound the process's memory, except under a sanitizer, whose own memory is large."""
    warnings.simplefilter("ignore")
    sanitized = "asan" in os.environ.pop("LD_PRELOAD", "")  # not for the compilers: it slows them down, and they leak
    if not sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--log")
    parser.add_argument("--only", type=int)
    parser.add_argument("--describe", type=int)
    options = parser.parse_args()
    limit_process()
    torch.set_num_threads(2)
    found = targets()
    for number in (options.only, options.describe):
        if number is not None:
            print(make(found, options.seed, number).describe(), flush=True)
    if options.describe is not None:
        return 0
    numbers = range(options.count) if options.only is None else range(options.only, options.only + 1)
    return min(run(found, options.seed, numbers, options.log, options.seconds), 100)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
