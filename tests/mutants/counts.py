"""Counts what became of the mutants: ``python -m tests.mutants.counts`` writes counts.json, which README.md quotes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from .run import HERE, RESULTS, UNCHANGED, read
from .survivors import read as explained

COUNTS = HERE / "counts.json"
SURVIVORS = HERE / "survivors.txt"


def counted(results: Path = RESULTS, listed: Path = SURVIVORS) -> dict[str, Any]:
    """How many were made, and what became of them."""
    rows = [row for row in read(results) if row["mutant"] != UNCHANGED]
    reasons, verdicts = explained(listed), Counter(row["verdict"] for row in rows)
    alive = [name(row) for row in rows if row["verdict"] == "survived"]
    return {
        "sources": len({row["source"] for row in rows}),
        "made": len(rows),
        "not compiling": verdicts["not compiling"],
        "checked": len(rows) - verdicts["not compiling"],
        "caught": verdicts["caught"],
        "equivalent": sum(each in reasons for each in alive),
        "unexplained": sum(each not in reasons for each in alive),
        "kinds": dict(sorted(Counter(row["mutant"].split(": ")[1] for row in rows).items())),
        "caught by": dict(Counter(_by(row) for row in rows if row["verdict"] == "caught").most_common()),
    }


def sentence(counts: dict[str, Any]) -> str:
    """The same for README.md."""
    return (
        f"{counts['checked']} mutants made by machine of {counts['sources']} sources of the examples: "
        f"{counts['caught']} are caught, the other {counts['equivalent']} are equivalent"
        + (f", {counts['unexplained']} are unexplained" if counts["unexplained"] else "")
    )


def name(row: dict[str, Any]) -> str:
    """As survivors.txt has it."""
    return f"{row['source']}: {row['mutant']}"


def _by(row: dict[str, Any]) -> str:
    """The check that found it, or what ended its process."""
    words = row["by"].split(": ")
    return str(words[1] if len(words) == 3 else words[0])


def main() -> None:
    """Write the file."""
    COUNTS.write_text(json.dumps(counted(), indent=2) + "\n")


if __name__ == "__main__":
    main()
