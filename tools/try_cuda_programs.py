"""Build and run CUDA programs of others under emulation, and print what became of each.

    python tools/try_cuda_programs.py ~/HeCBench/src --sample 60 --seed 1
    python tools/try_cuda_programs.py ~/llm.c/dev/cuda --check --set B=2 --set T=64 --set repeat_times=1

FOLDER is a checkout that you have: HeCBench's src (folders NAME-cuda, each with a Makefile and a target `run`), or a
folder of programs of one file each, as llm.c's dev/cuda, whose variants are chosen by a number. Nothing is downloaded,
and nothing is written into the folder. Numbers on a command line become smaller until the time suffices, then large
constants of the sources of a program with a Makefile (`#define SIZE 8192`), in a copy; of a program of one file, sizes
that stand in the source (`int T = 1024;`) are given by --set.

A program has *passed* if its own check says so, *failed* if its own check says so, and is *finished* if it has none.
It is *faulty* if it was stopped with a report of a fault; one that failed is run again with --check, to see whether it
is. Everything else is inconclusive, by cause: "time" is up, "data" that isn't in the checkout, its own "usage" (it
refuses its arguments), or another "status" or "signal" of its end.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
from tools.smaller_programs import PARTS, REDUCED, SMALL, smaller, with_sizes, with_smaller_constants

FAULTY = 70
"""The exit status of a program that a kernel's fault has ended."""
LATE = -signal.SIGKILL
_PASSED = re.compile(
    r"\bpass(?:ed)?\b|\bsuccess(?:ful(?:ly)?)?\b|results? (?:match|correct)|\bcorrect\b|verified", re.IGNORECASE
)
_FAILED = re.compile(
    r"\bfail(?:ed|ure)?\b|mismatch|\bincorrect\b|\bwrong\b|not match|verification error|\berror at\b|\bFAIL\b",
    re.IGNORECASE,
)
_NO_DATA = re.compile(
    r"(?:can(?:not|'t)|fail(?:ed)? to|unable to|error|couldn't|could not) (?:open|read|find|load)|no such file|"
    r"was not opened|open fail|(?:file|files|images?|labels?|data)\b[^\n]{0,20} not found|bad file|CImgIOException",
    re.IGNORECASE,
)
_USAGE = re.compile(r"^\W*usage\b", re.IGNORECASE | re.MULTILINE)
_FILE = re.compile(r"[\w.-]*/[\w./-]+|[\w-]+\.[a-zA-Z]\w*")
"""An argument that names a file."""
_SOURCES = {".cu", ".cuh", ".c", ".cpp", ".cc", ".h", ".hpp"}


@dataclass(frozen=True)
class Result:
    """What became of a program.

    Attributes:
        name: the program, and the variant.
        built: whether it was compiled and linked.
        verdict: "passed", "failed", "faulty", "finished" or "inconclusive".
        cause: why it isn't passed or finished, in one line; if it is inconclusive, its first word is the kind of cause.
            Or what was made smaller beside its arguments.
    """

    name: str
    built: bool
    verdict: str
    cause: str = ""


@dataclass(frozen=True)
class Trial:
    """How programs are built and run.

    Attributes:
        check: whether every access is checked.
        seconds: the time limit of a run.
        sizes: numbers by the name of the variable that is set to another one in a source.
        first: which of `REDUCED` is tried first. Smaller ones follow while the time is up, larger ones if it isn't.
    """

    check: bool
    seconds: float
    sizes: Mapping[str, int] = field(default_factory=dict)
    first: int = 0

    @property
    def compiler(self) -> str:
        """Return the command that stands for nvcc."""
        return f"{shlex.quote(sys.executable)} -m opwright nvcc{' --check' * self.check}"


def output_of(command: Sequence[str], folder: Path, seconds: float) -> tuple[int, str]:
    """Run a command in `folder`; return its exit status (`LATE` after `seconds`) and what it printed."""
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    try:
        text, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
        return LATE, text.decode("utf-8", "replace")
    return process.returncode, text.decode("utf-8", "replace")


def judged(name: str, status: int, text: str, lacking: str = "") -> Result:
    """Return the result of a run that has ended; `lacking` is a file that its arguments name and that isn't there."""
    if status == LATE:
        return Result(name, True, "inconclusive", "time")
    if status == FAULTY:
        return Result(name, True, "faulty", _report(text))
    if line := _line_with(_NO_DATA, text):
        return Result(name, True, "inconclusive", f"data: {line}")
    if status and lacking:
        return Result(name, True, "inconclusive", f"data: {lacking} isn't there")
    if _USAGE.search(text) and (status or not _PASSED.search(text)):
        return Result(name, True, "inconclusive", f"usage: {_line_with(_USAGE, text)}")
    if status < 0:
        return Result(name, True, "inconclusive", _ended(status, text))
    if _FAILED.search(text) or (status > 0 and _PASSED.search(text)):
        return Result(name, True, "failed", _line_with(_FAILED, text) or f"status {status}")
    if status:
        return Result(name, True, "inconclusive", _ended(status, text))
    return Result(name, True, "passed" if _PASSED.search(text) else "finished")


def _line_with(pattern: re.Pattern[str], text: str) -> str:
    return next((line.strip()[:90] for line in text.splitlines() if pattern.search(line)), "")


def lacking(arguments: Sequence[str], folder: Path) -> str:
    """Return the first file that `arguments` name to be read and that isn't in `folder`, or ""."""
    for before, word in zip(["", *arguments], arguments, strict=False):
        is_result = "out" in word.lower() or re.match(r"--?o", before)
        if _FILE.fullmatch(word) and not is_result and not (folder / word).exists():
            return word
    return ""


def _ended(status: int, text: str) -> str:
    how = f"signal {-status}" if status < 0 else f"status {status}"
    last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
    return f"{how}: {last[:80]}"


def _report(text: str) -> str:
    """Return the first line of the report that a fault has printed, without its folder."""
    found = re.search(r"opwright: error: (.*)", text)
    return re.sub(r"/\S*/", "", found[1])[:110] if found else "a fault"


def build_error(text: str) -> str:
    """Return the line of a compiler's output that says what is wrong."""
    lines = text.splitlines()
    chosen = next((line for line in lines if "error:" in line), lines[-1] if lines else "nothing was said")
    return re.sub(r"/\S*/", "", chosen).removeprefix("opwright: error: ").strip()[:110]


def with_makefile(folder: Path, trial: Trial) -> Iterator[Result]:
    """Build a copy of a folder with a Makefile, among links to its neighbours, and run what its target `run` would."""
    name = folder.name.removesuffix("-cuda")
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "src" / folder.name
        copy.parent.mkdir()
        for sibling in folder.parent.iterdir():
            if sibling.name != folder.name:
                (copy.parent / sibling.name).symlink_to(sibling)
        shutil.copytree(folder, copy)
        yield from _made_and_run(name, copy, trial)


def _made_and_run(name: str, folder: Path, trial: Trial) -> Iterator[Result]:
    make = ["make", "-s", "-B", f"CC={trial.compiler}", f"NVCC={trial.compiler}", "ARCH=sm_80", "LAUNCHER="]
    status, text = output_of(make, folder, 600)
    if status:
        yield Result(name, False, "inconclusive", build_error(text))
        return
    commands = output_of(["make", "-n", "run", *make[3:]], folder, 30)[1].replace("\\\n", " ").splitlines()
    runs = [shlex.split(line) for line in commands if line.strip().startswith("./")]
    if not runs:
        yield Result(name, True, "inconclusive", "no target run")
        return
    result = _run_smaller(name, runs[0], folder, trial)
    divided = 1
    for parts in (1, PARTS, PARTS) if result.cause == "time" else ():
        divided *= parts
        smaller_one = _with_smaller_constants(name, runs[0], folder, trial, make, parts)
        if smaller_one and smaller_one.verdict in ("passed", "finished"):
            note = f"sizes in its sources / {divided}" if divided > 1 else "repeated less in its sources"
            result = replace(smaller_one, cause=note)
            break
    if result.verdict == "failed" and not trial.check:
        result = next(
            (r for r in _made_and_run(name, folder, replace(trial, check=True)) if r.verdict == "faulty"), result
        )
    yield result


def _with_smaller_constants(
    name: str, command: Sequence[str], folder: Path, trial: Trial, make: Sequence[str], parts: int
) -> Result | None:
    """Return the result of a program whose sources have been changed in its folder; None if it doesn't build so.

    Constants that no longer fit each other may make it fail, so only a result that is right says anything.
    """
    for path in folder.rglob("*"):
        if path.is_file() and (path.suffix in _SOURCES or path.name == "Makefile"):
            path.write_bytes(with_smaller_constants(path.read_bytes().decode("latin-1"), parts).encode("latin-1"))
    status, _ = output_of(make, folder, 600)
    return None if status else _run_smaller(name, command, folder, replace(trial, first=len(REDUCED) - 1))


def _run_smaller(name: str, command: Sequence[str], folder: Path, trial: Trial) -> Result:
    """Return the first result that is passed or finished; otherwise one that is faulty, failed, or late, or the first.

    A fault with smaller numbers alone isn't the program's: it may need multiples of something.
    """
    results: list[Result] = []
    tried: dict[tuple[str, ...], Result] = {}
    at, step = trial.first, 0
    while 0 <= at < len(REDUCED):
        arguments = (command[0], *smaller(command[1:], *REDUCED[at]))
        if arguments not in tried:
            status, text = output_of(arguments, folder, trial.seconds)
            tried[arguments] = judged(name, status, text, lacking(arguments[1:], folder))
        result = tried[arguments]
        if result.verdict in ("passed", "finished"):
            return result
        results.append(result)
        late = result.cause == "time"
        if step < 0 and late:
            break
        step = step or (1 if late else -1)
        at += step
    known = [result for verdict in ("faulty", "failed") for result in results if result.verdict == verdict]
    return next(iter([*known, *(result for result in results if result.cause == "time")]), results[0])


def with_variants(source: Path, trial: Trial, numbers: Sequence[str] = ()) -> Iterator[Result]:
    """Build a program of one file, and run some of the variants that it has, or all."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        program, changed = scratch / source.stem, scratch / source.name
        changed.write_text(with_sizes(source.read_text("utf-8", "replace"), trial.sizes), "utf-8")
        flags = ["-O3", "--use_fast_math", "-Xcompiler", "-fopenmp", "-lcublas", "-lcublasLt", "-std=c++17"]
        command = [*shlex.split(trial.compiler), *flags, f"-I{source.parent}", str(changed), "-o", str(program)]
        status, text = output_of(command, source.parent, 600)
        if status:
            yield Result(source.stem, False, "inconclusive", build_error(text))
            return
        for number in numbers or variants(source.read_text("utf-8", "replace")):
            result = judged(f"{source.stem} {number}", *output_of([str(program), number], scratch, trial.seconds))
            if result.verdict == "failed" and not trial.check:
                checked = with_variants(source, replace(trial, check=True), [number])
                result = next((each for each in checked if each.verdict == "faulty"), result)
            yield result


def variants(text: str) -> list[str]:
    """Return the numbers that a program of this text takes: of the switch over its first argument; else "1"."""
    chosen = re.search(r"(\w+)\s*=\s*(?:std::)?(?:atoi|stoi)\(argv\[1\]", text)
    if not chosen:
        return ["1"]
    parts = re.findall(rf"\bswitch\s*\(\s*{chosen[1]}\s*\)(.*?)(?:\bdefault\b|\bswitch\b|\Z)", text, re.DOTALL)
    return list(dict.fromkeys(re.findall(r"\bcase (\d+)\s*:", "".join(parts)))) or ["1"]


def trials(folder: Path) -> list[Path]:
    """Return the programs in a folder: folders with a Makefile, or sources that have a main function."""
    folders = sorted(path.parent for path in folder.glob("*-cuda/Makefile"))
    return folders or [path for path in sorted(folder.glob("*.cu")) if "int main" in path.read_text("utf-8", "replace")]


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    return name, int(number)


def main() -> int:
    """Print the table, one line for each program as it is done, and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="how many programs to draw; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="programs whose name matches")
    parser.add_argument("--check", action="store_true", help="check every access")
    parser.add_argument("--seconds", type=float, default=30, help="the time limit of a run")
    parser.add_argument("--small", action="store_true", help="begin with small numbers, not with those of the Makefile")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--set", dest="sizes", type=_size, action="append", default=[], metavar="NAME=NUMBER",
        help="in programs of one file: another number for a variable of the source",
    )  # fmt: skip
    given = parser.parse_args()
    found = [path for path in trials(given.folder.resolve()) if re.search(given.only, path.name)]
    if not found:
        parser.error(f"{given.folder} has neither folders NAME-cuda with a Makefile nor .cu files with a main function")
    if given.sample:
        found = sorted(random.Random(given.seed).sample(found, min(given.sample, len(found))))  # noqa: S311 - no secret
    trial = Trial(given.check, given.seconds, dict(given.sizes), SMALL if given.small else 0)

    def tried(path: Path) -> list[Result]:
        results = list((with_makefile if path.is_dir() else with_variants)(path, trial))
        for each in results:
            print(f"{each.name:28} {'built' if each.built else '-':6} {each.verdict:13} {each.cause}", flush=True)
        return results

    with ThreadPoolExecutor(given.jobs) as pool:
        results = [result for each in pool.map(tried, found) for result in each]
    verdicts = Counter(result.verdict for result in results if result.built)
    listed = ", ".join(
        f"{verdicts[word]} {word}" for word in ("passed", "finished", "failed", "faulty", "inconclusive")
    )
    causes = Counter(
        re.split("[: ]", result.cause)[0] for result in results if result.verdict == "inconclusive" and result.built
    )
    print(f"\n{len(found)} programs, {len(results)} runs: {sum(r.built for r in results)} built; of these {listed}")
    if causes:
        print("inconclusive by cause: " + ", ".join(f"{count} {cause}" for cause, count in causes.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
