"""Tests this checkout with one version of PyTorch, in a separate environment, and records the results.

    tools/test_pytorch.py 2.12.0 [--only canary,runtime] [--keep]

The environment and a copy of the checkout are created in build/pytorch, and removed afterwards. Builds with CUDA
download gigabytes. The results are written to docs/versions.json, from which docs/versions.md is generated.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parent.parent
WORK = ROOT / "build" / "pytorch"
RESULTS = ROOT / "docs" / "versions.json"
PAGE = ROOT / "docs" / "versions.md"
CANARY = "tests/runtime/test_torch_internals.py"
GROUPS = {
    "canary": [CANARY],
    "runtime": ["tests/runtime", f"--ignore={CANARY}"],
    "messages": ["tests/messages"],
    "codegen": ["tests/codegen"],
    "examples": ["examples"],
    "packaging": ["tests/packaging"],
}
SPACE = 20 << 30
"""Bytes that must be free before an environment is made."""
TITLE = """\
# Versions of PyTorch

What passed with which version, as `make test-pytorch VERSION=2.12.0` noted it: passed / failed / skipped, without those
that take minutes. Skipped ones need a GPU, a tool or another build of PyTorch. `canary` looks for each private name of
PyTorch that Opwright uses, and hides it in turn.

An Opwright that meets a newer PyTorch than these says so in one line, and goes on. Where its native runtime doesn't
compile with that PyTorch, it uses the runtime in Python, and says how to pin PyTorch.
"""


def main() -> int:
    """Make the environment, run the tests, write the page; exit with status 1 if a test failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="a version of PyTorch, such as 2.12.0")
    parser.add_argument("--only", default=",".join(GROUPS), help=f"which of {','.join(GROUPS)}")
    parser.add_argument("--keep", action="store_true", help="leave the environment, and use one that was left")
    parser.add_argument("--workers", default="1", help="processes that tests run in")
    options = parser.parse_args()
    groups = options.only.split(",")
    if unknown := set(groups) - GROUPS.keys():
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    folder = WORK / options.version
    try:
        checkout = copy_checkout(folder, options.version)
        python = environment(folder, checkout, options.version)
        results = {group: run_tests(python, checkout, folder, group, options.workers) for group in groups}
        note(options.version, facts(python), results)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return int(any(result["failed"] for result in results.values()))


def copy_checkout(folder: Path, version: str) -> Path:
    """Copy the checkout, which may change during the test; in the copy, the version counts as tested."""
    checkout = folder / "checkout"
    shutil.rmtree(checkout, ignore_errors=True)
    words = [shutil.which("git") or "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (source := ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, checkout / name)
    minor, file = version.rpartition(".")[0], checkout / "src" / "opwright" / "_version.py"
    if minor not in runpy.run_path(str(file))["TESTED_PYTORCH"]:
        text = file.read_text("utf-8")
        file.write_text(re.sub(r"(?m)^(TESTED_PYTORCH = \(.*?),?\)$", rf'\1, "{minor}")', text), "utf-8")
    return checkout


def environment(folder: Path, checkout: Path, version: str) -> str:
    """Make the environment: this PyTorch with the versions it pins, everything else as in constraints.txt."""
    python = folder / "venv" / "bin" / "python"
    if (done := folder / "installed").exists():
        return str(python)
    folder.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(folder).free) < SPACE:
        raise SystemExit(f"error: {folder}: {free >> 30} GiB are free; PyTorch's builds with CUDA need {SPACE >> 30}")
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    own = [line for line in lines if not re.match(r"(torch|setuptools)==|nvidia-", line)]
    (folder / "constraints.txt").write_text("\n".join([*own, f"torch=={version}", ""]), "utf-8")
    run(sys.executable, "-m", "venv", "--clear", str(folder / "venv"))
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check"]
    run(
        *install,
        "--constraint",
        str(folder / "constraints.txt"),
        f"torch=={version}",
        "--editable",
        f"{checkout}[all,dev]",
    )
    done.touch()
    return str(python)


def run_tests(python: str, checkout: Path, folder: Path, group: str, workers: str) -> dict[str, Any]:
    """Run a group of tests; return the numbers of passed, failed and skipped tests, and the failed ones' names."""
    report = folder / f"{group}.xml"
    words = [
        python,
        "-m",
        "pytest",
        "-q",
        "-m",
        "not slow and not exhaustive",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
    ]
    words += ["-n", workers] if workers != "1" else []
    print(f"+ {group}: {' '.join([*words, *GROUPS[group]])}", flush=True)
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("OPWRIGHT_", "PYTHON"))}
    subprocess.run([*words, *GROUPS[group]], cwd=checkout, env=outside, check=False)
    if not report.exists():
        return {"passed": 0, "failed": 1, "skipped": 0, "failures": ["pytest itself"]}
    cases = [(case, {outcome.tag for outcome in case}) for case in ET.parse(report).iter("testcase")]  # noqa: S314 - ours
    failures = [f"{case.get('classname')}.{case.get('name')}" for case, tags in cases if tags & {"failure", "error"}]
    skipped = sum("skipped" in tags for _, tags in cases)
    passed = len(cases) - len(failures) - skipped
    return {"passed": passed, "failed": len(failures), "skipped": skipped, "failures": failures}


def facts(python: str) -> dict[str, str]:
    """Return the tested versions."""
    code = "import torch, platform; print(torch.__version__, platform.python_version())"
    words = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    log = [shutil.which("git") or "git", "log", "-1", "--format=%cs"]
    date = subprocess.run(log, cwd=ROOT, check=True, capture_output=True, text=True)
    return {
        "build": words[-2],
        "python": words[-1],
        "platform": f"{platform.system()} {platform.machine()}",
        "opwright": date.stdout.strip(),
    }


def note(version: str, tested: dict[str, str], results: dict[str, Any]) -> None:
    """Write the results; results of other groups are kept."""
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    known[version] = {**tested, "groups": {**known.get(version, {}).get("groups", {}), **results}}
    ordered = dict(sorted(known.items(), key=lambda item: [int(part) for part in item[0].split(".")]))
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(ordered), "utf-8")


def page(known: dict[str, Any]) -> str:
    """Return the text of docs/versions.md."""
    titles = ["PyTorch", "Python", "platform", "Opwright of", *GROUPS]
    rows = [
        [
            row["build"],
            row["python"],
            row["platform"],
            row["opwright"],
            *(_counts(row["groups"].get(g)) for g in GROUPS),
        ]
        for row in known.values()
    ]
    table = ["| " + " | ".join(cells) + " |" for cells in [titles, ["---"] * len(titles), *rows]]
    failures = [
        f"- {row['build']}, {group}: `{name}`"
        for row in known.values()
        for group, result in row["groups"].items()
        for name in result["failures"]
    ]
    return "\n".join([TITLE, *table, *(["", "What failed:", "", *failures] if failures else []), ""])


def _counts(result: dict[str, Any] | None) -> str:
    return f"{result['passed']} / {result['failed']} / {result['skipped']}" if result else "not run"


def run(*words: str) -> None:
    """Print a command and run it."""
    print(f"+ {' '.join(words)}", flush=True)
    subprocess.run(words, check=True, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
