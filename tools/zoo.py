"""Checks every broken operator of tests/check/zoo and its correct twin, and writes zoo/result.json.

``--level quick|normal|thorough`` (default: normal). ``NAME ...``: check only these operators, and keep the other rows.
Each row is written as soon as it is complete; ``--missing`` checks only operators without a row. The checks run in a
child process: if a broken kernel crashes it, the crash is recorded, and the checks continue in a new process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT))
RESULT = ROOT / "tests/check/zoo/result.json"
_HERE = "--here"
_WRITING = Lock()


def main() -> int:
    """Check operators; return 1 if a broken operator isn't found and named, or a twin doesn't pass."""
    from tests.check.zoo.members import MEMBERS

    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME")
    arguments.add_argument("--level", default="normal", choices=["quick", "normal", "thorough"])
    arguments.add_argument("--jobs", default=1, type=int, help="how many processes")
    arguments.add_argument("--missing", action="store_true", help="go on: only those without a row")
    arguments.add_argument(_HERE, action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.here:
        for name in given.names:
            _tell(json.dumps(_checked(name, given.level)))
        return 0
    names = given.names or [member.name for member in MEMBERS]
    if given.missing:
        done = {row["name"] for row in _written()}
        names = [name for name in names if name not in done]
    elif not given.names:
        _write([])
    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(lambda part: _all(part, given.level), (names[k :: given.jobs] for k in range(given.jobs))))
    result = json.loads(RESULT.read_text())
    _tell(", ".join(f"{key}: {value}" for key, value in result.items() if key != "rows"))
    return int(not result["named"] == result["passed"] == len(MEMBERS))


def _all(names: list[str], level: str) -> None:
    done = 0
    while done < len(names):
        for row in _apart(names[done:], level):
            _shown(row)
            _keep(row)
            done += 1


def _keep(row: dict[str, Any]) -> None:
    """Add the row to the result file, replacing an older row of the same name."""
    with _WRITING:
        _write([*(each for each in _written() if each["name"] != row["name"]), row])


def _written() -> list[dict[str, Any]]:
    return list(json.loads(RESULT.read_text())["rows"]) if RESULT.exists() else []


def _write(rows: list[dict[str, Any]]) -> None:
    from tests.check.zoo.members import MEMBERS

    names = [member.name for member in MEMBERS]  # the order of the rows; rows of removed members are dropped
    rows = sorted((row for row in rows if row["name"] in names), key=lambda row: names.index(row["name"]))
    part = RESULT.with_suffix(".part")
    part.write_text(json.dumps(_counted(rows), indent=1) + "\n")
    part.replace(RESULT)


def _apart(names: list[str], level: str) -> Iterator[dict[str, Any]]:
    """Check operators in a child process and yield a row for each, until one of them crashes it."""
    words = [sys.executable, __file__, *names, _HERE, "--level", level]
    done = 0
    waiting = {
        "OMP_WAIT_POLICY": "passive",
        **os.environ,
    }  # threads that spin while idle slow down the other processes
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=waiting) as child:
        assert child.stdout is not None  # noqa: S101 - it was asked for
        for line in child.stdout:
            if line.startswith("{"):
                done += 1
                yield json.loads(line)
    if done < len(names):
        how = f"the process ended with status {child.returncode}"
        yield {"name": names[done], "expected": "", "found": False, "named": False, "twin": False, "crash": how}


def _checked(name: str, level: str) -> dict[str, Any]:
    """Check a broken operator and its twin; if the level runs none of the table's checks, run these, too."""
    from tests.check.zoo.members import MEMBERS

    member = next(each for each in MEMBERS if each.name == name)
    kinds = {finding.kind for outcome in _outcomes(member, level, twin=False) for finding in outcome.findings}
    outcomes = _outcomes(member, level, twin=True)
    wrong = [o for o in outcomes if o.status in ("failed", "error")]
    passed = any(o.check in member.checks and o.status == "passed" for o in outcomes)
    return {
        "name": name,
        "level": level,
        "expected": member.kind,
        "kinds": sorted(kinds),
        "found": bool(kinds),
        "named": member.kind in kinds,
        "twin": passed and not wrong,
        "twin_checks": sum(o.status == "passed" for o in outcomes),
        "twin_findings": sorted(f"{o.check}: {o.findings[0].kind if o.findings else o.detail}" for o in wrong),
    }


def _outcomes(member: Any, level: str, *, twin: bool) -> list[Any]:
    outcomes = list(member.check(twin=twin, level=level))
    if not {outcome.check for outcome in outcomes if outcome.status != "skipped"} & set(member.checks):
        outcomes += member.check(twin=twin, level=level, only=member.checks)
    return outcomes


def _counted(rows: list[dict[str, Any]]) -> dict[str, Any]:
    import torch

    return {
        "torch": torch.__version__,
        "broken": len(rows),
        "found": sum(row["found"] for row in rows),
        "named": sum(row["named"] for row in rows),
        "twins": len(rows),
        "passed": sum(row["twin"] for row in rows),
        "rows": rows,
    }


def _shown(row: dict[str, Any]) -> None:
    right = "ok " if row["named"] and row["twin"] else "BAD"
    more = "".join(f"\n    {row[key]}" for key in ("twin_findings", "crash") if row.get(key))
    _tell(f"{right} {row['name']}: expected {row['expected']}, found {', '.join(row.get('kinds', ()))}{more}")


def _tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
